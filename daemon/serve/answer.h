/**
 * Parts shared by the planners' replies. The print functions append the next JSON value. The others
 * return a new reference, or NULL when out of memory.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/print.h"
#include "cost/estimate.h"
#include "cost/evidence.h"
#include "node/reasons.h"
#include "node/snapshot.h"
#include "serve/report_keep.h"

/* Prints null when there is no time. bottleneck: NULL none. */
void answer_print_prediction(struct print *print, const struct report_named *prediction,
                             const char *bottleneck);

/* Prints count entries of the evidence, beginning with first. */
void answer_print_evidence(struct print *print, const struct snapshot *snap,
                           const struct evidence *evidence, size_t first, size_t count);
void answer_print_reasons(struct print *print, const struct reasons *reasons);

/* Returns null when there is no time. bottleneck: NULL none. */
json_t *answer_prediction(const struct report_named *prediction, const char *bottleneck);

/* Returns null where the reports are 0. */
json_t *answer_correction(const struct correction *correction, bool is_own);

/* The name of a source on the wire. */
const char *answer_source_name(enum source source);

/* Returns count entries of the evidence, beginning with first. */
json_t *answer_evidence(const struct snapshot *snap, const struct evidence *evidence, size_t first,
                        size_t count);
json_t *answer_reason(const struct reason *reason);
json_t *answer_reasons(const struct reasons *reasons);

/* Adds take_value to object or array. Frees it and returns false when it is NULL or memory runs
 * out. key must be a literal in ASCII. */
bool answer_set(json_t *object, const char *key, json_t *take_value);
bool answer_append(json_t *array, json_t *take_value);
