/* The time of each option of Allocate, and their order. */
#include "plan/alloc/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/memgpu.h"
#include "cost/policy.h"
#include "node/locality.h"

/* ---- parts ---- */

/* Managed memory moves to the gpu that touches it: with several, each has it at best as its own. */
static bool is_moved_by_several(const struct alloc_work *work, const struct memkind_place *place)
{
    bool moves = place->kind == MEMKIND_MANAGED && place->memory == place->gpu;
    for (size_t i = 0; moves && i < work->user_count; i++)
        if (work->user[i].reach.gpu != PLACE_NONE && work->user[i].reach.gpu != place->gpu)
            return true;
    return false;
}

static struct memgpu access_by(const struct alloc_work *work, const struct alloc_option *option,
                               place_id gpu, struct memtime_basis *basis)
{
    return (struct memgpu){.snap = work->snap,
                           .node = &work->answer.node,
                           .place = option->place,
                           .gpu = gpu,
                           .xnack = option->xnack,
                           .span = (double)work->request->bytes,
                           .basis = basis};
}

static struct memtime time_of_gpu(const struct alloc_work *work, const struct alloc_option *option,
                                  const struct alloc_user *user, struct memtime_basis *basis)
{
    struct memgpu at = access_by(work, option, user->reach.gpu, basis);
    bool are_several = is_moved_by_several(work, &option->place);
    if (option->is_unsure)
        return memtime_unknown();
    if (are_several)
        at.place = (struct memkind_place){at.gpu, MEMKIND_DEVICE, at.gpu};
    struct memtime time = user->random ? memgpu_random(&at, user->read_bytes + user->write_bytes)
                                       : memgpu_stream(&at, user->read_bytes, user->write_bytes);
    return are_several ? memtime_doubted(time, REASON_MANAGED_BY_SEVERAL, SOURCE_LOWER_BOUND)
                       : time;
}

/* Cores access managed memory of a gpu once it is the host's again. */
static struct memtime time_of_cores(const struct alloc_work *work,
                                    const struct alloc_option *option,
                                    const struct alloc_user *user, struct memtime_basis *basis)
{
    place_id numa = memkind_numa(&work->answer.node, option->place.memory);
    struct memcores_access access = {
        .snap = work->snap,
        .node = &work->answer.node,
        .who = &user->cores,
        .memory = numa != PLACE_NONE ? numa : locality_numa(work->snap->graph, option->place.gpu),
        .span = (double)work->request->bytes,
        .basis = basis};
    if (access.memory == PLACE_NONE)
        return memtime_unknown();
    return user->random ? memcores_random(&access, user->read_bytes, user->write_bytes)
                        : memcores_stream(&access, user->read_bytes, user->write_bytes);
}

/* The measured rate of getting such memory; NULL not known. Pinning touches pages, too, but is
 * measured faster than one thread touches them: where cores alone use the buffer it counts as that,
 * because those who use it share the touching. ret_source: of pinning that was not measured. */
static const struct value *rate_of_setup(const struct alloc_work *work,
                                         const struct memkind_place *place, enum source *ret_source)
{
    const struct value *v, *touched = NULL, *pinned = NULL;
    size_t n = values_range(work->snap->values, METRIC_ALLOCATION, PLACE_NONE, &v);
    for (; n > 0; v++, n--) {
        const char *axes = values_axes(work->snap->values, v);
        if (v->to != place->memory || !(v->value > 0))
            continue;
        if (axes[0] == '\0' && touched == NULL)
            touched = v;
        else if (strcmp(axes, "kind=pinned") == 0 && pinned == NULL)
            pinned = v;
    }
    *ret_source = SOURCE_MEASURED;
    if (place->kind != MEMKIND_PINNED)
        return touched;
    if (pinned == NULL)
        *ret_source = SOURCE_SIMILAR_PAIR;
    bool is_shared = pinned != NULL && touched != NULL && !work->has_gpus;
    return pinned == NULL || (is_shared && touched->value < pinned->value) ? touched : pinned;
}

/* Host memory is touched, or pinned, once. A gpu's own is there at once. */
static struct memtime time_of_setup(const struct alloc_work *work,
                                    const struct alloc_option *option, struct memtime_basis *basis)
{
    struct memtime time = {0};
    enum source source;
    if (option->place.kind == MEMKIND_DEVICE || option->place.memory == option->place.gpu)
        return time;
    const struct value *v = rate_of_setup(work, &option->place, &source);
    if (v == NULL)
        return memtime_doubted(time, REASON_SETUP_NOT_COUNTED, SOURCE_MEASURED);
    double ns = (double)work->request->bytes * 1e9;
    time = memtime_of(ns / v->value, ns / v->high, ns / v->low, v->n, 0, 1);
    memtime_cite(basis, v);
    if (source == SOURCE_SIMILAR_PAIR)
        time = memtime_doubted(time, REASON_SIMILAR_ACCESS, source);
    for (size_t i = 0; i < work->user_count; i++)
        if (work->user[i].cores.cores > 1)
            time = memtime_doubted(time, REASON_TOUCHED_BY_ONE_THREAD, SOURCE_MEASURED);
    return time;
}

