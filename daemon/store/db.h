/**
 * One database file: open, check, migrate and set aside, and conversion of SQLite's errors. Private
 * to the store.
 *
 * Connections have no mutexes of their own: use one from one thread at a time, under the lock of
 * store/core.h.
 */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

/* longest wait for another process' lock */
#define STORE_DB_BUSY_MS 200

/* Opens path (or ":memory:"), creates it with mode 0640, and migrates it to the newest schema, one
 * transaction for each migration. Statements wait busy_ms for another process' lock. Reads only a
 * few pages, for any size. Nothing stays open on failure:
 * - BAD_DATA: corrupt or no database.
 * - UNAVAILABLE: another process holds its lock.
 * - BAD_CONFIG: of a newer version or another program; unchanged.
 * - IO: cannot be read or written, or the disk is full.
 * - NO_MEMORY. */
enum berth_code store_db_open(const char *path, enum store_journal journal, int busy_ms,
                              sqlite3 **ret_db, struct berth_err *err);

/* Opens a file that cannot be written for reading, without lock and log. Returns false when it is
 * not ours, of another version, broken or unreadable, or when its log would be needed. */
bool store_db_open_reader(const char *path, sqlite3 **ret_db);

/* Marks the log's index as lost if it is cut: where the file ends within a page, the rest of that
 * page reads as zeroes without SIGBUS, and so do pages that were cut and added again. SQLite would
 * miss pages that are in the log. Call it after reads that count; commits do. */
void store_db_look(sqlite3 *db);

/* Closes a connection. Leaves the log as it is if the file has another schema version now or lost
 * its index. NULL is fine. */
void store_db_close(sqlite3 *db);

/* True when the file's schema version was changed while open. False also when it cannot be read. */
bool store_db_is_other_version(sqlite3 *db);

/* Renames path and its log to path.corrupt-NOW_S (followed by a number if that exists) and writes
 * the new name to buffer. */
enum berth_code store_db_set_aside(const char *path, int64_t now_s, char *buffer, size_t size,
                                   struct berth_err *err);

/* Sets err from the connection's last error: "doing: SQLite's message". */
enum berth_code store_db_error(sqlite3 *db, const char *doing, struct berth_err *err);

/* True when the file opens and passes SQLite's integrity check; takes seconds for hundreds of
 * megabytes. */
bool store_db_is_whole(const char *path, enum store_journal journal);

/* True for file systems (f_type of statfs) whose locks or shared memory do not work reliably
 * between machines. STORE_JOURNAL_AUTO uses a rollback journal there. Pure. */
bool store_db_is_network(uint32_t kind);

/* True when the file has a rollback journal and is locked for other processes. */
bool store_db_is_exclusive(sqlite3 *db);

/* Returns the first column of the first row; 0 without rows. */
enum berth_code store_db_number(sqlite3 *db, const char *sql, int64_t *ret_number,
                                struct berth_err *err);

/* Runs statements without rows. */
enum berth_code store_db_exec(sqlite3 *db, const char *sql, const char *doing,
                              struct berth_err *err);

/* Chooses a column of series after a new measurement: a missing value does not replace the latest
 * number; see node/values.h. */
#define STORE_NEWER(column)                                                                        \
    "iif(excluded.value IS NULL AND value IS NOT NULL, " column ", excluded." column ")"
