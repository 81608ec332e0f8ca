#include "measure/runner.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "measure/guardian.h"
#include "node/record.h"

#define KILL_DELAY_MS 20
/* after this time a process that survives SIGKILL, blocked in a driver, is left to its guardian */
#define ABANDON_MS 5000
#define DRAIN_MS   1000 /* for output held open by a child that escaped its session */

/* Starts a guardian, which starts the program. There are two orders of the end. The program ends by
 * itself, its output is read completely, and the guardian is released. Or the program is stopped by
 * releasing the guardian at once. A released guardian kills its descendants and exits.
 *
 * Invariants:
 * 1. ended is called exactly once, after the guardian is reaped and the socket, both pipes and both
 * timers are closed.
 * 2. No line is delivered after stopping is set.
 * 3. used <= sizeof buffer; buffer[0..used) holds the beginning of a line without its newline. */
struct runner {
    struct runner_spec spec;
    uv_process_t guardian;
    uv_pipe_t out, error_out;
    uv_pipe_t socket; /* to the guardian; closing once it is released */
    uv_timer_t limit, silence;
    unsigned open_handles;
    bool stopping; /* stopped by us; end has the reason */
    bool over;     /* the program ended by itself; end has the result */
    bool exited;   /* the guardian exited */
    pid_t program; /* pid and session id; 0 not started yet */
    struct guardian_message message;
    size_t message_used;
    struct runner_end end;
    uint64_t total;
    size_t used;
    char buffer[RECORD_LINE_MAX];
    size_t error_used;
    char error_line[256];
};

static void handle_closed(uv_handle_t *handle)
{
    struct runner *runner = handle->data;
    if (--runner->open_handles > 0)
        return;
    runner->error_line[strcspn(runner->error_line, "\n")] = '\0';
    snprintf(runner->end.stderr_text, sizeof runner->end.stderr_text, "%s", runner->error_line);
    text_clean(runner->end.stderr_text);
    runner->spec.ended(runner->spec.arg, &runner->end);
    free(runner);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, handle_closed);
}

static bool is_drained(const struct runner *runner)
{
    return uv_is_closing((const uv_handle_t *)&runner->out) &&
           uv_is_closing((const uv_handle_t *)&runner->error_out);
}

static void close_output(struct runner *runner)
{
    close_handle((uv_handle_t *)&runner->out);
    close_handle((uv_handle_t *)&runner->error_out);
}

/* Closes everything that is not worth waiting for. */
static void abandon(uv_timer_t *timer)
{
    struct runner *runner = timer->data;
    if (!runner->exited)
        runner->end.stuck = runner->guardian.pid;
    runner->exited = true;
    close_output(runner);
    close_handle((uv_handle_t *)&runner->socket);
    close_handle((uv_handle_t *)&runner->limit);
    close_handle((uv_handle_t *)&runner->silence);
    close_handle((uv_handle_t *)&runner->guardian);
}

/* Releases the guardian. Shuts the socket down, because a child of ours between fork and exec may
 * hold a copy. SIGCONT wakes a guardian that was stopped. */
static void release(struct runner *runner)
{
    uv_os_fd_t fd;
    if (uv_is_closing((uv_handle_t *)&runner->socket))
        return;
    if (uv_fileno((uv_handle_t *)&runner->socket, &fd) == 0)
        shutdown(fd, SHUT_RDWR);
    close_handle((uv_handle_t *)&runner->socket);
    if (!runner->exited)
        kill(runner->guardian.pid, SIGCONT);
    uv_timer_start(&runner->limit, abandon, ABANDON_MS, 0);
}

static void settle(struct runner *runner)
{
    if (runner->over && is_drained(runner))
        release(runner);
    if (runner->exited && is_drained(runner))
        abandon(&runner->limit);
}

static void drain_passed(uv_timer_t *timer)
{
    struct runner *runner = timer->data;
    runner->end.left_open = true;
    close_output(runner);
    settle(runner);
}

/* Waits for the rest of the output: the pipes close at end of file. */
static void program_ended(struct runner *runner, enum runner_ending how, int code)
{
    runner->over = true;
    runner->end = (struct runner_end){.ending = how, .code = code};
    uv_timer_stop(&runner->silence);
    uv_timer_start(&runner->limit, drain_passed, DRAIN_MS, 0);
    settle(runner);
}

static void kill_now(uv_timer_t *timer) { release(timer->data); }

static void stop_program(struct runner *runner, enum runner_ending why)
{
    if (runner->stopping || runner->over || runner->exited)
        return;
    runner->stopping = true;
    runner->end = (struct runner_end){.ending = why};
    uv_timer_stop(&runner->silence);
    if (why == RUNNER_STOPPED) {
        kill(runner->guardian.pid, SIGTERM);
        uv_timer_start(&runner->limit, kill_now, KILL_DELAY_MS, 0);
    } else {
        release(runner);
    }
}

