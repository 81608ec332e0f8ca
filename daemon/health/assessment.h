/**
 * Assesses a node's health from one snapshot: links, notes and measured values. Compares each value
 * with nominal, its peers and its own baseline. docs/HEALTH.md has the rules.
 *
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "health/limits.h"
#include "node/snapshot.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
enum verdict { VERDICT_HEALTHY, VERDICT_DEGRADED, VERDICT_UNHEALTHY, VERDICT_UNKNOWN };

const char *assessment_severity_name(enum severity severity);
const char *assessment_verdict_name(enum verdict verdict);

/* least time from the measurement that first saw a worse value to the one that confirms it */
#define ASSESSMENT_SECOND_LOOK_S 120
/* least time to a measurement between the same places that has left a cell out; the programs of one
 * full run measure different cells there one after the other */
#define ASSESSMENT_LEFT_OUT_S 3600
/* longest time between findings of one cause that are one finding */
#define ASSESSMENT_ONE_CAUSE_S 86400

#define ASSESSMENT_REASON_SIZE 121 /* length of a scheduler's drain reason: 120 characters */

/* Transfers that use the links of a finding. */
enum finding_scope {
    SCOPE_NONE,  /* none: the finding is about no link */
    SCOPE_PAIR,  /* between first and second, or places within them */
    SCOPE_PEERS, /* between the GPU first and other GPUs */
    SCOPE_HOST,  /* between the GPU first and the host */
};

struct finding {
    enum severity severity;
    char place[20];
    /* stable, lower case: "link-down", "slower-than-peers", "below-nominal", a note's code */
    char code[32];
    /* object of the finding at that place; (code, place, subject) is the same in every run */
    char subject[FINDING_SUBJECT_SIZE];
    /* place to blame for the values out of line; PLACE_NONE when it concerns no value */
    place_id cause;
    /* kept but not shown: another finding represents it, or its cause is beyond the listed ones */
    bool is_unlisted;
    bool is_rest;             /* it counts the values of causes beyond the listed ones */
    unsigned represents;      /* number of unlisted findings of its cause and since_s */
    size_t represented_by;    /* number of the finding of its cause and since_s; 0 none */
    enum finding_scope scope; /* for a fact about links; uses first, second and remaining */
    place_id first, second;
    double remaining; /* remaining fraction of the links' bandwidth; 0 unknown or none */
    size_t explains;  /* number of slow values over these links that the fact explains */
    size_t number;    /* from 1, in the order of discovery */
    /* number of the fact that explains this one, which is then not shown; 0 none */
    size_t explained_by;
    /* value in the snapshot that the finding is about, borrowed; NULL none */
    const struct value *of;
    char text[256];
    double value, expected; /* in unit; NAN none */
    const char *unit;       /* static; NULL none */
    /* value as a fraction of the expected one; 0 when it concerns no value */
    double goodness;
    bool drain; /* sufficient reason to drain the node */
    /* one measurement saw it, and a second is to confirm it: no part of verdict, reason and drain
     */
    bool is_unconfirmed;
    int64_t at_s;    /* time of the measurement or note; 0 unknown */
    int64_t since_s; /* time when it appeared; 0 unknown */
};

/* True for a finding of the list: confirmed, and not represented by another. */
static inline bool assessment_lists(const struct finding *finding)
{
    return !finding->is_unlisted && !finding->is_unconfirmed;
}

struct assessment {
    /* from the worst finding; unknown when nothing was measured and nothing is wrong */
    enum verdict verdict;
    /* a finding advises to drain, such as a link that is down or three runs below 80 % of the
     * baseline */
    bool drain;
    char reason[ASSESSMENT_REASON_SIZE];
    struct finding *finding; /* owned; worst first, unconfirmed ones last */
    size_t count;
    bool is_cut; /* more values are out of line than there are findings */
};

/* Returns the worst of the snapshot's findings about that series; NULL none. */
const struct opened *assessment_of_series(const struct snapshot *snap, enum metric metric,
                                          place_id from, place_id to, const char *axes);

/* Assesses the selected places, by place id, with everything inside them; NULL the whole node. End
 * *ret with assessment_done. Fails only with NO_MEMORY. */
enum berth_code health_assess(const struct snapshot *snap, const bool *selected,
                              const struct health_limits *limits, struct assessment *ret,
                              struct berth_err *err);
void assessment_done(struct assessment *assessment);
