#include "plan/bind/traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/endpoints.h"
#include "cost/matrix.h"
#include "cost/policy.h"
#include "node/locality.h"
#include "plan/bind/distance.h"
#include "plan/bind/memory.h"
#include "plan/bind/nics.h"
#include "plan/bind/objective.h"

#define NOT_NEXT 100 /* how far a gpu without cores next to it is, beyond any distance */
/* the same of one whose links to switches are down: what is known of it may be from before */
#define OFF_SWITCHES 1000
#define OTHER_MODULE 1
#define FEWER_CORES  1e-5 /* for each core that is not next to it, beside MEET */
#define MEET         0.01 /* beside distances: of equal ones, those that share least go first */

struct work {
    const struct snapshot *snap;
    const struct bind_request *request;
    const struct bind_gpus *gpus;
    struct bind_cores *cores;
    struct bind_traffic *traffic;
    size_t tasks, each;
    double *far, *apart, *meet;
    /* no choice is known in all of its transfers: in what goes with the host or a nic some may
     * lack a price */
    bool may_lack;
};

/* ---- what each gpu would come with ---- */

/* The nearest cores' NUMA nodes, by gpu. */
struct homes {
    place_id *numa; /* room of them for each gpu */
    size_t *count;
    size_t room;
};

static bool is_same_home(const struct homes *homes, size_t a, size_t b)
{
    return homes->count[a] == homes->count[b] &&
           memcmp(homes->numa + a * homes->room, homes->numa + b * homes->room,
                  homes->count[a] * sizeof *homes->numa) == 0;
}

/* A task on a gpu has the memory next to the nearest cores. Gpus with several NUMA nodes equally
 * near, as those of a whole package, are dealt out to them in order. */
static void deal_out(struct work *work, const struct homes *homes)
{
    for (size_t g = 0; g < work->gpus->count; g++) {
        size_t before = 0, all = 1;
        for (size_t other = 0; other < work->gpus->count; other++)
            if (other != g && is_same_home(homes, g, other)) {
                before += other < g;
                all++;
            }
        place_id gpu = work->gpus->gpu[g],
                 numa = homes->count[g] > 0
                            ? homes->numa[g * homes->room + before * homes->count[g] / all]
                            : PLACE_NONE;
        place_id memory = plan_bind_memory_nearest(work->snap, work->request->allowed, numa);
        work->traffic->numa[g] = numa;
        work->traffic->memory[g] = memory;
        unsigned near = plan_bind_cores_near(work->snap, work->cores, gpu);
        work->far[g] = (memory != PLACE_NONE ? locality_distance(work->snap, gpu, memory) : 0) +
                       (near == 0 ? NOT_NEXT : 0) +
                       FEWER_CORES * (double)(work->cores->count - near) +
                       (endpoints_is_off_switches(work->snap->graph, gpu) ? OFF_SWITCHES : 0);
    }
}

static enum berth_code find_memory(struct work *work, struct berth_err *err)
{
    struct homes homes = {.room = work->cores->group_count};
    enum berth_code code = BERTH_OK;
    homes.numa = calloc(work->gpus->count * homes.room + 1, sizeof *homes.numa);
    homes.count = calloc(work->gpus->count + 1, sizeof *homes.count);
    if (homes.numa == NULL || homes.count == NULL) {
        code = err_set(err, BERTH_NO_MEMORY, "no memory for NUMA nodes");
    } else {
        for (size_t g = 0; code == BERTH_OK && g < work->gpus->count; g++)
            code = plan_bind_cores_numas(work->snap, work->cores, work->gpus->gpu[g],
                                         homes.numa + g * homes.room, &homes.count[g], err);
        if (code == BERTH_OK)
            deal_out(work, &homes);
    }
    free(homes.numa);
    free(homes.count);
    return code;
}

