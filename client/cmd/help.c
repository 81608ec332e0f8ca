/* Help, printed from the tables of the command line. */
#include "cmd/cmd.h"

#include <stdio.h>

static void put_options(struct ui *ui, const struct cmd_option *options, size_t count)
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
        ui_cell(&table, "%s%s%s", option->help, *choices == '\0' ? "" : ": ", choices);
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
    put_options(ui, cmd_globals, CMD_GLOBALS);
    ui_put(ui, "Exit status: 0 done, 64 wrong usage, 65 bad data, 69 no daemon, 75 try again.\n");
}

void cmd_help_command(struct ui *ui, const struct cmd_command *command)
{
    ui_line(ui, 2, "berth %s: %s", command->name, command->about);
    ui_put(ui, "\n");
    ui_line(ui, 7, "usage: berth %s%s%s%s", command->name,
            command->option_count > 0 ? " [options]" : "", *command->operands != '\0' ? " " : "",
            command->operands);
    ui_put(ui, "\n");
    if (command->option_count > 0) {
        put_heading(ui, "Options");
        put_options(ui, command->options, command->option_count);
        ui_put(ui, "\n");
    }
    put_heading(ui, "Options of every command");
    put_options(ui, cmd_globals, CMD_GLOBALS);
    for (size_t i = 0; i < CMD_NOTES && command->notes[i] != NULL; i++) {
        ui_put(ui, "%s", i == 0 ? "\n" : "");
        ui_paragraph(ui, 0, command->notes[i]);
    }
}
