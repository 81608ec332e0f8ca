#include <math.h>
#include <string.h>

#include "driver_call.h"
#include "kernels.h"
#include "kernels_bytes.h"

enum code driver_stream_new(struct driver_call call, void **ret_stream)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    struct world_stream *stream = world_stream_new(world, call.device);
    if (stream == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    *ret_stream = stream;
    return driver_end(world, CODE_OK);
}

enum code driver_stream_free(struct driver_call call, void *stream)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    if (!world_stream_is(world, stream))
        return driver_end(world, CODE_INVALID_HANDLE);
    world_stream_free(world, stream);
    return driver_end(world, CODE_OK);
}

static enum code state_of(const struct world *world, int device)
{
    return (enum code)(world->device[device].lost != 0 ? world->device[device].lost
                                                       : world->device[device].sticky);
}

enum code driver_stream_wait(struct driver_call call, void *stream)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_QUERY, &world, NULL, &code))
        return code;
    struct world_stream *own = driver_stream(world, call, stream);
    if (own == NULL)
        return driver_end(world, CODE_INVALID_HANDLE);
    int device = own->device;
    world_wait_stream(world, own);
    world_pass(world, world->model->call_ns[MODEL_CALL_SYNC]);
    return driver_end(world, state_of(world, device));
}

enum code driver_device_wait(struct driver_call call)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_QUERY, &world, NULL, &code))
        return code;
    for (struct world_stream *stream = world->streams; stream != NULL; stream = stream->next)
        if (stream->device == call.device && stream->head != NULL) {
            world_wait_stream(world, stream);
            stream = world->streams;
        }
    world_pass(world, world->model->call_ns[MODEL_CALL_SYNC]);
    return driver_end(world, state_of(world, call.device));
}

enum code driver_stream_device(struct driver_call call, void *stream, int *ret_device)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_QUERY, &world, NULL, &code))
        return code;
    const struct world_stream *own = driver_stream(world, call, stream);
    if (own != NULL)
        *ret_device = own->device;
    return driver_end(world, own == NULL ? CODE_INVALID_HANDLE : CODE_OK);
}

enum code driver_stream_query(struct driver_call call, void *stream)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_QUERY, &world, NULL, &code))
        return code;
    struct world_stream *own = driver_stream(world, call, stream);
    if (own == NULL)
        return driver_end(world, CODE_INVALID_HANDLE);
    return driver_end(world, own->head == NULL ? state_of(world, own->device) : CODE_NOT_READY);
}

enum code driver_event_new(struct driver_call call, bool is_timed, void **ret_event)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    struct world_event *event = world_event_new(world);
    if (event == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    event->is_timed = is_timed;
    *ret_event = event;
    return driver_end(world, CODE_OK);
}

enum code driver_event_free(struct driver_call call, void *event)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    if (!world_event_is(world, event))
        return driver_end(world, CODE_INVALID_HANDLE);
    world_event_free(world, event);
    return driver_end(world, CODE_OK);
}

/* Both ends of what streams do with events: happen there, or wait. */
static enum code push_event(struct driver_call call, void *event, void *stream,
                            enum world_kind kind)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_EVENT, &world, NULL, &code))
        return code;
    struct world_stream *own = driver_stream(world, call, stream);
    struct world_event *mark = event;
    if (own == NULL || !world_event_is(world, mark))
        return driver_end(world, CODE_INVALID_HANDLE);
    struct world_op *op = world_push(own, kind);
    if (op == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    mark->references++;
    op->event = mark;
    op->record = kind == WORLD_RECORD ? ++mark->recorded : mark->recorded;
    return driver_end(world, CODE_OK);
}

enum code driver_event_record(struct driver_call call, void *event, void *stream)
{
    return push_event(call, event, stream, WORLD_RECORD);
}
enum code driver_stream_after(struct driver_call call, void *stream, void *event)
{
    return push_event(call, event, stream, WORLD_AFTER);
}

enum code driver_event_query(struct driver_call call, void *event)
{
    struct world *world;
    enum code code;
    const struct world_event *mark = event;
    if (!driver_begin(call, MODEL_CALL_QUERY, &world, NULL, &code))
        return code;
    if (!world_event_is(world, mark))
        return driver_end(world, CODE_INVALID_HANDLE);
    return driver_end(world, mark->happened >= mark->recorded ? CODE_OK : CODE_NOT_READY);
}

