/* The transfer matrix while it is derived. */
#pragma once
#include <string.h>

#include "cost/limits.h"
#include "cost/matrix.h"

struct matrix {
    const struct snapshot *snap;
    const struct graph *graph;
    const struct limits *limits;
    place_id *memory; /* memory_count */
    size_t memory_count;
    int32_t *number;          /* by place: index into memory, -1 none */
    struct matrix_item *item; /* by from, to, mechanism; its rate is 0 where nothing is known */
    /* by memory, end, kind of the other end (a GPU), mechanism: the highest rate; NULL unknown */
    const struct value **most;
    /* share of a stated rate that transfers reach, by mechanism, between GPUs, kind of link; 0
     * unknown; below 0 only published transfers show it */
    double reached[MECHANISMS][2][LINK_KIND_COUNT];
};

static inline bool matrix_is_gpu(const struct matrix *matrix, place_id id)
{
    return graph_is(matrix->graph, id, PLACE_GPU);
}

static inline size_t matrix_size(const struct matrix *matrix)
{
    return matrix->memory_count * matrix->memory_count * MECHANISMS;
}

/* NULL where one end is no memory. */
static inline struct matrix_item *matrix_item_of(const struct matrix *matrix, place_id from,
                                                 place_id to, enum mechanism by)
{
    int32_t f = matrix->number[from], t = matrix->number[to];
    size_t pair = (size_t)f * matrix->memory_count + (size_t)t;
    return f < 0 || t < 0 ? NULL : &matrix->item[pair * MECHANISMS + by];
}

/* Returns the transfer between two memories that has a rate of its own; NULL none. */
static inline const struct transfer *matrix_own(const struct matrix *matrix, place_id from,
                                                place_id to, enum mechanism by)
{
    const struct matrix_item *item = matrix_item_of(matrix, from, to, by);
    return item != NULL && item->alone.bytes_per_s > 0 && item->alone.basis == BASIS_OWN
               ? &item->alone
               : NULL;
}

/* True for places of one kind and model. */
static inline bool matrix_same_model(const struct graph *graph, place_id a, place_id b)
{
    const struct place *x = graph_place(graph, a), *y = graph_place(graph, b);
    return x->kind == y->kind && (x->model == NULL) == (y->model == NULL) &&
           (x->model == NULL || strcmp(x->model, y->model) == 0);
}

/* Finds the rate of a transfer: its own only, or what stands for it; ret_stated, which stays, has
 * that of links or engines. False when unknown. */
bool matrix_rate_of(const struct matrix *matrix, bool own_only, struct transfer *transfer,
                    struct value *ret_stated);

/* Notes what a transfer with a rate of its own shows of others; then, for all pairs, what accesses
 * by kernels show. */
void matrix_rate_note(struct matrix *matrix, const struct transfer *transfer);
void matrix_rate_note_accesses(struct matrix *matrix);

/* Finds the sizes and the start-up of a transfer with a rate of its own: its own, else those of a
 * similar pair, else unknown. */
void matrix_start_of(const struct snapshot *snap, struct transfer *transfer);

/* True when the transfer was measured at several sizes. */
static inline bool matrix_has_sizes(const struct transfer *transfer)
{
    return transfer->curve != NULL && transfer->sizes == SOURCE_MEASURED;
}

/* True for the axes of a variable that a runtime reads at its start. */
static inline bool matrix_is_set(const char *axes)
{
    return *axes != '\0' && strcmp(axes, "direction=read") != 0;
}

/* Fills both of all items. */
void matrix_both_fill(struct matrix *matrix);

/* Fills peer and peer_both of all items. False when out of memory. */
bool matrix_class_fill(struct matrix *matrix);
