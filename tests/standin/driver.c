#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver_call.h"

/* ---- begin and end of a call ---- */

static enum model_fault planned(struct world *world, const struct driver_call *call)
{
    enum model_fault fault = MODEL_FAULT_NONE;
    for (size_t i = 0; i < world->model->fault_count; i++) {
        const struct model_planned_fault *plan = &world->model->faults[i];
        if ((strcmp(plan->call, "*") != 0 && strcmp(plan->call, call->name) != 0) ||
            (plan->device >= 0 && plan->device != call->device))
            continue;
        unsigned number = ++world->fault_counts[i];
        if (fault == MODEL_FAULT_NONE && (plan->nth == 0 || plan->nth == number))
            fault = plan->fault;
    }
    return fault;
}

static enum code code_of(struct world *world, const struct driver_call *call,
                         enum model_fault fault)
{
    struct world_device *device = call->device >= 0 ? &world->device[call->device] : NULL;
    switch (fault) {
    case MODEL_FAULT_MEMORY:
        return CODE_OUT_OF_MEMORY;
    case MODEL_FAULT_PEER:
        return CODE_PEER_UNSUPPORTED;
    case MODEL_FAULT_UNSUPPORTED:
        return CODE_NOT_SUPPORTED;
    case MODEL_FAULT_LOST:
        if (device != NULL)
            device->lost = CODE_LAUNCH_FAILED;
        break;
    case MODEL_FAULT_STICKY:
        if (device != NULL)
            device->sticky = CODE_ILLEGAL_ADDRESS;
        break;
    case MODEL_FAULT_HANG:
        world_leave(world);
        for (;;)
            pause();
    case MODEL_FAULT_NONE:
    case MODEL_FAULT_STUCK:
        break;
    }
    if (device != NULL && device->lost != 0)
        return (enum code)device->lost;
    return device != NULL ? (enum code)device->sticky : CODE_OK;
}

bool driver_begin(struct driver_call call, enum model_call group, struct world **ret_world,
                  bool *ret_stuck, enum code *ret_code)
{
    struct world *world = world_enter();
    world_pass(world, world->model->call_ns[group]);
    enum model_fault fault = planned(world, &call);
    enum code code = code_of(world, &call, fault);
    /* What is asked of a device, and making it current, is not its context's affair. */
    if (group == MODEL_CALL_DEVICE && code != CODE_OK &&
        code == (enum code)world->device[call.device].sticky)
        code = CODE_OK;
    if (code == CODE_OK && !world->initialised && group != MODEL_CALL_INIT)
        code = CODE_NOT_INITIALIZED;
    if (code != CODE_OK) {
        *ret_code = driver_end(world, code);
        return false;
    }
    if (ret_stuck != NULL)
        *ret_stuck = fault == MODEL_FAULT_STUCK;
    *ret_world = world;
    return true;
}

enum code driver_end(struct world *world, enum code code)
{
    world_settle(world);
    world_leave(world);
    return code;
}

struct world_stream *driver_stream(struct world *world, struct driver_call call, void *stream)
{
    if (stream == NULL)
        return call.device >= 0 ? world->device[call.device].stream : NULL;
    return world_stream_is(world, stream) ? stream : NULL;
}

/* ---- devices ---- */

const struct model *driver_model(void)
{
    struct world *world = world_enter();
    const struct model *model = world->model;
    world_leave(world);
    return model;
}

enum code driver_init(struct driver_call call)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_INIT, &world, NULL, &code))
        return code;
    world->initialised = true;
    return driver_end(world, world->model->device_count > 0 ? CODE_OK : CODE_NO_DEVICE);
}

enum code driver_count(struct driver_call call, int *ret_count)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_DEVICE, &world, NULL, &code))
        return code;
    *ret_count = world->model->device_count;
    return driver_end(world, CODE_OK);
}

enum code driver_device(struct driver_call call, int device, const struct model_device **ret_device)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_DEVICE, &world, NULL, &code))
        return code;
    if (device < 0 || device >= world->model->device_count)
        return driver_end(world, CODE_INVALID_DEVICE);
    *ret_device = &world->model->device[device];
    return driver_end(world, CODE_OK);
}

