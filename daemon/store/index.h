/**
 * The index of the database's log, berth.db-shm, which SQLite maps into memory to share it with
 * other processes. Private to the store.
 *
 * Whoever truncates that file takes the memory away from under SQLite, and so does a full disk that
 * cannot fill a hole in it: the next look raises SIGBUS, which would end the process. Here the
 * thread that was struck gets a page of zeroes in the place of the one that is gone, and goes on.
 * What SQLite then finds is wrong, so from there on nothing counts (store_index_is_lost): no
 * transaction is committed, no row is believed, and the database is closed without a checkpoint and
 * opened anew before it is used again. The log has everything that the index had.
 *
 * store_open makes SIGBUS of the whole process ours. One that strikes elsewhere ends the process as
 * ever: on a thread that is not inside a store, or outside of memory that is shared through a file,
 * of which a store has none but indexes. A database has one process that writes to it: others that
 * read are safe.
 */
#pragma once
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Constant after store_index_init but for is_lost, which only the thread that is inside changes. */
struct store_index {
    /* this process's list of mappings, to be read while nothing else can be done; -1 none: then
     * nothing is mended */
    int maps;
    volatile sig_atomic_t is_lost;
};

/* Cannot fail. */
void store_index_init(struct store_index *index);
void store_index_done(struct store_index *index);

/* This thread begins, or ends, to use what belongs to index: one thread at a time for an index, one
 * index at a time for a thread. */
void store_index_enter(struct store_index *index);
void store_index_leave(void);

/* Whether what this thread has read since it entered may be wrong. False on a thread that is not
 * inside. */
bool store_index_is_lost(void);

/* From here on it may. For an index that was found cut before anything fell into the gap. */
void store_index_lose(void);

/* Whether there is an index beside the database at path that is shorter than SQLite ever makes it,
 * so that it was truncated. */
bool store_index_is_cut(const char *path);

/* What a log had when it was last looked at; zeroes at first. */
struct store_log {
    uint32_t frames;
    uint8_t salt[8]; /* another one when the log has begun anew */
};

/* Whether the log lacks something that its index has, so that somebody truncated it: what SQLite
 * would not find in it after a kill, by its header and the sums of the frames since seen. seen is
 * then what it has. db has read from the database, in WAL mode. */
bool store_index_log_is_cut(sqlite3 *db, struct store_log *seen);

/* The last one of the database's pages that has to be in its file: those behind it are in the log,
 * from where they are still to be copied. 0 when there is none, or that cannot be found out. db has
 * read from the database, in WAL mode. */
int64_t store_index_file_pages(sqlite3 *db, int64_t pages);

/* Copies into the file what the log alone has, as far as readers allow. False when a page of the
 * file is blank afterwards: then somebody has truncated it meanwhile, unless secure_delete blanked
 * it. db has read from the database, in WAL mode. */
bool store_index_copy_log(sqlite3 *db);

/* After every connection of this process to the database at path is closed: what is left of its
 * index is made invalid for everybody, so that whoever looks next makes it anew from the log, and
 * nothing is lost any more. */
void store_index_renew(const char *path);
