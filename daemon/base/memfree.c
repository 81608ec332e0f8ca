#include "base/memfree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sysio.h"

/* a node's whole file, and of /proc/meminfo more than what is wanted */
#define MEMINFO_MAX 4096

struct memfree {
    const struct clock *clock;
    uint64_t read_at_ns;
    bool has_read;
    int64_t at_s;
    size_t count;
    int *fd; /* one for each node */
    struct memfree_node *node;
};

static enum berth_code add(struct memfree *memfree, const struct sysio *io, const char *file,
                           int32_t numa, struct berth_err *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s", io->root, file) >= (int)sizeof path)
        return err_set(err, BERTH_ABSENT, "%s: the path is too long", file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? BERTH_ABSENT : BERTH_IO, errno, "%s", path);
    memfree->fd[memfree->count] = fd;
    memfree->node[memfree->count++] = (struct memfree_node){.numa = numa, .free_bytes = -1};
    return BERTH_OK;
}

static enum berth_code room_for(struct memfree *memfree, size_t count, struct berth_err *err)
{
    memfree->fd = calloc(count, sizeof *memfree->fd);
    memfree->node = calloc(count, sizeof *memfree->node);
    if (memfree->fd == NULL || memfree->node == NULL)
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

/* With one memory only, the kernel's own estimate, which /proc/meminfo has, is that memory's. */
static void use_estimate(struct memfree *memfree, const struct sysio *io)
{
    char path[PATH_MAX], text[MEMINFO_MAX];
    size_t count = 0, with_memory = 0;
    for (size_t i = 0; i < memfree->count; i++)
        if (read_text(memfree->fd[i], text) && field(text, "MemTotal") > 0) {
            with_memory = i;
            count++;
        }
    if (count != 1 || snprintf(path, sizeof path, "%s/proc/meminfo", io->root) >= (int)sizeof path)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    close(memfree->fd[with_memory]);
    memfree->fd[with_memory] = fd;
}

static enum berth_code open_nodes(struct memfree *memfree, const struct sysio *io, char **names,
                                  struct berth_err *err)
{
    size_t entries = 0;
    while (names[entries] != NULL)
        entries++;
    enum berth_code code = room_for(memfree, entries + 1, err);
    for (size_t i = 0; code == BERTH_OK && i < entries; i++) {
        int numa, end = 0;
        if (sscanf(names[i], "node%9d%n", &numa, &end) != 1 || names[i][end] != '\0' || numa < 0)
            continue;
        char file[PATH_MAX];
        snprintf(file, sizeof file, "/sys/devices/system/node/%s/meminfo", names[i]);
        /* A node that cannot be read is a node of which nothing is known. */
        struct berth_err ignored = {0};
        code =
            add(memfree, io, file, numa, &ignored) == BERTH_NO_MEMORY ? BERTH_NO_MEMORY : BERTH_OK;
    }
    return code;
}

enum berth_code memfree_new(const struct sysio *io, const struct clock *clock,
                            struct memfree **ret_memfree, struct berth_err *err)
{
    struct memfree *memfree = calloc(1, sizeof *memfree);
    if (memfree == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to watch free memory");
    memfree->clock = clock;
    char **names = NULL;
    struct berth_err no_nodes = {0};
    enum berth_code code = sysio_list(io, "/sys/devices/system/node", &names, &no_nodes);
    if (code == BERTH_OK)
        code = open_nodes(memfree, io, names, err);
    else if (code == BERTH_NO_MEMORY)
        err_set(err, code, "%s", no_nodes.detail);
    else
        code = room_for(memfree, 1, err);
    sysio_names_free(names);
    if (code == BERTH_OK)
        use_estimate(memfree, io);
    if (code == BERTH_OK && memfree->count == 0)
        code = add(memfree, io, "/proc/meminfo", 0, err);
    if (code == BERTH_OK)
        *ret_memfree = memfree;
    else
        memfree_free(memfree);
    return code;
}

void memfree_free(struct memfree *memfree)
{
    if (memfree == NULL)
        return;
    for (size_t i = 0; i < memfree->count; i++)
        close(memfree->fd[i]);
    free(memfree->fd);
    free(memfree->node);
    free(memfree);
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

struct memfree_view memfree_read(struct memfree *memfree)
{
    if (memfree == NULL)
        return (struct memfree_view){0};
    uint64_t now_ns = clock_mono_ns(memfree->clock);
    if (!memfree->has_read ||
        now_ns - memfree->read_at_ns >= MEMFREE_EVERY_MS * UINT64_C(1000000)) {
        for (size_t i = 0; i < memfree->count; i++)
            memfree->node[i].free_bytes = read_free(memfree->fd[i]);
        memfree->has_read = true;
        memfree->read_at_ns = now_ns;
        memfree->at_s = clock_now_s(memfree->clock);
    }
    return (struct memfree_view){memfree->at_s, memfree->node, memfree->count};
}

int64_t memfree_of(const struct memfree_view *view, int32_t numa)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->node[i].numa == numa)
            return view->node[i].free_bytes;
    return -1;
}
