/* Every allocation of a call of libberth fails once: there is an error or the answer, never a
 * crash, and nothing stays behind. Those of jansson do not fail here, because json_loadb of its
 * version 2.14 crashes then. The replies are the seeds of tests/fuzz/fuzz_answer.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fault.h"
#include "lib/berth.h"

static int bind_tasks(struct berth *berth)
{
    struct berth_bind_request request;
    struct berth_binding *binding = NULL;
    berth_bind_request_init(&request);
    request.tasks = 1;
    request.whole_node = 1;
    int status = berth_bind(berth, &request, &binding);
    assert_int_equal(status == BERTH_DONE, binding != NULL);
    berth_binding_free(binding);
    return status;
}

static int route(struct berth *berth)
{
    static const struct berth_transfer concurrent[] = {{"gpu1", "gpu0", 5}};
    const struct berth_route_request request = {.from = "gpu0",
                                                .to = "gpu1",
                                                .bytes = 1,
                                                .concurrent = concurrent,
                                                .concurrent_count = 1,
                                                .whole_node = 1};
    struct berth_routes *routes = NULL;
    int status = berth_route(berth, &request, &routes);
    assert_int_equal(status == BERTH_DONE, routes != NULL);
    berth_routes_free(routes);
    return status;
}

static int check_node(struct berth *berth)
{
    static const char *const places[] = {"gpu0", "gpu1"};
    struct berth_health *health = NULL;
    int status = berth_check(berth, places, 2, &health);
    assert_int_equal(status == BERTH_DONE, health != NULL);
    berth_health_free(health);
    return status;
}

static int get_tuning(struct berth *berth)
{
    const struct berth_tuning_request request = {.place = "gpu0"};
    struct berth_tunings *tunings = NULL;
    int status = berth_get_tuning(berth, &request, &tunings);
    assert_int_equal(status == BERTH_DONE, tunings != NULL);
    berth_tunings_free(tunings);
    return status;
}

/* A handle whose next reply is in its socket. */
static struct berth *answered(const char *seed, size_t length, int *ret_peer)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_true(dprintf(fds[1], "{\"parameters\":%.*s}", (int)length, seed) > 0);
    assert_int_equal(write(fds[1], "", 1), 1);
    struct berth *berth = berth_new();
    assert_int_equal(berth_connect_fd(berth, fds[0]), BERTH_DONE);
    *ret_peer = fds[1];
    return berth;
}

static void every_allocation_fails(void **state)
{
    (void)state;
    static const struct {
        const char *seed;
        int (*call)(struct berth *berth);
    } cases[] = {{"tests/fuzz/corpus/answer/bind", bind_tasks},
                 {"tests/fuzz/corpus/answer/route", route},
                 {"tests/fuzz/corpus/answer/check", check_node},
                 {"tests/fuzz/corpus/answer/gettuning", get_tuning}};
    static char seed[32768];
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        FILE *file = fopen(cases[i / 2].seed, "r");
        assert_non_null(file);
        size_t length = fread(seed, 1, sizeof seed, file);
        assert_true(fclose(file) == 0 && length > 100 && length < sizeof seed);
        const long before = fault_live();
        int failures = 0;
        for (long at = 1;; at = fault_next(at)) {
            int peer;
            /* the first byte chooses the call of the fuzzer */
            struct berth *berth = answered(seed + 1, length - 1, &peer);
            fault_arm(at, i % 2);
            int status = cases[i / 2].call(berth);
            bool failed = fault_disarm();
            if (status != BERTH_DONE && !failed)
                fail_msg("%s: %s", cases[i / 2].seed, berth_error_detail(berth));
            failures += status != BERTH_DONE;
            berth_free(berth);
            close(peer);
            if (!failed)
                break;
        }
        assert_true(failures > 5);
        assert_int_equal(fault_live(), before);
    }
}

int main(void)
{
    json_set_alloc_funcs(fault_spare, free);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
