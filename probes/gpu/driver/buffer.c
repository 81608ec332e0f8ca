#include "gpu/driver/buffer.h"

#include <numaif.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/free_memory.h"
#include "gpu/driver/node.h"
#include "gpu/driver/pages.h"

#define LEAST_BYTES ((size_t)4 << 20) /* least useful size for a measurement */
#define ALIGN_BYTES ((size_t)2 << 20)
/* buffer size for kinds that one device at a time works on */
#define OTHER_BYTES ((size_t)64 << 20)
/* byte that makes numbers near one, of any width, so that kernels read only written memory */
#define ORDINARY  0x3c
#define WORD_BITS (8 * (int)sizeof(unsigned long))

struct buffer {
    bool tried, made;
    struct gpu_err err;  /* reason of a failed attempt */
    gpu_address address; /* address of a device's own or managed memory */
    struct gpu_pages pages;
    bool registered;
    size_t bytes;
};

struct gpu_buffers {
    struct gpu_node *node;
    size_t host_bytes, device_bytes;
    struct buffer devices[GPU_DEVICES_MAX][2];
    struct buffer hosts[GPU_NUMAS_MAX][GPU_MEMORY_KIND_COUNT][2];
};

const char *gpu_memory_kind_name(enum gpu_memory_kind kind)
{
    static const char *const names[GPU_MEMORY_KIND_COUNT] = {
        "pinned", "coherent", "noncoherent", "pageable", "managed", "migrating", "system"};
    return names[kind];
}

bool gpu_buffers_new(struct gpu_node *node, size_t host_bytes, size_t device_bytes,
                     struct gpu_buffers **ret_buffers, struct probe_why *why)
{
    struct gpu_buffers *buffers = calloc(1, sizeof *buffers);
    if (buffers == NULL)
        return probe_why_set(why, "out of memory");
    buffers->node = node;
    buffers->host_bytes = host_bytes;
    buffers->device_bytes = device_bytes;
    *ret_buffers = buffers;
    return true;
}

static bool is_managed(enum gpu_memory_kind kind)
{
    return kind == GPU_MEMORY_MANAGED || kind == GPU_MEMORY_MIGRATE;
}

/* Any working device: host and managed memory are known to all of them once made. */
static int first_usable(const struct gpu_node *node)
{
    for (int i = 0; i < node->device_count; i++)
        if (node->device[i].usable)
            return i;
    return -1;
}

static void free_host(const struct gpu_buffers *buffers, struct buffer *buffer,
                      enum gpu_memory_kind kind)
{
    const struct gpu_api *api = buffers->node->api;
    if (is_managed(kind) && buffer->made)
        api->free(api, buffer->address);
    if (buffer->registered)
        api->host_unregister(api, buffer->pages.base);
    gpu_pages_done(&buffer->pages);
}

void gpu_buffers_free(struct gpu_buffers *buffers)
{
    if (buffers == NULL)
        return;
    const struct gpu_node *node = buffers->node;
    for (int i = 0; i < node->device_count; i++)
        for (int which = 0; which < 2; which++)
            if (buffers->devices[i][which].made && gpu_node_enter(node, i, NULL))
                node->api->free(node->api, buffers->devices[i][which].address);
    int any = first_usable(node);
    bool entered = any >= 0 && gpu_node_enter(node, any, NULL);
    for (int i = 0; entered && i < node->numa_count; i++)
        for (int kind = 0; kind < GPU_MEMORY_KIND_COUNT; kind++)
            for (int which = 0; which < 2; which++)
                free_host(buffers, &buffers->hosts[i][kind][which], (enum gpu_memory_kind)kind);
    free(buffers);
}

static size_t at_most(size_t wanted, size_t most)
{
    return (wanted < most ? wanted : most) / ALIGN_BYTES * ALIGN_BYTES;
}

