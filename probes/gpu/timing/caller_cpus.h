/**
 * CPUs from which the caller's clock is read: a few cores of a NUMA node, evenly spaced. The place
 * of a call changes its time by a tenth and more, on far sockets and in virtual machines. So each
 * measurement uses the same ones.
 */
#pragma once
#include <sched.h>

#define GPU_SEATS_MAX 4

struct gpu_seats {
    int cpu[GPU_SEATS_MAX];
    int count; /* number of CPUs; 0: the kernel does not show them, and the thread stays in place */
    cpu_set_t before;
};

/* Finds the CPUs. root as in gpu_numa_list, numa the kernel's number. The thread later returns
 * to the CPUs that it has now. */
void gpu_seats_find(const char *root, int numa, struct gpu_seats *ret_seats);

/* Moves the calling thread to CPU number turn modulo count; it stays in place when the kernel
 * refuses. NULL is fine. */
void gpu_seats_take(const struct gpu_seats *seats, unsigned turn);

/* Returns the thread to its earlier CPUs. NULL is fine. */
void gpu_seats_leave(const struct gpu_seats *seats);