/* Of several nics equally near, gpus take turns. */
static enum berth_code find_nics(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    place_id *nic = calloc(graph_count(graph, PLACE_NIC) + 1, sizeof *nic);
    if (nic == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the nics");
    for (size_t g = 0; g < work->gpus->count; g++) {
        struct nics_of who = {.gpu = &work->gpus->gpu[g], .gpu_count = 1, .memory = PLACE_NONE};
        size_t count = plan_bind_nics(work->snap, &who, nic);
        work->traffic->nic[g] =
            count > 0 ? nic[(size_t)graph_place(graph, work->gpus->gpu[g])->number % count]
                      : PLACE_NONE;
    }
    free(nic);
    return BERTH_OK;
}

static enum berth_code describe(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    size_t n = work->gpus->count;
    enum berth_code code = find_memory(work, err);
    for (size_t g = 0; code == BERTH_OK && g < n; g++) {
        for (size_t other = 0; other < n; other++) {
            place_id a = work->gpus->gpu[g], b = work->gpus->gpu[other],
                     module = locality_above(graph, a, PLACE_MODULE);
            bool together = a == b || (module != PLACE_NONE &&
                                       locality_above(graph, b, PLACE_MODULE) == module);
            work->apart[g * n + other] =
                together ? 0 : OTHER_MODULE + locality_distance(work->snap, a, b);
            work->meet[g * n + other] = MEET * plan_bind_distance_meet(graph, a, b);
        }
    }
    return code == BERTH_OK ? find_nics(work, err) : code;
}

/* ---- the choice ---- */

static bool make_room(struct work *work)
{
    struct bind_traffic *traffic = work->traffic;
    size_t n = work->gpus->count, berths = work->tasks * work->each;
    traffic->numa = calloc(n, sizeof *traffic->numa);
    traffic->memory = calloc(n, sizeof *traffic->memory);
    traffic->nic = calloc(n, sizeof *traffic->nic);
    traffic->slot = calloc(berths, sizeof *traffic->slot);
    traffic->in_order = calloc(berths, sizeof *traffic->in_order);
    traffic->task_memory = calloc(work->tasks, sizeof *traffic->task_memory);
    traffic->order_memory = calloc(work->tasks, sizeof *traffic->order_memory);
    traffic->task_numa = calloc(work->tasks, sizeof *traffic->task_numa);
    work->far = calloc(n, sizeof *work->far);
    work->apart = calloc(n * n, sizeof *work->apart);
    work->meet = calloc(n * n, sizeof *work->meet);
    return traffic->numa != NULL && traffic->memory != NULL && traffic->nic != NULL &&
           traffic->task_numa != NULL && traffic->slot != NULL && traffic->in_order != NULL &&
           traffic->task_memory != NULL && traffic->order_memory != NULL && work->far != NULL &&
           work->apart != NULL && work->meet != NULL;
}

/* As a launcher gives out gpus: the first to the first, and as evenly as it goes. */
static void put_in_order(const struct work *work)
{
    size_t berths = work->tasks * work->each, n = work->gpus->count, least = berths / n,
           more = berths % n, b = 0;
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < least + (g < more); i++)
            work->traffic->in_order[b++] = (uint16_t)g;
}

static struct bind_by price_by(struct bind_price *price, const uint16_t *slot)
{
    struct bind_priced priced = plan_bind_price_of(price, slot, NULL);
    return (struct bind_by){priced.step.time_ns, priced.is_least, priced.unstarted};
}

static struct bind_objective_choice choice_of(const struct work *work)
{
    return (struct bind_objective_choice){.in_order = work->request->in_rank_order,
                                          .far = work->far,
                                          .apart = work->apart,
                                          .meet = work->meet,
                                          .unit = work->traffic->room.unit,
                                          .most = work->traffic->room.most};
}

static struct bind_price_request request_of(const struct work *work, enum load_by by)
{
    return (struct bind_price_request){.traffic = work->request->traffic,
                                       .by = by,
                                       .tasks = work->tasks,
                                       .each = work->each,
                                       .gpu = work->gpus->gpu,
                                       .memory = work->traffic->memory,
                                       .nic = work->traffic->nic,
                                       .gpu_count = work->gpus->count,
                                       .may_lack = work->may_lack};
}

