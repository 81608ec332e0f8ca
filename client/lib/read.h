/**
 * Reads a reply into a result. The result's strings stay in the parsed reply, its arrays in blocks
 * of their own. An arena in front of the result owns both and ends with it.
 *
 * A reader notes the first error and from then on gives empty values. A result is therefore read
 * without checks in between; lib_result_end checks once. An array without room, or with another
 * element than an object, is empty.
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

/* Fills a zeroed structure, an answer or an element of its arrays, from its JSON object. */
typedef void lib_fill_fn(struct lib_read *read, const json_t *object, void *ret);

/* Reads the parameters of a reply as a result of size bytes. ret_result: address of the caller's
 * pointer to it, untouched on failure. Takes the reply also on failure. Fails with PROTOCOL and
 * OUT_OF_MEMORY. */
int lib_read_reply(struct berth *berth, const char *method, json_t *take_reply, size_t size,
                   lib_fill_fn *fill, void *ret_result);

/* Calls a method and reads its reply. */
int lib_ask(struct berth *berth, const char *method, json_t *take_parameters, size_t size,
            lib_fill_fn *fill, void *ret_result);

/* Notes an error: "KEY is WHAT". */
void lib_read_wrong(struct lib_read *read, const char *key, const char *what);

/* Read members of an object. A plain reader needs the member; lib_read_texts and lib_read_pairs
 * accept an absent one. A maybe reader accepts an absent or null one. The comment above a reader
 * gives its value then. */
const char *lib_read_text(struct lib_read *read, const json_t *object, const char *key);
/* NULL when absent */
const char *lib_read_maybe_text(struct lib_read *read, const json_t *object, const char *key);
int64_t lib_read_integer(struct lib_read *read, const json_t *object, const char *key);
int lib_read_int(struct lib_read *read, const json_t *object, const char *key);
/* at least 0 */
size_t lib_read_size(struct lib_read *read, const json_t *object, const char *key);
double lib_read_number(struct lib_read *read, const json_t *object, const char *key);
/* -1 when absent */
int64_t lib_read_maybe_integer(struct lib_read *read, const json_t *object, const char *key);
/* NAN when absent */
double lib_read_maybe_number(struct lib_read *read, const json_t *object, const char *key);
int lib_read_bool(struct lib_read *read, const json_t *object, const char *key);
/* -1 when absent */
int lib_read_maybe_bool(struct lib_read *read, const json_t *object, const char *key);
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
/* 0 when absent, too */
int lib_read_maybe_enum(struct lib_read *read, const json_t *object, const char *key,
                        const char *const *names);

/* Reads an array of objects into one of elements of size bytes. */
void *lib_read_array(struct lib_read *read, const json_t *object, const char *key, size_t size,
                     lib_fill_fn *fill, size_t *ret_count);

/* Read a member with fill; the second one leaves ret as it is when the member is absent. */
void lib_read_object(struct lib_read *read, const json_t *object, const char *key,
                     lib_fill_fn *fill, void *ret);
void lib_read_maybe_object(struct lib_read *read, const json_t *object, const char *key,
                           lib_fill_fn *fill, void *ret);

/* Types that several answers share. */
struct berth_basis lib_read_basis(struct lib_read *read, const json_t *object);
void lib_fill_prediction(struct lib_read *read, const json_t *prediction, void *ret);
/* NAN, NULL and UNKNOWN when absent */
struct berth_prediction lib_read_prediction(struct lib_read *read, const json_t *object,
                                            const char *key);
/* NAN without the member "correction" */
double lib_read_factor(struct lib_read *read, const json_t *object);
const struct berth_evidence *lib_read_evidence(struct lib_read *read, const json_t *object,
                                               const char *key, size_t *ret_count);

extern const char *const lib_origin_names[],
    *const lib_source_names[], *const lib_kind_names[], *const lib_mechanism_names[];