enum code driver_open(struct driver_call call)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OPEN, &world, NULL, &code))
        return code;
    struct world_device *device = &world->device[call.device];
    if (device->stream == NULL)
        device->stream = world_stream_new(world, call.device);
    if (device->stream == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    device->contexts++;
    return driver_end(world, CODE_OK);
}

/* What is broken can be closed, too, and is whole when it is opened again; a device that is lost
 * stays lost. */
enum code driver_close(struct driver_call call)
{
    struct world *world = world_enter();
    world_pass(world, world->model->call_ns[MODEL_CALL_OTHER]);
    struct world_device *device = &world->device[call.device];
    if (device->contexts == 0)
        return driver_end(world, CODE_INVALID_CONTEXT);
    if (--device->contexts == 0) {
        for (struct world_stream *stream = world->streams, *next; stream != NULL; stream = next) {
            next = stream->next;
            if (stream->device == call.device)
                world_stream_free(world, stream);
        }
        memory_free_device(world->memory, call.device);
        *device = (struct world_device){.lost = device->lost};
    }
    return driver_end(world, CODE_OK);
}

enum code driver_is_open(struct driver_call call, int *ret_is_open)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_DEVICE, &world, NULL, &code))
        return code;
    *ret_is_open = world->device[call.device].contexts > 0;
    return driver_end(world, CODE_OK);
}

enum code driver_enter(struct driver_call call)
{
    struct world *world;
    enum code code;
    return driver_begin(call, MODEL_CALL_DEVICE, &world, NULL, &code) ? driver_end(world, CODE_OK)
                                                                      : code;
}

static bool may_access(const struct world *world, int device, int peer)
{
    const struct model *model = world->model;
    return peer >= 0 && peer < model->device_count && peer != device &&
           !model->no_peer[device][peer] &&
           model_path(model, MODEL_KERNEL, MODEL_READ, MODEL_PINNED, device, peer)->limit > 0;
}

enum code driver_can_access(struct driver_call call, int peer, int *ret_can)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_DEVICE, &world, NULL, &code))
        return code;
    *ret_can = may_access(world, call.device, peer);
    return driver_end(world, CODE_OK);
}

enum code driver_access_peer(struct driver_call call, int peer)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    if (!may_access(world, call.device, peer))
        return driver_end(world, CODE_PEER_UNSUPPORTED);
    if (world->device[call.device].peers[peer])
        return driver_end(world, CODE_PEER_ALREADY);
    world->device[call.device].peers[peer] = true;
    return driver_end(world, CODE_OK);
}

/* ---- memory ---- */

enum code driver_alloc(struct driver_call call, size_t bytes, uint64_t *ret_address)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_ALLOC, &world, NULL, &code))
        return code;
    const struct memory_block *block = memory_alloc(world->memory, call.device, bytes);
    if (block == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    *ret_address = block->address;
    return driver_end(world, CODE_OK);
}

enum code driver_free(struct driver_call call, uint64_t address)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_ALLOC, &world, NULL, &code))
        return code;
    return driver_end(world, address == 0 || memory_free(world->memory, address, false)
                                 ? CODE_OK
                                 : CODE_INVALID_VALUE);
}

enum code driver_space(struct driver_call call, size_t *ret_free, size_t *ret_total)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    *ret_total = world->model->device[call.device].bytes;
    *ret_free = *ret_total - memory_used(world->memory, call.device);
    return driver_end(world, CODE_OK);
}

static int near_place(const struct model *model, int device)
{
    int place = device < 0 ? -1 : model_numa_place(model, model->device[device].numa);
    return place < 0 ? model->device_count : place;
}

enum code driver_host_alloc(struct driver_call call, size_t bytes, enum model_kind kind,
                            void **ret_memory)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_ALLOC, &world, NULL, &code))
        return code;
    const struct memory_block *block =
        memory_host(world->memory, bytes, kind, near_place(world->model, call.device), MEMORY_HOST);
    if (block == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    *ret_memory = block->bytes;
    return driver_end(world, CODE_OK);
}

enum code driver_managed_alloc(struct driver_call call, size_t bytes, uint64_t *ret_address)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_ALLOC, &world, NULL, &code))
        return code;
    if (world->model->device[call.device].managed == 0)
        return driver_end(world, CODE_NOT_SUPPORTED);
    const struct memory_block *block = memory_host(
        world->memory, bytes, MODEL_MANAGED, near_place(world->model, call.device), MEMORY_MANAGED);
    if (block == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    *ret_address = block->address;
    return driver_end(world, CODE_OK);
}

