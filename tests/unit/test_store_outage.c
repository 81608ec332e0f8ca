/* What the store does while its file cannot be used, and when it can again. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store_history.h"
#include "store_world.h"

/* In a child, because rights and limits cannot be had back. What fails there prints its reason and gives a status of its own. */
static void in_child(struct world *world, void (*work)(struct world *))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        work(world);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define EXPECT(condition)                                                                                                        \
    do {                                                                                                                         \
        if (!(condition)) {                                                                                                      \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                      \
            _exit(1);                                                                                                            \
        }                                                                                                                        \
    } while (0)

static void open_read_only(struct world *world)
{
    EXPECT(geteuid() != 0 || setuid(65534) == 0);
    struct store *store;
    struct berth_err err = {0};
    EXPECT(store_open(world->directory, &fixed, &store, &err) == BERTH_OK);
    EXPECT(store_state(store) == STORE_MEMORY_ONLY);
    EXPECT(noted(store).code[0] != '\0');
    EXPECT(store_begin(store, world->graph, BOOT, &err) == BERTH_OK);
    store_close(store);
}

static void a_read_only_directory(void **state)
{
    struct world *world = *state;
    assert_int_equal(chmod(world->directory, 0555), 0);
    in_child(world, open_read_only);
    assert_int_equal(chmod(world->directory, 0755), 0);
    filled(world, 2);
    assert_int_equal(chmod(world->database, 0444), 0);
    assert_int_equal(chmod(world->directory, 0555), 0);
    in_child(world, open_read_only);
    assert_int_equal(chmod(world->directory, 0755), 0);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 2);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    EXPECT(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes;
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void open_on_full_disk(struct world *world)
{
    limit_file_size(8192);
    struct store *store;
    struct berth_err err = {0};
    EXPECT(store_open(world->directory, &fixed, &store, &err) == BERTH_OK);
    EXPECT(store_state(store) == STORE_MEMORY_ONLY);
    EXPECT(strcmp(noted(store).code, "store-memory-only") == 0);
    store_close(store);
}

static size_t points(struct store *store, const struct graph *graph)
{
    struct history history;
    struct berth_err err = {0};
    if (store_history(store, graph, METRIC_CPU_PINGPONG, core(graph, 0), core(graph, 1), "", INT64_MIN, &history, &err) != BERTH_OK)
        return 0;
    size_t count = history.count;
    store_history_done(&history);
    return count;
}

/* Two small runs fit, then the disk is full for a while. */
static void write_on_full_disk(struct world *world)
{
    struct store *store;
    struct berth_err err = {0};
    int64_t id = 0;
    EXPECT(store_open(world->directory, &fixed, &store, &err) == BERTH_OK);
    EXPECT(store_begin(store, world->graph, BOOT, &err) == BERTH_OK);
    struct run run = pingpongs(world->graph, 1);
    EXPECT(store_write_run(store, world->graph, &run, &id, &err) == BERTH_OK);
    limit_file_size(4096);
    EXPECT(store_write_run(store, world->graph, &run, &id, &err) == BERTH_OK); /* in memory */
    EXPECT(store_state(store) == STORE_MEMORY_ONLY);
    EXPECT(strcmp(noted(store).code, "store-memory-only") == 0 && noted(store).since_s == fixed_s(NULL));
    EXPECT(strchr(noted(store).text, '\n') == NULL);
    EXPECT(!store_retry(store));
    EXPECT(store_write_run(store, world->graph, &run, &id, &err) == BERTH_OK);
    EXPECT(points(store, world->graph) == 3); /* one in the file, two in memory */
    EXPECT(count_loaded(store, world->graph) == CORES - 1);
    limit_file_size(RLIM_INFINITY);
    EXPECT(store_retry(store));
    EXPECT(store_state(store) == STORE_OK && noted(store).code[0] == '\0');
    EXPECT(points(store, world->graph) == 3);
    EXPECT(count_loaded(store, world->graph) == CORES - 1);
    run_done(&run);
    store_close(store);
}

static void a_full_disk(void **state)
{
    struct world *world = *state;
    in_child(world, open_on_full_disk);
    assert_int_equal(unlink(world->database), 0);
    in_child(world, write_on_full_disk);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 3);
    assert_int_equal(query(world, "SELECT count(*) FROM value"), 3 * (CORES - 1));
    assert_int_equal(query(world, "SELECT count(*) FROM series WHERE run = (SELECT max(id) FROM run)"), CORES - 1);
    assert_int_equal(query(world, "SELECT count(*) FROM run WHERE boot = 1 AND conditions = 1"), 3);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

static void somebody_holds_the_lock(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct run run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_int_equal(store_state(store), STORE_MEMORY_ONLY);
    assert_non_null(strstr(noted(store).text, "locked"));
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    assert_false(store_retry(store));
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_true(store_retry(store));
    assert_int_equal(store_state(store), STORE_OK);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    run = pingpongs(world->graph, 2);
    written(store, world->graph, &run);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    store_close(store); /* the last chance is taken */
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 2);
}

