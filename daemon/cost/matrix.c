#include "cost/matrix.h"

#include <stdio.h>
#include <stdlib.h>

#include "cost/endpoints.h"
#include "cost/matrix_inner.h"
#include "node/gpu.h"

const struct matrix_item *matrix_find(const struct matrix *matrix, place_id from, place_id to,
                                      enum mechanism by)
{
    const struct matrix_item *item = matrix_item_of(matrix, from, to, by);
    return item != NULL && item->alone.bytes_per_s > 0 ? item : NULL;
}

/* ---- making it ---- */

/* True for GPUs of two vendors: neither's runtime opens the other's. */
static bool is_between_vendors(const struct matrix *matrix, place_id from, place_id to)
{
    return matrix_is_gpu(matrix, from) && matrix_is_gpu(matrix, to) &&
           endpoints_vendors_differ(matrix->graph, from, to);
}

/* The GPU whose memory a NUMA node is together with its cores, unless it was lost; else the memory
 * itself. */
static place_id owner_of(const struct matrix *matrix, place_id memory)
{
    place_id apu = matrix_is_gpu(matrix, memory) ? PLACE_NONE : gpu_apu_at(matrix->graph, memory);
    return apu != PLACE_NONE && matrix->number[apu] >= 0 ? apu : memory;
}

/* Finds the rate of its own of one mechanism; or, once all of these are found, what stands for it.
 * There, memory that cores share with another GPU is that GPU's. */
static void find_rate(struct matrix *matrix, place_id from, place_id to, enum mechanism by,
                      bool own_only)
{
    struct matrix_item *item = matrix_item_of(matrix, from, to, by);
    place_id f = owner_of(matrix, from), t = owner_of(matrix, to);
    f = own_only || f == to ? from : f;
    t = own_only || t == f ? to : t;
    if (from == to || item->alone.bytes_per_s > 0 ||
        (!matrix_is_gpu(matrix, f) && !matrix_is_gpu(matrix, t)) ||
        is_between_vendors(matrix, f, t))
        return;
    struct transfer transfer = transfer_none(matrix->graph, f, t, by);
    transfer.drift = agreement_of(matrix->limits->agree, transfer.kind);
    if (matrix_rate_of(matrix, own_only, &transfer, &item->stated)) {
        item->alone = transfer;
        if (own_only)
            matrix_rate_note(matrix, &transfer);
    }
}

static void find_rates(struct matrix *matrix, bool own_only)
{
    for (size_t f = 0; f < matrix->memory_count; f++)
        for (size_t t = 0; t < matrix->memory_count; t++)
            for (int by = 0; by < MECHANISMS; by++)
                find_rate(matrix, matrix->memory[f], matrix->memory[t], (enum mechanism)by,
                          own_only);
}

/* Lists NUMA nodes and GPUs, but those that were lost, and those whose slices are GPUs of their
 * own. */
static void list_memories(struct matrix *matrix)
{
    const struct graph *graph = matrix->graph;
    for (size_t p = 0; p < graph->place_count; p++) {
        place_id place = (place_id)p;
        bool is_memory = graph->places[p].kind == PLACE_NUMA ||
                         (matrix_is_gpu(matrix, place) && !endpoints_is_lost(matrix->snap, place) &&
                          !gpu_is_cut(graph, place));
        matrix->number[p] = is_memory ? (int32_t)matrix->memory_count : -1;
        if (is_memory)
            matrix->memory[matrix->memory_count++] = place;
    }
}

struct matrix *matrix_new(const struct snapshot *snap)
{
    size_t places = snap->graph->place_count,
           memories = graph_count(snap->graph, PLACE_GPU) + graph_count(snap->graph, PLACE_NUMA);
    struct matrix *matrix = calloc(1, sizeof *matrix);
    if (matrix == NULL)
        return NULL;
    *matrix =
        (struct matrix){.snap = snap,
                        .graph = snap->graph,
                        .limits = snap->derived.limits,
                        .memory = calloc(memories + 1, sizeof *matrix->memory),
                        .number = calloc(places + 1, sizeof *matrix->number),
                        .item = calloc(memories * memories * MECHANISMS + 1, sizeof *matrix->item),
                        .most = calloc(memories * 4 * MECHANISMS + 1, sizeof *matrix->most)};
    bool ok = matrix->memory != NULL && matrix->number != NULL && matrix->item != NULL &&
              matrix->most != NULL;
    if (ok) {
        list_memories(matrix);
        find_rates(matrix, true);
        matrix_rate_note_accesses(matrix);
        find_rates(matrix, false);
        matrix_both_fill(matrix);
        ok = matrix_class_fill(matrix);
    }
    if (ok)
        return matrix;
    matrix_free(matrix);
    return NULL;
}

void matrix_free(struct matrix *matrix)
{
    if (matrix == NULL)
        return;
    free(matrix->memory);
    free(matrix->number);
    free(matrix->item);
    free(matrix->most);
    free(matrix);
}

/* ---- asking it ---- */

size_t matrix_memories(const struct matrix *matrix, const place_id **ret_memory)
{
    *ret_memory = matrix->memory;
    return matrix->memory_count;
}

bool matrix_is_relay(const struct matrix *matrix, place_id memory)
{
    return matrix->number[memory] >= 0 &&
           (matrix_is_gpu(matrix, memory) || endpoints_gpu_of(matrix->graph, memory) == PLACE_NONE);
}

void matrix_why_not(const struct snapshot *snap, place_id from, place_id to,
                    char text[MATRIX_WHY_SIZE])
{
    const struct graph *graph = snap->graph;
    uint32_t link = limits_pair(snap->derived.limits, from, to)->unstated;
    *text = '\0';
    if (graph_are_gpus(graph, from, to) && endpoints_vendors_differ(graph, from, to))
        snprintf(text, MATRIX_WHY_SIZE,
                 ": no runtime copies between gpus of two vendors, only through memory of the host "
                 "(Route)");
    else if (link != LIMITS_NO_LINK)
        snprintf(text, MATRIX_WHY_SIZE, ": nothing says what goes between %s and %s",
                 graph_place(graph, graph->links[link].from)->name,
                 graph_place(graph, graph->links[link].to)->name);
}
