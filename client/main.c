/* The berth command: parses the command line and runs one command. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

static int run_help(struct cmd *cmd);

enum { AS, OPTIONS };

static const char *const forms[] = {"text", "manual", "completion", NULL};

static const struct cmd_option options[] = {
    [AS] = {.name = "as",
            .value = "FORM",
            .help = "for a person, or all of it as the sections of berth(1) or the tables of "
                    "shells' completion",
            .choices = forms},
};

static const struct cmd_command command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .about = "show the help of berth or of a command",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 1,
    .run = run_help,
};

static int show_help(const struct cmd *cmd, const struct cmd_command *command)
{
    struct ui ui;
    ui_init(&ui, STDOUT_FILENO);
    if (command == NULL)
        cmd_help(&ui, cmd);
    else
        cmd_help_command(&ui, command);
    return cmd_print(&ui);
}

static int print(const struct cmd *cmd, void (*put)(struct ui *ui, const struct cmd *cmd))
{
    struct ui ui = {0};
    put(&ui, cmd);
    return cmd_print(&ui);
}

static int run_help(struct cmd *cmd)
{
    const char *form = cmd_value(cmd, &options[AS]);
    if (form != NULL && strcmp(form, "text") != 0 && cmd->operand_count > 0)
        return cmd_usage(cmd, "--as %s is of all commands", form);
    if (form != NULL && strcmp(form, "manual") == 0)
        return print(cmd, cmd_manual);
    if (form != NULL && strcmp(form, "completion") == 0)
        return print(cmd, cmd_completion);
    if (cmd->operand_count == 0)
        return show_help(cmd, NULL);
    for (const struct cmd_command *command = cmd->commands; command->name != NULL; command++)
        if (strcmp(command->name, cmd->operand[0]) == 0)
            return show_help(cmd, command);
    return cmd_usage(cmd, "no command %.40s; berth help lists them", cmd->operand[0]);
}

static int show_version(void)
{
    struct ui ui = {0};
    ui_put(&ui, "berth %s\n", BERTH_VERSION);
    return cmd_print(&ui);
}

static int run(struct cmd *cmd, int argc, char **argv)
{
    int status = cmd_parse(cmd, argc, argv);
    if (status != CMD_DONE)
        return status;
    if (cmd_has(cmd, &cmd_globals[CMD_VERSION]))
        return show_version();
    if (cmd_has(cmd, &cmd_globals[CMD_HELP]))
        return show_help(cmd, cmd->command);
    if (cmd->command == NULL)
        return cmd_usage(cmd, "no command given");
    return cmd->command->run(cmd);
}

/* Opens closed standard descriptors. Otherwise the connection would take the place of one, and the
 * answer would be written into it. Writing to these fails instead. */
static void fill_standard_descriptors(void)
{
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_PATH | O_CLOEXEC);
    close(fd);
}

int main(int argc, char **argv)
{
    fill_standard_descriptors();
    const struct cmd_command commands[] = {
        cmd_topo,   cmd_matrix,      cmd_curves,  cmd_contention, cmd_tuning, cmd_kernel,
        cmd_bind,   cmd_alloc,       cmd_route,   cmd_exec,       cmd_claim,  cmd_release,
        cmd_claims, cmd_health,      cmd_history, cmd_accept,     cmd_probe,  cmd_cancel,
        cmd_record, cmd_fleet,       cmd_export,  cmd_report,     cmd_watch,  cmd_top,
        cmd_slurm,  cmd_report_time, cmd_status,  command_help,   {0},
    };
    struct cmd cmd = {.commands = commands};
    int status = run(&cmd, argc, argv);
    if (status == CMD_USAGE && cmd.command != NULL && cmd.command->on_misuse != NULL)
        status = CMD_DONE;
    if (cmd.errors != 0)
        status = cmd_nagios_end(&cmd, status);
    berth_free(cmd.berth);
    cmd_node_stop(cmd.node);
    cmd_parse_done(&cmd);
    free(cmd.reply);
    return status;
}
