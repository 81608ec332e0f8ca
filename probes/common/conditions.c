#include "common/conditions.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Files whose first line is the value. */
static const struct {
    const char *key, *path;
} plain[] = {
    {"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"},
    {"cpufreq_driver", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"},
    {"boost", "/sys/devices/system/cpu/cpufreq/boost"},
    {"no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"},
    {"smt", "/sys/devices/system/cpu/smt/control"},
    {"numa_balancing", "/proc/sys/kernel/numa_balancing"},
    {"reserved_huge_pages", "/proc/sys/vm/nr_hugepages"},
    {"clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {"microcode", "/sys/devices/system/cpu/cpu0/microcode/version"},
};

void probe_conditions_unknown(struct probe_conditions *conditions, const char *key, const char *why)
{
    probe_line_number(conditions->line, key, (double)NAN);
    if (conditions->not_known_count == PROBE_CONDITIONS_UNKNOWN)
        return;
    conditions->not_known[conditions->not_known_count].key = key;
    snprintf(conditions->not_known[conditions->not_known_count++].why,
             sizeof conditions->not_known[0].why, "%s", why);
}

const char *probe_conditions_no_file(int error)
{
    return error == ENOENT || error == ENOTDIR ? "the kernel does not show it"
           : error == EACCES || error == EPERM ? "closed to this process"
                                               : "it cannot be read";
}

/* Reads the file's first line; false puts the reason into the conditions. */
static bool read_line(struct probe_conditions *conditions, const char *key, const char *path,
                      char *ret_text, size_t size)
{
    errno = 0;
    if (!probe_file_text(conditions->root, ret_text, size, "%s", path) || ret_text[0] == '\0') {
        probe_conditions_unknown(conditions, key, probe_conditions_no_file(errno));
        return false;
    }
    ret_text[strcspn(ret_text, "\n")] = '\0';
    return true;
}

/* "always [madvise] never": the word in brackets. */
static void print_choice(struct probe_conditions *conditions, const char *key, const char *path)
{
    char text[256];
    if (!read_line(conditions, key, path, text, sizeof text))
        return;
    char *open = strchr(text, '['), *close = open == NULL ? NULL : strchr(open, ']');
    if (close == NULL) {
        probe_conditions_unknown(conditions, key, "the file does not say which");
        return;
    }
    *close = '\0';
    probe_line_text(conditions->line, key, open + 1);
}

/* The value behind "key : " in /proc/cpuinfo; machines differ in the key. */
static bool cpuinfo(const char *text, const char *key, char *ret_value, size_t size)
{
    size_t length = strlen(key);
    for (const char *row = text; row != NULL; row = strchr(row, '\n')) {
        row += *row == '\n';
        if (strncmp(row, key, length) == 0 &&
            (row[length] == '\t' || row[length] == ' ' || row[length] == ':')) {
            const char *value = strchr(row, ':');
            if (value == NULL)
                return false;
            value += 1 + strspn(value + 1, " \t");
            snprintf(ret_value, size, "%.*s", (int)strcspn(value, "\n"), value);
            return ret_value[0] != '\0';
        }
    }
    return false;
}

static void print_cpu(const char *root, struct probe_line *line)
{
    static const char *const model_keys[] = {"model name", "cpu", "CPU part"};
    char text[16384], value[4096];
    if (!probe_file_text(root, text, sizeof text, "/proc/cpuinfo"))
        return;
    for (size_t i = 0; i < sizeof model_keys / sizeof *model_keys; i++)
        if (cpuinfo(text, model_keys[i], value, 256)) {
            probe_line_text(line, "cpu_model", value);
            break;
        }
}

static void print_hypervisor(struct probe_line *line)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    char name[13] = "none";
    if (__get_cpuid(1, &a, &b, &c, &d) && (c >> 31) != 0) {
        __cpuid(0x40000000, a, b, c, d);
        memcpy(name, &b, 4);
        memcpy(name + 4, &c, 4);
        memcpy(name + 8, &d, 4);
        name[12] = '\0';
    }
    probe_line_text(line, "hypervisor", name);
#else
    char type[64];
    if (probe_file_text("", type, sizeof type, "/sys/hypervisor/type") ||
        probe_file_text("", type, sizeof type, "/proc/device-tree/hypervisor/compatible"))
        probe_line_text(line, "hypervisor", type);
#endif
}

void probe_conditions_begin(struct probe_conditions *conditions, const char *root,
                            struct probe_line *line)
{
    conditions->root = root;
    conditions->line = line;
    conditions->not_known_count = 0;
}

void probe_conditions_print(struct probe_conditions *conditions)
{
    struct utsname name;
    struct probe_line *line = conditions->line;
    if (uname(&name) == 0) {
        probe_line_text(line, "kernel", name.release);
        probe_line_text(line, "machine", name.machine);
    }
    print_cpu(conditions->root, line);
    print_hypervisor(line);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        char text[256];
        if (read_line(conditions, plain[i].key, plain[i].path, text, sizeof text))
            probe_line_text(line, plain[i].key, text);
    }
    print_choice(conditions, "thp", "/sys/kernel/mm/transparent_hugepage/enabled");
    print_choice(conditions, "thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
}

void probe_conditions_load(struct probe_conditions *conditions)
{
    static const struct {
        double most; /* processes that want to run, for each CPU */
        const char *word;
    } words[] = {{0.1, "idle"}, {0.5, "light"}, {1, "busy"}};
    char text[256], *end;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus < 1 || !read_line(conditions, "load", "/proc/loadavg", text, sizeof text))
        return;
    double load = strtod(text, &end);
    const char *word = "overloaded";
    for (size_t i = sizeof words / sizeof *words; i-- > 0;)
        if (load / (double)cpus < words[i].most)
            word = words[i].word;
    if (end != text)
        probe_line_text(conditions->line, "load", word);
}

/* Groups keys with the same reason, at the place of the first. */
void probe_conditions_end(struct probe_conditions *conditions, const char *key)
{
    char text[PROBE_CONDITIONS_UNKNOWN * 128] = "";
    size_t used = 0, count = conditions->not_known_count;
    for (size_t i = 0; i < count; i++) {
        const char *why = conditions->not_known[i].why;
        size_t first = 0;
        while (strcmp(conditions->not_known[first].why, why) != 0)
            first++;
        if (first < i)
            continue;
        for (size_t k = i; k < count && used < sizeof text; k++)
            if (strcmp(conditions->not_known[k].why, why) == 0)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                         k > i   ? ", "
                                         : i > 0 ? "; "
                                                 : "",
                                         conditions->not_known[k].key);
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, ": %s", why);
    }
    if (count > 0)
        probe_line_text(conditions->line, key, text);
}
