/* From values that are out of line to findings: one for each series and rule, the worst first; each
 * names the place that is to blame. */
#pragma once
#include "health/judge_part.h"

enum judge_rule { RULE_NOMINAL, RULE_LIKES, RULE_BASELINE, RULE_BETTER, RULE_COUNT };

/* A value that is out of line by one rule. */
struct suspect {
    const struct value *value;
    enum judge_rule rule;
    double expected;
    double goodness;    /* 1 is as expected, 0.5 half as good */
    size_t others;      /* how many values the expectation comes from; 0 with nominal */
    bool is_overloaded; /* baseline: the latest run was on a node with more work than CPUs */
    place_id cause;     /* judge_report sets it */
    unsigned runs;      /* baseline: in how many runs it was under BASELINE_LOW */
};

struct suspects {
    struct suspect *item; /* has room for one of every rule for each value */
    size_t count;
};

void judge_report_add(struct suspects *suspects, const struct suspect *suspect);

/* Adds the findings to work, to be listed those of at most 64 causes that are worse than expected
 * and of 64 that are better, and what counts the rest; reorders the suspects. NO_MEMORY. */
enum berth_code judge_report(struct judge_work *work, struct suspects *suspects,
                             struct berth_err *err);
