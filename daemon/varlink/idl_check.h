/**
 * A JSON value against a type of an interface description: names and types, all the way down.
 *
 * A null counts as absent, and only what is nullable may be absent. A float takes an integer; an
 * int takes JSON integers only, not 4.0. Fields that the type does not have are refused.
 */
#pragma once
#include <jansson.h>

#include "base/err.h"
#include "varlink/idl.h"

/* Fails with INVALID_PARAMETER: parameter 0 is the path of the first offender ("accesses[1].how",
 * "where.mechanism"; empty when value itself is no object), the detail says what was expected.
 * Allocates nothing; recursion is as deep as value is. Any thread.
 */
enum berth_code idl_check(const struct idl_type *type, const json_t *value, struct berth_err *err);
