/* The second half of deriving the matrix: transfers while as many bytes go the other way, then
 * classes of transfers that their intervals do not tell apart. */
#include "cost/matrix_inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/classes.h"
#include "node/spread.h"

#define MANY_BYTES 1e12 /* their start-up is nothing */

/* The factor where both directions share limits. */
static double slowdown_by_limits(const struct snapshot *snap, const struct transfer *transfer)
{
    const struct limits *limits = snap->derived.limits;
    const char *axes =
        transfer->basis == BASIS_OWN ? values_axes(snap->values, transfer->value) : "";
    unsigned kind = transfer->kind;
    uint16_t there[LIMITS_USES_MAX], back[LIMITS_USES_MAX];
    size_t uses = limits_of(limits, kind, transfer->from, transfer->to, axes, there),
           back_uses = limits_of(limits, kind, transfer->to, transfer->from, axes, back);
    double rate = MANY_BYTES * 1e9 /
                  (transfer_queued_ns(transfer, MANY_BYTES) - transfer_start_ns(transfer)),
           slowdown = 1;
    for (size_t i = 0; i < uses; i++) {
        unsigned users = 1;
        for (size_t k = 0; k < back_uses; k++)
            users += back[k] == there[i];
        slowdown =
            fmax(slowdown, users * rate / limits_capacity(&limits->item[there[i]], users, kind));
    }
    return slowdown;
}

/* A run of the transfer and its reverse. */
static const struct set *find_both_set(const struct matrix *matrix, const struct transfer *transfer)
{
    const struct sets *sets = matrix->snap->sets;
    const char *axes = values_axes(matrix->snap->values, transfer->value);
    for (size_t s = 0; sets != NULL && s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        const struct set_flow *a = set->flow, *b = set->flow + 1;
        if (set->flow_count == 2 && set->source == VALUE_MEASURED &&
            transfer_kind_of(set->metric) == transfer->kind && strcmp(a->axes, axes) == 0 &&
            strcmp(b->axes, axes) == 0 && b->from == a->to && b->to == a->from &&
            a->bytes_per_s + b->bytes_per_s > 0 &&
            ((a->from == transfer->from && a->to == transfer->to) ||
             (a->from == transfer->to && a->to == transfer->from)))
            return set;
    }
    return NULL;
}

/* False when nobody measured both directions. */
static bool find_both(const struct matrix *matrix, struct transfer *both)
{
    const struct values *values = matrix->snap->values;
    if (both->basis != BASIS_OWN || both->source != SOURCE_MEASURED)
        return false;
    const char *axes = values_axes(values, both->value), *together = "direction=both";
    together = strcmp(axes, "sdma=off") == 0   ? "direction=both;sdma=off"
               : strcmp(axes, "xnack=on") == 0 ? "direction=both;xnack=on"
                                               : together;
    const struct value *value =
        values_find(values, both->value->metric, both->from, both->to, together);
    if (value == NULL)
        value = values_find(values, both->value->metric, both->to, both->from, together);
    if (value != NULL && value->value > 0 && value->source == VALUE_MEASURED)
        both->both = value;
    else
        both->both_set = find_both_set(matrix, both);
    double rate = both->both != NULL ? both->both->value
                  : both->both_set != NULL
                      ? both->both_set->flow[0].bytes_per_s + both->both_set->flow[1].bytes_per_s
                      : 0;
    both->slowdown = rate > 0 ? fmax(1, 2 * both->bytes_per_s / rate) : 1;
    return rate > 0;
}

/* Fills both of all items: measured; else as much as others of the mechanism lose at most, or, with
 * the host, as the other mechanism does; else by shared limits. */
