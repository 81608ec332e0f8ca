/**
 * Reads a reply into a result. The result's strings stay in the parsed reply, its arrays in blocks
 * of their own. An arena in front of the result owns both and ends with it.
 *
 * A reader notes the first error and from then on gives empty values. A result is therefore read
 * without checks in between; lib_result_end checks once.
 */
#pragma once
#include "lib/lib.h"

struct lib_read {
    struct lib_arena *arena;
    bool out_of_memory;
    char wrong[96]; /* first error; "" none */
};

/* Makes a zeroed result of size bytes that owns take_reply. NULL only when out of memory;
 * take_reply is then released. */
void *lib_result_new(size_t size, json_t *take_reply, struct lib_read *ret_read);
void lib_result_free(void *result);

/* Makes a zeroed array that ends with the result; NULL when out of memory, which the reader notes.
 */
void *lib_result_block(struct lib_read *read, size_t count, size_t size);

/* Returns DONE, or the first error; the result is then freed. method: name for the message. */
int lib_result_end(struct berth *berth, struct lib_read *read, const char *method,
                   void *take_result);

/* Read members of an object. A plain reader needs the member; lib_read_texts and lib_read_pairs
 * accept an absent one. A maybe reader accepts an absent or null one. The comment above a reader
 * gives its value then. */
const char *lib_read_text(struct lib_read *read, const json_t *object, const char *key);
/* NULL when absent */
const char *lib_read_maybe_text(struct lib_read *read, const json_t *object, const char *key);
int64_t lib_read_integer(struct lib_read *read, const json_t *object, const char *key);
/* -1 when absent */
int64_t lib_read_maybe_integer(struct lib_read *read, const json_t *object, const char *key);
/* NAN when absent */
double lib_read_maybe_number(struct lib_read *read, const json_t *object, const char *key);
int lib_read_bool(struct lib_read *read, const json_t *object, const char *key);
/* empty when absent */
struct berth_texts lib_read_texts(struct lib_read *read, const json_t *object, const char *key);
/* empty when absent or null */
struct berth_reasons lib_read_reasons(struct lib_read *read, const json_t *object, const char *key);
/* empty when absent */
struct berth_pairs lib_read_pairs(struct lib_read *read, const json_t *object, const char *key);

/* Index of the text in names, 0 for any other text. names[0] stands for UNKNOWN and is never
 * compared; names ends with NULL. */
int lib_read_enum(struct lib_read *read, const json_t *object, const char *key,
                  const char *const *names);

/* Reads an array of objects. Returns a zeroed array of as many elements of size bytes, to be filled
 * from ret_array. */
void *lib_read_array(struct lib_read *read, const json_t *object, const char *key, size_t size,
                     const json_t **ret_array, size_t *ret_count);

/* Types that several answers share. */
struct berth_basis lib_read_basis(struct lib_read *read, const json_t *object);
struct berth_prediction lib_read_prediction(struct lib_read *read, const json_t *object,
                                            const char *key);
const struct berth_evidence *lib_read_evidence(struct lib_read *read, const json_t *object,
                                               const char *key, size_t *ret_count);

extern const char *const lib_origin_names[], *const lib_source_names[], *const lib_kind_names[];
