#include "gpu/timing/caller_cpus.h"

#include <stddef.h>

#include "gpu/driver/node.h"

void gpu_caller_cpus_choose(const char *root, int numa, struct gpu_caller_cpus *ret_cpus)
{
    int cores[CPU_SETSIZE], count = gpu_numa_cores(root, numa, cores, CPU_SETSIZE);
    *ret_cpus = (struct gpu_caller_cpus){0};
    if (sched_getaffinity(0, sizeof ret_cpus->before, &ret_cpus->before) != 0)
        return;
    ret_cpus->count = count < GPU_CALLER_CPUS_MAX ? count : GPU_CALLER_CPUS_MAX;
    /* The first core of a machine is the one with most other work: each CPU is the middle of its
     * share. */
    for (int i = 0; i < ret_cpus->count; i++)
        ret_cpus->cpu[i] = cores[(2 * i + 1) * count / (2 * ret_cpus->count)];
}

void gpu_caller_cpus_pin(const struct gpu_caller_cpus *caller_cpus, unsigned turn)
{
    cpu_set_t one;
    if (caller_cpus == NULL || caller_cpus->count == 0)
        return;
    CPU_ZERO(&one);
    CPU_SET(caller_cpus->cpu[turn % (unsigned)caller_cpus->count], &one);
    (void)sched_setaffinity(0, sizeof one, &one); /* on failure the thread stays on its CPUs */
}

void gpu_caller_cpus_restore(const struct gpu_caller_cpus *caller_cpus)
{
    if (caller_cpus != NULL && caller_cpus->count > 0)
        (void)sched_setaffinity(0, sizeof caller_cpus->before,
                                &caller_cpus->before); /* on failure the thread stays on its CPUs */
}
