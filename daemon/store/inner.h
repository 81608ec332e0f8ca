/**
 * What a store is made of. Private to the store; its parts come to it through store/core.h.
 *
 * Invariants, between calls: (1) db is open unless memory ran out when it had to be opened anew;
 * (2) no statement is alive and no transaction is open, unless memory ran out when it had to be
 * rolled back; (3) boot is 0 or the row in db of this graph's node and this boot; (4) state is
 * STORE_MEMORY_ONLY exactly when db is in memory; (5) how_broken and how_failed are empty,
 * is_other_version is false; (6) file is NULL unless db is in memory.
 */
#pragma once
#include <pthread.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "store/db.h"
#include "store/index.h"

/* How far store_retention has come. Beginning anew, as after a restart, does no harm. */
struct keeping_state {
    /* the day that is being thinned, and the last series that is done, 0 none */
    int64_t day, series;
    /* the runs that are being settled: started before and not after this one; the last series, 0
     * none */
    int64_t before_s, run, settled;
};

/* the bytes and the inodes of the database, its log, and the log's index */
#define STORE_PARTS 6

struct store {
    pthread_mutex_t lock; /* held for the length of each call; path and clock are constant */
    struct store_index index;
    sqlite3 *db;
    sqlite3 *file; /* while db is in memory: the file, for reading; NULL when it cannot be */
    char *path;    /* NULL: memory only by choice */
    enum store_journal journal;
    struct clock clock;
    enum store_state state;
    struct note note;   /* code "" when all is well */
    uint64_t files;     /* how often db became another one */
    struct {            /* log and index, as they were first seen beside db */
        uint64_t files; /* the number of that database; another one means not known */
        dev_t device[2];
        ino_t inode[2];
    } seen;
    struct store_log log; /* as it was when last looked at; zeroes while not known */
    struct {              /* for those who do not wait: written with the lock held, read without */
        enum store_state state;
        uint64_t changes, files;
        int64_t bytes[STORE_PARTS]; /* as the last call left them; STORE_BYTES_UNKNOWN */
        struct note note;           /* with the lock only */
    } told;
    const struct graph *graph;
    char boot_id[40];
    int64_t node, boot; /* rows */
    struct keeping_state keeping;
    bool is_other_version; /* found so in the call under way */
    bool has_state;        /* while db is in memory: it was given the file's state */
    /* what SQLite said in the call under way that means that the file cannot be used now; ""
     * nothing */
    char how_failed[128];
    /* what SQLite said in the call under way that means a broken file; "" nothing */
    char how_broken[128];
};
