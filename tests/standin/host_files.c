#include "host_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world.h"

static const char nodes_folder[] = "/sys/devices/system/node",
                  pci_folder[] = "/sys/bus/pci/devices/";

static void add_list(const struct model *model, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < model->numa_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", i == 0 ? "" : ",",
                                 model->numa[i].number);
    if (used + 1 < size)
        strcpy(text + used, "\n");
}

/* The machine's processors go round: each node has some, and a node beyond their number shares one.
 */
static void add_cpus(const struct model *model, int index, char *text, size_t size)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t used = 0;
    bool any = false;
    for (long cpu = 0; cpu < cpus && used < size; cpu++)
        if (cpu % model->numa_count == index || (index >= cpus && cpu == index % cpus)) {
            used += (size_t)snprintf(text + used, size - used, "%s%ld", any ? "," : "", cpu);
            any = true;
        }
    if (used + 1 < size)
        strcpy(text + used, "\n");
}

static void node_file(const struct model *model, const char *rest, char *text, size_t size)
{
    int number = -1, length = 0;
    text[0] = '\0';
    if (sscanf(rest, "/node%d/%n", &number, &length) != 1 || length == 0) {
        if (strcmp(rest, "/online") == 0 || strcmp(rest, "/possible") == 0 ||
            strcmp(rest, "/has_memory") == 0 || strcmp(rest, "/has_normal_memory") == 0 ||
            strcmp(rest, "/has_cpu") == 0)
            add_list(model, text, size);
        return;
    }
    for (int i = 0; i < model->numa_count; i++) {
        if (model->numa[i].number != number)
            continue;
        if (strcmp(rest + length, "meminfo") == 0)
            snprintf(text, size, "Node %d MemTotal: %llu kB\nNode %d MemFree: %llu kB\n", number,
                     (unsigned long long)model->numa[i].bytes / 1024, number,
                     (unsigned long long)model->numa[i].free_bytes / 1024);
        else if (strcmp(rest + length, "cpulist") == 0)
            add_cpus(model, i, text, size);
    }
}

/* The machine's own text, with the virtual node's memories in it. */
static void status_file(const struct model *model, char *text, size_t size)
{
    static const char key[] = "\nMems_allowed_list:\t";
    char own[6144], list[256];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, own, sizeof own - 1);
    if (fd >= 0)
        close(fd);
    text[0] = '\0';
    if (length < 0)
        return;
    own[length] = '\0';
    char *line = strstr(own, key);
    if (line == NULL) {
        snprintf(text, size, "%s", own);
        return;
    }
    line += sizeof key - 1;
    const char *rest = line + strcspn(line, "\n");
    add_list(model, list, sizeof list);
    list[strcspn(list, "\n")] = '\0';
    snprintf(text, size, "%.*s%s%s", (int)(line - own), own, list, rest);
}

/* "/sys/bus/pci/devices/0000:c1:00.0/numa_node": of the virtual devices, and of none that the
 * machine has. */
static void pci_file(const struct model *model, const char *rest, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < model->device_count; i++) {
        size_t length = strlen(model->device[i].pci);
        if (strncmp(rest, model->device[i].pci, length) == 0 &&
            strcmp(rest + length, "/numa_node") == 0)
            snprintf(text, size, "%d\n", model->device[i].numa);
    }
}

bool host_file(const char *path, char *ret_text, size_t size)
{
    bool is_status = strcmp(path, "/proc/self/status") == 0,
         is_node = strncmp(path, nodes_folder, sizeof nodes_folder - 1) == 0;
    bool is_pci = strncmp(path, pci_folder, sizeof pci_folder - 1) == 0;
    if (!is_status && !is_node && !is_pci)
        return false;
    struct world *world = world_enter();
    const struct model *model = world->model;
    world_leave(world);
    if (is_status)
        status_file(model, ret_text, size);
    else if (is_pci)
        pci_file(model, path + sizeof pci_folder - 1, ret_text, size);
    else
        node_file(model, path + sizeof nodes_folder - 1, ret_text, size);
    return true;
}
