#include "cpu_conditions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cpu_stream.h"
#include "probe_file.h"

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

/* "always [madvise] never": the word in brackets. */
static void print_choice(const char *root, struct probe_line *line, const char *key, const char *path)
{
    char text[256];
    if (!probe_file_text(root, text, sizeof text, "%s", path))
        return;
    char *open = strchr(text, '['), *close = open == NULL ? NULL : strchr(open, ']');
    if (close == NULL)
        return;
    *close = '\0';
    probe_line_text(line, key, open + 1);
}

/* The value behind "key : " in /proc/cpuinfo; machines differ in the key. */
static bool cpuinfo(const char *text, const char *key, char *ret_value, size_t size)
{
    size_t length = strlen(key);
    for (const char *row = text; row != NULL; row = strchr(row, '\n')) {
        row += *row == '\n';
        if (strncmp(row, key, length) == 0 && (row[length] == '\t' || row[length] == ' ' || row[length] == ':')) {
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

/* How busy the node was in the last minute: in words, because numbers would make each run's conditions a text of their own. */
static void print_load(const char *root, struct probe_line *line)
{
    static const struct {
        double most; /* processes that want to run, for each CPU */
        const char *word;
    } words[] = {{0.1, "idle"}, {0.5, "light"}, {1, "busy"}};
    char text[256], *end;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (cpus < 1 || !probe_file_text(root, text, sizeof text, "/proc/loadavg"))
        return;
    double load = strtod(text, &end);
    const char *word = "overloaded";
    for (size_t i = sizeof words / sizeof *words; i-- > 0;)
        if (load / (double)cpus < words[i].most)
            word = words[i].word;
    if (end != text)
        probe_line_text(line, "load", word);
}

void cpu_conditions_print(const char *root, struct probe_line *line)
{
    struct utsname name;
    if (uname(&name) == 0) {
        probe_line_text(line, "kernel", name.release);
        probe_line_text(line, "machine", name.machine);
    }
    print_cpu(root, line);
    print_hypervisor(line);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        char text[256];
        if (probe_file_text(root, text, sizeof text, "%s", plain[i].path) && text[0] != '\0') {
            text[strcspn(text, "\n")] = '\0';
            probe_line_text(line, plain[i].key, text);
        }
    }
    print_load(root, line);
    print_choice(root, line, "thp", "/sys/kernel/mm/transparent_hugepage/enabled");
    print_choice(root, line, "thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag");
    probe_line_text(line, "timer", "clock_gettime(CLOCK_MONOTONIC)");
    probe_line_text(line, "vectors", cpu_stream_best()->name);
}
