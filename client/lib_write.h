/**
 * Writing a request's parameters. Each adds one member and gives false when out of memory or when a text is not UTF-8;
 * what the caller left to the daemon (NULL, a negative number, a default enumeration) adds nothing.
 */
#pragma once
#include "lib.h"

bool lib_write_text(json_t *object, const char *key, const char *text);
bool lib_write_integer(json_t *object, const char *key, int64_t number);
bool lib_write_texts(json_t *object, const char *key, const struct berth_texts *texts);
bool lib_write_pairs(json_t *object, const char *key, const struct berth_pairs *pairs);
bool lib_write_enum(json_t *object, const char *key, int value, const char *const *names, int count); /* names[0] unused */

/* The error of a write that failed. */
int lib_fail_request(struct berth *berth);

/* The member "allowed": nothing for the whole node, given when there is one, else where the caller runs (asks the daemon). */
int lib_write_allowed(struct berth *berth, json_t *object, int whole_node, const struct berth_allowed *given);
