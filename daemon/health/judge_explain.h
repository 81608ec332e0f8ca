/**
 * One cause, one finding: a fact about links stands for the slow values of transfers over these
 * links.
 *
 * Pure; any thread.
 */
#pragma once
#include "health/judge_part.h"

/* Sets which transfers go over a link that is down or degraded. */
void judge_explain_link(const struct graph *graph, const struct link *link,
                        struct finding *finding);

/* Marks what facts explain: those findings are kept, not shown, and the facts name them and become
 * as grave as they are. A fact of severity info explains nothing: the same is true of gpus that are
 * not slow. NO_MEMORY. */
enum berth_code judge_explain(struct judge_work *work, struct berth_err *err);
