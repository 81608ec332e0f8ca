#include "advice_step.h"

#include <errno.h>
#include <numaif.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "common/clock.h"
#include "gpu/driver/gpu_kernels.h"

#define HOLD_NS UINT64_C(5000000000)
#define ALIGN   UINT64_C(65536)

/* Of a kernel's launch: threads of a block, their accesses at once, and blocks for each
 * multiprocessor. */
#define BLOCK  512
#define UNROLL 8
#define WAVES  4

_Noreturn void advice_step_die(const char *what, const char *why)
{
    fprintf(stderr, "advice_run: %s%s%s\n", what, why[0] != '\0' ? ": " : "", why);
    exit(ADVICE_EXIT);
}

void advice_step_must(const struct bench *bench, int code, const char *what)
{
    if (code != 0)
        advice_step_die(what, code == GPU_MISSING ? "the runtime has no such call"
                                                  : bench->node.api->text(bench->node.api, code));
}

void advice_step_enter(const struct bench *bench, int device, int *current)
{
    const struct gpu_device *own = &bench->node.device[device];
    if (*current == device)
        return;
    *current = device;
    advice_step_must(bench, bench->node.api->enter(bench->node.api, own->api_device, own->context),
                     "make a device current");
}

/* ---- memory and streams ---- */

static gpu_address device_region(const struct bench *bench)
{
    gpu_address address;
    advice_step_must(bench, bench->node.api->alloc(bench->node.api, bench->bytes, &address),
                     "allocate");
    return address;
}

static gpu_address host_region(const struct bench *bench, int numa, enum host_kind kind)
{
    const struct gpu_api *api = bench->node.api;
    unsigned long mask[16] = {0};
    gpu_address address;
    mask[(size_t)numa / 64] = 1UL << (numa % 64);
    if (kind == HOST_MANAGED) {
        advice_step_must(bench, api->managed_alloc(api, bench->bytes, &address),
                         "allocate managed memory");
        advice_step_must(bench,
                         api->managed_advise(api, address, bench->bytes, GPU_ADVISE_HOST, -1),
                         "advise managed memory");
        advice_step_must(bench, (int)set_mempolicy(MPOL_PREFERRED, mask, 1024),
                         "prefer a NUMA node");
        *(volatile char *)(uintptr_t)address = 0;
        advice_step_must(bench, (int)set_mempolicy(MPOL_DEFAULT, NULL, 0), "prefer no NUMA node");
        return address;
    }
    void *bytes = mmap(NULL, bench->bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED ||
        (mbind(bytes, bench->bytes, MPOL_BIND, mask, 1024, 0) != 0 && bench->node.numa_count > 1))
        advice_step_die("memory on a NUMA node", strerror(errno));
    if (kind == HOST_SYSTEM)
        return (gpu_address)(uintptr_t)bytes;
    advice_step_must(bench, api->host_register(api, bytes, bench->bytes, GPU_HOST_PINNED),
                     "register host memory");
    advice_step_must(bench, api->host_address(api, bytes, &address), "address of host memory");
    return address;
}

static struct memory *memory_of(struct bench *bench, struct end end)
{
    return end.device >= 0 ? &bench->device[end.device] : &bench->host[end.numa][end.kind];
}

void advice_step_make(struct bench *bench, struct end end, enum region region)
{
    struct memory *memory = memory_of(bench, end);
    if (memory->base[region] != 0)
        return;
    /* A runtime has registered memory known to the device that is current. */
    if (end.device >= 0)
        advice_step_enter(bench, end.device, &bench->current);
    memory->base[region] = end.device >= 0
                               ? device_region(bench)
                               : host_region(bench, bench->node.numa[end.numa], end.kind);
}

