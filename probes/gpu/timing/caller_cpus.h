/**
 * CPUs from which the caller's clock is read: a few cores of a NUMA node, evenly spaced. The place
 * of a call changes its time by a tenth and more, on far sockets and in virtual machines. So each
 * measurement uses the same ones.
 */
#pragma once
#include <sched.h>

#define GPU_CALLER_CPUS_MAX 4

struct gpu_caller_cpus {
    int cpu[GPU_CALLER_CPUS_MAX];
    int count; /* number of CPUs; 0: the kernel does not show them, and the thread stays in place */
    cpu_set_t before;
};

/* Finds the CPUs. root as in gpu_numa_list, numa the kernel's number. The thread later returns
 * to the CPUs that it has now. */
void gpu_caller_cpus_choose(const char *root, int numa, struct gpu_caller_cpus *ret_cpus);

/* Moves the calling thread to CPU number turn modulo count; it stays in place when the kernel
 * refuses. NULL is fine. */
void gpu_caller_cpus_pin(const struct gpu_caller_cpus *caller_cpus, unsigned turn);

/* Returns the thread to its earlier CPUs. NULL is fine. */
void gpu_caller_cpus_restore(const struct gpu_caller_cpus *caller_cpus);
