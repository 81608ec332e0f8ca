/*
 * Carries out transfers as an application would, on whatever GPUs the driver shows, and prints what they took. It knows nothing of advice: of berth it takes only the
 * probe's table of driver calls and its kernels.
 *
 * advice_run [--bytes N]: one step a line on standard input, one line of nanoseconds each on standard output, as many as repeats. N: the most that one flow moves (1 GiB).
 *
 *   held REPEATS FLOW...             all flows begin at the same moment, behind a gate in each stream; from there to the end of the last, by the devices' clocks
 *   call REPEATS FLOW... [| FLOW...] launch to synchronised by the caller's clock of the flows before "|"; those behind it begin with the first launch
 *
 * FLOW is BYTES/CHUNK/HOP[,HOP[,HOP]]: CHUNK 0 in one piece, else piece after piece, hop after hop, each hop on a stream of its own, over four pieces of the memory between.
 * HOP is e:FROM:TO:GPU (a copy on a stream of GPU), k:FROM:TO:GPU (a kernel of GPU that copies), r:FROM:FROM:GPU or w:TO:TO:GPU (one that reads or writes only). FROM and TO are
 * a GPU's number by PCI address; or a NUMA node's after h (pinned memory there), s (memory of malloc) or m (managed memory that is advised to stay with the host).
 */
#include <errno.h>
#include <inttypes.h>
#include <numaif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu_cuda.h"
#include "gpu_hip.h"
#include "gpu_kernels.h"
#include "gpu_node.h"
#include "probe_clock.h"

#define FLOWS_MAX   160
#define HOPS_MAX    3
#define SLOTS       4
#define STREAMS_MAX 128
#define HOLD_NS     UINT64_C(5000000000)
#define ALIGN       UINT64_C(65536)

enum host_kind { HOST_PINNED, HOST_SYSTEM, HOST_MANAGED, HOST_KIND_COUNT };
enum region { REGION_FROM, REGION_TO, REGION_BETWEEN, REGION_COUNT };

/* Memory of one place. What follows each other lies behind each other, so that no cache has it. */
struct memory {
    gpu_address base[REGION_COUNT];
    uint64_t next[REGION_COUNT];
    bool made;
};

struct stream {
    gpu_stream stream;
    gpu_event start, end, full[SLOTS], empty[SLOTS];
};

struct bench {
    struct gpu_node node;
    uint64_t bytes;
    struct memory device[GPU_DEVICES_MAX], host[GPU_NUMAS_MAX][HOST_KIND_COUNT];
    struct stream stream[GPU_DEVICES_MAX][STREAMS_MAX];
    int stream_count[GPU_DEVICES_MAX], used[GPU_DEVICES_MAX];
    _Atomic uint32_t *word; /* what gates wait for */
    uint32_t turn;
    int current; /* the device that calls go to; -1 none yet */
};

struct end {
    int device, numa; /* one of them is -1 */
    enum host_kind kind;
};

struct hop {
    char kind;
    struct end from, to;
    int device;
    struct stream *stream; /* of the step under way */
};

struct flow {
    uint64_t bytes, chunk;
    struct hop hop[HOPS_MAX];
    int hop_count;
};

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "advice_run: %s%s%s\n", what, why[0] != '\0' ? ": " : "", why);
    exit(70);
}

static void must(const struct bench *bench, int code, const char *what)
{
    if (code != 0)
        die(what, code == GPU_MISSING ? "the runtime has no such call" : bench->node.api->text(bench->node.api, code));
}

/* Not again what is current already: it would be in the times. */
static void enter(struct bench *bench, int device)
{
    const struct gpu_device *own = &bench->node.device[device];
    if (bench->current == device)
        return;
    bench->current = device;
    must(bench, bench->node.api->enter(bench->node.api, own->api_device, own->context), "make a device current");
}

/* ---- memory and streams ---- */

static struct memory *device_memory(struct bench *bench, int device)
{
    struct memory *memory = &bench->device[device];
    for (int i = 0; !memory->made && i < REGION_COUNT; i++)
        must(bench, bench->node.api->alloc(bench->node.api, bench->bytes, &memory->base[i]), "allocate");
    memory->made = true;
    return memory;
}

