/* The index of the log that is truncated while the store uses it: nothing ends, nothing wrong is
 * read or committed, nothing is lost. */
#include "store_world.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "store/core.h"
#include "store/file.h"

#define RUNS 3

static void truncate_index(const struct world *world, off_t size)
{
    char name[80];
    snprintf(name, sizeof name, "%s-shm", world->database);
    assert_int_equal(truncate(name, size), 0);
}

/* A store with some runs, all of them in the log. */
static struct store *with_runs(struct world *world)
{
    struct store *store = opened(world, STORE_OK);
    for (int i = 0; i < RUNS; i++) {
        struct run run = pingpongs(world->graph, i);
        written(store, world->graph, &run);
    }
    return store;
}

/* All of it is there, for us, for others and after a restart. */
static void assert_whole(struct world *world, struct store *store, int runs)
{
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    assert_int_equal(store_state(store), STORE_OK);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), runs);
    assert_int_equal(query(world, "SELECT count(*) FROM fresh_value"), runs * (CORES - 1));
    assert_int_equal(query(world, "SELECT integrity_check = 'ok' FROM pragma_integrity_check(1)"),
                     1);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), runs);
    store = opened(world, STORE_OK);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    store_close(store);
}

static void test_between_calls(void **state)
{
    static const off_t sizes[] = {0, 1, 136, 4096, 4097, 16384, 20000, 32767};
    struct world *world = *state;
    struct store *store = with_runs(world);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        truncate_index(world, sizes[i]);
        assert_int_equal(count_loaded(store, world->graph), CORES - 1);
        assert_string_equal(noted(store).code, "store-index-lost");
        truncate_index(world, sizes[i]);
        struct run run = pingpongs(world->graph, RUNS + (double)i);
        assert_true(written(store, world->graph, &run) == RUNS + 1 + (int64_t)i);
    }
    assert_whole(world, store, RUNS + sizeof sizes / sizeof sizes[0]);
}

/* Deleted, it would be ours alone, and others would begin another. */
static void test_deleted(void **state)
{
    char name[80];
    struct world *world = *state;
    struct store *store = with_runs(world);
    snprintf(name, sizeof name, "%s-shm", world->database);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    assert_int_equal(access(name, F_OK), 0);
    assert_whole(world, store, RUNS);
}

/* Another program that has the database open, and so its index, and counts its runs once for each
 * byte that it is sent. To be started while this process has none open, as SQLite's state must not
 * pass a fork. */
struct reader {
    pid_t process;
    int to, from;
};

static struct reader start_reader(const struct world *world)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    assert_true(pipe(to) == 0 && pipe(from) == 0);
    pid_t process = fork();
    if (process == 0) {
        sqlite3 *db = NULL;
        int64_t runs = -1;
        char byte;
        close(to[1]);
        while (read(to[0], &byte, 1) == 1)
            if ((db == NULL && sqlite3_open(world->database, &db) != SQLITE_OK) ||
                store_db_number(db, "SELECT count(*) FROM run", &runs, NULL) != BERTH_OK ||
                write(from[1], &runs, sizeof runs) != sizeof runs)
                _exit(1);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    return (struct reader){process, to[1], from[0]};
}

static int64_t runs_seen(const struct reader *reader)
{
    int64_t runs = -1;
    assert_int_equal(write(reader->to, "x", 1), 1);
    assert_int_equal(read(reader->from, &runs, sizeof runs), sizeof runs);
    return runs;
}

static void stop_reader(const struct reader *reader)
{
    int status = -1;
    close(reader->to);
    close(reader->from);
    assert_int_equal(waitpid(reader->process, &status, 0), reader->process);
    assert_int_equal(status, 0);
}

/* Then the file stays unchanged, header and all, until it is declared worthless. */
static void test_that_another_has_open(void **state)
{
    struct world *world = *state;
    struct reader reader = start_reader(world);
    struct store *store = with_runs(world);
    assert_int_equal(runs_seen(&reader), RUNS);
    truncate_index(world, 16384);
    struct run run = pingpongs(world->graph, RUNS);
    written(store, world->graph, &run);
    assert_int_equal(runs_seen(&reader), RUNS + 1);
    stop_reader(&reader);
    assert_whole(world, store, RUNS + 1);
}

