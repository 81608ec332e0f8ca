/* The reference for round trips: the least that a server on libuv and jansson can do. It reads
 * NUL-terminated JSON, parses it, prints it again and sends it back. echo_server SOCKET */
#include <jansson.h>
#include <uv.h>

#include "bench.h"

#define MESSAGE_MAX 65536

struct client {
    uv_pipe_t pipe;
    size_t have;
    char message[MESSAGE_MAX];
};

struct reply {
    uv_write_t write;
    char *text;
};

static void on_closed(uv_handle_t *handle) { free(handle->data); }

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct client *client = handle->data;
    *buffer = uv_buf_init(client->message + client->have, (unsigned)(MESSAGE_MAX - client->have));
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    struct reply *reply = write->data;
    free(reply->text);
    free(reply);
}

static void echo(struct client *client, size_t length)
{
    json_t *object = json_loadb(client->message, length, 0, NULL);
    struct reply *reply = malloc(sizeof *reply);
    if (object == NULL || reply == NULL)
        bench_die("echo");
    reply->text = json_dumps(object, JSON_COMPACT);
    reply->write.data = reply;
    json_decref(object);
    uv_buf_t buffer = uv_buf_init(reply->text, (unsigned)strlen(reply->text) + 1);
    uv_write(&reply->write, (uv_stream_t *)&client->pipe, &buffer, 1, on_written);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    (void)buffer;
    struct client *client = stream->data;
    if (got < 0) {
        uv_close((uv_handle_t *)stream, on_closed);
        return;
    }
    client->have += (size_t)got;
    char *end;
    while ((end = memchr(client->message, '\0', client->have)) != NULL) {
        size_t length = (size_t)(end - client->message);
        echo(client, length);
        client->have -= length + 1;
        memmove(client->message, end + 1, client->have);
    }
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
    if (argc != 2 || uv_pipe_init(uv_default_loop(), &listener, 0) != 0 ||
        uv_pipe_bind(&listener, argv[1]) != 0 ||
        uv_listen((uv_stream_t *)&listener, 64, on_connection) != 0)
        bench_die("echo_server SOCKET");
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
