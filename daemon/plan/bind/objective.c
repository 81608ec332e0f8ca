#include "plan/bind/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/policy.h"

#define COMMON_MAX 64 /* resources of one flow: of more, the first ones hold as well */

/* What any arc puts on a resource. */
struct seen {
    double fastest[TRANSFER_KINDS]; /* bytes per second of one flow while its bytes move; 0 none */
    double start_ns;                /* the least that one takes beside that */
};

/* ---- arcs ---- */

static bool add_use(struct bind_objective *objective, struct search_use use)
{
    if (objective->use_count == objective->use_room) {
        size_t room = objective->use_room > 0 ? 2 * objective->use_room : 256;
        struct search_use *more = realloc(objective->use, room * sizeof *more);
        if (more == NULL)
            return false;
        objective->use = more;
        objective->use_room = room;
    }
    objective->use[objective->use_count++] = use;
    return true;
}

/* Keeps of common the resources that the flow uses; all of them the first time. */
static size_t keep_common(const struct bind_price *price, const struct load_flow *flow,
                          bool is_first, size_t count, uint16_t common[COMMON_MAX])
{
    size_t used_count = 0, kept = 0;
    const uint16_t *used = NULL;
    if (flow->from != flow->to)
        used = plan_load_used(price->table, flow->from, flow->to, flow->bytes, &used_count);
    size_t before = is_first ? (used_count < COMMON_MAX ? used_count : COMMON_MAX) : count;
    for (size_t i = 0; i < before; i++) {
        uint16_t resource = is_first ? used[i] : common[i];
        if (used_count > 0 &&
            plan_load_uses(price->table, resource, flow->from, flow->to, flow->bytes))
            common[kept++] = resource;
    }
    return kept;
}

/* Notes what a flow that takes so long alone puts on the resources that it uses. */
static void see(const struct bind_price *price, const struct load_flow *flow, double alone_ns,
                struct seen *seen)
{
    size_t count = 0;
    const uint16_t *used = plan_load_used(price->table, flow->from, flow->to, flow->bytes, &count);
    struct load_lone lone = plan_load_lone(price->table, flow->from, flow->to, flow->bytes);
    for (size_t i = 0; i < count && flow->from != flow->to; i++) {
        double *fastest = &seen[used[i]].fastest[transfer_kind_index(lone.kind)];
        *fastest = fmax(*fastest, flow->bytes / fmax(lone.bytes_ns, 1e-3) * 1e9);
        seen[used[i]].start_ns = fmin(seen[used[i]].start_ns, fmax(alone_ns - lone.bytes_ns, 0));
    }
}

/* The least alone, and the resources used in any case: of several GPUs of a task any may be the
 * first, next to which its memory is. ns of uses are bytes until capacities are known. */
static bool make_arc(struct bind_objective *objective, const struct bind_price *price,
                     const struct bind_kind *kind, size_t from, size_t to, struct seen *seen,
                     struct search_arc *ret)
{
    uint16_t common[COMMON_MAX];
    size_t count = 0, memories = price->request.each > 1 &&
                                         (kind->end == END_TO_HOST || kind->end == END_FROM_HOST)
                                     ? price->request.gpu_count
                                     : 1;
    bool is_first = true, ok = true;
    double none_ns = kind->is_unpriced                                 ? 0
                     : price->request.may_lack && kind->end != END_GPU ? price->lack_ns
                                                                       : PRICE_UNKNOWN_NS;
    *ret = (struct search_arc){.alone_ns = none_ns, .use = (uint32_t)objective->use_count};
    for (size_t m = 0; m < memories; m++) {
        struct load_flow flow = plan_bind_price_flow(
            price, kind, kind->bytes, from, to, memories > 1 ? price->memory[m] : PRICE_NOWHERE);
        if (!plan_bind_price_knows(price, &flow))
            continue;
        struct load_start start = plan_bind_price_start(price, kind, &flow), known;
        double alone_ns = plan_load_alone_ns(price->table, flow.from, flow.to, flow.bytes);
        if (flow.from != flow.to &&
            !plan_load_start(price->table, flow.from, flow.to, flow.bytes, &known))
            alone_ns += start.start_ns;
        see(price, &flow, alone_ns, seen);
        count = keep_common(price, &flow, is_first, count, common);
        ret->alone_ns = is_first ? alone_ns : fmin(ret->alone_ns, alone_ns);
        ret->launch_ns = is_first ? start.launch_ns : fmin(ret->launch_ns, start.launch_ns);
        is_first = false;
    }
    for (size_t i = 0; i < count && ok; i++)
        ok = add_use(objective, (struct search_use){common[i], kind->bytes});
    ret->use_count = (uint32_t)objective->use_count - ret->use;
    return ok;
}

