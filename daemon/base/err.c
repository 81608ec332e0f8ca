#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct err_info infos[BERTH_CODE_COUNT] = {
    [BERTH_OK] = {"OK", "", "", "no error", ERR_INTERNAL, 0},
#define X(id, scope, wire, params, exit_status, about)                                             \
    [BERTH_##id] = {#id, wire, params, about, ERR_##scope, exit_status},
#include "errors.def"
#undef X
};

const struct err_info *err_info(enum berth_code code)
{
    if ((unsigned)code >= BERTH_CODE_COUNT)
        code = BERTH_UNAVAILABLE;
    return &infos[code];
}

__attribute__((format(printf, 3, 0))) static enum berth_code
err_vset(struct berth_err *err, enum berth_code code, const char *format, va_list args)
{
    if (err == NULL)
        return code;
    if (err->code != BERTH_OK)
        return err->code;
    err->code = code;
    vsnprintf(err->detail, sizeof err->detail, format, args);
    text_clean(err->detail);
    return code;
}

enum berth_code err_set(struct berth_err *err, enum berth_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    code = err_vset(err, code, format, args);
    va_end(args);
    return code;
}

enum berth_code err_set_errno(struct berth_err *err, enum berth_code code, int errno_value,
                              const char *format, ...)
{
    if (errno_value == ENOMEM)
        code = BERTH_NO_MEMORY;
    if (err == NULL || err->code != BERTH_OK)
        return err == NULL ? code : err->code;
    va_list args;
    va_start(args, format);
    err_vset(err, code, format, args);
    va_end(args);
    size_t used = strlen(err->detail);
    snprintf(err->detail + used, sizeof err->detail - used, ": %s", strerror(errno_value));
    return code;
}

void err_text(struct berth_err *err, int index, const char *text)
{
    if (err == NULL || index < 0 || index >= ERR_ARGS)
        return;
    snprintf(err->arg[index].text, sizeof err->arg[index].text, "%.*s", ERR_TEXT_SIZE - 1, text);
    text_clean(err->arg[index].text);
}

void err_number(struct berth_err *err, int index, int64_t number)
{
    if (err != NULL && index >= 0 && index < ERR_ARGS)
        err->arg[index].number = number;
}

enum berth_code err_no_such_place(struct berth_err *err, const char *place)
{
    enum berth_code code = err_set(err, BERTH_NO_SUCH_PLACE,
                                   "this node has no place %.60s (berth topo lists them)", place);
    err_text(err, 0, place);
    return code;
}

enum berth_code err_invalid(struct berth_err *err, const char *parameter, const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    err_text(err, 0, parameter);
    return err_set(err, BERTH_INVALID_PARAMETER, "%s: %s", parameter, why);
}

void err_in_item(struct berth_err *err, const char *array, size_t index)
{
    if (err == NULL || err->code != BERTH_INVALID_PARAMETER)
        return;
    char named[sizeof err->arg[0].text], detail[sizeof err->detail];
    size_t length = strlen(err->arg[0].text);
    bool is_array = strcmp(err->arg[0].text, array) == 0;
    snprintf(named, sizeof named, "%s[%zu]%s%.60s", array, index, is_array ? "" : ".",
             is_array ? "" : err->arg[0].text);
    snprintf(detail, sizeof detail, "%s%.200s", named,
             strlen(err->detail) > length ? err->detail + length : "");
    memcpy(err->detail, detail, sizeof detail);
    memcpy(err->arg[0].text, named, sizeof named);
}

enum berth_code err_not_enough(struct berth_err *err, const char *resource, int64_t requested,
                               int64_t available, const char *format, ...)
{
    char detail[200];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    err_text(err, 0, resource);
    err_number(err, 1, requested);
    err_number(err, 2, available);
    return err_set(err, BERTH_NOT_ENOUGH, "%s", detail);
}
