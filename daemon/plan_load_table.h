/**
 * What plan_load.h answers from: for each pair of places and each mechanism the transfer alone and the resources that it uses.
 */
#pragma once
#include "load_share.h"
#include "plan_load.h"

/* The kinds of transfers that were measured together, if at all, apart from the others: one bit each. */
enum load_kind { LOAD_HOST_ENGINE = 1, LOAD_HOST_KERNEL = 2, LOAD_PEER_ENGINE = 4, LOAD_PEER_KERNEL = 8, LOAD_NETWORK = 16 };

/* One pair by one mechanism. */
struct load_ride {
    struct move move;
    enum load_known known;
    unsigned kind;
    uint32_t use;       /* the first of its resources in the table's use */
    uint16_t use_count;
};

struct load_table {
    struct snapshot *snap;
    place_id *place;
    size_t place_count;
    enum load_by by;
    struct load_ride *ride;          /* by mechanism, from, to */
    struct load_resource *resource;
    struct load_limit *limit;        /* the same as numbers */
    size_t resource_count, resource_room;
    uint16_t *use;
    size_t use_count, use_room, most_uses;
};

/* ride's place in the table. */
static inline struct load_ride *plan_load_table_ride(const struct load_table *table, enum move_by by, size_t from, size_t to)
{
    return &table->ride[((size_t)by * table->place_count + from) * table->place_count + to];
}

/* place_count, snap and by are set already, all else zero. False when out of memory; plan_load_table_empty frees what there is either way. */
bool plan_load_table_fill(struct load_table *table, const place_id *places);
void plan_load_table_empty(struct load_table *table);

/* Queued behind others already. */
double plan_load_table_alone_ns(const struct load_ride *ride, double bytes);

/* The transfer that a flow is: with LOAD_BEST the faster one; NULL when nothing is known, or from and to are the same. */
const struct load_ride *plan_load_table_choose(const struct load_table *table, size_t from, size_t to, double bytes);

/* The metric of sets in which transfers of a kind are measured together. False for LOAD_NETWORK. */
bool plan_load_table_metric(unsigned kind, enum metric *ret_metric);

/* Adds a resource; and that it is used by a ride, which is the last one that uses anything. apart: load_share.h. False when out of memory. */
bool plan_load_table_add(struct load_table *table, const struct load_resource *resource, unsigned apart, size_t *ret_index);
bool plan_load_table_use(struct load_table *table, struct load_ride *ride, size_t resource);
