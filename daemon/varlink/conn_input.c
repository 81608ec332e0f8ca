#include "varlink/conn_input.h"

#define PIECE_BYTES 65536 /* most bytes of one read */
/* a read of this size counts as a turn: it takes about half a nanosecond a byte */
#define LARGE_BYTES 16384

/* Adjusts the budgets to a change of the buffer's size. */
static void account(struct conn_input *input, size_t before)
{
    size_t now = wire_held(&input->wire);
    input->budget->bytes += now - before; /* may wrap, and back */
    input->user->input_bytes += now - before;
    if (now >= before)
        return;
    input->budget->was_freed = true;
    if (now == 0 && input->user->beyond == input)
        input->user->beyond = NULL;
}

static bool has_room(struct conn_input *input)
{
    size_t growth = wire_growth(&input->wire), all = input->limits->input_bytes_in_all,
           used = input->budget->bytes;
    size_t left = used < all ? all - used : 0, most = left < input->limits->input_bytes_per_user
                                                          ? left
                                                          : input->limits->input_bytes_per_user;
    if (growth == 0 || input->user->input_bytes + growth <= most)
        return true;
    if (growth > left || (input->user->beyond != NULL && input->user->beyond != input))
        return false;
    input->user->beyond = input;
    return true;
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct conn_input *input = handle->data;
    char *room = NULL;
    size_t size = 0, before = wire_held(&input->wire);
    if (!has_room(input) || !wire_room(&input->wire, &room, &size))
        size = 0; /* libuv reports ENOBUFS to on_read */
    account(input, before);
    size = size < PIECE_BYTES ? size : PIECE_BYTES;
    *buffer = uv_buf_init(room, (unsigned)size);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    (void)buffer;
    struct conn_input *input = stream->data;
    if (size > 0) {
        wire_filled(&input->wire, (size_t)size);
        if (size >= LARGE_BYTES) {
            uv_read_stop(stream);
            input->is_reading = false;
            conn_share_charge(input->user, (uint64_t)size / 2);
        }
        input->filled(input);
    } else if (size == UV_ENOBUFS && !has_room(input)) {
        conn_input_read(input, true); /* others have used the room meanwhile */
    } else if (size == UV_ENOBUFS) {
        input->failed(input);
    } else if (size < 0) {
        uv_read_stop(stream);
        input->is_reading = false;
        input->is_ended = true;
        input->ended(input);
    }
}

static void starve(struct conn_input *input, bool is_starved)
{
    input->budget->starved += is_starved;
    input->budget->starved -= input->is_starved;
    input->is_starved = is_starved;
}

bool conn_input_read(struct conn_input *input, bool is_enabled)
{
    is_enabled = is_enabled && !input->is_ended && !wire_is_full(&input->wire);
    starve(input, is_enabled && !has_room(input));
    is_enabled = is_enabled && !input->is_starved;
    if (is_enabled == input->is_reading)
        return true;
    if (!is_enabled)
        uv_read_stop(input->stream);
    else if (uv_read_start(input->stream, on_room, on_read) != 0)
        return false;
    input->is_reading = is_enabled;
    return true;
}

void conn_input_release(struct conn_input *input)
{
    size_t before = wire_held(&input->wire);
    wire_shrink(&input->wire);
    account(input, before);
}

size_t conn_input_done(struct conn_input *input)
{
    size_t before = wire_held(&input->wire), heap = wire_heap(&input->wire);
    starve(input, false);
    wire_done(&input->wire);
    account(input, before);
    if (input->user->beyond == input)
        input->user->beyond = NULL;
    return heap;
}
