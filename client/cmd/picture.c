/* A picture of a node into a file: SVG by ourselves, PNG and PDF by rsvg-convert. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Converts SVG from one file to another. Returns CMD_DONE or the exit status. */
static int convert(const char *format, int from, int to)
{
    char *const words[] = {(char *)"rsvg-convert", (char *)"-f", (char *)(uintptr_t)format, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int ended = 0;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return cmd_fail_memory();
    posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    int error = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        return error == ENOENT
                   ? cmd_fail(CMD_DATA,
                              "a .%s takes rsvg-convert (package librsvg2-bin); "
                              "a .svg takes nothing",
                              format)
                   : cmd_fail(CMD_SYSTEM, "cannot run rsvg-convert: %s", strerror(error));
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(ended) && WEXITSTATUS(ended) == 0 ? CMD_DONE
                                                       : cmd_fail(CMD_IO, "rsvg-convert failed");
}

/* Replaces the file at path by all of the other. */
static int replace_by(const char *path, FILE *file)
{
    off_t size = lseek(fileno(file), 0, SEEK_END);
    char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    int status = CMD_DONE;
    if (size > 0 && bytes == NULL)
        status = cmd_fail_memory();
    else if (size <= 0 || pread(fileno(file), bytes, (size_t)size, 0) != size)
        status = cmd_fail(CMD_IO, "rsvg-convert wrote nothing");
    else
        status = cmd_file_replace(path, bytes, (size_t)size);
    free(bytes);
    return status;
}

/* The drawing goes through files without a name, so that path is replaced at once or not at all. */
static int write_converted(const char *path, const char *format, const struct ui *ui)
{
    FILE *from = tmpfile(), *to = tmpfile();
    int status = CMD_DONE;
    if (from == NULL || to == NULL || fwrite(ui->text, 1, ui->length, from) != ui->length ||
        fflush(from) != 0 || lseek(fileno(from), 0, SEEK_SET) != 0)
        status = cmd_fail(CMD_IO, "cannot write a temporary file: %s", strerror(errno));
    if (status == CMD_DONE)
        status = convert(format, fileno(from), fileno(to));
    if (status == CMD_DONE)
        status = replace_by(path, to);
    if (from != NULL)
        fclose(from);
    if (to != NULL)
        fclose(to);
    return status;
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
