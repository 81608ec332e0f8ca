/**
 * Why no gpu may be used from here, in the place of a parameter's name that whoever runs the
 * command has not written.
 */
#pragma once
#include "cmd/cmd.h"

/* A text of the daemon's, in which "(allowed.gpus)" is replaced by the first gpu's device file that
 * is not there or may not be opened, or by the variables that hide all. As it is where it has no
 * such words, where a recorded node is asked, or nothing is known. Asks the daemon for the node,
 * and so ends what berth_error_detail has. ret_text: cut where it does not fit. */
void cmd_closed_explain(struct cmd *cmd, const char *text, char *ret_text, size_t size);

/* The same for the warnings of a reply. */
void cmd_closed_explain_all(struct cmd *cmd, json_t *reply);
