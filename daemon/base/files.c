#include "base/files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES_MAX 65536
#define LINES_ROOM  ((size_t)1 << 20) /* bytes read at a time; grows for a longer line */

static bool is_beneath(const char *path, const char *root)
{
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* Before Linux 5.6, or where a sandbox does not know the call: checks first, then opens. */
static int open_checked(const struct files *io, const char *path, int flags)
{
    char full[PATH_MAX], real[PATH_MAX];
    if (snprintf(full, sizeof full, "%s%s", io->root, path) >= (int)sizeof full) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (realpath(full, real) == NULL)
        return -1;
    if (!is_beneath(real, io->root)) {
        errno = EXDEV;
        return -1;
    }
    return open(real, flags);
}

/* Opens path. Below a root of our own every symbolic link must stay there: anyone may have made a
 * recorded tree. -1 with errno, EXDEV when the path leaves the root. */
static int open_beneath(const struct files *io, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)flags,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    if (io->root[0] == '\0')
        return open(path, flags);
    int root = open(io->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    const char *relative = path + strspn(path, "/");
    int fd =
        (int)syscall(__NR_openat2, root, relative[0] == '\0' ? "." : relative, &how, sizeof how);
    int error = errno;
    close(root);
    errno = error;
    return fd < 0 && (error == ENOSYS || error == EPERM) ? open_checked(io, path, flags) : fd;
}

static enum berth_code open_path(const struct files *io, const char *path, int flags, int *ret_fd,
                                 struct berth_err *err)
{
    int fd = open_beneath(io, path, flags | O_CLOEXEC);
    if (fd >= 0) {
        *ret_fd = fd;
        return BERTH_OK;
    }
    if (errno == EXDEV)
        return err_set(err, BERTH_BAD_DATA, "%s leaves the folder %s", path, io->root);
    return err_set_errno(err, errno == ENOENT || errno == ENOTDIR ? BERTH_ABSENT : BERTH_IO, errno,
                         "%s%s", io->root, path);
}

static enum berth_code read_all(int fd, const char *path, size_t max, char **ret_text,
                                struct berth_err *err)
{
    size_t size = 0, room = 4096;
    char *text = NULL;
    for (;;) {
        if (room > max + 1)
            room = max + 1;
        char *more = realloc(text, room + 1);
        if (more == NULL) {
            free(text);
            return err_set(err, BERTH_NO_MEMORY, "no memory to read %s", path);
        }
        text = more;
        ssize_t got = read(fd, text + size, room - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(text);
            return err_set_errno(err, BERTH_IO, errno, "cannot read %s", path);
        }
        if (got == 0)
            break;
        size += (size_t)got;
        if (size > max) {
            free(text);
            return err_set(err, BERTH_BAD_DATA, "%s is longer than %zu bytes", path, max);
        }
        if (size == room)
            room *= 2;
    }
    text[size] = '\0';
    if (strlen(text) != size) {
        free(text);
        return err_set(err, BERTH_BAD_DATA, "%s is no text: it holds a NUL byte", path);
    }
    *ret_text = text;
    return BERTH_OK;
}

static enum berth_code open_file(const struct files *io, const char *path, int *ret_fd,
                                 struct berth_err *err)
{
    struct stat st;
    enum berth_code code = open_path(io, path, O_RDONLY | O_NONBLOCK, ret_fd, err);
    if (code != BERTH_OK || (fstat(*ret_fd, &st) == 0 && S_ISREG(st.st_mode)))
        return code;
    close(*ret_fd);
    return err_set(err, BERTH_BAD_DATA, "%s%s is not a file", io->root, path);
}

enum berth_code files_read(const struct files *io, const char *path, size_t max, char **ret_text,
                           struct berth_err *err)
{
    int fd = -1;
    enum berth_code code = open_file(io, path, &fd, err);
    if (code != BERTH_OK)
        return code;
    code = read_all(fd, path, max, ret_text, err);
    close(fd);
    return code;
}

struct lines {
    char *text;
    size_t used, room; /* room + 1 bytes are allocated */
    files_line_fn *visit;
    void *arg;
};

/* Passes the whole lines to visit, with is_last also the rest behind them. Keeps that rest
 * otherwise. */
static enum berth_code visit_lines(struct lines *lines, bool is_last, struct berth_err *err)
{
    size_t at = 0;
    enum berth_code code = BERTH_OK;
    while (code == BERTH_OK && at < lines->used) {
        char *end = memchr(lines->text + at, '\n', lines->used - at);
        if (end == NULL && !is_last)
            break;
        size_t length = end != NULL ? (size_t)(end - lines->text) - at : lines->used - at;
        lines->text[at + length] = '\0';
        code = lines->visit(lines->arg, lines->text + at, length, err);
        at += length + (end != NULL);
    }
    memmove(lines->text, lines->text + at, lines->used - at);
    lines->used -= at;
    return code;
}

static enum berth_code read_lines(int fd, const char *path, size_t max, struct lines *lines,
                                  struct berth_err *err)
{
    for (size_t size = 0;;) {
        if (lines->used == lines->room) {
            size_t room = lines->room == 0 ? LINES_ROOM : 2 * lines->room;
            char *more = realloc(lines->text, room + 1);
            if (more == NULL)
                return err_set(err, BERTH_NO_MEMORY, "no memory to read %s", path);
            lines->text = more;
            lines->room = room;
        }
        ssize_t got = read(fd, lines->text + lines->used, lines->room - lines->used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, BERTH_IO, errno, "cannot read %s", path);
        if (memchr(lines->text + lines->used, '\0', (size_t)got) != NULL)
            return err_set(err, BERTH_BAD_DATA, "%s is no text: it holds a NUL byte", path);
        size += (size_t)got;
        lines->used += (size_t)got;
        if (size > max)
            return err_set(err, BERTH_BAD_DATA, "%s is longer than %zu bytes", path, max);
        enum berth_code code = visit_lines(lines, got == 0, err);
        if (got == 0 || code != BERTH_OK)
            return code;
    }
}

enum berth_code files_read_lines(const struct files *io, const char *path, size_t max,
                                 files_line_fn *visit, void *arg, struct berth_err *err)
{
    struct lines lines = {.visit = visit, .arg = arg};
    int fd = -1;
    enum berth_code code = open_file(io, path, &fd, err);
    if (code != BERTH_OK)
        return code;
    code = read_lines(fd, path, max, &lines, err);
    free(lines.text);
    close(fd);
    return code;
}

static bool is_number(const char *name)
{
    return name[0] != '\0' && strspn(name, "0123456789") == strlen(name);
}

static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    if (is_number(x) && is_number(y) && strlen(x) != strlen(y))
        return strlen(x) < strlen(y) ? -1 : 1;
    return strcmp(x, y);
}