/* The best gpus when they copy as the request says; what was chosen before is replaced. */
static enum berth_code search(struct work *work, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    struct bind_price_request request = request_of(work, work->request->by);
    struct bind_objective_choice choice = choice_of(work);
    plan_bind_price_free(traffic->price);
    traffic->price = NULL;
    enum berth_code code = plan_bind_price_new(work->snap, &request, &traffic->price, err);
    if (code == BERTH_OK)
        code = plan_bind_objective_search(traffic->price, &choice, traffic->slot, &traffic->found,
                                          err);
    if (code != BERTH_OK)
        return code;
    traffic->by = request.by;
    traffic->bound_ns = isnan(traffic->found.bound_ns) ? 0 : traffic->found.bound_ns;
    traffic->how[traffic->by] = price_by(traffic->price, traffic->slot);
    return BERTH_OK;
}

/* Whether one way of copying is taken for all in place of the chosen: where several are hardly
 * faster, as a runtime takes one, or where it is known of more transfers what starting them costs.
 */
static bool is_preferred(const struct bind_traffic *traffic, const struct bind_by *other)
{
    const struct bind_by *chosen = &traffic->how[traffic->by];
    if (isnan(other->time_ns) || other->unstarted != chosen->unstarted)
        return !isnan(other->time_ns) && other->unstarted < chosen->unstarted;
    return other->time_ns <
           chosen->time_ns * (traffic->by == LOAD_BEST ? 1 + POLICY_SAME : 1 - SEARCH_SAME);
}

/* The chosen gpus, when all copy so. */
static enum berth_code try_mechanism(struct work *work, enum load_by by, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    struct bind_price_request request = request_of(work, by);
    struct bind_price *price = NULL;
    enum berth_code code = plan_bind_price_new(work->snap, &request, &price, err);
    if (code != BERTH_OK)
        return code;
    traffic->how[by] = price_by(price, traffic->slot);
    if (is_preferred(traffic, &traffic->how[by])) {
        struct bind_price *other = traffic->price;
        traffic->price = price;
        traffic->by = by;
        price = other;
    }
    plan_bind_price_free(price);
    return BERTH_OK;
}

/* Whether copying so between some of the gpus is priced by links alone, where something better is
 * known. */
static bool is_guess(const struct work *work, enum mechanism by)
{
    const struct matrix *pairs = work->snap->derived.matrix;
    for (size_t a = 0; a < work->gpus->count; a++)
        for (size_t b = 0; b < work->gpus->count; b++)
            if (a != b && matrix_is_guess(pairs, work->gpus->gpu[a], work->gpus->gpu[b], by))
                return true;
    return false;
}

/* The best gpus where each transfer goes as is fastest alone, and the ways of copying on them. */
static enum berth_code look_at_all(struct work *work, struct berth_err *err)
{
    static const enum load_by single[] = {
        [MECHANISM_COPY_ENGINE] = LOAD_COPY_ENGINE, [MECHANISM_KERNEL] = LOAD_KERNEL};
    struct bind_traffic *traffic = work->traffic;
    traffic->how[LOAD_BEST] = traffic->how[LOAD_COPY_ENGINE] = traffic->how[LOAD_KERNEL] =
        (struct bind_by){.time_ns = NAN};
    enum berth_code code = search(work, err);
    if (code != BERTH_OK || work->request->by != LOAD_BEST)
        return code;
    unsigned takes = plan_bind_price_takes(traffic->price);
    for (int by = MECHANISM_COPY_ENGINE; by <= MECHANISM_KERNEL; by++)
        if (takes == 1U << by) { /* one way for all already: another must be faster */
            traffic->how[single[by]] = traffic->how[LOAD_BEST];
            traffic->by = single[by];
        }
    /* the more ways of copying the fewer lack a price */
    for (int by = MECHANISM_COPY_ENGINE;
         by <= MECHANISM_KERNEL && code == BERTH_OK && takes != 0 && !work->may_lack; by++)
        if (takes != 1U << by && !is_guess(work, (enum mechanism)by))
            code = try_mechanism(work, single[by], err);
    return code;
}

/* Whether a choice was found that has a price. */
static bool is_found(const struct bind_traffic *traffic)
{
    return !isnan(traffic->how[traffic->by].time_ns);
}

/* The first of these that finds one: a choice of which all is known; one of which no more lacks
 * than must; what structure says. */
