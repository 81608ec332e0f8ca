#include "varlink/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "varlink/idl.h"
#include "varlink/message.h"

#define LIGHT_SURELY 1024
#define LIGHT_BYTES  (4u << 10) /* jansson takes about 6 ns a byte */
#define LIGHT_ITEMS  500
#define LARGE_BYTES  (64u << 10)
#define LARGE_ITEMS  1000

bool dispatch_is_light(const char *text, size_t length)
{
    return length <= LIGHT_SURELY ||
           (length <= LIGHT_BYTES && message_items(text, length) <= LIGHT_ITEMS);
}

/* Reads a message with a number that fits no 64 bits or no double, which jansson refuses to read at
 * all. The interface description then names the offending parameter. */
static json_t *read_beyond(const char *text, size_t length, json_error_t *why)
{
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    message_fit_numerals(copy, length);
    errno = 0;
    json_t *message = json_loadb(copy, length, JSON_REJECT_DUPLICATES, why);
    int failed = errno;
    free(copy);
    errno = failed;
    return message;
}

/* True when at begins "oneway": true. */
static bool is_oneway(const char *at, const char *end)
{
    static const char flag[] = "\"oneway\"", blanks[] = " \t\r\n";
    bool is_key = false;
    if ((size_t)(end - at) < sizeof flag - 1 || memcmp(at, flag, sizeof flag - 1) != 0)
        return false;
    for (at += sizeof flag - 1;
         at < end && (memchr(blanks, *at, sizeof blanks - 1) != NULL || (*at == ':' && !is_key));
         at++)
        is_key |= *at == ':';
    return is_key && end - at >= 4 && memcmp(at, "true", 4) == 0;
}

bool dispatch_may_be_oneway(const char *text, size_t length)
{
    const char *end = text + length;
    long depth = 0;
    for (const char *at = text; at < end; at++) {
        if (*at != '"') {
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
            continue;
        }
        if (depth == 1 && is_oneway(at, end))
            return true;
        for (at++; at < end && *at != '"'; at++) /* skips the string */
            at += *at == '\\';
    }
    return false;
}

enum berth_code dispatch_open(struct dispatch *dispatch, const char *text, size_t length,
                              struct berth_err *err)
{
    json_error_t why;
    size_t items = length > LIGHT_SURELY ? message_items(text, length) : 0;
    if (items > MESSAGE_ITEMS_MAX) {
        if (dispatch_may_be_oneway(text, length))
            return err_set(
                err, BERTH_BAD_DATA,
                "a message of more items than any method takes, which may want no answer");
        err_text(err, 0, "message");
        return err_set(err, BERTH_INVALID_PARAMETER,
                       "a message of more items than any method takes");
    }
    /* jansson reports a string that it has no memory for as no JSON; malloc sets ENOMEM */
    errno = 0;
    json_t *message = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (message == NULL && errno != ENOMEM && json_error_code(&why) == json_error_numeric_overflow)
        message = read_beyond(text, length, &why);
    if (message == NULL && errno == ENOMEM && !dispatch_may_be_oneway(text, length))
        return err_set(err, BERTH_NO_MEMORY, "no memory to read the call: ask again in a moment");
    if (message == NULL && errno == ENOMEM)
        return err_set(err, BERTH_BAD_DATA, "no memory to read a message that may want no answer");
    if (message == NULL)
        return err_set(err, BERTH_BAD_DATA, "a message is no JSON: %s", why.text);
    if (!json_is_object(message)) {
        json_decref(message);
        return err_set(err, BERTH_BAD_DATA, "a message is no JSON object");
    }
    *dispatch = (struct dispatch){.message = message,
                                  .is_large = length > LARGE_BYTES || items > LARGE_ITEMS};
    return BERTH_OK;
}

static enum berth_code read_flag(const json_t *message, const char *name, bool *ret_flag,
                                 struct berth_err *err)
{
    const json_t *flag = json_object_get(message, name);
    if (flag != NULL && !json_is_boolean(flag) && !json_is_null(flag))
        return err_invalid(err, name, "it must be true or false");
    *ret_flag = json_is_true(flag);
    return BERTH_OK;
}

