/**
 * Shared by both ways of searching: the bound, the order of costs, the best choice so far.
 */
#pragma once
#include "search/search.h"

struct search_work {
    const struct search_problem *problem;
    size_t gpus;
    size_t fullest, full; /* gpus on a slot at most; slots that have so many */
    uint32_t *flow;       /* flows by their later gpu */
    size_t *first;        /* by gpu and one more: where its flows begin there */
    size_t *outside;      /* by gpu: its flows without to */
    uint16_t *best;
    double *load; /* room for resources */
    struct search_result result;
};

/* The bound of the first gpus, which have their slots. */
struct search_partial {
    struct search_cost cost;
    double *load; /* by resource */
};

/* False when out of memory; plan_search_work_done in any case. */
bool plan_search_work_init(struct search_work *work, const struct search_problem *problem);
void plan_search_work_done(struct search_work *work);

/* No gpu has a slot yet. */
void plan_search_work_begin(const struct search_work *work, struct search_partial *partial);

/* Adds the gpu, whose slot is in slot as those of all before it are. */
void plan_search_work_put(const struct search_work *work, const uint16_t *slot, size_t gpu,
                          struct search_partial *partial);

/* All gpus; its load is valid until the next one. */
struct search_partial plan_search_work_bound(const struct search_work *work, const uint16_t *slot);

/* Returns the arc of a flow. */
const struct search_arc *plan_search_work_arc(const struct search_problem *problem,
                                              const struct search_flow *flow, const uint16_t *slot);

/* Returns the least that a flow takes alone, wherever it is. */
double plan_search_work_least(const struct search_problem *problem, const struct search_flow *flow);

/* Raises the bound to what flows share at best of the resources that the best choice fills to such
 * a part of the fullest. Proof: the fullest of them has at least their mean, in any choice; and
 * each flow puts no less on them together than where it puts least. Start-ups are left out: only
 * those of resources in use count. */
void plan_search_work_share(struct search_work *work, double fill);

/* Returns true when the best takes as little time as its bound, or no more than is the same. */
bool plan_search_work_is_least(const struct search_work *work);

/* Less than 0: a is better. */
int plan_search_work_compare(const struct search_cost *a, const struct search_cost *b);

/* Returns how many of the first tasks have the unit of that slot; 0 for SEARCH_ANYWHERE. */
size_t plan_search_work_in_unit(const struct search_problem *problem, const uint16_t *slot,
                                size_t tasks, uint16_t where);

/* Returns the price, and where its slots are. */
struct search_cost plan_search_work_cost(struct search_work *work, const uint16_t *slot);

/* Prices the choice, and keeps it where it is better, or as good with lower slots. Less than 0: it
 * is better; 0: as good. */
int plan_search_work_try(struct search_work *work, const uint16_t *slot);

/* Branch and bound, with so many prices at most. ret_covered: no choice takes less time than the
 * best by more than is the same. False when out of memory. */
bool plan_search_exact(struct search_work *work, size_t prices, bool *ret_covered);

/* Moves and swaps, from so many starts. False when out of memory. */
bool plan_search_local(struct search_work *work, unsigned starts, size_t steps, size_t prices);
