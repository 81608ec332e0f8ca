/* What the calling thread may use. A daemon cannot see this: affinity, device cgroup and environment are the caller's. */
#include "lib_read.h"
#include "lib_visible.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CPUS_MAX 16384
#define NODES_MAX 1024
#define WORD_BITS (8 * (unsigned)sizeof(unsigned long))

struct bits {
    unsigned long word[CPUS_MAX / WORD_BITS];
};

static bool has(const struct bits *bits, unsigned n) { return bits->word[n / WORD_BITS] >> n % WORD_BITS & 1; }

/* The kernel's list format; false on anything else and on numbers of CPUS_MAX or more. */
static bool parse_list(const char *c, struct bits *ret_bits)
{
    struct bits bits = {0};
    while (isdigit((unsigned char)*c)) {
        char *end;
        unsigned long first = strtoul(c, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last >= CPUS_MAX || first > last)
            return false;
        for (unsigned long n = first; n <= last; n++)
            bits.word[n / WORD_BITS] |= 1ul << n % WORD_BITS;
        c = *end == ',' ? end + 1 : end;
    }
    *ret_bits = bits;
    return *c == '\0' || *c == '\n';
}

/* Writes the list format into size bytes; returns the bytes it takes with the NUL. */
static size_t format_list(const struct bits *bits, char *text, size_t size)
{
    size_t used = 0;
    if (size > 0)
        text[0] = '\0';
    for (unsigned n = 0; n < CPUS_MAX; n++) {
        if (!has(bits, n))
            continue;
        unsigned last = n;
        while (last + 1 < CPUS_MAX && has(bits, last + 1))
            last++;
        size_t room = used < size ? size - used : 0;
        char *at = room > 0 ? text + used : NULL;
        int length = last == n ? snprintf(at, room, "%s%u", used > 0 ? "," : "", n)
                               : snprintf(at, room, "%s%u-%u", used > 0 ? "," : "", n, last);
        used += (size_t)length;
        n = last;
    }
    return used + 1;
}

static bool read_cpus(struct lib_read *read, const char **ret_cpus)
{
    struct bits bits = {0};
    if (sched_getaffinity(0, sizeof bits.word, (cpu_set_t *)(void *)bits.word) != 0)
        return false;
    size_t size = format_list(&bits, NULL, 0);
    char *text = lib_result_block(read, size, 1);
    if (text != NULL)
        format_list(&bits, text, size);
    *ret_cpus = text;
    return true;
}

/* A small file of the kernel's as text; false when it cannot be read. */
static bool read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The cpuset's memory nodes, as far as they exist: Mems_allowed may name nodes that a machine could have and has not.
 * Leaves memory at all when the kernel does not say. */
static void read_memory(struct lib_read *read, struct berth_texts *ret_memory)
{
    char status[8192], online[512];
    struct bits allowed, present;
    if (!read_file("/proc/thread-self/status", status, sizeof status) || !read_file("/sys/devices/system/node/online", online, sizeof online))
        return;
    const char *line = strstr(status, "\nMems_allowed_list:");
    if (line == NULL || !parse_list(line + strcspn(line, "0123456789"), &allowed) || !parse_list(online, &present))
        return;
    size_t count = 0;
    for (unsigned n = 0; n < NODES_MAX; n++)
        count += has(&allowed, n) && has(&present, n);
    const char **item = lib_result_block(read, count, sizeof *item);
    char(*name)[16] = lib_result_block(read, count, sizeof *name);
    if (item == NULL || name == NULL)
        return;
    size_t i = 0;
    for (unsigned n = 0; n < NODES_MAX; n++) {
        if (has(&allowed, n) && has(&present, n)) {
            snprintf(name[i], sizeof *name, "numa%u", n);
            item[i] = name[i];
            i++;
        }
    }
    *ret_memory = (struct berth_texts){.item = item, .count = count};
}

static bool has_gpu_devices(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0 || access("/dev/dri", F_OK) == 0;
}

