/* The claims of a whole scheduler over a recorded node, under clocks that jump; and the store that
 * keeps them. */
#include "unit/serve/claim_rig.h"
#include "unit/store/store_world.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/claim.h"

static const struct claim *claimed(struct rig *rig, const char *places, int64_t ttl_s)
{
    struct claim spec = {.uid = 1, .is_admins = true, .places = (char *)places};
    const struct claim *claim = NULL;
    struct berth_err err = {0};
    if (claim_keep_add(rig->keep, &spec, ttl_s, &claim, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    return claim;
}

/* Turns the loop until nothing is under way but timers. */
static void turn(struct rig *rig)
{
    for (int i = 0; i < 50 || (i < 20000 && rig->loop.active_reqs.count > 0); i++) {
        uv_run(&rig->loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
}

static void the_wall_clock_neither_ends_nor_prolongs(void **state)
{
    struct rig rig;
    (void)state;
    claim_rig_begin(&rig);
    const struct claim *claim = claimed(&rig, "core0", 100);
    assert_int_equal(claim_keep_expires_at_s(rig.keep, claim), 1790000100);
    static const int64_t jumps[] = {INT64_C(10) * 365 * 86400, INT64_C(-20) * 365 * 86400};
    for (int i = 0; i < 2; i++) {
        rig.times.now_s += jumps[i];
        turn(&rig);
        assert_int_equal(claim_keep_claims(rig.keep)->count, 1);
        assert_int_equal(claim_keep_expires_at_s(rig.keep, claim_keep_claims(rig.keep)->item[0]),
                         rig.times.now_s + 100);
    }
    rig.times.mono_ns += UINT64_C(101000000000);
    claimed(&rig, "core1", 50); /* sets the timer anew, which is due at once */
    turn(&rig);
    assert_int_equal(claim_keep_claims(rig.keep)->count, 1);
    assert_string_equal(claim_keep_claims(rig.keep)->item[0]->places, "core1");
    claim_rig_end(&rig);
}

static void a_ttl_is_cut_and_cannot_overflow(void **state)
{
    struct rig rig;
    (void)state;
    claim_rig_begin(&rig);
    const struct claim *claim = claimed(&rig, "core0", INT64_MAX);
    assert_int_equal(claim_keep_expires_at_s(rig.keep, claim),
                     1790000000 + rig.config.claim_ttl_max_s);
    claim_rig_end(&rig);
}

static void *wait_for_end(void *arg)
{
    pthread_mutex_t *end = arg;
    pthread_mutex_lock(end);
    pthread_mutex_unlock(end);
    return NULL;
}

static pid_t other_thread(void)
{
    pid_t found = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *entry; found == 0 && (entry = readdir(tasks)) != NULL;)
        if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid())
            found = atoi(entry->d_name);
    closedir(tasks);
    return found;
}

/* A process that cannot be watched: here the number of a thread, which pidfd_open refuses. */
static void a_claim_that_fails_leaves_nothing(void **state)
{
    struct rig rig;
    (void)state;
    claim_rig_begin(&rig);
    claim_keep_release(rig.keep, claimed(&rig, "core1", 100));
    turn(&rig);
    pthread_mutex_t end_of_thread = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_mutex_lock(&end_of_thread);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &end_of_thread), 0);
    struct claim spec = {.uid = 1,
                         .places = (char *)"core0",
                         .key = (char *)"k",
                         .owner = {.pid = other_thread(), .start_ticks = 1}};
    const struct claim *claim = NULL;
    struct berth_err err = {0};
    uint64_t before = claim_keep_claims(rig.keep)->generation;
    assert_int_not_equal(claim_keep_add(rig.keep, &spec, 100, &claim, &err), BERTH_OK);
    spec.owner.pid = getpid(); /* which did not begin then */
    err = (struct berth_err){0};
    assert_int_equal(claim_keep_add(rig.keep, &spec, 100, &claim, &err), BERTH_NO_SUCH_OWNER);
    assert_int_equal(claim_keep_claims(rig.keep)->count, 0);
    assert_int_equal(claim_keep_claims(rig.keep)->generation, before);
    assert_int_equal(claim_keep_generation(rig.keep), before);
    pthread_mutex_unlock(&end_of_thread);
    pthread_join(thread, NULL);
    /* Nobody waits for a change that was never made. */
    struct outcome outcome = {0};
    json_t *reply = NULL;
    assert_int_equal(claim_keep_answer(rig.keep, json_object(), false, NULL, &outcome, &err),
                     BERTH_OK);
    assert_int_equal(outcome.next(outcome.state, &reply, &err), STREAM_LAST);
    json_decref(reply);
    outcome.free_state(outcome.state);
    claim_rig_end(&rig);
}

static void nothing_runs_without_claims(void **state)
{
    struct rig rig;
    (void)state;
    claim_rig_begin(&rig);
    turn(&rig);
    assert_int_equal(uv_backend_timeout(&rig.loop), 0); /* no active handle: the loop would end */
    assert_false(uv_loop_alive(&rig.loop));
    claim_keep_release(rig.keep, claimed(&rig, "core0", 100));
    turn(&rig);
    assert_false(uv_loop_alive(&rig.loop));
    claim_rig_end(&rig);
}