static gpu_address host_region(const struct bench *bench, int numa, enum host_kind kind)
{
    const struct gpu_api *api = bench->node.api;
    unsigned long mask[16] = {0};
    gpu_address address;
    mask[(size_t)numa / 64] = 1UL << (numa % 64);
    if (kind == HOST_MANAGED) {
        must(bench, api->managed_alloc(api, bench->bytes, &address), "allocate managed memory");
        must(bench, api->managed_advise(api, address, bench->bytes, GPU_ADVISE_HOST, -1), "advise managed memory");
        must(bench, (int)set_mempolicy(MPOL_PREFERRED, mask, 1024), "prefer a NUMA node");
        *(volatile char *)(uintptr_t)address = 0;
        must(bench, (int)set_mempolicy(MPOL_DEFAULT, NULL, 0), "prefer no NUMA node");
        return address;
    }
    void *bytes = mmap(NULL, bench->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED || (mbind(bytes, bench->bytes, MPOL_BIND, mask, 1024, 0) != 0 && bench->node.numa_count > 1))
        die("memory on a NUMA node", strerror(errno));
    if (kind == HOST_SYSTEM)
        return (gpu_address)(uintptr_t)bytes;
    must(bench, api->host_register(api, bytes, bench->bytes, GPU_HOST_PINNED), "register host memory");
    must(bench, api->host_address(api, bytes, &address), "address of host memory");
    return address;
}

static struct memory *host_memory(struct bench *bench, struct end end)
{
    struct memory *memory = &bench->host[end.numa][end.kind];
    for (int i = 0; !memory->made && i < REGION_COUNT; i++)
        memory->base[i] = host_region(bench, bench->node.numa[end.numa], end.kind);
    memory->made = true;
    return memory;
}

/* So many bytes of a region, at their place in turn. */
static gpu_address take(struct bench *bench, struct end end, enum region region, uint64_t bytes)
{
    struct memory *memory = end.device >= 0 ? device_memory(bench, end.device) : host_memory(bench, end);
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
    if (number == STREAMS_MAX)
        die("too many flows on one device", "");
    struct stream *own = &bench->stream[device][number];
    enter(bench, device);
    if (number < bench->stream_count[device])
        return own;
    bench->stream_count[device]++;
    must(bench, api->stream_new(api, &own->stream), "stream");
    gpu_event *const events[] = {&own->start, &own->end};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        must(bench, api->event_new(api, events[i]), "event");
    for (int i = 0; i < SLOTS; i++) {
        must(bench, api->event_new(api, &own->full[i]), "event");
        must(bench, api->event_new(api, &own->empty[i]), "event");
    }
    return own;
}

/* ---- what a step does ---- */

static void hold(struct bench *bench, int device, gpu_stream stream)
{
    const struct gpu_api *api = bench->node.api;
    gpu_address word;
    must(bench, api->host_address(api, (void *)bench->word, &word), "address of the gate's word");
    struct gpu_gate_args args = {.flag = word, .value = bench->turn, .limit_ns = HOLD_NS};
    must(bench, api->launch(api, bench->node.device[device].kernel[GPU_KERNEL_GATE], 1, 1, stream, &args, sizeof args), "launch a gate");
}

static void launch(struct bench *bench, const struct hop *hop, gpu_address to, gpu_address from, uint64_t bytes)
{
    const struct gpu_api *api = bench->node.api;
    const struct gpu_device *devices = bench->node.device, *own = &devices[hop->device];
    if (hop->kind == 'e' && hop->from.device >= 0 && hop->to.device >= 0 && hop->from.device != hop->to.device) {
        const struct gpu_device *source = &devices[hop->from.device], *target = &devices[hop->to.device];
        must(bench, api->copy_peer(api, to, target->api_device, target->context, from, source->api_device, source->context, bytes, hop->stream->stream), "copy to a peer");
        return;
    }
    if (hop->kind == 'e') {
        must(bench, api->copy(api, to, from, bytes, hop->stream->stream), "copy");
        return;
    }
    enum gpu_kernel first = hop->kind == 'k' ? GPU_KERNEL_COPY : hop->kind == 'r' ? GPU_KERNEL_READ : GPU_KERNEL_WRITE;
    struct gpu_stream_args args = {.to = to, .from = from, .bytes = bytes / 16 * 16, .value = UINT64_C(0x0102040810204080)};
    unsigned grid = 4 * (unsigned)own->attribute[GPU_ATTRIBUTE_MULTIPROCESSORS];
    must(bench, api->launch(api, gpu_node_stream_kernel(own, first, 8), grid, 512, hop->stream->stream, &args, sizeof args), "launch a kernel");
}

