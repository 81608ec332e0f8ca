#include "varlink/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/service_manager.h"

enum {
    FIRST_PASSED_FD = 3, /* sd_listen_fds(3) */
    BACKLOG = 128,
};

static bool socket_option_is(int fd, int option, int expected)
{
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == expected;
}

static enum berth_code prepare_passed(int fd, struct berth_err *err)
{
    if (!socket_option_is(fd, SO_DOMAIN, AF_UNIX) || !socket_option_is(fd, SO_TYPE, SOCK_STREAM) ||
        !socket_option_is(fd, SO_ACCEPTCONN, 1))
        return err_set(err, BERTH_BAD_CONFIG,
                       "descriptor %d of the service manager is no listening Unix stream socket "
                       "(ListenStream= with a path)",
                       fd);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_set_errno(err, BERTH_IO, errno,
                             "cannot prepare descriptor %d of the service manager", fd);
    return BERTH_OK;
}

enum berth_code listen_activated(int *ret_fd, int *ret_count, struct berth_err *err)
{
    int64_t pid = service_manager_number("LISTEN_PID"),
            count = service_manager_number("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (pid != getpid() || count <= 0) {
        *ret_count = 0;
        return BERTH_OK;
    }
    if (count > 64)
        return err_set(err, BERTH_BAD_CONFIG,
                       "LISTEN_FDS says %" PRId64 ", which is more sockets than make sense", count);
    for (int fd = FIRST_PASSED_FD; fd < FIRST_PASSED_FD + (int)count; fd++) {
        enum berth_code code = prepare_passed(fd, err);
        if (code != BERTH_OK)
            return code;
    }
    *ret_fd = FIRST_PASSED_FD;
    *ret_count = (int)count;
    return BERTH_OK;
}

static enum berth_code make_address(const char *path, struct sockaddr_un *ret_address,
                                    struct berth_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path)
        return err_set(err, BERTH_BAD_CONFIG,
                       "a socket's path has 1 to %zu bytes, this has %zu: %s",
                       sizeof address.sun_path - 1, strlen(path), path);
    strcpy(address.sun_path, path);
    *ret_address = address;
    return BERTH_OK;
}

/* Locks the right to remove and bind the path. The file is never removed, or two daemons could hold
 * two locks of one name. The lock belongs to the process and not to the descriptor: a daemon that
 * was killed while it started a probe leaves a child. That child has all of its descriptors until
 * exec. */
static enum berth_code lock_path(const char *path, int *ret_fd, struct berth_err *err)
{
    char name[sizeof((struct sockaddr_un *)0)->sun_path + sizeof ".lock"];
    snprintf(name, sizeof name, "%s.lock", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, BERTH_BAD_CONFIG,
                       "there is no folder for the socket %s: make it, or say --socket PATH", path);
    if (fd < 0)
        return err_set_errno(err, BERTH_BAD_CONFIG, errno,
                             "cannot listen on %s (--socket PATH takes another place)", path);
    if (fcntl(fd, F_SETLK, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET}) == 0) {
        *ret_fd = fd;
        return BERTH_OK;
    }
    int why = errno;
    close(fd);
    if (why != EACCES && why != EAGAIN)
        return err_set_errno(err, BERTH_IO, why, "cannot lock %s", name);
    err_text(err, 0, path);
    return err_set(err, BERTH_BUSY, "another daemon serves %s", path);
}

/* True when the process that listens at the other end is dead: a child of it has the socket, and
 * will not accept. */
static bool is_orphaned(int fd)
{
    struct ucred listener;
    socklen_t size = sizeof listener;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &size) == 0 && listener.pid > 0 &&
           kill(listener.pid, 0) < 0 && errno == ESRCH;
}

/* Removes a socket that nobody accepts on. A file of another kind is somebody's: it stays. */
static enum berth_code remove_stale(const struct sockaddr_un *address, struct berth_err *err)
{
    const char *path = address->sun_path;
    struct stat status;
    if (lstat(path, &status) < 0)
        return errno == ENOENT ? BERTH_OK
                               : err_set_errno(err, BERTH_IO, errno, "cannot look at %s", path);
    if (!S_ISSOCK(status.st_mode))
        return err_set(err, BERTH_BAD_CONFIG, "%s is there and is no socket", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set_errno(err, BERTH_IO, errno, "cannot make a socket");
    int failed = connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 ? errno
                 : is_orphaned(fd)                                                  ? ECONNREFUSED
                                                                                    : 0;
    close(fd);
    if (failed == 0 || failed == EAGAIN) { /* EAGAIN: a listener with a full queue */
        err_text(err, 0, path);
        return err_set(err, BERTH_BUSY, "another program serves %s", path);
    }
    if (failed != ECONNREFUSED)
        return err_set_errno(err, BERTH_IO, failed, "cannot tell whether %s is in use", path);
    if (unlink(path) < 0)
        return err_set_errno(err, BERTH_IO, errno, "cannot remove the stale socket %s", path);
    return BERTH_OK;
}

/* Called at start only: no other thread asks the group database. */
static enum berth_code find_group(const char *group, gid_t *ret_gid, struct berth_err *err)
{
    const struct group *entry = getgrnam(group);
    if (entry == NULL)
        return err_set(err, BERTH_BAD_CONFIG, "there is no group %s", group);
    *ret_gid = entry->gr_gid;
    return BERTH_OK;
}

/* Nobody can connect before listen, and the mode is never wider than requested. The bind starts
 * from the mode that fchmod set on the unbound socket, less the umask; chmod then adds the bits of
 * the umask. */
static enum berth_code bind_and_listen(int fd, const struct sockaddr_un *address, mode_t mode,
                                       const char *group, struct berth_err *err)
{
    const char *path = address->sun_path;
    gid_t gid = (gid_t)-1;
    if (group != NULL) {
        enum berth_code code = find_group(group, &gid, err);
        if (code != BERTH_OK)
            return code;
    }
    if (fchmod(fd, mode & 0700) < 0 ||
        bind(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        return err_set_errno(err, BERTH_IO, errno, "cannot bind %s", path);
    enum berth_code code = BERTH_OK;
    if (group != NULL && chown(path, (uid_t)-1, gid) < 0)
        code = err_set_errno(err, BERTH_IO, errno, "cannot give %s to group %s", path, group);
    else if (chmod(path, mode) < 0)
        code = err_set_errno(err, BERTH_IO, errno, "cannot set the mode of %s", path);
    else if (listen(fd, BACKLOG) < 0)
        code = err_set_errno(err, BERTH_IO, errno, "cannot listen on %s", path);
    if (code != BERTH_OK)
        unlink(path);
    return code;
}

enum berth_code listen_path(const char *path, mode_t mode, const char *group, int *ret_fd,
                            int *ret_lock_fd, struct berth_err *err)
{
    struct sockaddr_un address;
    int lock_fd = -1;
    enum berth_code code = make_address(path, &address, err);
    if (code == BERTH_OK)
        code = lock_path(path, &lock_fd, err);
    if (code == BERTH_OK)
        code = remove_stale(&address, err);
    if (code != BERTH_OK) {
        if (lock_fd >= 0)
            close(lock_fd);
        return code;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        code = err_set_errno(err, BERTH_IO, errno, "cannot make a socket");
    else
        code = bind_and_listen(fd, &address, mode, group, err);
    if (code != BERTH_OK) {
        if (fd >= 0)
            close(fd);
        close(lock_fd);
        return code;
    }
    *ret_fd = fd;
    *ret_lock_fd = lock_fd;
    return BERTH_OK;
}
