/* Cores for tasks without GPUs: the fewest other tasks for the cores, in one L3 or NUMA node. */
#include <math.h>
#include <string.h>

#include "node/locality.h"
#include "plan/bind/hand.h"

/* How busy the NUMA node or the package of a group would be with one task more. */
static double load(const struct hand *hand, size_t group, enum unit unit)
{
    const struct bind_cores *cores = hand->cores;
    unsigned all = 0, tasks = 1;
    for (size_t g = 0; g < cores->group_count; g++)
        if (plan_bind_hand_in_one(hand, g, group, unit)) {
            all += cores->group[g].cores;
            tasks += cores->group[g].tasks;
        }
    return (double)tasks / all;
}

/* A task without gpus goes where the least other tasks are: the NUMA node first, then the llc. It
 * fits into: one llc, a NUMA node, a package, none. */
enum fits {
    FITS_GROUP,
    FITS_NUMA,
    FITS_PACKAGE,
    FITS_NOWHERE,
};

static bool has_room(const struct hand *hand, size_t group, enum fits fits, unsigned missing)
{
    unsigned own = hand->cores->group[group].free;
    switch (fits) {
    case FITS_GROUP:
        return own >= missing;
    case FITS_NUMA:
        return own > 0 && plan_bind_hand_free(hand, group, UNIT_NUMA) >= missing;
    case FITS_PACKAGE:
        return own > 0 && plan_bind_hand_free(hand, group, UNIT_PACKAGE) >= missing;
    case FITS_NOWHERE:
        break;
    }
    return own > 0;
}

static size_t least_loaded(const struct hand *hand, enum fits fits, unsigned missing)
{
    const struct bind_group *group = hand->cores->group;
    size_t best = SIZE_MAX;
    double least[3] = {0};
    for (size_t g = 0; g < hand->cores->group_count; g++) {
        if (!has_room(hand, g, fits, missing))
            continue;
        /* Of packages only where the task is not in one NUMA node: as many tasks are then in each,
         * whatever NUMA nodes they began with. */
        double own[3] = {fits == FITS_PACKAGE ? load(hand, g, UNIT_PACKAGE) : 0,
                         load(hand, g, UNIT_NUMA), (group[g].tasks + 1.0) / group[g].cores};
        size_t i = 0;
        while (i < 2 && own[i] == least[i])
            i++;
        if (best == SIZE_MAX || own[i] < least[i]) {
            best = g;
            memcpy(least, own, sizeof least);
        }
    }
    return best;
}

/* Of those in the unit the nearest to where it began, then where the rest fits best. */
static size_t nearest_free(const struct hand *hand, size_t task, size_t start, enum fits fits)
{
    const struct bind_cores *cores = hand->cores;
    size_t best = SIZE_MAX;
    double nearest = INFINITY;
    for (size_t g = 0; g < cores->group_count; g++) {
        double distance =
            locality_distance(hand->snap, cores->group[start].place, cores->group[g].place);
        bool in_unit =
            fits == FITS_NOWHERE ||
            plan_bind_hand_in_one(hand, g, start, fits == FITS_NUMA ? UNIT_NUMA : UNIT_PACKAGE);
        if (in_unit && cores->group[g].free > 0 &&
            (distance < nearest ||
             (distance == nearest && plan_bind_hand_goes_before(hand, task, g, best)))) {
            nearest = distance;
            best = g;
        }
    }
    return best;
}

/* The cores of a whole family of tasks, which is known by its lowest. */
static unsigned missing_of(const struct hand *hand, size_t lowest)
{
    const size_t *joined = hand->request->joined;
    unsigned missing = joined == NULL ? hand->missing[lowest] : 0;
    for (size_t t = lowest; joined != NULL && t < hand->request->tasks; t++)
        missing += joined[t] == lowest ? hand->missing[t] : 0;
    return missing;
}

/* One task, from the group where its family begins; whole in one group while one has room. */
static void take_beside(struct hand *hand, size_t task, size_t start, enum fits fits)
{
    size_t best = hand->cores->group[start].free >= hand->missing[task] ? start : SIZE_MAX;
    double nearest = INFINITY;
    for (size_t g = 0; g < hand->cores->group_count && best != start; g++) {
        double distance = locality_distance(hand->snap, hand->cores->group[start].place,
                                            hand->cores->group[g].place);
        if (hand->cores->group[g].free >= hand->missing[task] && distance < nearest) {
            nearest = distance;
            best = g;
        }
    }
    best = best != SIZE_MAX                     ? best
           : hand->cores->group[start].free > 0 ? start
                                                : nearest_free(hand, task, start, fits);
    for (size_t g = best; hand->missing[task] > 0; g = nearest_free(hand, task, start, fits))
        plan_bind_hand_take(hand, task, g);
}

void plan_bind_hand_evenly(struct hand *hand)
{
    const size_t *joined = hand->request->joined;
    for (size_t t = 0; t < hand->request->tasks; t++) {
        enum fits fits = FITS_GROUP;
        if (joined != NULL && joined[t] != t)
            continue;
        unsigned missing = missing_of(hand, t);
        size_t start = least_loaded(hand, fits, missing);
        while (start == SIZE_MAX)
            start = least_loaded(hand, ++fits, missing);
        if (joined == NULL || missing == hand->missing[t]) {
            for (size_t g = start; hand->missing[t] > 0; g = nearest_free(hand, t, start, fits))
                plan_bind_hand_take(hand, t, g);
            continue;
        }
        for (size_t other = t; other < hand->request->tasks; other++)
            if (joined[other] == t)
                take_beside(hand, other, start, FITS_NOWHERE);
    }
}
