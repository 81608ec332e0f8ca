/**
 * Folder daemon/search: assignment of tasks to GPUs at least cost: exact with one bound, local
 *   search beyond. Numbers only.
 *
 * Main types: struct search_problem.
 * Uses: nobody
 * Public headers: search.h
 * Shown by: tests/unit/search, build/bench/bind
 *
 * Search: which berth goes to which slot, so that a step takes least time. Berths are the gpus of
 * tasks, slots the gpus of a node; here both are numbers, and what a choice costs is asked of the
 * caller.
 *
 * What is less: tasks without room (struct search_problem); the time of the step; among equals how
 * far the slots of each task are apart; then the sum of the flows' times; then how far the slots
 * are from what their tasks need; then what flows with something outside share on their way there;
 * then the lowest numbers, berth by berth. Times that differ by less than SEARCH_SAME of them are
 * equal.
 *
 * Up to SEARCH_EXACT_SLOTS slots, or SEARCH_EXACT_CHOICES choices, every choice is looked at or
 * ruled out: branch and bound, with tasks that traffic cannot tell apart and slots that nothing
 * tells apart merged. Once the least time is found and proven, those that take as long are told
 * apart among choices of SEARCH_TIES_FLOWS flows in all. With more, or more tasks than that search
 * gets through, a greedy start, annealing with a seed and a number of steps that are fixed, and
 * swaps; the gap is then to a bound that no choice is below.
 *
 * Pure: no clock, the same problem has the same answer. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEARCH_EXACT_SLOTS   8
#define SEARCH_EXACT_CHOICES 50000 /* on more slots, where each task has its own */
#define SEARCH_SLOTS_MAX     256
#define SEARCH_RESOURCES_MAX 65535
#define SEARCH_ANYWHERE      UINT16_MAX
#define SEARCH_SAME          1e-9
#define SEARCH_TIES_FLOWS    2500
/* however little is known: a choice that is better by more goes before the slots in order */
#define SEARCH_SETTLED 0.03

struct search_cost {
    double time_ns;
    double apart; /* of the slots of each task */
    double sum_ns;
    double far;
    double crowd; /* how much flows with something outside share on their way */
    /* tasks for which there is no room where their slots are; less of these goes before all else */
    size_t over;
    /* what asking took, in flows looked at: a search that has asked for much asks no more.
     * Nothing is compared by it */
    double looked;
};

/* What one flow puts on a resource: the time that it would take all of it for itself. */
struct search_use {
    uint16_t resource;
    double ns;
};

/* A flow of one kind between two slots. */
struct search_arc {
    double alone_ns;
    double launch_ns;        /* what each that its task begins before it adds */
    uint32_t use, use_count; /* a range of the problem's uses */
};

/* Flows of a kind are alike but for their ends: as many bytes, to a berth or to the same sort of
 * place outside. */
struct search_flow {
    uint16_t kind;
    int32_t from, to; /* berths; to -1: from's own, with something outside */
    uint16_t turn;    /* so many its task begins before it, wherever it is */
};

struct search_problem {
    size_t slots;
    /* each task has each berths, numbered one after the other, on slots that ascend */
    size_t tasks, each;
    /* tasks on one slot at most; with more than 1, each is 1. All slots have as many, or one less
     * than the fullest */
    size_t share;
    bool in_order; /* slots ascend from task to task */
    const struct search_flow *flow;
    size_t flow_count;
    size_t kinds;
    /* by kind, from's slot, to's slot; of a flow without to, by kind and twice from's slot */
    const struct search_arc *arc;
    const struct search_use *use;
    size_t resources;
    /* by resource: those of different sorts are not alike, even if they are used alike */
    const uint16_t *sort;
    /* by resource: what a flow that uses it takes at least beside what it puts there; NULL
     * nothing */
    const double *start_ns;
    const double *far;   /* by slot */
    const double *apart; /* by slot and slot: of one task */
    /* by slot and slot: how much flows with something outside share; NULL nothing */
    const double *meet;
    /* by slot: where a task is whose first slot that is, SEARCH_ANYWHERE: room for all */
    const uint16_t *unit;
    const uint16_t *most; /* by unit: tasks for which there is room; NULL: for all */
    double least_ns;      /* no choice takes less, as the caller knows; 0 nothing */
    /* who takes so long, or longer, is not wanted: which of equals it is does not matter then. 0:
     * all are */
    double unwanted_ns;
    /* apart, far and crowd are not looked at */
    struct search_cost (*price)(void *context, const uint16_t *slot);
    void *context;
};

struct search_result {
    struct search_cost cost;
    bool is_proven;  /* nothing costs less */
    double bound_ns; /* no choice takes less time; the cost's when it is proven */
    /* once settled: what differs by less than this fraction takes as long as far as is known */
    double known;
    bool is_in_order; /* likewise: slots are */
    /* how much longer than the best the slots in order take that stand for it, as a fraction of
     * its time: no more than that is known to */
    double settled;
    uint64_t looked, priced; /* partial choices, and whole ones whose price was asked */
};

/* The best found: ret_slot has room for tasks * each berths. They must fit: tasks * each <= slots *
 * share. False when out of memory. */
bool plan_search(const struct search_problem *problem, uint16_t *ret_slot,
                 struct search_result *ret);

/* The bound_ns that such a search begins with, without one: no choice takes less time. False when
 * out of memory. */
bool plan_search_least(const struct search_problem *problem, double *ret_ns);

/* Takes the slots in order instead, if they take as long to within same, a fraction of it, and
 * SEARCH_SETTLED, a task's are no farther apart, all flows together take as long to within same,
 * none is farther, and no more is shared on the way outside. slot and result are plan_search's,
 * whose bound stays. False when out of memory. */
bool plan_search_settle(const struct search_problem *problem, double same, uint16_t *slot,
                        struct search_result *result);

/* Whether slots in order are as good, likewise, as other ones that another search found, as where
 * other mechanisms copy; both settled. */
bool plan_search_is_as_good(const struct search_result *in_order,
                            const struct search_result *other);
