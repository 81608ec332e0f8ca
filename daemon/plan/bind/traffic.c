#include "plan/bind/traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/endpoints.h"
#include "cost/policy.h"
#include "node/locality.h"
#include "plan/bind/core_allocator.h"
#include "plan/bind/distance.h"
#include "plan/bind/memory.h"
#include "plan/bind/nics.h"
#include "plan/bind/objective.h"

#define NOT_NEXT 100 /* how far a gpu without cores next to it is, beyond any distance */
/* the same of one whose links to switches are down: what is known of it may be from before */
#define OFF_SWITCHES 1000
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
    bool has_traffic; /* something moves */
};

/* ---- what each gpu would come with ---- */

/* A task on a gpu has the memory next to the nearest cores. */
static enum berth_code find_memory(struct work *work, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    const place_id *gpu = work->gpus->gpu;
    enum berth_code code =
        plan_bind_cores_numas(work->snap, work->cores, gpu, work->gpus->count, traffic->numa, err);
    for (size_t g = 0; code == BERTH_OK && g < work->gpus->count; g++) {
        place_id memory =
            plan_bind_memory_nearest(work->snap, work->request->allowed, traffic->numa[g]);
        unsigned near = plan_bind_cores_near(work->snap, work->cores, gpu[g]);
        traffic->memory[g] = memory;
        work->far[g] = (memory != PLACE_NONE ? locality_distance(work->snap, gpu[g], memory) : 0) +
                       (near == 0 ? NOT_NEXT : 0) +
                       FEWER_CORES * (double)(work->cores->count - near) +
                       (endpoints_is_off_switches(work->snap->graph, gpu[g]) ? OFF_SWITCHES : 0);
    }
    return code;
}

/* Gpus take turns at several nics that are equally near. */
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
    const place_id *gpu = work->gpus->gpu;
    size_t n = work->gpus->count;
    enum berth_code code = find_memory(work, err);
    plan_bind_distances(work->snap, gpu, n, work->apart);
    for (size_t pair = 0; pair < n * n; pair++)
        work->meet[pair] =
            MEET * plan_bind_distance_meet(work->snap->graph, gpu[pair / n], gpu[pair % n]);
    return code == BERTH_OK ? find_nics(work, err) : code;
}

/* ---- choices ---- */

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
}

static bool make_room(struct work *work)
{
    struct bind_traffic *traffic = work->traffic;
    size_t n = work->gpus->count;
    traffic->numa = calloc(n, sizeof *traffic->numa);
    traffic->memory = calloc(n, sizeof *traffic->memory);
    traffic->nic = calloc(n, sizeof *traffic->nic);
    traffic->task_numa = calloc(work->tasks, sizeof *traffic->task_numa);
    work->far = calloc(n, sizeof *work->far);
    work->apart = calloc(n * n, sizeof *work->apart);
    work->meet = calloc(n * n, sizeof *work->meet);
    return traffic->numa != NULL && traffic->memory != NULL && traffic->nic != NULL &&
           traffic->task_numa != NULL && work->far != NULL && work->apart != NULL &&
           work->meet != NULL;
}

static enum berth_code new_price(const struct work *work, enum copy_by by, struct bind_price **ret,
                                 struct berth_err *err)
{
    struct bind_price_request request = {.traffic =
                                             work->has_traffic ? work->request->traffic : NULL,
                                         .by = by,
                                         .tasks = work->tasks,
                                         .each = work->each,
                                         .gpu = work->gpus->gpu,
                                         .memory = work->traffic->memory,
                                         .nic = work->traffic->nic,
                                         .gpu_count = work->gpus->count,
                                         .apart = work->apart};
    return plan_bind_price_new(work->snap, &request, ret, err);
}

/* Searches for slots; room: of cores, NULL any. */
static enum berth_code search(struct work *work, const struct bind_room *room,
                              struct bind_choice *choice, struct search_result *ret,
                              struct berth_err *err)
{
    struct bind_objective_choice among = {.in_order = work->request->in_rank_order,
                                          .far = work->far,
                                          .meet = work->meet,
                                          .unit = room != NULL ? room->unit : NULL,
                                          .most = room != NULL ? room->most : NULL};
    return plan_bind_objective_search(work->traffic->price, &among, choice->slot, ret, err);
}

/* Takes the time that a library took among these gpus, one of each task. */
static void find_collective(const struct work *work, struct bind_choice *choice,
                            struct bind_collective *ret)
{
    const struct bind_request *request = work->request;
    place_id gpu[SEARCH_SLOTS_MAX];
    *ret = (struct bind_collective){.time = estimate_of(NAN, NAN, NAN)};
    if (!work->has_traffic || work->each > 1 || work->tasks > work->gpus->count ||
        request->by != COPY_BEST || !(request->traffic->reduced > 0))
        return;
    for (size_t t = 0; t < work->tasks; t++)
        gpu[t] = work->gpus->gpu[choice->slot[t]];
    *ret = plan_bind_collective(work->snap, gpu, work->tasks, request->traffic->reduced);
}

