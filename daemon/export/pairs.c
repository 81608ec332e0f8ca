#include "export/pairs.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "export/text.h"
#include "node/gpu.h"

#define CLASS_WIDTH 0.9 /* the slowest rate of a class as a share of its fastest */

static double rate(const struct export_pairs *pairs, size_t a, size_t b)
{
    return pairs->rate[a * pairs->count + b];
}

bool export_pairs_init(struct export_pairs *pairs, const struct snapshot *snap)
{
    const struct graph *graph = snap->graph;
    size_t most = graph_count(graph, PLACE_GPU) + 1;
    *pairs = (struct export_pairs){.is_measured = true, .gpu = calloc(most, sizeof *pairs->gpu)};
    if (pairs->gpu == NULL)
        return false;
    for (place_id id = graph_next(graph, PLACE_GPU, 0); id != PLACE_NONE;
         id = graph_next(graph, PLACE_GPU, id + 1))
        if (!gpu_is_cut(graph, id))
            pairs->gpu[pairs->count++] = id;
    pairs->rate = calloc(pairs->count * pairs->count + 1, sizeof *pairs->rate);
    if (pairs->rate == NULL)
        return false;
    for (size_t i = 0; i < pairs->count * pairs->count; i++) {
        place_id a = pairs->gpu[i / pairs->count], b = pairs->gpu[i % pairs->count];
        const struct value *there = a == b ? NULL : export_text_rate(snap, a, b),
                           *back = a == b ? NULL : export_text_rate(snap, b, a);
        bool is_known = there != NULL && back != NULL;
        pairs->rate[i] = is_known ? fmin(there->value, back->value) : (double)NAN;
        pairs->is_measured =
            pairs->is_measured &&
            (!is_known || (there->source == VALUE_MEASURED && back->source == VALUE_MEASURED));
    }
    return true;
}

void export_pairs_done(struct export_pairs *pairs)
{
    free(pairs->gpu);
    free(pairs->rate);
    *pairs = (struct export_pairs){0};
}

bool export_pairs_slowest(const struct export_pairs *pairs, size_t gpu, size_t *ret_a,
                          size_t *ret_b)
{
    double least = (double)INFINITY;
    for (size_t a = 0; a < pairs->count; a++)
        for (size_t b = a + 1; b < pairs->count; b++)
            if ((gpu == EXPORT_PAIRS_ANY || a == gpu || b == gpu) && rate(pairs, a, b) < least) {
                least = rate(pairs, a, b);
                *ret_a = a;
                *ret_b = b;
            }
    return isfinite(least);
}

double export_pairs_class(const struct export_pairs *pairs, double below)
{
    double fastest = (double)NAN, slowest = (double)NAN;
    for (size_t i = 0; i < pairs->count * pairs->count; i++)
        if (pairs->rate[i] < below)
            fastest = fmax(fastest, pairs->rate[i]);
    for (size_t i = 0; i < pairs->count * pairs->count; i++)
        if (pairs->rate[i] < below && pairs->rate[i] >= CLASS_WIDTH * fastest)
            slowest = fmin(slowest, pairs->rate[i]);
    return slowest;
}

bool export_pairs_groups(const struct export_pairs *pairs, double least, size_t *leader)
{
    for (size_t a = 0; a < pairs->count; a++) {
        leader[a] = a;
        for (size_t b = a; b > 0; b--)
            if (rate(pairs, a, b - 1) >= least)
                leader[a] = b - 1;
    }
    for (size_t a = 0; a < pairs->count; a++)
        for (size_t b = 0; b < a; b++)
            if ((leader[a] == leader[b]) != (rate(pairs, a, b) >= least))
                return false;
    return true;
}
