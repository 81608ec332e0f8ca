#include "gpu/timing/caller_cpus.h"

#include <stddef.h>

#include "gpu/driver/node.h"

void gpu_seats_find(const char *root, int numa, struct gpu_seats *ret_seats)
{
    int cores[CPU_SETSIZE], count = gpu_numa_cores(root, numa, cores, CPU_SETSIZE);
    *ret_seats = (struct gpu_seats){0};
    if (sched_getaffinity(0, sizeof ret_seats->before, &ret_seats->before) != 0)
        return;
    ret_seats->count = count < GPU_SEATS_MAX ? count : GPU_SEATS_MAX;
    /* The first core of a machine is the one with most other work: each seat is the middle of its
     * share. */
    for (int i = 0; i < ret_seats->count; i++)
        ret_seats->cpu[i] = cores[(2 * i + 1) * count / (2 * ret_seats->count)];
}

void gpu_seats_take(const struct gpu_seats *seats, unsigned turn)
{
    cpu_set_t one;
    if (seats == NULL || seats->count == 0)
        return;
    CPU_ZERO(&one);
    CPU_SET(seats->cpu[turn % (unsigned)seats->count], &one);
    (void)sched_setaffinity(0, sizeof one, &one); /* stays where it is */
}

void gpu_seats_leave(const struct gpu_seats *seats)
{
    if (seats != NULL && seats->count > 0)
        (void)sched_setaffinity(0, sizeof seats->before, &seats->before); /* as it is then */
}
