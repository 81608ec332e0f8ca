/**
 * Errors as values. Every code stands once in schema/errors.def with its wire name, its reply
 * parameters and the exit status of the command.
 *
 * A function that can fail returns enum berth_code and takes struct berth_err *err last. On failure
 * the ret_ outputs are untouched. err then holds the code, one line for a person, and the values of
 * the error's parameters. The first cause wins: setting an error that is already set changes
 * nothing.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum berth_code {
    BERTH_OK = 0,
#define X(id, scope, wire, params, exit_status, about) BERTH_##id,
#include "errors.def"
#undef X
    BERTH_CODE_COUNT
};

enum err_scope { ERR_SERVICE, ERR_CALLED, ERR_INTERNAL };

struct err_info {
    const char *id;     /* "NO_SUCH_PLACE" */
    const char *wire;   /* "NoSuchPlace" */
    const char *params; /* "place:s,detail:s" */
    const char *about;
    enum err_scope scope;
    int exit_status;
};

#define ERR_ARGS      3
#define ERR_TEXT_SIZE 96

/* Zero-initialise: struct berth_err err = {0}; */
struct berth_err {
    enum berth_code code;
    char detail[256];
    struct {
        char text[ERR_TEXT_SIZE];
        int64_t number;
    } arg[ERR_ARGS];
};

/* Returns the table row of a code; never NULL (an unknown code gives the row of UNAVAILABLE). Any
 * thread. */
const struct err_info *err_info(enum berth_code code);

/* Sets code and a formatted one-line detail (truncated to fit); returns the code now in err. err
 * may be NULL. */
enum berth_code err_set(struct berth_err *err, enum berth_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* err_set with strerror(errno_value) appended. ENOMEM becomes NO_MEMORY, for any code. */
enum berth_code err_set_errno(struct berth_err *err, enum berth_code code, int errno_value,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Set parameter number index (0-based) of the error; the text is truncated to fit. err may be
 * NULL. */
void err_text(struct berth_err *err, int index, const char *text);
void err_number(struct berth_err *err, int index, int64_t number);

/* Sets NoSuchPlace with its parameter. */
enum berth_code err_no_such_place(struct berth_err *err, const char *place);

/* Sets InvalidParameter for a value that makes no sense. Its parameter is the name, and the detail
 * begins with it. */
enum berth_code err_invalid(struct berth_err *err, const char *parameter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the item's position to an INVALID_PARAMETER that the reader of one item of an array set. The
 * parameter becomes "accesses[2].reads_bytes", or "accesses[2]" where it named the array itself.
 * Any other error stays unchanged. err may be NULL. */
void err_in_item(struct berth_err *err, const char *array, size_t index);

/* Sets NotEnough; the detail says how much is available. */
enum berth_code err_not_enough(struct berth_err *err, const char *resource, int64_t requested,
                               int64_t available, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
