/* libFuzzer target: any bytes as what a peer sends. They go through the framing in pieces of odd
 * sizes, each message through the dispatcher, and what comes back as an error must be a JSON object
 * of the protocol's form. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "varlink/dispatch.h"
#include "varlink/reply.h"
#include "varlink/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct snapshot *no_snapshot(struct daemon *daemon)
{
    (void)daemon;
    return NULL;
}

static enum berth_code echo(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)err;
    *ret = (struct outcome){.kind = OUTCOME_RESULT, .result = json_incref(call->params)};
    return BERTH_OK;
}

static enum berth_code quote(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    (void)ret;
    err_text(err, 0, json_string_value(json_object_get(call->params, "metric")));
    return err_set(err, BERTH_NO_SUCH_METRIC, "%s",
                   json_string_value(json_object_get(call->params, "metric")));
}

static const struct method rows[] = {
    {"io.berth.Placement.Bind", ACCESS_ANY, echo},
    {"io.berth.Placement.Allocate", ACCESS_ANY, echo},
    {"io.berth.Fabric.GetMatrix", ACCESS_ANY, quote},
    {"io.berth.Health.CancelProbe", ACCESS_ADMIN, echo},
    {NULL, ACCESS_ANY, NULL},
};

static void check_reply(const struct print *reply, const char *key)
{
    if (reply->length == 0 || reply->data[reply->length - 1] != '\0' ||
        strlen(reply->data) + 1 != reply->length)
        abort();
    json_t *message = json_loads(reply->data, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(message) || json_object_get(message, key) == NULL ||
        !json_is_object(json_object_get(message, "parameters")))
        abort();
    json_decref(message);
}

/* False when the connection would be closed. */
static bool answer(const struct dispatch_context *context, struct print *reply, const char *text,
                   size_t length)
{
    static const struct peer peer = {.uid = 1};
    struct berth_err err = {0};
    struct dispatch call;
    if (dispatch_open(&call, text, length, &err) != BERTH_OK)
        return false;
    struct outcome outcome = {.kind = OUTCOME_RESULT};
    if (dispatch_call(&call, context, &peer, &outcome, &err) != BERTH_OK) {
        reply_error(reply, dispatch_interface(&call), &err);
        check_reply(reply, "error");
    } else {
        if (!reply_result(reply, outcome.result, call.more))
            abort();
        check_reply(reply, "parameters");
        json_decref(outcome.result);
    }
    dispatch_done(&call);
    return true;
}

static const struct service *service(void)
{
    struct service *made = NULL;
    struct service_info info = {.vendor = "v", .product = "p", .version = "0", .url = "u"};
    if (service_new(rows, &info, &made, NULL) != BERTH_OK)
        abort();
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct service *once;
    if (once == NULL)
        once = service();
    struct dispatch_context context = {.service = once, .snapshot = no_snapshot};
    struct print reply;
    struct wire wire;
    if (!reply_init(&reply))
        abort();
    wire_init(&wire, 4096);
    bool open = true;
    for (size_t fed = 0, piece = 1; open && fed < size; piece = piece * 5 % 1021) {
        char *room;
        size_t space;
        if (!wire_room(&wire, &room, &space))
            abort();
        if (space == 0)
            break;
        size_t count = space < piece ? space : piece;
        if (count > size - fed)
            count = size - fed;
        memcpy(room, data + fed, count);
        wire_filled(&wire, count);
        fed += count;
        const char *text;
        size_t length;
        while (open && wire_next(&wire, &text, &length))
            open = answer(&context, &reply, text, length);
    }
    wire_done(&wire);
    print_done(&reply);
    return 0;
}
