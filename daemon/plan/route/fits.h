/**
 * Which paths can be taken at once. Pure; any thread.
 */
#pragma once
#include "plan/route/paths.h"

#define FITS_PATHS 48 /* at most 63 */

/* Sets, for each of count paths by one mechanism, the bits of the later ones that can be taken at
 * once with it: no hop twice, and where two hops may meet a run shows a limit of both, which the
 * simulator knows. count is at most FITS_PATHS. */
void fits_find(const struct route_work *work, const struct path *const *path, size_t count,
               uint64_t *ret_fits);
