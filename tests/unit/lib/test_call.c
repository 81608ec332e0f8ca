/* The library's core against a peer that is this test: replies are written ahead into a socket
 * pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/berth.h"

struct matrix_item {
    struct berth *berth;
    int peer;
};

static int open_pair(void **state)
{
    static const struct timeval patience = {.tv_sec = 5};
    struct matrix_item *pair = calloc(1, sizeof *pair);
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    pair->berth = berth_new();
    pair->peer = fds[1];
    assert_int_equal(berth_connect_fd(pair->berth, fds[0]), BERTH_DONE);
    berth_set_timeout(pair->berth, 5000);
    *state = pair;
    return 0;
}

static int close_pair(void **state)
{
    struct matrix_item *pair = *state;
    berth_free(pair->berth);
    if (pair->peer >= 0)
        close(pair->peer);
    free(pair);
    return 0;
}

static void say(struct matrix_item *pair, const char *text)
{
    assert_int_equal(write(pair->peer, text, strlen(text) + 1), strlen(text) + 1);
}

/* Expects the next text from the library, NUL included. */
static void expect_sent(struct matrix_item *pair, const char *text)
{
    char got[1024] = {0};
    size_t used = 0;
    while (used < sizeof got - 1 && read(pair->peer, got + used, 1) == 1 && got[used] != '\0')
        used++;
    assert_string_equal(got, text);
}

static void a_call_gives_the_parameters_as_they_were_written(void **state)
{
    struct matrix_item *pair = *state;
    char *reply;
    say(pair, "{ \"x\":[\"parameters\",{\"parameters\":3}], \"parameters\" : {\"pi\": 3.10, "
              "\"text\":\"a\\\"}b\"} }");
    assert_int_equal(berth_call(pair->berth, "a.B.C", "{\"n\":1}", &reply), BERTH_DONE);
    assert_string_equal(reply, "{\"pi\": 3.10, \"text\":\"a\\\"}b\"}");
    free(reply);
    expect_sent(pair, "{\"method\":\"a.B.C\",\"parameters\":{\"n\":1}}");
}

static void absent_and_oddly_spelt_parameters(void **state)
{
    struct matrix_item *pair = *state;
    char *reply;
    say(pair, "{}");
    assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_DONE);
    assert_string_equal(reply, "{}");
    free(reply);
    say(pair, "{\"par\\u0061meters\":{\"a\":1}}");
    assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_DONE);
    assert_string_equal(reply, "{\"a\":1}");
    free(reply);
    expect_sent(pair, "{\"method\":\"a.B\"}");
}

static void errors_have_a_code_a_name_and_one_line(void **state)
{
    static const struct {
        const char *reply;
        int status;
        const char *name, *detail;
    } rows[] = {
        {"{\"error\":\"io.berth.Placement.NoSuchPlace\",\"parameters\":{\"place\":\"gpu9\","
         "\"detail\":\"no gpu9,\\nthere is gpu0\"}}",
         BERTH_ERROR_NO_SUCH_PLACE, "io.berth.Placement.NoSuchPlace", "no gpu9, there is gpu0"},
        {"{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{\"parameter\":"
         "\"tasks\"}}",
         BERTH_ERROR_INVALID_PARAMETER, "org.varlink.service.InvalidParameter",
         "a parameter is missing, unknown or of the wrong type (parameter tasks)"},
        {"{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{\"parameter\":"
         "\"tasks\",\"detail\":\"tasks: it is missing\"}}",
         BERTH_ERROR_INVALID_PARAMETER, "org.varlink.service.InvalidParameter",
         "tasks: it is missing"},
        {"{\"error\":\"io.berth.Future.Fancy\",\"parameters\":{\"n\":3}}", BERTH_ERROR_OTHER,
         "io.berth.Future.Fancy", "the daemon refused: io.berth.Future.Fancy (n 3)"},
        {"{\"error\":\"io.berth.Health.Busy\",\"parameters\":{\"detail\":\"\\u001b[31m\\u009b\"}}",
         BERTH_ERROR_BUSY, "io.berth.Health.Busy", " [31m  "},
    };
    struct matrix_item *pair = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *reply = NULL;
        say(pair, rows[i].reply);
        assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), rows[i].status);
        assert_null(reply);
        assert_string_equal(berth_error_name(pair->berth), rows[i].name);
        assert_string_equal(berth_error_detail(pair->berth), rows[i].detail);
        const char *came = strstr(rows[i].reply, "\"parameters\":");
        if (came != NULL && strchr(came, '\\') == NULL)
            assert_memory_equal(berth_error_parameters(pair->berth),
                                came + strlen("\"parameters\":"),
                                strlen(berth_error_parameters(pair->berth)));
        if (came != NULL && strchr(came, '\\') != NULL) /* control characters stay escaped */
            for (const char *c = berth_error_parameters(pair->berth); *c != '\0'; c++)
                assert_true(*c >= ' ' && *c <= '~');
    }
}

