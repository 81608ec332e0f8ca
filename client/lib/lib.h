/**
 * Folder client/lib: libberth: connection, calls, answers as C structures, and what this process
 *   may use. Public to programs: berth.h.
 *
 * Main types: struct berth (berth.h).
 * Uses: nobody
 * Public headers: allowed.h berth.h cpus.h lib.h size.h write.h
 * Shown by: tests/unit/lib, docs/examples
 *
 * Declarations that the parts of libberth share. None is exported.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/berth.h"

#define LIB_MESSAGE_MAX    ((size_t)64 << 20) /* bytes of one message, NUL included */
#define LIB_PASSED         2                  /* files that come with a reply */
#define LIB_VALUES_MAX     ((size_t)4 << 20)  /* values of one message, of up to 200 bytes each */
#define LIB_DEFAULT_SOCKET "/run/berth/berth.sock"

/* A reply inside the library. parameters: borrowed object, NULL for an error found by the library.
 * message: the frame's text. */
struct lib_reply {
    int status;
    const json_t *parameters;
    const char *message;
    bool continues;
};
typedef void lib_reply_fn(struct berth *berth, const struct lib_reply *reply, void *arg);

/* A call that still waits for its last reply. Replies come in the order of the calls. */
struct lib_pending {
    struct lib_pending *next;
    lib_reply_fn *reply; /* NULL: the caller no longer waits */
    void *arg;
    bool more;
    struct lib_async {
        berth_reply_fn *reply;
        void *arg;
    } async; /* callback of berth_call_async */
};

struct lib_buffer {
    char *data;
    size_t start, end, size; /* data[start..end) is in use */
};

struct berth {
    int fd;
    int timeout_ms;
    bool processing; /* true while a callback may run */
    struct lib_buffer in, out;
    size_t scanned; /* bytes of in checked to hold no NUL */
    /* Files of a reply, for berth_map. */
    bool takes_files;
    int passed[LIB_PASSED];
    size_t passed_count;
    bool passed_are_wrong; /* more came, or this process could not take all */
    /* bytes ever received; those when the files came */
    uint64_t received, passed_at;
    struct lib_pending *first, **last;
    char error_name[128];
    char error_detail[512];
    char *error_parameters; /* parameters of a daemon's error, as JSON text; NULL none */
};

/* lib/error.c: remember an error and return its status. */
int lib_fail(struct berth *berth, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int lib_fail_memory(struct berth *berth);
int lib_fail_reply(struct berth *berth, const char *wire_name, const json_t *parameters);
int lib_fail_late(struct berth *berth, int timeout_ms);

/* Replaces the time in a "timed out" error by timeout_ms, the limit of all calls together. Leaves
 * any other error as it is, also that of a late connection. */
void lib_fail_late_of_all(struct berth *berth, int timeout_ms);

/* Returns status. Where the part of the node that this process may use was too small for a request
 * without allowed, adds to the detail that whole_node asks about all of it. */
int lib_fail_allowed(struct berth *berth, int status, int whole_node,
                     const struct berth_allowed *given);

/* lib/buffer.c: reserves room for extra bytes at the end; false when out of memory. */
bool lib_buffer_reserve(struct lib_buffer *buffer, size_t extra);
void lib_buffer_done(struct lib_buffer *buffer);

/* lib/connect.c */
/* drops the connection and every call without calling back */
void lib_disconnect(struct berth *berth);

/* Milliseconds of CLOCK_MONOTONIC; and the rest of a timeout that began at start_ms, -1 without
 * limit. */
int64_t lib_now_ms(void);
int lib_left_ms(int64_t start_ms, int timeout_ms);

/* lib/call.c: starts a call; parameters are borrowed. */
int lib_start(struct berth *berth, const char *method, const json_t *parameters, bool more,
              lib_reply_fn *reply, void *arg, struct lib_pending **ret_pending);
/* Starts a call and waits for its only reply; reply receives it before this returns. */
int lib_wait_reply(struct berth *berth, const char *method, const json_t *parameters,
                   lib_reply_fn *reply, void *arg);
/* Makes a typed call. Takes the parameters (NULL means out of memory); ret_reply receives the
 * reply's parameters as a new reference. */
int lib_call(struct berth *berth, const char *method, json_t *take_parameters, json_t **ret_reply);

/* lib/receive.c: ends every open call with an error and drops the connection; returns status. */
int lib_lose(struct berth *berth, int status);

/* lib/passed.c: files that come with replies */
/* Reads like recv(2), and keeps the files that come. */
ssize_t lib_passed_receive(struct berth *berth, char *data, size_t room);
/* True when the kept files belong to the message that is being delivered. */
bool lib_passed_are_here(const struct berth *berth);
/* Moves the two files of that message to the caller, who closes them. False when it has not two. */
bool lib_passed_take(struct berth *berth, int ret_fd[LIB_PASSED]);
void lib_passed_drop(struct berth *berth);

/* lib/reply_text.c: finds the text of the top-level member parameters in a message that is valid
 * JSON. False when no member has exactly that spelling. */
bool lib_parameters_span(const char *message, const char **ret_text, size_t *ret_length);

/* lib/bind.c: reads the parameters of Bind's reply, for callers that write the request themselves.
 * Takes them also on failure. Fails with PROTOCOL,
 * OUT_OF_MEMORY. */
int lib_bind_read(struct berth *berth, json_t *take_reply, struct berth_binding **ret_binding);

/* lib/utf8.c: true for UTF-8, which may stand in JSON. */
bool lib_utf8_is_valid(const char *text);

/* lib/key.c: the key of a plan whose request names none. */
#define LIB_KEY_SIZE 40

/* Returns BERTH_KEY where it is set; an empty value means no key. Else, in a Slurm job, returns
 * "slurm/1234.bind", which is within the job's claim if Slurm's prolog makes one. NULL: no key.
 * Borrowed from the environment or from buffer. */
const char *lib_key_default(char buffer[LIB_KEY_SIZE]);

/* True for the number of a Slurm job; false for NULL. */
bool lib_key_is_job(const char *text);
