/* Files that come with replies. Whoever expects none reads by recv, which has the kernel drop them.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/lib.h"

/* Keeps a file, or closes one too many. */
static void keep(struct berth *berth, int fd)
{
    if (berth->passed_count < LIB_PASSED)
        berth->passed[berth->passed_count++] = fd;
    else {
        close(fd);
        berth->passed_are_wrong = true;
    }
}

ssize_t lib_passed_receive(struct berth *berth, char *data, size_t room)
{
    union {
        char bytes[CMSG_SPACE(LIB_PASSED * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {data, room};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n = recvmsg(berth->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return n;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at != NULL; at = CMSG_NXTHDR(&message, at))
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS)
            for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= at->cmsg_len; i++) {
                int fd;
                memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
                keep(berth, fd);
                berth->passed_at = berth->received + (uint64_t)n;
            }
    if ((message.msg_flags & MSG_CTRUNC) != 0)
        berth->passed_are_wrong = true;
    return n;
}

/* A read ends behind the bytes that files came with. So they belong to the message that has the
 * read's last byte. */
bool lib_passed_are_here(const struct berth *berth)
{
    return berth->passed_count > 0 &&
           berth->received - (berth->in.end - berth->in.start) >= berth->passed_at;
}

bool lib_passed_take(struct berth *berth, int ret_fd[LIB_PASSED])
{
    if (!lib_passed_are_here(berth) || berth->passed_count != LIB_PASSED || berth->passed_are_wrong)
        return false;
    memcpy(ret_fd, berth->passed, sizeof berth->passed);
    berth->passed_count = 0;
    return true;
}

void lib_passed_drop(struct berth *berth)
{
    for (size_t i = 0; i < berth->passed_count; i++)
        close(berth->passed[i]);
    berth->passed_count = 0;
    berth->passed_are_wrong = false;
}