enum code driver_event_wait(struct driver_call call, void *event)
{
    struct world *world;
    enum code code;
    struct world_event *mark = event;
    if (!driver_begin(call, MODEL_CALL_QUERY, &world, NULL, &code))
        return code;
    if (!world_event_is(world, mark))
        return driver_end(world, CODE_INVALID_HANDLE);
    world_wait_event(world, mark, mark->recorded);
    world_pass(world, world->model->call_ns[MODEL_CALL_SYNC]);
    return driver_end(world, CODE_OK);
}

enum code driver_event_elapsed(struct driver_call call, void *from, void *to, float *ret_ms)
{
    struct world *world;
    enum code code;
    const struct world_event *first = from, *last = to;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    if (!world_event_is(world, first) || !world_event_is(world, last) || first->recorded == 0 ||
        last->recorded == 0)
        return driver_end(world, CODE_INVALID_HANDLE);
    if (first->happened < first->recorded || last->happened < last->recorded)
        return driver_end(world, CODE_NOT_READY);
    *ret_ms = (float)((last->ns - first->ns) * 1e-6);
    return driver_end(world, CODE_OK);
}

/* ---- what moves bytes ---- */

/* The way of a copy: by the engine of the stream's device; one that is neither's own way in is its
 * other end's. */
static const struct model_path *copy_path(const struct world *world, int device,
                                          const struct memory_spot *to,
                                          const struct memory_spot *from)
{
    const struct model *model = world->model;
    bool from_host = from->place >= model->device_count, to_host = to->place >= model->device_count;
    enum model_how how = from->place == device ? MODEL_WRITE : MODEL_READ;
    if (world->has_blits && !from_host && !to_host && from->place != to->place)
        return model_path(model, MODEL_KERNEL, how, MODEL_PINNED, device,
                          how == MODEL_WRITE ? to->place : from->place);
    enum model_kind kind = from_host ? from->kind : to_host ? to->kind : MODEL_PINNED;
    return model_path(model, MODEL_ENGINE, how, kind, from->place, to->place);
}

enum code driver_copy(struct driver_call call, uint64_t to, uint64_t from, size_t bytes,
                      void *stream, bool wait)
{
    struct world *world;
    struct memory_spot target, source;
    bool stuck;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_COPY, &world, &stuck, &code))
        return code;
    struct world_stream *own = driver_stream(world, call, stream);
    if (own == NULL)
        return driver_end(world, CODE_INVALID_HANDLE);
    if (bytes == 0 || !memory_find(world->memory, to, bytes, &target) ||
        !memory_find(world->memory, from, bytes, &source))
        return driver_end(world, bytes == 0 ? CODE_OK : CODE_INVALID_VALUE);
    const struct model_path *path = copy_path(world, own->device, &target, &source);
    if (path->limit <= 0)
        return driver_end(world, CODE_NOT_SUPPORTED);
    struct world_op *op = world_push(own, stuck ? WORLD_STUCK : WORLD_MOVE);
    if (op == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    world_use(op, path, 1);
    op->bytes = (double)bytes;
    op->to = to;
    op->from = from;
    op->size = bytes;
    op->effect = kernel_bytes_move;
    if (wait) {
        world_wait_stream(world, own);
        world_pass(world, world->model->call_ns[MODEL_CALL_SYNC]);
    }
    return driver_end(world, CODE_OK);
}

static void set_bytes(struct world *world, struct world_op *op)
{
    struct memory_spot spot;
    if (memory_find(world->memory, op->to, op->size, &spot))
        memset(spot.bytes, (int)op->args[0],
               op->size < world->model->bytes_max ? op->size : world->model->bytes_max);
}

enum code driver_fill(struct driver_call call, uint64_t to, uint8_t byte, size_t bytes,
                      void *stream)
{
    struct world *world;
    struct memory_spot target;
    bool stuck;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_LAUNCH, &world, &stuck, &code))
        return code;
    struct world_stream *own = driver_stream(world, call, stream);
    if (own == NULL)
        return driver_end(world, CODE_INVALID_HANDLE);
    if (bytes == 0 || !memory_find(world->memory, to, bytes, &target))
        return driver_end(world, bytes == 0 ? CODE_OK : CODE_INVALID_VALUE);
    struct world_op *op = world_push(own, stuck ? WORLD_STUCK : WORLD_MOVE);
    if (op == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    const struct model_path *path =
        model_path(world->model, MODEL_KERNEL, MODEL_WRITE, target.kind, own->device, target.place);
    if (path->limit > 0) {
        world_use(op, path, 1);
        op->bytes = (double)bytes;
    }
    op->to = to;
    op->size = bytes;
    op->args[0] = byte;
    op->effect = set_bytes;
    return driver_end(world, CODE_OK);
}

