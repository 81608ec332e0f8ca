/* The database is truncated while its truncated log is mended. */
#include "unit/store/cut_life.h"

static void cut_while_it_is_mended(void **state)
{
    struct world *world = *state;
    prepare(world, A_LOG, 0);
    for (size_t i = 0; i < 4; i++) {
        begin(world);
        long last = life(world, (struct cut){0, "", 0}, (struct cut){0, "", 0});
        for (long first = last - 100, at = first; at <= last; at += stride(3)) {
            begin(world);
            last = life(world, (struct cut){first, "-wal", sizes[i / 2 * 2]},
                        (struct cut){at, "", sizes[1 + i % 2]});
            assert_true(last < 2000);
        }
    }
    assert_none_lost();
}

static void execute(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* The rest of the log would put older pages beside newer ones, which were copied into the file. */
static void the_rest_of_a_log_is_older(void **state)
{
    struct world *world = *state;
    char log[96];
    struct stat status;
    sqlite3 *other;
    struct store *store = opened(world, STORE_OK);
    assert_true(keep(store, 2));
    snprintf(log, sizeof log, "%s-wal", world->database);
    assert_int_equal(sqlite3_open(world->database, &other), SQLITE_OK);
    for (int i = 0; i < 100; i++)
        execute(other, "INSERT INTO text (text) VALUES (hex(randomblob(300)))");
    execute(other, "PRAGMA wal_checkpoint(TRUNCATE)");
    execute(other, "UPDATE text SET text = '0' WHERE id = 1");
    assert_int_equal(stat(log, &status), 0);
    execute(other, "UPDATE text SET text = 'x' WHERE id = 1; PRAGMA wal_checkpoint");
    sqlite3_close(other);
    assert_int_equal(truncate(log, status.st_size), 0);
    store_check(store);
    assert_true(keep(store, 2));
    assert_int_equal(query(world, "SELECT integrity_check = 'ok' FROM pragma_integrity_check(1)"),
                     1);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(cut_while_it_is_mended),
                                       TEST(the_rest_of_a_log_is_older)};
    return cmocka_run_group_tests(tests, count_accesses, NULL);
}
