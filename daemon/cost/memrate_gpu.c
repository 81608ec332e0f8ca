/*
 * Rates and latencies of a GPU's kernels, by values (rows below): its own; a similar access's (a
 * copy, another kind of allocation, a GPU of the same model); the other direction's; published;
 * stated by firmware. Links where there is none.
 */
#include "cost/memrate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/matrix.h"
#include "node/locality.h"

/* Where the memory is, seen from the GPU. */
enum { OWN = 1, PEER = 2, HOST = 4, ANYWHERE = 7 };

/* Kinds of allocations that a value is of. */
enum { ANY = 15, MANAGED = 1 << MEMKIND_MANAGED, SYSTEM = 1 << MEMKIND_SYSTEM, BUT_MANAGED = 11 };

/* Places of a value: from the GPU to the memory, as the bytes move, the same two the other way
 * round, and the memory as cores know it. */
enum ends { OF_GPU, OF_BYTES, OF_MEMORY, AGAINST_BYTES, OF_CORES };

/* Axes by enum memrate_what; NULL: the value says nothing of that. */
static const char *const copying[] = {"", "", NULL}, *const reading[] = {NULL, "", NULL},
                         *const plain[] = {"", "operation=write", NULL},
                         *const operation[] = {"operation=read", "operation=write", NULL},
                         *const managed[] = {"kind=managed;operation=read",
                                             "kind=managed;operation=write", NULL},
                         *const managed_copying[] = {"kind=managed", "kind=managed", NULL},
                         *const latency[] = {NULL, NULL, ""};

/* Values that may tell a rate or a latency: in which memory, of which kinds of allocations. source:
 * if the value itself is measured. */
static const struct row {
    unsigned where, kinds;
    enum metric metric;
    enum ends ends;
    const char *const *axes;
    enum source source;
} rows[] = {
    {OWN, ANY, METRIC_MEMORY_BANDWIDTH, OF_GPU, plain, SOURCE_MEASURED},
    {OWN, ANY, METRIC_GPU_STREAM, OF_GPU, copying, SOURCE_SIMILAR_PAIR},
    {OWN, ANY, METRIC_MEMORY_BANDWIDTH, OF_GPU, reading, SOURCE_REVERSE_DIRECTION},
    {OWN, ANY, METRIC_MEMORY_BANDWIDTH, OF_CORES, plain, SOURCE_NOMINAL},
    {PEER, ANY, METRIC_GPU_GPU_KERNEL, OF_GPU, operation, SOURCE_MEASURED},
    {PEER, ANY, METRIC_GPU_GPU_KERNEL, OF_GPU, copying, SOURCE_SIMILAR_PAIR},
    {PEER, ANY, METRIC_GPU_GPU_COPY_ENGINE, OF_BYTES, copying, SOURCE_SIMILAR_PAIR},
    {PEER, ANY, METRIC_GPU_GPU_KERNEL, OF_MEMORY, operation, SOURCE_REVERSE_DIRECTION},
    {PEER, ANY, METRIC_GPU_GPU_COPY_ENGINE, AGAINST_BYTES, copying, SOURCE_REVERSE_DIRECTION},
    {HOST, MANAGED, METRIC_HOST_GPU_KERNEL, OF_BYTES, managed, SOURCE_MEASURED},
    {HOST, MANAGED, METRIC_HOST_GPU_KERNEL, OF_BYTES, managed_copying, SOURCE_SIMILAR_PAIR},
    {HOST, SYSTEM, METRIC_MEMORY_BANDWIDTH, OF_GPU, plain, SOURCE_MEASURED},
    {HOST, BUT_MANAGED, METRIC_HOST_GPU_KERNEL, OF_BYTES, operation, SOURCE_MEASURED},
    {HOST, MANAGED, METRIC_HOST_GPU_KERNEL, OF_BYTES, operation, SOURCE_SIMILAR_PAIR},
    {HOST, ANY, METRIC_HOST_GPU_KERNEL, OF_BYTES, copying, SOURCE_SIMILAR_PAIR},
    {HOST, ANY, METRIC_MEMORY_BANDWIDTH, OF_GPU, plain, SOURCE_SIMILAR_PAIR},
    {HOST, ANY, METRIC_HOST_GPU_COPY_ENGINE, OF_BYTES, copying, SOURCE_SIMILAR_PAIR},
    {ANYWHERE, ANY, METRIC_MEMORY_LATENCY, OF_GPU, latency, SOURCE_MEASURED},
};

/* A question for values between a GPU and a memory. */
struct ask {
    const struct memrate_access *access;
    place_id gpu, memory;
    unsigned where;
    enum memrate_what what;
    enum source least; /* of all that is found by it */
};

/* Stated rates of the one memory hold for the GPU, those of cores do not. Published rates of copy
 * engines say nothing of kernels, which have all links. */
static const struct value *value_of(const struct ask *ask, const struct row *row)
{
    bool is_write = ask->what == MEMRATE_WRITE;
    place_id gpu = ask->gpu, memory = ask->memory, numa = ask->access->place.numa;
    const place_id ends[][2] = {
        [OF_GPU] = {gpu, memory},
        [OF_BYTES] = {is_write ? gpu : memory, is_write ? memory : gpu},
        [OF_MEMORY] = {memory, gpu},
        [AGAINST_BYTES] = {is_write ? memory : gpu, is_write ? gpu : memory},
        [OF_CORES] = {numa, numa}};
    const place_id *its = ends[row->ends];
    const struct value *value =
        values_find(ask->access->snap->values, row->metric, its[0], its[1], row->axes[ask->what]);
    return value == NULL || !(value->value > 0) ||
                   (row->ends == OF_CORES && value->source != VALUE_NOMINAL) ||
                   (row->metric == METRIC_GPU_GPU_COPY_ENGINE && value->source != VALUE_MEASURED)
               ? NULL
               : value;
}

