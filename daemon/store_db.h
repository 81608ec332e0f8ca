/**
 * One database file: opened, checked, migrated, set aside; and SQLite's errors as ours. Private to the store.
 *
 * A connection is opened without SQLite's own mutexes: one thread at a time, which the lock of store_core.h sees to.
 */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Opens path (":memory:" too), creating it with mode 0640, and brings it to the newest schema, each migration in a transaction of
 * its own. Reads a few pages only, whatever the file's size. Nothing stays open on failure: BAD_DATA     SQLite calls it corrupt
 * or no database; UNAVAILABLE  another process holds its lock; BAD_CONFIG   it belongs to a newer version or another program; it
 * was not touched; IO           it cannot be read or written, the disk is full; or NO_MEMORY. */
enum berth_code store_db_open(const char *path, sqlite3 **ret_db, struct berth_err *err);
void store_db_close(sqlite3 *db); /* NULL is fine */

/* Renames path and its log to path.corrupt-NOW_S (with a number behind it when that is taken) and writes the new name to buffer.
 */
enum berth_code store_db_set_aside(const char *path, int64_t now_s, char *buffer, size_t size, struct berth_err *err);

/* Sets err from the connection's last error: "doing: what SQLite says". */
enum berth_code store_db_error(sqlite3 *db, const char *doing, struct berth_err *err);

/* Whether the file can be opened and SQLite finds nothing wrong in all of it; takes seconds for hundreds of megabytes. */
bool store_db_is_whole(const char *path);

/* Whether the connection's last error means that the file is broken. */
bool store_db_is_broken(sqlite3 *db);

/* Runs statements that give no rows. */
enum berth_code store_db_exec(sqlite3 *db, const char *sql, const char *doing, struct berth_err *err);
