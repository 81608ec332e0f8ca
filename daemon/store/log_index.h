/**
 * Index of the database's log, berth.db-shm, which SQLite maps to share it with other processes.
 * Private to the store.
 *
 * Truncating that file, or a full disk that cannot fill a hole in it, removes pages from SQLite's
 * mapping. The next access raises SIGBUS, which would end the process. Here the thread gets a page
 * of zeroes instead and continues. SQLite's results are then wrong, so they are ignored
 * (store_log_index_is_lost). No transaction is committed and no row is used. The database is closed
 * without a checkpoint and opened again. The log has all the index's data.
 *
 * store_open handles SIGBUS for the whole process. A SIGBUS elsewhere ends the process as usual: on
 * a thread outside a store, or outside memory shared through a file. A store has no other such
 * memory. Only one process writes to a database; concurrent readers are safe.
 */
#pragma once
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Constant after store_log_index_init, except is_lost, which only the thread inside changes. */
struct store_log_index {
    /* /proc/self/maps, open for use in a signal handler; -1 none: then nothing is repaired */
    int maps;
    volatile sig_atomic_t is_lost;
};

/* Cannot fail. */
void store_log_index_init(struct store_log_index *index);
void store_log_index_done(struct store_log_index *index);

/* Begins, or ends, use of the index by this thread. An index has one thread at a time, a thread one
 * index. */
void store_log_index_enter(struct store_log_index *index);
void store_log_index_leave(void);

/* True when this thread's reads since it entered may be wrong. False on a thread outside. */
bool store_log_index_is_lost(void);

/* Marks the index as lost, before any access has failed. */
void store_log_index_lose(void);

/* True when the database at path has an index shorter than SQLite ever makes it: it was
 * truncated. */
bool store_log_index_is_cut(const char *path);

/* State of a log at the last check; zeroes at first. */
struct store_log {
    uint32_t frames;
    uint8_t salt[8]; /* changes when the log restarts */
};

/* True when the log lacks data that its index refers to: it was truncated. Checks SQLite's recovery
 * data: header and checksums of frames since seen. Updates seen. db has read from the database, in
 * WAL mode. */
bool store_log_is_cut(sqlite3 *db, struct store_log *seen);

/* Returns the last page that must be in the database file; later ones are in the log and not copied
 * yet. Returns 0 when there is none or it is unknown. The connection db has read from the database,
 * in WAL mode. */
int64_t store_log_index_file_pages(sqlite3 *db, int64_t pages);

/* Copies pages from the log into the file, as far as readers allow. Returns false when a page of
 * the file is blank afterwards. Then it was truncated during the copy, unless secure_delete blanked
 * it. db has read from the database, in WAL mode. */
bool store_log_copy(sqlite3 *db);

/* Invalidates the rest of the index for all processes, after this process has closed all its
 * connections to path. The next user rebuilds it from the log, and nothing is lost. */
void store_log_index_renew(const char *path);
