/**
 * Reason why no gpu may be used from here. It replaces the name of a parameter that the command
 * line does not have.
 */
#pragma once
#include "cmd/cmd.h"

/* Replaces "(allowed.gpus)" in a text of the daemon by the reason. The reason is the first gpu's
 * device file that is missing or may not be opened, or the variables that hide all gpus. The text
 * stays when it has no such words, a recorded node is asked, or no reason is found. Asks the daemon
 * for the node, and so ends the text of berth_error_detail. ret_text: cut where it does not fit. */
void cmd_closed_explain(struct cmd *cmd, const char *text, char *ret_text, size_t size);

/* Does the same for the warnings of a reply. */
void cmd_closed_explain_all(struct cmd *cmd, json_t *reply);
