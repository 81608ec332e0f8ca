/**
 * Parts that the replies of planners share. As text: the next value of what is printed. As trees: a
 * new reference, or NULL when out of memory.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/print.h"
#include "cost/evidence.h"
#include "node/snapshot.h"
#include "node/warnings.h"

/* null when there is no time. */
void answer_print_prediction(struct print *print, const struct prediction *prediction,
                             bool is_measured);

/* count entries of the evidence from first on. */
void answer_print_evidence(struct print *print, const struct snapshot *snap,
                           const struct evidence *evidence, size_t first, size_t count);
void answer_print_warnings(struct print *print, const struct warnings *warnings);

/* count entries of the evidence from first on. */
json_t *answer_evidence(const struct snapshot *snap, const struct evidence *evidence, size_t first,
                        size_t count);
json_t *answer_warnings(const struct warnings *warnings);

/* Adds take_value to object or array; false when it is NULL or memory runs out, and it is freed
 * then. Keys are literals of ours. */
bool answer_set(json_t *object, const char *key, json_t *take_value);
bool answer_append(json_t *array, json_t *take_value);