static void a_lock_at_open(void **state)
{
    struct world *world = *state;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE; CREATE TABLE x (a)", NULL, NULL, NULL), SQLITE_OK);
    struct store *store = opened(world, STORE_MEMORY_ONLY);
    assert_non_null(strstr(noted(store).text, "locked"));
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    struct run run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_true(store_retry(store));
    assert_int_equal(store_state(store), STORE_OK);
    store_close(store);
    sqlite3_close(db);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
}

/* What somebody does to the files beside the database costs nothing. */
static void log_and_index(void **state)
{
    struct world *world = *state;
    char log[80], index[80];
    snprintf(log, sizeof log, "%s-wal", world->database);
    snprintf(index, sizeof index, "%s-shm", world->database);
    struct store *store = opened(world, STORE_OK);
    for (int i = 0; i < 4; i++) {
        struct run run = pingpongs(world->graph, i);
        written(store, world->graph, &run);
        if (i % 2)
            assert_int_equal(unlink(log), 0);
        else
            assert_int_equal(truncate(index, 0), 0);
        assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    }
    assert_int_equal(store_state(store), STORE_OK);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 4);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

static void a_rollback_journal(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 1);
    struct berth_err err = {0};
    written(store, world->graph, &run);
    store_close(store);
    assert_int_equal(store_open_as(world->directory, STORE_JOURNAL_ROLLBACK, &fixed, &store, &err), BERTH_OK);
    assert_int_equal(store_state(store), STORE_OK);
    assert_string_equal(noted(store).code, "store-rollback");
    assert_int_equal(noted(store).severity, 0);
    assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
    run = pingpongs(world->graph, 2);
    written(store, world->graph, &run);
    sqlite3 *db; /* nobody else gets in */
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT count(*) FROM run", NULL, NULL, NULL), SQLITE_BUSY);
    sqlite3_close(db);
    char log[80];
    snprintf(log, sizeof log, "%s-wal", world->database);
    assert_int_equal(access(log, F_OK), -1);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'delete'"), 1);
    store = opened(world, STORE_OK); /* and back */
    assert_int_equal(points(store, world->graph), 2);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
    store_close(store);
}

/* A disk that refuses from the start is read, and written to when it works. */
static void read_from_the_start(struct world *world)
{
    struct store *store;
    struct berth_err err = {0};
    EXPECT(geteuid() != 0 || setuid(65534) == 0);
    EXPECT(store_open(world->directory, &fixed, &store, &err) == BERTH_OK);
    EXPECT(store_state(store) == STORE_MEMORY_ONLY);
    EXPECT(store_begin(store, world->graph, BOOT, &err) == BERTH_OK);
    EXPECT(count_loaded(store, world->graph) == CORES - 1);
    EXPECT(points(store, world->graph) == 2);
    struct run run = pingpongs(world->graph, 7);
    written(store, world->graph, &run);
    EXPECT(points(store, world->graph) == 3);
    EXPECT(!store_retry(store));
    store_close(store);
}

static void what_is_stored_is_read(void **state)
{
    struct world *world = *state;
    filled(world, 2);
    assert_int_equal(chmod(world->database, 0444), 0);
    assert_int_equal(chmod(world->directory, 0555), 0);
    in_child(world, read_from_the_start);
    assert_int_equal(chmod(world->directory, 0755), 0);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_read_only_directory),
        TEST(a_full_disk),
        TEST(somebody_holds_the_lock),
        TEST(a_lock_at_open),
        TEST(log_and_index),
        TEST(a_rollback_journal),
        TEST(what_is_stored_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
