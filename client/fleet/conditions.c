/* Finds conditions, as a driver's version, that slow nodes share, or whose nodes are slower. */
#include <stdlib.h>
#include <string.h>

#include "fleet/inner.h"
#include "fleet/spread.h"

#define VALUES_MAX 512 /* names with values of a class */
#define CHANCE     0.01
#define DIVIDES    0.2 /* share of nodes that moves median and spread */

const char *fleet_condition_of(const struct fleet_node *node, const char *name)
{
    for (size_t i = 0; i < node->condition_count; i++)
        if (strcmp(node->condition[i].name, name) == 0)
            return node->condition[i].value;
    return NULL;
}

bool fleet_has(const struct fleet_node *node, const struct fleet_shared *shared)
{
    const char *value = fleet_condition_of(node, shared->name);
    return value != NULL && strcmp(value, shared->value) == 0;
}

/* Lists the conditions of a class, each with its nodes. Returns how many. */
static size_t list_conditions(const struct fleet_class *class, struct fleet_shared *all)
{
    size_t count = 0;
    for (size_t i = 0; i < class->count; i++) {
        const struct fleet_node *node = class->node[i];
        for (size_t k = 0; k < node->condition_count; k++) {
            size_t at = 0;
            while (at < count && (strcmp(all[at].name, node->condition[k].name) != 0 ||
                                  strcmp(all[at].value, node->condition[k].value) != 0))
                at++;
            if (at == VALUES_MAX)
                continue;
            if (at == count)
                all[count++] = (struct fleet_shared){.fingerprint = class->fingerprint,
                                                     .name = node->condition[k].name,
                                                     .value = node->condition[k].value,
                                                     .slow = class->slow,
                                                     .nodes = class->count,
                                                     .p = 1};
            all[at].with++;
            all[at].slow_with += node->is_slow;
        }
    }
    return count;
}

/* A node's mean, and whether it has a condition. */
struct ranked {
    float x;
    bool has_it;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *one = a, *other = b;
    return one->x < other->x ? -1 : one->x > other->x;
}

/* Returns the median of one side; room for as many numbers as ranked. */
static double median_of(const struct ranked *ranked, size_t count, bool has_it, double *room)
{
    size_t some = 0;
    for (size_t i = 0; i < count; i++)
        if (ranked[i].has_it == has_it)
            room[some++] = ranked[i].x;
    return some > 0 ? spread_median(room, some) : 0;
}

/* Compares the nodes with a condition with the others in one mean: Mann and Whitney, Annals of
 * Mathematical Statistics 18, 1947. Keeps the most certain. */
static void compare_mean(const struct fleet_class *class, size_t test, struct fleet_shared *shared,
                         struct ranked *ranked, double *room, double least)
{
    size_t count = 0, with = 0;
    double ranks = 0;
    for (size_t i = 0; i < class->count; i++)
        if (!isnan(class->node[i]->mean[test - class->series])) {
            bool has_it = fleet_has(class->node[i], shared);
            ranked[count++] = (struct ranked){class->node[i]->mean[test - class->series], has_it};
            with += has_it;
        }
    if (with < FLEET_LEAST || count - with < FLEET_LEAST)
        return;
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++)
        ranks += ranked[i].has_it ? (double)i + 1 : 0;
    double one = (double)with, other = (double)(count - with),
           u = ranks - one * (one + 1) / 2 - one * other / 2,
           deviation = sqrt(one * other * (one + other + 1) / 12),
           p = exp(spread_log_normal(u / deviation)),
           loss = fleet_loss(median_of(ranked, count, true, room) -
                             median_of(ranked, count, false, room));
    if (loss < least || (shared->is_slower && shared->loss_p <= p))
        return;
    shared->is_slower = true;
    shared->metric = class->test[test].series->metric;
    shared->loss = loss;
    shared->loss_p = p;
}

/* True for a mean over all places: of a metric, or of the node. */
static bool is_wide(const struct fleet_test *test)
{
    return test->nodes > 0 && test->series->from[0] == '\0';
}

