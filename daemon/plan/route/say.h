/**
 * What an answer of Route says in words: warnings, what doing without kernels costs, and the
 * numbers that decided, a sentence each that a person can check.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/route/answer.h"

/* An answer whose options are priced, cited and in order. */
struct route_said {
    const struct snapshot *snap;
    const struct plan_pairs *pairs;
    const struct route_request *request;
    struct route_answer *answer;
};

void plan_route_say_warnings(const struct route_said *said);

/* Where kernels are not wanted: what that costs, and where copy engines end; what it rests on is
 * added to the first option, which is the last that was cited. NO_MEMORY. */
enum berth_code plan_route_say_overlap(const struct route_said *said, struct berth_err *err);

/* Into the answer's reasons. */
void plan_route_say_reasons(const struct route_said *said);
