/**
 * What is behind the time of an iteration, and what is not known of it: evidence, warnings, and
 * what keeps it from counting as proven. Each reads the flows as iteration_run has left them. Pure;
 * any thread.
 */
#pragma once
#include "cost/evidence.h"
#include "cost/iteration.h"
#include "node/reasons.h"

/* Returns a run of several of the flows that got less together than limits explain, or more; NULL
 * none. */
const struct set *iteration_unexplained(const struct snapshot *snap, const struct flow *flows,
                                        size_t count);

/* Cites the numbers behind a flow from index start on, then those behind the flows that the same
 * limit slowed. */
void iteration_cite(const struct snapshot *snap, const struct flow *flows, size_t count,
                    size_t last, struct evidence *evidence, size_t start);

/* Warns of rates that were not measured and of unknown paths. prefix: of subjects, of an iteration
 * that the answer's is compared with; it adds to no code that the answer's has. */
void iteration_warn_of_transfers(const struct snapshot *snap, const struct flow *flows,
                                 size_t count, const char *prefix, struct reasons *warnings);

/* Warns of a run that limits do not explain, and of values that runs contradict. */
void iteration_warn(const struct snapshot *snap, const struct flow *flows, size_t count,
                    struct reasons *warnings);

/* Flows of which no measurement says what they get together: two between GPUs that meet at one on
 * their way through the host, or more through a link between packages than a run had. They count as
 * slowing each other no more than structure says. */
struct untried {
    const struct user *pair[2]; /* that meet; NULL none */
    const struct limit *link;   /* between packages; NULL none */
    size_t users;               /* of link */
};
struct untried iteration_untried(const struct snapshot *snap, const struct flow *flows,
                                 size_t count);

static inline bool iteration_is_untried(const struct untried *untried)
{
    return untried->pair[0] != NULL || untried->link != NULL;
}
