/**
 * Kernel information about another process, from files that every user may read: a daemon without
 * privileges has no more. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "base/files.h"

#define CLAIM_PROC_GROUPS_MAX 64

struct claim_proc {
    uid_t uid;
    gid_t gid;
    /* the effective or saved uid or gid is not the real one: a setuid or setgid program */
    bool has_other_ids;
    gid_t groups[CLAIM_PROC_GROUPS_MAX]; /* supplementary; the first ones if there are more */
    size_t group_count;
    pid_t parent;
    pid_t leader;         /* the process itself; another one when the pid is a thread's */
    struct cpuset cpus;   /* cpus that it may run on */
    struct cpuset memory; /* NUMA nodes that it may allocate on */
};

/* Reads /proc/PID/status. Fails with ABSENT when there is no such process, IO, BAD_DATA,
 * NO_MEMORY. */
enum berth_code claim_proc_read(const struct files *io, pid_t pid, struct claim_proc *ret,
                                struct berth_err *err);

/* Returns the start time in clock ticks since boot. Pid and start time identify a process for good.
 * A zombie is ABSENT too. Fails like claim_proc_read. */
enum berth_code claim_proc_start(const struct files *io, pid_t pid, uint64_t *ret_ticks,
                                 struct berth_err *err);

/* Copies its cgroup (version 2), cut to size bytes. Returns false when it cannot be read. */
bool claim_proc_cgroup(const struct files *io, pid_t pid, char *path, size_t size);

/* True when @path, as from claim_proc_cgroup, is the cgroup or below it. @cgroup is a path below
 * /sys/fs/cgroup. */
bool claim_proc_is_in(const char *path, const char *cgroup);
