/**
 * Parts of replies that several methods share.
 */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/print.h"
#include "node/graph.h"
#include "node/snapshot.h"
#include "node/values.h"

/* A JSON number, or null for NAN. */
json_t *jsonify_number(double value);

/* A JSON string, or null for NULL. Bytes that are not UTF-8 become '?'. */
json_t *jsonify_text(const char *text);

/* An integer, or null below 0. */
json_t *jsonify_count(int64_t value);

json_t *jsonify_strings(char *const *text, size_t count);

/* { key: value, ... } */
json_t *jsonify_details(const struct detail *details, size_t count);

/* The Basis of an answer: snapshot, generation of the claims, origin. */
json_t *jsonify_basis(const struct snapshot *snap, uint64_t claims);

/* Every axis of the metric with its value, defaults filled in. */
json_t *jsonify_axes(enum metric metric, const char *axes);

/* The basis and the axes as text. */
void jsonify_print_basis(struct print *print, const struct snapshot *snap, uint64_t claims);
void jsonify_print_axes(struct print *print, enum metric metric, const char *axes);
