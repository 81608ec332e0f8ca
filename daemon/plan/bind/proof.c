#include "plan/bind/proof.h"

#include <math.h>

#include "node/reasons.h"

#define GAP_MOST 10 /* a time that is less than a tenth of another one says nothing of it */

static const char *why_not(const struct bind_traffic *traffic, const struct bind_priced *ours,
                           bool is_as_searched, double bound_ns, double gap)
{
    if (isnan(gap) && bound_ns > 0)
        return "what is certain of every choice is less than a tenth of its time";
    if (!is_as_searched)
        return "a task has other memory than that next to its gpus, with which choices were "
               "weighed";
    if (ours->lacking > 0)
        return "choices differ in which transfers have a price";
    if (isnan(gap))
        return "nothing is certain of so many different transfers";
    return traffic->found.is_proven
               ? "one way of copying for all gpus is taken where several are hardly faster"
               : "there are more choices than were looked at";
}

/* What keeps the prediction from being a proof, whatever was searched; false nothing. */
static bool say_unknown(const struct graph *graph, const struct bind_priced *ours,
                        struct reasons *reasons)
{
    static const char begin[] =
        "not proven to be the best: it is the best found with what was measured, and";
    if (!ours->is_explained)
        reasons_note(reasons,
                     "%s what some of its transfers were measured to get together is not explained "
                     "(a warning names them)",
                     begin);
    else if (ours->untried.between != NULL)
        reasons_note(reasons, "%s what %zu get together through %s was not", begin,
                     ours->untried.users, ours->untried.between->name);
    else if (ours->untried.is_any)
        reasons_note(reasons, "%s what %s to %s and %s to %s get together was not", begin,
                     graph_place(graph, ours->untried_ends[0][0])->name,
                     graph_place(graph, ours->untried_ends[0][1])->name,
                     graph_place(graph, ours->untried_ends[1][0])->name,
                     graph_place(graph, ours->untried_ends[1][1])->name);
    return !ours->is_explained || ours->untried.is_any;
}

void plan_bind_proof(const struct bind_traffic *traffic, const struct graph *graph,
                     const struct bind_priced *ours, bool is_as_searched,
                     struct bind_answer *answer)
{
    bool is_mixed = plan_bind_price_is_mixed(traffic->price);
    /* nothing says how much more it takes than another choice */
    bool is_open =
        is_mixed && (ours->is_least || ours->assumed_ns > PRICE_SETTLED * ours->step.time_ns);
    double bound_ns = is_as_searched ? traffic->bound_ns : 0,
           given = is_mixed ? fmax(traffic->found.settled, PRICE_SETTLED) : traffic->found.settled;
    bool is_unknown = say_unknown(graph, ours, &answer->reasons);
    answer->is_proven = traffic->found.is_proven && !is_open && !is_unknown &&
                        ours->step.time_ns <= bound_ns * (1 + given) * (1 + SEARCH_SAME);
    bool is_bound = bound_ns > 0 && ours->step.time_ns <= GAP_MOST * bound_ns;
    double above = is_bound ? ours->step.time_ns / bound_ns - 1 : answer->is_proven ? 0 : NAN;
    answer->gap = is_open || is_unknown ? NAN : above <= SEARCH_SAME ? 0 : above;
    if (is_unknown)
        return;
    if (is_open)
        reasons_note(&answer->reasons,
                     "not proven to be the best: %s, as what starting a transfer costs is known of "
                     "some gpus only; the others count as starting like the fastest known",
                     ours->is_least ? "its time is a lower bound"
                                    : "other choices' times are lower bounds");
    else if (!answer->is_proven)
        reasons_note(&answer->reasons, "not proven to be the best: %s",
                     why_not(traffic, ours, is_as_searched, bound_ns, answer->gap));
}
