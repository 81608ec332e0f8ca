/**
 * One database file: opened, checked, migrated, set aside; and SQLite's errors as ours. Private to
 * the store.
 *
 * A connection is opened without SQLite's own mutexes: one thread at a time, which the lock of
 * store/core.h sees to.
 */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

/* Opens path (":memory:" too), creating it with mode 0640, and brings it to the newest schema, each
 * migration in a transaction of its own. Reads a few pages only, whatever the file's size. Nothing
 * stays open on failure: BAD_DATA     SQLite calls it corrupt or no database; UNAVAILABLE  another
 * process holds its lock; BAD_CONFIG   it belongs to a newer version or another program; it was not
 * touched; IO           it cannot be read or written, the disk is full; or NO_MEMORY. */
enum berth_code store_db_open(const char *path, enum store_journal journal, sqlite3 **ret_db,
                              struct berth_err *err);

/* Opens the file for reading alone, without a lock or a log: for one that nobody writes to because
 * it cannot be written to. False when it is not ours, not of this version, broken, not readable, or
 * has a log that would have to be read, too. */
bool store_db_open_reader(const char *path, sqlite3 **ret_db);

/* The log of a file that has another schema version by now, or has lost its index, is left as it
 * is. NULL is fine. */
void store_db_close(sqlite3 *db);

/* Whether somebody has given the file another schema version than ours since it was opened. False
 * also when that cannot be found out. */
bool store_db_is_other_version(sqlite3 *db);

/* Renames path and its log to path.corrupt-NOW_S (with a number behind it when that is taken) and
 * writes the new name to buffer.
 */
enum berth_code store_db_set_aside(const char *path, int64_t now_s, char *buffer, size_t size,
                                   struct berth_err *err);

/* Sets err from the connection's last error: "doing: what SQLite says". */
enum berth_code store_db_error(sqlite3 *db, const char *doing, struct berth_err *err);

/* Whether the file can be opened and SQLite finds nothing wrong in all of it; takes seconds for
 * hundreds of megabytes. */
bool store_db_is_whole(const char *path, enum store_journal journal);

/* Whether the locks or the shared memory of a file system of this kind (f_type of statfs) do not
 * reach, or not reliably, from one machine to another: STORE_JOURNAL_AUTO is a rollback journal
 * there. Pure. */
bool store_db_is_network(uint32_t kind);

/* Whether the file is kept with a rollback journal and locked for others. */
bool store_db_is_exclusive(sqlite3 *db);

/* The first column of the first row, 0 when there is none. */
enum berth_code store_db_number(sqlite3 *db, const char *sql, int64_t *ret_number,
                                struct berth_err *err);

/* Runs statements that give no rows. */
enum berth_code store_db_exec(sqlite3 *db, const char *sql, const char *doing,
                              struct berth_err *err);

/* A column of series after a new measurement: a reason why there is no value stays out of the way
 * of the latest value; see node/values.h. */
#define STORE_NEWER(column)                                                                        \
    "iif(excluded.value IS NULL AND value IS NOT NULL, " column ", excluded." column ")"
