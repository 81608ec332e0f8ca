#include "gpu/timing/launch_shapes.h"

#include <stdio.h>
#include <string.h>

_Static_assert(GPU_TUNE_TARGET_COUNT == GPU_TUNE_TARGETS && GPU_TUNE_PULL + 1 == GPU_TUNE_WAYS,
               "a device has room for the rates of all");

#define NAME_SIZE 192

static const char *const prefixes[GPU_TUNE_TARGET_COUNT] = {"", "peer-", "host-"};
static const char *const ways[GPU_TUNE_WAYS] = {"read", "write", "copy", [GPU_TUNE_PULL] = "pull"};

int gpu_tune_operations(enum gpu_tune_target target)
{
    return target == GPU_TUNE_PEER ? GPU_TUNE_PULL + 1 : GPU_OPERATION_COPY + 1;
}

struct gpu_shape *gpu_tune_shape(struct gpu_device *device, enum gpu_tune_target target, int way)
{
    if (target != GPU_TUNE_OWN)
        return target == GPU_TUNE_PEER ? &device->peer[way] : &device->host[way];
    return way == GPU_OPERATION_READ    ? &device->read
           : way == GPU_OPERATION_WRITE ? &device->write
                                        : &device->copy;
}

void gpu_tune_default(struct gpu_node *node)
{
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device *device = &node->device[i];
        int processors = device->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS];
        unsigned grid = processors > 0 ? (unsigned)processors : 64;
        struct gpu_shape shape =
            node->api->takes_cuda ? (struct gpu_shape){.block = 256, .grid = 0, .unroll = 4}
                                  : (struct gpu_shape){.block = 256, .grid = 8 * grid, .unroll = 4};
        for (int target = 0; target < GPU_TUNE_TARGET_COUNT; target++)
            for (int way = 0; way < gpu_tune_operations((enum gpu_tune_target)target); way++)
                *gpu_tune_shape(device, (enum gpu_tune_target)target, way) = shape;
        memset(device->rate, 0, sizeof device->rate);
        memset(device->tuned_at_s, 0, sizeof device->tuned_at_s);
        memset(device->tuned_ends, 0, sizeof device->tuned_ends);
        device->tuned = device->known = 0;
    }
}

/* "NVIDIA H200/13000" */
static size_t write_name(const struct gpu_device *device, int driver, char *text)
{
    return (size_t)snprintf(text, NAME_SIZE, "%s/%d", device->model, driver);
}

/* ",700W,1980MHz,580.95.05": the limits that are known */
static size_t write_limits(const struct gpu_node *node, const struct gpu_device *device, char *text)
{
    size_t used = 0;
    text[0] = '\0';
    if (device->power_cap_w >= 0)
        used += (size_t)snprintf(text + used, NAME_SIZE - used, ",%lldW",
                                 (long long)device->power_cap_w);
    if (device->clock_max_mhz >= 0)
        used += (size_t)snprintf(text + used, NAME_SIZE - used, ",%lldMHz",
                                 (long long)device->clock_max_mhz);
    if (node->version[0] != '\0')
        used += (size_t)snprintf(text + used, NAME_SIZE - used, ",%s", node->version);
    return used;
}

/* " host-copy 256x132u4 2.31e+10 2.3e+10 2.32e+10 2.29e+10" within the text of one section, which
 * ends at a semicolon. */
static bool find_shape(const char *text, enum gpu_tune_target target, int way,
                       struct gpu_shape *ret_shape, struct gpu_tuned *ret_rate)
{
    char key[32];
    int length = snprintf(key, sizeof key, " %s%s ", prefixes[target], ways[way]);
    const char *end = strchr(text, ';'), *found = strstr(text, key);
    struct gpu_shape shape;
    struct gpu_tuned rate = {0};
    if (found == NULL || (end != NULL && found > end))
        return false;
    int count = sscanf(found + length, "%5ux%7uu%2u %12lf %12lf %12lf %12lf", &shape.block,
                       &shape.grid, &shape.unroll, &rate.rate, &rate.low, &rate.high, &rate.next);
    if (count != 3 && count != 7)
        return false;
    *ret_shape = shape;
    *ret_rate = count == 7 ? rate : (struct gpu_tuned){0};
    return shape.block >= 32 && shape.block <= 1024 && shape.block % 32 == 0 &&
           shape.grid <= 1U << 20 &&
           (shape.unroll == 12 ||
            (shape.unroll >= 1 && shape.unroll <= 16 && (shape.unroll & (shape.unroll - 1)) == 0));
}

