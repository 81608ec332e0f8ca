/* Files that are broken, foreign, newer, locked or cannot be written. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/claim.h"
#include "store_world.h"

static void execute(const struct world *world, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static char *file_bytes(const char *path, size_t *ret_length)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *ret_length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*ret_length + 1);
    assert_int_equal(fread(bytes, 1, *ret_length, file), *ret_length);
    fclose(file);
    return bytes;
}

static void overwrite(const char *path, long at, size_t length, int byte)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    for (size_t i = 0; i < length; i++)
        fputc(byte, file);
    fclose(file);
}

static bool was_set_aside(const struct world *world)
{
    char path[96];
    snprintf(path, sizeof path, "%s.corrupt-1790000000", world->database);
    return access(path, F_OK) == 0;
}

static void expect_set_aside(struct world *world)
{
    struct store *store = opened(world, STORE_SET_ASIDE);
    assert_true(was_set_aside(world));
    assert_string_equal(noted(store).code, "store-set-aside");
    assert_non_null(strstr(noted(store).text, "berth.db.corrupt-1790000000"));
    struct run run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    store_close(store);
    store_close(opened(world, STORE_SET_ASIDE)); /* as long as it lies there */
    store = opened(world, STORE_SET_ASIDE);
    assert_string_equal(noted(store).code, "store-set-aside");
    assert_true(noted(store).since_s == 1790000000);
    char aside[96];
    snprintf(aside, sizeof aside, "%s.corrupt-1790000000", world->database);
    assert_int_equal(unlink(aside), 0);
    store_check(store);
    assert_int_equal(store_state(store), STORE_OK);
    assert_string_equal(noted(store).code, "");
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
}

static void no_database_is_set_aside(void **state)
{
    struct world *world = *state;
    FILE *file = fopen(world->database, "w");
    for (int i = 0; i < 1000; i++)
        fprintf(file, "this is no database\n");
    fclose(file);
    char log[80], log_aside[112];
    snprintf(log, sizeof log, "%s-wal", world->database);
    snprintf(log_aside, sizeof log_aside, "%s.corrupt-1790000000-wal", world->database);
    file = fopen(log, "w");
    fprintf(file, "nor is this its log\n");
    fclose(file);
    expect_set_aside(world);
    struct stat status;
    assert_int_equal(stat(log_aside, &status), 0);
    assert_int_equal(status.st_size, 20);
}

static void a_broken_header_is_set_aside(void **state)
{
    struct world *world = *state;
    filled(world, 3);
    overwrite(world->database, 0, 100, 0xa5);
    expect_set_aside(world);
}

static void a_truncated_file_is_set_aside(void **state)
{
    struct world *world = *state;
    long size = filled(world, 20);
    assert_int_equal(truncate(world->database, size / 2), 0);
    expect_set_aside(world);
}

static void a_file_that_is_taken_away_is_begun_anew(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    struct run before = pingpongs(world->graph, 1), after = pingpongs(world->graph, 2),
               last = pingpongs(world->graph, 3);
    written(store, world->graph, &before);
    assert_string_equal(noted(store).code, "");
    assert_int_equal(unlink(world->database), 0);
    written(store, world->graph, &after);
    assert_string_equal(noted(store).code, "store-taken-away");
    assert_int_equal(query(world, "SELECT count(*) FROM run"), 1);
    assert_int_equal(unlink(world->database), 0);
    /* not even that loses more than the history */
    assert_int_equal(mkdir(world->database, 0700), 0);
    written(store, world->graph, &last);
    assert_int_equal(store_state(store), STORE_MEMORY_ONLY);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    store_close(store);
}

static void a_rotten_schema_is_set_aside(void **state)
{
    struct world *world = *state;
    filled(world, 3);
    overwrite(world->database, 100, 3900, 0x11);
    expect_set_aside(world);
}

