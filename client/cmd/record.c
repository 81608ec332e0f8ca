/* A node folder, written file by file. Names from the daemon are not trusted: no write goes outside
 * the folder, over a file, or through a link. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/stream.h"
#include "ui/answer.h"

#define PATH_MOST 1024

struct recording {
    int folder;
    const char *path;
    size_t files;
    bool json;
};

/* True for a relative path of plain components. */
static bool is_safe(const char *path)
{
    size_t length = strlen(path);
    if (length == 0 || length >= PATH_MOST || path[0] == '/' || path[length - 1] == '/')
        return false;
    for (const char *c = path; *c != '\0';) {
        size_t part = strcspn(c, "/");
        if (part == 0 || (part == 1 && c[0] == '.') || (part == 2 && c[0] == '.' && c[1] == '.'))
            return false;
        for (size_t i = 0; i < part; i++)
            if ((unsigned char)c[i] < 0x20 || c[i] == 0x7f)
                return false;
        c += part;
        c += *c == '/';
    }
    return true;
}

/* Opens the directory of a path's last component and makes missing ones. -1 with errno. */
static int open_parent(int folder, char *path, const char **ret_last)
{
    int at = dup(folder);
    char *slash;
    while (at >= 0 && (slash = strchr(path, '/')) != NULL) {
        *slash = '\0';
        int next = mkdirat(at, path, 0777) == 0 || errno == EEXIST
                       ? openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                       : -1;
        int number = errno;
        close(at);
        errno = number;
        at = next;
        path = slash + 1;
    }
    *ret_last = path;
    return at;
}

static int write_file(const struct recording *recording, const char *path, const json_t *text)
{
    char copy[PATH_MOST];
    const char *last;
    strcpy(copy, path);
    int parent = open_parent(recording->folder, copy, &last);
    int fd = parent < 0
                 ? -1
                 : openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool fine =
        fd >= 0 && cmd_file_write_all(fd, json_string_value(text), json_string_length(text));
    int number = errno;
    if (fd >= 0 && close(fd) != 0 && fine) {
        number = errno;
        fine = false;
    }
    if (parent >= 0)
        close(parent);
    return fine ? CMD_DONE
                : cmd_fail(CMD_IO, "cannot write %s: %s; %s is no whole node and is to be removed",
                           path, strerror(number), recording->path);
}

static bool on_reply(struct cmd_stream *stream, const json_t *reply, const char *text)
{
    struct recording *recording = stream->arg;
    const char *file = ui_member(reply, "file");
    const json_t *content = json_object_get(reply, "text");
    if (recording->json)
        stream->status = cmd_print_json(text);
    else if (!is_safe(file) || !json_is_string(content))
        stream->status = cmd_fail(
            CMD_DATA, "the daemon sent a file that does not belong in a node folder: %.200s", file);
    else
        stream->status = write_file(recording, file, content);
    recording->files++;
    return stream->status != CMD_DONE;
}

/* Makes the folder, or takes an empty one. */
static int open_folder(const char *path, int *ret_folder)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return cmd_fail(CMD_IO, "cannot make %s: %s", path, strerror(errno));
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int again = folder < 0 ? -1 : dup(folder);
    DIR *directory = again < 0 ? NULL : fdopendir(again);
    if (directory == NULL) {
        int number = errno;
        if (folder >= 0)
            close(folder);
        return cmd_fail(CMD_IO, "cannot open %s: %s", path, strerror(number));
    }
    bool is_empty = true;
    for (const struct dirent *entry; is_empty && (entry = readdir(directory)) != NULL;)
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(directory);
    if (!is_empty) {
        close(folder);
        return cmd_fail(CMD_DATA, "%s is not empty; a recording goes into a new folder", path);
    }
    *ret_folder = folder;
    return CMD_DONE;
}

static int run(struct cmd *cmd)
{
    struct recording recording = {.folder = -1, .json = cmd_wants_json(cmd)};
    if (!recording.json && cmd->operand_count == 0)
        return cmd_usage(cmd, "where to? berth record FOLDER");
    int status = cmd_connect(cmd);
    if (status == CMD_DONE && !recording.json)
        status = open_folder(recording.path = cmd->operand[0], &recording.folder);
    if (status != CMD_DONE)
        return status;
    json_t *request = json_object();
    struct cmd_stream stream = {.method = "io.berth.Fabric.Record",
                                .parameters = request,
                                .timeout_ms = -1,
                                .on_reply = on_reply,
                                .arg = &recording};
    enum cmd_end end = cmd_stream_run(cmd, &stream);
    json_decref(request);
    status = end == CMD_END_LOST ? cmd_fail_daemon(cmd, stream.lost) : stream.status;
    if (recording.folder >= 0)
        close(recording.folder);
    if (status != CMD_DONE || recording.json)
        return status;
    struct ui ui;
    ui_init(&ui, STDOUT_FILENO);
    ui_put(&ui, "%zu files in ", recording.files);
    ui_text(&ui, cmd->operand[0]);
    ui_put(&ui, "; berth --node ");
    ui_text(&ui, cmd->operand[0]);
    ui_put(&ui, " topo draws it\n");
    return cmd_print(&ui);
}

const struct cmd_command cmd_record = {
    .name = "record",
    .operands = "FOLDER",
    .about = "write this node and its values into a folder for --node",
    .most_operands = 1,
    .run = run,
    .notes = {"With --json the files are printed, one reply a line, and nothing is written."},
};