static void what_is_not_varlink_is_a_protocol_error(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{\"error\":1}",
        "{\"parameters\":[]}",
        "{\"parameters\":{},\"continues\":1}",
        "{\"parameters\":{},\"continues\":true}",
        "{\"parameters\":{},\"parameters\":{}}",
        "{\"parameters\":{\"a\":\"\xff\"}}",
        "HTTP/1.1 400 Bad Request",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        open_pair(state);
        struct matrix_item *pair = *state;
        char *reply;
        say(pair, bad[i]);
        assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_ERROR_PROTOCOL);
        assert_string_equal(berth_error_name(pair->berth), "Protocol");
        assert_int_equal(berth_fd(pair->berth), -1);
        assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_ERROR_NO_DAEMON);
        close_pair(state);
    }
}

static void bad_arguments_are_not_sent(void **state)
{
    struct matrix_item *pair = *state;
    char *reply;
    assert_int_equal(berth_call(pair->berth, "NoDot", NULL, &reply), BERTH_ERROR_BAD_ARGUMENT);
    assert_int_equal(berth_call(pair->berth, "a.B", "[1]", &reply), BERTH_ERROR_BAD_ARGUMENT);
    assert_int_equal(berth_call(pair->berth, "a.B", "{", &reply), BERTH_ERROR_BAD_ARGUMENT);
    assert_int_equal(berth_call_async(pair->berth, "a.B", NULL, 2, NULL, NULL),
                     BERTH_ERROR_BAD_ARGUMENT);
    say(pair, "{}");
    assert_int_equal(berth_call(pair->berth, "a.Good", NULL, &reply), BERTH_DONE);
    free(reply);
    expect_sent(pair, "{\"method\":\"a.Good\"}");
}

static void a_timed_out_call_leaves_the_connection_good(void **state)
{
    struct matrix_item *pair = *state;
    char *reply;
    berth_set_timeout(pair->berth, 20);
    assert_int_equal(berth_call(pair->berth, "a.Slow", NULL, &reply), BERTH_ERROR_TIMED_OUT);
    assert_string_equal(berth_error_detail(pair->berth), "no answer from the daemon within 20 ms");
    berth_set_timeout(pair->berth, 0);
    assert_int_equal(berth_call(pair->berth, "a.Slow", NULL, &reply), BERTH_ERROR_TIMED_OUT);
    assert_string_equal(berth_error_detail(pair->berth), "no answer from the daemon yet");
    berth_set_timeout(pair->berth, 20);
    say(pair, "{\"parameters\":{\"late\":true}}");
    say(pair, "{\"parameters\":{\"late\":true}}");
    say(pair, "{\"parameters\":{\"late\":false}}");
    assert_int_equal(berth_call(pair->berth, "a.Fast", NULL, &reply), BERTH_DONE);
    assert_string_equal(reply, "{\"late\":false}");
    free(reply);
}

static void a_closed_connection_is_reported_after_its_last_words(void **state)
{
    struct matrix_item *pair = *state;
    char *reply;
    say(pair, "{\"parameters\":{\"last\":1}}");
    close(pair->peer);
    pair->peer = -1;
    assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_DONE);
    free(reply);
    assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_ERROR_CLOSED);
    assert_int_equal(berth_fd(pair->berth), -1);
}

struct heard {
    int replies, ended, status;
    char text[256];
};

