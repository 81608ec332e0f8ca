/* The clock of every measurement: CLOCK_MONOTONIC, which the kernel serves without a system call on
 * all common clock sources. */
#pragma once
#include <stdint.h>
#include <time.h>

static inline int64_t probe_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
