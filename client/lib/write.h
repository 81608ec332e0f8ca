/**
 * Writes a request's parameters. A writer notes the first error, so a request is written without
 * checks in between; lib_write_end checks once. Fields that the caller left to the daemon (NULL, a
 * negative number, a default enumeration) add nothing.
 */
#pragma once
#include "lib/lib.h"

struct lib_write {
    json_t *parameters; /* object of the request, owned */
    /* DONE, OUT_OF_MEMORY, or BAD_ARGUMENT for a text that is NULL or not UTF-8 */
    int status;
};

struct lib_write lib_write_begin(void);

/* Gives the finished parameters, or returns the error. */
int lib_write_end(struct berth *berth, struct lib_write *write, json_t **ret_parameters);

/* The same, with the member "allowed" of lib_write_allowed behind them. */
int lib_write_end_allowed(struct berth *berth, struct lib_write *write, int whole_node,
                          const struct berth_allowed *given, json_t **ret_parameters);

void lib_write_text(struct lib_write *write, json_t *object, const char *key, const char *text);
void lib_write_integer(struct lib_write *write, json_t *object, const char *key, int64_t number);
/* adds nothing when not set */
void lib_write_flag(struct lib_write *write, json_t *object, const char *key, int set);
void lib_write_texts(struct lib_write *write, json_t *object, const char *key,
                     const struct berth_texts *texts);
void lib_write_pairs(struct lib_write *write, json_t *object, const char *key,
                     const struct berth_pairs *pairs);
/* names[0] is unused */
void lib_write_enum(struct lib_write *write, json_t *object, const char *key, int value,
                    const char *const *names, int count);

/* Add a new member array, and a new element of it. Both are borrowed, NULL on failure; the other
 * functions accept NULL. */
json_t *lib_write_array(struct lib_write *write, json_t *object, const char *key);
json_t *lib_write_element(struct lib_write *write, json_t *array, json_t *take_element);

/* Writes the member "allowed" of the parameters: given when there is one, nothing with whole_node,
 * else the resources of the calling thread. */
int lib_write_allowed(struct berth *berth, json_t *parameters, int whole_node, int with_gpus,
                      const struct berth_allowed *given);

/* lib/bind.c: writes Bind's parameters without allowed. */
struct lib_write lib_bind_write(const struct berth_bind_request *request);
