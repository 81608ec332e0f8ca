#include "varlink/outbox.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* A reply, or the end of one, that the socket did not accept. */
struct rest {
    uv_write_t request;
    struct outbox *outbox;
    char *data; /* owned */
    size_t size;
};

static void rest_free(struct rest *rest)
{
    free(rest->data);
    free(rest);
}

static void on_written(uv_write_t *request, int status)
{
    struct rest *rest = (struct rest *)request;
    struct outbox *outbox = rest->outbox;
    for (size_t i = 0; i < 2; i++)
        *outbox->held_bytes[i] -= rest->size;
    rest_free(rest);
    if (!uv_is_closing((uv_handle_t *)outbox->stream))
        outbox->moved(outbox, status == 0);
}

/* Returns the number of bytes sent at once; negative when the stream failed. */
static ssize_t send_now(struct outbox *outbox, const char *data, size_t length)
{
    uv_buf_t buffer = uv_buf_init((char *)data, (unsigned)length);
    int sent = uv_try_write(outbox->stream, &buffer, 1);
    return sent == UV_EAGAIN ? 0 : sent;
}

/* Queues the length bytes at take_data without the first skip. */
static bool queue(struct outbox *outbox, char *take_data, size_t length, size_t skip)
{
    struct rest *rest = malloc(sizeof *rest);
    if (rest == NULL) {
        free(take_data);
        return false;
    }
    *rest = (struct rest){.outbox = outbox, .data = take_data, .size = length};
    uv_buf_t buffer = uv_buf_init(take_data + skip, (unsigned)(length - skip));
    if (uv_write(&rest->request, outbox->stream, &buffer, 1, on_written) != 0) {
        rest_free(rest);
        return false;
    }
    for (size_t i = 0; i < 2; i++)
        *outbox->held_bytes[i] += length;
    outbox->queued_bytes += length - skip;
    return true;
}

bool outbox_send(struct outbox *outbox, const char *data, size_t length)
{
    ssize_t sent = send_now(outbox, data, length);
    if (sent < 0 || (size_t)sent == length)
        return sent >= 0;
    size_t left = length - (size_t)sent;
    char *copy = malloc(left);
    if (copy == NULL)
        return false;
    memcpy(copy, data + sent, left);
    return queue(outbox, copy, left, 0);
}

bool outbox_give(struct outbox *outbox, char *take_data, size_t length)
{
    ssize_t sent = send_now(outbox, take_data, length);
    if (sent < 0 || (size_t)sent == length) {
        free(take_data);
        return sent >= 0;
    }
    return queue(outbox, take_data, length, (size_t)sent);
}

/* True when the peer has read all that was sent. */
static bool is_read(int fd)
{
    int unread = 0;
    return ioctl(fd, SIOCOUTQ, &unread) == 0 && unread == 0;
}

enum berth_code outbox_pass(struct outbox *outbox, const char *data, size_t length,
                            const int *descriptor, size_t count, struct berth_err *err)
{
    union {
        char bytes[CMSG_SPACE(OUTBOX_PASSED_MAX * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)data, length};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptor, count * sizeof(int));
    uv_os_fd_t fd = -1;
    uv_fileno((const uv_handle_t *)outbox->stream, &fd);
    if (outbox_unsent(outbox) > 0 || (outbox->has_passed && !is_read(fd)))
        return err_set(err, BERTH_UNAVAILABLE,
                       "files are passed when the replies before are read: read them first");
    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0)
        return err_set_errno(err, BERTH_UNAVAILABLE, errno, "cannot pass files");
    outbox->has_passed = true;
    return (size_t)sent == length || outbox_send(outbox, data + sent, length - (size_t)sent)
               ? BERTH_OK
               : err_set(err, BERTH_UNAVAILABLE, "the caller is gone");
}

size_t outbox_unsent(const struct outbox *outbox)
{
    return uv_stream_get_write_queue_size(outbox->stream);
}

uint64_t outbox_gone(const struct outbox *outbox)
{
    return outbox->queued_bytes - outbox_unsent(outbox);
}
