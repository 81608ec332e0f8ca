/* Resources of the calling thread. Affinity, device cgroup and environment belong to the caller,
 * and a daemon cannot see them. */
#include "lib/allowed.h"
#include "lib/cpus.h"
#include "lib/read.h"
#include "lib/visible_gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NODES_MAX 1024

static bool read_cpus(struct lib_read *read, const char **ret_cpus)
{
    struct lib_cpus cpus;
    if (!lib_cpus_of(0, &cpus))
        return false;
    size_t size = lib_cpus_format(&cpus, NULL, 0);
    char *text = lib_result_block(read, size, 1);
    if (text != NULL)
        lib_cpus_format(&cpus, text, size);
    *ret_cpus = text;
    return true;
}

/* Reads a small kernel file as text; false when it is not readable. */
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

/* Only existing nodes: Mems_allowed may name nodes that the machine could have but lacks. */
struct berth_texts lib_allowed_memory(struct lib_read *read)
{
    const struct berth_texts all = {.item = NULL};
    char status[8192], online[512];
    struct lib_cpus allowed, present;
    if (!read_file("/proc/thread-self/status", status, sizeof status) ||
        !read_file("/sys/devices/system/node/online", online, sizeof online))
        return all;
    const char *line = strstr(status, "\nMems_allowed_list:");
    if (line == NULL || !lib_cpus_parse(line + strcspn(line, "0123456789"), &allowed) ||
        !lib_cpus_parse(online, &present))
        return all;
    size_t count = 0;
    for (unsigned n = 0; n < NODES_MAX; n++)
        count += lib_cpus_has(&allowed, n) && lib_cpus_has(&present, n);
    const char **item = lib_result_block(read, count, sizeof *item);
    char(*name)[16] = lib_result_block(read, count, sizeof *name);
    if (item == NULL || name == NULL)
        return all;
    size_t i = 0;
    for (unsigned n = 0; n < NODES_MAX; n++) {
        if (lib_cpus_has(&allowed, n) && lib_cpus_has(&present, n)) {
            snprintf(name[i], sizeof *name, "numa%u", n);
            item[i] = name[i];
            i++;
        }
    }
    return (struct berth_texts){.item = item, .count = count};
}

bool lib_allowed_has_devices(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0 ||
           access("/dev/dri", F_OK) == 0;
}

/* Asks the kernel for read and write permission. inode_permission() also asks the device cgroup, so
 * the result equals that of open. Opening a gpu can wake it up for seconds. */
static bool may_open(const char *path)
{
    return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0;
}

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
        gpu.usable = true; /* the device of this gpu is unknown, so nothing forbids it */
    return gpu;
}

const char *lib_variable(const struct lib_variables *variables, const char *name)
{
    return variables->read != NULL ? variables->read(name, variables->arg) : getenv(name);
}

struct lib_visible lib_visible_variables(const struct lib_variables *variables)
{
    return (struct lib_visible){
        .cuda = lib_variable(variables, "CUDA_VISIBLE_DEVICES"),
        .cuda_order = lib_variable(variables, "CUDA_DEVICE_ORDER"),
        .rocr = lib_variable(variables, "ROCR_VISIBLE_DEVICES"),
        .hip = lib_variable(variables, "HIP_VISIBLE_DEVICES"),
    };
}

bool lib_visible_is_any(const struct lib_visible *visible)
{
    return visible->cuda != NULL || visible->rocr != NULL || visible->hip != NULL;
}

static bool is_named(const struct berth_texts *given, const json_t *place)
{
    static const char *const keys[] = {"name", "pci", "uuid"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        const char *name = json_string_value(json_object_get(place, keys[k]));
        for (size_t i = 0; name != NULL && i < given->count; i++)
            if (strcasecmp(given->item[i], name) == 0)
                return true;
    }
    return false;
}

bool lib_allowed_gpus(struct lib_read *read, const json_t *node, const struct berth_texts *given,
                      struct lib_gpu ret[LIB_GPUS_MAX], size_t *ret_count)
{
    size_t count = 0, i;
    const json_t *place;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const char *kind = json_string_value(json_object_get(place, "kind"));
        if (kind == NULL || strcmp(kind, "gpu") != 0)
            continue;
        if (count == LIB_GPUS_MAX)
            return false;
        ret[count] = describe_gpu(read, place);
        if (given != NULL)
            ret[count].usable = is_named(given, place);
        count++;
    }
    *ret_count = count;
    return true;
}

struct berth_texts lib_allowed_names(struct lib_read *read, const struct lib_gpu *gpus,
                                     size_t count)
{
    const char **item = lib_result_block(read, count, sizeof *item);
    size_t kept = 0;
    for (size_t i = 0; item != NULL && i < count; i++)
        if (gpus[i].usable)
            item[kept++] = gpus[i].name;
    return (struct berth_texts){.item = item, .count = kept};
}

static void read_gpus(struct lib_read *read, const json_t *node, struct berth_texts *ret_gpus)
{
    const struct lib_variables environment = {0};
    const struct lib_visible visible = lib_visible_variables(&environment);
    struct lib_gpu gpus[LIB_GPUS_MAX];
    size_t count;
    if (!lib_allowed_gpus(read, node, NULL, gpus, &count))
        return;
    lib_visible_apply(&visible, gpus, count);
    *ret_gpus = lib_allowed_names(read, gpus, count);
}

int berth_allowed_here(struct berth *berth, int with_gpus, struct berth_allowed **ret_allowed)
{
    json_t *node = NULL;
    bool has_devices = with_gpus && lib_allowed_has_devices();
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
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "cannot read this thread's affinity: %s",
                        strerror(errno));
    }
    allowed->memory = lib_allowed_memory(&read);
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
