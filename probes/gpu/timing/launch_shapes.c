#include "gpu/timing/launch_shapes.h"

#include <stdio.h>
#include <string.h>

#define WAYS_MAX 4

static const char *const prefixes[GPU_TUNE_TARGET_COUNT] = {"", "peer-", "host-"};
static const char *const ways[WAYS_MAX] = {"read", "write", "copy", [GPU_TUNE_PULL] = "pull"};

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
        device->tuned = 0;
    }
}

/* "NVIDIA H200/13000: " */
static int write_name(const struct gpu_device *device, int driver, char *text, size_t size)
{
    return snprintf(text, size, "%s/%d: ", device->model, driver);
}

/* " host-copy 256x132u4" within the text of one model, which ends at a semicolon. */
static bool find_shape(const char *text, enum gpu_tune_target target, int way,
                       struct gpu_shape *ret_shape)
{
    char key[32];
    int length = snprintf(key, sizeof key, " %s%s ", prefixes[target], ways[way]);
    const char *end = strchr(text, ';'), *found = strstr(text, key);
    struct gpu_shape shape;
    if (found == NULL || (end != NULL && found > end) ||
        sscanf(found + length, "%5ux%7uu%2u", &shape.block, &shape.grid, &shape.unroll) != 3)
        return false;
    *ret_shape = shape;
    return shape.block >= 32 && shape.block <= 1024 && shape.block % 32 == 0 &&
           shape.grid <= 1U << 20 &&
           (shape.unroll == 12 ||
            (shape.unroll >= 1 && shape.unroll <= 16 && (shape.unroll & (shape.unroll - 1)) == 0));
}

static bool has_target(const char *text, enum gpu_tune_target target)
{
    struct gpu_shape shape;
    bool all = true;
    for (int way = 0; way < gpu_tune_operations(target); way++)
        all = all && find_shape(text, target, way, &shape);
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

void gpu_tune_parse(struct gpu_node *node, int driver, const char *text)
{
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device *device = &node->device[i];
        char name[96];
        size_t length = (size_t)write_name(device, driver, name, sizeof name);
        const char *found = text;
        while ((found = strstr(found, name)) != NULL && found != text &&
               strncmp(found - 2, "; ", 2) != 0)
            found += length;
        for (int target = 0; found != NULL && target < GPU_TUNE_TARGET_COUNT; target++) {
            struct gpu_shape shapes[WAYS_MAX];
            bool all = true;
            for (int way = 0; way < gpu_tune_operations((enum gpu_tune_target)target); way++)
                all = all && find_shape(found + length - 1, (enum gpu_tune_target)target, way,
                                        &shapes[way]);
            if (!all)
                continue;
            for (int way = 0; way < gpu_tune_operations((enum gpu_tune_target)target); way++)
                *gpu_tune_shape(device, (enum gpu_tune_target)target, way) = shapes[way];
            device->tuned |= 1U << target;
        }
    }
}

static bool is_new_model(const struct gpu_node *node, int index)
{
    for (int i = 0; i < index; i++)
        if (node->device[i].tuned != 0 &&
            strcmp(node->device[i].model, node->device[index].model) == 0)
            return false;
    return node->device[index].tuned != 0;
}

void gpu_tune_print(const struct gpu_node *node, int driver, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device device = node->device[i];
        char text[512];
        if (!is_new_model(node, i))
            continue;
        /* the text of each shape begins with a blank */
        int length = write_name(&device, driver, text, sizeof text) - 1;
        for (int target = 0; target < GPU_TUNE_TARGET_COUNT; target++)
            for (int way = 0; way < gpu_tune_operations((enum gpu_tune_target)target) &&
                              (device.tuned >> target & 1);
                 way++) {
                const struct gpu_shape *shape =
                    gpu_tune_shape(&device, (enum gpu_tune_target)target, way);
                length +=
                    snprintf(text + length, sizeof text - (size_t)length, " %s%s %ux%uu%u",
                             prefixes[target], ways[way], shape->block, shape->grid, shape->unroll);
            }
        size_t needed = (size_t)length + (used > 0 ? 2 : 0);
        if (used + needed >= size)
            return;
        snprintf(ret_text + used, size - used, "%s%s", used > 0 ? "; " : "", text);
        used += needed;
    }
}