static enum berth_code find(struct work *work, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    enum berth_code code = look_at_all(work, err);
    if (code == BERTH_OK && !is_found(traffic) && plan_bind_price_could_lack(traffic->price)) {
        work->may_lack = true;
        code = look_at_all(work, err);
    }
    traffic->is_chosen = code == BERTH_OK && is_found(traffic);
    return code;
}

/* What distances say, where nothing predicts a time. */
static enum berth_code find_by_distance(struct work *work, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    struct bind_objective_choice choice = choice_of(work);
    if (work->tasks * work->each > work->gpus->count && traffic->price == NULL) {
        memcpy(traffic->slot, traffic->in_order, work->tasks * sizeof *traffic->slot);
        return BERTH_OK;
    }
    traffic->is_placed = traffic->price != NULL && plan_bind_distance_has_flows(traffic->price);
    struct bind_distance distance = {.snap = work->snap,
                                     .gpus = work->gpus,
                                     .price = traffic->is_placed ? traffic->price : NULL,
                                     .tasks = work->tasks,
                                     .each = work->each,
                                     .choice = &choice};
    return plan_bind_distance_choose(&distance, traffic->slot, err);
}

/* ---- room for cores ---- */

static enum berth_code find_real(const struct work *work, const uint16_t *slot,
                                 place_id *ret_memory, int64_t *ret_cores, struct berth_err *err)
{
    struct bind_room_choice choice = {work->gpus, work->traffic->numa, slot, work->tasks,
                                      work->each};
    return plan_bind_room_memory(work->snap, work->request, work->cores, &choice, ret_memory,
                                 ret_cores, err);
}

/* Whether each task has the memory that the search took for it. */
static bool has_nearest(const struct work *work, const uint16_t *slot, const place_id *memory)
{
    bool ok = true;
    for (size_t t = 0; t < work->tasks && ok; t++)
        ok = work->traffic->memory[slot[t * work->each]] == memory[t];
    return ok;
}

/* Whether the one is really less than the other: fewer transfers without a price, then less time,
 * and not for want of what starting them costs. */
static bool is_less(const struct bind_priced *a, const struct bind_priced *b, double margin)
{
    if (isnan(a->step.time_ns) || isnan(b->step.time_ns))
        return !isnan(a->step.time_ns) && isnan(b->step.time_ns);
    return a->lacking != b->lacking
               ? a->lacking < b->lacking
               : a->unstarted <= b->unstarted && a->compared_ns < b->compared_ns * (1 - margin);
}

static enum berth_code look_for_room(struct work *work, int64_t cores, struct berth_err *err)
{
    struct bind_room *room = &work->traffic->room;
    plan_bind_room_done(room);
    return plan_bind_room_find(work->cores, work->traffic->numa, work->gpus->count, cores, room,
                               err);
}

static void exchange(struct bind_traffic *a, struct bind_traffic *b)
{
    struct bind_traffic other = *a;
    *a = *b;
    *b = other;
}

/* Where tasks of what was found would not have the nearest memory, because others have the cores
 * next to it: the best choice in which all have room stands unless it takes more. */
