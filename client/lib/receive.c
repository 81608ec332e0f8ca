/* Bytes in and out, and the call of each reply. */
#include "lib/lib.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES 16384

int lib_lose(struct berth *berth, int status)
{
    struct lib_pending *pending = berth->first;
    berth->first = NULL;
    berth->last = &berth->first;
    lib_disconnect(berth);
    while (pending != NULL) {
        struct lib_pending *next = pending->next;
        struct lib_reply reply = {.status = status};
        if (pending->reply != NULL)
            pending->reply(berth, &reply, pending->arg);
        free(pending);
        pending = next;
    }
    return status;
}

static int lose_errno(struct berth *berth, int number)
{
    if (number == EPIPE || number == ECONNRESET)
        return lib_lose(berth,
                        lib_fail(berth, BERTH_ERROR_CLOSED, "the daemon closed the connection"));
    return lib_lose(berth, lib_fail(berth, BERTH_ERROR_SYSTEM,
                                    "the connection to the daemon broke: %s", strerror(number)));
}

static int flush(struct berth *berth)
{
    struct lib_buffer *out = &berth->out;
    while (out->start < out->end) {
        ssize_t n = send(berth->fd, out->data + out->start, out->end - out->start,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0)
            out->start += (size_t)n;
        else if (errno == EAGAIN)
            return BERTH_DONE;
        else if (errno == EPIPE || errno == ECONNRESET)
            /* the daemon's last messages are still to be read, then the end */
            return BERTH_DONE;
        else if (errno != EINTR)
            return lose_errno(berth, errno);
    }
    return BERTH_DONE;
}

/* Checks a frame and reads its members; parameters is never NULL. Changes nothing on failure. */
static bool read_frame(const json_t *root, const char **ret_error, const json_t **ret_parameters,
                       bool *ret_continues)
{
    const json_t *error = json_object_get(root, "error");
    const json_t *parameters = json_object_get(root, "parameters");
    const json_t *continues = json_object_get(root, "continues");
    if (!json_is_object(root) || (error != NULL && !json_is_string(error)) ||
        (parameters != NULL && !json_is_object(parameters)) ||
        (continues != NULL && !json_is_boolean(continues)))
        return false;
    *ret_error = json_string_value(error);
    *ret_parameters = parameters;
    *ret_continues = json_is_true(continues) && error == NULL;
    return true;
}

static void unlink_first(struct berth *berth)
{
    berth->first = berth->first->next;
    if (berth->first == NULL)
        berth->last = &berth->first;
}

/* A value in 2 bytes takes 40 to 200 in memory, so that a message of few MiB could take gigabytes.
 * Before each value but the first stands a comma or a bracket. */
static bool has_too_many_values(const char *message, size_t length)
{
    size_t count = 0;
    bool in_text = false;
    for (size_t i = 0; length > LIB_VALUES_MAX && i < length; i++) {
        const char c = message[i];
        if (c == '"')
            in_text = !in_text;
        else if (in_text && c == '\\')
            i++;
        else if (!in_text)
            count += c == ',' || c == '[' || c == '{';
    }
    return count > LIB_VALUES_MAX;
}

static int take_frame(struct berth *berth, const char *message, size_t length)
{
    struct lib_pending *pending = berth->first;
    if (pending == NULL)
        return lib_lose(
            berth, lib_fail(berth, BERTH_ERROR_PROTOCOL, "the daemon sent a reply to no call"));
    if (pending->reply == NULL) { /* the call timed out: the reply is dropped unparsed */
        unlink_first(berth);
        free(pending);
        return BERTH_DONE;
    }
    if (has_too_many_values(message, length))
        return lib_lose(berth,
                        lib_fail(berth, BERTH_ERROR_PROTOCOL,
                                 "the daemon's reply has more than %zu values", LIB_VALUES_MAX));
    json_error_t where;
    json_t *root = json_loadb(message, length, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL && where.text[0] == '\0') /* jansson has a message for every other error */
        return lib_lose(berth, lib_fail_memory(berth));
    const char *error;
    const json_t *parameters;
    bool continues;
    if (root == NULL || !read_frame(root, &error, &parameters, &continues) ||
        (continues && !pending->more)) {
        lib_fail(berth, BERTH_ERROR_PROTOCOL, "the daemon's reply is not a Varlink reply%s%s",
                 root == NULL ? ": " : "", root == NULL ? where.text : "");
        json_decref(root);
        return lib_lose(berth, BERTH_ERROR_PROTOCOL);
    }
    struct lib_reply reply = {.parameters = parameters, .message = message, .continues = continues};
    if (error != NULL)
        reply.status = lib_fail_reply(berth, error, parameters);
    if (!continues)
        unlink_first(berth);
    pending->reply(berth, &reply, pending->arg);
    if (!continues)
        free(pending);
    json_decref(root);
    return BERTH_DONE;
}

