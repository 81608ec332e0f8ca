/**
 * What the system must leave to the daemon before it begins: descriptors and address space.
 * Libraries call abort where they lack these (libuv for its signals and threads), so it is asked
 * for at start, when ending with a line is still harmless.
 */
#pragma once
#include "base/err.h"

/* Raises the limit on open files (RLIMIT_NOFILE) to the hard one. BAD_CONFIG: that is too low to
 * serve anybody. */
enum berth_code process_limits_descriptors(struct berth_err *err);

/* NO_MEMORY: there is no address space for the threads and the heap of a daemon (RLIMIT_AS, or no
 * memory). */
enum berth_code process_limits_memory(struct berth_err *err);
