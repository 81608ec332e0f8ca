#include "base/free_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"

/* the whole file of a node; for /proc/meminfo more than the fields read here */
#define MEMINFO_MAX 4096

struct free_memory {
    const struct clock *clock;
    uint64_t read_at_ns;
    bool has_read;
    int64_t at_s;
    size_t count;
    int *fd; /* one for each node */
    struct free_memory_node *node;
};

static enum berth_code add(struct free_memory *memory, const struct files *io, const char *file,
                           int32_t numa, struct berth_err *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s", io->root, file) >= (int)sizeof path)
        return err_set(err, BERTH_ABSENT, "%s: the path is too long", file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? BERTH_ABSENT : BERTH_IO, errno, "%s", path);
    memory->fd[memory->count] = fd;
    memory->node[memory->count++] = (struct free_memory_node){.numa = numa, .free_bytes = -1};
    return BERTH_OK;
}

static enum berth_code room_for(struct free_memory *memory, size_t count, struct berth_err *err)
{
    memory->fd = calloc(count, sizeof *memory->fd);
    memory->node = calloc(count, sizeof *memory->node);
    if (memory->fd == NULL || memory->node == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to watch free memory");
    return BERTH_OK;
}

/* "Node 0 MemFree:  123 kB" or "MemFree:  123 kB" in bytes; -1 when the line is missing or
 * malformed. */
static int64_t field(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    long long kib;
    if (at == NULL || sscanf(at + strlen(key), ": %12lld kB", &kib) != 1 || kib < 0)
        return -1;
    return (int64_t)kib * 1024;
}

static bool read_text(int fd, char text[MEMINFO_MAX])
{
    ssize_t n = pread(fd, text, MEMINFO_MAX - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* With one memory only, the kernel's own estimate in /proc/meminfo is that memory's. */
static void use_estimate(struct free_memory *memory, const struct files *io)
{
    char path[PATH_MAX], text[MEMINFO_MAX];
    size_t count = 0, with_memory = 0;
    for (size_t i = 0; i < memory->count; i++)
        if (read_text(memory->fd[i], text) && field(text, "MemTotal") > 0) {
            with_memory = i;
            count++;
        }
    if (count != 1 || snprintf(path, sizeof path, "%s/proc/meminfo", io->root) >= (int)sizeof path)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    close(memory->fd[with_memory]);
    memory->fd[with_memory] = fd;
}

static enum berth_code open_nodes(struct free_memory *memory, const struct files *io, char **names,
                                  struct berth_err *err)
{
    size_t entries = 0;
    while (names[entries] != NULL)
        entries++;
    enum berth_code code = room_for(memory, entries + 1, err);
    for (size_t i = 0; code == BERTH_OK && i < entries; i++) {
        int numa, end = 0;
        if (sscanf(names[i], "node%9d%n", &numa, &end) != 1 || names[i][end] != '\0' || numa < 0)
            continue;
        char file[PATH_MAX];
        snprintf(file, sizeof file, "/sys/devices/system/node/%s/meminfo", names[i]);
        /* A node that cannot be read stays unknown. */
        struct berth_err ignored = {0};
        code =
            add(memory, io, file, numa, &ignored) == BERTH_NO_MEMORY ? BERTH_NO_MEMORY : BERTH_OK;
    }
    return code;
}

enum berth_code free_memory_new(const struct files *io, const struct clock *clock,
                                struct free_memory **ret_memory, struct berth_err *err)
{
    struct free_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to watch free memory");
    memory->clock = clock;
    char **names = NULL;
    struct berth_err no_nodes = {0};
    enum berth_code code = files_list(io, "/sys/devices/system/node", &names, &no_nodes);
    if (code == BERTH_OK)
        code = open_nodes(memory, io, names, err);
    else if (code == BERTH_NO_MEMORY)
        err_set(err, code, "%s", no_nodes.detail);
    else
        code = room_for(memory, 1, err);
    files_names_free(names);
    if (code == BERTH_OK)
        use_estimate(memory, io);
    if (code == BERTH_OK && memory->count == 0)
        code = add(memory, io, "/proc/meminfo", 0, err);
    if (code == BERTH_OK)
        *ret_memory = memory;
    else
        free_memory_free(memory);
    return code;
}

void free_memory_free(struct free_memory *memory)
{
    if (memory == NULL)
        return;
    for (size_t i = 0; i < memory->count; i++)
        close(memory->fd[i]);
    free(memory->fd);
    free(memory->node);
    free(memory);
}

static int64_t read_free(int fd)
{
    static const char *const given_back[] = {"Active(file)", "Inactive(file)", "SReclaimable"};
    char text[MEMINFO_MAX];
    if (!read_text(fd, text))
        return -1;
    int64_t available = field(text, "MemAvailable"), bytes = field(text, "MemFree");
    if (available >= 0 || bytes < 0)
        return available;
    for (size_t i = 0; i < sizeof given_back / sizeof given_back[0]; i++) {
        int64_t more = field(text, given_back[i]);
        bytes += more > 0 ? more : 0;
    }
    return bytes;
}

struct free_memory_view free_memory_read(struct free_memory *memory)
{
    if (memory == NULL)
        return (struct free_memory_view){0};
    uint64_t now_ns = clock_mono_ns(memory->clock);
    if (!memory->has_read ||
        now_ns - memory->read_at_ns >= FREE_MEMORY_EVERY_MS * UINT64_C(1000000)) {
        for (size_t i = 0; i < memory->count; i++)
            memory->node[i].free_bytes = read_free(memory->fd[i]);
        memory->has_read = true;
        memory->read_at_ns = now_ns;
        memory->at_s = clock_now_s(memory->clock);
    }
    return (struct free_memory_view){memory->at_s, memory->node, memory->count};
}

int64_t free_memory_of(const struct free_memory_view *view, int32_t numa)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->node[i].numa == numa)
            return view->node[i].free_bytes;
    return -1;
}
