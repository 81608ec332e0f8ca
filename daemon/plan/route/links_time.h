/**
 * What ways cost by what links are said to carry (plan/route/links.h), several of them at once in
 * shares such that all end together.
 *
 * What starts a piece counts as nothing, so that pieces are no smaller than those whose rate says
 * all (MOVE_LARGE_BYTES). Pure; any thread.
 */
#pragma once
#include "plan/route/split.h"

/* As plan_split_time has it, without an interval. */
struct prediction plan_links_time(const struct way *way, size_t count, double bytes,
                                  double *ret_share, double *ret_chunk);
