#include "gpu_tune.h"

#include <stdio.h>
#include <string.h>

/* "NVIDIA H200/13000" */
static void name_of(const struct gpu_device *device, int driver, char *ret_name, size_t size)
{
    snprintf(ret_name, size, "%s/%d", device->model, driver);
}

void gpu_tune_default(struct gpu_node *node)
{
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device *device = &node->device[i];
        int processors = device->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS];
        unsigned grid = processors > 0 ? (unsigned)processors : 64;
        /* A kernel for CUDA has the latency of memory covered by many loads of few threads, one for AMD by many threads. */
        if (node->api->takes_cuda)
            device->read = device->write = device->copy = (struct gpu_shape){.block = 512, .grid = 2 * grid, .unroll = 8};
        else
            device->read = device->write = device->copy = (struct gpu_shape){.block = 256, .grid = 8 * grid, .unroll = 4};
    }
}

static bool is_shape(const struct gpu_shape *shape)
{
    return shape->block >= 32 && shape->block <= 1024 && shape->block % 32 == 0 && shape->grid >= 1 && shape->grid <= 1U << 20 &&
           (shape->unroll == 1 || shape->unroll == 2 || shape->unroll == 4 || shape->unroll == 8 || shape->unroll == 12 ||
            shape->unroll == 16);
}

void gpu_tune_take(struct gpu_node *node, int driver, const char *text, bool *ret_known)
{
    for (int i = 0; i < node->device_count; i++) {
        struct gpu_device *device = &node->device[i];
        struct gpu_shape shapes[3];
        char name[96];
        name_of(device, driver, name, sizeof name);
        const char *found = text;
        size_t length = strlen(name);
        ret_known[i] = false;
        while ((found = strstr(found, name)) != NULL && !((found == text || found[-1] == ' ') && found[length] == ':'))
            found += length;
        if (found == NULL ||
            sscanf(found + length, ": read %ux%uu%u write %ux%uu%u copy %ux%uu%u", &shapes[0].block, &shapes[0].grid,
                   &shapes[0].unroll, &shapes[1].block, &shapes[1].grid, &shapes[1].unroll, &shapes[2].block, &shapes[2].grid,
                   &shapes[2].unroll) != 9 ||
            !is_shape(&shapes[0]) || !is_shape(&shapes[1]) || !is_shape(&shapes[2]))
            continue;
        device->read = shapes[0];
        device->write = shapes[1];
        device->copy = shapes[2];
        ret_known[i] = true;
    }
}

void gpu_tune_print(const struct gpu_node *node, int driver, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (int i = 0; i < node->device_count; i++) {
        const struct gpu_device *device = &node->device[i];
        bool before = !device->usable;
        for (int j = 0; j < i && !before; j++)
            before = node->device[j].usable && strcmp(node->device[j].model, device->model) == 0;
        if (before || used >= size)
            continue;
        char name[96];
        name_of(device, driver, name, sizeof name);
        int length =
            snprintf(ret_text + used, size - used, "%s%s: read %ux%uu%u write %ux%uu%u copy %ux%uu%u", used > 0 ? "; " : "", name,
                     device->read.block, device->read.grid, device->read.unroll, device->write.block, device->write.grid,
                     device->write.unroll, device->copy.block, device->copy.grid, device->copy.unroll);
        used += length > 0 ? (size_t)length : 0;
    }
}
