#include "plan_bind_proof.h"

#include <math.h>

void plan_bind_proof(const struct bind_traffic *traffic, const struct bind_priced *ours, bool is_as_searched, struct bind_answer *answer)
{
    bool is_mixed = plan_bind_price_is_mixed(traffic->price);
    bool is_open = is_mixed && (ours->is_least || ours->assumed_ns > SEARCH_SETTLED * ours->step.time_ns); /* nothing says how much more it takes than another choice */
    double bound_ns = traffic->bound_ns, given = is_mixed ? fmax(traffic->found.settled, SEARCH_SETTLED) : traffic->found.settled;
    answer->is_proven = traffic->found.is_proven && is_as_searched && !is_open && ours->step.time_ns <= bound_ns * (1 + given) * (1 + SEARCH_SAME);
    answer->gap = !is_as_searched || is_open ? NAN : bound_ns > 0 ? fmax(ours->step.time_ns / bound_ns - 1, 0) : answer->is_proven ? 0 : NAN;
    if (is_open)
        plan_warn(&answer->reasons, "not proven to be the best: %s, as what starting a transfer costs is known of some gpus only; the others count as starting like the fastest known",
                  ours->is_least ? "its time is a lower bound" : "other choices' times are lower bounds");
}
