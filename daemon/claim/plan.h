/**
 * Bind's plan under a claim's key: the first plan is kept, and the same request gets it again.
 * Pure; any thread.
 */
#pragma once
#include <jansson.h>

#include "base/err.h"
#include "claim/claim.h"

/* largest request and answer of one claim together, in bytes */
#define CLAIM_PLAN_MAX (256 * 1024)

/* Returns the request as canonical text: the parameters without key and nulls, names sorted. The
 * caller frees it; NULL when out of memory. */
char *claim_plan_text(const json_t *params);

/* Returns the kept answer as a new reference; *ret_answer stays NULL when there is none yet. Fails
 * with KEY_MISMATCH, which names the first parameter that differs, and with NO_MEMORY. */
enum berth_code claim_plan_recall(const struct claim *claim, const char *asked, json_t **ret_answer,
                                  struct berth_err *err);
