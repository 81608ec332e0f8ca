/* The last error of a handle. Wire names come from schema/errors.def, so berth.h cannot miss a new
 * one. */
#include "lib/lib.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int status;
    const char *wire, *about;
} known[] = {
#define ROW_SERVICE(id, wire, about) {BERTH_ERROR_##id, wire, about},
#define ROW_CALLED(id, wire, about)  {BERTH_ERROR_##id, wire, about},
#define ROW_INTERNAL(id, wire, about)
#define X(id, scope, wire, params, exit_status, about) ROW_##scope(id, wire, about)
#include "errors.def"
#undef X
};

static const char *local_name(int status)
{
    switch (status) {
    case BERTH_ERROR_NO_DAEMON:
        return "NoDaemon";
    case BERTH_ERROR_TIMED_OUT:
        return "TimedOut";
    case BERTH_ERROR_CLOSED:
        return "Closed";
    case BERTH_ERROR_PROTOCOL:
        return "Protocol";
    case BERTH_ERROR_OUT_OF_MEMORY:
        return "OutOfMemory";
    case BERTH_ERROR_BAD_ARGUMENT:
        return "BadArgument";
    case BERTH_ERROR_PERMISSION_DENIED:
        return "PermissionDenied";
    default:
        return "System";
    }
}

/* Makes any detail one line that cannot control a terminal: bytes of C0 and, in UTF-8, of C1 become
 * spaces. */
static void flatten(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = ' ';
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            c[0] = c[1] = ' ';
    }
}

int lib_fail(struct berth *berth, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(berth->error_detail, sizeof berth->error_detail, format, args);
    va_end(args);
    flatten(berth->error_detail);
    free(berth->error_parameters);
    berth->error_parameters = NULL;
    snprintf(berth->error_name, sizeof berth->error_name, "%s", local_name(status));
    return status;
}

int lib_fail_late(struct berth *berth, int timeout_ms)
{
    if (timeout_ms <= 0)
        return lib_fail(berth, BERTH_ERROR_TIMED_OUT, "no answer from the daemon yet");
    if (timeout_ms < 1000)
        return lib_fail(berth, BERTH_ERROR_TIMED_OUT, "no answer from the daemon within %d ms",
                        timeout_ms);
    return lib_fail(berth, BERTH_ERROR_TIMED_OUT, "no answer from the daemon within %g s",
                    timeout_ms / 1000.0);
}

void lib_fail_late_of_all(struct berth *berth, int timeout_ms)
{
    /* without a connection, the connect itself was late */
    if (strcmp(berth->error_name, local_name(BERTH_ERROR_TIMED_OUT)) == 0 && berth->fd >= 0)
        lib_fail_late(berth, timeout_ms);
}

int lib_fail_memory(struct berth *berth)
{
    return lib_fail(berth, BERTH_ERROR_OUT_OF_MEMORY, "out of memory");
}

/* Builds " (place gpu9, wanted 3)" from the parameters of an error without a detail. */
static void describe(const json_t *parameters, char *text, size_t size)
{
    const char *key, *separator = " (";
    const json_t *value;
    size_t used = 0;
    text[0] = '\0';
    json_object_foreach((json_t *)(uintptr_t)parameters, key, value)
    {
        int n = 0;
        if (json_is_string(value))
            n = snprintf(text + used, size - used, "%s%s %s", separator, key,
                         json_string_value(value));
        else if (json_is_integer(value))
            n = snprintf(text + used, size - used, "%s%s %" JSON_INTEGER_FORMAT, separator, key,
                         json_integer_value(value));
        if (n > 0) {
            used += (size_t)n;
            separator = ", ";
        }
        if (used + 2 >= size)
            return;
    }
    if (used > 0)
        snprintf(text + used, size - used, ")");
}

int lib_fail_reply(struct berth *berth, const char *wire_name, const json_t *parameters)
{
    int status = BERTH_ERROR_OTHER;
    const char *about = "the daemon refused";
    const char *last = strrchr(wire_name, '.');
    last = last == NULL ? wire_name : last + 1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(last, known[i].wire) == 0) {
            status = known[i].status;
            about = known[i].about;
            break;
        }
    }
    const char *detail = json_string_value(json_object_get(parameters, "detail"));
    char described[300];
    if (detail != NULL && *detail != '\0') {
        lib_fail(berth, status, "%s", detail);
    } else {
        describe(parameters, described, sizeof described);
        if (status == BERTH_ERROR_OTHER)
            lib_fail(berth, status, "%s: %s%s", about, wire_name, described);
        else
            lib_fail(berth, status, "%s%s", about, described);
    }
    snprintf(berth->error_name, sizeof berth->error_name, "%s", wire_name);
    flatten(berth->error_name);
    berth->error_parameters =
        parameters != NULL ? json_dumps(parameters, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    return status;
}

const char *berth_error_name(const struct berth *berth) { return berth->error_name; }
const char *berth_error_detail(const struct berth *berth) { return berth->error_detail; }
const char *berth_error_parameters(const struct berth *berth) { return berth->error_parameters; }

int lib_fail_allowed(struct berth *berth, int status, int whole_node,
                     const struct berth_allowed *given)
{
    size_t used = strlen(berth->error_detail);
    if ((status == BERTH_ERROR_NOTHING_ALLOWED || status == BERTH_ERROR_NOT_ENOUGH) &&
        given == NULL && !whole_node)
        snprintf(berth->error_detail + used, sizeof berth->error_detail - used,
                 "; whole_node = 1 asks about all of the node, not this process's part");
    return status;
}
