/**
 * The children of a process, and their end. Of a process that is a subreaper (prctl(2)), what they
 * leave behind become its children too, so that to end all children until there are none is to end
 * everything below it.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Calls each(pid, arg) with every child of the calling thread's process, living or not yet reaped.
 * proc: where procfs is mounted. Returns how many, 0 also where nothing can be read. A child that
 * comes or goes meanwhile may be missing.
 *
 * From thread-self/children, which costs nothing (proc(5); the kernel may be built without it),
 * else from the stat of all processes. */
size_t offspring_each(const char *proc, void (*each)(pid_t pid, void *arg), void *arg);

/* SIGKILL to each of them. */
size_t offspring_kill(const char *proc);

/* Of a subreaper: SIGKILL to each child of another session than its own, and reaps those that have
 * ended. A process gets such children only from those that it started itself and that are gone.
 * Returns how many there were; 0 for process 1, to which others' children come too. */
size_t offspring_end_adopted(const char *proc);