/* Replaces best by a less doubtful value. */
static void consider(const struct ask *ask, struct memrate *best)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        enum source source = estimate_worse(row->source, ask->least);
        if ((row->where & ask->where) == 0 || (row->kinds >> ask->access->place.kind & 1) == 0 ||
            row->axes[ask->what] == NULL || source >= best->source ||
            (row->ends == OF_CORES && ask->access->place.apu == PLACE_NONE))
            continue;
        const struct value *value = value_of(ask, row);
        if (value == NULL || estimate_source(value) >= best->source)
            continue;
        *best = memrate_of(value);
        if (source != SOURCE_MEASURED)
            *best = memrate_doubted(*best, source, REASON_SIMILAR_ACCESS);
        if (ask->gpu != ask->access->user->gpu || source == SOURCE_REVERSE_DIRECTION)
            best->low = best->high = NAN; /* the interval is another's */
    }
}

/* Looks at the GPU's own memory, then at that of GPUs of the same model. */
static void consider_own(struct ask ask, struct memrate *best)
{
    const struct graph *graph = ask.access->snap->graph;
    place_id gpu = ask.gpu;
    const char *model = graph_place(graph, gpu)->model;
    ask.where = OWN;
    ask.memory = gpu;
    consider(&ask, best);
    ask.least = estimate_worse(ask.least, SOURCE_SIMILAR_PAIR);
    for (place_id g = graph_next(graph, PLACE_GPU, 0);
         g != PLACE_NONE && model != NULL && best->source > ask.least;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const char *its = graph_place(graph, g)->model;
        ask.gpu = ask.memory = g;
        if (g != gpu && its != NULL && strcmp(its, model) == 0)
            consider(&ask, best);
    }
}

/* Looks at values alone. A processor's memory that is a GPU's as well is one more kind of that. */
static struct memrate by_values(const struct memrate_access *access, enum memrate_what what)
{
    const struct memkind_place *place = &access->place;
    place_id gpu = access->user->gpu;
    struct memrate best = MEMRATE_UNKNOWN;
    struct ask ask = {
        .access = access, .gpu = gpu, .memory = place->owner, .what = what, .where = PEER};
    if (place->owner == PLACE_NONE) {
        ask.memory = place->memory;
        ask.where = HOST;
        consider(&ask, &best);
        ask.memory = place->apu;
        ask.where = PEER;
        ask.least = SOURCE_SIMILAR_PAIR;
    }
    if (memkind_is_own(access->snap->graph, place, gpu))
        consider_own(ask, &best);
    else if (ask.memory != PLACE_NONE)
        consider(&ask, &best);
    return best;
}

struct memrate memrate_of_links(const struct memrate_access *access, enum memrate_what what,
                                place_id here, place_id there)
{
    bool is_write = what == MEMRATE_WRITE;
    const struct matrix_item *item =
        what == MEMRATE_LATENCY || here == there
            ? NULL
            : matrix_find(access->snap->derived.matrix, is_write ? here : there,
                          is_write ? there : here, MECHANISM_KERNEL);
    if (item == NULL)
        return MEMRATE_UNKNOWN;
    transfer_cite(&item->alone, access->evidence, access->start);
    return (struct memrate){.value = item->alone.bytes_per_s,
                            .low = NAN,
                            .high = NAN,
                            .source = SOURCE_NOMINAL,
                            .why = REASON_ACCESS_BY_LINKS};
}

struct memrate memrate_of_gpu(const struct memrate_access *access, enum memrate_what what)
{
    const struct memkind_place *place = &access->place;
    struct memrate found = by_values(access, what);
    if (found.item == NULL)
        return memrate_of_links(access, what, access->user->gpu,
                                place->owner != PLACE_NONE ? place->owner : place->memory);
    evidence_add(access->evidence, access->start, found.item);
    return found;
}

/* The first touch at the nearest NUMA node stands for others, so that none looks better for want of
 * a measurement. */
struct memrate memrate_first_touch(const struct memrate_access *access, enum memrate_what what)
{
    const struct memkind_place *place = &access->place;
    bool is_write = what == MEMRATE_WRITE,
         is_system = place->kind == MEMKIND_SYSTEM && place->owner == PLACE_NONE;
    place_id gpu = place->migrates ? place->gpu : access->user->gpu,
             nearest = locality_numa(access->snap->graph, gpu);
    const place_id at[] = {is_system ? place->memory : nearest, nearest};
    char axes[64];
    if (!is_system && !place->migrates)
        return MEMRATE_UNKNOWN;
    snprintf(axes, sizeof axes, "kind=%s;operation=%s%s", is_system ? "system" : "migrating",
             is_write ? "write" : "read", access->xnack ? ";xnack=on" : "");
    for (size_t i = 0; i < 2 && at[i] != PLACE_NONE; i++) {
        const struct value *v = values_find(access->snap->values, METRIC_HOST_GPU_KERNEL,
                                            is_write ? gpu : at[i], is_write ? at[i] : gpu, axes);
        if (v == NULL || !(v->value > 0))
            continue;
        struct memrate touch = memrate_of(v);
        evidence_add(access->evidence, access->start, v);
        if (i == 1) { /* the interval is another memory's */
            touch = memrate_doubted(touch, SOURCE_SIMILAR_PAIR, REASON_SIMILAR_ACCESS);
            touch.low = touch.high = NAN;
        }
        return touch;
    }
    return MEMRATE_UNKNOWN;
}
