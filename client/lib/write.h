/**
 * Writing a request's parameters. A writer notes the first thing that goes wrong, so that a request
 * is written straight through and checked once, by lib_write_end. What the caller left to the
 * daemon (NULL, a negative number, a default enumeration) adds nothing.
 */
#pragma once
#include "lib/lib.h"

struct lib_write {
    json_t *parameters; /* the request's object, owned */
    /* DONE, OUT_OF_MEMORY, or BAD_ARGUMENT for a text that is NULL or not UTF-8 */
    int status;
};

struct lib_write lib_write_begin(void);

/* The finished parameters in ret_parameters, or why not. */
int lib_write_end(struct berth *berth, struct lib_write *write, json_t **ret_parameters);

void lib_write_text(struct lib_write *write, json_t *object, const char *key, const char *text);
void lib_write_integer(struct lib_write *write, json_t *object, const char *key, int64_t number);
void lib_write_texts(struct lib_write *write, json_t *object, const char *key,
                     const struct berth_texts *texts);
void lib_write_pairs(struct lib_write *write, json_t *object, const char *key,
                     const struct berth_pairs *pairs);
/* names[0] unused */
void lib_write_enum(struct lib_write *write, json_t *object, const char *key, int value,
                    const char *const *names, int count);

/* A new member array, and a new element of it; borrowed, NULL on failure, which the others take. */
json_t *lib_write_array(struct lib_write *write, json_t *object, const char *key);
json_t *lib_write_element(struct lib_write *write, json_t *array, json_t *take_element);

/* The member "allowed" of the parameters: nothing for the whole node, given when there is one, else
 * where the caller runs. */
int lib_write_allowed(struct berth *berth, json_t *parameters, int whole_node, int with_gpus,
                      const struct berth_allowed *given);
