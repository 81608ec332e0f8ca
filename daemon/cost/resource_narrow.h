/**
 * Links between gpus that carry much less than they are said to: one that lost some of its lanes,
 * or was never wired whole. A kernel that copies straight over such a link gets a far smaller share
 * of what is said than kernels do over others; the link then counts with as much as they would get
 * that share of. Copy engines tell nothing, because they have a rate of their own.
 */
#pragma once
#include "cost/resource_structure.h"

/* Lowers what such links carry, and marks it as measured. */
void resource_narrow(struct resource_structure *structure, const struct graph *graph,
                     const struct values *values);
