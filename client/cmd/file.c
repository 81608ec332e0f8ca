/* Writing of an output file, which is replaced as a whole. */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"

bool cmd_file_write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

/* Writes into a device or a pipe, which cannot be replaced. */
static int write_into(const char *path, const char *text, size_t length)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && cmd_file_write_all(fd, text, length);
    int number = errno;
    if (fd >= 0)
        close(fd);
    return ok ? CMD_DONE : cmd_fail(CMD_IO, "cannot write %s: %s", path, strerror(number));
}

int cmd_file_replace(const char *path, const char *text, size_t length)
{
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return write_into(path, text, length);
    char *draft;
    if (asprintf(&draft, "%s.XXXXXX", path) < 0)
        return cmd_fail_memory();
    int fd = mkostemp(draft, O_CLOEXEC);
    int number = errno;
    mode_t mask = umask(0);
    umask(mask);
    bool ok = fd >= 0 && cmd_file_write_all(fd, text, length) && fchmod(fd, 0666 & ~mask) == 0 &&
              fsync(fd) == 0;
    number = ok || fd < 0 ? number : errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        number = errno;
        ok = false;
    }
    if (ok && rename(draft, path) != 0) {
        number = errno;
        ok = false;
    }
    if (!ok && fd >= 0)
        unlink(draft);
    free(draft);
    return ok ? CMD_DONE : cmd_fail(CMD_IO, "cannot write %s: %s", path, strerror(number));
}

int cmd_file_report(const struct cmd *cmd, const char *path, int status)
{
    struct stat there;
    struct ui ui = {0};
    char size[UI_NUMBER];
    if (status != CMD_DONE || cmd_wants_json(cmd) || strcmp(path, "-") == 0 ||
        stat(path, &there) != 0 || !S_ISREG(there.st_mode))
        return status;
    ui_put(&ui, "wrote ");
    ui_text(&ui, path);
    ui_put(&ui, ", %s\n", ui_bytes(size, there.st_size));
    return cmd_print(&ui);
}
