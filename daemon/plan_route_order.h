/**
 * Which of an answer's options goes first, and in what order the others follow. Route's own (plan_route.c), while it makes an answer.
 */
#pragma once
#include "plan_route_answer.h"

/* By what is known, and then by time. What takes several transfers leads where it is clear (is_clear, which this finds) and better than a direct way by more than the answer's doubt, which is how
 * far their intervals go, ROUTE_DOUBT_MOST at most; ROUTE_DOUBT where one is unknown. */
void plan_route_order(struct route_answer *answer);