static void limit_passed(uv_timer_t *timer) { stop_program(timer->data, RUNNER_TOO_LONG); }
static void silence_passed(uv_timer_t *timer) { stop_program(timer->data, RUNNER_HUNG); }

static void handle_news(struct runner *runner, enum guardian_news news, int number)
{
    if (news == GUARDIAN_STARTED) {
        runner->program = number;
    } else if (runner->stopping) {
        release(runner);
    } else if (news == GUARDIAN_FAILED) {
        runner->stopping = true;
        runner->end = (struct runner_end){.ending = RUNNER_NOT_STARTED, .code = number};
        release(runner);
    } else if (!runner->over) {
        program_ended(runner, news == GUARDIAN_EXITED ? RUNNER_EXITED : RUNNER_SIGNALED, number);
    }
}

static void provide_message(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    (void)suggested;
    struct runner *runner = handle->data;
    *ret_buf = uv_buf_init((char *)&runner->message + runner->message_used,
                           (unsigned)(sizeof runner->message - runner->message_used));
}

static void read_message(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    (void)buf;
    struct runner *runner = stream->data;
    if (count < 0) { /* guardian_exited follows */
        uv_read_stop(stream);
        return;
    }
    runner->message_used += (size_t)count;
    if (runner->message_used < sizeof runner->message)
        return;
    runner->message_used = 0;
    handle_news(runner, (enum guardian_news)runner->message.news, runner->message.number);
}

/* Handles the guardian's exit. A released guardian leaves nothing. Any other was killed, and the
 * kernel killed the program; the rest of its session is killed here. */
static void guardian_exited(uv_process_t *process, int64_t status, int term_signal)
{
    struct runner *runner = process->data;
    if (runner->exited)
        return;
    runner->exited = true;
    bool killed = status != 0 || term_signal != 0;
    if (killed && !runner->over && runner->program > 0)
        kill(-runner->program, SIGKILL);
    if (runner->stopping)
        abandon(&runner->limit);
    else if (!runner->over)
        program_ended(runner, term_signal != 0 ? RUNNER_SIGNALED : RUNNER_EXITED,
                      term_signal != 0 ? term_signal : (int)status);
    else
        settle(runner);
}

static void provide_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    (void)suggested;
    struct runner *runner = handle->data;
    *ret_buf = uv_buf_init(runner->buffer + runner->used,
                           (unsigned)(sizeof runner->buffer - runner->used));
}

static void split_lines(struct runner *runner, size_t fresh)
{
    char *start = runner->buffer;
    char *scan = runner->buffer + runner->used;
    char *end = scan + fresh;
    char *newline;
    while (!runner->stopping && (newline = memchr(scan, '\n', (size_t)(end - scan))) != NULL) {
        *newline = '\0';
        runner->spec.line(runner->spec.arg, start, (size_t)(newline - start));
        start = scan = newline + 1;
    }
    runner->used = (size_t)(end - start);
    memmove(runner->buffer, start, runner->used);
    if (runner->used == sizeof runner->buffer)
        stop_program(runner, RUNNER_FLOODED);
}

static void read_out(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    (void)buf;
    struct runner *runner = stream->data;
    if (count < 0) {
        close_handle((uv_handle_t *)stream);
        settle(runner);
        return;
    }
    if (count == 0 || runner->stopping) {
        runner->used = 0;
        return;
    }
    uv_timer_again(&runner->silence);
    runner->total += (uint64_t)count;
    split_lines(runner, (size_t)count);
    if (runner->total > runner->spec.output_max)
        stop_program(runner, RUNNER_FLOODED);
}

/* Reads standard error, of which only the last non-empty line is kept. */
static void provide_error_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    (void)suggested;
    struct runner *runner = handle->data;
    *ret_buf = uv_buf_init(runner->error_line + runner->error_used,
                           (unsigned)(sizeof runner->error_line - 1 - runner->error_used));
}

static void read_error(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    (void)buf;
    struct runner *runner = stream->data;
    if (count < 0) {
        close_handle((uv_handle_t *)stream);
        settle(runner);
        return;
    }
    runner->error_used += (size_t)count;
    runner->error_line[runner->error_used] = '\0';
    /* Drop lines before the newest one. */
    char *newline;
    while ((newline = memchr(runner->error_line, '\n', runner->error_used)) != NULL &&
           newline + 1 < runner->error_line + runner->error_used) {
        size_t gone = (size_t)(newline + 1 - runner->error_line);
        runner->error_used -= gone;
        memmove(runner->error_line, newline + 1, runner->error_used + 1);
    }
    if (runner->error_used == sizeof runner->error_line - 1)
        runner->error_used = 0;
}

static void open_handle(struct runner *runner, void *handle)
{
    ((uv_handle_t *)handle)->data = runner;
    runner->open_handles++;
}

