/* A struct gpu_api for unit tests: devices with streams that each have a clock of their own.
 * Operations take a fixed time and the time of their bytes, and memory is real in its first bytes.
 * Streams share no resource. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/driver/gpu_kernels.h"
#include "gpu/driver/node.h"
#include "gpu/timing/launch_shapes.h"

#define FAKE_START_NS 4000.0 /* wait of the first operation behind an event */
#define FAKE_OP_NS    2000.0
#define FAKE_EVENT_NS 2700.0              /* delay of the operations behind an event */
#define FAKE_REAL     ((size_t)256 << 10) /* bytes of an operation that are really copied */
#define FAKE_EVENTS   4096

struct fake_stream {
    int device;
    double now, queued; /* queued: since the last event, operations */
    bool held;          /* it contains a gate that is closed */
    uint64_t flag, value;
    int waits;
};

struct fake {
    struct gpu_api api;
    struct gpu_node node;
    struct fake_stream streams[8][GPU_STREAMS];
    double events[FAKE_EVENTS];
    size_t event_count;
    int entered;
    double rate[8];            /* bytes per ns, by the device that drives */
    double rate_of_unroll[17]; /* not 0: rate of kernels instead */
    unsigned slow_kernels;     /* so many of the next streaming kernels have half the rate */
    int wrong_from, wrong_to;  /* copies between these devices lose a word; -1 none */
    int fail_copy;             /* code of every copy */
    int released_early;        /* operations that were enqueued after their gate was opened */
    double hiccup_ns;          /* additional time of the next operation */
    bool timeless;             /* operations take no time at all */
    /* a device does one operation after the other, on all its streams */
    bool in_turn;
    /* the source device of copies does so, for every device that drives them */
    bool sends_in_turn;
    double free_ns[8]; /* with these: end of its last operation */
    double step_ns;    /* the end of an operation is detected in such steps; 0: at once */
    unsigned grid;     /* of the last streaming kernel */
};

static inline struct fake *fake_of(const struct gpu_api *api)
{
    return (struct fake *)(uintptr_t)api;
}

static int fake_version(const struct gpu_api *api, int *ret_version)
{
    (void)api;
    *ret_version = 13000;
    return 0;
}

static const char *fake_text(const struct gpu_api *api, int code)
{
    (void)api;
    return code == 719 ? "launch failed" : "it failed";
}

static int fake_enter(const struct gpu_api *api, int device, gpu_context context)
{
    (void)context;
    fake_of(api)->entered = device;
    return 0;
}

static int fake_alloc(const struct gpu_api *api, size_t bytes, gpu_address *ret_address)
{
    (void)api;
    void *memory = calloc(1, bytes); /* untouched pages cost nothing */
    *ret_address = (gpu_address)(uintptr_t)memory;
    return memory == NULL ? 2 : 0;
}

static int fake_free(const struct gpu_api *api, gpu_address address)
{
    (void)api;
    free((void *)(uintptr_t)address);
    return 0;
}

static int fake_space(const struct gpu_api *api, size_t *ret_free, size_t *ret_total)
{
    (void)api;
    *ret_free = *ret_total = (size_t)64 << 30;
    return 0;
}

static int fake_host_alloc(const struct gpu_api *api, size_t bytes, enum gpu_host_kind kind,
                           void **ret_memory)
{
    (void)api;
    (void)kind;
    *ret_memory = calloc(1, bytes);
    return *ret_memory == NULL ? 2 : 0;
}

static int fake_host_free(const struct gpu_api *api, void *memory)
{
    (void)api;
    free(memory);
    return 0;
}

static int fake_host_address(const struct gpu_api *api, void *memory, gpu_address *ret_address)
{
    (void)api;
    *ret_address = (gpu_address)(uintptr_t)memory;
    return 0;
}

static int fake_host_register(const struct gpu_api *api, void *memory, size_t bytes,
                              enum gpu_host_kind kind)
{
    (void)api, (void)memory, (void)bytes, (void)kind;
    return 0;
}

static int fake_host_unregister(const struct gpu_api *api, void *memory)
{
    (void)api, (void)memory;
    return 0;
}

static int fake_stream_wait(const struct gpu_api *api, gpu_stream stream)
{
    (void)api;
    ((struct fake_stream *)stream)->waits++;
    return 0;
}

