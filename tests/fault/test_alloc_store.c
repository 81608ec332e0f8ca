/* Every allocation of the store, SQLite's included, fails once: nothing leaks, nothing is set aside
 * for it, and what was reported written is. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fault.h"
#include "old_file.h"
#include "store/history.h"
#include "store/retention.h"
#include "unit/store/store_world.h"

/* A daemon's life with the store: open, begin, load, write, load. What it reports written is
 * counted. */
static enum berth_code life(const struct world *world, int64_t *written_runs, struct berth_err *err)
{
    struct store *store = NULL;
    struct run run = {.probe = "cpu",
                      .backend = "cpu",
                      .profile = "quick",
                      .started_at_s = 1,
                      .status = "complete",
                      .values = values_new()};
    struct loaded all = {.values = values_new()};
    struct note note = {.code = "slow", .place = "core1"};
    enum berth_code code = run.values != NULL && all.values != NULL ? BERTH_OK : BERTH_NO_MEMORY;
    for (int to = 0; to < CORES && code == BERTH_OK; to++) {
        struct value v = {.metric = METRIC_CPU_PINGPONG,
                          .from = 1,
                          .to = 1 + to,
                          .value = to == 2 ? NAN : 50.5,
                          .n = 9};
        code = values_add(run.values, &v, "", "offline") ? BERTH_OK : BERTH_NO_MEMORY;
    }
    run.notes = malloc(sizeof note);
    if (run.notes != NULL) {
        *run.notes = note;
        run.note_count = 1;
    }
    if (code == BERTH_OK)
        code = store_open(world->directory, &fixed, &store, err);
    if (code == BERTH_OK)
        code = store_begin(store, world->graph, BOOT, err);
    if (code == BERTH_OK)
        code = store_load_latest(store, world->graph, all.values, &all.notes, &all.note_count,
                                 &all.last_probe_at_s, err);
    int64_t id;
    if (code == BERTH_OK)
        code = store_write_run(store, world->graph, &run, &id, err);
    if (code == BERTH_OK)
        *written_runs += 1;
    store_close(store);
    run_done(&run);
    loaded_done(&all);
    return code;
}

static int copy_file(const char *from, const char *to)
{
    char block[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in != NULL && out != NULL);
    for (size_t length; (length = fread(block, 1, sizeof block, in)) > 0;)
        fwrite(block, 1, length, out);
    fclose(in);
    return fclose(out);
}

/* No file, or one with a run in it: the template. */
static void begin_again(const struct world *world, bool is_fresh)
{
    char path[96];
    snprintf(path, sizeof path, "%s-wal", world->database);
    unlink(path);
    snprintf(path, sizeof path, "%s-shm", world->database);
    unlink(path);
    unlink(world->database);
    snprintf(path, sizeof path, "%s.template", world->database);
    if (!is_fresh)
        assert_int_equal(copy_file(path, world->database), 0);
}

