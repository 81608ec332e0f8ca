/* Calls: asynchronous, blocking, as text and typed. */
#include "lib/lib.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Appends {"method":...,"parameters":...,"more":true} and its NUL to the output buffer. */
static int append_message(struct berth *berth, const char *method, const json_t *parameters,
                          bool more)
{
    json_t *message = json_object();
    char *text = NULL;
    if (message != NULL && json_object_set_new(message, "method", json_string(method)) == 0 &&
        (parameters == NULL ||
         json_object_set(message, "parameters", (json_t *)(uintptr_t)parameters) == 0) &&
        (!more || json_object_set_new(message, "more", json_true()) == 0))
        text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    size_t length = text == NULL ? 0 : strlen(text) + 1;
    bool fits = text != NULL && lib_buffer_reserve(&berth->out, length);
    if (fits) {
        memcpy(berth->out.data + berth->out.end, text, length);
        berth->out.end += length;
    }
    free(text);
    return fits ? BERTH_DONE : lib_fail_memory(berth);
}

int lib_start(struct berth *berth, const char *method, const json_t *parameters, bool more,
              lib_reply_fn *reply, void *arg, struct lib_pending **ret_pending)
{
    if (berth->fd < 0)
        return lib_fail(berth, BERTH_ERROR_NO_DAEMON, "not connected to a daemon");
    if (method == NULL || strchr(method, '.') == NULL)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "a method is named interface.Method");
    struct lib_pending *pending = calloc(1, sizeof *pending);
    if (pending == NULL)
        return lib_fail_memory(berth);
    int status = append_message(berth, method, parameters, more);
    if (status < 0) {
        free(pending);
        return status;
    }
    *pending = (struct lib_pending){.reply = reply, .arg = arg, .more = more};
    *berth->last = pending;
    berth->last = &pending->next;
    *ret_pending = pending;
    return BERTH_DONE;
}

/* Parses the caller's parameters; NULL text gives a NULL object. */
static int parse_parameters(struct berth *berth, const char *text, json_t **ret_parameters)
{
    *ret_parameters = NULL;
    if (text == NULL)
        return BERTH_DONE;
    json_error_t where;
    json_t *parameters = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    /* jansson has a message for every other error */
    if (parameters == NULL && where.text[0] == '\0')
        return lib_fail_memory(berth);
    if (parameters == NULL)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "the parameters are not JSON: %s",
                        where.text);
    if (!json_is_object(parameters)) {
        json_decref(parameters);
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "the parameters must be a JSON object");
    }
    *ret_parameters = parameters;
    return BERTH_DONE;
}

/* Copies a reply's parameters as text; NULL when out of memory. */
static char *reply_text(const struct lib_reply *reply)
{
    const char *text;
    size_t length;
    if (reply->parameters == NULL)
        return strdup("{}");
    if (lib_parameters_span(reply->message, &text, &length))
        return strndup(text, length);
    return json_dumps(reply->parameters, JSON_COMPACT);
}

static void deliver(struct berth *berth, const struct lib_reply *reply, void *arg)
{
    const struct lib_async *async = arg;
    if (reply->message == NULL) {
        async->reply(berth, reply->status, NULL, 0, async->arg);
        return;
    }
    char *text = reply_text(reply);
    if (text == NULL)
        async->reply(berth, lib_fail_memory(berth), NULL, reply->continues, async->arg);
    else
        async->reply(berth, reply->status, text, reply->continues, async->arg);
    free(text);
}

int berth_call_async(struct berth *berth, const char *method, const char *parameters,
                     unsigned flags, berth_reply_fn *reply, void *arg)
{
    if (reply == NULL || (flags & ~BERTH_MORE) != 0)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a call needs a callback and no flag but BERTH_MORE");
    json_t *object;
    int status = parse_parameters(berth, parameters, &object);
    if (status < 0)
        return status;
    struct lib_pending *pending;
    status = lib_start(berth, method, object, (flags & BERTH_MORE) != 0, deliver, NULL, &pending);
    json_decref(object);
    if (status < 0)
        return status;
    pending->async = (struct lib_async){.reply = reply, .arg = arg};
    pending->arg = &pending->async;
    return BERTH_DONE;
}

/* A blocking call in progress, on the stack of lib_wait_reply. */
struct waiter {
    lib_reply_fn *reply;
    void *arg;
    bool done;
    int status;
};

static void wake(struct berth *berth, const struct lib_reply *reply, void *arg)
{
    struct waiter *waiter = arg;
    waiter->done = true;
    waiter->status = reply->status;
    if (reply->status == BERTH_DONE)
        waiter->reply(berth, reply, waiter->arg);
}

/* Replies come in the order of the calls: behind a stream a reply may never come. */
static bool has_open_stream(const struct berth *berth)
{
    for (const struct lib_pending *pending = berth->first; pending != NULL; pending = pending->next)
        if (pending->more)
            return true;
    return false;
}

int lib_wait_reply(struct berth *berth, const char *method, const json_t *parameters,
                   lib_reply_fn *reply, void *arg)
{
    if (berth->processing)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "a callback cannot make a blocking call");
    if (has_open_stream(berth))
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a blocking call would wait for the end of the open stream: give the "
                        "stream a handle of its own");
    struct waiter waiter = {.reply = reply, .arg = arg};
    struct lib_pending *pending = NULL;
    int status = lib_start(berth, method, parameters, false, wake, &waiter, &pending);
    if (status < 0)
        return status;
    assert(pending != NULL);
    int64_t start = lib_now_ms();
    status = berth_process(berth);
    while (!waiter.done && status >= 0) {
        status = berth_wait(berth, lib_left_ms(start, berth->timeout_ms));
        if (status == 0 && !waiter.done)
            status = lib_fail_late(berth, berth->timeout_ms);
    }
    if (waiter.done)
        return waiter.status;
    if (berth->fd >= 0)
        pending->reply = NULL; /* a late reply is dropped */
    return status;
}

static void keep_text(struct berth *berth, const struct lib_reply *reply, void *arg)
{
    (void)berth;
    char **result = arg;
    *result = reply_text(reply);
}

int berth_call(struct berth *berth, const char *method, const char *parameters, char **ret_reply)
{
    json_t *object;
    int status = parse_parameters(berth, parameters, &object);
    if (status < 0)
        return status;
    char *result = NULL;
    status = lib_wait_reply(berth, method, object, keep_text, &result);
    json_decref(object);
    if (status < 0)
        return status;
    if (result == NULL)
        return lib_fail_memory(berth);
    *ret_reply = result;
    return BERTH_DONE;
}

static void keep_object(struct berth *berth, const struct lib_reply *reply, void *arg)
{
    (void)berth;
    json_t **result = arg;
    *result = reply->parameters == NULL ? json_object()
                                        : json_incref((json_t *)(uintptr_t)reply->parameters);
}

int lib_call(struct berth *berth, const char *method, json_t *take_parameters, json_t **ret_reply)
{
    if (take_parameters == NULL)
        return lib_fail_memory(berth);
    json_t *result = NULL;
    int status = lib_wait_reply(berth, method, take_parameters, keep_object, &result);
    json_decref(take_parameters);
    if (status < 0)
        return status;
    if (result == NULL)
        return lib_fail_memory(berth);
    *ret_reply = result;
    return BERTH_DONE;
}