static int fake_event_new(const struct gpu_api *api, gpu_event *ret_event)
{
    struct fake *fake = fake_of(api);
    assert_true(fake->event_count < FAKE_EVENTS);
    *ret_event = &fake->events[fake->event_count++];
    return 0;
}

static int fake_event_free(const struct gpu_api *api, gpu_event event)
{
    (void)api, (void)event;
    return 0;
}

static int fake_event_record(const struct gpu_api *api, gpu_event event, gpu_stream stream)
{
    (void)api;
    struct fake_stream *at = stream;
    *(double *)event = at->now;
    at->now += fake_of(api)->timeless ? 0 : FAKE_EVENT_NS;
    return 0;
}

static int fake_event_elapsed(const struct gpu_api *api, gpu_event from, gpu_event to,
                              double *ret_ns)
{
    (void)api;
    *ret_ns = *(double *)to - *(double *)from;
    return 0;
}

/* Advances a stream by an operation; the first one behind a gate pays for the start. by: the device
 * with sequential operations, if there is one. */
static inline void fake_pass(struct fake *fake, struct fake_stream *stream, int by, size_t bytes,
                             double rate)
{
    if (stream->held &&
        *(const volatile uint32_t *)(uintptr_t)stream->flag == (uint32_t)stream->value)
        fake->released_early++;
    if (fake->timeless)
        return;
    double *free_ns = &fake->free_ns[by];
    stream->now = fake->in_turn || fake->sends_in_turn ? fmax(stream->now, *free_ns) : stream->now;
    stream->now += (stream->queued == 0 ? FAKE_START_NS : 0) + FAKE_OP_NS + fake->hiccup_ns +
                   (double)bytes / rate;
    stream->now =
        fake->step_ns > 0 ? ceil(stream->now / fake->step_ns) * fake->step_ns : stream->now;
    *free_ns = stream->now;
    stream->queued++;
    fake->hiccup_ns = 0;
}

static inline void fake_move(gpu_address to, gpu_address from, size_t bytes)
{
    memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from,
            bytes < FAKE_REAL ? bytes : FAKE_REAL);
}

static int fake_copy_by(struct fake *fake, int by, gpu_address to, gpu_address from, size_t bytes,
                        gpu_stream stream)
{
    if (fake->fail_copy != 0)
        return fake->fail_copy;
    if (bytes <= 2 * FAKE_REAL && !fake->timeless)
        fake_move(to, from, bytes);
    fake_pass(fake, stream, by, bytes, fake->rate[((struct fake_stream *)stream)->device]);
    return 0;
}

static int fake_copy(const struct gpu_api *api, gpu_address to, gpu_address from, size_t bytes,
                     gpu_stream stream)
{
    return fake_copy_by(fake_of(api), ((struct fake_stream *)stream)->device, to, from, bytes,
                        stream);
}

static int fake_copy_peer(const struct gpu_api *api, const struct gpu_peer_end *to,
                          const struct gpu_peer_end *from, size_t bytes, gpu_stream stream)
{
    struct fake *fake = fake_of(api);
    int code = fake_copy_by(
        fake, fake->sends_in_turn ? from->device : ((struct fake_stream *)stream)->device,
        to->address, from->address, bytes, stream);
    if (code == 0 && fake->wrong_from == from->device && fake->wrong_to == to->device)
        ((uint64_t *)(uintptr_t)to->address)[7] ^= 1;
    return code;
}

static int fake_fill(const struct gpu_api *api, gpu_address to, uint8_t byte, size_t bytes,
                     gpu_stream stream)
{
    (void)api, (void)stream;
    memset((void *)(uintptr_t)to, byte, bytes < FAKE_REAL ? bytes : FAKE_REAL);
    return 0;
}

static inline void fake_check(const struct gpu_pattern_args *args)
{
    const uint64_t *words = (const uint64_t *)(uintptr_t)args->address;
    uint64_t *result = (uint64_t *)(uintptr_t)args->result;
    for (uint64_t i = 0; i < args->bytes / 8; i++)
        if (words[i] != gpu_pattern(args->seed, i)) {
            result[0]++;
            result[1] = i < result[1] ? i : result[1];
        }
}

