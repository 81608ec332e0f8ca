/* Help, printed from the tables of the command line. It is brief where all of it would leave a
 * screen of 40 rows: the first clause of each option, and the first note. */
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

static void put_options(struct ui *ui, const struct cmd_option *options, size_t count,
                        bool is_brief)
{
    struct ui_table table;
    ui_table_begin(&table, ui, "ll");
    for (size_t i = 0; i < count; i++) {
        const struct cmd_option *option = &options[i];
        char letter[8] = "    ";
        if (option->letter != 0)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        ui_cell(&table, "%s--%s%s%s", letter, option->name, cmd_takes_word(option) ? " " : "",
                option->value == NULL ? "" : option->value);
        char choices[256] = "";
        if (option->choices != NULL)
            cmd_choices(option, choices, sizeof choices);
        ui_cell(&table, "%.*s%s%s",
                (int)(is_brief ? strcspn(option->help, ";") : strlen(option->help)), option->help,
                *choices == '\0' ? "" : ": ", choices);
    }
    ui_table_end(&table, 2, false);
}

static void put_heading(struct ui *ui, const char *heading)
{
    ui_style(ui, UI_BOLD);
    ui_put(ui, "%s\n", heading);
    ui_style(ui, UI_PLAIN);
}

void cmd_help(struct ui *ui, const struct cmd *cmd)
{
    ui_put(ui, "berth: where to run and where to allocate on this node, by measurement.\n"
               "usage: berth [--socket PATH | --node FOLDER] [--json] COMMAND ...\n");
    put_heading(ui, "Commands");
    struct ui_table table;
    ui_table_begin(&table, ui, "ll");
    for (const struct cmd_command *command = cmd->commands; command->name != NULL; command++) {
        ui_cell(&table, "%s", command->name);
        ui_cell(&table, "%s", command->about);
    }
    ui_table_end(&table, 2, false);
    ui_put(ui, "\n");
    put_heading(ui, "Options");
    put_options(ui, cmd_globals, CMD_GLOBALS, false);
    ui_put(ui, "Exit status: 0 done, 64 wrong usage, 65 bad data, 69 no daemon, 75 try again.\n");
}

static void put_command(struct ui *ui, const struct cmd_command *command, bool is_brief)
{
    ui_line(ui, 2, "berth %s: %s", command->name, command->about);
    ui_put(ui, "\n");
    ui_line(ui, 7, "usage: berth %s%s%s%s", command->name,
            command->option_count > 0 ? " [options]" : "", *command->operands != '\0' ? " " : "",
            command->operands);
    ui_put(ui, "\n");
    if (command->option_count > 0) {
        put_heading(ui, "Options");
        put_options(ui, command->options, command->option_count, is_brief);
        ui_put(ui, "\n");
    }
    if (is_brief) {
        ui_put(ui, "Options of every command: berth --help. More of all of these: man berth.\n");
    } else {
        put_heading(ui, "Options of every command");
        put_options(ui, cmd_globals, CMD_GLOBALS, false);
    }
    for (size_t i = 0; i < (is_brief ? 1 : CMD_NOTES) && command->notes[i] != NULL; i++) {
        ui_put(ui, "%s", i == 0 ? "\n" : "");
        ui_paragraph(ui, 0, command->notes[i]);
    }
}

void cmd_help_command(struct ui *ui, const struct cmd_command *command)
{
    put_command(ui, command, false);
    if (ui_rows(ui) < UI_ROWS)
        return;
    ui->length = 0;
    put_command(ui, command, true);
}
