#include "cpu/access.h"

#include "cpu/initiator.h"
#include "cpu/noise.h"

#define SPAN_PER_LINE ((int64_t)(CPU_CHASE_SPAN / CPU_CHASE_LINE))
/* least bytes of a repetition; streaming them takes about a tenth to half a millisecond */
#define REPETITION_BYTES ((int64_t)16 << 20)

/* A cell's part in the run: its cores, the bytes it may use, and its noise. */
struct scene {
    struct cpu_buffer *buffer;
    int64_t bytes; /* bytes of the buffer, without those of the noise */
    unsigned cores;
    struct cpu_noise noise;
    bool noisy;
};

/* Puts the noise's cores behind the cell's in pus, and its bytes at the end of the buffer. */
static bool set_noise(const struct cpu_access *access, const struct cpu_cell *cell,
                      struct scene *scene, struct probe_why *why)
{
    unsigned count = cpu_initiator_noise_pus(access->topology, cell, access->noise_pus, why);
    if (count == 0)
        return false;
    int64_t bytes = cpu_buffers_noise_bytes(access->topology, cell);
    if (bytes >= scene->bytes)
        return probe_why_set(why, "the buffer of %s is too small to have noise in it",
                             probe_size(scene->bytes).text);
    scene->bytes -= bytes;
    for (unsigned i = 0; i < count; i++)
        access->pus[scene->cores + i] = access->noise_pus[i];
    scene->noisy = cpu_noise_init(&scene->noise, access->pus + scene->cores, count,
                                  scene->buffer->memory.base + scene->bytes, (size_t)bytes, why);
    return scene->noisy;
}

static struct cpu_threads threads_of(const struct cpu_access *access, struct scene *scene)
{
    return (struct cpu_threads){access->workers, access->pus, scene->noisy ? &scene->noise : NULL};
}

static bool measure_bandwidth(struct cpu_access *access, struct scene *scene,
                              const struct cpu_cell *cell, int64_t budget_ns,
                              struct probe_summary *ret_summary, bool *ret_overrun)
{
    struct probe_why *why = &access->no_noise;
    int64_t cache = cpu_buffers_initiator_cache(access->topology, cell);
    if (scene->bytes < CPU_BUFFERS_LEAST_TIMES * cache)
        return probe_why_set(why, "the buffer of %s%s is not twice the last-level caches of %s",
                             probe_size(scene->bytes).text, cpu_buffers_remark(scene->buffer),
                             probe_size(cache).text);
    const struct cpu_threads threads = threads_of(access, scene);
    struct cpu_bandwidth_request request = {.base = scene->buffer->memory.base,
                                            .bytes = (size_t)scene->bytes,
                                            .direction = cell->direction,
                                            .threads = scene->cores,
                                            .repetition_bytes = REPETITION_BYTES,
                                            .warm_bytes = cache,
                                            .budget_ns = budget_ns};
    scene->buffer->chase_bytes = 0;
    return cpu_bandwidth_measure(&request, &threads, ret_summary, ret_overrun, why);
}

/* Builds the cycle of a cell, unless it exists already. */
static bool prepare_chase(const struct cpu_access *access, const struct scene *scene,
                          const struct cpu_cell *cell, struct probe_why *why)
{
    struct cpu_buffer *buffer = scene->buffer;
    int64_t cache = cpu_buffers_cache(access->topology, cell->llc);
    int64_t least = cell->bytes > 0 ? cell->bytes : CPU_BUFFERS_LEAST_TIMES * cache;
    int64_t lines_bytes = scene->bytes / SPAN_PER_LINE;
    int64_t requested = cell->bytes > 0 ? cell->bytes : lines_bytes;
    if (lines_bytes < least && cell->bytes == 0)
        return probe_why_set(
            why, "the lines visited, %s%s, are not twice the last-level cache of %s",
            probe_size(lines_bytes).text, cpu_buffers_remark(buffer), probe_size(cache).text);
    if (lines_bytes < least)
        return probe_why_set(why, "the buffer of %s%s is too small", probe_size(scene->bytes).text,
                             cpu_buffers_remark(buffer));
    if (buffer->chase_bytes == requested)
        return true;
    if (!cpu_chase_build(buffer->memory.base, (size_t)(requested * SPAN_PER_LINE), access->random,
                         &buffer->chase, why))
        return false;
    buffer->chase_bytes = requested;
    return true;
}

static bool measure_latency(struct cpu_access *access, struct scene *scene,
                            const struct cpu_cell *cell, int64_t budget_ns,
                            struct probe_summary *ret_summary, bool *ret_overrun)
{
    const struct cpu_threads threads = threads_of(access, scene);
    const struct cpu_chase_request request = {&scene->buffer->chase, cell->bytes > 0, budget_ns};
    return prepare_chase(access, scene, cell, &access->no_noise) &&
           cpu_chase_measure(&request, &threads, ret_summary, ret_overrun, &access->no_noise);
}

/* The cell's cores, without its noise. */
static bool set_scene(const struct cpu_access *access, const struct cpu_cell *cell,
                      struct scene *ret_scene, struct probe_why *why)
{
    struct scene scene = {.buffer = &access->buffers->item[cell->memory]};
    if (!scene.buffer->ready)
        return probe_why_set(why, "%s", scene.buffer->why.text);
    scene.bytes = (int64_t)scene.buffer->memory.bytes;
    scene.cores = cpu_initiator_pus(access->topology, cell, access->pus);
    if (scene.cores == 0)
        return probe_why_set(why, "no core");
    if (cell->other_cores > 0)
        return probe_why_set(why, "%d of its %u cores may not be used", cell->other_cores,
                             scene.cores + (unsigned)cell->other_cores);
    if (cell->metric == PROBE_MEMORY_LATENCY)
        scene.cores = 1;
    else if (cell->threads > 0)
        scene.cores = (unsigned)cell->threads;
    *ret_scene = scene;
    return true;
}

bool cpu_access_measure(struct cpu_access *access, const struct cpu_cell *cell, int64_t budget_ns,
                        struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why)
{
    struct scene scene;
    *ret_overrun = false;
    if (cell->metric == PROBE_MEMORY_NOISE) {
        if (!access->has_noise)
            return probe_why_set(why, "%s", access->no_noise.text);
        *ret_summary = access->noise;
        return true;
    }
    access->has_noise = false;
    if (!set_scene(access, cell, &scene, &access->no_noise) ||
        (cell->noise != CPU_NOISE_NONE && !set_noise(access, cell, &scene, &access->no_noise)))
        return probe_why_set(why, "%s", access->no_noise.text);
    bool ok = cell->metric == PROBE_MEMORY_BANDWIDTH
                  ? measure_bandwidth(access, &scene, cell, budget_ns, ret_summary, ret_overrun)
                  : measure_latency(access, &scene, cell, budget_ns, ret_summary, ret_overrun);
    access->has_noise = ok && scene.noisy;
    if (access->has_noise)
        access->noise = cpu_noise_rate(&scene.noise);
    if (scene.noisy && !*ret_overrun) /* a stuck thread still uses the scene */
        cpu_noise_done(&scene.noise);
    return ok || probe_why_set(why, "%s", access->no_noise.text);
}
