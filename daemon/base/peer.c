#include "base/peer.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ENTRY_MAX = 1024 * 1024 }; /* bytes of a user's or group's entry */

struct peer_admins peer_admins_of(const char *group)
{
    struct peer_admins admins = {.has_group = false};
    if (group == NULL || group[0] == '\0')
        return admins;
    for (size_t size = 4096; size <= ENTRY_MAX; size *= 2) {
        char *buffer = malloc(size);
        struct group entry, *found = NULL;
        int failed = buffer == NULL ? ENOMEM : getgrnam_r(group, &entry, buffer, size, &found);
        if (failed == 0 && found != NULL)
            admins = (struct peer_admins){.has_group = true, .group = entry.gr_gid};
        free(buffer);
        if (failed != ERANGE)
            break;
    }
    return admins;
}

static bool holds(const gid_t *groups, size_t count, gid_t group)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return false;
}

static bool user_database_says_member(uid_t uid, gid_t gid, gid_t group)
{
    bool member = false;
    for (size_t size = 4096; size <= ENTRY_MAX; size *= 2) {
        char *buffer = malloc(size);
        struct passwd entry, *found = NULL;
        int failed = buffer == NULL ? ENOMEM : getpwuid_r(uid, &entry, buffer, size, &found);
        if (failed == 0 && found != NULL) {
            int count = (int)(size / sizeof(gid_t));
            gid_t *groups = malloc(size);
            if (groups != NULL && getgrouplist(entry.pw_name, gid, groups, &count) >= 0)
                member = holds(groups, (size_t)count, group);
            free(groups);
        }
        free(buffer);
        if (failed != ERANGE)
            break;
    }
    return member;
}

static bool is_member(int fd, const struct peer *peer, gid_t group)
{
    if (peer->gid == group)
        return true;
    gid_t few[64], *groups = few;
    socklen_t size = sizeof few;
    int failed = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0 ? errno : 0;
    if (failed == ERANGE) { /* size is the required size now */
        groups = malloc(size);
        if (groups == NULL)
            return false;
        failed = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0 ? errno : 0;
    }
    bool member = failed == 0 ? holds(groups, size / sizeof *groups, group)
                              : failed == ENOPROTOOPT &&
                                    user_database_says_member(peer->uid, peer->gid, group);
    if (groups != few)
        free(groups);
    return member;
}

enum berth_code peer_read(int fd, const struct peer_admins *admins, struct peer *ret_peer,
                          struct berth_err *err)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return err_set_errno(err, BERTH_IO, errno, "cannot tell who connected");
    struct peer peer = {.uid = credentials.uid, .gid = credentials.gid, .pid = credentials.pid};
    peer.is_admin = peer.uid == 0 || peer.uid == geteuid() ||
                    (admins->has_group && is_member(fd, &peer, admins->group));
    *ret_peer = peer;
    return BERTH_OK;
}