/* Managed memory goes where it is asked to, by the copy engine. */
static void arrive(struct world *world, struct world_op *op)
{
    struct memory_spot spot;
    if (memory_find(world->memory, op->to, op->size, &spot) && spot.block != NULL)
        spot.block->device = (int)(int64_t)op->args[0];
}

enum code driver_prefetch(struct driver_call call, uint64_t address, size_t bytes, int device,
                          void *stream)
{
    struct world *world;
    struct memory_spot spot;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_COPY, &world, NULL, &code))
        return code;
    struct world_stream *own = driver_stream(world, call, stream);
    const struct model *model = world->model;
    if (own == NULL || device >= model->device_count)
        return driver_end(world, CODE_INVALID_HANDLE);
    if (!memory_find(world->memory, address, bytes, &spot) || spot.block == NULL ||
        spot.block->owner != MEMORY_MANAGED)
        return driver_end(world, CODE_INVALID_VALUE);
    struct world_op *op = world_push(own, WORLD_MOVE);
    if (op == NULL)
        return driver_end(world, CODE_OUT_OF_MEMORY);
    int to = device < 0 ? spot.block->place : device;
    const struct model_path *path =
        model_path(model, MODEL_ENGINE, MODEL_READ, MODEL_MANAGED, spot.place, to);
    if (to != spot.place && path->limit > 0) {
        world_use(op, path, 1);
        op->bytes = (double)bytes;
    }
    op->to = address;
    op->size = bytes;
    op->args[0] = (uint64_t)(int64_t)(device < 0 ? -1 : device);
    op->effect = arrive;
    return driver_end(world, CODE_OK);
}

/* ---- modules and kernels: an image is whatever the caller has, and all kernels are known ---- */

static const char module_mark[] = "module";

enum code driver_module_load(struct driver_call call, const void *image, void **ret_module)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    if (image == NULL)
        return driver_end(world, CODE_INVALID_VALUE);
    *ret_module = (void *)(uintptr_t)module_mark;
    return driver_end(world, CODE_OK);
}

enum code driver_module_unload(struct driver_call call, void *module)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    return driver_end(world, module == (const void *)module_mark ? CODE_OK : CODE_INVALID_HANDLE);
}

enum code driver_function(struct driver_call call, void *module, const char *name,
                          void **ret_function)
{
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    const struct kernel *kernel = kernel_find(name);
    if (module != (const void *)module_mark || kernel == NULL)
        return driver_end(world, module != (const void *)module_mark ? CODE_INVALID_HANDLE
                                                                     : CODE_NOT_FOUND);
    *ret_function = (void *)(uintptr_t)kernel;
    return driver_end(world, CODE_OK);
}

enum code driver_function_threads(struct driver_call call, const void *function, int attribute,
                                  int *ret_value)
{
    enum { BLOCK_THREADS = 0 };
    struct world *world;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_OTHER, &world, NULL, &code))
        return code;
    if (function == NULL || attribute != BLOCK_THREADS)
        return driver_end(world, CODE_INVALID_VALUE);
    *ret_value = (int)kernel_threads(function);
    return driver_end(world, CODE_OK);
}

/* Both ways of giving arguments: one pointer for each, of which these kernels have one, or a buffer
 * with its size. */
static const void *arguments_of(void **arguments, void **extra)
{
    enum { POINTER = 1 };
    if (arguments != NULL)
        return arguments[0];
    for (; extra != NULL && *extra != NULL && (uintptr_t)*extra <= 2; extra += 2)
        if ((uintptr_t)*extra == POINTER)
            return extra[1];
    return NULL;
}

enum code driver_launch(struct driver_call call, void *function, const unsigned grid[3],
                        const unsigned block[3], void *stream, void **arguments, void **extra)
{
    struct world *world;
    bool stuck;
    enum code code;
    if (!driver_begin(call, MODEL_CALL_LAUNCH, &world, &stuck, &code))
        return code;
    struct world_stream *own = driver_stream(world, call, stream);
    const void *args = arguments_of(arguments, extra);
    if (own == NULL || function == NULL)
        return driver_end(world, CODE_INVALID_HANDLE);
    if (args == NULL || grid[1] * grid[2] * block[1] * block[2] != 1)
        return driver_end(world, CODE_INVALID_VALUE);
    if (stuck)
        return driver_end(world,
                          world_push(own, WORLD_STUCK) != NULL ? CODE_OK : CODE_OUT_OF_MEMORY);
    return driver_end(world, kernel_launch(world, own, function, grid[0], block[0], args));
}
