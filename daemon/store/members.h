/**
 * Members of a store. Private to the store; its parts use them through store/core.h.
 *
 * Invariants between calls:
 * 1. db is open, unless memory ran out when it was reopened.
 * 2. No statement is alive and no transaction open, unless memory ran out during a rollback.
 * 3. boot is 0 or the row in db of this graph's node and this boot.
 * 4. state is STORE_MEMORY_ONLY exactly when db is in memory.
 * 5. how_broken and how_failed are empty, is_other_version is false.
 * 6. file is NULL unless db is in memory.
 */
#pragma once
#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "store/db.h"
#include "store/log_index.h"

/* Progress of store_retention. Starting again, as after a restart, is harmless. */
struct keeping_state {
    /* day being thinned, and its last finished series; 0 none */
    int64_t day, series;
    /* runs being settled: started before before_s, ids up to run; last finished series, 0 none */
    int64_t before_s, run, settled;
};

/* size and inode of the database, its log, and the log's index */
#define STORE_PARTS 6

struct store {
    pthread_mutex_t lock; /* held during each call; path and clock are constant */
    struct store_log_index log_index;
    sqlite3 *db;
    sqlite3 *file; /* while db is in memory: the file, for reading; NULL if not readable */
    char *path;    /* NULL: memory only by choice */
    enum store_journal journal;
    struct clock clock;
    enum store_state state;
    struct note note;   /* code "" when all is well */
    uint64_t files;     /* number of changes of db */
    unsigned losses;    /* calls in a row, up to the last one, that lost the log's index */
    struct {            /* log and index when first seen beside db */
        uint64_t files; /* number of that database; another number: unknown */
        dev_t device[2];
        ino_t inode[2];
    } first;
    struct store_log log; /* state at the last check; zeroes unknown */
    struct {              /* for callers that do not wait: written with the lock, read without */
        enum store_state state;
        bool is_unread;
        uint64_t changes, files;
        int64_t bytes[STORE_PARTS]; /* after the last call; STORE_BYTES_UNKNOWN */
        struct note note;           /* with the lock only */
    } published;
    const struct graph *graph;
    char boot_id[40];
    int64_t node, boot; /* rows */
    struct keeping_state keeping;
    bool is_other_version; /* found in the current call */
    bool is_retry;         /* the current call waits for no other process' lock */
    bool has_state;        /* while db is in memory: it got the file's state */
    /* SQLite's error in the current call that makes the file unusable now; "" none */
    char how_failed[128];
    /* SQLite's error in the current call that means a broken file; "" none */
    char how_broken[128];
};