/* Asks the kernel for read and write permission. inode_permission() asks the device cgroup too, so this is what open would
 * say; but opening a gpu can wake it up for seconds. */
static bool may_open(const char *path) { return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0; }

static bool names_nvidia(const char *text)
{
    return text != NULL && (strcasestr(text, "nvidia") != NULL || strcasestr(text, "10de") != NULL);
}

static struct lib_gpu describe_gpu(struct lib_read *read, const json_t *place)
{
    const json_t *details = json_object_get(place, "details");
    const char *vendor = json_string_value(json_object_get(details, "vendor"));
    const char *order = json_string_value(json_object_get(details, "kfd_node"));
    struct lib_gpu gpu = {
        .name = lib_read_text(read, place, "name"),
        .uuid = lib_read_maybe_text(read, place, "uuid"),
        .model = lib_read_maybe_text(read, place, "model"),
        .driver_order = order == NULL ? -1 : strtol(order, NULL, 10),
    };
    const char *render_node = lib_read_maybe_text(read, place, "render_node");
    int64_t minor = lib_read_maybe_integer(read, place, "minor");
    gpu.is_nvidia = order == NULL && (names_nvidia(vendor) || names_nvidia(gpu.model));
    char path[64];
    snprintf(path, sizeof path, "/dev/nvidia%lld", (long long)minor);
    if (gpu.is_nvidia && minor >= 0)
        gpu.usable = may_open(path);
    else if (render_node != NULL)
        gpu.usable = may_open(render_node) && (order == NULL || may_open("/dev/kfd"));
    else
        gpu.usable = true; /* nothing says which device it is, so nothing says no */
    return gpu;
}

static void read_gpus(struct lib_read *read, const json_t *node, struct berth_texts *ret_gpus)
{
    struct lib_gpu gpus[LIB_GPUS_MAX];
    size_t count = 0, i;
    const json_t *place;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const char *kind = json_string_value(json_object_get(place, "kind"));
        if (kind == NULL || strcmp(kind, "gpu") != 0)
            continue;
        if (count == LIB_GPUS_MAX)
            return;
        gpus[count++] = describe_gpu(read, place);
    }
    const struct lib_visible visible = {
        .cuda = getenv("CUDA_VISIBLE_DEVICES"),
        .cuda_order = getenv("CUDA_DEVICE_ORDER"),
        .rocr = getenv("ROCR_VISIBLE_DEVICES"),
        .hip = getenv("HIP_VISIBLE_DEVICES"),
    };
    lib_visible_apply(&visible, gpus, count);
    const char **item = lib_result_block(read, count, sizeof *item);
    size_t kept = 0;
    for (i = 0; item != NULL && i < count; i++)
        if (gpus[i].usable)
            item[kept++] = gpus[i].name;
    *ret_gpus = (struct berth_texts){.item = item, .count = kept};
}

int berth_allowed_here(struct berth *berth, int with_gpus, struct berth_allowed **ret_allowed)
{
    json_t *node = NULL;
    bool has_devices = with_gpus && has_gpu_devices();
    if (has_devices) {
        int status = lib_call(berth, "io.berth.Fabric.GetNode", json_object(), &node);
        if (status < 0)
            return status;
    }
    struct lib_read read;
    struct berth_allowed *allowed = lib_result_new(sizeof *allowed, node, &read);
    if (allowed == NULL)
        return lib_fail_memory(berth);
    if (!read_cpus(&read, &allowed->cpus)) {
        lib_result_free(allowed);
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "cannot read this thread's affinity: %s", strerror(errno));
    }
    read_memory(&read, &allowed->memory);
    if (has_devices)
        read_gpus(&read, node, &allowed->gpus);
    else if (with_gpus)
        allowed->gpus.item = lib_result_block(&read, 0, sizeof *allowed->gpus.item);
    int status = lib_result_end(berth, &read, "io.berth.Fabric.GetNode", allowed);
    if (status == BERTH_DONE)
        *ret_allowed = allowed;
    return status;
}

void berth_allowed_free(struct berth_allowed *allowed) { lib_result_free(allowed); }
