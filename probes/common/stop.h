/**
 * The early end of a probe. SIGTERM and SIGINT print the end record and end the process at once, in
 * any state of its threads. A closed standard output ends it by SIGPIPE. The death of the parent
 * ends it too.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/emit.h"
#include "common/why.h"

#define PROBE_STOP_STATUS 75 /* exit status after SIGTERM: try again */

struct probe_stop {
    struct probe_out *out; /* borrowed; NULL prints no record */
    int64_t started_ns;    /* for elapsed_ns of the end record */
};

/* Blocks the signals; call first in main, before any thread starts, so that all inherit the signal
 * mask. @child: the parent measures this process. It is then killed when the thread that started it
 * ends. Fails when that thread has already ended. */
bool probe_stop_prepare(bool child, struct probe_why *why);

/* Starts the thread that waits for the signals. @stop must live until the process ends. */
bool probe_stop_start(struct probe_stop *stop, struct probe_why *why);
