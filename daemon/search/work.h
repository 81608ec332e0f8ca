/**
 * What the ways of searching share: flows by berth, the best choice so far, and bounds. Of the
 * search alone.
 */
#pragma once
#include "search/search.h"

struct search_work {
    const struct search_problem *problem;
    size_t berths;
    /* spread evenly: tasks on a slot at most, and how many slots have that many */
    size_t fullest, full;
    size_t *first;      /* by berth and one more: where its flows begin in touching */
    uint32_t *touching; /* flows; one between two berths is there twice */
    uint16_t *best;
    size_t *outside;             /* by berth: its flows with something outside */
    struct search_result result; /* cost is of best */
    double looked;               /* by all prices that were asked for */
    /* best is the one with the lowest numbers of those that cost as much, as far as was looked */
    bool is_final;
};

/* False when out of memory; plan_search_work_done in any case. */
bool plan_search_work_init(struct search_work *work, const struct search_problem *problem);
void plan_search_work_done(struct search_work *work);

/* The greatest and the least so far: as fmax and fmin, which are calls; what is no number leaves
 * them as they are. */
static inline double plan_search_work_more(double most, double ns) { return ns > most ? ns : most; }
static inline double plan_search_work_less(double least, double ns)
{
    return ns < least ? ns : least;
}

/* Less than 0: a is better. Numbers are not compared. */
int plan_search_work_compare(const struct search_cost *a, const struct search_cost *b);

/* What a flow is between the slots of its ends. */
static inline const struct search_arc *plan_search_work_arc(const struct search_problem *problem,
                                                            const struct search_flow *flow,
                                                            const uint16_t *slot)
{
    size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
    return &problem->arc[(flow->kind * problem->slots + from) * problem->slots + to];
}

/* What it takes there at least, after what its task begins before it. */
static inline double plan_search_work_alone(const struct search_flow *flow,
                                            const struct search_arc *arc)
{
    return arc->alone_ns + flow->turn * arc->launch_ns;
}

/* What a resource that is used needs beside what is put on it. */
static inline double plan_search_work_start(const struct search_problem *problem, size_t resource)
{
    return problem->start_ns != NULL ? problem->start_ns[resource] : 0;
}

/* The least that a flow takes anywhere. */
double plan_search_work_least(const struct search_problem *problem, const struct search_flow *flow);

/* How many of the first tasks are in that unit. */
size_t plan_search_work_in_unit(const struct search_problem *problem, const uint16_t *slot,
                                size_t tasks, uint16_t unit);

/* How far these slots are from what their tasks need, those of each task apart, and for how many
 * there is no room: far, apart and over. */
void plan_search_work_far(const struct search_problem *problem, const uint16_t *slot,
                          struct search_cost *ret);

/* The first slots in order, as evenly as it goes: what a launcher does that knows nothing. */
void plan_search_work_order(const struct search_problem *problem, uint16_t *ret_slot);

/* Asks what these slots cost and takes them if that is less than what the best costs, or as much
 * and their numbers are lower. Less than 0: it was less; 0: as much. */
int plan_search_work_try(struct search_work *work, const uint16_t *slot);

/* Whether the traffic stays as it is when tasks a and b change places. */
bool plan_search_work_same(const struct search_work *work, size_t a, size_t b);

/* Whether prices have taken as much as they may. */
bool plan_search_work_is_spent(const struct search_work *work);

/* Whether no choice takes less time than the best, as the bound says. */
bool plan_search_work_is_least(const struct search_work *work);
