/**
 * Bind's plan under a claim's key: the first one stands, and the same request gets it again. Pure;
 * any thread.
 */
#pragma once
#include <jansson.h>

#include "base/err.h"
#include "claim/claim.h"

/* bytes of request and answer together that a claim keeps */
#define CLAIM_PLAN_MAX (256 * 1024)

/* What is asked, in a text that is the same for the same request: the parameters without the key
 * and without nulls. The caller frees; NULL when out of memory. */
char *claim_plan_text(const json_t *params);

/* The answer that stands under the claim, as a new reference; *ret_answer stays NULL when there is
 * none yet. KEY_MISMATCH names the first parameter that differs; NO_MEMORY. */
enum berth_code claim_plan_recall(const struct claim *claim, const char *asked, json_t **ret_answer,
                                  struct berth_err *err);