static void fails_at_every_place(struct world *world, bool is_fresh)
{
    int64_t runs = 0;
    struct berth_err first = {0};
    assert_int_equal(life(world, &runs, &first), BERTH_OK); /* libraries make what they keep */
    char template[96];
    snprintf(template, sizeof template, "%s.template", world->database);
    assert_int_equal(rename(world->database, template), 0);
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (long at = 1;; at = for_ever ? at + 7 : fault_next(at)) {
            struct berth_err err = {0};
            begin_again(world, is_fresh);
            runs = is_fresh ? 0 : 1;
            long before = fault_live();
            fault_arm(at, for_ever);
            enum berth_code code = life(world, &runs, &err);
            bool failed = fault_disarm();
            assert_int_equal(fault_live(), before);
            assert_true(code == BERTH_OK || (failed && code == BERTH_NO_MEMORY));
            if (at % 16 == 0 || !failed)
                assert_int_equal(life(world, &runs, &err), BERTH_OK);
            if (access(world->database, F_OK) == 0 && runs > 0)
                assert_int_equal(query(world, "SELECT (SELECT count(*) FROM run) * 1000000 + "
                                              "(SELECT count(*) FROM value) * 1000 +"
                                              " (SELECT count(*) FROM skip)"),
                                 runs * 1005001);
            if (!failed) {
                print_message("%s: through at allocation %ld\n",
                              for_ever ? "all fail" : "one fails", at);
                assert_true(at > 100);
                break;
            }
        }
    assert_int_equal(
        query(world, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1);
    char corrupt[96];
    snprintf(corrupt, sizeof corrupt, "%s.corrupt-1790000000", world->database);
    assert_int_equal(access(corrupt, F_OK), -1);
}

static void an_existing_file(void **state) { fails_at_every_place(*state, false); }
static void a_new_file(void **state) { fails_at_every_place(*state, true); }

/* One store lives through a failure at every place of writing and of reading. */
static void the_same_store_goes_on(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 1);
    struct berth_err first = {0};
    int64_t id, runs = 1;
    assert_int_equal(store_write_run(store, world->graph, &run, &id, &first), BERTH_OK);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool failed = true;
        for (long at = 1; failed; at = for_ever ? at + 7 : fault_next(at)) {
            struct berth_err err = {0};
            struct loaded all = {.values = values_new()};
            fault_arm(at, for_ever);
            enum berth_code code = store_write_run(store, world->graph, &run, &id, &err);
            runs += code == BERTH_OK;
            enum berth_code loading =
                store_load_latest(store, world->graph, all.values, &all.notes, &all.note_count,
                                  &all.last_probe_at_s, &err);
            failed = fault_disarm();
            assert_true(code == BERTH_OK || code == BERTH_NO_MEMORY);
            assert_true(loading == BERTH_OK || loading == BERTH_NO_MEMORY);
            assert_true(failed || (code == BERTH_OK && loading == BERTH_OK));
            loaded_done(&all);
            all = loaded(store, world->graph); /* once more without a fault: no half run shows */
            assert_int_equal(all.values->count, CORES - 1);
            assert_true(all.values->item[0].run == all.values->item[CORES - 2].run);
            loaded_done(&all);
            assert_int_equal(query(world, "SELECT count(*) FROM run"), runs);
        }
    }
    assert_int_equal(store_state(store), STORE_OK);
    run_done(&run);
    store_close(store);
}

/* The file of every older version is brought to the newest one or stays as it was. */
static void a_migration(void **state)
{
    struct world *world = *state;
    for (int version = 1; version < newest_version(); version++) {
        bool failed = true;
        long at = 0;
        for (at = 1; failed; at = fault_next(at)) {
            struct store *store = NULL;
            struct berth_err err = {0};
            old_file(world, version);
            long before = fault_live();
            fault_arm(at, false);
            enum berth_code code = store_open(world->directory, &fixed, &store, &err);
            failed = fault_disarm();
            assert_true(code == BERTH_OK || (failed && code == BERTH_NO_MEMORY));
            store_close(store);
            assert_int_equal(fault_live(), before);
            if (code != BERTH_OK && at % 8 == 0) {
                int64_t is_at = query(world, "PRAGMA user_version");
                assert_true(is_at >= version && is_at <= newest_version());
            }
            if (at % 8 == 0 || !failed)
                assert_migrates_whole(world);
        }
        print_message("version %d: through before allocation %ld\n", version, at);
        assert_true(at > 100);
    }
}

/* The value of one cell of every run is read, and as it was at some time; then old days are settled
 * and thinned. What is reported read is whole. */
