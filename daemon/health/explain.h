/**
 * One finding per cause: a fact about links explains the slow values of transfers over these links.
 *
 * Pure; any thread.
 */
#pragma once
#include "health/findings.h"

/* Sets the transfers that use a link which is down or degraded. */
void explain_link(const struct graph *graph, const struct link *link, struct finding *finding);

/* Marks explained findings as unlisted. Each fact names its worst value and takes on the severity
 * of the explained ones. A fact of severity info explains nothing, because GPUs that are not slow
 * have it too. Fails with NO_MEMORY. */
enum berth_code explain_values(struct findings *findings, struct berth_err *err);
