/* The store while its file is unusable, and afterwards. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "store/baseline.h"
#include "store/claim.h"
#include "store/finding.h"
#include "store/history.h"
#include "store_world.h"

/* In a child, because rights and limits cannot be had back. What fails there prints its reason and
 * gives a status of its own. */
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

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
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
    if (store_history(
            store, graph,
            &(struct history_series){METRIC_CPU_PINGPONG, core(graph, 0), core(graph, 1), ""},
            INT64_MIN, &history, &err) != BERTH_OK)
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
    EXPECT(strcmp(noted(store).code, "store-memory-only") == 0 &&
           noted(store).since_s == fixed_s(NULL));
    EXPECT(strchr(noted(store).text, '\n') == NULL);
    EXPECT(!store_retry(store, true));
    EXPECT(store_write_run(store, world->graph, &run, &id, &err) == BERTH_OK);
    EXPECT(points(store, world->graph) == 3); /* one in the file, two in memory */
    EXPECT(count_loaded(store, world->graph) == CORES - 1);
    limit_file_size(RLIM_INFINITY);
    EXPECT(store_retry(store, true));
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
    assert_int_equal(
        query(world, "SELECT count(*) FROM series WHERE run = (SELECT max(id) FROM run)"),
        CORES - 1);
    assert_int_equal(query(world, "SELECT count(*) FROM run WHERE boot = 1 AND conditions = 1"), 3);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_int_equal(
        query(world, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1);
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
    assert_false(store_retry(store, true));
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_true(store_retry(store, true));
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
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE; CREATE TABLE x (a)", NULL, NULL, NULL),
                     SQLITE_OK);
    struct store *store = opened(world, STORE_MEMORY_ONLY);
    assert_non_null(strstr(noted(store).text, "locked"));
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    struct run run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_true(store_retry(store, true));
    assert_int_equal(store_state(store), STORE_OK);
    store_close(store);
    sqlite3_close(db);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
}

/* Changes of the files beside the database cost nothing. */
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
    assert_int_equal(
        query(world, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1);
}

static void a_rollback_journal(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 1);
    struct berth_err err = {0};
    written(store, world->graph, &run);
    store_close(store);
    assert_int_equal(store_open_as(world->directory, STORE_JOURNAL_ROLLBACK, &fixed, &store, &err),
                     BERTH_OK);
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
    assert_int_equal(
        query(world, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'delete'"), 1);
    store = opened(world, STORE_OK); /* and back */
    assert_int_equal(points(store, world->graph), 2);
    assert_int_equal(
        query(world, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
    store_close(store);
}

static long network_kind; /* kind of every file system by statfs; 0 the real one */

/* Goes before libc's. */
int statfs(const char *path, struct statfs *status)
{
    long failed = syscall(SYS_statfs, path, status);
    if (failed == 0 && network_kind != 0)
        status->f_type = network_kind;
    return (int)failed;
}

static bool nobody_else_gets_in(const struct world *world)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, "SELECT count(*) FROM run", NULL, NULL, NULL);
    sqlite3_close(db);
    return rc == SQLITE_BUSY;
}

static void a_network_file_system(void **state)
{
    struct world *world = *state;
    struct store *store;
    struct berth_err err = {0};
    char log[80];
    snprintf(log, sizeof log, "%s-wal", world->database);
    for (int is_network = 1; is_network >= 0; is_network--) {
        network_kind = is_network ? 0x6969 : 0;
        int code = store_open_as(world->directory, STORE_JOURNAL_AUTO, &fixed, &store, &err);
        network_kind = 0;
        assert_int_equal(code, BERTH_OK);
        assert_int_equal(store_state(store), STORE_OK);
        assert_int_equal(store_begin(store, world->graph, BOOT, &err), BERTH_OK);
        struct run run = pingpongs(world->graph, 2);
        written(store, world->graph, &run);
        assert_string_equal(noted(store).code, is_network ? "store-rollback" : "");
        assert_int_equal(nobody_else_gets_in(world), is_network);
        assert_int_equal(access(log, F_OK), is_network ? -1 : 0);
        store_close(store);
    }
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 2);
}

static size_t found(struct store *store, const char *const *places, size_t count, int64_t now_s)
{
    struct finding finding[4] = {0};
    struct opened *opened = NULL;
    struct berth_err err = {0};
    size_t standing = 0;
    for (size_t i = 0; i < count; i++) {
        snprintf(finding[i].code, sizeof finding[i].code, "link-down");
        snprintf(finding[i].place, sizeof finding[i].place, "%s", places[i]);
        finding[i].severity = SEVERITY_CRITICAL;
        finding[i].value = finding[i].expected = NAN;
    }
    const struct assessment assessment = {.finding = finding, .count = count};
    assert_int_equal(store_finding_keep(store, &assessment, now_s, false, &opened, &standing, &err),
                     BERTH_OK);
    free(opened);
    return standing;
}

