/*
 * In ascending order each joins the first class, of those of its sort, whose members' intervals all
 * have something in common with its own; so a class has one time that is within all intervals, and
 * not a chain of them. The one that is nearest to the middle of what all intervals have in common
 * stands for all; of transfers, rather one whose sizes were measured.
 */
#include "cost/alike.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIZES 3
/* relative, to each side, where there is no interval: so far are stated figures rounded */
#define UNKNOWN 0.005

static const double bytes_of[SIZES] = {4096, 1 << 20, 256 << 20};

/* One that is looked at. low and high, at the end also those of a class: what all members have in
 * common. */
struct item {
    size_t index;
    const struct move *move; /* NULL a number */
    double value[SIZES], low[SIZES], high[SIZES];
    size_t class;
};

static void set_interval(struct item *item, size_t k, double value, double low, double high)
{
    item->value[k] = value;
    item->low[k] = isnan(low) ? value * (1 - UNKNOWN) : low;
    item->high[k] = isnan(high) ? value * (1 + UNKNOWN) : high;
}

static int compare(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->value[SIZES - 1] != y->value[SIZES - 1])
        return x->value[SIZES - 1] < y->value[SIZES - 1] ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool is_same_place(const struct graph *graph, place_id a, place_id b)
{
    const struct place *x = graph_place(graph, a), *y = graph_place(graph, b);
    return x->kind == y->kind && (x->model == NULL) == (y->model == NULL) &&
           (x->model == NULL || strcmp(x->model, y->model) == 0);
}

static bool is_one_sort(const struct snapshot *snap, const struct move *a, const struct move *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->by == b->by && a->rate->metric == b->rate->metric &&
           a->rate->source == b->rate->source && a->rate->axes == b->rate->axes &&
           (a->driver == a->from) == (b->driver == b->from) &&
           is_same_place(snap->graph, a->from, b->from) && is_same_place(snap->graph, a->to, b->to);
}

/* Joins the class, if it may. */
static bool joins(const struct snapshot *snap, struct item *class, const struct item *item)
{
    if (!is_one_sort(snap, class->move, item->move))
        return false;
    for (size_t k = 0; k < SIZES; k++)
        if (item->low[k] > class->high[k] || item->high[k] < class->low[k])
            return false;
    for (size_t k = 0; k < SIZES; k++) {
        class->low[k] = fmax(class->low[k], item->low[k]);
        class->high[k] = fmin(class->high[k], item->high[k]);
    }
    return true;
}

static bool has_sizes(const struct item *item)
{
    return item->move != NULL && item->move->curve != NULL && !item->move->is_like;
}

/* How far a member's own times are from the middle of what all intervals of its class have in
 * common, at the size where they are farthest: a factor's logarithm. */
static double off_of(const struct item *item, const struct item *class)
{
    double most = 0;
    for (size_t k = 0; k < SIZES; k++)
        most = isinf(class->high[k])
                   ? most
                   : fmax(most, fabs(log(2 * item->value[k] / (class->low[k] + class->high[k]))));
    return most;
}

/* Of a class, whose members are in order, the one that is nearest to the middle; of transfers, of
 * those whose sizes were measured, if any were. */
static const struct item *middle(const struct item *item, size_t count, size_t number,
                                 const struct item *class)
{
    const struct item *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (item[i].class != number || (found != NULL && has_sizes(found) && !has_sizes(&item[i])))
            continue;
        if (found == NULL || has_sizes(&item[i]) != has_sizes(found) ||
            off_of(&item[i], class) < off_of(found, class))
            found = &item[i];
    }
    return found;
}

/* snap NULL: of numbers. */
static bool classify(const struct snapshot *snap, struct item *item, size_t count, uint32_t *ret)
{
    struct item *class = calloc(count + 1, sizeof *class);
    size_t classes = 0;
    if (class == NULL)
        return false;
    qsort(item, count, sizeof *item, compare);
    for (size_t i = 0; i < count; i++) {
        size_t c = 0;
        while (c < classes && !joins(snap, &class[c], &item[i]))
            c++;
        if (c == classes)
            class[classes++] = item[i];
        item[i].class = c;
    }
    for (size_t c = 0; c < classes; c++) {
        const struct item *stands = middle(item, count, c, &class[c]);
        for (size_t i = 0; i < count && stands != NULL; i++)
            if (item[i].class == c)
                ret[item[i].index] = (uint32_t)stands->index;
    }
    free(class);
    return true;
}

bool plan_alike(const struct snapshot *snap, const struct move *const *move, size_t count,
                uint32_t *ret)
{
    struct item *item = calloc(count + 1, sizeof *item);
    for (size_t i = 0; item != NULL && i < count; i++) {
        item[i].index = i;
        item[i].move = move[i];
        for (size_t k = 0; k < SIZES; k++) {
            struct prediction time = plan_move_called(move[i], bytes_of[k]);
            /* what starting it costs is another's, and nothing says how far off that is */
            bool is_open =
                isnan(time.low_ns) && plan_move_is_by_another(move[i], bytes_of[k], bytes_of[k]);
            set_interval(&item[i], k, time.time_ns, is_open ? 0 : time.low_ns,
                         is_open ? INFINITY : time.high_ns);
        }
    }
    bool ok = item != NULL && classify(snap, item, count, ret);
    free(item);
    return ok;
}

bool plan_alike_numbers(const struct alike_number *number, size_t count, uint32_t *ret)
{
    struct item *item = calloc(count + 1, sizeof *item);
    for (size_t i = 0; item != NULL && i < count; i++) {
        item[i].index = i;
        for (size_t k = 0; k < SIZES; k++)
            set_interval(&item[i], k, number[i].value, number[i].low, number[i].high);
    }
    bool ok = item != NULL && classify(NULL, item, count, ret);
    free(item);
    return ok;
}

void plan_alike_take(struct move *move, const struct move *other)
{
    bool has_own = move->curve != NULL && !move->is_like; /* then its own says the same */
    move->curve = other->curve;
    move->is_like = other->curve != NULL && (other->is_like || !has_own);
    move->is_start_like = other->curve == NULL && (move->is_start_like || other->is_start_like);
    move->bytes_per_s = other->bytes_per_s;
    move->low = other->low;
    move->high = other->high;
    move->t0_queue_ns = other->t0_queue_ns;
    move->t0_call_ns = other->t0_call_ns;
    move->call = other->call;
}