/* 30 days of a busy node, a claim a minute, some renewed, some released, most left to their time.
 */
static void thirty_days_leave_nothing_behind(void **state)
{
    struct rig rig;
    (void)state;
    claim_rig_begin(&rig);
    size_t most = 0;
    for (int minute = 0; minute < 30 * 24 * 60; minute++) {
        char key[16];
        struct claim spec = {.uid = (uid_t)(minute % 5), .places = (char *)"core0", .key = key};
        const struct claim *claim = NULL;
        struct berth_err err = {0};
        rig.times.mono_ns += UINT64_C(60000000000);
        rig.times.now_s += 60;
        snprintf(key, sizeof key, "k%d", minute / 2);
        enum berth_code code = claim_keep_add(rig.keep, &spec, 50 + minute % 20, &claim, &err);
        assert_true(code == BERTH_OK || code == BERTH_ALREADY_CLAIMED);
        if (code == BERTH_OK && minute % 7 == 0)
            claim_keep_release(rig.keep, claim);
        uv_run(&rig.loop, UV_RUN_NOWAIT);
        uv_run(&rig.loop, UV_RUN_NOWAIT);
        most =
            claim_keep_claims(rig.keep)->count > most ? claim_keep_claims(rig.keep)->count : most;
    }
    assert_true(most <= 2);
    claim_rig_end(&rig);
}

/* ---- the store ---- */

static struct claim stored(const char *id, const char *key, uint64_t version)
{
    struct claim claim = {.uid = 4294967294u,
                          .key = (char *)key,
                          .places = (char *)"gpu0,numa1",
                          .version = version,
                          .deadline_ns = 77 + version};
    snprintf(claim.id, sizeof claim.id, "%s", id);
    return claim;
}

static void what_is_saved_is_loaded(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct berth_err err = {0};
    struct claim one = stored("c1", "k", 3), two = stored("c2", NULL, 4);
    one.owner = (struct claim_owner){.pid = 42, .start_ticks = UINT64_C(1) << 40};
    one.plan_asked = (char *)"{}";
    one.plan_answered = (char *)"{\"tasks\":[]}";
    two.owner.cgroup = (char *)"/sys/fs/cgroup/job";
    two.purpose = CLAIM_PROFILING;
    two.configuration = (char *)"it's; DROP TABLE claim";
    struct claim *both[] = {&one, &two};
    assert_int_equal(store_save_claims(store, both, 2, 9, &err), BERTH_OK);
    store_close(store);

    struct claim_set set = {0};
    size_t ended = 99;
    store = opened(world, STORE_OK);
    assert_int_equal(store_load_claims(store, &set, &ended, &err), BERTH_OK);
    assert_int_equal(ended, 0);
    assert_int_equal(set.generation, 9);
    assert_int_equal(set.count, 2);
    const struct claim *a = set.item[0], *b = set.item[1];
    assert_string_equal(a->id, "c1");
    assert_int_equal(a->uid, 4294967294u);
    assert_string_equal(a->places, "gpu0,numa1");
    assert_int_equal(a->owner.pid, 42);
    assert_int_equal(a->owner.start_ticks, UINT64_C(1) << 40);
    assert_int_equal(a->deadline_ns, 80);
    assert_string_equal(a->plan_answered, "{\"tasks\":[]}");
    assert_null(a->configuration);
    assert_null(b->key);
    assert_int_equal(b->purpose, CLAIM_PROFILING);
    assert_string_equal(b->configuration, two.configuration);
    assert_string_equal(b->owner.cgroup, "/sys/fs/cgroup/job");

    /* The next save replaces: one is gone, two is as it was, three takes one's key. */
    struct claim three = stored("c3", "k", 10);
    struct claim *next[] = {set.item[1], &three};
    assert_int_equal(store_save_claims(store, next, 2, 10, &err), BERTH_OK);
    assert_int_equal(query(world, "SELECT count(*) FROM claim WHERE id IN ('c2', 'c3')"), 2);
    assert_int_equal(query(world, "SELECT count(*) FROM claim"), 2);
    claim_set_done(&set);

    /* After a boot they are gone. */
    assert_int_equal(store_begin(store, world->graph, "another-boot", &err), BERTH_OK);
    assert_int_equal(store_load_claims(store, &set, &ended, &err), BERTH_OK);
    assert_int_equal(ended, 2);
    assert_int_equal(set.count, 0);
    assert_int_equal(set.generation, 10);
    assert_int_equal(store_save_claims(store, NULL, 0, 11, &err), BERTH_OK);
    assert_int_equal(query(world, "SELECT count(*) FROM claim"), 0);
    claim_set_done(&set);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_wall_clock_neither_ends_nor_prolongs), TEST(a_ttl_is_cut_and_cannot_overflow),
        TEST(a_claim_that_fails_leaves_nothing),        TEST(nothing_runs_without_claims),
        TEST(thirty_days_leave_nothing_behind),         TEST(what_is_saved_is_loaded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