/* oneway comes first: a caller that wants no answer gets none for its mistakes either. */
static enum berth_code read_flags(struct dispatch *dispatch, struct berth_err *err)
{
    bool upgrade = false;
    enum berth_code code = read_flag(dispatch->message, "oneway", &dispatch->oneway, err);
    if (code == BERTH_OK)
        code = read_flag(dispatch->message, "more", &dispatch->more, err);
    if (code == BERTH_OK)
        code = read_flag(dispatch->message, "upgrade", &upgrade, err);
    if (code == BERTH_OK && upgrade)
        code = err_invalid(err, "upgrade", "this service has no other protocol");
    return code;
}

static enum berth_code call_own(struct dispatch *dispatch, const struct dispatch_context *context,
                                const json_t *params, struct outcome *ret_outcome,
                                struct berth_err *err)
{
    json_t *result = NULL;
    enum berth_code code = dispatch->method->own(context->service, params, &result, err);
    if (code == BERTH_OK)
        *ret_outcome = (struct outcome){.kind = OUTCOME_RESULT, .result = result};
    return code;
}

static enum berth_code call_with(struct dispatch *dispatch, const struct dispatch_context *context,
                                 const struct peer *peer, json_t *params,
                                 struct outcome *ret_outcome, struct berth_err *err)
{
    const struct service_method *method = dispatch->method;
    enum berth_code code =
        dispatch->is_checked ? BERTH_OK : idl_check(method->idl->in, params, err);
    if (code != BERTH_OK)
        return code;
    if (method->own != NULL)
        return call_own(dispatch, context, params, ret_outcome, err);
    struct call call = {.method = method->row,
                        .params = params,
                        .peer = peer,
                        .more = dispatch->more && !dispatch->oneway,
                        .snap = context->snapshot(context->daemon),
                        .daemon = context->daemon};
    return method->row->handle(&call, ret_outcome, err);
}

static enum berth_code call_named(struct dispatch *dispatch, const struct dispatch_context *context,
                                  const struct peer *peer, struct outcome *ret_outcome,
                                  struct berth_err *err)
{
    enum berth_code code = read_flags(dispatch, err);
    if (code != BERTH_OK)
        return code;
    const char *name = json_string_value(json_object_get(dispatch->message, "method"));
    if (name == NULL)
        return err_invalid(err, "method", "a call names its method");
    code = service_find(context->service, name, &dispatch->method, err);
    if (code != BERTH_OK)
        return code;
    const struct service_method *method = dispatch->method;
    if (method->row != NULL && method->row->access == ACCESS_ADMIN && !peer->is_admin)
        return err_set(err, BERTH_PERMISSION_DENIED,
                       "%s is for administrators: root, the user that berthd runs as, and the "
                       "group in its configuration",
                       name);
    if (method->own == NULL && (method->row == NULL || method->row->handle == NULL)) {
        err_text(err, 0, name);
        return err_set(err, BERTH_METHOD_NOT_IMPLEMENTED, "this version does not answer %s", name);
    }

