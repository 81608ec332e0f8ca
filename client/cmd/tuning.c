/* berth tuning: launch shapes and sizes that are tuned. */
#include "cmd/cmd.h"
#include "ui/answer.h"

enum { OPERATION, WHY, OPTIONS };

static const char *const operations[] = {"read", "write", "copy", "pull", NULL};

static const struct cmd_option options[] = {
    [OPERATION] = {.name = "operation",
                   .value = "WORD",
                   .help = "one kind of kernel instead of all",
                   .choices = operations},
    [WHY] = CMD_WHY};

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    static const char *const keys[] = {"place", "to"};
    const char *operation = cmd_value(cmd, &options[OPERATION]);
    bool fine = operation == NULL ||
                json_object_set_new(parameters, "operation", json_string(operation)) == 0;
    for (size_t i = 0; fine && i < cmd->operand_count && i < sizeof keys / sizeof *keys; i++)
        fine = json_object_set_new(parameters, keys[i], json_string(cmd->operand[i])) == 0;
    return fine ? CMD_DONE : cmd_fail_memory();
}

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Fabric.GetTuning", set_parameters, ui_tuning);
}

const struct cmd_command cmd_tuning = {
    .name = "tuning",
    .operands = "[PLACE [TO]]",
    .about = "best launches of kernels, and from which size engines are faster",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 2,
    .run = run,
    .notes =
        {"berth tuning gpu0 gpu1",
         "Of one gpu: its kernels in its own memory; without it, of each gpu. With a second "
         "place, a gpu or a numa node: its kernels in that memory; copy moves bytes there, pull "
         "from there.",
         "Results that no longer hold are stale; the next probe tunes them anew."},
};
