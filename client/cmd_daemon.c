/* What a failed call means: the line for a person, and the exit status that goes with it. */
#include "cmd.h"

#include <string.h>

static const struct {
    const char *wire;
    int exit_status;
} exits[] = {
#define ROW_SERVICE(wire, exit_status) {wire, exit_status},
#define ROW_CALLED(wire, exit_status) {wire, exit_status},
#define ROW_INTERNAL(wire, exit_status)
#define X(id, scope, wire, params, exit_status, about) ROW_##scope(wire, exit_status)
#include "errors.def"
#undef X
};

int cmd_fail_daemon(struct cmd *cmd, int status)
{
    if (cmd->node != NULL && (status == BERTH_ERROR_CLOSED || status == BERTH_ERROR_SYSTEM))
        return cmd_node_failed(cmd->node);
    const char *detail = berth_error_detail(cmd->berth);
    switch (status) {
    case BERTH_ERROR_NO_DAEMON:
        return cmd_fail(CMD_NO_DAEMON, "%s (start berthd, or set BERTH_SOCKET or --socket)", detail);
    case BERTH_ERROR_CLOSED:
        return cmd_fail(CMD_NO_DAEMON, "%s", detail);
    case BERTH_ERROR_TIMED_OUT:
        return cmd_fail(CMD_AGAIN, "%s", detail);
    case BERTH_ERROR_PROTOCOL:
        return cmd_fail(CMD_BUG, "%s", detail);
    case BERTH_ERROR_OUT_OF_MEMORY:
        return cmd_fail_memory();
    case BERTH_ERROR_BAD_ARGUMENT:
        return cmd_fail(CMD_USAGE, "%s", detail);
    case BERTH_ERROR_SYSTEM:
        return cmd_fail(CMD_IO, "%s", detail);
    default:
        break;
    }
    const char *name = berth_error_name(cmd->berth), *last = strrchr(name, '.');
    int exit_status = CMD_BUG; /* an error of a newer daemon */
    for (size_t i = 0; i < sizeof exits / sizeof exits[0]; i++)
        if (strcmp(last == NULL ? name : last + 1, exits[i].wire) == 0)
            exit_status = exits[i].exit_status;
    if (exit_status == CMD_USAGE)
        return cmd_usage(cmd, "%s", detail);
    return cmd_fail(exit_status, "%s", detail);
}
