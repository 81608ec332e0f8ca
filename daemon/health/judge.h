/**
 * Judges a node's health from one snapshot: links and notes, and each measured value against
 * nominal, against its likes and against its own baseline. docs/ADVICE.md has the rules.
 *
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "health/judge_limits.h"
#include "node/snapshot.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
enum verdict { VERDICT_HEALTHY, VERDICT_DEGRADED, VERDICT_UNHEALTHY, VERDICT_UNKNOWN };

const char *judge_severity_name(enum severity severity);
const char *judge_verdict_name(enum verdict verdict);

#define JUDGE_REASON_SIZE 121 /* a scheduler's drain reason: 120 characters */

/* Which transfers go over the links that a finding is about. */
enum judge_over {
    OVER_NOTHING, /* it is about no link */
    OVER_PAIR,    /* those between first and second, or what is within them */
    OVER_PEERS,   /* those between the gpu first and other gpus */
    OVER_HOST,    /* those that leave the gpu first for the host */
};

struct finding {
    enum severity severity;
    char place[20];
    /* stable, lower case: "link-down", "slower-than-likes", "below-nominal", a note's code */
    char code[32];
    /* what it is about at that place: with code and place the same from run to run */
    char subject[FINDING_SUBJECT_SIZE];
    /* the place that the values out of line have in common; PLACE_NONE when it is about no value */
    place_id cause;
    /* another finding stands for it, or it is one cause more than anybody would read: kept, not
     * shown */
    bool is_unlisted;
    unsigned stands_for;  /* how many others of its cause and since_s it is shown for */
    enum judge_over over; /* of a fact about links; first, second and left belong to it */
    place_id first, second;
    double left; /* the share of the links' rate that is left; 0 when that is not known, or none */
    size_t explains; /* slow values over these links, for which the fact stands */
    size_t number;   /* from 1, as they were found */
    /* the number of the fact that stands for this one, which is not shown; 0 none */
    size_t explained_by;
    const struct value *of; /* the value that it is about, of the snapshot; NULL none */
    char text[256];
    double value, expected; /* NAN: none; of unit */
    const char *unit;       /* static; NULL none */
    /* of a value: as a share of what is expected; 0 for what is about no value */
    double goodness;
    bool drain;      /* reason enough to drain the node */
    int64_t at_s;    /* when what it is about was measured or noted; 0 unknown */
    int64_t since_s; /* when it appeared; 0 unknown */
};

struct judgement {
    /* the worst finding; unknown when nothing was measured and nothing is wrong */
    enum verdict verdict;
    /* a link is down, or a value was under 80 % of its baseline in three runs */
    bool drain;
    char reason[JUDGE_REASON_SIZE];
    struct finding *finding; /* owned; worst first */
    size_t count;
    bool is_cut; /* more values are out of line than have a finding */
};

/* selected: by place id, what to look at (with all that is inside); NULL the whole node. Fails only
 * with NO_MEMORY. */
enum berth_code judge(const struct snapshot *snap, const bool *selected,
                      const struct judge_limits *limits, struct judgement *ret,
                      struct berth_err *err);
void judge_done(struct judgement *judgement);