    json_t *params = json_object_get(dispatch->message, "parameters");
    if (json_is_object(params))
        return call_with(dispatch, context, peer, params, ret_outcome, err);
    if (params != NULL && !json_is_null(params))
        return err_invalid(err, "parameters", "it must be an object");
    params = json_object();
    if (params == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for a call");
    code = call_with(dispatch, context, peer, params, ret_outcome, err);
    json_decref(params);
    return code;
}

enum berth_code dispatch_call(struct dispatch *dispatch, const struct dispatch_context *context,
                              const struct peer *peer, struct outcome *ret_outcome,
                              struct berth_err *err)
{
    return call_named(dispatch, context, peer, ret_outcome, err);
}

void dispatch_check(struct dispatch *dispatch, const struct service *service)
{
    struct berth_err ignored = {0};
    const struct service_method *method = NULL;
    const char *name = json_string_value(json_object_get(dispatch->message, "method"));
    const json_t *params = json_object_get(dispatch->message, "parameters");
    if (name != NULL && json_is_object(params) &&
        service_find(service, name, &method, &ignored) == BERTH_OK)
        dispatch->is_checked = idl_check(method->idl->in, params, &ignored) == BERTH_OK;
}

json_t *dispatch_take_message(struct dispatch *dispatch)
{
    json_t *message = dispatch->message, *empty = json_object();
    if (empty == NULL)
        return NULL;
    dispatch->message = empty;
    return message;
}

const char *dispatch_interface(const struct dispatch *dispatch)
{
    return dispatch->method != NULL ? dispatch->method->interface->name : "org.varlink.service";
}

static enum berth_code check_result(const struct dispatch *dispatch, const json_t *result,
                                    struct berth_err *err)
{
    struct berth_err why = {0};
    if (idl_check(dispatch->method->idl->out, result, &why) == BERTH_OK)
        return BERTH_OK;
    return err_set(err, BERTH_UNAVAILABLE, "our reply to %s is not what its interface declares: %s",
                   dispatch->method->name, why.detail);
}

enum berth_code dispatch_print(const struct dispatch *dispatch, bool check, json_t *take_result,
                               bool continues, struct print *reply, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    if (take_result == NULL || !json_is_object(take_result))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the reply");
    else if (check)
        code = check_result(dispatch, take_result, err);
    if (code == BERTH_OK && !reply_result(reply, take_result, continues))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the reply");
    json_decref(take_result);
    return code;
}

static enum berth_code check_written(const struct dispatch *dispatch, const char *text,
                                     size_t length, struct berth_err *err)
{
    json_error_t why;
    json_t *written = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (written == NULL)
        return err_set(err, BERTH_UNAVAILABLE, "our reply to %s is no JSON: %s",
                       dispatch->method->name, why.text);
    enum berth_code code = check_result(dispatch, written, err);
    json_decref(written);
    return code;
}

enum berth_code dispatch_write(const struct dispatch *dispatch, bool check,
                               const struct outcome *outcome, struct print *reply,
                               struct berth_err *err)
{
    reply_begin(reply);
    size_t before = reply->length;
    enum berth_code code = outcome->write(outcome->state, reply, err);
    if (code == BERTH_OK && check && !reply->failed)
        code = check_written(dispatch, reply->data + before, reply->length - before, err);
    if (code == BERTH_OK && !reply_end(reply, false))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the reply");
    return code;
}

enum berth_code dispatch_check_error(const struct dispatch *dispatch, enum berth_code code,
                                     struct berth_err *err)
{
    const struct err_info *info = err_info(code);
    if (info->scope == ERR_SERVICE || dispatch->method == NULL)
        return BERTH_OK;
    const struct idl_member *declared =
        idl_find(dispatch->method->interface, IDL_ERROR, info->wire);
    /* Unavailable cannot be added to org.varlink.service, which is not ours */
    if (declared == NULL && dispatch->method->row == NULL)
        return BERTH_OK;
    if (declared == NULL)
        return err_set(err, BERTH_UNAVAILABLE, "our error %s is not declared by %s", info->wire,
                       dispatch->method->interface->name);
    for (const char *at = info->params; *at != '\0';) {
        size_t length = strcspn(at, ":");
        const struct idl_name *field = declared->in->names;
        while (field != NULL &&
               !(strlen(field->name) == length && memcmp(field->name, at, length) == 0))
            field = field->next;
        if (field == NULL || field->type->kind != (at[length + 1] == 'i' ? IDL_INT : IDL_STRING))
            return err_set(err, BERTH_UNAVAILABLE, "our error %s does not carry what %s declares",
                           info->wire, dispatch->method->interface->name);
        at += length + 2;
        at += *at == ',';
    }
    return BERTH_OK;
}

void dispatch_done(struct dispatch *dispatch)
{
    json_decref(dispatch->message);
    *dispatch = (struct dispatch){0};
}