enum code driver_register(struct driver_call call, void *memory, size_t bytes, enum model_kind kind)
{
    struct world *world;
    struct memory_spot spot;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_ALLOC, &world, NULL, &code))
        return code;
    if (!memory_find(world->memory, (uint64_t)(uintptr_t)memory, bytes, &spot))
        return driver_end(world, CODE_INVALID_VALUE);
    if (spot.block != NULL)
        return driver_end(world, CODE_ALREADY_REGISTERED);
    return driver_end(world, memory_register(world->memory, memory, bytes, kind) != NULL
                                 ? CODE_OK
                                 : CODE_OUT_OF_MEMORY);
}

enum code driver_unregister(struct driver_call call, void *memory)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_ALLOC, &world, NULL, &code))
        return code;
    return driver_end(world, memory_free(world->memory, (uint64_t)(uintptr_t)memory, true)
                                 ? CODE_OK
                                 : CODE_NOT_REGISTERED);
}

enum code driver_host_address(struct driver_call call, void *memory, uint64_t *ret_address)
{
    struct world *world;
    struct memory_spot spot;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    if (!memory_find(world->memory, (uint64_t)(uintptr_t)memory, 1, &spot) || spot.block == NULL)
        return driver_end(world, CODE_INVALID_VALUE);
    *ret_address = (uint64_t)(uintptr_t)memory;
    return driver_end(world, CODE_OK);
}

enum code driver_pointer(struct driver_call call, uint64_t address, enum memory_owner *ret_owner,
                         int *ret_device)
{
    struct world *world;
    struct memory_spot spot;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_QUERY, &world, NULL, &code))
        return code;
    if (!memory_find(world->memory, address, 1, &spot) || spot.block == NULL)
        return driver_end(world, CODE_INVALID_VALUE);
    *ret_owner = spot.block->owner;
    *ret_device = spot.block->device;
    return driver_end(world, CODE_OK);
}

enum code driver_advise(struct driver_call call, uint64_t address, size_t bytes, int advice,
                        int device)
{
    enum { SET_PREFERRED = 3, UNSET_PREFERRED = 4, SET_ACCESSED_BY = 5 };
    struct world *world;
    struct memory_spot spot;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    if (!memory_find(world->memory, address, bytes, &spot) || spot.block == NULL ||
        spot.block->owner != MEMORY_MANAGED)
        return driver_end(world, CODE_INVALID_VALUE);
    if (advice == SET_PREFERRED || advice == SET_ACCESSED_BY)
        spot.block->stays = advice == SET_ACCESSED_BY || device < 0;
    else if (advice == UNSET_PREFERRED)
        spot.block->stays = false;
    return driver_end(world, CODE_OK);
}

const char *driver_text(int code)
{
    static const struct {
        enum code code;
        const char *text;
    } texts[] = {{CODE_OK, "no error"},
                 {CODE_INVALID_VALUE, "invalid argument"},
                 {CODE_OUT_OF_MEMORY, "out of memory"},
                 {CODE_NOT_INITIALIZED, "initialization error"},
                 {CODE_NO_DEVICE, "no GPU is detected"},
                 {CODE_INVALID_DEVICE, "invalid device ordinal"},
                 {CODE_INVALID_CONTEXT, "invalid device context"},
                 {CODE_PEER_UNSUPPORTED, "peer access is not supported between these two devices"},
                 {CODE_INVALID_HANDLE, "invalid resource handle"},
                 {CODE_NOT_FOUND, "named symbol not found"},
                 {CODE_NOT_READY, "device not ready"},
                 {CODE_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
                 {CODE_PEER_ALREADY, "peer access is already enabled"},
                 {CODE_ALREADY_REGISTERED, "memory is registered already"},
                 {CODE_NOT_REGISTERED, "memory is not registered"},
                 {CODE_LAUNCH_FAILED, "unspecified launch failure"},
                 {CODE_NOT_SUPPORTED, "operation not supported"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if ((int)texts[i].code == code)
            return texts[i].text;
    return "unknown error";
}