/* Managed memory that a gpu has comes back to the cores that touch it, as much as they touch. */
static struct memtime time_of_return(const struct alloc_work *work,
                                     const struct alloc_option *option, struct memtime_basis *basis)
{
    struct memtime none = {0};
    double touched = 0;
    for (size_t i = 0; i < work->user_count; i++)
        if (work->user[i].reach.gpu == PLACE_NONE)
            touched += work->user[i].read_bytes + work->user[i].write_bytes;
    if (option->place.kind != MEMKIND_MANAGED || touched == 0 ||
        memkind_numa(&work->answer.node, option->place.memory) != PLACE_NONE)
        return none;
    struct memgpu at = access_by(work, option, option->place.gpu, basis);
    struct memtime back = memgpu_return(&at, fmin(touched, at.span));
    return isnan(back.time_ns)
               ? memtime_doubted(none, REASON_MIGRATION_NOT_COUNTED, SOURCE_LOWER_BOUND)
               : back;
}

/* ---- options ---- */

static double distance_of(const struct alloc_work *work, place_id at, place_id memory)
{
    if (at == PLACE_NONE)
        return NAN;
    const struct memkind_node *node = &work->answer.node;
    bool is_own = at == memory || (node->numa_of[at] != PLACE_NONE && node->numa_of[at] == memory);
    if (is_own && graph_place(work->snap->graph, at)->kind == PLACE_GPU)
        return -1;
    place_id owner = memkind_owner(node, memory);
    double distance = locality_distance(work->snap, at, memory);
    return owner == PLACE_NONE || owner == memory
               ? distance
               : fmin(distance, locality_distance(work->snap, at, owner));
}

/* An option without a prediction rests on the distance alone. */
static void cite_distance(struct alloc_work *work, const struct alloc_option *option,
                          struct memtime_basis *basis)
{
    place_id numa = work->heaviest != PLACE_NONE ? locality_numa(work->snap->graph, work->heaviest)
                                                 : PLACE_NONE;
    const struct value *stated =
        numa != PLACE_NONE ? locality_numa_distance(work->snap, numa, option->place.memory) : NULL;
    basis->evidence->count = basis->start;
    if (stated != NULL)
        memtime_cite(basis, stated);
}

/* Each part is asked for, so that the order of the users does not matter. */
static bool price(struct alloc_work *work, struct alloc_option *option, struct memtime *part)
{
    struct evidence *evidence = &work->answer.evidence;
    struct memtime_basis basis = {.evidence = evidence, .start = evidence->count};
    struct memtime total = {0};
    for (size_t i = 0; i < work->user_count; i++)
        part[i] = work->user[i].reach.gpu != PLACE_NONE
                      ? time_of_gpu(work, option, &work->user[i], &basis)
                      : time_of_cores(work, option, &work->user[i], &basis);
    part[work->user_count + ALLOC_SETUP] = time_of_setup(work, option, &basis);
    part[work->user_count + ALLOC_RETURN] = time_of_return(work, option, &basis);
    for (size_t i = 0; i < work->user_count + ALLOC_MORE_PARTS; i++)
        total = memtime_sum(total, part[i]);
    option->part = part;
    option->distance = distance_of(work, work->heaviest, option->place.memory);
    option->order_ns = total.time_ns;
    option->order_source = total.source;
    option->doubts = total.doubts;
    option->predicted = memtime_estimate(&total);
    if ((total.doubts & MEMTIME_DOUBT(REASON_START_NOT_COUNTED)) != 0 &&
        total.time_ns < MEMTIME_SHORT_NS)
        option->predicted = (struct estimate){NAN, NAN, NAN, total.source, 0, NULL};
    option->why = basis.start;
    if (isnan(option->predicted.time_ns))
        cite_distance(work, option, &basis);
    option->why_count = evidence->count - basis.start;
    return !basis.no_memory;
}

/* The fastest that is known for a user, in any option. */
static struct memtime fastest(const struct alloc_work *work, size_t user)
{
    struct memtime best = memtime_unknown();
    for (size_t i = 0; i < work->answer.count; i++) {
        const struct memtime *its = &work->answer.option[i].part[user];
        if (isnan(best.time_ns) || its->source < best.source ||
            (its->source == best.source && its->time_ns < best.time_ns))
            best = isnan(its->time_ns) ? best : *its;
    }
    return best;
}

/* Nothing is faster for a gpu than its own memory: without a figure it counts as the fastest that
 * is known for that gpu. */