static void hear(struct berth *berth, int status, const char *parameters, int continues, void *arg)
{
    struct heard *heard = arg;
    char *reply;
    assert_int_equal(berth_call(berth, "a.Blocking", NULL, &reply), BERTH_ERROR_BAD_ARGUMENT);
    assert_int_equal(berth_process(berth), BERTH_ERROR_BAD_ARGUMENT);
    assert_int_equal(berth_connect(berth, NULL), BERTH_ERROR_BAD_ARGUMENT);
    heard->replies++;
    heard->ended += !continues;
    heard->status = status;
    strncat(heard->text, parameters == NULL ? "-" : parameters,
            sizeof heard->text - strlen(heard->text) - 1);
}

static void streams_and_pipelined_calls_keep_their_order(void **state)
{
    struct matrix_item *pair = *state;
    struct heard stream = {0}, single = {0};
    assert_int_equal(berth_call_async(pair->berth, "a.Watch", NULL, BERTH_MORE, hear, &stream),
                     BERTH_DONE);
    assert_int_equal(berth_call_async(pair->berth, "a.Once", "{}", 0, hear, &single), BERTH_DONE);
    assert_int_equal(berth_events(pair->berth), POLLIN | POLLOUT);
    assert_int_equal(berth_process(pair->berth), BERTH_DONE);
    assert_int_equal(berth_events(pair->berth), POLLIN);
    assert_int_equal(berth_wait(pair->berth, 0), 0);
    expect_sent(pair, "{\"method\":\"a.Watch\",\"more\":true}");
    expect_sent(pair, "{\"method\":\"a.Once\",\"parameters\":{}}");
    say(pair, "{\"parameters\":{\"n\":1},\"continues\":true}");
    say(pair, "{\"parameters\":{\"n\":2}}");
    say(pair, "{\"error\":\"io.berth.Fabric.NoSuchMetric\",\"parameters\":{\"metric\":\"x\"}}");
    assert_int_equal(berth_wait(pair->berth, 5000), 1);
    assert_int_equal(stream.replies, 2);
    assert_int_equal(stream.ended, 1);
    assert_string_equal(stream.text, "{\"n\":1}{\"n\":2}");
    assert_int_equal(single.status, BERTH_ERROR_NO_SUCH_METRIC);
    assert_string_equal(single.text, "{\"metric\":\"x\"}");
}

static void a_blocking_call_behind_an_open_stream_is_refused_at_once(void **state)
{
    struct matrix_item *pair = *state;
    struct heard stream = {0};
    struct berth_health *health = NULL;
    char *reply = NULL;
    assert_int_equal(berth_call_async(pair->berth, "a.Watch", NULL, BERTH_MORE, hear, &stream),
                     BERTH_DONE);
    say(pair, "{\"parameters\":{\"n\":1},\"continues\":true}");
    assert_int_equal(berth_wait(pair->berth, 5000), 1);
    assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_ERROR_BAD_ARGUMENT);
    assert_non_null(strstr(berth_error_detail(pair->berth), "open stream"));
    assert_int_equal(berth_check(pair->berth, NULL, 0, &health), BERTH_ERROR_BAD_ARGUMENT);
    assert_null(reply);
    assert_null(health);
    say(pair, "{\"parameters\":{\"n\":2}}");
    assert_int_equal(berth_wait(pair->berth, 5000), 1);
    assert_int_equal(stream.ended, 1);
    say(pair, "{}");
    assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_DONE);
    free(reply);
    expect_sent(pair, "{\"method\":\"a.Watch\",\"more\":true}");
    expect_sent(pair, "{\"method\":\"a.B\"}"); /* the refused ones were not sent */
}

static void losing_the_connection_ends_every_call(void **state)
{
    struct matrix_item *pair = *state;
    struct heard stream = {0}, single = {0};
    berth_call_async(pair->berth, "a.Watch", NULL, BERTH_MORE, hear, &stream);
    berth_call_async(pair->berth, "a.Once", NULL, 0, hear, &single);
    close(pair->peer);
    pair->peer = -1;
    assert_int_equal(berth_wait(pair->berth, 5000), BERTH_ERROR_CLOSED);
    assert_int_equal(stream.status, BERTH_ERROR_CLOSED);
    assert_int_equal(stream.ended + single.ended, 2);
    assert_string_equal(single.text, "-");
}

static void *say_too_much(void *arg)
{
    static char chunk[65536];
    struct matrix_item *pair = arg;
    memset(chunk, ' ', sizeof chunk);
    for (int i = 0; i < 1100; i++)
        if (send(pair->peer, chunk, sizeof chunk, MSG_NOSIGNAL) < 0)
            break;
    return NULL;
}

