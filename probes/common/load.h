/* A run under load: all places at once for a given time, one record an interval and place. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "common/emit.h"

/* Length of an interval for a run of that length: a hundredth, 0.1 s to 1 s. */
int64_t probe_load_interval_ns(int64_t duration_ns);

/* Prints the run record, without conditions. False when the reader is gone; here and below. */
bool probe_load_begin(const char *probe, const char *backend, struct probe_out *out);

/* One place in one interval. Numbers below 0 and an empty text are unknown and not printed. */
struct probe_load {
    const char *place;
    int64_t at_ns; /* end of the interval, since the load began */
    double bytes_per_s;
    double flop_per_s; /* of products of matrices */
    int64_t clock_mhz, power_mw, temperature_c;
    const char *throttle; /* reasons that hold the clocks down, comma separated */
};

bool probe_load_print(const struct probe_load *load, struct probe_out *out);

/* Prints the reason that a place has no load. */
bool probe_load_left_out(const char *place, const char *why, struct probe_out *out);