static enum berth_code find_roomy(struct work *work, int64_t cores, struct berth_err *err)
{
    size_t berths = work->tasks * work->each;
    struct bind_traffic *traffic = work->traffic, roomy;
    enum berth_code code = look_for_room(work, cores, err);
    roomy = *traffic;
    roomy.price = NULL;
    roomy.slot = calloc(berths, sizeof *roomy.slot);
    roomy.task_memory = calloc(work->tasks, sizeof *roomy.task_memory);
    if (roomy.slot == NULL || roomy.task_memory == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    work->traffic = &roomy;
    if (code == BERTH_OK)
        code = look_at_all(work, err);
    bool is_better = code == BERTH_OK && is_found(&roomy);
    if (is_better)
        code = find_real(work, roomy.slot, roomy.task_memory, &roomy.roomy_cores, err);
    work->traffic = traffic;
    if (is_better && code == BERTH_OK) {
        struct bind_priced ours = plan_bind_price_of(traffic->price, traffic->slot,
                                                     traffic->task_memory),
                           now = plan_bind_price_of(roomy.price, roomy.slot, roomy.task_memory);
        roomy.bound_ns = traffic->bound_ns; /* of all choices */
        if (!isnan(now.step.time_ns) && !is_less(&ours, &now, POLICY_SAME))
            exchange(traffic, &roomy);
    }
    plan_bind_price_free(roomy.price);
    free(roomy.slot);
    free(roomy.task_memory);
    return code;
}

/* Cores are handed out for what was found, and for the order: with many a task not all of them have
 * the nearest memory. */
static enum berth_code settle_room(struct work *work, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    int64_t cores = 0;
    enum berth_code code = find_real(work, traffic->slot, traffic->task_memory, &cores, err);
    if (code == BERTH_OK && !has_nearest(work, traffic->slot, traffic->task_memory))
        code = find_roomy(work, cores, err);
    else if (code == BERTH_OK && work->request->cores_per_task > 0)
        code = look_for_room(work, cores, err); /* of what is compared with it */
    if (code == BERTH_OK)
        code = find_real(work, traffic->in_order, traffic->order_memory, &cores, err);
    traffic->is_order_real = code == BERTH_OK;
    return code;
}

/* The order stands where it is really less: by the memory that tasks get, and as they copy. */
static void keep_order(struct work *work)
{
    struct bind_traffic *traffic = work->traffic;
    bool is_real = traffic->is_order_real;
    struct bind_priced ours = plan_bind_price_of(traffic->price, traffic->slot,
                                                 is_real ? traffic->task_memory : NULL),
                       order = plan_bind_price_of(traffic->price, traffic->in_order,
                                                  is_real ? traffic->order_memory : NULL);
    if (!is_less(&order, &ours, SEARCH_SAME))
        return;
    memcpy(traffic->slot, traffic->in_order, work->tasks * work->each * sizeof *traffic->slot);
    memcpy(traffic->task_memory, traffic->order_memory, work->tasks * sizeof *traffic->task_memory);
    traffic->found.settled = 0;
}

static enum berth_code choose(struct work *work, struct bind_answer *answer, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    if (!make_room(work))
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    enum berth_code code = describe(work, err);
    if (code == BERTH_OK && work->request->traffic != NULL && work->request->traffic->count > 0)
        code = find(work, err);
    put_in_order(work);
    if (code == BERTH_OK && !traffic->is_chosen)
        code = find_by_distance(work, err);
    if (code == BERTH_OK && traffic->is_chosen && plan_bind_price_has_host(traffic->price))
        code = settle_room(work, err);
    if (code != BERTH_OK)
        return code;
    if (traffic->is_chosen)
        keep_order(work);
    traffic->in_rank_order = work->request->in_rank_order;
    for (size_t b = 0; b < work->tasks * work->each; b++) {
        answer->gpu[b] = work->gpus->gpu[traffic->slot[b]];
        if (traffic->is_chosen && b % work->each == 0)
            traffic->task_numa[b / work->each] = traffic->numa[traffic->slot[b]];
    }
    return BERTH_OK;
}

enum berth_code plan_bind_traffic_choose(const struct snapshot *snap,
                                         const struct bind_request *request,
                                         const struct bind_gpus *gpus, struct bind_cores *cores,
                                         struct bind_answer *answer, struct bind_traffic *ret,
                                         struct berth_err *err)
{
    struct work work = {.snap = snap,
                        .request = request,
                        .gpus = gpus,
                        .cores = cores,
                        .traffic = ret,
                        .tasks = answer->task_count,
                        .each = (size_t)answer->gpus_per_task};
    if (gpus->count > SEARCH_SLOTS_MAX)
        return err_invalid(err, "allowed.gpus", "tasks are given at most %d gpus, not %zu",
                           SEARCH_SLOTS_MAX, gpus->count);
    enum berth_code code = choose(&work, answer, err);
    free(work.far);
    free(work.apart);
    free(work.meet);
    return code;
}

void plan_bind_traffic_done(struct bind_traffic *traffic)
{
    plan_bind_price_free(traffic->price);
    free(traffic->numa);
    free(traffic->task_numa);
    free(traffic->memory);
    free(traffic->nic);
    free(traffic->slot);
    free(traffic->in_order);
    free(traffic->task_memory);
    free(traffic->order_memory);
    plan_bind_room_done(&traffic->room);
    *traffic = (struct bind_traffic){0};
}
