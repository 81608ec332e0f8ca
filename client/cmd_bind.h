/**
 * What berth bind is told of the ranks of a job: their numbers and the flows between them. CMD_DONE or the exit status, as cmd.h has it.
 */
#pragma once
#include "cmd.h"

/* The member "flows": of all --flow FROM:TO:SIZE, then of the lines of each --flows FILE; none when there is neither. */
int cmd_bind_set_flows(struct cmd *cmd, json_t *request, const struct cmd_option *flow, const struct cmd_option *file);

/* The member "ranks", from a list such as 0-3,8. */
int cmd_bind_set_ranks(struct cmd *cmd, json_t *request, const struct cmd_option *ranks);