static void fill_both(struct matrix *matrix)
{
    double most[MECHANISMS][2] = {{0}};
    size_t count = matrix->memory_count * matrix->memory_count * MECHANISMS;
    for (size_t i = 0; i < count; i++) {
        struct matrix_item *item = &matrix->item[i];
        if (!matrix->is_known[i])
            continue;
        bool peer = transfer_is_peer(&item->alone);
        item->both = item->alone;
        if (find_both(matrix, &item->both)) {
            double *its = &most[item->alone.by][peer];
            *its = fmax(*its, item->both.slowdown);
            continue;
        }
        item->both.slowdown_source = SOURCE_SIMILAR_PAIR;
        item->both.slowdown = slowdown_by_limits(matrix->snap, &item->alone);
        const struct value *published = item->alone.basis != BASIS_OWN
                                            ? matrix_published_both(matrix->snap, &item->alone)
                                            : NULL;
        if (published != NULL)
            item->both.slowdown =
                fmax(item->both.slowdown, 2 * item->alone.bytes_per_s / published->value);
    }
    for (size_t i = 0; i < count; i++) {
        struct matrix_item *item = &matrix->item[i];
        struct transfer *both = &item->both;
        if (!matrix->is_known[i] || both->slowdown_source == SOURCE_MEASURED)
            continue;
        double its = most[both->by][transfer_is_peer(both)];
        if (its > 0 && item->alone.source == SOURCE_MEASURED) {
            both->slowdown = its;
            continue;
        }
        const struct matrix_item *other =
            !transfer_is_peer(both)
                ? matrix_find(
                      matrix, both->from, both->to,
                      (both->by == MECHANISM_KERNEL ? MECHANISM_COPY_ENGINE : MECHANISM_KERNEL))
                : NULL;
        if (other != NULL && other->both.slowdown_source == SOURCE_MEASURED)
            both->slowdown = fmax(both->slowdown, fmin(2, both->bytes_per_s * other->both.slowdown /
                                                              other->alone.bytes_per_s));
    }
}

/* ---- classes ---- */

static bool is_one_sort(const struct matrix *matrix, const struct transfer *a,
                        const struct transfer *b)
{
    return a->by == b->by && a->value->metric == b->value->metric && a->source == b->source &&
           a->value->axes == b->value->axes && (a->driver == a->from) == (b->driver == b->from) &&
           matrix_same_model(matrix->graph, a->from, b->from) &&
           matrix_same_model(matrix->graph, a->to, b->to);
}

static void set_size(struct classes_item *item, size_t k, const struct estimate *time, bool is_open)
{
    item->value[k] = time->time_ns;
    item->low[k] = is_open ? 0 : time->low_ns;
    item->high[k] = is_open ? INFINITY : time->high_ns;
}

static struct classes_item class_item(const struct transfer *transfer, uint32_t sort)
{
    static const double bytes[CLASSES_SIZES] = {4096, 1 << 20, 256 << 20};
    struct classes_item item = {.sort = sort, .is_best = matrix_has_own_sizes(transfer)};
    for (size_t k = 0; k < CLASSES_SIZES; k++) {
        struct estimate time = transfer_called(transfer, bytes[k]);
        /* another pair's start-up, whose deviation is unknown, tells nothing apart */
        set_size(&item, k, &time, isnan(time.low_ns) && time.source == SOURCE_SIMILAR_PAIR);
    }
    return item;
}

/* The rate of both directions with its interval at another time. */
static struct classes_item both_item(const struct matrix_item *item, uint32_t sort)
{
    const struct value *both = item->both.both;
    const struct agreement *drift = item->alone.drift;
    double half = spread_cell((both->high - both->low) / 2, both->n);
    if (drift != NULL && drift->rates > 0)
        half = hypot(half, spread_one(0, drift->rate, drift->rates, 1) * both->value);
    struct estimate rate = {
        both->value, both->value - half, both->value + half, SOURCE_MEASURED, 0, both, 0};
    struct classes_item its = {.sort = sort};
    for (size_t k = 0; k < CLASSES_SIZES; k++)
        set_size(&its, k, &rate, false);
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

static bool fill_peers(struct matrix *matrix)
{
    size_t all = matrix->memory_count * matrix->memory_count * MECHANISMS, count = 0;
    struct classes_item *item = calloc(all + 1, sizeof *item);
    uint32_t *member = calloc(all + 1, sizeof *member), sorts = 0;
    const struct transfer **sort = calloc(all + 1, sizeof *sort);
    bool ok = item != NULL && member != NULL && sort != NULL;
    for (size_t i = 0; ok && i < all; i++) {
        struct matrix_item *its = &matrix->item[i];
        its->peer = &its->alone;
        if (!matrix->is_known[i] || its->alone.basis != BASIS_OWN)
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

bool matrix_finish(struct matrix *matrix)
{
    fill_both(matrix);
    return fill_peers(matrix);
}