/* Finds the memory that tasks get once cores are handed out: with many a task not all of them have
 * the nearest. */
static enum berth_code find_really(const struct work *work, struct bind_choice *choice,
                                   int64_t *ret_cores, struct berth_err *err)
{
    size_t tasks = work->tasks, count = tasks * work->each;
    place_id *gpus = calloc(count + tasks + 1, sizeof *gpus);
    if (gpus == NULL)
        return no_memory(err);
    for (size_t b = 0; b < count; b++) {
        gpus[b] = work->gpus->gpu[choice->slot[b]];
        gpus[count + b / work->each] =
            work->traffic->numa[choice->slot[b / work->each * work->each]];
    }
    const struct core_request request = {.tasks = tasks,
                                         .gpus_per_task = work->each,
                                         .cores_per_task = work->request->cores_per_task,
                                         .numa = gpus + count,
                                         .allowed = work->request->allowed};
    enum berth_code code = plan_bind_allocate_memory(work->snap, work->cores, &request, gpus,
                                                     choice->memory, ret_cores, err);
    free(gpus);
    return code;
}

/* Prices a choice with the memory that its tasks get. */
static enum berth_code price_really(const struct work *work, struct bind_choice *choice,
                                    int64_t *ret_cores, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    enum berth_code code = BERTH_OK;
    for (size_t t = 0; t < work->tasks; t++)
        choice->memory[t] = traffic->memory[choice->slot[t * work->each]];
    if (work->has_traffic && plan_bind_price_has(traffic->price, END_TO_HOST))
        code = find_really(work, choice, ret_cores, err);
    plan_bind_price_of(traffic->price, choice);
    return code;
}

static void exchange(struct bind_choice *a, struct bind_choice *b)
{
    struct bind_choice other = *a;
    *a = *b;
    *b = other;
}

/* True when the one is less by that margin: fewer transfers without a price, then less time. */
static bool is_less(const struct bind_choice *a, const struct bind_choice *b, double margin)
{
    if (isnan(a->time.time_ns) || isnan(b->time.time_ns))
        return !isnan(a->time.time_ns) && isnan(b->time.time_ns);
    return a->unpriced != b->unpriced ? a->unpriced < b->unpriced
                                      : a->compared_ns < b->compared_ns * (1 - margin);
}

/* Searches again where tasks would not have the nearest memory, because others have the cores
 * next to it: the best choice in which all have room stands unless it takes more. */
static enum berth_code find_roomy(struct work *work, int64_t cores, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    struct bind_room room;
    struct bind_choice roomy;
    struct search_result found;
    enum berth_code code =
        plan_bind_choice_init(&roomy, traffic->price) ? BERTH_OK : no_memory(err);
    plan_bind_cores_room(work->cores, traffic->numa, work->gpus->count, cores, &room);
    if (code == BERTH_OK)
        code = search(work, &room, &roomy, &found, err);
    if (code == BERTH_OK)
        code = price_really(work, &roomy, &cores, err);
    if (code == BERTH_OK && !isnan(roomy.time.time_ns) &&
        !is_less(&traffic->ours, &roomy, POLICY_SAME)) {
        exchange(&traffic->ours, &roomy);
        found.bound_ns = traffic->found.bound_ns; /* of all choices */
        traffic->found = found;
        traffic->roomy_cores = cores;
    }
    plan_bind_choice_done(&roomy);
    return code;
}

static struct bind_how how_of(const struct bind_choice *choice)
{
    return (struct bind_how){choice->time.time_ns, choice->rates};
}

static void forget_how(struct bind_traffic *traffic)
{
    for (size_t by = 0; by < sizeof traffic->how / sizeof *traffic->how; by++)
        traffic->how[by].time_ns = NAN;
}

/* Prices the chosen gpus when all copy so, and takes that in place of the best for each pair where
 * it is hardly slower, as a runtime takes one, and rests on no more doubtful numbers. */
static enum berth_code try_mechanism(struct work *work, enum copy_by by, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    struct bind_choice *ours = &traffic->ours, other = {.slot = NULL};
    struct bind_price *price = NULL, *before = traffic->price;
    enum berth_code code = new_price(work, by, &price, err);
    if (code == BERTH_OK && !plan_bind_choice_init(&other, price))
        code = no_memory(err);
    if (code == BERTH_OK) {
        memcpy(other.slot, ours->slot, work->tasks * work->each * sizeof *other.slot);
        memcpy(other.memory, ours->memory, work->tasks * sizeof *other.memory);
        plan_bind_price_of(price, &other);
    }
    if (code == BERTH_OK && !isnan(other.time.time_ns) && other.unpriced <= ours->unpriced) {
        double margin = traffic->by == COPY_BEST ? 1 + POLICY_SAME : 1 - SEARCH_SAME;
        traffic->how[by] = how_of(&other);
        if (other.rates <= estimate_worse(ours->rates, SOURCE_REVERSE_DIRECTION) &&
            other.compared_ns < ours->compared_ns * margin) {
            exchange(ours, &other);
            traffic->price = price;
            traffic->by = by;
            price = before;
        }
    }
    plan_bind_choice_done(&other);
    plan_bind_price_free(price);
    return code;
}