static bool make_device(struct gpu_buffers *buffers, int device, struct buffer *buffer)
{
    const struct gpu_api *api = buffers->node->api;
    size_t space, total;
    if (!gpu_node_check(buffers->node, device, api->space(api, &space, &total), "free memory",
                        &buffer->err))
        return false;
    buffer->bytes = at_most(buffers->device_bytes, space / 4);
    if (buffer->bytes < LEAST_BYTES)
        return probe_why_set(&buffer->err.why, "%s: only %s free",
                             buffers->node->device[device].name, probe_size((int64_t)space).text);
    if (!gpu_node_check(buffers->node, device, api->alloc(api, buffer->bytes, &buffer->address),
                        "allocate", &buffer->err))
        return false;
    gpu_stream stream = buffers->node->device[device].stream[0];
    int code = api->fill(api, buffer->address, ORDINARY, buffer->bytes, stream);
    if (code == 0)
        code = api->stream_wait(api, stream);
    if (gpu_node_check(buffers->node, device, code, "write to what was allocated", &buffer->err))
        return true;
    (void)api->free(api, buffer->address);
    return false;
}

const struct gpu_node *gpu_buffers_node(const struct gpu_buffers *buffers) { return buffers->node; }

bool gpu_buffers_device(struct gpu_buffers *buffers, int device, int which,
                        struct gpu_memory *ret_memory, struct probe_why *why)
{
    struct buffer *buffer = &buffers->devices[device][which];
    struct gpu_err err;
    if (!buffers->node->device[device].usable)
        return probe_why_set(why, "%.190s", buffers->node->device[device].why.text);
    if (!gpu_node_enter(buffers->node, device, &err))
        return probe_why_set(why, "%.199s", err.why.text);
    if (!buffer->tried) {
        buffer->tried = true;
        buffer->made = make_device(buffers, device, buffer);
    }
    if (!buffer->made)
        return probe_why_set(why, "%.199s", buffer->err.why.text);
    *ret_memory = (struct gpu_memory){.address = buffer->address, .bytes = buffer->bytes};
    return true;
}

/* Touches with a preference for the node; a runtime's kernel driver may choose another. */
static void touch_managed(char *memory, size_t bytes, int numa)
{
    unsigned long old[4096 / WORD_BITS] = {0}, mask[4096 / WORD_BITS] = {0};
    int old_mode = 0;
    bool kept = get_mempolicy(&old_mode, old, 4096, NULL, 0) == 0;
    mask[numa / WORD_BITS] = 1ul << (numa % WORD_BITS);
    if (kept)
        set_mempolicy(MPOL_PREFERRED, mask, (unsigned long)numa + 2);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < bytes; i += page)
        *(volatile char *)(memory + i) = 0;
    if (kept)
        set_mempolicy(old_mode, old_mode == MPOL_DEFAULT ? NULL : old,
                      old_mode == MPOL_DEFAULT ? 0 : 4096);
}

static bool make_managed(struct gpu_buffers *buffers, int device, int numa,
                         enum gpu_memory_kind kind, struct buffer *buffer)
{
    const struct gpu_node *node = buffers->node;
    const struct gpu_api *api = node->api;
    if (!gpu_node_check(node, device, api->managed_alloc(api, buffer->bytes, &buffer->address),
                        "allocate managed memory", &buffer->err))
        return false;
    bool ok = true;
    if (kind == GPU_MEMORY_MANAGED) {
        ok = gpu_node_check(
            node, device,
            api->managed_advise(api, buffer->address, buffer->bytes, GPU_ADVISE_HOST, 0), "advise",
            &buffer->err);
        for (int i = 0; ok && i < node->device_count; i++)
            if (node->device[i].usable && node->device[i].attribute[GPU_ATTRIBUTE_MANAGED] > 0)
                ok = gpu_node_check(node, i,
                                    api->managed_advise(api, buffer->address, buffer->bytes,
                                                        GPU_ADVISE_ACCESSED_BY,
                                                        node->device[i].api_device),
                                    "advise", &buffer->err);
    }
    if (ok)
        touch_managed((char *)(uintptr_t)buffer->address, buffer->bytes, numa);
    else
        api->free(api, buffer->address);
    return ok;
}

