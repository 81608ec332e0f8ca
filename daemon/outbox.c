#include "outbox.h"

#include <stdlib.h>
#include <string.h>

/* A reply, or the end of one, that the socket did not take. */
struct rest {
    uv_write_t request;
    struct outbox *outbox;
    char data[];
};

static void on_written(uv_write_t *request, int status)
{
    struct rest *rest = (struct rest *)request;
    struct outbox *outbox = rest->outbox;
    free(rest);
    if (!uv_is_closing((uv_handle_t *)outbox->stream))
        outbox->moved(outbox, status == 0);
}

bool outbox_send(struct outbox *outbox, const char *data, size_t length)
{
    uv_buf_t buffer = uv_buf_init((char *)data, (unsigned)length);
    int sent = uv_try_write(outbox->stream, &buffer, 1);
    if (sent == UV_EAGAIN)
        sent = 0;
    if (sent < 0)
        return false;
    size_t left = length - (size_t)sent;
    if (left == 0)
        return true;
    struct rest *rest = malloc(sizeof *rest + left);
    if (rest == NULL)
        return false;
    rest->outbox = outbox;
    memcpy(rest->data, data + sent, left);
    buffer = uv_buf_init(rest->data, (unsigned)left);
    if (uv_write(&rest->request, outbox->stream, &buffer, 1, on_written) == 0)
        return true;
    free(rest);
    return false;
}

size_t outbox_unsent(const struct outbox *outbox) { return uv_stream_get_write_queue_size(outbox->stream); }