/* Findings of an outage are in the file afterwards, and earlier ones keep their start. */
static void findings_are_merged_into_the_file(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    sqlite3 *db;
    assert_int_equal(found(store, (const char *const[]){"core0", "core1"}, 2, 1000), 2);
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct run run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_int_equal(store_state(store), STORE_MEMORY_ONLY);
    assert_int_equal(found(store, (const char *const[]){"core1", "core2"}, 2, 2000), 2);
    struct finding_kept *list = NULL;
    struct berth_err err = {0};
    size_t count = 0;
    assert_int_equal(store_finding_list(store, 0, 10, &list, &count, &err), BERTH_OK);
    assert_int_equal(count, 3); /* in memory nothing is forgotten either */
    free(list);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_true(store_retry(store, true));
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM finding"), 3);
    assert_int_equal(query(world, "SELECT count(*) FROM finding WHERE place = 'core0' AND opened_s "
                                  "= 1000 AND cleared_s = 2000"),
                     1);
    assert_int_equal(query(world, "SELECT count(*) FROM finding WHERE place = 'core1' AND opened_s "
                                  "= 1000 AND cleared_s IS NULL AND critical_s = 1000"),
                     1);
    assert_int_equal(query(world, "SELECT count(*) FROM finding WHERE place = 'core2' AND opened_s "
                                  "= 2000 AND cleared_s IS NULL"),
                     1);
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
    EXPECT(!store_retry(store, true));
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

/* Opens the file exclusively, with entries in the log: it cannot be read either. */
static sqlite3 *held(const struct world *world)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE x (a);"
                                  "DROP TABLE x; BEGIN IMMEDIATE",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    return db;
}

static size_t claims_loaded(struct store *store, enum berth_code expected)
{
    struct claim_set claims = {0};
    size_t ended;
    assert_int_equal(store_load_claims(store, &claims, &ended, NULL), expected);
    size_t count = claims.count;
    claim_set_done(&claims);
    return count;
}

static void save(struct store *store, const char *id)
{
    struct claim claim = {.uid = 1, .places = (char *)"core0", .version = 1, .deadline_ns = 77};
    struct claim *one[] = {&claim};
    snprintf(claim.id, sizeof claim.id, "%s", id);
    assert_int_equal(store_save_claims(store, one, 1, 1, NULL), BERTH_OK);
}

/* Claims that were saved in memory are all that there are; without, the file's stay. */
static void claims_of_a_file_that_cannot_be_read(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    save(store, "c1");
    store_close(store);
    sqlite3 *db = held(world);
    store = opened(world, STORE_MEMORY_ONLY);
    assert_true(store_is_unread(store));
    assert_non_null(strstr(noted(store).text, "its claims and baselines are unknown"));
    assert_int_equal(claims_loaded(store, BERTH_UNAVAILABLE), 0);
    struct clock system = clock_system();
    uint64_t begin_ns = clock_mono_ns(&system);
    assert_false(store_retry(store, false));
    assert_true(clock_mono_ns(&system) - begin_ns < 100000000);
    sqlite3_close(db);
    assert_true(store_retry(store, true));
    assert_false(store_is_unread(store));
    assert_int_equal(claims_loaded(store, BERTH_OK), 1);
    store_close(store);
    db = held(world);
    store = opened(world, STORE_MEMORY_ONLY);
    save(store, "c2");
    sqlite3_close(db);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM claim"), 1);
    assert_int_equal(query(world, "SELECT id = 'c2' FROM claim"), 1);
}

static void accept(struct store *store, const struct graph *graph, double base, int64_t now_s)
{
    struct run run = pingpongs(graph, base);
    const bool all[CORES - 1] = {true, true, true, true, true};
    const struct health_limits limits = {0};
    values_finish(run.values);
    assert_int_equal(store_baseline_accept(store, graph, run.values, all, &limits, now_s, NULL),
                     BERTH_OK);
    run_done(&run);
}

/* Baselines accepted while the file cannot be read count, unless the file's is newer. */
static void baselines_of_a_file_that_cannot_be_read(void **state)
{
    struct world *world = *state;
    for (int is_newer = 0; is_newer < 2; is_newer++) {
        struct store *store = opened(world, STORE_OK);
        accept(store, world->graph, 100, 1000 + is_newer * 2000);
        store_close(store);
        sqlite3 *db = held(world);
        store = opened(world, STORE_MEMORY_ONLY);
        accept(store, world->graph, 200, 2000);
        sqlite3_close(db);
        assert_true(store_retry(store, true));
        store_close(store);
        assert_int_equal(query(world, "SELECT count(*) FROM baseline"), CORES - 1);
        assert_int_equal(query(world, "SELECT count(*) FROM baseline WHERE median > 200"),
                         is_newer ? 0 : CORES - 1);
    }
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
        TEST(a_network_file_system),
        TEST(findings_are_merged_into_the_file),
        TEST(what_is_stored_is_read),
        TEST(claims_of_a_file_that_cannot_be_read),
        TEST(baselines_of_a_file_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