/* One mechanism for all as is: the one by which the chosen gpus copy to each other; COPY_BEST both.
 */
static enum copy_by mechanism_of(const struct bind_traffic *traffic)
{
    bool has[MECHANISMS] = {false};
    for (size_t f = 0; f < traffic->price->flow_count; f++) {
        const struct transfer *transfer = traffic->ours.flow[f].transfer;
        if (transfer != NULL && transfer_is_peer(transfer))
            has[transfer->by] = true;
    }
    return has[MECHANISM_COPY_ENGINE] == has[MECHANISM_KERNEL] ? COPY_BEST
           : has[MECHANISM_KERNEL]                             ? COPY_BY_KERNEL
                                                               : COPY_BY_ENGINE;
}

/* The order stands where it is really less: by the memory that tasks get, as they copy, and by what
 * a library took where that was measured of both. */
static void keep_order(struct bind_traffic *traffic)
{
    const struct bind_collective *ours = &traffic->collective, *order = &traffic->order_collective;
    bool is_measured = ours->value != NULL && order->value != NULL;
    if (is_measured ? !(order->time.time_ns < ours->time.time_ns)
                    : !is_less(&traffic->order, &traffic->ours, SEARCH_SAME))
        return;
    exchange(&traffic->ours, &traffic->order);
    forget_how(traffic); /* it was of the others */
    traffic->collective = traffic->order_collective;
    traffic->found.settled = 0;
}

static enum berth_code weigh(struct work *work, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    int64_t cores = 0;
    enum berth_code code = price_really(work, &traffic->ours, &cores, err);
    traffic->by = work->request->by;
    traffic->bound_ns = traffic->found.bound_ns;
    if (code == BERTH_OK && !isnan(traffic->ours.time.time_ns) && !traffic->ours.is_nearest)
        code = find_roomy(work, cores, err);
    bool is_open = work->request->by == COPY_BEST && plan_bind_price_has(traffic->price, END_GPU);
    if (is_open)
        traffic->by = mechanism_of(traffic);
    enum copy_by own = traffic->by;
    traffic->how[own] = how_of(&traffic->ours);
    for (int by = COPY_BY_ENGINE; by <= COPY_BY_KERNEL && is_open && code == BERTH_OK; by++)
        if (by != (int)own)
            code = try_mechanism(work, (enum copy_by)by, err);
    plan_search_in_order(work->gpus->count, work->tasks * work->each, traffic->order.slot);
    if (code == BERTH_OK)
        code = price_really(work, &traffic->order, &cores, err);
    find_collective(work, &traffic->ours, &traffic->collective);
    find_collective(work, &traffic->order, &traffic->order_collective);
    if (code == BERTH_OK)
        keep_order(traffic);
    return code;
}

static enum berth_code choose(struct work *work, struct bind_answer *answer, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    forget_how(traffic);
    if (!make_room(work))
        return no_memory(err);
    enum berth_code code = describe(work, err);
    if (code == BERTH_OK)
        code = new_price(work, work->request->by, &traffic->price, err);
    if (code == BERTH_OK && !(plan_bind_choice_init(&traffic->ours, traffic->price) &&
                              plan_bind_choice_init(&traffic->order, traffic->price)))
        code = no_memory(err);
    if (code == BERTH_OK && !work->has_traffic && work->tasks * work->each > work->gpus->count)
        plan_search_in_order(work->gpus->count, work->tasks * work->each, traffic->ours.slot);
    else if (code == BERTH_OK)
        code = search(work, NULL, &traffic->ours, &traffic->found, err);
    if (code == BERTH_OK && work->has_traffic)
        code = weigh(work, err);
    if (code != BERTH_OK)
        return code;
    traffic->is_chosen = work->has_traffic && !isnan(traffic->ours.time.time_ns);
    traffic->is_placed =
        work->has_traffic && !traffic->is_chosen && plan_bind_price_has(traffic->price, END_GPU);
    for (size_t b = 0; b < work->tasks * work->each; b++) {
        answer->gpu[b] = work->gpus->gpu[traffic->ours.slot[b]];
        if (b % work->each == 0)
            traffic->task_numa[b / work->each] = traffic->numa[traffic->ours.slot[b]];
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
                        .each = (size_t)answer->gpus_per_task,
                        .has_traffic = request->traffic != NULL && request->traffic->count > 0};
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
    plan_bind_choice_done(&traffic->ours);
    plan_bind_choice_done(&traffic->order);
    free(traffic->numa);
    free(traffic->task_numa);
    free(traffic->memory);
    free(traffic->nic);
    *traffic = (struct bind_traffic){0};
}
