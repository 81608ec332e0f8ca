#include "plan/bind/objective.h"

#include <math.h>
#include <stdlib.h>

#include "cost/policy.h"

/* The most that an arc puts on a resource. */
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

/* Notes what a flow puts on the limits that it uses. */
static void see(const struct flow *flow, struct seen *seen)
{
    for (unsigned u = 0; u < flow->limit_count; u++) {
        struct seen *its = &seen[flow->limit[u]];
        double *fastest = &its->fastest[transfer_kind_index(flow->transfer->kind)];
        *fastest = fmax(*fastest, flow->bytes * 1e9 / flow->bytes_ns);
        its->start_ns = fmin(its->start_ns, flow->start_ns);
    }
}

/* Its time alone, and the resources that it uses; ns of uses are bytes until capacities are known.
 * Of several GPUs of a task any may be the first, next to which its memory is: the least of them
 * all, and no resource. */
static bool make_arc(struct bind_objective *objective, const struct bind_price *price,
                     const struct bind_kind *kind, size_t from, size_t to, struct seen *seen,
                     struct search_arc *ret)
{
    size_t memories =
        price->request.each > 1 && (kind->end == END_TO_HOST || kind->end == END_FROM_HOST)
            ? price->request.gpu_count
            : 1;
    struct search_arc arc = {
        .alone_ns = INFINITY, .launch_ns = INFINITY, .use = (uint32_t)objective->use_count};
    bool ok = true;
    for (size_t m = 0; m < memories && ok; m++) {
        struct bind_known own;
        const struct bind_known *known =
            plan_bind_price_flow(price, kind, kind->bytes, from, to,
                                 memories > 1 ? price->request.memory[m] : PLACE_NONE, &own);
        if (!known->is_known)
            continue;
        struct flow flow = known->flow;
        double launch_ns = plan_bind_price_start(kind, &flow);
        see(&flow, seen);
        arc.alone_ns = fmin(arc.alone_ns, flow.start_ns + flow.bytes_ns);
        arc.launch_ns = fmin(arc.launch_ns, launch_ns);
        for (size_t i = 0; i < flow.limit_count && memories == 1 && ok; i++)
            ok = add_use(objective, (struct search_use){flow.limit[i], kind->bytes});
    }
    if (isinf(arc.alone_ns)) {
        arc.alone_ns = arc.launch_ns = 0;
        arc.lack = plan_bind_price_lack(price, kind, from, to);
    }
    arc.use_count = (uint32_t)objective->use_count - arc.use;
    *ret = arc;
    return ok;
}

/* ---- resources ---- */

/* The most that goes through it in a second, with any users. */
static double capacity_of(const struct limit *resource, const struct seen *seen)
{
    double fastest = 0, most = 0;
    for (unsigned kind = 0; kind < TRANSFER_KINDS; kind++) {
        fastest = fmax(fastest, seen->fastest[kind]);
        if (limits_is_stated(resource)) /* so many of one kind are not limited */
            most = fmax(most, resource->apart[kind] * seen->fastest[kind]);
    }
    /* nor are fewer than the first step's of any */
    most =
        fmax(most, resource->step_count > 0 ? (resource->step[0].flows - 1) * fastest : INFINITY);
    for (size_t i = 0; i < resource->step_count; i++)
        most = fmax(most, resource->step[i].bytes_per_s);
    return most;
}

bool plan_bind_objective_init(struct bind_objective *objective, const struct bind_price *price)
{
    size_t n = price->request.gpu_count, resources = price->snap->derived.usage->limit_count;
    struct seen *seen = calloc(resources + 1, sizeof *seen);
    *objective = (struct bind_objective){
        .arc = calloc(price->kind_count * n * n + 1, sizeof *objective->arc),
        .start_ns = calloc(resources + 1, sizeof *objective->start_ns)};
    bool ok = seen != NULL && objective->arc != NULL && objective->start_ns != NULL;
    for (size_t r = 0; ok && r < resources; r++)
        seen[r].start_ns = INFINITY;
    struct search_arc *arc = objective->arc;
    for (size_t k = 0; k < price->kind_count; k++)
        for (size_t from = 0; from < n; from++)
            for (size_t to = 0; ok && to < n; to++, arc++)
                if (price->kind[k].end == END_GPU || from == to)
                    ok = make_arc(objective, price, &price->kind[k], from, to, seen, arc);
    for (size_t u = 0; ok && u < objective->use_count; u++) {
        struct search_use *use = &objective->use[u];
        if (use->resource < resources)
            use->ns *= 1e9 / capacity_of(&price->snap->derived.usage->limit[use->resource],
                                         &seen[use->resource]);
    }
    for (size_t r = 0; ok && r < resources; r++)
        objective->start_ns[r] = isinf(seen[r].start_ns) ? 0 : seen[r].start_ns;
    free(seen);
    return ok;
}

void plan_bind_objective_done(struct bind_objective *objective)
{
    free(objective->arc);
    free(objective->use);
    free(objective->start_ns);
}

/* ---- the search ---- */

enum berth_code plan_bind_objective_search(struct bind_price *price,
                                           const struct bind_objective_choice *choice,
                                           uint16_t *ret_slot, struct search_result *ret,
                                           struct berth_err *err)
{
    const struct bind_price_request *request = &price->request;
    struct bind_objective objective;
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
        .same = POLICY_SAME,
        .stays = POLICY_IN_ORDER,
        .resources = price->snap->derived.usage->limit_count,
        .start_ns = objective.start_ns,
        .far = choice->far,
        .apart = request->apart,
        .meet = plan_bind_price_has(price, END_TO_HOST) ? choice->meet : NULL,
        .unit = choice->unit,
        .most = choice->most,
        .price = plan_bind_price_search,
        .context = price,
    };
    ok = ok && plan_search(&problem, ret_slot, ret);
    plan_bind_objective_done(&objective);
    if (!ok)
        return err_set(err, BERTH_NO_MEMORY, "no memory for a search");
    if (price->is_rounded) { /* which says nothing of what was rounded */
        ret->is_proven = false;
        ret->bound_ns = NAN;
    }
    return BERTH_OK;
}