static bool has_target(const char *text, enum gpu_tune_target target)
{
    struct gpu_shape shape;
    struct gpu_tuned rate;
    bool all = true;
    for (int way = 0; way < gpu_tune_operations(target); way++)
        all = all && find_shape(text, target, way, &shape, &rate);
    return all;
}

bool gpu_tune_is_text(const char *text)
{
    for (const char *part = text; part != NULL; part = strstr(part, "; ")) {
        part += part == text ? 0 : 2;
        const char *shapes = strstr(part, ": "), *end = strchr(part, ';');
        bool any = false;
        for (int target = 0;
             shapes != NULL && (end == NULL || shapes < end) && target < GPU_TUNE_TARGET_COUNT;
             target++)
            any = any || has_target(shapes + 1, (enum gpu_tune_target)target);
        if (!any)
            return false;
    }
    return true;
}

/* The device that tunes for the model of this one: the first usable. */
static const struct gpu_device *tuner_of(const struct gpu_node *node, int index)
{
    for (int i = 0; i < node->device_count; i++)
        if (node->device[i].usable && strcmp(node->device[i].model, node->device[index].model) == 0)
            return &node->device[i];
    return &node->device[index];
}

void gpu_tune_ends(const struct gpu_node *node, int device, int memory,
                   char ret_ends[GPU_TUNE_ENDS_SIZE])
{
    const char *name = node->device[device].name;
    ret_ends[0] = '\0';
    if (memory >= 0)
        snprintf(ret_ends, GPU_TUNE_ENDS_SIZE, "%s>%s", name, node->device[memory].name);
    else if (memory <= GPU_PLACE_NUMA(0))
        snprintf(ret_ends, GPU_TUNE_ENDS_SIZE, "%s>numa%d", name,
                 node->numa[GPU_PLACE_NUMA(0) - memory]);
}

/* Reads ",0000:c1:00.0>numa0" of length bytes; false when it is something else. */
static bool read_ends(const char *text, size_t length, char ret_ends[GPU_TUNE_ENDS_SIZE])
{
    if (text[0] != ',' || length < 2 || length > GPU_TUNE_ENDS_SIZE ||
        memchr(text, '>', length) == NULL || memchr(text + 1, ',', length - 1) != NULL)
        return false;
    snprintf(ret_ends, GPU_TUNE_ENDS_SIZE, "%.*s", (int)length - 1, text + 1);
    return true;
}

/* A section about a device's model. */
struct section {
    const char *shapes; /* from the blank before the first one */
    bool holds;         /* the driver and the limits are those of now */
    int64_t at_s;
    char ends[GPU_TUNE_ENDS_SIZE];
};

static bool read_section(const char *text, const struct gpu_node *node,
                         const struct gpu_device *device, int driver, struct section *ret)
{
    char expected[NAME_SIZE];
    size_t model = strlen(device->model), length = write_name(device, driver, expected);
    const char *end = strstr(text, ": ");
    long long at_s = 0;
    int digits = 0;
    if (end == NULL || strncmp(text, device->model, model) != 0 || text[model] != '/')
        return false;
    *ret = (struct section){.shapes = end + 1, .holds = strncmp(text, expected, length) == 0};
    text += ret->holds ? length : 0;
    if (ret->holds && sscanf(text, "@%18lld%n", &at_s, &digits) == 1 && at_s > 0) {
        text += digits;
        ret->at_s = at_s;
        length = write_limits(node, device, expected);
        ret->holds = strncmp(text, expected, length) == 0;
        text += ret->holds ? length : 0;
        if (ret->holds && read_ends(text, (size_t)(end - text), ret->ends))
            text = end;
    }
    ret->holds = ret->holds && text == end;
    return true;
}

