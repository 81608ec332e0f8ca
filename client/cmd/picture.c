/* A picture of a node into a file: SVG by ourselves, PNG and PDF by rsvg-convert. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "picture/picture.h"

static bool ends_with(const char *path, const char *suffix)
{
    size_t length = strlen(path), its = strlen(suffix);
    return length > its && strcmp(path + length - its, suffix) == 0;
}

/* Reads SVG from fd. Returns CMD_DONE or the exit status. */
static int convert(const char *path, const char *format, int fd, pid_t *ret_pid)
{
    char *const words[] = {(char *)"rsvg-convert",    (char *)"-f",
                           (char *)(uintptr_t)format, (char *)"-o",
                           (char *)(uintptr_t)path,   NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return cmd_fail_memory();
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    int error = posix_spawnp(ret_pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0        ? CMD_DONE
           : error == ENOENT ? cmd_fail(CMD_DATA,
                                        "a .%s takes rsvg-convert (package librsvg2-bin); "
                                        "a .svg takes nothing",
                                        format)
                             : cmd_fail(CMD_SYSTEM, "cannot run rsvg-convert: %s", strerror(error));
}

/* The drawing goes through a file without a name: the converter reads it as its input. */
static int write_converted(const char *path, const char *format, const struct ui *ui)
{
    FILE *file = tmpfile();
    pid_t pid = 0;
    int ended = 0;
    if (file == NULL || fwrite(ui->text, 1, ui->length, file) != ui->length || fflush(file) != 0 ||
        lseek(fileno(file), 0, SEEK_SET) != 0) {
        int error = errno;
        if (file != NULL)
            fclose(file);
        return cmd_fail(CMD_IO, "cannot write a temporary file: %s", strerror(error));
    }
    int status = convert(path, format, fileno(file), &pid);
    fclose(file);
    if (status != CMD_DONE)
        return status;
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(ended) && WEXITSTATUS(ended) == 0
               ? CMD_DONE
               : cmd_fail(CMD_IO, "rsvg-convert did not write %s", path);
}

bool cmd_is_picture(const char *path)
{
    return strcmp(path, "-") == 0 || ends_with(path, ".svg") || ends_with(path, ".png") ||
           ends_with(path, ".pdf");
}

int cmd_picture(const char *path, const json_t *node, const json_t *plan)
{
    struct ui ui = {.utf8 = true};
    picture_node(&ui, node, plan);
    int status = ui.failed                 ? cmd_fail_memory()
                 : ends_with(path, ".png") ? write_converted(path, "png", &ui)
                 : ends_with(path, ".pdf") ? write_converted(path, "pdf", &ui)
                 : strcmp(path, "-") == 0  ? CMD_DONE
                                           : cmd_file_replace(path, ui.text, ui.length);
    if (status == CMD_DONE && strcmp(path, "-") == 0)
        return cmd_print(&ui);
    ui_done(&ui);
    return status;
}
