/* Findings from values out of line: one for each series and rule, the worst first. Each names the
 * place to blame. */
#pragma once
#include "health/findings.h"

/* in the order of their codes, which decides between equal findings */
enum suspect_rule { RULE_NOMINAL, RULE_BASELINE, RULE_PEERS, RULE_BETTER, RULE_COUNT };

/* A value that is out of line by one rule. */
struct suspect {
    const struct value *value;
    enum suspect_rule rule;
    double expected;
    double goodness;    /* 1 as expected, 0.5 half as good */
    size_t others;      /* number of values that the expectation comes from; 0 with nominal */
    bool is_overloaded; /* baseline: the latest run was on a node with more runnable work than CPUs
                         */
    place_id cause;     /* set by suspects_report */
    unsigned runs;      /* baseline: number of successive runs under BASELINE_LOW */
};

struct suspects {
    struct suspect *item; /* room for every rule of each value */
    size_t count;
};

void suspects_add(struct suspects *suspects, const struct suspect *suspect);

/* Adds the findings to findings. At most 64 causes of worse values and 64 of better ones are
 * listed; one more finding per group counts the rest. Reorders the suspects. Fails with NO_MEMORY.
 */
enum berth_code suspects_report(struct findings *findings, struct suspects *suspects,
                                struct berth_err *err);