static enum berth_code read_and_keep(const struct world *world, struct store *store, size_t points,
                                     struct berth_err *err)
{
    const struct keep keep = {.history_days = 90, .daily_days = 730};
    struct history history = {0};
    struct values *values = values_new();
    enum berth_code code =
        values == NULL
            ? BERTH_NO_MEMORY
            : store_history(store, world->graph,
                            &(struct history_series){METRIC_CPU_PINGPONG, core(world->graph, 0),
                                                     core(world->graph, 1), ""},
                            INT64_MIN, &history, err);
    if (code == BERTH_OK) {
        assert_int_equal(history.count, points);
        store_history_done(&history);
        code = store_load_at(store, world->graph, METRIC_CPU_PINGPONG, fixed_s(NULL), values, err);
    }
    if (code == BERTH_OK) {
        values_finish(values);
        assert_int_equal(values->count, CORES - 1);
    }
    for (bool more = true; more && code == BERTH_OK;)
        code = store_retention(store, &keep, &more, err);
    values_free(values);
    return code;
}

static void write_runs(const struct world *world, struct store *store, int count)
{
    for (int i = 0; i < count; i++) {
        struct run run = pingpongs(world->graph, i);
        written(store, world->graph, &run);
    }
}

static void history_and_thinning(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    write_runs(world, store, 3); /* of one day, 115 days ago */
    store_close(store);
    char template[96];
    snprintf(template, sizeof template, "%s.template", world->database);
    assert_int_equal(rename(world->database, template), 0);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool failed = true;
        long at = 1;
        for (; failed; at = for_ever ? at + 7 : fault_next(at)) {
            struct berth_err err = {0};
            begin_again(world, false);
            store = opened(world, STORE_OK);
            fault_arm(at, for_ever);
            enum berth_code code = read_and_keep(world, store, 3, &err);
            failed = fault_disarm();
            assert_true(code == BERTH_OK || (failed && code == BERTH_NO_MEMORY));
            assert_int_equal(
                query(
                    world,
                    "SELECT (SELECT count(*) FROM value) + coalesce((SELECT sum(n) FROM day), 0)"),
                3 * (CORES - 1));
            assert_int_equal(read_and_keep(world, store,
                                           query(world, "SELECT count(*) FROM day") > 0 ? 1 : 3,
                                           &err),
                             BERTH_OK);
            assert_int_equal(query(world, "SELECT count(*) FROM day WHERE n = 3"), CORES - 1);
            assert_int_equal(query(world, "SELECT count(*) FROM value"), 0);
            assert_int_equal(store_state(store), STORE_OK);
            store_close(store);
        }
        print_message("%s: through before allocation %ld\n", for_ever ? "all fail" : "one fails",
                      at);
        assert_true(at > 100);
    }
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* What memory kept while the disk was full comes into the file once and whole, or stays in memory
 * for the next time. */
static void coming_back_to_the_file(void **state)
{
    struct world *world = *state;
    signal(SIGXFSZ, SIG_IGN);
    struct store *store = opened(world, STORE_OK);
    write_runs(world, store, 1);
    store_close(store);
    char template[96];
    snprintf(template, sizeof template, "%s.template", world->database);
    assert_int_equal(rename(world->database, template), 0);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool failed = true;
        long at = 1;
        for (; failed; at = for_ever ? at + 7 : fault_next(at)) {
            begin_again(world, false);
            store = opened(world, STORE_OK);
            limit_file_size(4096);
            write_runs(world, store, 2);
            assert_int_equal(store_state(store), STORE_MEMORY_ONLY);
            limit_file_size(RLIM_INFINITY);
            fault_arm(at, for_ever);
            bool is_back = store_retry(store, true);
            failed = fault_disarm();
            assert_true(is_back || failed);
            assert_true(store_retry(store, true));
            assert_int_equal(store_state(store), STORE_OK);
            assert_int_equal(query(world, "SELECT count(*) FROM run"), 3);
            assert_int_equal(query(world, "SELECT count(*) FROM value"), 3 * (CORES - 1));
            store_close(store);
        }
        print_message("%s: through before allocation %ld\n", for_ever ? "all fail" : "one fails",
                      at);
        assert_true(at > 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_migration),          TEST(an_existing_file),
                                       TEST(a_new_file),           TEST(the_same_store_goes_on),
                                       TEST(history_and_thinning), TEST(coming_back_to_the_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
