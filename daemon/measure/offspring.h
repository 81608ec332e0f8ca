/**
 * Children of a process. The kernel makes orphaned descendants of a subreaper (prctl(2)) its
 * children. So to end children until none is left ends all descendants.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Calls each(pid, arg) for every child of the calling thread's process, living or not reaped. proc:
 * mount point of procfs. Returns their number, also 0 when procfs cannot be read. May miss a child
 * that starts or ends during the call.
 *
 * Reads thread-self/children, which is cheap (proc(5); the kernel may lack it), otherwise the stat
 * file of all processes. */
size_t offspring_each(const char *proc, void (*each)(pid_t pid, void *arg), void *arg);

/* Sends SIGKILL to each child. */
size_t offspring_kill(const char *proc);

/* Sends SIGKILL to each child of another session and reaps ended ones. For subreapers: such
 * children are orphans of processes that it started. Returns their number; 0 for process 1, which
 * adopts unrelated processes. */
size_t offspring_end_adopted(const char *proc);
