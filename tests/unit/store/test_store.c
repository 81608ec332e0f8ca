#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/embedded.h"
#include "store/history.h"
#include "store/members.h"
#include "store/memory_db.h"
#include "store_world.h"

static void a_fresh_file(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    assert_string_equal(noted(store).code, "");
    assert_string_equal(store_state_name(store_state(store)), "ok");
    assert_int_equal(count_loaded(store, world->graph), 0);
    struct stat status;
    assert_int_equal(stat(world->database, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    store_close(store);
    store_close(NULL);

    size_t migrations = 0;
    while (embedded_migrations[migrations].name != NULL)
        migrations++;
    assert_int_equal(query(world, "PRAGMA user_version"), migrations);
    /* SQLite of RHEL 9 has no such tables. */
    assert_int_equal(query(world, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%STRICT%'"),
                     0);
    assert_int_equal(
        query(world,
              "SELECT count(*) FROM node WHERE fingerprint = '0123456789abcdef0123456789abcdef'"),
        1);
    assert_int_equal(
        query(world,
              "SELECT count(*) FROM boot WHERE kernel = '6.1.0' AND first_seen_s = 1790000000"),
        1);
    assert_true(
        query(world, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1);
}

static void what_is_written_comes_back(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 50);
    struct value v = {.metric = METRIC_MEMORY_LATENCY,
                      .from = core(world->graph, 1),
                      .to = core(world->graph, 2),
                      .value = 0.1 + 0.2,
                      .low = NAN,
                      .high = NAN};
    assert_true(values_add(run.values, &v, "bytes=32768", NULL));
    v.value = NAN;
    assert_true(values_add(run.values, &v, "", "it's \"busy\"; DROP TABLE run"));
    struct note notes[2] = {{.code = "probe-crashed",
                             .severity = 2,
                             .place = "core1",
                             .text = "signal 11",
                             .since_s = 77},
                            {.code = "slow", .place = "core2"}};
    run.notes = malloc(sizeof notes);
    memcpy(run.notes, notes, sizeof notes);
    run.note_count = 2;
    int64_t id = written(store, world->graph, &run);
    store_close(store);

    store = opened(world, STORE_OK);
    struct loaded all = loaded(store, world->graph);
    assert_int_equal(all.values->count, CORES - 1 + 2);
    const struct value *found = values_find(all.values, METRIC_CPU_PINGPONG, core(world->graph, 0),
                                            core(world->graph, 3), "");
    assert_true(found->value == 53 && found->low == 53 - 0.1 && found->high == 53 + 0.1);
    assert_true(found->n == 9 && found->run == id && found->source == VALUE_MEASURED &&
                found->measured_at_s == 1780000050);
    found = values_find(all.values, METRIC_MEMORY_LATENCY, core(world->graph, 1),
                        core(world->graph, 2), "bytes=32768");
    assert_true(found->value == 0.1 + 0.2 && isnan(found->low) && isnan(found->high) &&
                found->n == 0);
    values_range(all.values, METRIC_MEMORY_LATENCY, PLACE_NONE, &found);
    assert_string_equal(found->why_not, "it's \"busy\"; DROP TABLE run");
    assert_int_equal(all.note_count, 2);
    assert_string_equal(all.notes[0].code, "probe-crashed");
    assert_string_equal(all.notes[0].text, "signal 11");
    assert_true(all.notes[0].severity == 2 && all.notes[0].since_s == 77);
    assert_string_equal(all.notes[1].place, "core2");
    assert_int_equal(all.last_probe_at_s, 1780000050);
    loaded_done(&all);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM run JOIN text ON text.id = run.conditions "
                                  "WHERE text.text = '{\"thp\":\"madvise\"}'"),
                     1);
}

static void the_latest_counts_and_all_is_kept(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 100);
    run.notes = calloc(1, sizeof *run.notes);
    run.note_count = 1;
    written(store, world->graph, &run);
    run = pingpongs(world->graph, 200);
    written(store, world->graph, &run);

    /* A run that did not reach core 1 leaves earlier values; another probe ran before all of
     * them. */
    run = pingpongs(world->graph, 300);
    run.values->count = 0;
    struct value v = {.metric = METRIC_CPU_PINGPONG,
                      .from = core(world->graph, 0),
                      .to = core(world->graph, 1),
                      .value = NAN,
                      .low = NAN,
                      .high = NAN};
    assert_true(values_add(run.values, &v, "", "time budget"));
    written(store, world->graph, &run);
    run = pingpongs(world->graph, 10);
    memcpy(run.probe, "gpu", 4);
    run.values->count = 0;
    run.notes = calloc(1, sizeof *run.notes);
    memcpy(run.notes->code, "probe-hung", 11);
    run.note_count = 1;
    written(store, world->graph, &run);

    struct loaded all = loaded(store, world->graph);
    assert_int_equal(all.values->count, CORES - 1);
    assert_true(values_find(all.values, METRIC_CPU_PINGPONG, core(world->graph, 0),
                            core(world->graph, 1), "")
                    ->value == 201);
    assert_true(values_find(all.values, METRIC_CPU_PINGPONG, core(world->graph, 0),
                            core(world->graph, 2), "")
                    ->value == 202);
    assert_int_equal(all.note_count, 1); /* the first run's note went with the second run */
    assert_string_equal(all.notes[0].code, "probe-hung");
    assert_int_equal(all.last_probe_at_s, 1780000200); /* the later ones brought no value */
    loaded_done(&all);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM value"), 2 * (CORES - 1));
    assert_int_equal(query(world, "SELECT count(*) FROM skip"), 1);
    assert_int_equal(query(world, "SELECT count(*) FROM series"), CORES - 1);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

static void boots_and_nodes(void **state)
{
    struct world *world = *state;
    struct berth_err err = {0};
    struct graph *other = node("ffffffffffffffffffffffffffffffff", 2);
    struct graph *smaller = node("0123456789abcdef0123456789abcdef", 3);
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_int_equal(store_begin(store, world->graph, "another-boot", &err), BERTH_OK);
    assert_int_equal(store_begin(store, world->graph, "another-boot", &err), BERTH_OK);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    assert_int_equal(store_begin(store, other, BOOT, &err), BERTH_OK);
    assert_int_equal(count_loaded(store, other), 0);
    assert_int_equal(store_begin(store, smaller, BOOT, &err), BERTH_OK);
    assert_int_equal(count_loaded(store, smaller), 2); /* to core 1 and core 2 */
    store_close(store);
    graph_unref(other);
    graph_unref(smaller);
    assert_int_equal(query(world, "SELECT count(*) FROM node"), 2);
    assert_int_equal(query(world, "SELECT count(*) FROM boot"), 3);
}

static void only_measured_values(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct berth_err err = {0};
    int64_t id = 42;
    struct run run = pingpongs(world->graph, 1);
    struct value v = {.metric = METRIC_NUMA_DISTANCE,
                      .source = VALUE_NOMINAL,
                      .value = 10,
                      .low = NAN,
                      .high = NAN};
    assert_true(values_add(run.values, &v, "", NULL));
    assert_int_equal(store_write_run(store, world->graph, &run, &id, &err), BERTH_BAD_DATA);
    assert_non_null(strstr(err.detail, "nominal"));
    run_done(&run);
    assert_int_equal(id, 42);
    assert_int_equal(store_state(store), STORE_OK);
    assert_int_equal(count_loaded(store, world->graph), 0);
    run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
}

static void memory_by_choice(void **state)
{
    struct world *world = *state;
    struct store *store;
    struct berth_err err = {0};
    assert_int_equal(store_open(NULL, &fixed, &store, &err), BERTH_OK);
    assert_int_equal(store_state(store), STORE_MEMORY_ONLY);
    assert_string_equal(noted(store).code, "");
    assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
    struct run run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    store_close(store);
}

static void the_directory_is_created(void **state)
{
    struct world *world = *state;
    struct world inner = {.graph = world->graph};
    struct stat status;
    snprintf(inner.directory, sizeof inner.directory, "%.30s/db", world->directory);
    store_close(opened(&inner, STORE_OK));
    assert_int_equal(stat(inner.directory, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0750);
    snprintf(inner.directory, sizeof inner.directory, "%.30s/a/b", world->directory);
    store_close(opened(&inner, STORE_MEMORY_ONLY));
}

static void ten_thousand_values_are_served_fast(void **state)
{
    struct world *world = *state;
    struct graph *big = node("00000000000000000000000000000001", 100);
    struct store *store = opened(world, STORE_OK);
    struct berth_err err = {0};
    assert_int_equal(store_begin(store, big, BOOT, &err), BERTH_OK);
    for (int times = 0; times < 3; times++) {
        struct run run = {.probe = "cpu",
                          .backend = "cpu",
                          .profile = "full",
                          .status = "complete",
                          .values = values_new()};
        for (int from = 0; from < 100; from++)
            for (int to = 0; to < 100; to++) {
                struct value v = {.metric = METRIC_CPU_PINGPONG,
                                  .from = core(big, from),
                                  .to = core(big, to),
                                  .value = 50 + from + 0.37 * to + times,
                                  .low = 49.5,
                                  .high = 500.7,
                                  .n = 9};
                assert_true(values_add(run.values, &v, "", NULL));
            }
        written(store, big, &run);
    }
    clock_t best = LONG_MAX;
    for (int i = 0; i < 5; i++) {
        clock_t begin = clock();
        struct loaded all = loaded(store, big);
        clock_t took = clock() - begin;
        assert_int_equal(all.values->count, 10000);
        loaded_done(&all);
        best = took < best ? took : best;
    }
    print_message("10,000 latest values in %.2f ms of processor time\n",
                  (double)best * 1e3 / CLOCKS_PER_SEC);
    /* The figure itself belongs to the benchmarks; this catches a missing index under any
     * sanitizer. */
    assert_true(best < CLOCKS_PER_SEC / 5);
    store_close(store);
    graph_unref(big);
}

/* Each thread writes its own runs and reads everybody's, while the others do the same. */
struct worker {
    struct world *world;
    struct store *store;
    pthread_t thread;
    int number, failed;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    const struct graph *graph = worker->world->graph;
    for (int i = 0; i < 20; i++) {
        struct run run = pingpongs(graph, 100 * worker->number + i);
        struct loaded all = {.values = values_new()};
        struct berth_err err = {0};
        struct note note;
        int64_t id;
        worker->failed += store_write_run(worker->store, graph, &run, &id, &err) != BERTH_OK;
        worker->failed +=
            store_load_latest(worker->store, graph, all.values, &all.notes, &all.note_count,
                              &all.last_probe_at_s, &err) != BERTH_OK;
        worker->failed += all.values->count != CORES - 1 ||
                          all.values->item[0].run != all.values->item[CORES - 2].run;
        worker->failed +=
            store_state(worker->store) != STORE_OK || store_note(worker->store, &note);
        loaded_done(&all);
        run_done(&run);
    }
    return NULL;
}

static void many_threads(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct worker worker[6];
    for (int i = 0; i < 6; i++) {
        worker[i] = (struct worker){.world = world, .store = store, .number = i};
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pthread_join(worker[i].thread, NULL), 0);
        assert_int_equal(worker[i].failed, 0);
    }
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 120);
    assert_int_equal(query(world, "SELECT count(*) FROM value"), 120 * (CORES - 1));
}