static void a_reply_over_64_mib_is_refused(void **state)
{
    struct matrix_item *pair = *state;
    pthread_t thread;
    char *reply;
    berth_set_timeout(pair->berth, -1);
    pthread_create(&thread, NULL, say_too_much, pair);
    assert_int_equal(berth_call(pair->berth, "a.B", NULL, &reply), BERTH_ERROR_PROTOCOL);
    assert_string_equal(berth_error_detail(pair->berth),
                        "the daemon's reply is longer than 64 MiB");
    pthread_join(thread, NULL);
}

static void a_large_request_is_sent_in_pieces(void **state)
{
    struct matrix_item *pair = *state;
    struct heard single = {0};
    size_t size = 4 << 20, seen = 0;
    char *parameters = malloc(size + 32), piece[65536];
    sprintf(parameters, "{\"a\":\"");
    memset(parameters + 6, 'x', size);
    strcpy(parameters + 6 + size, "\"}");
    assert_int_equal(berth_call_async(pair->berth, "a.B", parameters, 0, hear, &single),
                     BERTH_DONE);
    free(parameters);
    while (berth_events(pair->berth) & POLLOUT) {
        assert_int_equal(berth_process(pair->berth), BERTH_DONE);
        seen += (size_t)recv(pair->peer, piece, sizeof piece, 0);
    }
    for (ssize_t n; (n = recv(pair->peer, piece, sizeof piece, MSG_DONTWAIT)) > 0;)
        seen += (size_t)n;
    assert_int_equal(seen, strlen("{\"method\":\"a.B\",\"parameters\":{\"a\":\"\"}}") + size + 1);
}

static void connecting_says_what_is_wrong(void **state)
{
    (void)state;
    struct berth *berth = berth_new();
    char path[300] = "/tmp/berth-test-XXXXXX", socket_path[310];
    assert_non_null(mkdtemp(path));
    snprintf(socket_path, sizeof socket_path, "%s/s", path);
    assert_int_equal(berth_connect(berth, socket_path), BERTH_ERROR_NO_DAEMON);
    setenv("BERTH_SOCKET", socket_path, 1);
    assert_int_equal(berth_connect(berth, NULL), BERTH_ERROR_NO_DAEMON);
    assert_non_null(strstr(berth_error_detail(berth), socket_path));
    memset(socket_path, 'a', 200);
    socket_path[200] = '\0';
    assert_int_equal(berth_connect(berth, socket_path), BERTH_ERROR_BAD_ARGUMENT);
    assert_int_equal(berth_connect_fd(berth, 9999), BERTH_ERROR_BAD_ARGUMENT);

    /* A queue that nobody empties is full after backlog + 1 connections. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s", path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 0), 0);
    struct berth *first = berth_new();
    assert_int_equal(berth_connect(first, NULL), BERTH_DONE);
    berth_set_timeout(berth, 30);
    assert_int_equal(berth_connect(berth, NULL), BERTH_ERROR_TIMED_OUT);
    unsetenv("BERTH_SOCKET");
    close(listener);
    unlink(address.sun_path);
    rmdir(path);
    berth_free(first);
    berth_free(berth);
    berth_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define PAIRED(test) cmocka_unit_test_setup_teardown(test, open_pair, close_pair)
        PAIRED(a_call_gives_the_parameters_as_they_were_written),
        PAIRED(absent_and_oddly_spelt_parameters),
        PAIRED(errors_have_a_code_a_name_and_one_line),
        cmocka_unit_test(what_is_not_varlink_is_a_protocol_error),
        PAIRED(bad_arguments_are_not_sent),
        PAIRED(a_timed_out_call_leaves_the_connection_good),
        PAIRED(a_closed_connection_is_reported_after_its_last_words),
        PAIRED(streams_and_pipelined_calls_keep_their_order),
        PAIRED(a_blocking_call_behind_an_open_stream_is_refused_at_once),
        PAIRED(losing_the_connection_ends_every_call),
        PAIRED(a_reply_over_64_mib_is_refused),
        PAIRED(a_large_request_is_sent_in_pieces),
        cmocka_unit_test(connecting_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
