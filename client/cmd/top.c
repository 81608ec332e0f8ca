/* berth top: runs berth-top, which lies beside this program or among its helpers. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

/* "/usr/bin/berth" to "/usr/bin/berth-top". */
static bool beside(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - sizeof "-top");
    if (length <= 0)
        return false;
    strcpy(path + length, "-top");
    return true;
}

static int run(struct cmd *cmd)
{
    const char *socket = cmd_value(cmd, &cmd_globals[CMD_SOCKET]);
    char path[PATH_MAX];
    if (cmd_has(cmd, &cmd_globals[CMD_NODE]))
        return cmd_usage(cmd, "a recorded node does not change: berth report draws it");
    if (cmd_wants_json(cmd))
        return cmd_usage(cmd, "a live view has no --json: berth watch --json has the changes");
    if (beside(path, sizeof path))
        execl(path, path, socket, (char *)NULL);
    return cmd_fail(CMD_DATA,
                    "berth-top is not there (%s): it is built where ncurses is "
                    "(Debian: libncurses-dev)",
                    strerror(errno));
}

const struct cmd_command cmd_top = {
    .name = "top",
    .operands = "",
    .about = "a live view: places, claims, free memory, values, findings",
    .run = run,
    .notes = {"Keys: n node, h health, v values, arrows and enter the history of a value, q quit."},
};
