#include <stdint.h>
#include <string.h>

#include "cmd.h"
#include "ui_answer.h"

static int exit_of(const char *verdict)
{
    static const char *const verdicts[] = {"healthy", "degraded", "unhealthy"};
    for (int i = 0; i < 3; i++)
        if (strcmp(verdict, verdicts[i]) == 0)
            return i;
    return 3;
}

static int run(struct cmd *cmd)
{
    json_t *request = json_object(), *reply;
    if (cmd->operand_count > 0) {
        json_t *places = json_array();
        bool fine = json_object_set_new(request, "places", places) == 0;
        for (size_t i = 0; fine && i < cmd->operand_count; i++)
            fine = json_array_append_new(places, json_string(cmd->operand[i])) == 0;
        if (!fine) {
            json_decref(request);
            return cmd_fail_memory();
        }
    }
    int status = cmd_ask(cmd, "io.berth.Health.Check", request, &reply);
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
    .about = "verdict and findings; exit status 0 healthy, 1 degraded, 2 unhealthy, 3 unknown",
    .most_operands = SIZE_MAX,
    .run = run,
};