/* ---- resources ---- */

/* The most that goes through it in a second, with any users. */
static double capacity_of(const struct load_resource *resource, const struct seen *seen)
{
    double fastest = 0, most = 0;
    for (unsigned kind = 0; kind < TRANSFER_KINDS; kind++) {
        fastest = fmax(fastest, seen->fastest[kind]);
        if (resource->apart != NULL) /* so many of one kind are not limited */
            most = fmax(most, resource->apart[kind] * seen->fastest[kind]);
    }
    /* nor are fewer than the first step's of any */
    most =
        fmax(most, resource->step_count > 0 ? (resource->step[0].flows - 1) * fastest : INFINITY);
    for (size_t i = 0; i < resource->step_count; i++)
        most = fmax(most, resource->step[i].bytes_per_s);
    return most;
}

static bool is_alike(const struct load_resource *a, const struct load_resource *b)
{
    bool same = a->step_count == b->step_count && a->is_nominal == b->is_nominal &&
                (a->apart == b->apart ||
                 (a->apart != NULL && b->apart != NULL &&
                  memcmp(a->apart, b->apart, TRANSFER_KINDS * sizeof *a->apart) == 0));
    for (size_t i = 0; i < a->step_count && same; i++)
        same = a->step[i].flows == b->step[i].flows &&
               a->step[i].bytes_per_s == b->step[i].bytes_per_s;
    return same;
}

/* Resources with the same capacities, on which flows start as soon, are of one sort. */
static void find_resources(struct bind_objective *objective, const struct bind_price *price,
                           const struct seen *seen)
{
    size_t count = plan_load_resource_count(price->table);
    for (size_t u = 0; u < objective->use_count; u++) {
        struct search_use *use = &objective->use[u];
        use->ns *= 1e9 / capacity_of(plan_load_resource(price->table, use->resource),
                                     &seen[use->resource]);
    }
    for (size_t r = 0; r < count; r++) {
        objective->start_ns[r] = isinf(seen[r].start_ns) ? 0 : seen[r].start_ns;
        objective->sort[r] = (uint16_t)r;
        for (size_t s = 0; s < r && objective->sort[r] == r; s++)
            if (objective->start_ns[r] == objective->start_ns[s] &&
                is_alike(plan_load_resource(price->table, r), plan_load_resource(price->table, s)))
                objective->sort[r] = (uint16_t)s;
    }
}

bool plan_bind_objective_init(struct bind_objective *objective, const struct bind_price *price)
{
    size_t n = price->request.gpu_count, resources = plan_load_resource_count(price->table);
    struct seen *seen = calloc(resources + 1, sizeof *seen);
    *objective = (struct bind_objective){
        .arc = calloc(price->kind_count * n * n + 1, sizeof *objective->arc),
        .sort = calloc(resources + 1, sizeof *objective->sort),
        .start_ns = calloc(resources + 1, sizeof *objective->start_ns)};
    bool ok = seen != NULL && objective->arc != NULL && objective->sort != NULL &&
              objective->start_ns != NULL;
    for (size_t r = 0; ok && r < resources; r++)
        seen[r].start_ns = INFINITY;
    struct search_arc *arc = objective->arc;
    for (size_t k = 0; k < price->kind_count; k++)
        for (size_t from = 0; from < n; from++)
            for (size_t to = 0; ok && to < n; to++, arc++)
                if (price->kind[k].end == END_GPU || from == to)
                    ok = make_arc(objective, price, &price->kind[k], from, to, seen, arc);
    if (ok)
        find_resources(objective, price, seen);
    free(seen);
    return ok;
}

