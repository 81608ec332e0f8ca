/* The reference for a server under attack: a bare libuv echo, which gives back every byte and reads
 * no more of a peer until it has taken what was sent to it. It parses nothing and knows no users.
 * echo_bare SOCKET */
#include <signal.h>
#include <uv.h>

#include "bench.h"

#define PIECE 65536

struct client {
    uv_pipe_t pipe;
    uv_write_t write;
    char data[PIECE];
};

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer);

static void on_closed(uv_handle_t *handle) { free(handle->data); }

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct client *client = handle->data;
    *buffer = uv_buf_init(client->data, PIECE);
}

static void on_written(uv_write_t *write, int status)
{
    struct client *client = write->data;
    if (status == 0)
        uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_read);
    else if (!uv_is_closing((uv_handle_t *)&client->pipe))
        uv_close((uv_handle_t *)&client->pipe, on_closed);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct client *client = stream->data;
    if (got < 0) {
        uv_close((uv_handle_t *)stream, on_closed);
        return;
    }
    uv_buf_t all = uv_buf_init(buffer->base, (unsigned)got);
    int sent = got > 0 ? uv_try_write(stream, &all, 1) : 0;
    if (sent == got)
        return;
    sent = sent < 0 ? 0 : sent;
    uv_buf_t rest = uv_buf_init(buffer->base + sent, (unsigned)(got - sent));
    uv_read_stop(stream);
    client->write.data = client;
    uv_write(&client->write, stream, &rest, 1, on_written);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct client *client = calloc(1, sizeof *client);
    if (status != 0 || client == NULL)
        bench_die("connection");
    uv_pipe_init(listener->loop, &client->pipe, 0);
    client->pipe.data = client;
    uv_accept(listener, (uv_stream_t *)&client->pipe);
    uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_read);
}

int main(int argc, char **argv)
{
    uv_pipe_t listener;
    signal(SIGPIPE, SIG_IGN);
    if (argc != 2 || uv_pipe_init(uv_default_loop(), &listener, 0) != 0 ||
        uv_pipe_bind(&listener, argv[1]) != 0 ||
        uv_pipe_chmod(&listener, UV_READABLE | UV_WRITABLE) != 0 ||
        uv_listen((uv_stream_t *)&listener, 128, on_connection) != 0)
        bench_die("echo_bare SOCKET");
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
