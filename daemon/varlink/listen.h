/**
 * Where the listening socket comes from: the service manager (LISTEN_FDS) or a path of our own.
 */
#pragma once
#include <sys/types.h>

#include "base/err.h"

/* Sockets passed by the service manager (sd_listen_fds(3)): the number, and the first fd in ret_fd;
 * 0 when none. Takes LISTEN_* out of the environment. Fails with BAD_CONFIG on something that is no
 * listening Unix stream socket. */
enum berth_code listen_activated(int *ret_fd, int *ret_count, struct berth_err *err);

/* Binds path, sets mode and group (NULL: leave) and listens, close-on-exec, non-blocking. A stale
 * socket (nobody accepts) is replaced; a live one fails with BUSY, unless the process that listens
 * on it is dead; a path over 107 bytes, or something there that is not a socket, with BAD_CONFIG.
 * Two daemons racing: a lock file path.lock decides; the fd of the lock is kept for the life of the
 * process in ret_lock_fd. */
enum berth_code listen_path(const char *path, mode_t mode, const char *group, int *ret_fd,
                            int *ret_lock_fd, struct berth_err *err);