static bool make_registered(struct gpu_buffers *buffers, int device, enum gpu_memory_kind kind,
                            struct buffer *buffer)
{
    static const enum gpu_host_kind kinds[] = {GPU_HOST_PINNED, GPU_HOST_COHERENT,
                                               GPU_HOST_NONCOHERENT};
    const struct gpu_api *api = buffers->node->api;
    if (kind > GPU_MEMORY_NONCOHERENT)
        return true;
    buffer->registered = gpu_node_check(
        buffers->node, device,
        api->host_register(api, buffer->pages.base, buffer->pages.bytes, kinds[kind]),
        "register host memory", &buffer->err);
    return buffer->registered;
}

static bool make_host(struct gpu_buffers *buffers, int device, int index, enum gpu_memory_kind kind,
                      struct buffer *buffer)
{
    const struct gpu_node *node = buffers->node;
    int64_t room = probe_room_bytes("", node->numa[index], node->numa_count) / 2;
    size_t wanted = kind == GPU_MEMORY_PINNED || buffers->host_bytes < OTHER_BYTES
                        ? buffers->host_bytes
                        : OTHER_BYTES;
    buffer->bytes = at_most(wanted, room > 0 ? (size_t)room : 0);
    if (buffer->bytes < LEAST_BYTES)
        return probe_why_set(&buffer->err.why, "numa%d: too little memory is free",
                             node->numa[index]);
    if (is_managed(kind))
        return make_managed(buffers, device, node->numa[index], kind, buffer);
    if (!gpu_pages_new(node->numa[index], node->numa_count <= 1, buffer->bytes, &buffer->pages,
                       &buffer->err.why))
        return false;
    if (make_registered(buffers, device, kind, buffer))
        return true;
    gpu_pages_done(&buffer->pages);
    return false;
}

/* Limits of this device that hold for memory of any kind. */
static bool can_use(const struct gpu_device *device, enum gpu_memory_kind kind,
                    struct probe_why *why)
{
    if (is_managed(kind) && device->attribute[GPU_ATTRIBUTE_MANAGED] <= 0)
        return probe_why_set(why, "%s", probe_nevers[PROBE_NO_MANAGED]);
    if (kind == GPU_MEMORY_SYSTEM && device->attribute[GPU_ATTRIBUTE_PAGEABLE] <= 0)
        return probe_why_set(why, "%s", probe_nevers[PROBE_NO_MALLOC]);
    return true;
}

bool gpu_buffers_host(struct gpu_buffers *buffers, int numa_index, enum gpu_memory_kind kind,
                      int which, int device, struct gpu_memory *ret_memory, struct probe_why *why)
{
    const struct gpu_node *node = buffers->node;
    struct buffer *buffer = &buffers->hosts[numa_index][kind][which];
    struct gpu_err err;
    if (!node->device[device].usable)
        return probe_why_set(why, "%.190s", node->device[device].why.text);
    if (!can_use(&node->device[device], kind, why))
        return false;
    if (!gpu_node_enter(node, device, &err))
        return probe_why_set(why, "%.199s", err.why.text);
    if (!buffer->tried) {
        buffer->tried = true;
        buffer->made = make_host(buffers, device, numa_index, kind, buffer);
    }
    if (!buffer->made)
        return probe_why_set(why, "%.199s", buffer->err.why.text);
    struct gpu_memory memory = {.host = is_managed(kind) ? (void *)(uintptr_t)buffer->address
                                                         : buffer->pages.base,
                                .bytes = buffer->bytes};
    memory.address = (gpu_address)(uintptr_t)memory.host;
    if (buffer->registered &&
        !gpu_node_check(node, device,
                        node->api->host_address(node->api, memory.host, &memory.address),
                        "address of host memory", &err))
        return probe_why_set(why, "%.199s", err.why.text);
    *ret_memory = memory;
    return true;
}