struct writing {
    struct world *world;
    bool before, after; /* when the index is truncated: before the statement, or after it */
    off_t size;
    bool unaware; /* the writer does not check the result */
};

static enum berth_code write_text(struct store *store, void *arg, struct berth_err *err)
{
    static const char sql[] = "INSERT INTO text (text) VALUES ('written')";
    struct writing *writing = arg;
    sqlite3_stmt *insert = NULL;
    if (writing->before)
        truncate_index(writing->world, writing->size);
    sqlite3_db_release_memory(store->db); /* so that pages are looked for in the index */
    if (writing->unaware) {
        sqlite3_exec(store->db, sql, NULL, NULL, NULL);
        return BERTH_OK;
    }
    enum berth_code code = store_core_prepare(store, sql, &insert, err);
    if (code == BERTH_OK)
        code = store_core_step(store, insert, "writing", NULL, err);
    sqlite3_finalize(insert);
    if (writing->after)
        truncate_index(writing->world, writing->size);
    return code;
}

static enum berth_code write_once(struct store *store, struct writing *writing,
                                  struct berth_err *err)
{
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    assert_int_equal(code, BERTH_OK);
    code = store_core_transact(store, write_text, writing, err);
    return store_core_done(store, code);
}

static int64_t texts(const struct world *world)
{
    return query(world, "SELECT count(*) FROM text WHERE text = 'written'");
}

/* Without its log the file is whole, too, only older: nothing but the index could tell. */
static void test_within_a_transaction(void **state)
{
    struct world *world = *state;
    struct store *store = with_runs(world);
    struct run newest = pingpongs(world->graph, RUNS);
    assert_int_equal(query(world, "PRAGMA wal_checkpoint"), 0);
    written(store, world->graph, &newest);
    /* 20000 and 32767: the rest of the last page reads as zeroes, and nothing fails */
    static const off_t sizes[] = {0, 4096, 20000, 32767};
    for (int way = 0; way < 8; way++) {
        struct writing writing = {
            .world = world, .before = true, .size = sizes[way % 4], .unaware = way >= 4};
        struct berth_err err = {0};
        assert_int_equal(write_once(store, &writing, &err), BERTH_UNAVAILABLE);
        assert_non_null(strstr(err.detail, "truncated the index"));
        assert_int_equal(texts(world), 0);
        assert_int_equal(store_state(store), STORE_OK);
        assert_string_equal(noted(store).code, "store-index-lost");
    }
    assert_int_equal(write_once(store, &(struct writing){.world = world}, &(struct berth_err){0}),
                     BERTH_OK);
    assert_int_equal(texts(world), 1);
    assert_whole(world, store, RUNS + 1);
}

/* Nothing is committed with an index that is cut: SQLite may have missed pages of the log. */
static void test_before_it_is_committed(void **state)
{
    struct world *world = *state;
    struct store *store = with_runs(world);
    struct berth_err err = {0};
    assert_int_equal(write_once(store, &(struct writing){.world = world, .after = true}, &err),
                     BERTH_UNAVAILABLE);
    assert_string_equal(noted(store).code, "store-index-lost");
    assert_int_equal(texts(world), 0);
    assert_whole(world, store, RUNS);
}

/* Values read by a lost index are not used. */
static void test_while_it_is_read(void **state)
{
    struct world *world = *state;
    struct store *store = with_runs(world);
    struct berth_err err = {0};
    sqlite3_stmt *row = NULL;
    store_core_lock(store);
    assert_int_equal(store_core_ready(store, &err), BERTH_OK);
    truncate_index(world, 0);
    assert_false(store_log_index_is_lost());
    enum berth_code code = store_core_prepare(store, "SELECT count(*) FROM run", &row, &err);
    int64_t runs = -1;
    if (code == BERTH_OK)
        code = store_core_step(store, row, "counting", &runs, &err);
    sqlite3_finalize(row);
    assert_true(store_log_index_is_lost());
    assert_int_equal(code, BERTH_UNAVAILABLE);
    assert_int_equal(runs, -1);
    assert_non_null(strstr(err.detail, "truncated the index"));
    assert_int_equal(store_core_done(store, code), BERTH_UNAVAILABLE);
    assert_whole(world, store, RUNS);
}

/* Truncation of the log in the middle of a commit: to a length, after this many bytes at some
 * place. */