/* A function is the number of its kernel plus one. */
static int fake_launch(const struct gpu_api *api, gpu_function function, unsigned grid,
                       unsigned block, gpu_stream stream, const void *args, size_t args_size)
{
    static const unsigned unrolls[] = {1, 2, 4, 8, 12, 16};
    (void)block, (void)args_size;
    struct fake *fake = fake_of(api);
    struct fake_stream *at = stream;
    int kernel = (int)(uintptr_t)function - 1;
    if (kernel == GPU_KERNEL_GATE) {
        const struct gpu_gate_args *gate = args;
        at->held = true;
        at->queued = 0;
        /* all held operations of a device start at once */
        for (int i = 0; fake->in_turn && i < GPU_STREAMS; i++)
            at->now = fmax(at->now, fake->streams[at->device][i].now);
        for (int i = 0; fake->sends_in_turn && i < fake->node.device_count; i++)
            for (int j = 0; j < GPU_STREAMS; j++)
                at->now = fmax(at->now, fake->streams[i][j].now);
        at->flag = gate->flag;
        at->value = gate->value;
    } else if (kernel == GPU_KERNEL_FILL) {
        const struct gpu_pattern_args *pattern = args;
        for (uint64_t i = 0; i < pattern->bytes / 8; i++)
            ((uint64_t *)(uintptr_t)pattern->address)[i] = gpu_pattern(pattern->seed, i);
    } else if (kernel == GPU_KERNEL_CHECK) {
        fake_check(args);
    } else {
        const struct gpu_stream_args *op = args;
        fake->grid = grid;
        if (op->to != 0 && op->from != 0)
            fake_move(op->to, op->from, op->bytes);
        double rate = fake->rate_of_unroll[unrolls[(kernel - GPU_KERNEL_READ) % 6]];
        rate = (rate > 0 ? rate : fake->rate[at->device]) / (fake->slow_kernels > 0 ? 2 : 1);
        fake->slow_kernels -= fake->slow_kernels > 0;
        fake_pass(fake, at, at->device, op->bytes, rate);
    }
    return 0;
}

/* Makes this many devices of one model, each with access to all, and one NUMA node, 0. */
static inline struct fake *fake_new(int devices)
{
    struct fake *fake = calloc(1, sizeof *fake);
    assert_non_null(fake);
    fake->api = (struct gpu_api){.name = "cuda",
                                 .library = "fake",
                                 .takes_cuda = true,
                                 .text = fake_text,
                                 .version = fake_version,
                                 .enter = fake_enter,
                                 .alloc = fake_alloc,
                                 .free = fake_free,
                                 .space = fake_space,
                                 .host_alloc = fake_host_alloc,
                                 .host_free = fake_host_free,
                                 .host_register = fake_host_register,
                                 .host_unregister = fake_host_unregister,
                                 .host_address = fake_host_address,
                                 .stream_wait = fake_stream_wait,
                                 .event_new = fake_event_new,
                                 .event_plain_new = fake_event_new,
                                 .event_free = fake_event_free,
                                 .event_record = fake_event_record,
                                 .event_elapsed = fake_event_elapsed,
                                 .copy = fake_copy,
                                 .copy_peer = fake_copy_peer,
                                 .fill = fake_fill,
                                 .launch = fake_launch};
    fake->wrong_from = fake->wrong_to = -1;
    fake->node.api = &fake->api;
    fake->node.device_count = devices;
    fake->node.numa_count = 1;
    for (int i = 0; i < devices; i++) {
        struct gpu_device *device = &fake->node.device[i];
        fake->rate[i] = 50;
        *device = (struct gpu_device){.api_device = i, .usable = true};
        snprintf(device->name, sizeof device->name, "0000:%02x:00.0", i + 1);
        snprintf(device->uuid, sizeof device->uuid, "GPU-%d", i);
        snprintf(device->model, sizeof device->model, "Fake 1");
        device->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS] = 100;
        for (int j = 0; j < devices; j++)
            device->access[j] = j != i;
        for (int j = 0; j < GPU_STREAMS; j++) {
            fake->streams[i][j].device = i;
            device->stream[j] = &fake->streams[i][j];
        }
        for (int j = 0; j < GPU_KERNEL_COUNT; j++)
            device->kernel[j] = (gpu_function)(uintptr_t)(j + 1);
    }
    gpu_tune_default(&fake->node);
    return fake;
}
