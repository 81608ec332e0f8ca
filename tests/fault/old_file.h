/* Databases as older versions left them: migrated from nothing to a version, with one run that
 * holds one value. */
#pragma once
#include <stdio.h>
#include <unistd.h>

#include "base/embedded.h"
#include "unit/store/store_world.h"

static inline int newest_version(void)
{
    int newest = 0;
    while (embedded_migrations[newest].name != NULL)
        newest++;
    return newest;
}

static inline void old_file(const struct world *world, int version)
{
    static const char run[] =
        "INSERT INTO node VALUES (1, '0123456789abcdef0123456789abcdef', 'n');"
        "INSERT INTO boot VALUES (1, 1, 'b', 1, NULL);"
        "INSERT INTO run VALUES (1, 1, 'cpu', 'cpu', 'quick', 1700000000, 1, 'complete', NULL);"
        "INSERT INTO probe VALUES (1, 'cpu', 1);"
        "INSERT INTO series VALUES (1, 1, 'cpu_pingpong', 'core0', 'core1', '', 1, 50.5, 50.25, "
        "51.0, 9, NULL);"
        "INSERT INTO value VALUES (1, 1, 50.5, 50.25, 51.0, 9);";
    char path[96], set_version[48];
    for (const char *const *suffix = (const char *const[]){"", "-wal", "-shm", NULL};
         *suffix != NULL; suffix++) {
        snprintf(path, sizeof path, "%s%s", world->database, *suffix);
        unlink(path);
    }
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    for (int i = 0; i < version; i++) {
        assert_int_equal(sqlite3_exec(db, embedded_migrations[i].text, NULL, NULL, NULL),
                         SQLITE_OK);
        if (i == 0)
            assert_int_equal(sqlite3_exec(db, run, NULL, NULL, NULL), SQLITE_OK);
    }
    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", version);
    assert_int_equal(sqlite3_exec(db, set_version, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Opened once without a fault, it is at the newest version with all that was in it. */
static inline void assert_migrates_whole(struct world *world)
{
    store_close(opened(world, STORE_OK));
    assert_int_equal(query(world, "PRAGMA user_version"), newest_version());
    assert_int_equal(query(world, "SELECT count(*) FROM history WHERE value = 50.5 AND abs(low - "
                                  "50.25) < 1e-6 AND abs(high - 51) < 1e-6"),
                     1);
    assert_int_equal(
        query(world, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
        1);
    assert_int_equal(query(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}