/* Judges the conditions of a class; the number of looks is taken off their certainty. */
static bool judge(const struct fleet *fleet, const struct fleet_class *class,
                  struct fleet_shared *all, size_t count)
{
    struct ranked *ranked = malloc(class->count * sizeof *ranked);
    double *room = malloc(class->count * sizeof *room);
    size_t wide = 0;
    bool ok = ranked != NULL && room != NULL;
    for (size_t k = class->series; k < class->tests; k++)
        wide += is_wide(&class->test[k]);
    for (size_t i = 0; ok && i < count; i++) {
        struct fleet_shared *shared = &all[i];
        if (shared->with == shared->nodes)
            continue; /* all have it */
        if (shared->slow_with >= 2)
            shared->p = fmin(1, (double)count * spread_fisher(shared->slow_with, shared->with,
                                                              shared->slow, shared->nodes));
        for (size_t k = class->series; k < class->tests; k++)
            if (is_wide(&class->test[k]) && shared->with >= FLEET_LEAST)
                compare_mean(class, k, shared, ranked, room, fleet->settings.least);
        shared->loss_p *= (double)(count * wide);
        if (shared->loss_p > CHANCE)
            shared->is_slower = false;
    }
    free(ranked);
    free(room);
    return ok;
}

static int compare_shared(const void *a, const void *b)
{
    const struct fleet_shared *one = a, *other = b;
    return one->slow_with != other->slow_with ? (one->slow_with > other->slow_with ? -1 : 1)
                                              : strcmp(one->name, other->name);
}

/* Adds found conditions. */
static bool add(struct fleet *fleet, const struct fleet_shared *found, size_t count)
{
    struct fleet_shared *more =
        realloc(fleet->shared, (fleet->shared_count + count + 1) * sizeof *more);
    if (more == NULL)
        return false;
    fleet->shared = more;
    memcpy(more + fleet->shared_count, found, count * sizeof *more);
    fleet->shared_count += count;
    return true;
}

/* Counts the slow nodes of a condition by which classes were divided, in all of them. */
static void count_slow(const struct fleet *fleet, struct fleet_shared *shared)
{
    shared->slow = shared->slow_with = 0;
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->node[i]->is_slow &&
            strcmp(fleet->node[i]->fingerprint, shared->fingerprint) == 0) {
            shared->slow++;
            shared->slow_with += fleet_has(fleet->node[i], shared);
        }
}

bool fleet_find_division(struct fleet *fleet, const struct fleet_class *class,
                         struct fleet_shared *ret_shared)
{
    struct fleet_shared *all = malloc(VALUES_MAX * sizeof *all);
    size_t count = all == NULL ? 0 : list_conditions(class, all);
    bool ok = all != NULL && judge(fleet, class, all, count);
    *ret_shared = (struct fleet_shared){0};
    for (size_t i = 0; ok && i < count; i++) {
        size_t fewer =
            all[i].with < all[i].nodes - all[i].with ? all[i].with : all[i].nodes - all[i].with;
        if (all[i].is_slower && fewer >= FLEET_LEAST &&
            (double)fewer >= DIVIDES * (double)all[i].nodes &&
            (ret_shared->name == NULL || all[i].loss > ret_shared->loss))
            *ret_shared = all[i];
    }
    free(all);
    return ok && (ret_shared->name == NULL || add(fleet, ret_shared, 1));
}

bool fleet_conditions(struct fleet *fleet)
{
    struct fleet_shared *all = malloc(VALUES_MAX * sizeof *all);
    bool ok = all != NULL;
    for (size_t i = 0; i < fleet->shared_count; i++)
        count_slow(fleet, &fleet->shared[i]);
    for (size_t i = 0; ok && i < fleet->class_count; i++) {
        const struct fleet_class *class = &fleet->class[i];
        size_t count = class->tests > 0 ? list_conditions(class, all) : 0, kept = 0;
        ok = class->tests == 0 || judge(fleet, class, all, count);
        for (size_t k = 0; ok && k < count; k++)
            if (all[k].p <= CHANCE || all[k].is_slower)
                all[kept++] = all[k];
        ok = ok && add(fleet, all, kept);
    }
    if (ok && fleet->shared_count > 0)
        qsort(fleet->shared, fleet->shared_count, sizeof *fleet->shared, compare_shared);
    free(all);
    return ok;
}
