/* Sections of the manual page about the commands, in mdoc(7), from the tables of the command line.
 */
#include "cmd/cmd.h"

#include <string.h>

/* Prints text safe for roff: each sentence begins a line, and each dash can be copied into a shell.
 */
static void put_text(struct ui *ui, const char *text)
{
    if (*text == '.' || *text == '\'')
        ui_put(ui, "\\&");
    for (; *text != '\0'; text++)
        switch (*text) {
        case '\\':
            ui_put(ui, "\\e");
            break;
        case '-':
            ui_put(ui, "\\-");
            break;
        case '"':
            ui_put(ui, "\\(dq");
            break;
        case '\'':
            ui_put(ui, "\\(aq");
            break;
        case '^':
            ui_put(ui, "\\(ha");
            break;
        case '~':
            ui_put(ui, "\\(ti");
            break;
        case '`':
            ui_put(ui, "\\(ga");
            break;
        case '.':
            ui_put(ui, strncmp(text, ". ", 2) == 0 ? ".\n" : ".");
            text += strncmp(text, ". ", 2) == 0;
            break;
        default:
            ui_put(ui, "%c", *text);
        }
}

static void put_line(struct ui *ui, const char *text)
{
    put_text(ui, text);
    ui_put(ui, "\n");
}

static void put_options(struct ui *ui, const struct cmd_option *options, size_t count)
{
    if (count == 0)
        return;
    ui_put(ui, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < count; i++) {
        const struct cmd_option *option = &options[i];
        ui_put(ui, ".It ");
        if (option->letter != 0)
            ui_put(ui, "Fl %c , ", option->letter);
        ui_put(ui, "Fl Fl ");
        put_text(ui, option->name);
        if (option->value != NULL) {
            ui_put(ui, cmd_takes_word(option) ? " Ar \\&" : " Ns Ar \\&");
            put_text(ui, option->value);
        }
        ui_put(ui, "\n");
        char choices[256] = "";
        if (option->choices != NULL)
            cmd_choices(option, choices, sizeof choices);
        put_text(ui, option->help);
        put_text(ui, *choices == '\0' ? "" : ": ");
        put_line(ui, choices);
    }
    ui_put(ui, ".El\n");
}

static void put_command(struct ui *ui, const struct cmd_command *command)
{
    ui_put(ui, ".Ss berth %s", command->name);
    ui_put(ui, "%s", *command->operands == '\0' ? "" : " ");
    put_line(ui, command->operands);
    put_line(ui, command->about);
    put_options(ui, command->options, command->option_count);
    for (size_t i = 0; i < CMD_NOTES && command->notes[i] != NULL; i++) {
        ui_put(ui, ".Pp\n");
        put_line(ui, command->notes[i]);
    }
}

void cmd_manual(struct ui *ui, const struct cmd *cmd)
{
    ui_put(ui, ".Sh OPTIONS\nThese stand anywhere on the command line, with every command:\n");
    put_options(ui, cmd_globals, CMD_GLOBALS);
    ui_put(ui, ".Sh COMMANDS\n");
    for (const struct cmd_command *command = cmd->commands; command->name != NULL; command++)
        put_command(ui, command);
}
