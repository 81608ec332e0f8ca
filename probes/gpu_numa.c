#include "gpu_numa.h"

#include <stdbool.h>
#include <string.h>

#include "cpu_list.h"
#include "probe_file.h"

static bool read_allowed(const char *root, struct cpu_list *ret_list)
{
    static const char key[] = "\nMems_allowed_list:";
    char text[8192];
    if (!probe_file_text(root, text, sizeof text, "/proc/self/status"))
        return false;
    char *line = strstr(text, key);
    if (line == NULL)
        return false;
    line += sizeof key - 1;
    line += strspn(line, " \t");
    line[strcspn(line, "\n")] = '\0';
    return cpu_list_parse(line, ret_list);
}

int gpu_numa_list(const char *root, int *ret_numbers, int max)
{
    char text[4096];
    struct cpu_list with_memory = {0}, allowed;
    if (!probe_file_text(root, text, sizeof text, "/sys/devices/system/node/has_memory") || !cpu_list_parse(text, &with_memory))
        cpu_list_add(&with_memory, 0);
    bool all = !read_allowed(root, &allowed);
    int count = 0;
    for (int node = cpu_list_next(&with_memory, 0); node >= 0 && count < max; node = cpu_list_next(&with_memory, node + 1))
        if (all || cpu_list_has(&allowed, node))
            ret_numbers[count++] = node;
    if (count == 0)
        ret_numbers[count++] = 0;
    return count;
}
