/* berth health: findings and a verdict as exit status. */
#include <stdint.h>
#include <string.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

static int exit_of(const char *verdict)
{
    static const char *const verdicts[] = {"healthy", "degraded", "unhealthy"};
    for (int i = 0; i < 3; i++)
        if (strcmp(verdict, verdicts[i]) == 0)
            return i;
    return 3;
}

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    return cmd->operand_count > 0 ? cmd_set_operands(cmd, parameters, "places") : CMD_DONE;
}

static int run(struct cmd *cmd)
{
    json_t *reply;
    int status = cmd_ask_filled(cmd, "io.berth.Health.Check", set_parameters, &reply);
    if (status != CMD_DONE)
        return status;
    status = cmd_show(cmd, reply, ui_health);
    if (status == CMD_DONE)
        status = exit_of(ui_member(reply, "verdict"));
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_health = {
    .name = "health",
    .operands = "[PLACE...]",
    .about = "whether the node is fit: verdict, findings, what to do",
    .most_operands = SIZE_MAX,
    .run = run,
    .notes =
        {"Exit status: 0 healthy, 1 degraded, 2 unhealthy, 3 unknown.",
         "Behind \"do:\" stands the action for a finding. berth history tells which findings "
         "have cleared, berth history METRIC FROM TO how a value changed; berth report -o FILE "
         "draws all of it for a ticket."},
};
