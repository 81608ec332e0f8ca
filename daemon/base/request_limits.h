/**
 * Limits on the length and size of parameters: ID_MIN and ID_MAX of each row of schema/limits.def.
 */
#pragma once

/* An enum for each row: the constants are int unless the row has a larger one. */
#define X(id, unit, least, most, parameters) enum { id##_MIN = (least), id##_MAX = (most) };
#include "limits.def"
#undef X
