#include "node/snapshot.h"

#include <assert.h>
#include <math.h>
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
    free(snapshot->second_look);
    counters_done(&snapshot->counters);
    free(snapshot->shapes);
    free(snapshot);
}

/* An interval; NAN unknown. */
struct number {
    double value, low, high;
};

static bool number_differs(struct number a, struct number b)
{
    if (isnan(a.value) || isnan(b.value))
        return isnan(a.value) != isnan(b.value);
    bool overlaps = a.low <= b.high && b.low <= a.high;
    return fabs(a.value - b.value) > SNAPSHOT_SAME * fabs(a.value) && !overlaps;
}

bool snapshot_value_differs(const struct value *a, const struct value *b)
{
    return number_differs((struct number){a->value, a->low, a->high},
                          (struct number){b->value, b->low, b->high});
}

static bool values_differ(const struct values *a, const struct values *b)
{
    bool differs = a->count != b->count;
    for (size_t i = 0; i < a->count && !differs; i++) {
        const struct value *x = &a->item[i], *y = &b->item[i];
        differs = x->metric != y->metric || x->from != y->from || x->to != y->to ||
                  x->source != y->source || strcmp(values_axes(a, x), values_axes(b, y)) != 0 ||
                  snapshot_value_differs(x, y);
    }
    return differs;
}

static bool sets_differ(const struct sets *a, const struct sets *b)
{
    size_t count = a != NULL ? a->count : 0;
    bool differs = count != (b != NULL ? b->count : 0);
    for (size_t i = 0; i < count && !differs; i++) {
        const struct set *x = &a->item[i], *y = &b->item[i];
        differs = x->metric != y->metric || x->flow_count != y->flow_count;
        for (size_t f = 0; f < x->flow_count && !differs; f++) {
            const struct set_flow *v = &x->flow[f], *w = &y->flow[f];
            differs = v->from != w->from || v->to != w->to || strcmp(v->axes, w->axes) != 0 ||
                      number_differs((struct number){v->bytes_per_s, v->low, v->high},
                                     (struct number){w->bytes_per_s, w->low, w->high});
        }
    }
    return differs;
}

bool snapshot_differs(const struct snapshot *a, const struct snapshot *b)
{
    return a->graph != b->graph || values_differ(a->values, b->values) ||
           sets_differ(a->sets, b->sets);
}
