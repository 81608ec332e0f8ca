/**
 * Time as a dependency: code that needs the time gets a struct clock, so tests run on a virtual
 * one.
 */
#pragma once
#include <stdint.h>

struct clock {
    int64_t (*now_s)(void *state);    /* seconds since the epoch */
    uint64_t (*mono_ns)(void *state); /* monotonic nanoseconds, never goes back */
    void *state;
};

/* Returns the clock of the machine. */
struct clock clock_system(void);

static inline int64_t clock_now_s(const struct clock *clock) { return clock->now_s(clock->state); }
static inline uint64_t clock_mono_ns(const struct clock *clock)
{
    return clock->mono_ns(clock->state);
}
