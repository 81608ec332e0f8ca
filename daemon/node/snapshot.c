#include "node/snapshot.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct snapshot *snapshot_new(const struct graph *graph, struct values *take_values,
                              const struct note *notes, size_t note_count, int64_t last_probe_at_s,
                              uint64_t generation)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    struct note *copies = note_count > 0 ? calloc(note_count, sizeof *copies) : NULL;
    if (snapshot == NULL || (note_count > 0 && copies == NULL)) {
        free(copies);
        free(snapshot);
        values_free(take_values);
        return NULL;
    }
    if (note_count > 0)
        memcpy(copies, notes, note_count * sizeof *copies);
    snapshot->refs = 1;
    snapshot->graph = graph_ref(graph);
    snapshot->values = take_values;
    snapshot->notes = copies;
    snapshot->note_count = note_count;
    snapshot->last_probe_at_s = last_probe_at_s;
    snapshot->generation = generation;
    snprintf(snapshot->id, sizeof snapshot->id, "%.8s-%llu", graph->fingerprint,
             (unsigned long long)generation);
    return snapshot;
}

enum origin snapshot_origin(const struct snapshot *snapshot)
{
    return snapshot->has_standin ? ORIGIN_STANDIN : snapshot->graph->origin;
}

const struct snapshot *snapshot_ref(const struct snapshot *snapshot)
{
    unsigned before = __atomic_fetch_add(&((struct snapshot *)snapshot)->refs, 1, __ATOMIC_RELAXED);
    assert(before > 0);
    (void)before;
    return snapshot;
}

void snapshot_unref(const struct snapshot *constant)
{
    struct snapshot *snapshot = (struct snapshot *)constant;
    /* Acquire and release: reads of every holder happen before the last one frees. */
    if (snapshot == NULL || __atomic_sub_fetch(&snapshot->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (snapshot->derived.free != NULL)
        snapshot->derived.free(&snapshot->derived);
    graph_unref(snapshot->graph);
    values_free((struct values *)snapshot->values);
    sets_free(snapshot->sets);
    free(snapshot->notes);
    free(snapshot->baseline);
    free(snapshot->opened);
    free(snapshot->shapes);
    free(snapshot);
}