/* Measuring for weeks without a writable file: the oldest runs go, and the latest stay. */
static void memory_is_bounded(void **state)
{
    struct world *world = *state;
    struct store *store;
    struct berth_err err = {0};
    static char conditions[64 << 10];
    const int runs = 700; /* 64 KiB each, and as much in an index */
    const int64_t allowed = STORE_MEMORY_BYTES + (1 << 20);
    int64_t bytes = 0, most = 0;
    memset(conditions, 'x', sizeof conditions - 1);
    assert_int_equal(store_open(NULL, &fixed, &store, &err), BERTH_OK);
    assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
    for (int i = 0; i < runs; i++) {
        struct run run = pingpongs(world->graph, i);
        free(run.conditions);
        snprintf(conditions, 16, "%015d", i);
        conditions[15] = 'x';
        run.conditions = strdup(conditions);
        written(store, world->graph, &run);
        assert_int_equal(
            store_db_number(store->db,
                            "SELECT (page_count - freelist_count) * page_size FROM "
                            "pragma_page_count, pragma_freelist_count, pragma_page_size",
                            &bytes, &err),
            BERTH_OK);
        most = bytes > most ? bytes : most;
        assert_true(bytes <= allowed);
    }
    assert_true(most > STORE_MEMORY_BYTES / 2); /* or the bound was not reached */
    struct history history;
    assert_int_equal(
        store_history(store, world->graph,
                      &(struct history_series){METRIC_CPU_PINGPONG, core(world->graph, 0),
                                               core(world->graph, 1), ""},
                      INT64_MIN, &history, &err),
        BERTH_OK);
    assert_true(history.count > 50 && history.count < (size_t)runs);
    for (size_t i = 0; i < history.count; i++) /* the latest ones, without a gap */
        assert_true(history.item[i].value == (double)(runs - (int)history.count + (int)i + 1));
    store_history_done(&history);
    struct loaded all = loaded(store, world->graph);
    assert_int_equal(all.values->count, CORES - 1);
    for (size_t i = 0; i < all.values->count; i++)
        assert_true(all.values->item[i].value >= runs);
    loaded_done(&all);
    store_close(store);
}

/* Which file systems get a rollback journal by themselves. */
static void kinds_of_file_system(void **state)
{
    (void)state;
    static const uint32_t network[] = {0x6969,     0xff534d42, 0xfe534d42, 0x0bd00bd0, 0x47504653,
                                       0x19830326, 0x00c36400, 0x65735546, 0x01021997};
    /* ext4, xfs, btrfs, zfs, tmpfs, ramfs, overlay, squashfs, f2fs */
    static const uint32_t local[] = {0xef53,     0x58465342, 0x9123683e, 0x2fc12fc1, 0x01021994,
                                     0x858458f6, 0x794c7630, 0x73717368, 0xf2f52010, 0};
    for (size_t i = 0; i < sizeof network / sizeof network[0]; i++)
        assert_true(store_db_is_network(network[i]));
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        assert_false(store_db_is_network(local[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_fresh_file),
        TEST(what_is_written_comes_back),
        TEST(the_latest_counts_and_all_is_kept),
        TEST(boots_and_nodes),
        TEST(only_measured_values),
        TEST(memory_by_choice),
        TEST(memory_is_bounded),
        TEST(kinds_of_file_system),
        TEST(the_directory_is_created),
        TEST(many_threads),
        TEST(ten_thousand_values_are_served_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
