/**
 * Options that berth bind and berth exec share. Functions return CMD_DONE or the exit status, as in
 * cmd/cmd.h.
 */
#pragma once
#include "cmd/cmd.h"

#define CMD_TASKS_MOST 1000000L /* most tasks that the daemon places */

/* Indices of the options. berth bind has the first ones up to CMD_BIND_OPTIONS, berth exec those
 * from CMD_BIND_TASKS to the end. */
enum {
    CMD_BIND_FORMAT,
    CMD_BIND_TASK,
    CMD_BIND_WHY,
    CMD_BIND_OUTPUT,
    CMD_BIND_TASKS,
    CMD_BIND_GPUS_EACH,
    CMD_BIND_CORES,
    CMD_BIND_THREADS,
    CMD_BIND_SHARE,
    CMD_BIND_PATTERN,
    CMD_BIND_BYTES,
    CMD_BIND_FLOW,
    CMD_BIND_FLOWS,
    CMD_BIND_HOST_BYTES,
    CMD_BIND_RANKS,
    CMD_BIND_WORLD,
    CMD_BIND_CPUS,
    CMD_BIND_GPUS,
    CMD_BIND_VISIBLE,
    CMD_BIND_ORDER,
    CMD_BIND_MECHANISM,
    CMD_BIND_KEY,
    CMD_BIND_OPTIONS,
    CMD_EXEC_TASK = CMD_BIND_OPTIONS,
    CMD_EXEC_STRICT,
    CMD_EXEC_TIMEOUT,
    CMD_EXEC_VERBOSE,
    CMD_EXEC_OPTIONS
};
extern const struct cmd_option cmd_bind_options[CMD_EXEC_OPTIONS];

/* cmd/bind_request.c: writes the options into the request, except the number of tasks, the key and
 * the allowed part. */
int cmd_bind_request(struct cmd *cmd, json_t *request);

/* Writes the member "flows": every --flow FROM:TO:SIZE, then the lines of each --flows FILE. Writes
 * none without these options. */
int cmd_bind_set_flows(struct cmd *cmd, json_t *request, const struct cmd_option *flow,
                       const struct cmd_option *file);

/* Writes the member "ranks" from a list such as 0-3,8. */
int cmd_bind_set_ranks(struct cmd *cmd, json_t *request, const struct cmd_option *ranks);
