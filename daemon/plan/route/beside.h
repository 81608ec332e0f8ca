/**
 * Which ways through other memories and which splits Route gives beside what moves meanwhile.
 * Route's own (plan/route/route.c), while it makes an answer.
 *
 * Each is weighed with what it then shares, and of all that are allowed the fastest stands for each
 * sort, if it may lead, so that one more gpu, or kernels, are no loss. What takes longer alone than
 * the best beside the others is not looked at.
 */
#pragma once
#include "plan/route/price.h"

/* Adds them to the answer's options, which are the direct ways yet, priced with what they share.
 * NO_MEMORY. */
enum berth_code plan_route_beside(struct route_work *work, struct berth_err *err);
