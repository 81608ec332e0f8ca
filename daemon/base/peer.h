/**
 * Identity of the process at the other end of a connection, and its rights as an administrator.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* Credentials of the other end, from SO_PEERCRED. */
struct peer {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool is_admin; /* root, the daemon's user, or in the configured group */
};

/* Administrators besides root and the daemon's own user. */
struct peer_admins {
    bool has_group;
    gid_t group;
};

/* Returns the administrators by membership in that group. NULL, "" and a group that does not exist
 * have no members. Asks the system's user database: may block. */
struct peer_admins peer_admins_of(const char *group);

/* Reads the credentials that the kernel noted when the peer connected. The peer's supplementary
 * groups come from the kernel too or, before Linux 4.13, from the user database. Fails with IO. */
enum berth_code peer_read(int fd, const struct peer_admins *admins, struct peer *ret_peer,
                          struct berth_err *err);
