#include "cpu/load.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/file.h"
#include "common/load.h"
#include "cpu/buffers.h"
#include "cpu/stream.h"

#define STEP_BYTES ((size_t)256 << 10)
#define FILL_NS    INT64_C(20000000000) /* longest time to fill the buffers */
#define GRACE_NS   INT64_C(20000000000)

/* A core's part of its node's buffer: the source, and the target behind it. */
struct streamer {
    _Alignas(128) _Atomic uint64_t bytes; /* read and written since the begin */
    int numa;                             /* index in the topology */
    char *from;
    size_t half;
};

struct load {
    const char *root;
    const struct cpu_topology *topology;
    const struct cpu_stream *stream;
    struct streamer *streamer;
    unsigned count;
    uint64_t *before; /* bytes of each node at the end of the last interval */
    int64_t began_ns, duration_ns, interval_ns;
    struct probe_out *out;
    atomic_bool is_gone; /* the reader */
};

static uint64_t bytes_of(const struct load *load, int numa)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < load->count; i++)
        if (load->streamer[i].numa == numa)
            bytes += atomic_load_explicit(&load->streamer[i].bytes, memory_order_relaxed);
    return bytes;
}

/* Clock of the node's first core in MHz; -1 where the kernel does not show it. */
static int64_t clock_of(const struct load *load, int numa)
{
    for (int i = 0; i < load->topology->core_count; i++) {
        const struct cpu_core *core = &load->topology->cores[i];
        if (core->numa != numa)
            continue;
        int64_t khz = probe_file_number(
            load->root, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", core->pu);
        return khz > 0 ? khz / 1000 : -1;
    }
    return -1;
}

/* Prints the interval that ends now, which began at that time. */
static bool print_interval(struct load *load, int64_t from_ns, int64_t now_ns)
{
    bool ok = true;
    for (int i = 0; ok && i < load->topology->numa_count; i++) {
        char name[16];
        uint64_t bytes = bytes_of(load, i);
        double moved = (double)(bytes - load->before[i]);
        snprintf(name, sizeof name, "numa%d", load->topology->numas[i].number);
        if (moved > 0)
            ok = probe_load_print(
                &(struct probe_load){.place = name,
                                     .at_ns = now_ns - load->began_ns,
                                     .bytes_per_s = moved / (double)(now_ns - from_ns) * 1e9,
                                     .flop_per_s = -1,
                                     .clock_mhz = clock_of(load, i),
                                     .power_mw = -1,
                                     .temperature_c = -1,
                                     .throttle = ""},
                load->out);
        load->before[i] = bytes;
    }
    return ok;
}

/* Copies until the time is over. The first core prints, between two steps. */
static void stream(void *arg, unsigned index)
{
    struct load *load = arg;
    struct streamer *own = &load->streamer[index];
    size_t step = own->half < STEP_BYTES ? own->half : STEP_BYTES, at = 0;
    uint64_t bytes = 0;
    int64_t end_ns = load->began_ns + load->duration_ns, from_ns = load->began_ns, now_ns;
    while ((now_ns = probe_clock_ns()) < end_ns && !atomic_load(&load->is_gone)) {
        if (index == 0 && now_ns - from_ns >= load->interval_ns) {
            if (!print_interval(load, from_ns, now_ns))
                atomic_store(&load->is_gone, true);
            from_ns = now_ns;
        }
        load->stream->copy(own->from + own->half + at, own->from + at, step);
        bytes += 2 * step;
        atomic_store_explicit(&own->bytes, bytes, memory_order_relaxed);
        at = at + 2 * step <= own->half ? at + step : 0;
    }
}

static unsigned cores_of(const struct cpu_topology *topology, int numa)
{
    unsigned cores = 0;
    for (int i = 0; i < topology->core_count; i++)
        cores += topology->cores[i].numa == numa;
    return cores;
}

/* Gives the cores of a node their parts of its buffer. Returns false when the reader is gone. */
static bool add_node(struct load *load, int numa, const struct cpu_buffer *buffer, int *pus)
{
    const struct cpu_topology *topology = load->topology;
    unsigned cores = cores_of(topology, numa), part = 0;
    char name[16];
    snprintf(name, sizeof name, "numa%d", topology->numas[numa].number);
    if (!buffer->ready || cores == 0) {
        const char *why = topology->numas[numa].memory_bytes == 0 ? "it has no memory"
                          : cores == 0                            ? "no core of it may be used"
                          : buffer->why.text[0] != '\0'           ? buffer->why.text
                                                                  : "it is not among the places";
        return probe_load_left_out(name, why, load->out);
    }
    size_t half = buffer->memory.bytes / cores / 2 / CPU_STREAM_ALIGN * CPU_STREAM_ALIGN;
    if (half == 0)
        return probe_load_left_out(name, "too little free memory", load->out);
    for (int i = 0; i < topology->core_count; i++) {
        if (topology->cores[i].numa != numa)
            continue;
        struct streamer *streamer = &load->streamer[load->count];
        atomic_init(&streamer->bytes, 0);
        streamer->numa = numa;
        streamer->half = half;
        streamer->from = buffer->memory.base + 2 * half * part++;
        pus[load->count++] = topology->cores[i].pu;
    }
    return true;
}

static bool run(struct load *load, struct cpu_workers *workers, const int *pus, bool *ret_overrun,
                struct probe_why *why)
{
    load->began_ns = probe_clock_ns();
    const struct cpu_work all = {pus, load->count, stream, load, load->duration_ns + GRACE_NS};
    if (!cpu_workers_run(workers, &all, ret_overrun, why))
        return false;
    return !atomic_load(&load->is_gone);
}

bool cpu_load_run(const char *root, const struct cpu_topology *topology,
                  const struct cpu_cells *cells, int64_t duration_ns, struct cpu_workers *workers,
                  struct probe_out *out, struct probe_why *why)
{
    struct cpu_buffers buffers = {0};
    size_t cores = (size_t)topology->core_count;
    bool overrun, is_stuck = false, ok = true;
    int64_t now_ns = probe_clock_ns();
    struct load load = {.root = root,
                        .topology = topology,
                        .stream = cpu_stream_best(),
                        .duration_ns = duration_ns,
                        .interval_ns = probe_load_interval_ns(duration_ns),
                        .out = out};
    const struct cpu_buffers_time time = {now_ns, now_ns + FILL_NS / 2, now_ns + FILL_NS};
    if (!cpu_buffers_new(root, topology, cells, &time, workers, &buffers, &overrun, why))
        return false;
    load.streamer = aligned_alloc(_Alignof(struct streamer), cores * sizeof *load.streamer);
    load.before = calloc((size_t)topology->numa_count, sizeof *load.before);
    int *pus = calloc(cores, sizeof *pus);
    if (load.streamer == NULL || load.before == NULL || pus == NULL)
        ok = probe_why_set(why, "out of memory");
    ok = ok && probe_load_begin("cpu", "linux", out);
    for (int i = 0; ok && i < topology->numa_count; i++)
        ok = add_node(&load, i, &buffers.item[i], pus);
    if (ok && load.count > 0)
        ok = run(&load, workers, pus, &is_stuck, why);
    if (is_stuck)
        return false; /* a stuck thread still uses all of it */
    free(pus);
    free(load.before);
    free(load.streamer);
    cpu_buffers_done(&buffers);
    return ok;
}