static int take_frames(struct berth *berth)
{
    struct lib_buffer *in = &berth->in;
    for (;;) {
        const char *begin = in->data + in->start;
        size_t length = in->end - in->start;
        const char *nul = length > berth->scanned
                              ? memchr(begin + berth->scanned, '\0', length - berth->scanned)
                              : NULL;
        if (nul == NULL) {
            berth->scanned = length;
            if (length >= LIB_MESSAGE_MAX)
                return lib_lose(berth, lib_fail(berth, BERTH_ERROR_PROTOCOL,
                                                "the daemon's reply is longer than %zu MiB",
                                                LIB_MESSAGE_MAX >> 20));
            return BERTH_DONE;
        }
        berth->scanned = 0;
        in->start += (size_t)(nul - begin) + 1;
        int status = take_frame(berth, begin, (size_t)(nul - begin));
        if (lib_passed_are_here(berth))
            lib_passed_drop(berth);
        if (status < 0)
            return status;
    }
}

/* Reads until nothing is left, and passes complete messages on in between: a stream must not fill
 * the memory. */
static int receive(struct berth *berth)
{
    struct lib_buffer *in = &berth->in;
    for (;;) {
        if (!lib_buffer_reserve(in, READ_BYTES))
            return lib_lose(berth, lib_fail_memory(berth));
        size_t room = in->size - in->end;
        ssize_t n = berth->takes_files ? lib_passed_receive(berth, in->data + in->end, room)
                                       : recv(berth->fd, in->data + in->end, room, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return BERTH_DONE;
        if (n < 0)
            return lose_errno(berth, errno);
        if (n == 0)
            return lib_lose(
                berth, lib_fail(berth, BERTH_ERROR_CLOSED, "the daemon closed the connection"));
        in->end += (size_t)n;
        berth->received += (uint64_t)n;
        int status = take_frames(berth);
        if (status < 0 || (size_t)n < room)
            return status;
    }
}

int berth_process(struct berth *berth)
{
    if (berth->processing)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a callback cannot process its own handle");
    if (berth->fd < 0)
        return lib_fail(berth, BERTH_ERROR_NO_DAEMON, "not connected to a daemon");
    berth->processing = true;
    int status = flush(berth);
    if (status == BERTH_DONE)
        status = receive(berth);
    if (status == BERTH_DONE && berth->fd >= 0)
        status = flush(berth); /* sends the calls that the callbacks made */
    berth->processing = false;
    return status;
}

int berth_wait(struct berth *berth, int timeout_ms)
{
    if (berth->fd < 0)
        return lib_fail(berth, BERTH_ERROR_NO_DAEMON, "not connected to a daemon");
    int64_t start = lib_now_ms();
    for (;;) {
        struct pollfd descriptor = {.fd = berth->fd, .events = berth_events(berth)};
        int n = poll(&descriptor, 1, lib_left_ms(start, timeout_ms));
        if (n > 0) {
            int status = berth_process(berth);
            return status < 0 ? status : 1;
        }
        if (n == 0)
            return 0;
        if (errno != EINTR)
            return lib_fail(berth, BERTH_ERROR_SYSTEM, "cannot wait for the daemon: %s",
                            strerror(errno));
    }
}