/* Appends the caller's variables to those of every probe, without copying the strings. The caller
 * frees the array; NULL when out of memory. */
static char **build_environment(const char *const *more)
{
    static const char *const always[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
    size_t count = 0;
    while (more != NULL && more[count] != NULL)
        count++;
    char **environment = calloc(count + 3, sizeof *environment);
    if (environment == NULL)
        return NULL;
    for (size_t i = 0; i < count + 2; i++)
        environment[i] = (char *)(i < 2 ? always[i] : more[i - 2]);
    return environment;
}

enum berth_code runner_start(uv_loop_t *loop, const struct runner_spec *spec,
                             struct runner **ret_runner, struct berth_err *err)
{
    size_t count = 0;
    while (spec->args[count] != NULL)
        count++;
    char **args = calloc(GUARDIAN_ARGS + count + 1, sizeof *args);
    char **environment = build_environment(spec->environment);
    struct runner *runner = args != NULL && environment != NULL ? calloc(1, sizeof *runner) : NULL;
    if (runner == NULL) {
        free(environment);
        free(args);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    runner->spec = *spec;
    uv_pipe_init(loop, &runner->out, 0);
    open_handle(runner, &runner->out);
    uv_pipe_init(loop, &runner->error_out, 0);
    open_handle(runner, &runner->error_out);
    uv_pipe_init(loop, &runner->socket, 0);
    open_handle(runner, &runner->socket);
    uv_timer_init(loop, &runner->limit);
    open_handle(runner, &runner->limit);
    uv_timer_init(loop, &runner->silence);
    open_handle(runner, &runner->silence);

    char self[24];
    snprintf(self, sizeof self, "%d", getpid());
    args[0] = GUARDIAN_NAME;
    args[1] = self;
    args[2] = (char *)spec->program;
    memcpy(args + GUARDIAN_ARGS, spec->args, count * sizeof *args);
    uv_stdio_container_t stdio[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&runner->out},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&runner->error_out},
        [GUARDIAN_SOCKET] = {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE,
                             .data.stream = (uv_stream_t *)&runner->socket},
    };
    uv_process_options_t options = {
        .file = "/proc/self/exe",
        .args = args,
        .env = environment,
        .cwd = "/",
        .stdio_count = sizeof stdio / sizeof *stdio,
        .stdio = stdio,
        .exit_cb = guardian_exited,
    };
    int status = uv_spawn(loop, &runner->guardian, &options);
    free(environment);
    free(args);
    open_handle(runner, &runner->guardian);
    *ret_runner = runner;
    if (status != 0) {
        /* Report through ended, so that the caller has one place to clean up. */
        runner->stopping = true;
        runner->end = (struct runner_end){.ending = RUNNER_NOT_STARTED, .code = -status};
        abandon(&runner->limit);
        return BERTH_OK;
    }
    uv_read_start((uv_stream_t *)&runner->socket, provide_message, read_message);
    uv_read_start((uv_stream_t *)&runner->out, provide_buffer, read_out);
    uv_read_start((uv_stream_t *)&runner->error_out, provide_error_buffer, read_error);
    uv_timer_start(&runner->limit, limit_passed, spec->limit_ms, 0);
    uv_timer_start(&runner->silence, silence_passed, spec->silence_ms, spec->silence_ms);
    return BERTH_OK;
}

void runner_stop(struct runner *runner) { stop_program(runner, RUNNER_STOPPED); }

void runner_describe(const struct runner_end *end, const struct runner_spec *spec, char *buffer,
                     size_t size)
{
    char what[160] = "";
    switch (end->ending) {
    case RUNNER_EXITED:
        snprintf(what, sizeof what, "ended with status %d", end->code);
        break;
    case RUNNER_SIGNALED:
        snprintf(what, sizeof what, "crashed (signal %d, %s)", end->code, strsignal(end->code));
        break;
    case RUNNER_HUNG:
        snprintf(what, sizeof what, "was killed: it printed nothing for %.3g s",
                 (double)spec->silence_ms / 1e3);
        break;
    case RUNNER_TOO_LONG:
        snprintf(what, sizeof what, "was killed: it ran longer than %.3g s",
                 (double)spec->limit_ms / 1e3);
        break;
    case RUNNER_FLOODED:
        snprintf(what, sizeof what, "was killed: it printed more than %zu bytes, or a line over %d",
                 spec->output_max, RECORD_LINE_MAX);
        break;
    case RUNNER_STOPPED:
        snprintf(what, sizeof what, "was stopped");
        break;
    case RUNNER_NOT_STARTED:
        snprintf(what, sizeof what, "could not be started (%s)", strerror(end->code));
        break;
    }
    const char *name = strrchr(spec->program, '/');
    snprintf(buffer, size, "%s %s%s%s", name ? name + 1 : spec->program, what,
             end->stderr_text[0] ? ": " : "", end->stderr_text);
}