void plan_bind_objective_done(struct bind_objective *objective)
{
    free(objective->arc);
    free(objective->use);
    free(objective->sort);
    free(objective->start_ns);
}

/* ---- the search ---- */

static struct search_cost price_of(void *context, const uint16_t *slot)
{
    struct bind_price *price = context;
    plan_bind_price_load(price, slot, NULL);
    struct load_time time = plan_bind_price_compared(price);
    double unknown_ns = (double)price->unknown * PRICE_UNKNOWN_NS;
    return (struct search_cost){.time_ns =
                                    fmax(time.step_ns + (double)price->lacking * price->lack_ns,
                                         price->unknown > 0 ? PRICE_UNKNOWN_NS : 0),
                                .sum_ns = time.sum_ns + unknown_ns};
}

/* Times that differ by less are equal as far as is known: their intervals overlap. */
static double error_of(struct bind_price *price, const uint16_t *slot)
{
    plan_bind_price_load(price, slot, NULL);
    struct load_prediction load =
        plan_load_predict(price->table, price->load, price->flow_count, price->scratch, NULL);
    double low_ns = fmax(load.step.low_ns, load.step.time_ns / 2),
           same = (load.step.high_ns - load.waits_ns) / low_ns - 1,
           lack_ns = (double)price->lacking * price->lack_ns;
    return fmin(isnan(same) ? POLICY_SAME : same, POLICY_IN_ORDER) * load.step.time_ns /
           fmax(load.step.time_ns + lack_ns, 1);
}

enum berth_code plan_bind_objective_search(struct bind_price *price,
                                           const struct bind_objective_choice *choice,
                                           uint16_t *ret_slot, struct search_result *ret,
                                           struct berth_err *err)
{
    const struct bind_price_request *request = &price->request;
    struct bind_objective objective;
    struct search_result result;
    bool ok = plan_bind_objective_init(&objective, price);
    struct search_problem problem = {
        .slots = request->gpu_count,
        .tasks = request->tasks,
        .each = request->each,
        .in_order = choice->in_order,
        .flow = price->flow,
        .flow_count = price->flow_count,
        .kinds = price->kind_count,
        .arc = objective.arc,
        .use = objective.use,
        .resources = plan_load_resource_count(price->table),
        .sort = objective.sort,
        .start_ns = objective.start_ns,
        .far = choice->far,
        .apart = choice->apart,
        .meet = plan_bind_price_has_host(price) ? choice->meet : NULL,
        .unit = choice->unit,
        .most = choice->most,
        .price = price_of,
        .context = price,
    };
    ok = ok && plan_search(&problem, ret_slot, &result) &&
         plan_search_settle(&problem, error_of(price, ret_slot), ret_slot, &result);
    plan_bind_objective_done(&objective);
    if (!ok)
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    plan_bind_price_load(price, ret_slot, NULL);
    if (price->unknown == 0 && price->lacking > 0) { /* without what stands for a price */
        double lack_ns = (double)price->lacking * price->lack_ns;
        result.settled *= result.cost.time_ns / fmax(result.cost.time_ns - lack_ns, 1);
        result.bound_ns = result.is_proven ? result.bound_ns - lack_ns : (double)NAN;
    }
    if (price->is_rounded) {
        result.is_proven = false;
        result.bound_ns = NAN;
    }
    result.bound_ns -= fmin(plan_bind_price_assumed_ns(price), result.bound_ns);
    *ret = result;
    return BERTH_OK;
}
