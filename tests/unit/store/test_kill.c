/* A writer is killed at random moments. Every time the file is whole, every run that was reported
 * written is in it, and none is there by half. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store_world.h"
#include "unit/base/random.h"

#define KILLS 30
/* on a machine so busy that most writers are killed before they wrote anything */
#define KILLS_MAX 300
/* a writer is killed within that time, or longer if those before it came to nothing */
#define SPAN_US     60000
#define SPAN_MAX_US 1900000
#define MANY        20 /* cores, all pairs of which are in every run */

static struct run all_pairs(const struct graph *graph, double base)
{
    struct run run = {.probe = "cpu",
                      .backend = "cpu",
                      .profile = "quick",
                      .started_at_s = 1,
                      .status = "complete",
                      .values = values_new()};
    for (int from = 0; from < MANY; from++)
        for (int to = 0; to < MANY; to++) {
            struct value v = {.metric = METRIC_CPU_PINGPONG,
                              .from = core(graph, from),
                              .to = core(graph, to),
                              .value = base + to,
                              .n = 9};
            assert_true(values_add(run.values, &v, "", NULL));
        }
    return run;
}

/* Writes runs until it is killed, and says each one's number when it is written. */
static void write_for_ever(const struct world *world, const struct graph *graph, int report)
{
    struct store *store;
    struct berth_err err = {0};
    if (store_open(world->directory, &fixed, &store, &err) != BERTH_OK ||
        store_state(store) != STORE_OK || store_begin(store, graph, BOOT, &err) != BERTH_OK)
        _exit(1);
    for (int i = 0;; i++) {
        struct run run = all_pairs(graph, 100 + i);
        int64_t id;
        if (store_write_run(store, graph, &run, &id, &err) != BERTH_OK ||
            write(report, &id, sizeof id) != sizeof id)
            _exit(1);
        run_done(&run);
    }
}

/* Returns the number of the last run that the writer reported, or before when it reported none. */
static int64_t killed_after(const struct world *world, const struct graph *graph, unsigned us,
                            int64_t before)
{
    int report[2], status;
    assert_int_equal(pipe(report), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        write_for_ever(world, graph, report[1]);
    close(report[1]);
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L}, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    int64_t id = before, last;
    while (read(report[0], &last, sizeof last) == sizeof last)
        id = last;
    close(report[0]);
    return id;
}

static void killed_at_random_moments(void **state)
{
    struct world *world = *state;
    struct graph *graph = node("0000000000000000000000000000000a", MANY);
    int64_t reported = 0;
    unsigned seed = (unsigned)getpid(), span_us = SPAN_US;
    int grew = 0;
    for (int i = 0; i < KILLS || (grew <= KILLS / 10 && i < KILLS_MAX); i++) {
        int64_t last = killed_after(world, graph, random_small(&seed) % span_us, reported);
        grew += last > reported;
        span_us = last > reported || span_us > SPAN_MAX_US / 2 ? SPAN_US : span_us * 2;
        reported = last;

        struct store *store;
        struct berth_err err = {0};
        assert_int_equal(store_open(world->directory, &fixed, &store, &err), BERTH_OK);
        assert_int_equal(store_state(store), STORE_OK);
        assert_int_equal(store_begin(store, graph, BOOT, &err), BERTH_OK);
        struct loaded all = loaded(store, graph);
        assert_true(all.values->count == MANY * MANY || (all.values->count == 0 && reported == 0));
        for (size_t v = 0; v < all.values->count; v++)
            assert_true(all.values->item[v].run == all.values->item[0].run &&
                        all.values->item[v].run >= reported);
        loaded_done(&all);
        store_close(store);
        assert_int_equal(
            query(world,
                  "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
            1);
        assert_int_equal(query(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
        assert_true(query(world, "SELECT coalesce(max(id), 0) FROM run") >= reported);
        assert_int_equal(query(world, "SELECT count(*) FROM value"),
                         query(world, "SELECT count(*) * 400 FROM run"));
        assert_int_equal(
            query(world, "SELECT count(*) FROM value WHERE run NOT IN (SELECT id FROM run)"), 0);
    }
    assert_true(grew > KILLS / 10);
    graph_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(killed_at_random_moments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
