#include "common/free_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/file.h"

static int64_t least(int64_t a, int64_t b) { return b >= 0 && b < a ? b : a; }

/* Remaining bytes under the cgroups above this process. Version 2 keeps memory.max in each, version
 * 1 memory.limit_in_bytes. */
static int64_t cgroup_room(const char *root, int64_t room)
{
    char text[8192], *save = NULL;
    if (!probe_file_text(root, text, sizeof text, "/proc/self/cgroup"))
        return room;
    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *controllers = strchr(line, ':');
        char *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (path == NULL)
            continue;
        *path++ = '\0';
        bool unified = strcmp(controllers + 1, "") == 0;
        if (!unified && strcmp(controllers + 1, "memory") != 0)
            continue;
        for (;;) {
            const char *base = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
            int64_t limit = probe_file_number(root, "%s%s/%s", base, path,
                                              unified ? "memory.max" : "memory.limit_in_bytes");
            int64_t used = probe_file_number(root, "%s%s/%s", base, path,
                                             unified ? "memory.current" : "memory.usage_in_bytes");
            if (limit >= 0)
                room = least(room, used < limit ? limit - (used < 0 ? 0 : used) : 0);
            char *slash = strrchr(path, '/');
            if (slash == NULL)
                break;
            *slash = '\0';
        }
    }
    return room;
}

/* Free memory of a node, plus the caches that the kernel drops at once: pages of files and of its
 * own tables. Excludes pages that must be written first. */
static int64_t node_room(const char *text)
{
    static const char *const given_back[] = {"Active(file)", "Inactive(file)", "SReclaimable"};
    static const char *const held[] = {"Dirty", "Writeback"};
    int64_t bytes = probe_file_kilobytes(text, "MemFree"), caches = 0;
    for (size_t i = 0; i < sizeof given_back / sizeof *given_back; i++) {
        int64_t more = probe_file_kilobytes(text, given_back[i]);
        caches += more > 0 ? more : 0;
    }
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        int64_t less = probe_file_kilobytes(text, held[i]);
        caches -= less > 0 ? less : 0;
    }
    return bytes >= 0 && caches > 0 ? bytes + caches : bytes;
}

int64_t probe_room_bytes(const char *root, int numa, int buffers)
{
    char text[16384];
    int64_t room = INT64_MAX;
    if (probe_file_text(root, text, sizeof text, "/proc/meminfo"))
        room = least(room, probe_file_kilobytes(text, "MemAvailable"));
    room = cgroup_room(root, room) / (buffers < 1 ? 1 : buffers);
    if (probe_file_text(root, text, sizeof text, "/sys/devices/system/node/node%d/meminfo", numa))
        room = least(room, node_room(text));
    return room / 2;
}
