/**
 * Reads the errors that berth-probe-events found in the kernel's log: docs/ERRORS.md.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/files.h"
#include "node/counters.h"

/* Adds the events of the file that are not counted yet, and forgets those older than
 * KERNEL_EVENTS_AGE_S. A file of another boot is left out, as is an absent one. Lines that are no
 * record, and a file that is not root's or this user's, are noted as garbage. False when out of
 * memory. Any thread. */
bool event_file_read(const struct files *io, const char *path, int64_t now_s,
                     struct counters *counters);
