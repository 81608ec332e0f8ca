/**
 * The transfer matrix: for each ordered pair of memories of a node and each mechanism the transfer
 * alone, derived once for a snapshot and constant from then on.
 *
 * The number behind a rate is decided by one table (cost/matrix_rate.c): a transfer's own value;
 * the measured rate of the opposite direction; the stated rate of links scaled by what transfers
 * reach of such links, bounded by the highest rate known at an end, by a published limit or bound.
 * Two GPUs of different vendors have none. Memory that a GPU and its cores share (MI300A) is that
 * GPU's.
 */
#pragma once
#include "cost/transfer.h"

struct matrix;

struct matrix_item {
    struct transfer alone;
    struct value stated; /* the rate of links or the limit of engines, where that is alone.value */
    /* the same while as many bytes go the other way: slowdown and its source are set */
    struct transfer both;
    /* of transfers that their intervals do not tell apart, the one that stands for all; a choice
     * between them rests on no difference. Own where there is none */
    const struct transfer *peer;
    const struct value *peer_both; /* rate of both directions of that; NULL unknown */
};

/* Derives it, once curves and limits of the snapshot are derived. NULL when out of memory. */
struct matrix *matrix_new(const struct snapshot *snap);
void matrix_free(struct matrix *matrix); /* NULL is fine */

/* Returns the transfer between two memories; NULL where nothing is known of it. */
const struct matrix_item *matrix_find(const struct matrix *matrix, place_id from, place_id to,
                                      enum mechanism by);

/* Returns the memories of the node: GPUs that answer and NUMA nodes, ascending. */
size_t matrix_memories(const struct matrix *matrix, const place_id **ret_memory);

/* True for a memory that may hold bytes on their way to another: each but a GPU's that the kernel
 * shows as a NUMA node, which is the GPU. */
bool matrix_is_relay(const struct matrix *matrix, place_id memory);

/* Returns the transfer with the numbers of its class. */
struct transfer matrix_of_class(const struct matrix_item *item);

/* Returns a published bound on accesses of a memory by a GPU or a package; NULL none. */
const struct value *matrix_access_bound(const struct snapshot *snap, place_id by, place_id memory,
                                        bool is_read);

/* Returns the published rate of a GPU's kernels that copy both ways to another at once, of just
 * this pair or of one whose links are of the same kind and rate; NULL none. */
const struct value *matrix_published_both(const struct snapshot *snap,
                                          const struct transfer *transfer);

#define MATRIX_WHY_SIZE 96

/* Writes the reason why nothing is known of a pair, for the end of a sentence; "" none. */
void matrix_why_not(const struct snapshot *snap, place_id from, place_id to,
                    char text[MATRIX_WHY_SIZE]);
