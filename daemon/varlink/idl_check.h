/**
 * Checks a JSON value against a type of an interface description: names and types, at all levels.
 *
 * A null counts as absent, and only nullable fields may be absent. A float accepts an integer; an
 * int accepts JSON integers only, not 4.0. Fields that the type does not have are refused.
 */
#pragma once
#include <jansson.h>

#include "base/err.h"
#include "varlink/idl.h"

/* Fails with INVALID_PARAMETER. Parameter 0 is the path of the first offender
 * ("accesses[1].pattern", "where.mechanism"; empty when value itself is no object). The detail
 * names the expected type. Allocates nothing; recurses as deep as value is nested. Any thread. */
enum berth_code idl_check(const struct idl_type *type, const json_t *value, struct berth_err *err);
