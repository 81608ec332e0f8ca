/**
 * Reading a reply into a result. The result's strings stay in the parsed reply and its arrays in
 * blocks of their own; both live in the arena that stands in front of the result and go with it.
 *
 * A reader notes the first thing that is wrong and from then on gives empty values, so that a
 * result is read straight through and checked once, by lib_result_end.
 */
#pragma once
#include "lib/lib.h"

struct lib_read {
    struct lib_arena *arena;
    bool out_of_memory;
    char wrong[96]; /* "" all is well */
};

/* A result of size bytes, zeroed, that owns take_reply. NULL only when out of memory; take_reply is
 * released then. */
void *lib_result_new(size_t size, json_t *take_reply, struct lib_read *ret_read);
void lib_result_free(void *result);

/* A zeroed array that goes with the result; NULL when out of memory, which the reader notes. */
void *lib_result_block(struct lib_read *read, size_t count, size_t size);

/* DONE, or why the result is none; it is freed then. method is for the message. */
int lib_result_end(struct berth *berth, struct lib_read *read, const char *method,
                   void *take_result);

/* Members of an object. The plain ones must be there; a maybe may be absent or null. */
const char *lib_read_text(struct lib_read *read, const json_t *object, const char *key);
/* NULL */
const char *lib_read_maybe_text(struct lib_read *read, const json_t *object, const char *key);
int64_t lib_read_integer(struct lib_read *read, const json_t *object, const char *key);
/* -1 */
int64_t lib_read_maybe_integer(struct lib_read *read, const json_t *object, const char *key);
/* NAN */
double lib_read_maybe_number(struct lib_read *read, const json_t *object, const char *key);
int lib_read_bool(struct lib_read *read, const json_t *object, const char *key);
/* absent: none */
struct berth_texts lib_read_texts(struct lib_read *read, const json_t *object, const char *key);
/* absent: none */
struct berth_pairs lib_read_pairs(struct lib_read *read, const json_t *object, const char *key);

/* The index of the text in names (names[0] is never compared and stands for UNKNOWN; names ends
 * with NULL), 0 for any other text. */
int lib_read_enum(struct lib_read *read, const json_t *object, const char *key,
                  const char *const *names);

/* An array of objects and a zeroed array of as many elements of size bytes to fill from it. */
void *lib_read_array(struct lib_read *read, const json_t *object, const char *key, size_t size,
                     const json_t **ret_array, size_t *ret_count);

/* Types that several answers have. */
struct berth_basis lib_read_basis(struct lib_read *read, const json_t *object);
struct berth_prediction lib_read_prediction(struct lib_read *read, const json_t *object,
                                            const char *key);
const struct berth_evidence *lib_read_evidence(struct lib_read *read, const json_t *object,
                                               const char *key, size_t *ret_count);

extern const char *const lib_origin_names[], *const lib_source_names[], *const lib_kind_names[];
