/**
 * Judges a node's health from one snapshot: links and notes, measured against nominal, and like against like.
 * docs/ADVICE.md has the rules; the thresholds are one table in judge_values.c.
 *
 * Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "snapshot.h"

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
enum verdict { VERDICT_HEALTHY, VERDICT_DEGRADED, VERDICT_UNHEALTHY, VERDICT_UNKNOWN };

const char *judge_severity_name(enum severity severity);
const char *judge_verdict_name(enum verdict verdict);

#define JUDGE_REASON_SIZE 121 /* a scheduler's drain reason: 120 characters */

struct finding {
    enum severity severity;
    char place[20];
    char code[32];          /* stable, lower case: "link-down", "slower-than-likes", "below-nominal", a note's code */
    char text[256];
    double value, expected; /* NAN: none; of unit */
    const char *unit;       /* static; NULL none */
    int64_t since_s;        /* 0 unknown */
};

struct judgement {
    enum verdict verdict;          /* the worst finding; unknown when nothing was measured and nothing is wrong */
    bool drain;                    /* only for a gpu's link down */
    char reason[JUDGE_REASON_SIZE];
    struct finding *finding;       /* owned; worst first */
    size_t count;
};

/* selected: by place id, what to look at (with all that is inside); NULL the whole node. Fails only with NO_MEMORY. */
enum berth_code judge(const struct snapshot *snap, const bool *selected, struct judgement *ret, struct berth_err *err);
void judge_done(struct judgement *judgement);
