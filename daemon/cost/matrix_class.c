/* Classes of transfers that their intervals do not tell apart. */
#include <math.h>
#include <stdlib.h>

#include "cost/classes.h"
#include "cost/matrix_inner.h"
#include "node/spread.h"

static bool is_one_sort(const struct matrix *matrix, const struct transfer *a,
                        const struct transfer *b)
{
    return a->by == b->by && a->value->metric == b->value->metric && a->source == b->source &&
           a->value->axes == b->value->axes && (a->driver == a->from) == (b->driver == b->from) &&
           matrix_same_model(matrix->graph, a->from, b->from) &&
           matrix_same_model(matrix->graph, a->to, b->to);
}

static struct classes_item class_item(const struct transfer *transfer, uint32_t sort)
{
    static const double bytes[CLASSES_SIZES] = {4096, 1 << 20, 256 << 20};
    struct classes_item item = {.sort = sort, .is_best = matrix_has_sizes(transfer)};
    for (size_t k = 0; k < CLASSES_SIZES; k++) {
        struct estimate time = transfer_called(transfer, bytes[k]);
        /* another pair's start-up, whose deviation is unknown, tells nothing apart */
        bool is_open = isnan(time.low_ns) && time.source == SOURCE_SIMILAR_PAIR;
        item.value[k] = time.time_ns;
        item.low[k] = is_open ? 0 : time.low_ns;
        item.high[k] = is_open ? INFINITY : time.high_ns;
    }
    return item;
}

/* The rate of both directions with its interval at another time. */
static struct classes_item both_item(const struct matrix_item *item, uint32_t sort)
{
    const struct value *both = item->both.both;
    const struct agreement *drift = item->alone.drift;
    struct classes_item its = {.sort = sort};
    double half = spread_cell((both->high - both->low) / 2, both->n);
    if (drift != NULL && drift->rates > 0)
        half = hypot(half, spread_one(0, drift->rate, drift->rates, 1) * both->value);
    for (size_t k = 0; k < CLASSES_SIZES; k++) {
        its.value[k] = both->value;
        its.low[k] = both->value - half;
        its.high[k] = both->value + half;
    }
    return its;
}

/* Numbers the sorts of own transfers. Each item's representative is a transfer of its sort. */
static uint32_t sort_of(const struct matrix *matrix, const struct transfer *transfer,
                        const struct transfer **sort, uint32_t *count)
{
    uint32_t s = 0;
    while (s < *count && !is_one_sort(matrix, sort[s], transfer))
        s++;
    if (s == *count)
        sort[(*count)++] = transfer;
    return s;
}

bool matrix_class_fill(struct matrix *matrix)
{
    size_t all = matrix_size(matrix), count = 0;
    struct classes_item *item = calloc(all + 1, sizeof *item);
    uint32_t *member = calloc(all + 1, sizeof *member), sorts = 0;
    const struct transfer **sort = calloc(all + 1, sizeof *sort);
    bool ok = item != NULL && member != NULL && sort != NULL;
    for (size_t i = 0; ok && i < all; i++) {
        struct matrix_item *its = &matrix->item[i];
        its->peer = &its->alone;
        if (!(its->alone.bytes_per_s > 0) || its->alone.basis != BASIS_OWN)
            continue;
        item[count] = class_item(&its->alone, sort_of(matrix, &its->alone, sort, &sorts));
        member[count++] = (uint32_t)i;
    }
    ok = ok && classes_find(item, count);
    for (size_t m = 0; ok && m < count; m++)
        matrix->item[member[m]].peer = &matrix->item[member[item[m].stands]].alone;
    size_t both = 0;
    for (size_t m = 0; ok && m < count; m++) {
        struct matrix_item *its = &matrix->item[member[m]];
        /* the class of the transfer alone is the sort of its rate both ways */
        if (its->both.both != NULL) {
            item[both] = both_item(its, item[m].stands);
            member[both++] = member[m];
        }
    }
    ok = ok && classes_find(item, both);
    for (size_t m = 0; ok && m < both; m++)
        matrix->item[member[m]].peer_both = matrix->item[member[item[m].stands]].both.both;
    free(item);
    free(member);
    free(sort);
    return ok;
}

struct transfer matrix_of_class(const struct matrix_item *item)
{
    struct transfer transfer = item->alone;
    const struct transfer *peer = item->peer;
    bool is_similar = peer->sizes == SOURCE_SIMILAR_PAIR ||
                      (peer->curve != NULL ? !matrix_has_sizes(&transfer)
                                           : transfer.sizes == SOURCE_SIMILAR_PAIR);
    transfer.curve = peer->curve;
    transfer.sizes = is_similar ? SOURCE_SIMILAR_PAIR : peer->sizes;
    transfer.bytes_per_s = peer->bytes_per_s;
    transfer.low = peer->low;
    transfer.high = peer->high;
    transfer.t0_queue_ns = peer->t0_queue_ns;
    transfer.t0_call_ns = peer->t0_call_ns;
    transfer.call = peer->call;
    transfer.least_bytes = peer->least_bytes;
    return transfer;
}
