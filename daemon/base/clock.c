#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t system_now_s(void *state)
{
    (void)state;
    return (int64_t)time(NULL);
}

static uint64_t system_mono_ns(void *state)
{
    (void)state;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct clock clock_system(void)
{
    return (struct clock){.now_s = system_now_s, .mono_ns = system_mono_ns, .state = NULL};
}
