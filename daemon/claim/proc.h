/**
 * What the kernel says of another process, in files that everybody may read. A daemon without
 * privileges can ask no more. Any thread.
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
    gid_t groups[CLAIM_PROC_GROUPS_MAX]; /* supplementary; of more than fit, the first */
    size_t group_count;
    pid_t parent;
    pid_t leader;         /* the process itself; another one when the pid is that of a thread */
    struct cpuset cpus;   /* it may run on */
    struct cpuset memory; /* NUMA nodes it may allocate on */
};

/* /proc/PID/status. ABSENT when there is no such process, IO, BAD_DATA, NO_MEMORY. */
enum berth_code claim_proc_read(const struct files *io, pid_t pid, struct claim_proc *ret,
                                struct berth_err *err);

/* When it started, in ticks since the boot: with the pid, this names a process once and for all. A
 * process that has ended and was not reaped is ABSENT, too. */
enum berth_code claim_proc_start(const struct files *io, pid_t pid, uint64_t *ret_ticks,
                                 struct berth_err *err);

/* Its cgroup (v2), cut to size bytes; false when that cannot be read. */
bool claim_proc_cgroup(const struct files *io, pid_t pid, char *path, size_t size);

/* Whether such a path is this cgroup, a path below /sys/fs/cgroup, or is below it. */
bool claim_proc_is_in(const char *path, const char *cgroup);
