/* The time of each option of Allocate. */
#include <math.h>
#include <stdlib.h>

#include "cost/memtime.h"
#include "node/locality.h"
#include "plan/alloc/work.h"

static const struct estimate nothing = {.time_ns = NAN, .low_ns = NAN, .high_ns = NAN};

/* ---- parts ---- */

/* Memory that moves to each gpu that touches it is at best each one's own. */
static bool is_moved_by_several(const struct alloc_work *work, const struct memkind_place *place)
{
    bool are_several = false;
    for (size_t i = 0; place->moves && i < work->user_count; i++)
        are_several |= work->user[i].who.gpu != PLACE_NONE && work->user[i].who.gpu != place->gpu;
    return are_several;
}

static struct estimate time_of_user(const struct alloc_work *work,
                                    const struct alloc_option *option,
                                    const struct alloc_user *user, struct memrate_access access)
{
    bool is_gpu = user->who.gpu != PLACE_NONE,
         are_several = is_gpu && is_moved_by_several(work, &option->place);
    if (is_gpu && option->is_unsure)
        return nothing;
    access.user = &user->who;
    if (are_several)
        access.place = user->who.own;
    struct estimate time = user->random
                               ? memtime_random(&access, user->read_bytes, user->write_bytes)
                               : memtime_stream(&access, user->read_bytes, user->write_bytes);
    return are_several ? estimate_doubted(time, SOURCE_LOWER_BOUND, REASON_MIGRATION_NOT_COUNTED)
                       : time;
}

static struct estimate time_of_setup(const struct alloc_work *work,
                                     const struct memrate_access *access)
{
    struct estimate time = memtime_setup(access, !work->has_gpus);
    bool is_touched = access->place.kind != MEMKIND_PINNED || !work->has_gpus;
    for (size_t i = 0; i < work->user_count && is_touched && time.time_ns > 0; i++)
        if (work->user[i].who.cores > 1)
            time = estimate_doubted(time, SOURCE_MEASURED, REASON_TOUCHED_BY_ONE_THREAD);
    return time;
}

/* Memory that moved to a gpu comes back to the cores, as much as they touch. */
static struct estimate time_of_return(const struct alloc_work *work,
                                      const struct memrate_access *access)
{
    double touched = 0;
    for (size_t i = 0; i < work->user_count && access->place.migrates; i++)
        if (work->user[i].who.gpu == PLACE_NONE)
            touched += work->user[i].read_bytes + work->user[i].write_bytes;
    return touched > 0 ? memtime_return(access, fmin(touched, access->span)) : (struct estimate){0};
}

/* ---- options ---- */

static double distance_of(const struct alloc_work *work, place_id at,
                          const struct memkind_place *place)
{
    if (at == PLACE_NONE)
        return NAN;
    if (memkind_is_own(work->snap->graph, place, at))
        return -1;
    double distance = locality_distance(work->snap, at, place->memory);
    return place->owner == PLACE_NONE
               ? distance
               : fmin(distance, locality_distance(work->snap, at, place->owner));
}

/* An option without a prediction rests on the distance alone. */
static void cite_distance(struct alloc_work *work, const struct alloc_option *option)
{
    place_id numa = work->heaviest != PLACE_NONE ? locality_numa(work->snap->graph, work->heaviest)
                                                 : PLACE_NONE;
    const struct value *stated = numa != PLACE_NONE && option->place.numa == option->place.memory
                                     ? locality_numa_distance(work->snap, numa, option->place.numa)
                                     : NULL;
    if (stated != NULL)
        evidence_add(&work->answer.evidence, option->why, stated);
}

/* Each part is asked for, so that the order of the users does not matter. */
static void price(struct alloc_work *work, struct alloc_option *option, struct estimate *part)
{
    struct evidence *evidence = &work->answer.evidence;
    struct memrate_access access = {.snap = work->snap,
                                    .place = option->place,
                                    .xnack = option->xnack,
                                    .span = (double)work->request->bytes,
                                    .evidence = evidence,
                                    .start = evidence->count};
    struct estimate total = {0};
    bool says_little = false;
    for (size_t i = 0; i < work->user_count; i++) {
        part[i] = time_of_user(work, option, &work->user[i], access);
        says_little |=
            part[i].source == SOURCE_LOWER_BOUND || part[i].why == REASON_START_NOT_COUNTED;
    }
    part[work->user_count + ALLOC_SETUP] = time_of_setup(work, &access);
    part[work->user_count + ALLOC_RETURN] = time_of_return(work, &access);
    for (size_t i = 0; i < work->user_count + ALLOC_MORE_PARTS; i++)
        total = estimate_sum(total, part[i]);
    option->part = part;
    option->distance = distance_of(work, work->heaviest, &option->place);
    option->order = total;
    option->predicted =
        says_little && total.time_ns < MEMTIME_SHORT_NS ? nothing : estimate_at_least(total);
    option->setup_ns =
        isnan(option->predicted.time_ns) ? NAN : part[work->user_count + ALLOC_SETUP].time_ns;
    option->why = access.start;
    if (isnan(option->predicted.time_ns)) {
        evidence->count = access.start;
        cite_distance(work, option);
    }
    option->why_count = evidence->count - access.start;
}

/* Nothing is faster for a gpu than its own memory: without a figure it counts as the fastest that
 * is known for that gpu, in any option. */
static struct estimate own_at_best(const struct alloc_work *work, size_t user)
{
    struct estimate best = nothing;
    for (size_t i = 0; i < work->answer.count; i++) {
        const struct estimate *its = &work->answer.option[i].part[user];
        bool is_better =
            its->source == best.source ? its->time_ns < best.time_ns : its->source < best.source;
        if (!isnan(its->time_ns) && (isnan(best.time_ns) || is_better))
            best = *its;
    }
    return best;
}

static void order_unknown(const struct alloc_work *work, struct alloc_option *option)
{
    struct estimate total = {0};
    for (size_t i = 0; i < work->user_count + ALLOC_MORE_PARTS; i++) {
        bool is_own = i < work->user_count && !option->is_unsure && !option->place.moves &&
                      memkind_is_own(work->snap->graph, &option->place, work->user[i].who.gpu);
        total = estimate_sum(total, is_own && isnan(option->part[i].time_ns) ? own_at_best(work, i)
                                                                             : option->part[i]);
    }
    option->order = total;
}

enum berth_code plan_alloc_price(struct alloc_work *work, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    size_t parts = work->user_count + ALLOC_MORE_PARTS;
    answer->part = calloc(answer->count * parts, sizeof *answer->part);
    if (answer->part == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    for (size_t i = 0; i < answer->count; i++)
        price(work, &answer->option[i], answer->part + i * parts);
    for (size_t i = 0; i < answer->count; i++)
        if (isnan(answer->option[i].order.time_ns))
            order_unknown(work, &answer->option[i]);
    return evidence_code(&answer->evidence, err);
}
