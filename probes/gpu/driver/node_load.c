/* Loading of a device's kernels, and choice among them by unroll. */
#include "gpu/driver/image.h"

#include <stddef.h>
#include <stdio.h>

/* Families of kernels are consecutive in enum gpu_kernel: by unroll, or by number. */
#define UNROLLS 6
#define BS      7
static const unsigned unroll[UNROLLS] = {1, 2, 4, 8, 12, 16};

void gpu_node_load_name(enum gpu_kernel kernel, char *ret_name, size_t size)
{
    static const char *const single[GPU_KERNEL_COUNT] = {
        [GPU_KERNEL_GATE] = "gate",         [GPU_KERNEL_FILL] = "fill",
        [GPU_KERNEL_CHECK] = "check",       [GPU_KERNEL_CHASE] = "chase",
        [GPU_KERNEL_SUM] = "sum",           [GPU_KERNEL_CHASE_BUILD] = "chase_build",
        [GPU_KERNEL_PINGPONG] = "pingpong", [GPU_KERNEL_PRODUCT] = "product",
        [GPU_KERNEL_MESH] = "mesh",         [GPU_KERNEL_STRIDE] = "stride",
    };
    static const struct {
        enum gpu_kernel first;
        const char *name;
    } streams[] = {
        {GPU_KERNEL_READ, "read"}, {GPU_KERNEL_WRITE, "write"}, {GPU_KERNEL_COPY, "copy"}};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        if (kernel >= streams[i].first && kernel < streams[i].first + UNROLLS)
            snprintf(ret_name, size, "berth_%s_u%u", streams[i].name,
                     unroll[kernel - streams[i].first]);
    if (kernel >= GPU_KERNEL_BS1 && kernel < GPU_KERNEL_BS1 + BS)
        snprintf(ret_name, size, "berth_bs%u", kernel - GPU_KERNEL_BS1 + 1U);
    if (single[kernel] != NULL)
        snprintf(ret_name, size, "berth_%s", single[kernel]);
}

bool gpu_node_load(const struct gpu_api *api, const void *image, struct gpu_device *device,
                   struct probe_why *why)
{
    int code = api->module_load(api, image, &device->module);
    if (code != 0)
        return probe_why_set(why, "the driver does not load the kernels: %s", api->text(api, code));
    for (enum gpu_kernel kernel = 0; kernel < GPU_KERNEL_COUNT; kernel++) {
        char name[32] = "";
        gpu_node_load_name(kernel, name, sizeof name);
        if (api->module_function(api, device->module, name, &device->kernel[kernel]) != 0)
            device->kernel[kernel] = NULL;
        else if (api->function_threads(api, device->kernel[kernel], &device->threads[kernel]) != 0)
            device->threads[kernel] = 0;
    }
    return true;
}

gpu_function gpu_node_stream_kernel(const struct gpu_device *device, enum gpu_kernel first,
                                    unsigned wanted)
{
    for (unsigned i = 0; i < UNROLLS; i++)
        if (unroll[i] == wanted)
            return device->kernel[first + i];
    return NULL;
}

int gpu_node_stream_threads(const struct gpu_device *device, enum gpu_kernel first, unsigned wanted)
{
    for (unsigned i = 0; i < UNROLLS; i++)
        if (unroll[i] == wanted)
            return device->threads[first + i];
    return -1;
}

bool gpu_node_stream_fits(const struct gpu_device *device, enum gpu_kernel first,
                          const struct gpu_shape *shape)
{
    int threads = gpu_node_stream_threads(device, first, shape->unroll);
    return threads == 0 || (threads > 0 && shape->block <= (unsigned)threads);
}
