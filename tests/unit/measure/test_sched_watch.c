/* The watch on the store's file, over a loop that reads the kernel's reports late. */
#include "unit/store/store_world.h"

#include "measure/sched_watch.h"

static void moved(struct sched_jobs *jobs) { (void)jobs; }

static off_t size_of(const struct world *world)
{
    struct stat status;
    assert_int_equal(stat(world->database, &status), 0);
    return status.st_size;
}

/* The file is replaced, and the new one cut before the watch follows: its report is lost with the
 * old watch. */
static void a_cut_before_it_follows_is_found(void **state)
{
    enum { TURNS = 4000 };
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    uv_loop_t loop;
    struct sched_jobs jobs;
    struct sched_watch watch;
    assert_int_equal(uv_loop_init(&loop), 0);
    sched_jobs_init(&jobs, &loop, store, moved);
    sched_watch_init(&watch, &loop, &jobs, world->directory);
    sched_watch_begin(&watch);
    assert_int_equal(unlink(world->database), 0);
    store_check(store);
    assert_true(size_of(world) > 0);
    assert_int_equal(truncate(world->database, 0), 0);
    sched_watch_follow(&watch);
    for (int i = 0; i < TURNS && size_of(world) == 0; i++) {
        uv_run(&loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_true(size_of(world) > 0);
    sched_watch_stop(&watch);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_cut_before_it_follows_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