static gpu_address take(struct bench *bench, struct end end, enum region region, uint64_t bytes)
{
    struct memory *memory = memory_of(bench, end);
    uint64_t at = memory->next[region];
    if (bench->bytes - at < bytes)
        at = 0;
    memory->next[region] = at + (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (memory->next[region] >= bench->bytes)
        memory->next[region] = 0;
    return memory->base[region] + at;
}

static struct stream *next_stream(struct bench *bench, int device)
{
    const struct gpu_api *api = bench->node.api;
    int number = bench->used[device]++;
    if (number == ADVICE_STREAMS_MAX)
        advice_step_die("too many flows on one device", "");
    struct stream *own = &bench->stream[device][number];
    advice_step_enter(bench, device, &bench->current);
    if (number < bench->stream_count[device])
        return own;
    bench->stream_count[device]++;
    advice_step_must(bench, api->stream_new(api, &own->stream), "stream");
    gpu_event *const events[] = {&own->start, &own->end};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        advice_step_must(bench, api->event_new(api, events[i]), "event");
    for (int i = 0; i < ADVICE_SLOTS; i++) {
        advice_step_must(bench, api->event_plain_new(api, &own->full[i]), "event");
        advice_step_must(bench, api->event_plain_new(api, &own->empty[i]), "event");
    }
    return own;
}

/* ---- what a step does ---- */

static void hold(struct bench *bench, int device, gpu_stream stream)
{
    const struct gpu_api *api = bench->node.api;
    gpu_address word;
    advice_step_must(bench, api->host_address(api, (void *)bench->word, &word),
                     "address of the gate's word");
    struct gpu_gate_args args = {.flag = word, .value = bench->turn, .limit_ns = HOLD_NS};
    advice_step_must(bench,
                     api->launch(api, bench->node.device[device].kernel[GPU_KERNEL_GATE], 1, 1,
                                 stream, &args, sizeof args),
                     "launch a gate");
}

/* A kernel that fills the device keeps the next one from beginning: those of a step take a part
 * each, as is advised. No more than the bytes need: blocks without work cost as much to start as
 * others (2 us of 13 on an H200). */
static unsigned blocks_of(const struct bench *bench, int device, enum gpu_kernel first,
                          uint64_t bytes)
{
    uint64_t one = UINT64_C(16) * UNROLL * BLOCK,
             needed = bytes > one ? (bytes + one - 1) / one : 1;
    const struct gpu_device *own = &bench->node.device[device];
    unsigned processors = (unsigned)own->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS],
             sharers = bench->kernels[device];
    int threads = gpu_node_stream_threads(own, first, UNROLL);
    unsigned held = threads > BLOCK ? (unsigned)threads / BLOCK : 1;
    unsigned most =
        sharers < 2 ? WAVES * processors : (held < WAVES ? held : WAVES) * processors / sharers;
    return needed < most ? (unsigned)needed : most > 0 ? most : 1;
}

static void launch(const struct bench *bench, const struct hop *hop, gpu_address to,
                   gpu_address from, uint64_t bytes)
{
    const struct gpu_api *api = bench->node.api;
    const struct gpu_device *devices = bench->node.device, *own = &devices[hop->device];
    if (hop->kind == 'e' && hop->from.device >= 0 && hop->to.device >= 0 &&
        hop->from.device != hop->to.device) {
        const struct gpu_device *source = &devices[hop->from.device],
                                *target = &devices[hop->to.device];
        advice_step_must(
            bench,
            api->copy_peer(api, &(struct gpu_peer_end){to, target->api_device, target->context},
                           &(struct gpu_peer_end){from, source->api_device, source->context}, bytes,
                           hop->stream->stream),
            "copy to a peer");
        return;
    }
    if (hop->kind == 'e') {
        advice_step_must(bench, api->copy(api, to, from, bytes, hop->stream->stream), "copy");
        return;
    }
    enum gpu_kernel first = hop->kind == 'k'   ? GPU_KERNEL_COPY
                            : hop->kind == 'r' ? GPU_KERNEL_READ
                                               : GPU_KERNEL_WRITE;
    struct gpu_stream_args args = {
        .to = to, .from = from, .bytes = bytes / 16 * 16, .value = UINT64_C(0x0102040810204080)};
    advice_step_must(bench,
                     api->launch(api, gpu_node_stream_kernel(own, first, UNROLL),
                                 blocks_of(bench, hop->device, first, bytes), BLOCK,
                                 hop->stream->stream, &args, sizeof args),
                     "launch a kernel");
}

/* Where the bytes of this time lie. */
static void find_places(struct bench *bench, struct flow *flow)
{
    int last = flow->hop_count - 1;
    flow->chunk_now = flow->chunk == 0 || flow->chunk > flow->bytes ? flow->bytes : flow->chunk;
    flow->source = take(bench, flow->hop[0].from, REGION_FROM, flow->bytes);
    flow->target = take(bench, flow->hop[last].to, REGION_TO, flow->bytes);
    for (int i = 0; i < last; i++)
        flow->slots[i] =
            take(bench, flow->hop[i].to, REGION_BETWEEN,
                 ADVICE_SLOTS * flow->chunk_now <= bench->bytes ? ADVICE_SLOTS * flow->chunk_now
                                                                : flow->chunk_now);
}

/* A piece goes on when the hop before has brought it, and a place between is used again when the
 * hop behind has emptied it. Events are recorded only in streams of their own device; others may
 * wait for them. current: the device that the calling thread's calls go to. */
