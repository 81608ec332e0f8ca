/* Output to standard output. */
#include "cmd/cmd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool cmd_wants_json(const struct cmd *cmd) { return cmd->has_json; }

static int write_out(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(STDOUT_FILENO, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cmd_fail(CMD_IO, "cannot write the answer: %s", strerror(errno));
        text += n;
        length -= (size_t)n;
    }
    return CMD_DONE;
}

int cmd_print(struct ui *ui)
{
    int status = ui->failed ? cmd_fail_memory() : write_out(ui->text, ui->length);
    ui_done(ui);
    return status;
}

int cmd_print_json(const char *text)
{
    struct ui ui = {0};
    ui_put(&ui, "%s\n", text);
    return cmd_print(&ui);
}