/* Page by page: each is either found at open, or by the first call that reads it, or holds nothing
 * that is read. Afterwards the store always works, and never answers with made-up numbers. */
static void any_rotten_page(void **state)
{
    struct world *world = *state;
    long size = filled(world, 30);
    size_t length;
    char *good = file_bytes(world->database, &length);
    assert_int_equal(length, (size_t)size);
    int at_open = 0, later = 0;
    for (long page = 0; page < size; page += 4096) {
        char command[128];
        snprintf(command, sizeof command, "rm -f %s/*", world->directory);
        assert_int_equal(system(command), 0);
        FILE *file = fopen(world->database, "wb");
        assert_int_equal(fwrite(good, 1, length, file), length);
        fclose(file);
        overwrite(world->database, page, 4096, 0x5a);

        struct store *store;
        struct berth_err err = {0};
        assert_int_equal(store_open(world->directory, &fixed, &store, &err), BERTH_OK);
        at_open += store_state(store) == STORE_SET_ASIDE;
        for (int tries = 0; tries < 2; tries++) {
            struct run run = pingpongs(world->graph, 1000);
            int64_t id;
            struct loaded all = {.values = values_new()};
            bool was_ok = store_state(store) == STORE_OK;
            enum berth_code code = store_begin(store, world->graph, BOOT, &err);
            if (code == BERTH_OK)
                code = store_write_run(store, world->graph, &run, &id, &err);
            if (code == BERTH_OK)
                code = store_load_latest(store, world->graph, all.values, &all.notes,
                                         &all.note_count, &all.last_probe_at_s, &err);
            if (code != BERTH_OK) {
                assert_int_equal(code, BERTH_BAD_DATA);
                assert_true(was_ok && tries == 0);
                assert_int_equal(store_state(store), STORE_SET_ASIDE);
                later++;
            } else {
                values_finish(all.values);
                assert_int_equal(all.values->count, CORES - 1);
                assert_true(all.values->item[0].value == 1001);
            }
            loaded_done(&all);
            run_done(&run);
        }
        store_close(store);
    }
    free(good);
    assert_true(at_open > 5);
    assert_true(later > 0);
}

static void two_in_one_second(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 3; i++) {
        FILE *file = fopen(world->database, "w");
        fprintf(file, "%0200d", i);
        fclose(file);
        store_close(opened(world, STORE_SET_ASIDE));
    }
    char path[96];
    snprintf(path, sizeof path, "%s.corrupt-1790000000.3", world->database);
    assert_int_equal(access(path, F_OK), 0);
}

static void expect_untouched_memory_only(struct world *world, const char *says)
{
    size_t before, after;
    char *was = file_bytes(world->database, &before);
    struct store *store = opened(world, STORE_MEMORY_ONLY);
    assert_string_equal(noted(store).code, "store-memory-only");
    if (strstr(noted(store).text, says) == NULL)
        fail_msg("note: %s", noted(store).text);
    struct run run = pingpongs(world->graph, 1);
    written(store, world->graph, &run);
    assert_int_equal(count_loaded(store, world->graph), CORES - 1);
    store_close(store);
    char *is = file_bytes(world->database, &after);
    assert_int_equal(before, after);
    assert_memory_equal(was, is, before);
    free(was);
    free(is);
    assert_false(was_set_aside(world));
}

static void a_newer_schema_is_left_alone(void **state)
{
    struct world *world = *state;
    filled(world, 3);
    execute(world, "PRAGMA user_version = 1000; CREATE TABLE new_idea (a)");
    expect_untouched_memory_only(world, "schema version 1000");
}