/* Appends a copy of name; with NULL only makes sure that there is a list. The list stays
 * NULL-terminated. */
static bool append_name(char ***names, size_t *count, const char *name)
{
    /* grows at powers of two; room for count + 2 afterwards */
    if (*count == 0 || (*count & (*count - 1)) == 0) {
        char **more = realloc(*names, (2 * *count + 2) * sizeof *more);
        if (more == NULL)
            return false;
        more[*count] = NULL;
        *names = more;
    }
    if (name == NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    char *copy = strdup(name);
    if (copy == NULL)
        return false;
    (*names)[(*count)++] = copy;
    (*names)[*count] = NULL;
    return true;
}

enum berth_code files_list(const struct files *io, const char *path, char ***ret_names,
                           struct berth_err *err)
{
    int fd = -1;
    enum berth_code code = open_path(io, path, O_RDONLY | O_DIRECTORY, &fd, err);
    if (code != BERTH_OK)
        return code;
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return err_set(err, BERTH_NO_MEMORY, "no memory to list %s", path);
    }
    char **names = NULL;
    size_t count = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (entry == NULL && errno != 0)
            code = err_set_errno(err, BERTH_IO, errno, "cannot list %s", path);
        if (code == BERTH_OK && count == ENTRIES_MAX)
            code = err_set(err, BERTH_BAD_DATA, "%s has more than %d entries", path, ENTRIES_MAX);
        if (code == BERTH_OK && !append_name(&names, &count, entry == NULL ? NULL : entry->d_name))
            code = err_set(err, BERTH_NO_MEMORY, "no memory to list %s", path);
        if (entry == NULL || code != BERTH_OK)
            break;
    }
    closedir(dir);
    if (code != BERTH_OK) {
        files_names_free(names);
        return code;
    }
    assert(names != NULL); /* the last append made a list, if an empty one */
    qsort(names, count, sizeof *names, compare_names);
    *ret_names = names;
    return BERTH_OK;
}

void files_names_free(char **names)
{
    if (names == NULL)
        return;
    for (size_t i = 0; names[i] != NULL; i++)
        free(names[i]);
    free(names);
}

enum berth_code files_stat(const struct files *io, const char *path, struct stat *ret_status,
                           struct berth_err *err)
{
    int fd = -1;
    enum berth_code code = open_path(io, path, O_PATH, &fd, err);
    if (code != BERTH_OK)
        return code;
    struct stat status;
    if (fstat(fd, &status) < 0)
        code = err_set_errno(err, BERTH_IO, errno, "cannot look at %s", path);
    else
        *ret_status = status;
    close(fd);
    return code;
}

bool files_exists(const struct files *io, const char *path)
{
    int fd = -1;
    if (open_path(io, path, O_PATH, &fd, NULL) != BERTH_OK)
        return false;
    close(fd);
    return true;
}

int64_t files_boot_time_s(const struct files *io)
{
    char *text = NULL;
    int64_t time_s = 0;
    if (files_read(io, "/proc/stat", 1 << 22, &text, NULL) == BERTH_OK) {
        /* text is set, which an analyzer does not know */
        const char *line = text != NULL ? strstr(text, "\nbtime ") : NULL;
        if (line != NULL)
            time_s = strtoll(line + 7, NULL, 10);
    }
    free(text);
    return time_s;
}

enum berth_code files_replace(const char *path, files_write_fn *write, const void *arg,
                              struct berth_err *err)
{
    char temporary[4400];
    snprintf(temporary, sizeof temporary, "%.4352s.%ld", path, (long)getpid());
    unlink(temporary); /* left by a killed process with this pid */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set_errno(err, BERTH_IO, errno, "%s cannot be written", path);
    FILE *file = fdopen(fd, "w");
    if (file == NULL) {
        close(fd);
        unlink(temporary);
        return err_set(err, BERTH_NO_MEMORY, "no memory for %s", path);
    }
    errno = 0;
    bool ok = write(file, arg) && fflush(file) == 0 && fsync(fd) == 0;
    int why = errno;
    if (fclose(file) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && rename(temporary, path) != 0) {
        ok = false;
        why = errno;
    }
    if (ok)
        return BERTH_OK;
    unlink(temporary);
    return err_set_errno(err, BERTH_IO, why, "%s cannot be written", path);
}
