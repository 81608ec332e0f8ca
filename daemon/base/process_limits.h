/**
 * Checks the descriptors and the address space that the system leaves to the daemon. Libraries call
 * abort where they lack these (libuv for its signals and threads). So the check runs at start, when
 * ending with a line is still harmless.
 */
#pragma once
#include "base/err.h"

/* Raises the limit on open files (RLIMIT_NOFILE) to the hard one. Fails with BAD_CONFIG when that
 * is too low to serve anybody. */
enum berth_code process_limits_descriptors(struct berth_err *err);

/* Fails with NO_MEMORY when there is no address space for the threads and the heap of a daemon
 * (RLIMIT_AS, or no memory). */
enum berth_code process_limits_memory(struct berth_err *err);