static void take_target(struct gpu_device *device, const struct section *section,
                        enum gpu_tune_target target)
{
    struct gpu_shape shapes[GPU_TUNE_WAYS];
    struct gpu_tuned rates[GPU_TUNE_WAYS];
    bool all = true;
    for (int way = 0; way < gpu_tune_operations(target); way++)
        all = all && find_shape(section->shapes, target, way, &shapes[way], &rates[way]);
    if (!all || device->tuned >> target & 1)
        return;
    for (int way = 0; way < gpu_tune_operations(target); way++) {
        *gpu_tune_shape(device, target, way) = shapes[way];
        device->rate[target][way] = rates[way];
    }
    device->known |= 1U << target;
    device->tuned |= section->holds ? 1U << target : 0;
    device->tuned_at_s[target] = section->at_s;
    memcpy(device->tuned_ends[target], section->ends, GPU_TUNE_ENDS_SIZE);
}

void gpu_tune_parse(struct gpu_node *node, int driver, const char *text, bool anew)
{
    for (const char *part = text; part != NULL; part = strstr(part, "; ")) {
        part += part == text ? 0 : 2;
        for (int i = 0; i < node->device_count; i++) {
            struct section section;
            bool is_its = read_section(part, node, tuner_of(node, i), driver, &section);
            for (int target = 0; is_its && target < GPU_TUNE_TARGET_COUNT; target++)
                take_target(&node->device[i], &section, (enum gpu_tune_target)target);
        }
    }
    for (int i = 0; i < node->device_count && anew; i++)
        node->device[i].tuned = 0;
}

static bool is_new_model(const struct gpu_node *node, int index)
{
    for (int i = 0; i < index; i++)
        if (node->device[i].tuned != 0 &&
            strcmp(node->device[i].model, node->device[index].model) == 0)
            return false;
    return node->device[index].tuned != 0;
}

/* Returns the length of the section, or 0 where it does not fit. */
static size_t print_section(const struct gpu_node *node, int index, int driver,
                            enum gpu_tune_target target, char *ret_text, size_t size)
{
    struct gpu_device copy = node->device[index], *device = &copy;
    char name[NAME_SIZE], limits[NAME_SIZE] = "", time[32] = "";
    write_name(device, driver, name);
    if (device->tuned_at_s[target] > 0) {
        snprintf(time, sizeof time, "@%lld", (long long)device->tuned_at_s[target]);
        size_t length = write_limits(node, tuner_of(node, index), limits);
        if (device->tuned_ends[target][0] != '\0')
            snprintf(limits + length, sizeof limits - length, ",%s", device->tuned_ends[target]);
    }
    size_t used = (size_t)snprintf(ret_text, size, "%s%s%s:", name, time, limits);
    for (int way = 0; way < gpu_tune_operations(target) && used < size; way++) {
        const struct gpu_shape *shape = gpu_tune_shape(device, target, way);
        const struct gpu_tuned *rate = &device->rate[target][way];
        used += (size_t)snprintf(ret_text + used, size - used, " %s%s %ux%uu%u", prefixes[target],
                                 ways[way], shape->block, shape->grid, shape->unroll);
        if (rate->rate > 0 && used < size)
            used += (size_t)snprintf(ret_text + used, size - used, " %.5g %.5g %.5g %.5g",
                                     rate->rate, rate->low, rate->high, rate->next);
    }
    return used < size ? used : 0;
}

void gpu_tune_print(const struct gpu_node *node, int driver, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (int i = 0; i < node->device_count; i++) {
        for (int target = 0; is_new_model(node, i) && target < GPU_TUNE_TARGET_COUNT; target++) {
            char text[768];
            size_t length = node->device[i].tuned >> target & 1
                                ? print_section(node, i, driver, (enum gpu_tune_target)target, text,
                                                sizeof text)
                                : 0,
                   needed = length + (used > 0 ? 2 : 0);
            if (length == 0 || used + needed >= size)
                continue;
            snprintf(ret_text + used, size - used, "%s%s", used > 0 ? "; " : "", text);
            used += needed;
        }
    }
}