static struct {
    sqlite3_syscall_ptr next;
    size_t written;
    off_t from;    /* the first place that counts */
    int64_t bytes; /* behind that place; -1 then: the whole log */
    bool is_armed;
} cut;

static ssize_t write_and_cut(int fd, const void *text, size_t bytes, off_t at)
{
    ssize_t written = ((ssize_t(*)(int, const void *, size_t, off_t))cut.next)(fd, text, bytes, at);
    if (cut.is_armed && bytes == cut.written && at >= cut.from) {
        cut.is_armed = false;
        assert_int_equal(ftruncate(fd, cut.bytes < 0 ? 0 : at + cut.bytes), 0);
    }
    return written;
}

/* Frames behind the gap are not found after a kill: the store notices at once. */
static void test_log_cut_within_a_commit(void **state)
{
    enum { HEADER = 32, PAGE = 4096 };
    static const struct {
        size_t written;
        off_t from;
        int64_t bytes;
        bool is_new; /* the log begins anew with that commit */
    } cuts[] = {{HEADER, 0, -1, true},
                {PAGE, 0, 100, true},
                {PAGE, HEADER, 100, false},
                {PAGE, HEADER, -1, false}};
    struct world *world = *state;
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    const char *name = vfs->xGetSystemCall(vfs, "pwrite64") != NULL ? "pwrite64" : "pwrite";
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        struct store *store = with_runs(world);
        if (cuts[i].is_new)
            assert_int_equal(query(world, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
        cut.next = vfs->xGetSystemCall(vfs, name);
        cut.written = cuts[i].written, cut.from = cuts[i].from, cut.bytes = cuts[i].bytes,
        cut.is_armed = true;
        assert_int_equal(vfs->xSetSystemCall(vfs, name, (sqlite3_syscall_ptr)write_and_cut),
                         SQLITE_OK);
        enum berth_code code =
            write_once(store, &(struct writing){.world = world}, &(struct berth_err){0});
        assert_int_equal(vfs->xSetSystemCall(vfs, name, cut.next), SQLITE_OK);
        assert_false(cut.is_armed);
        if (code != BERTH_OK || strcmp(noted(store).code, "store-cut") != 0)
            fail_msg("cut %zu: %d, \"%s\"", i, code, noted(store).code);
        store_close(store);
    }
}

/* The rest of the process is none of ours. */
enum elsewhere { OUTSIDE, NOT_SHARED, SENT, ANOTHER_THREAD };

static void *touch(void *arg)
{
    *(volatile char *)arg = 1;
    return NULL;
}

static int end_of(struct world *world, enum elsewhere where)
{
    pid_t child = fork();
    if (child == 0) {
        char name[80];
        struct store_log_index index;
        pthread_t thread;
        snprintf(name, sizeof name, "%s/file", world->directory);
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || ftruncate(fd, 8192) < 0)
            _exit(1);
        char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                            where == NOT_SHARED ? MAP_PRIVATE : MAP_SHARED, fd, 0);
        store_log_index_init(&index);
        if (memory == MAP_FAILED || index.maps < 0 || ftruncate(fd, 0) < 0)
            _exit(1);
        store_log_index_enter(&index);
        if (where == SENT)
            raise(SIGBUS);
        else if (where == ANOTHER_THREAD && pthread_create(&thread, NULL, touch, memory) == 0)
            pthread_join(thread, NULL);
        memory[4096] = 1; /* inside, and mended unless it is not shared */
        if (where == OUTSIDE && store_log_index_is_lost())
            store_log_index_leave();
        touch(memory);
        _exit(0);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void test_elsewhere(void **state)
{
    struct world *world = *state;
    assert_int_equal(end_of(world, OUTSIDE), SIGBUS);
    assert_int_equal(end_of(world, NOT_SHARED), SIGBUS);
    assert_int_equal(end_of(world, SENT), SIGBUS);
    assert_int_equal(end_of(world, ANOTHER_THREAD), SIGBUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_between_calls),
        TEST(test_deleted),
        TEST(test_that_another_has_open),
        TEST(test_within_a_transaction),
        TEST(test_before_it_is_committed),
        TEST(test_while_it_is_read),
        TEST(test_elsewhere),
        TEST(test_log_cut_within_a_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
