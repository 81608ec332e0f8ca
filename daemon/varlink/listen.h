/**
 * Provides the listening socket: from the service manager (LISTEN_FDS) or at a path of our own.
 */
#pragma once
#include <sys/types.h>

#include "base/err.h"

/* Returns the sockets passed by the service manager (sd_listen_fds(3)): their number, and the first
 * fd in ret_fd; 0 when none. Removes LISTEN_* from the environment. Fails with BAD_CONFIG on a
 * descriptor that is no listening Unix stream socket. */
enum berth_code listen_activated(int *ret_fd, int *ret_count, struct berth_err *err);

/* Binds path, sets mode and group (NULL: unchanged) and listens, close-on-exec, non-blocking. A
 * stale socket (nobody accepts) is replaced. Fails with BUSY on a live one, unless the process that
 * listens on it is dead. Fails with BAD_CONFIG on a path over 107 bytes, or when another kind of
 * file is there. A lock file path.lock decides between two daemons. The fd of the lock is kept for
 * the life of the process in ret_lock_fd. */
enum berth_code listen_path(const char *path, mode_t mode, const char *group, int *ret_fd,
                            int *ret_lock_fd, struct berth_err *err);