static void enqueue(const struct bench *bench, const struct flow *flow, int *current)
{
    const struct gpu_api *api = bench->node.api;
    uint64_t chunk = flow->chunk_now,
             slot_count = ADVICE_SLOTS * chunk <= bench->bytes ? ADVICE_SLOTS : 1;
    int last = flow->hop_count - 1;
    for (uint64_t done = 0, piece = 0; done < flow->bytes; done += chunk, piece++) {
        uint64_t bytes = flow->bytes - done < chunk ? flow->bytes - done : chunk,
                 slot = piece % slot_count;
        for (int i = 0; i <= last; i++) {
            const struct hop *hop = &flow->hop[i];
            struct stream *own = hop->stream;
            if (i == 0 || flow->hop[i - 1].device != hop->device)
                advice_step_enter(bench, hop->device, current);
            if (i > 0)
                advice_step_must(
                    bench, api->stream_after(api, own->stream, flow->hop[i - 1].stream->full[slot]),
                    "wait for a piece");
            if (i < last && piece >= slot_count)
                advice_step_must(
                    bench,
                    api->stream_after(api, own->stream, flow->hop[i + 1].stream->empty[slot]),
                    "wait for a place");
            launch(bench, hop, i == last ? flow->target + done : flow->slots[i] + slot * chunk,
                   i == 0 ? flow->source + done : flow->slots[i - 1] + slot * chunk, bytes);
            if (i < last)
                advice_step_must(bench, api->event_record(api, own->full[slot], own->stream),
                                 "event");
            if (i > 0)
                advice_step_must(bench, api->event_record(api, own->empty[slot], own->stream),
                                 "event");
        }
    }
}

/* Each hop gets a stream of its device. */
static void place(struct bench *bench, struct flow *flows, size_t count, bool held)
{
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < flows[i].hop_count; k++) {
            struct hop *hop = &flows[i].hop[k];
            hop->stream = next_stream(bench, hop->device);
            bench->kernels[hop->device] += hop->kind != 'e';
            if (held && k == 0)
                hold(bench, hop->device, hop->stream->stream);
        }
    for (size_t i = 0; i < count; i++)
        find_places(bench, &flows[i]);
}

static void wait_for(struct bench *bench, const struct flow *flows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct hop *last = &flows[i].hop[flows[i].hop_count - 1];
        advice_step_enter(bench, last->device, &bench->current);
        advice_step_must(bench, bench->node.api->stream_wait(bench->node.api, last->stream->stream),
                         "wait");
    }
}

static void begin(struct bench *bench)
{
    memset(bench->used, 0, sizeof bench->used);
    memset(bench->kernels, 0, sizeof bench->kernels);
    bench->turn++;
}

double advice_step_held(struct bench *bench, struct flow *flows, size_t count)
{
    const struct gpu_api *api = bench->node.api;
    struct stream *reference[GPU_DEVICES_MAX] = {NULL};
    double most = 0;
    begin(bench);
    for (size_t i = 0; i < count; i++) {
        int device = flows[i].hop[flows[i].hop_count - 1].device;
        if (reference[device] != NULL)
            continue;
        reference[device] = next_stream(bench, device);
        hold(bench, device, reference[device]->stream);
        advice_step_must(
            bench, api->event_record(api, reference[device]->start, reference[device]->stream),
            "event");
    }
    place(bench, flows, count, true);
    for (size_t i = 0; i < count; i++) {
        const struct hop *last = &flows[i].hop[flows[i].hop_count - 1];
        enqueue(bench, &flows[i], &bench->current);
        advice_step_enter(bench, last->device, &bench->current);
        advice_step_must(bench, api->event_record(api, last->stream->end, last->stream->stream),
                         "event");
    }
    atomic_store(bench->word, bench->turn);
    wait_for(bench, flows, count);
    for (size_t i = 0; i < count; i++) {
        const struct hop *last = &flows[i].hop[flows[i].hop_count - 1];
        double ns;
        advice_step_must(
            bench, api->event_elapsed(api, reference[last->device]->start, last->stream->end, &ns),
            "time");
        most = ns > most ? ns : most;
    }
    return most;
}

double advice_step_call(struct bench *bench, struct flow *flows, size_t count, size_t others)
{
    begin(bench);
    place(bench, flows, count, false);
    place(bench, flows + count, others, true);
    for (size_t i = 0; i < others; i++)
        enqueue(bench, &flows[count + i], &bench->current);
    advice_step_enter(bench, flows[0].hop[0].device, &bench->current);
    int64_t start = probe_clock_ns();
    atomic_store(bench->word, bench->turn);
    for (size_t i = 0; i < count; i++)
        enqueue(bench, &flows[i], &bench->current);
    wait_for(bench, flows, count);
    double took = (double)(probe_clock_ns() - start);
    wait_for(bench, flows + count, others);
    return took;
}

