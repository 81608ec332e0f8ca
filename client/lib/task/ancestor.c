#include "lib/task/ancestor.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* most wrappers between a task and the process that started it */
#define DEPTH_MAX     32
#define VARIABLES_MAX ((size_t)4 << 20) /* bytes */

/* Whole file with two NULs at its end. NULL when it is not readable, is larger than VARIABLES_MAX,
 * or memory is short. The caller frees it. */
static char *read_whole(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t size = 16384, used = 0;
    char *text = fd >= 0 ? malloc(size) : NULL;
    ssize_t n = 1;
    while (text != NULL && n > 0) {
        if (size - used < 4096) {
            char *larger = size < VARIABLES_MAX ? realloc(text, size * 2) : NULL;
            if (larger == NULL)
                free(text);
            else
                size *= 2;
            text = larger;
            continue;
        }
        n = read(fd, text + used, size - used - 2);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    if (text != NULL && n < 0) {
        free(text);
        return NULL;
    }
    if (text != NULL)
        text[used] = text[used + 1] = '\0';
    return text;
}

/* Parent and start time of a process. The command between parentheses may hold any bytes. */
static bool read_stat(pid_t pid, pid_t *ret_parent, uint64_t *ret_start_ticks)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    char *text = read_whole(path), *end = text == NULL ? NULL : strrchr(text, ')');
    int parent;
    bool fine =
        end != NULL &&
        sscanf(
            end + 1,
            " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
            &parent, ret_start_ticks) == 2;
    if (fine)
        *ret_parent = parent;
    free(text);
    return fine;
}

bool lib_ancestor_find(const char *name, const char *value, struct lib_ancestor *ret_ancestor)
{
    struct lib_ancestor found = {.pid = getppid()};
    pid_t parent;
    for (int depth = 0; found.pid > 0 && depth < DEPTH_MAX; depth++) {
        char path[40];
        if (!read_stat(found.pid, &parent, &found.start_ticks))
            return false;
        snprintf(path, sizeof path, "/proc/%d/environ", (int)found.pid);
        found.variables = read_whole(path);
        const char *its = name == NULL ? NULL : lib_ancestor_variable(&found, name);
        if (its == NULL || value == NULL || strcmp(its, value) != 0 || parent <= 0) {
            found.has_cpus = lib_cpus_of(found.pid, &found.cpus);
            *ret_ancestor = found;
            return true;
        }
        free(found.variables);
        found = (struct lib_ancestor){.pid = parent};
    }
    return false;
}

void lib_ancestor_done(struct lib_ancestor *ancestor)
{
    free(ancestor->variables);
    ancestor->variables = NULL;
}

const char *lib_ancestor_variable(const struct lib_ancestor *ancestor, const char *name)
{
    size_t length = strlen(name);
    for (const char *text = ancestor->variables; text != NULL && *text != '\0';
         text += strlen(text) + 1)
        if (strncmp(text, name, length) == 0 && text[length] == '=')
            return text + length + 1;
    return NULL;
}

bool lib_ancestor_parent(pid_t pid, pid_t *ret_parent)
{
    uint64_t unused;
    return read_stat(pid, ret_parent, &unused);
}

bool lib_ancestor_name(pid_t pid, char *ret_name, size_t size)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    char *text = read_whole(path);
    if (text != NULL)
        snprintf(ret_name, size, "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    return text != NULL;
}