static void bound_own(const struct alloc_work *work, struct alloc_option *option)
{
    struct memtime total = {0};
    bool has_own = false;
    for (size_t i = 0; i < work->user_count + ALLOC_MORE_PARTS; i++) {
        struct memtime part = option->part[i];
        if (isnan(part.time_ns) && i < work->user_count && !option->is_unsure &&
            work->user[i].reach.gpu != PLACE_NONE) {
            struct memgpu at = access_by(work, option, work->user[i].reach.gpu, NULL);
            has_own |= memgpu_is_own(&at);
            part = memgpu_is_own(&at) ? fastest(work, i) : part;
        }
        total = memtime_sum(total, part);
    }
    if (!has_own)
        return;
    option->order_ns = total.time_ns;
    option->order_source = total.source;
    option->doubts = 0;
}

enum berth_code plan_alloc_price(struct alloc_work *work, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    size_t parts = work->user_count + ALLOC_MORE_PARTS;
    answer->part = calloc(answer->count * parts, sizeof *answer->part);
    if (answer->part == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    for (size_t i = 0; i < answer->count; i++)
        if (!price(work, &answer->option[i], answer->part + i * parts))
            return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    for (size_t i = 0; i < answer->count; i++)
        if (isnan(answer->option[i].order_ns))
            bound_own(work, &answer->option[i]);
    return BERTH_OK;
}

/* ---- order ---- */

bool plan_alloc_is_short(const struct alloc_option *option, int64_t bytes)
{
    /* a gpu's driver was asked some time ago */
    bool is_now = option->place.gpu != option->place.memory;
    return is_now && option->free_bytes >= 0 && option->free_bytes < bytes;
}

int plan_alloc_rank(const struct alloc_option *option)
{
    if (isnan(option->order_ns))
        return 3;
    if (option->order_source == SOURCE_LOWER_BOUND)
        return 2;
    return option->order_source == SOURCE_NOMINAL && !option->is_nearest;
}

/* Memory that is there at once comes before memory by a driver, and that before memory that moves.
 * Where gpus alone use memory that they have with a processor, their own runtime's comes first:
 * their figures are of such. */
static int plainness(const struct alloc_work *work, const struct alloc_option *option)
{
    static const int order[MEMKIND_COUNT] = {
        [MEMKIND_SYSTEM] = 0, [MEMKIND_PINNED] = 1, [MEMKIND_DEVICE] = 2, [MEMKIND_MANAGED] = 3};
    bool is_gpus = !work->has_cores && option->place.kind == MEMKIND_DEVICE &&
                   memkind_is_one(&work->answer.node, option->place.gpu);
    return is_gpus ? -1 : order[option->place.kind];
}

/* Of options that take equally long. */
static bool goes_before(const struct alloc_work *work, const struct alloc_option *a,
                        const struct alloc_option *b)
{
    if (a->distance != b->distance && !isnan(a->distance))
        return a->distance < b->distance;
    if (a->is_unsure != b->is_unsure)
        return b->is_unsure;
    int plain = plainness(work, a) - plainness(work, b);
    return plain != 0 ? plain < 0 : a->place.memory < b->place.memory;
}

/* Room first, then rank. */
static int class_of(const struct alloc_work *work, const struct alloc_option *option)
{
    return 4 * plan_alloc_is_short(option, work->request->bytes) + plan_alloc_rank(option);
}

/* The option that comes first of those from index first on. */
static size_t next_of(const struct alloc_work *work, size_t first)
{
    const struct alloc_option *option = work->answer.option;
    int class = class_of(work, &option[first]);
    double least_ns = option[first].order_ns;
    for (size_t i = first + 1; i < work->answer.count; i++) {
        int its = class_of(work, &option[i]);
        if (its < class || (its == class && option[i].order_ns < least_ns)) {
            class = its;
            least_ns = option[i].order_ns;
        }
    }
    size_t best = work->answer.count;
    for (size_t i = first; i < work->answer.count; i++)
        if (class_of(work, &option[i]) == class &&
            !(option[i].order_ns > (1 + POLICY_SAME) * least_ns) &&
            (best == work->answer.count || goes_before(work, &option[i], &option[best])))
            best = i;
    return best;
}

void plan_alloc_order(struct alloc_work *work)
{
    struct alloc_option *option = work->answer.option;
    double nearest = INFINITY;
    for (size_t i = 0; i < work->answer.count; i++)
        nearest = fmin(nearest, option[i].distance);
    for (size_t i = 0; i < work->answer.count; i++)
        option[i].is_nearest = option[i].distance <= nearest;
    for (size_t i = 0; i < work->answer.count; i++) {
        size_t best = next_of(work, i);
        struct alloc_option first = option[best];
        memmove(&option[i + 1], &option[i], (best - i) * sizeof *option);
        option[i] = first;
    }
}