/* A piece goes on when the hop before has brought it, and a place between is used again when the hop behind has emptied it. Events are recorded only in streams of
 * their own device; others may wait for them. */
static void enqueue(struct bench *bench, const struct flow *flow)
{
    const struct gpu_api *api = bench->node.api;
    uint64_t chunk = flow->chunk == 0 || flow->chunk > flow->bytes ? flow->bytes : flow->chunk;
    int last = flow->hop_count - 1;
    gpu_address from = take(bench, flow->hop[0].from, REGION_FROM, flow->bytes), to = take(bench, flow->hop[last].to, REGION_TO, flow->bytes), slots[HOPS_MAX];
    for (int i = 0; i < last; i++)
        slots[i] = take(bench, flow->hop[i].to, REGION_BETWEEN, SLOTS * chunk <= bench->bytes ? SLOTS * chunk : chunk);
    uint64_t slot_count = SLOTS * chunk <= bench->bytes ? SLOTS : 1;
    for (uint64_t done = 0, piece = 0; done < flow->bytes; done += chunk, piece++) {
        uint64_t bytes = flow->bytes - done < chunk ? flow->bytes - done : chunk, slot = piece % slot_count;
        for (int i = 0; i <= last; i++) {
            const struct hop *hop = &flow->hop[i];
            struct stream *own = hop->stream;
            if (i == 0 || flow->hop[i - 1].device != hop->device)
                enter(bench, hop->device);
            if (i > 0)
                must(bench, api->stream_after(api, own->stream, flow->hop[i - 1].stream->full[slot]), "wait for a piece");
            if (i < last && piece >= slot_count)
                must(bench, api->stream_after(api, own->stream, flow->hop[i + 1].stream->empty[slot]), "wait for a place");
            launch(bench, hop, i == last ? to + done : slots[i] + slot * chunk, i == 0 ? from + done : slots[i - 1] + slot * chunk, bytes);
            if (i < last)
                must(bench, api->event_record(api, own->full[slot], own->stream), "event");
            if (i > 0)
                must(bench, api->event_record(api, own->empty[slot], own->stream), "event");
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
            if (held && k == 0)
                hold(bench, hop->device, hop->stream->stream);
        }
}

static void wait_for(struct bench *bench, const struct flow *flows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct hop *last = &flows[i].hop[flows[i].hop_count - 1];
        enter(bench, last->device);
        must(bench, bench->node.api->stream_wait(bench->node.api, last->stream->stream), "wait");
    }
}

static void begin(struct bench *bench)
{
    memset(bench->used, 0, sizeof bench->used);
    bench->turn++;
}

static double run_held(struct bench *bench, struct flow *flows, size_t count)
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
        must(bench, api->event_record(api, reference[device]->start, reference[device]->stream), "event");
    }
    place(bench, flows, count, true);
    for (size_t i = 0; i < count; i++) {
        const struct hop *last = &flows[i].hop[flows[i].hop_count - 1];
        enqueue(bench, &flows[i]);
        enter(bench, last->device);
        must(bench, api->event_record(api, last->stream->end, last->stream->stream), "event");
    }
    atomic_store(bench->word, bench->turn);
    wait_for(bench, flows, count);
    for (size_t i = 0; i < count; i++) {
        const struct hop *last = &flows[i].hop[flows[i].hop_count - 1];
        double ns;
        must(bench, api->event_elapsed(api, reference[last->device]->start, last->stream->end, &ns), "time");
        most = ns > most ? ns : most;
    }
    return most;
}

static double run_call(struct bench *bench, struct flow *flows, size_t count, size_t others)
{
    begin(bench);
    place(bench, flows, count, false);
    place(bench, flows + count, others, true);
    for (size_t i = 0; i < others; i++)
        enqueue(bench, &flows[count + i]);
    enter(bench, flows[0].hop[0].device);
    int64_t start = probe_clock_ns();
    atomic_store(bench->word, bench->turn);
    for (size_t i = 0; i < count; i++)
        enqueue(bench, &flows[i]);
    wait_for(bench, flows, count);
    double took = (double)(probe_clock_ns() - start);
    wait_for(bench, flows + count, others);
    return took;
}

/* ---- lines ---- */