/* What was started last ends last, mostly; one that is done already costs a look. */
static void see_ends(const struct bench *bench, const struct flow *flows, size_t count,
                     int *current)
{
    const struct gpu_api *api = bench->node.api;
    for (size_t i = count; i-- > 0;) {
        const struct hop *last = &flows[i].hop[flows[i].hop_count - 1];
        bool done = false;
        advice_step_enter(bench, last->device, current);
        if (i + 1 < count)
            advice_step_must(bench, api->stream_done(api, last->stream->stream, &done), "look");
        if (!done)
            advice_step_must(bench, api->stream_wait(api, last->stream->stream), "wait");
    }
}

void advice_step_prepare(struct bench *bench, struct flow *flows, size_t count)
{
    begin(bench);
    place(bench, flows, count, false);
    advice_step_enter(bench, flows[0].hop[0].device, &bench->current);
}

static void call_own(const struct bench *bench, const struct flow *flows, size_t count,
                     int *current)
{
    for (size_t i = 0; i < count; i++)
        enqueue(bench, &flows[i], current);
    see_ends(bench, flows, count, current);
}

void advice_step_alone(struct bench *bench, const struct flow *flows, size_t count)
{
    call_own(bench, flows, count, &bench->current);
}

struct caller {
    pthread_t thread;
    const struct bench *bench;
    const struct flow *flow;
    size_t count;
    _Atomic unsigned *ready, *go;
    int64_t end_ns;
};

static void *call_all(void *data)
{
    struct caller *caller = data;
    int current = -1;
    advice_step_enter(caller->bench, caller->flow[0].hop[0].device, &current);
    atomic_fetch_add(caller->ready, 1);
    while (atomic_load(caller->go) == 0)
        ;
    call_own(caller->bench, caller->flow, caller->count, &current);
    caller->end_ns = probe_clock_ns();
    return NULL;
}

/* A thread each. */
static double run_callers(struct bench *bench, const struct flow *flows, size_t count)
{
    struct caller callers[GPU_DEVICES_MAX];
    _Atomic unsigned ready = 0, go = 0;
    size_t number = 0;
    int64_t last_ns = 0;
    for (size_t i = 0, next; i < count; i = next, number++) {
        for (next = i; next < count && flows[next].caller == flows[i].caller;)
            next++;
        if (number == GPU_DEVICES_MAX)
            advice_step_die("too many callers", "");
        callers[number] = (struct caller){
            .bench = bench, .flow = &flows[i], .count = next - i, .ready = &ready, .go = &go};
        if (pthread_create(&callers[number].thread, NULL, call_all, &callers[number]) != 0)
            advice_step_die("no thread", strerror(errno));
    }
    while (atomic_load(&ready) < number)
        ;
    int64_t start_ns = probe_clock_ns();
    atomic_store(&go, 1);
    for (size_t i = 0; i < number; i++) {
        pthread_join(callers[i].thread, NULL);
        last_ns = callers[i].end_ns > last_ns ? callers[i].end_ns : last_ns;
    }
    return (double)(last_ns - start_ns);
}

/* How many callers have a flow for that turn. */
static size_t turns_of(const struct flow *flows, size_t count, size_t turn)
{
    size_t own = 0, number = 0;
    for (size_t i = 0; i < count; i++) {
        own = i > 0 && flows[i].caller == flows[i - 1].caller ? own + 1 : 0;
        number += own == turn;
    }
    return number;
}

/* Each caller's flow of that turn; how many there are. */
static size_t in_turn(struct bench *bench, const struct flow *flows, size_t count, size_t turn)
{
    size_t own = 0;
    for (size_t i = 0; i < count; i++) {
        own = i > 0 && flows[i].caller == flows[i - 1].caller ? own + 1 : 0;
        if (own == turn)
            enqueue(bench, &flows[i], &bench->current);
    }
    return turns_of(flows, count, turn);
}

/* So that a turn takes as long as one in which all callers start something. */
static void idle(int64_t ns)
{
    struct timespec time = {.tv_nsec = (long)ns};
    if (ns > 0)
        nanosleep(&time, NULL);
}

double advice_step_callers(struct bench *bench, struct flow *flows, size_t count)
{
    size_t left = count;
    begin(bench);
    place(bench, flows, count, false);
    if (!bench->in_turn)
        return run_callers(bench, flows, count);
    int64_t start_ns = probe_clock_ns();
    size_t callers = in_turn(bench, flows, count, 0);
    int64_t turn_ns = probe_clock_ns() - start_ns;
    left -= callers;
    for (size_t turn = 1; left > 0; turn++) {
        size_t started = turns_of(flows, count, turn);
        idle(turn_ns * (int64_t)(callers - started) / (int64_t)callers);
        left -= in_turn(bench, flows, count, turn);
    }
    see_ends(bench, flows, count, &bench->current);
    return (double)(probe_clock_ns() - start_ns);
}
