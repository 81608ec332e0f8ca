/* Programs that hang, crash, flood, end early or do not exist: each has one ending, and its lines
 * come whole. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "measure/guardian.h"
#include "measure/runner.h"
#include "node/record.h"

struct watch {
    struct runner *runner;
    int lines, endings;
    size_t bytes;
    char first[64], last[64];
    int stop_after; /* lines; 0 never */
    struct runner_end end;
};

static void count_line(void *arg, const char *line, size_t length)
{
    struct watch *watch = arg;
    assert_int_equal(strlen(line), length);
    if (watch->lines++ == 0)
        snprintf(watch->first, sizeof watch->first, "%s", line);
    snprintf(watch->last, sizeof watch->last, "%s", line);
    watch->bytes += length;
    if (watch->lines == watch->stop_after)
        runner_stop(watch->runner);
}

static void note_end(void *arg, const struct runner_end *end)
{
    struct watch *watch = arg;
    watch->endings++;
    watch->end = *end;
}

/* Runs it alone. The text receives the sentence about its end. */
static struct watch run_to_end(struct runner_spec spec, int stop_after, char text[512])
{
    struct watch watch = {.stop_after = stop_after};
    struct berth_err err = {0};
    uv_loop_t loop;
    spec.line = count_line;
    spec.ended = note_end;
    spec.arg = &watch;
    uv_loop_init(&loop);
    assert_int_equal(runner_start(&loop, &spec, &watch.runner, &err), BERTH_OK);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(watch.endings, 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left, not as a zombie either */
    runner_describe(&watch.end, &spec, text, 512);
    assert_true(strlen(text) > 3);
    return watch;
}

static struct watch run_script(const char *script, uint64_t limit_ms, uint64_t silence_ms,
                               size_t output_max, int stop_after)
{
    const char *args[] = {"sh", "-c", script, NULL};
    char text[512];
    return run_to_end((struct runner_spec){.program = "/bin/sh",
                                           .args = args,
                                           .limit_ms = limit_ms,
                                           .silence_ms = silence_ms,
                                           .output_max = output_max},
                      stop_after, text);
}

static void lines_come_whole(void **state)
{
    (void)state;
    struct watch watch =
        run_script("printf 'one\\ntw'; sleep 0.05; printf 'o\\nlost'; echo why >&2; exit 3", 30000,
                   30000, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_EXITED);
    assert_int_equal(watch.end.code, 3);
    assert_int_equal(watch.lines, 2);
    assert_string_equal(watch.first, "one");
    assert_int_equal(watch.bytes, 6);
    assert_string_equal(watch.end.stderr_text, "why");
}

static void the_environment_is_built_from_nothing(void **state)
{
    (void)state;
    setenv("LD_PRELOAD_TEST", "x", 1);
    struct watch watch =
        run_script("echo \"$LC_ALL:$LD_PRELOAD_TEST:$HOME\"", 30000, 30000, 1 << 20, 0);
    assert_string_equal(watch.first, "C::");
}

static void a_variant_adds_to_it(void **state)
{
    (void)state;
    const char *args[] = {"sh", "-c", "echo \"$LC_ALL:$HSA_XNACK:$HOME\"", NULL},
               *environment[] = {"HSA_XNACK=1", NULL};
    char text[512];
    struct watch watch = run_to_end((struct runner_spec){.program = "/bin/sh",
                                                         .args = args,
                                                         .environment = environment,
                                                         .limit_ms = 30000,
                                                         .silence_ms = 30000,
                                                         .output_max = 1 << 20},
                                    0, text);
    assert_string_equal(watch.first, "C:1:");
    assert_int_equal(watch.end.stuck, 0);
}

static void a_crash_is_a_signal(void **state)
{
    (void)state;
    struct watch watch = run_script("echo one; kill -SEGV $$", 30000, 30000, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_SIGNALED);
    assert_int_equal(watch.end.code, SIGSEGV);
    assert_int_equal(watch.lines, 1);
}

static void silence_is_a_hang(void **state)
{
    (void)state;
    struct watch watch = run_script("trap '' TERM; echo one; sleep 60", 60000, 100, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_HUNG);
}

static void time_has_an_end(void **state)
{
    (void)state;
    struct watch watch =
        run_script("while :; do echo x; sleep 0.01; done", 1000, 30000, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_TOO_LONG);
    assert_true(watch.lines > 1);
}

static void a_flood_is_cut(void **state)
{
    (void)state;
    struct watch watch = run_script("yes", 60000, 30000, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_FLOODED);
    assert_true(watch.bytes <= (1 << 20) + RECORD_LINE_MAX);
}

static void an_endless_line_is_cut(void **state)
{
    (void)state;
    struct watch watch = run_script("tr '\\0' x </dev/zero", 60000, 30000, 1 << 30, 0);
    assert_int_equal(watch.end.ending, RUNNER_FLOODED);
    assert_int_equal(watch.lines, 0);
}

static void a_stop_ends_even_the_stubborn(void **state)
{
    (void)state;
    struct watch watch =
        run_script("trap '' TERM; echo one; while :; do sleep 1; done", 60000, 60000, 1 << 20, 1);
    assert_int_equal(watch.end.ending, RUNNER_STOPPED);
    assert_int_equal(watch.lines, 1);
}

/* A signal takes a while where others are at work, but not the time of any sleep here. */
static void assert_gone(const char *pid)
{
    char path[64], text[64] = "";
    assert_true(strtol(pid, NULL, 10) > 1);
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    for (int i = 0; i < 3000; i++) {
        FILE *file = fopen(path, "r");
        if (file == NULL)
            return;
        int read = fscanf(file, "%*d %*s %60s", text);
        fclose(file);
        if (read != 1 || strcmp(text, "Z") == 0) /* a zombie that nobody has reaped yet */
            return;
        usleep(10000);
    }
    fail_msg("%s is still there, as %s", pid, text);
}

/* Processes that the child leaves in its session die with it, so no pipe stays open. */
static void children_of_the_child_die_too(void **state)
{
    (void)state;
    struct watch watch = run_script("sleep 60 & echo $!; exit 0", 30000, 30000, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_EXITED);
    assert_gone(watch.first);
}

/* The child ends when its own child has left the session and says so. */
#define ESCAPE(redirection)                                                                        \
    "trap 'exit 0' USR1; setsid sh -c 'kill -USR1 $PPID; exec sleep 60'" redirection               \
    " & echo $!; while :; do sleep 0.01; done"

/* Nothing outlives it, but that something kept the output open is said. */
static void a_child_that_escaped_is_told_of(void **state)
{
    (void)state;
    struct watch watch = run_script(ESCAPE(""), 30000, 30000, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_EXITED);
    assert_int_equal(watch.lines, 1);
    assert_true(watch.end.left_open);
    assert_gone(watch.first);
    watch = run_script(ESCAPE(" >/dev/null 2>&1"), 30000, 30000, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_EXITED);
    assert_false(watch.end.left_open);
    assert_gone(watch.first);
}

/* Left by parents that are gone, in a session of its own below one of its own. */
#define LEAVE(script) "(setsid sh -c \"(setsid sh -c '" script "' &)\" &); "

static void what_left_it_in_every_way_dies_at_a_stop(void **state)
{
    (void)state;
    struct watch watch = run_script(
        LEAVE("trap : TERM; echo \\$\\$; while :; do sleep 0.01; done") "trap '' TERM; while :; do "
                                                                        "sleep 0.01; done",
        60000, 60000, 1 << 20, 1);
    assert_int_equal(watch.end.ending, RUNNER_STOPPED);
    assert_gone(watch.first);
    watch = run_script(LEAVE("echo \\$\\$; exec sleep 60 >/dev/null 2>&1") "sleep 60", 60000, 300,
                       1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_HUNG);
    assert_gone(watch.first);
}

static int inherited_descriptors(void)
{
    int count = 0;
    for (int fd = 3; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        count += flags >= 0 && (flags & FD_CLOEXEC) == 0;
    }
    return count;
}

/* It begins as any program would: with its signals and no descriptor more. */
static void it_notices_nothing_of_the_guardian(void **state)
{
    (void)state;
    struct watch watch =
        run_script("exec grep -E '^Sig(Blk|Ign)' /proc/self/status", 30000, 30000, 1 << 20, 0);
    /* the upper ones are those of the C library, which lets nobody change them */
    assert_int_equal(strtoull(watch.first + strlen("SigBlk:\t"), NULL, 16) & 0x7fffffff, 0);
    assert_int_equal(strtoull(watch.last + strlen("SigIgn:\t"), NULL, 16) & 0x7fffffff, 0);
    watch = run_script("exec ls /proc/self/fd", 30000, 30000, 1 << 20, 0);
    assert_int_equal(watch.lines, 3 + inherited_descriptors() + 1); /* the last is of ls itself */
    for (int status = 0; status < 256; status += 51) {
        char script[32];
        snprintf(script, sizeof script, "exit %d", status);
        watch = run_script(script, 30000, 30000, 1 << 20, 0);
        assert_int_equal(watch.end.ending, RUNNER_EXITED);
        assert_int_equal(watch.end.code, status);
    }
    static const int numbers[] = {SIGHUP, SIGKILL, SIGTERM, SIGABRT, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char script[32];
        snprintf(script, sizeof script, "kill -%d $$", numbers[i]);
        watch = run_script(script, 30000, 30000, 1 << 20, 0);
        assert_int_equal(watch.end.ending, RUNNER_SIGNALED);
        assert_int_equal(watch.end.code, numbers[i]);
    }
}

static void a_killed_guardian_takes_it_along(void **state)
{
    (void)state;
    struct watch watch = run_script(
        "trap '' TERM; sleep 60 & echo $$; echo $!; kill -KILL $PPID; while :; do sleep 0.01; done",
        60000, 60000, 1 << 20, 0);
    assert_int_equal(watch.end.ending, RUNNER_SIGNALED);
    assert_int_equal(watch.end.code, SIGKILL);
    assert_gone(watch.first);
    assert_gone(watch.last);
}

static void a_stopped_guardian_is_woken(void **state)
{
    (void)state;
    struct watch watch =
        run_script("trap '' TERM; kill -STOP $PPID; echo $$; while :; do sleep 0.01; done", 60000,
                   60000, 1 << 20, 1);
    assert_int_equal(watch.end.ending, RUNNER_STOPPED);
    assert_gone(watch.first);
}

static void a_missing_program_ends_like_any_other(void **state)
{
    (void)state;
    const char *args[] = {"berth-probe-none", NULL};
    char text[512];
    struct watch watch = run_to_end((struct runner_spec){.program = "/nonexistent/berth-probe-none",
                                                         .args = args,
                                                         .limit_ms = 1000,
                                                         .silence_ms = 1000,
                                                         .output_max = 1000},
                                    0, text);
    assert_int_equal(watch.end.ending, RUNNER_NOT_STARTED);
    assert_string_equal(text, "berth-probe-none could not be started (No such file or directory)");
}

int main(int argc, char **argv)
{
    (void)argc;
    if (guardian_is_requested(argv))
        guardian_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_whole),
        cmocka_unit_test(the_environment_is_built_from_nothing),
        cmocka_unit_test(a_variant_adds_to_it),
        cmocka_unit_test(a_crash_is_a_signal),
        cmocka_unit_test(silence_is_a_hang),
        cmocka_unit_test(time_has_an_end),
        cmocka_unit_test(a_flood_is_cut),
        cmocka_unit_test(an_endless_line_is_cut),
        cmocka_unit_test(a_stop_ends_even_the_stubborn),
        cmocka_unit_test(children_of_the_child_die_too),
        cmocka_unit_test(a_child_that_escaped_is_told_of),
        cmocka_unit_test(a_missing_program_ends_like_any_other),
        cmocka_unit_test(what_left_it_in_every_way_dies_at_a_stop),
        cmocka_unit_test(it_notices_nothing_of_the_guardian),
        cmocka_unit_test(a_killed_guardian_takes_it_along),
        cmocka_unit_test(a_stopped_guardian_is_woken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