static struct end read_end(struct bench *bench, const char *text)
{
    static const char kinds[HOST_KIND_COUNT] = {'h', 's', 'm'};
    struct end end = {.device = -1, .numa = -1};
    const char *kind = memchr(kinds, text[0], sizeof kinds);
    char *rest;
    long number = strtol(text + (kind != NULL), &rest, 10);
    if (kind == NULL && *rest == '\0' && number >= 0 && number < bench->node.device_count)
        end.device = (int)number;
    end.kind = kind == NULL ? HOST_PINNED : (enum host_kind)(kind - kinds);
    for (int i = 0; kind != NULL && *rest == '\0' && i < bench->node.numa_count; i++)
        if (bench->node.numa[i] == number)
            end.numa = i;
    if (end.device < 0 && end.numa < 0)
        die("no such memory", text);
    /* Made here, not in the midst of a step; a runtime has registered memory known to the device that is current. */
    if (end.device >= 0)
        enter(bench, end.device);
    take(bench, end, REGION_FROM, 1);
    return end;
}

static struct flow read_flow(struct bench *bench, char *text)
{
    struct flow flow = {0};
    char *save = NULL, copy[256], kind, from[16], to[16];
    int length = 0;
    snprintf(copy, sizeof copy, "%s", text);
    if (sscanf(text, "%" SCNu64 "/%" SCNu64 "/%n", &flow.bytes, &flow.chunk, &length) != 2 || length == 0 || flow.bytes == 0 || flow.bytes > bench->bytes)
        die("not BYTES/CHUNK/HOP,...", copy);
    for (char *word = strtok_r(text + length, ",", &save); word != NULL && flow.hop_count < HOPS_MAX; word = strtok_r(NULL, ",", &save)) {
        struct hop *hop = &flow.hop[flow.hop_count++];
        if (sscanf(word, "%c:%15[^:]:%15[^:]:%d", &kind, from, to, &hop->device) != 4 || strchr("ekrw", kind) == NULL || hop->device < 0 || hop->device >= bench->node.device_count)
            die("not KIND:FROM:TO:GPU", word);
        hop->kind = kind;
        enter(bench, hop->device);
        hop->from = read_end(bench, from);
        hop->to = read_end(bench, to);
    }
    if (flow.hop_count == 0)
        die("a flow goes nowhere", copy);
    return flow;
}

static void run_line(struct bench *bench, char *line)
{
    struct flow flows[FLOWS_MAX];
    size_t count = 0, split = 0;
    char *save = NULL, *mode = strtok_r(line, " \n", &save), *repeats = strtok_r(NULL, " \n", &save);
    if (mode == NULL || repeats == NULL || (strcmp(mode, "held") != 0 && strcmp(mode, "call") != 0))
        die("not held|call REPEATS FLOW...", "");
    for (char *word = strtok_r(NULL, " \n", &save); word != NULL; word = strtok_r(NULL, " \n", &save)) {
        if (strcmp(word, "|") == 0)
            split = count;
        else if (count < FLOWS_MAX)
            flows[count++] = read_flow(bench, word);
        else
            die("too many flows", "");
    }
    if (count == 0)
        die("a step without flows", "");
    for (long i = strtol(repeats, NULL, 10); i > 0; i--) {
        size_t own = split > 0 ? split : count;
        printf("%.1f%s", strcmp(mode, "held") == 0 ? run_held(bench, flows, count) : run_call(bench, flows, own, count - own), i > 1 ? " " : "\n");
    }
}

static void open_node(struct bench *bench)
{
    struct probe_why why = {""};
    void *word;
    const struct gpu_api *api = gpu_cuda_new(&why);
    if (api == NULL)
        api = gpu_hip_new(&why);
    if (api == NULL || !gpu_node_open(api, "", NULL, NULL, &bench->node, &why))
        die("no GPUs", why.text);
    if (bench->node.kernels_why.text[0] != '\0')
        die("no kernels", bench->node.kernels_why.text);
    enter(bench, 0);
    must(bench, api->host_alloc(api, 64, GPU_HOST_PINNED, &word), "allocate in host memory");
    bench->word = word;
    atomic_init(bench->word, 0);
}

int main(int argc, char **argv)
{
    static struct bench bench = {.bytes = UINT64_C(1) << 30, .current = -1};
    char *line = NULL;
    size_t size = 0;
    if (argc == 3 && strcmp(argv[1], "--bytes") == 0)
        bench.bytes = strtoull(argv[2], NULL, 10);
    if ((argc != 1 && argc != 3) || bench.bytes < ALIGN)
        die("usage: advice_run [--bytes N] <STEPS", "");
    open_node(&bench);
    while (getline(&line, &size, stdin) > 0) {
        run_line(&bench, line);
        fflush(stdout);
    }
    free(line);
    return 0;
}
