/*
 * A choice is ruled out when even what is certain of it costs no less than the best: flows that
 * have both their slots take at least their time alone, a resource at least what goes through it,
 * and the other flows at least what they take anywhere.
 *
 * Looking ahead: a berth without a slot takes at least as long as its flows with those that have
 * one take from the best slot that is left to it.
 *
 * Twice: first for less time alone, which rules out much more and proves the time; then, among
 * choices that take no longer, for what else is less. That ends early.
 *
 * Tasks that traffic cannot tell apart: of all choices that are the same but for which task has
 * which berths, only the one with the lowest numbers is looked at. It is enough that task i has a
 * lower slot than every task that it can change places with while tasks 0 to i - 1 stay (J.-F.
 * Puget, "Breaking symmetries in all different problems", IJCAI 2005). Slots that nothing tells
 * apart: a slot is not tried when a renaming that leaves those taken so far gives it a lower number
 * (T. Kelsey et al., "GE-tree", 2004). With rank order, or several gpus a task, renaming would
 * break the order, and slots are not merged.
 */
#include "search/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/alike.h"

#define LOOKS_MAX (1U << 18)
/* of flows, slots and resources by all looks: what bounds the time where one look is long */
#define TOUCHES_MAX  80e6
#define TIES_TOUCHES 12288 /* ends of flows */
/* where tasks share slots, of which there are more choices than can be looked at: prices asked,
 * times the square of the flows */
#define PRICES_MAX   8e6
#define AHEAD_BERTHS 32 /* with more, looking ahead costs more than it saves */
#define SAME_TASKS   16 /* more are not looked at for what traffic cannot tell apart */
#define SAME_LOOKS   20000

struct level {
    double time_ns, apart, sum_ns, far, crowd;
    uint64_t renamings; /* that leave all slots taken so far */
};

struct dive {
    struct search_work *work;
    struct search_alike alike;
    uint16_t *slot;      /* by berth */
    size_t *taken;       /* by slot */
    size_t full;         /* slots that have fullest */
    struct level *level; /* by berths placed */
    double *load;        /* by berths placed and resource */
    /* by berths placed: what the flows that are not complete take at least */
    double *rest_time, *rest_sum;
    /* by berths placed, berth and slot: the slowest of its flows with berths placed, alone; NULL:
     * not looked at */
    double *need;
    uint32_t *completes;  /* flows in the order of their later berth */
    size_t *completes_at; /* by berth and one more */
    uint64_t *after;      /* by task: those that have higher slots than it */
    bool is_for_time;     /* the first time */
    size_t looks_left;
    double touches_left;
    size_t ties;  /* flows of the choices that were priced the second time */
    double spent; /* on their prices */
    bool gave_up, is_enough;
};

/* ---- tasks that traffic cannot tell apart ---- */

struct renaming {
    const struct search_problem *problem;
    /* by task and task: which flows go from one to the other, 0 none; twice the same: those with
     * something outside */
    const uint64_t *kind;
    size_t to[SAME_TASKS];
    unsigned looks;
};

/* Whether tasks from next on can be renamed so that traffic stays, those before being so already.
 */
static bool can_rename(struct renaming *work, size_t next, uint64_t used, size_t fixed,
                       size_t target)
{
    size_t n = work->problem->tasks;
    if (next == n)
        return true;
    if (work->looks++ > SAME_LOOKS)
        return false;
    for (size_t to = 0; to < n; to++) {
        if ((used & UINT64_C(1) << to) || (next < fixed && to != next) ||
            (next == fixed && to != target))
            continue;
        work->to[next] = to;
        bool ok = true;
        for (size_t other = 0; other <= next && ok; other++)
            ok = work->kind[next * n + other] == work->kind[to * n + work->to[other]] &&
                 work->kind[other * n + next] == work->kind[work->to[other] * n + to];
        if (ok && can_rename(work, next + 1, used | UINT64_C(1) << to, fixed, target))
            return true;
    }
    return false;
}