static void a_newer_schema_keeps_its_log(void **state)
{
    struct world *world = *state;
    filled(world, 3);
    char log[80];
    snprintf(log, sizeof log, "%s-wal", world->database);
    pid_t child = fork(); /* a newer daemon that was killed leaves its log behind */
    if (child == 0) {
        sqlite3 *db;
        if (sqlite3_open(world->database, &db) == SQLITE_OK &&
            sqlite3_exec(db, "PRAGMA user_version = 1007", NULL, NULL, NULL) == SQLITE_OK)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    struct stat before, after;
    assert_int_equal(stat(log, &before), 0);
    assert_true(before.st_size > 0);
    expect_untouched_memory_only(world, "schema version 1007");
    assert_int_equal(stat(log, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
}

static void another_programs_database_is_left_alone(void **state)
{
    struct world *world = *state;
    execute(world, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
    expect_untouched_memory_only(world, "another program");
}

static void no_regular_file(void **state)
{
    struct world *world = *state;
    assert_int_equal(mkfifo(world->database, 0600), 0);
    store_close(opened(world, STORE_MEMORY_ONLY));
    assert_int_equal(unlink(world->database), 0);
    assert_int_equal(symlink("/etc/passwd", world->database), 0);
    store_close(opened(world, STORE_MEMORY_ONLY));
    assert_int_equal(unlink(world->database), 0);
    assert_int_equal(mkdir(world->database, 0700), 0);
    store_close(opened(world, STORE_MEMORY_ONLY));
}

#define CLAIM(id, version, uid, key, pid, deadline)                                                \
    "INSERT INTO claim VALUES (" id ", '" BOOT "', " version ", " uid                              \
    ", 'compute', 'core0', NULL, " key ", " pid ", NULL, NULL, " deadline ", NULL, NULL, 0);"

/* Foreign entries are no claims; valid ones beside them are. */
static void claims_that_none_of_ours_wrote(void **state)
{
    struct world *world = *state;
    struct claim_set claims = {0};
    struct berth_err err = {0};
    size_t ended = 99;
    store_close(opened(world, STORE_OK));
    execute(world, CLAIM("'good'", "7", "5", "'key'", "NULL", "99"));
    execute(world, CLAIM("'same key, other number'", "8", "5 + (1 << 32)", "'key'", "NULL", "99"));
    execute(world,
            CLAIM("'same key to its NUL'", "9", "5", "'key' || char(0) || 'more'", "NULL", "99"));
    execute(world, CLAIM("'id' || char(0)", "10", "5", "'a'", "NULL", "99"));
    execute(world, CLAIM("'no version'", "-1", "5", "'b'", "NULL", "99"));
    execute(world, CLAIM("'the last version'", "9223372036854775807", "5", "'c'", "NULL", "99"));
    execute(world, CLAIM("'no user'", "11", "4294967295", "'d'", "NULL", "99"));
    execute(world, CLAIM("'another process'", "12", "5", "'e'", "4294967297", "99"));
    execute(world, CLAIM("'no time'", "13", "5", "'f'", "NULL", "-1"));
    execute(world, CLAIM("'good, too'", "14", "6", "'key'", "1", "99"));
    execute(world, "INSERT OR REPLACE INTO claim_generation VALUES (1, 9223372036854775807)");
    struct store *store = opened(world, STORE_OK);
    assert_int_equal(store_load_claims(store, &claims, &ended, &err), BERTH_OK);
    assert_int_equal(ended, 0);
    assert_int_equal(claims.count, 2);
    assert_non_null(claim_set_find_key(&claims, 5, "key"));
    assert_non_null(claim_set_find(&claims, "good, too"));
    assert_int_equal(claims.generation, 14);
    claim_set_check(&claims, NULL);
    assert_int_equal(store_save_claims(store, claims.item, claims.count, claims.generation, &err),
                     BERTH_OK);
    claim_set_done(&claims);
    store_close(store);
    assert_int_equal(query(world, "SELECT count(*) FROM claim"), 2);
}

/* Executes the text that select gives. */
static void execute_result(const struct world *world, const char *select)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    char sql[2000];
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, select, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    snprintf(sql, sizeof sql, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(db);
    execute(world, sql);
}

static void expect_foreign_schema(struct world *world)
{
    struct store *store = opened(world, STORE_SET_ASIDE); /* which begins a new file */
    assert_non_null(strstr(noted(store).text, "does not fit its tables"));
    store_close(store);
}

/* Every column that the migrations make, under another name. */
static void any_column_is_missed(void **state)
{
    struct world *world = *state;
    char select[400];
    store_close(opened(world, STORE_OK));
    int64_t count = query(world, "SELECT count(*) FROM sqlite_schema m, pragma_table_info(m.name) "
                                 "WHERE m.type = 'table'");
    assert_true(count > 100);
    for (int64_t i = 0; i < count; i++) {
        snprintf(select, sizeof select,
                 "SELECT format('PRAGMA legacy_alter_table = ON; ALTER TABLE %%s RENAME COLUMN %%s "
                 "TO other', m.name, p.name) FROM sqlite_schema m, pragma_table_info(m.name) p "
                 "WHERE m.type = 'table' LIMIT 1 OFFSET %lld",
                 (long long)i);
        execute_result(world, select);
        expect_foreign_schema(world);
    }
}

/* Each would lose claims that were answered as stored, or refuse them for good. */
static void what_the_migrations_do_not_make(void **state)
{
    struct world *world = *state;
    static const char *const foreign[] = {
        "CREATE TRIGGER t BEFORE INSERT ON claim BEGIN SELECT raise(IGNORE); END",
        "CREATE TRIGGER t AFTER INSERT ON claim_generation BEGIN DELETE FROM claim; END",
        "CREATE TABLE c AS SELECT * FROM claim; DROP TABLE claim; ALTER TABLE c RENAME TO claim",
        "CREATE UNIQUE INDEX u ON claim (purpose)",
        "DROP INDEX skip_by_why",
        "ALTER TABLE claim ADD COLUMN more TEXT",
        "ALTER TABLE claim ADD COLUMN more TEXT CHECK (more IS NOT NULL)",
        "ALTER TABLE claim ADD COLUMN more ANY AS (1)",
        "DROP VIEW history",
        "CREATE TABLE more (a)",
    };
    static const char *const changed[][2] = {
        {") WITHOUT ROWID", ")"},
        {"version       INTEGER NOT NULL", "version       INTEGER NOT NULL CHECK (version < 9)"},
        {"key           TEXT", "key           TEXT NOT NULL"},
        {"UNIQUE (uid, key)", "UNIQUE (uid)"},
    };
    store_close(opened(world, STORE_OK));
    /* neither the tables of ANALYZE nor comments and white space matter */
    execute(world, "ANALYZE; PRAGMA writable_schema = ON;"
                   "UPDATE sqlite_schema SET sql = replace(sql, '-- names,', '--')");
    store_close(opened(world, STORE_OK));
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        execute(world, foreign[i]);
        expect_foreign_schema(world);
    }
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++) {
        char select[300];
        snprintf(select, sizeof select,
                 "SELECT 'DROP TABLE claim; ' || replace(sql, '%s', '%s') FROM sqlite_schema "
                 "WHERE name = 'claim'",
                 changed[i][0], changed[i][1]);
        execute_result(world, select);
        expect_foreign_schema(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_database_is_set_aside),
        TEST(a_broken_header_is_set_aside),
        TEST(a_truncated_file_is_set_aside),
        TEST(a_file_that_is_taken_away_is_begun_anew),
        TEST(a_rotten_schema_is_set_aside),
        TEST(any_rotten_page),
        TEST(two_in_one_second),
        TEST(any_column_is_missed),
        TEST(what_the_migrations_do_not_make),
        TEST(a_newer_schema_is_left_alone),
        TEST(a_newer_schema_keeps_its_log),
        TEST(another_programs_database_is_left_alone),
        TEST(no_regular_file),
        TEST(claims_that_none_of_ours_wrote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