/* Of a set of numbers, in any order. */
static uint64_t with(uint64_t all, uint64_t number)
{
    uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return all + (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool find_same(struct dive *dive)
{
    const struct search_problem *problem = dive->work->problem;
    size_t n = problem->tasks;
    if (n > SAME_TASKS || problem->in_order)
        return true;
    uint64_t *kind = calloc(n * n, sizeof *kind);
    if (kind == NULL)
        return false;
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        size_t each = problem->each, from = (size_t)flow->from / each,
               to = flow->to < 0 ? from : (size_t)flow->to / each;
        /* which of the tasks' berths */
        size_t ends =
            (size_t)flow->from % each * each + (flow->to < 0 ? 0 : (size_t)flow->to % each);
        kind[from * n + to] = with(kind[from * n + to], flow->kind * each * each + ends);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            struct renaming work = {.problem = problem, .kind = kind};
            if (can_rename(&work, 0, 0, i, j))
                dive->after[i] |= UINT64_C(1) << j;
        }
    free(kind);
    return true;
}

/* ---- what is certain ---- */

static bool begin(struct dive *dive)
{
    const struct search_work *work = dive->work;
    const struct search_problem *problem = work->problem;
    size_t berths = work->berths;
    dive->slot = calloc(berths, sizeof *dive->slot);
    dive->taken = calloc(problem->slots, sizeof *dive->taken);
    dive->level = calloc(berths + 1, sizeof *dive->level);
    dive->load = calloc((berths + 1) * problem->resources + 1, sizeof *dive->load);
    dive->rest_time = calloc(berths + 1, sizeof *dive->rest_time);
    dive->rest_sum = calloc(berths + 1, sizeof *dive->rest_sum);
    if (berths <= AHEAD_BERTHS)
        dive->need = calloc((berths + 1) * berths * problem->slots, sizeof *dive->need);
    dive->completes = calloc(problem->flow_count + 1, sizeof *dive->completes);
    dive->completes_at = calloc(berths + 1, sizeof *dive->completes_at);
    dive->after = calloc(problem->tasks, sizeof *dive->after);
    if (dive->slot == NULL || dive->taken == NULL || dive->level == NULL || dive->load == NULL ||
        dive->rest_time == NULL || dive->rest_sum == NULL ||
        (dive->need == NULL && berths <= AHEAD_BERTHS) || dive->completes == NULL ||
        dive->completes_at == NULL || dive->after == NULL)
        return false;
    size_t used = 0;
    for (size_t b = 0; b < berths; b++) {
        dive->completes_at[b] = used;
        for (size_t i = work->first[b]; i < work->first[b + 1]; i++) {
            const struct search_flow *flow = &problem->flow[work->touching[i]];
            int32_t later = flow->to > flow->from ? flow->to : flow->from;
            if (later == (int32_t)b)
                dive->completes[used++] = work->touching[i];
        }
    }
    dive->completes_at[berths] = used;
    dive->rest_time[berths] = work->result.bound_ns;
    for (size_t b = berths; b-- > 0;) {
        dive->rest_time[b] = fmax(dive->rest_time[b + 1], work->result.bound_ns);
        dive->rest_sum[b] = dive->rest_sum[b + 1];
        for (size_t i = dive->completes_at[b]; i < dive->completes_at[b + 1]; i++) {
            double least = plan_search_work_least(problem, &problem->flow[dive->completes[i]]);
            dive->rest_time[b] = fmax(dive->rest_time[b], least);
            dive->rest_sum[b] += least;
        }
    }
    for (size_t r = 0; r < problem->resources; r++)
        dive->load[r] = plan_search_work_start(problem, r);
    dive->level[0].renamings = UINT64_MAX;
    return find_same(dive) &&
           (problem->in_order || problem->each > 1 || problem->slots > SEARCH_EXACT_SLOTS ||
            plan_search_alike(problem, &dive->alike));
}

static void end(struct dive *dive)
{
    free(dive->slot);
    free(dive->taken);
    free(dive->level);
    free(dive->load);
    free(dive->rest_time);
    free(dive->rest_sum);
    free(dive->need);
    free(dive->completes);
    free(dive->completes_at);
    free(dive->after);
}

/* The slots that berth may have after those before it. */
static bool is_free(const struct dive *dive, size_t berth, size_t slot)
{
    const struct search_work *work = dive->work;
    const struct search_problem *problem = work->problem;
    size_t task = berth / problem->each,
           room = dive->full < work->full ? work->fullest : work->fullest - 1;
    if (dive->taken[slot] >= room)
        return false;
    /* Slots of a task ascend; in rank order all do, and so does nothing else where tasks share
     * them. */
    if (berth % problem->each > 0 && slot <= dive->slot[berth - 1])
        return false;
    if (problem->in_order && berth > 0 && slot + (problem->share > 1) <= dive->slot[berth - 1])
        return false;
    for (size_t other = 0; other < task && task < SAME_TASKS && berth % problem->each == 0; other++)
        if ((dive->after[other] >> task & 1) && slot < dive->slot[other * problem->each])
            return false;
    if (problem->most != NULL && berth % problem->each == 0 &&
        problem->unit[slot] != SEARCH_ANYWHERE &&
        plan_search_work_in_unit(problem, dive->slot, task, problem->unit[slot]) >=
            problem->most[problem->unit[slot]])
        return false;
    return slot >= SEARCH_EXACT_SLOTS || !(dive->level[berth].renamings & dive->alike.lowers[slot]);
}

/* What the berths without a slot take at least, once berth has its own. */
static double look_ahead(struct dive *dive, size_t berth)
{
    const struct search_work *work = dive->work;
    const struct search_problem *problem = work->problem;
    size_t n = problem->slots, size = work->berths * n, mine = dive->slot[berth];
    double *need = dive->need + (berth + 1) * size, most = 0;
    memcpy(need, need - size, size * sizeof *need);
    for (size_t i = work->first[berth]; i < work->first[berth + 1]; i++) {
        const struct search_flow *flow = &problem->flow[work->touching[i]];
        bool is_from = flow->from == (int32_t)berth;
        int32_t other = is_from ? flow->to : flow->from;
        if (other <= (int32_t)berth)
            continue;
        const struct search_arc *arc =
            problem->arc + flow->kind * n * n + (is_from ? mine * n : mine);
        for (size_t s = 0; s < n; s++)
            need[(size_t)other * n + s] =
                plan_search_work_more(need[(size_t)other * n + s],
                                      plan_search_work_alone(flow, &arc[is_from ? s : s * n]));
    }
    for (size_t other = berth + 1; other < work->berths; other++) {
        double least = INFINITY;
        for (size_t s = 0; s < n; s++)
            if (dive->taken[s] + (s == mine) < work->fullest)
                least = plan_search_work_less(least, need[other * n + s]);
        most = plan_search_work_more(most, isinf(least) ? 0 : least);
    }
    return most;
}

/* What takes so long is no better than the best, whatever else there is to compare. */
static bool is_too_long(const struct dive *dive, double ns)
{
    const struct search_cost *best = &dive->work->result.cost;
    return best->over == 0 &&
           (dive->is_for_time ? ns >= best->time_ns : ns > best->time_ns * (1 + 2 * SEARCH_SAME));
}

/* Whether the best is still open after berth takes its slot. */
static bool is_open(struct dive *dive, size_t berth)
{
    const struct search_work *work = dive->work;
    const struct search_problem *problem = work->problem;
    const struct level *before = &dive->level[berth];
    struct level *after = &dive->level[berth + 1];
    double *load = dive->load + (berth + 1) * problem->resources;
    size_t slot = dive->slot[berth];
    *after = *before;
    for (size_t i = dive->completes_at[berth]; i < dive->completes_at[berth + 1]; i++) {
        const struct search_flow *flow = &problem->flow[dive->completes[i]];
        const struct search_arc *arc = plan_search_work_arc(problem, flow, dive->slot);
        double alone_ns = plan_search_work_alone(flow, arc);
        after->time_ns = plan_search_work_more(after->time_ns, alone_ns);
        after->sum_ns += alone_ns;
    }
    if (is_too_long(dive, after->time_ns))
        return false;
    memcpy(load, dive->load + berth * problem->resources, problem->resources * sizeof *load);
    for (size_t i = dive->completes_at[berth]; i < dive->completes_at[berth + 1]; i++) {
        const struct search_arc *arc =
            plan_search_work_arc(problem, &problem->flow[dive->completes[i]], dive->slot);
        for (uint32_t u = 0; u < arc->use_count; u++) {
            const struct search_use *use = &problem->use[arc->use + u];
            load[use->resource] += use->ns;
            after->time_ns = plan_search_work_more(after->time_ns, load[use->resource]);
        }
    }
    if (is_too_long(dive, after->time_ns))
        return false;
    after->far += problem->far[slot];
    for (size_t other = berth - berth % problem->each; other < berth; other++)
        after->apart += problem->apart[dive->slot[other] * problem->slots + slot];
    for (size_t other = 0; problem->meet != NULL && other < berth; other++)
        if (dive->slot[other] != slot)
            after->crowd += (double)(work->outside[other] * work->outside[berth]) *
                            problem->meet[dive->slot[other] * problem->slots + slot];
    after->renamings &= slot < SEARCH_EXACT_SLOTS ? dive->alike.keeps[slot] : UINT64_MAX;
    struct search_cost least = {plan_search_work_more(after->time_ns, dive->rest_time[berth + 1]),
                                after->apart,
                                after->sum_ns + dive->rest_sum[berth + 1],
                                after->far,
                                after->crowd,
                                0,
                                0};
    if (dive->is_for_time)
        /* as much time is not enough */
        least.apart = least.sum_ns = least.far = least.crowd = INFINITY;
    int order = plan_search_work_compare(&least, &work->result.cost);
    if (order < 0 && dive->need != NULL && berth + 1 < work->berths) {
        least.time_ns = plan_search_work_more(least.time_ns, look_ahead(dive, berth));
        order = plan_search_work_compare(&least, &work->result.cost);
    }
    return order < 0 || (order == 0 && !work->is_final);
}

/* What looking at one slot for the berth takes, with looking ahead. */
static double touches_of(const struct dive *dive, size_t berth)
{
    const struct search_work *work = dive->work;
    double flows = (double)(work->first[berth + 1] - work->first[berth]),
           ahead = (double)work->problem->slots * (flows + (double)work->berths);
    return flows + (double)work->problem->resources + (dive->need != NULL ? ahead : 0);
}

static void look(struct dive *dive, size_t berth)
{
    struct search_work *work = dive->work;
    for (size_t slot = 0; slot < work->problem->slots && !dive->gave_up && !dive->is_enough;
         slot++) {
        if (!is_free(dive, berth, slot))
            continue;
        dive->slot[berth] = (uint16_t)slot;
        work->result.looked++;
        dive->touches_left -= touches_of(dive, berth);
        if (dive->looks_left-- == 0 || dive->touches_left < 0) {
            dive->gave_up = dive->is_for_time;
            dive->is_enough = true;
            break;
        }
        if (!is_open(dive, berth))
            continue;
        dive->taken[slot]++;
        dive->full += dive->taken[slot] == work->fullest;
        if (berth + 1 < work->berths) {
            look(dive, berth + 1);
        } else {
            /* The first that costs as little as the best has the lowest numbers of all that do. */
            work->is_final = plan_search_work_try(work, dive->slot) <= 0 || work->is_final;
            dive->ties += dive->is_for_time ? 0 : work->problem->flow_count;
            dive->spent += (double)work->problem->flow_count * (double)work->problem->flow_count;
            dive->gave_up = dive->gave_up ||
                            (dive->is_for_time && plan_search_work_is_spent(work)) ||
                            (dive->spent > PRICES_MAX && work->berths > work->problem->slots);
            dive->is_enough = dive->ties > SEARCH_TIES_FLOWS || plan_search_work_is_spent(work) ||
                              (dive->is_for_time && plan_search_work_is_least(work));
        }
        dive->full -= dive->taken[slot] == work->fullest;
        dive->taken[slot]--;
    }
}

static bool is_wanted(const struct search_work *work)
{
    return !(work->problem->unwanted_ns > 0 &&
             work->result.cost.time_ns >= work->problem->unwanted_ns);
}

bool plan_search_exact(struct search_work *work)
{
    struct dive dive = {.work = work};
    bool ok = begin(&dive);
    if (ok) {
        dive.is_for_time = true;
        dive.looks_left = LOOKS_MAX;
        dive.touches_left = TOUCHES_MAX;
        if (!plan_search_work_is_least(work))
            look(&dive, 0);
        work->result.is_proven = !dive.gave_up;
    }
    if (ok && work->result.is_proven)
        work->result.bound_ns = work->result.cost.time_ns;
    if (ok && work->result.is_proven && is_wanted(work)) {
        work->is_final = dive.is_for_time = dive.is_enough = false;
        dive.touches_left = TOUCHES_MAX;
        dive.looks_left =
            TIES_TOUCHES * work->berths / (2 * work->problem->flow_count + work->berths);
        look(&dive, 0);
    }
    end(&dive);
    return ok;
}
