/**
 * Folder daemon/store: the store: measurements, claims, baselines and findings in one SQLite file;
 *   the only door to SQLite.
 *
 * Main types: struct store, struct run.
 * Uses: base node claim health
 * Public headers: baseline.h claim.h expected_place.h finding.h history.h retention.h store.h
 * Shown by: tests/unit/store, tests/fault
 *
 * The store: every measurement, in one SQLite file.
 *
 * Threads: any number may use one store; a lock admits one at a time. Every function blocks on the
 * disk and on the lock, store_note too. Call them on a worker thread, or at start, before the loop
 * runs. store_state, store_is_unread, store_changes, store_files and store_is_sole_writer do not
 * block. Only store_open and store_close need exclusive access.
 *
 * If the schema version is changed while the file is in use, the store treats the file before its
 * next write as store_open would.
 *
 * A call that fails has written nothing. NO_MEMORY: try again later. With any other code the store
 * has changed its place, state and note during the call, so the same call works when repeated:
 * - BAD_DATA: the file was broken, is set aside, and a new one begun.
 * - UNAVAILABLE (another process holds the lock) and IO (the disk is full or fails): the store
 *   continues in memory, within a bound. store_retry moves that data into the file. Until then the
 *   file is read if possible.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "node/graph.h"
#include "node/sets.h"
#include "node/snapshot.h"
#include "node/values.h"

struct store;

enum store_state { STORE_OK, STORE_MEMORY_ONLY, STORE_SET_ASIDE };

/* Journal of SQLite's transactions. WAL: a log beside the file; others may read during a write.
 * ROLLBACK: a rollback journal, and the file locked while the store is open, which is reliable on a
 * network file system. AUTO: ROLLBACK there, WAL elsewhere. */
enum store_journal { STORE_JOURNAL_AUTO, STORE_JOURNAL_WAL, STORE_JOURNAL_ROLLBACK };

/* One finished probe run, ready to be written. */
struct run {
    char probe[16], backend[16];
    char profile[8]; /* quick, full */
    int64_t started_at_s;
    int64_t elapsed_ns;
    /* complete, cancelled, budget, failed, crashed, timeout, garbage; put-off: nothing was
     * started */
    char status[16];
    /* limited to some metrics or places: findings of earlier runs elsewhere remain */
    bool is_partial;
    bool is_background; /* partial, begun by the daemon: it ends no note of cells that it lacks */
    bool is_beside;     /* of GPUs that nobody used, beside a job: no baseline learns from it */
    char *conditions;   /* owned JSON object text; NULL none */
    /* owned, measured ones only; NULL none; store_write_run finishes them */
    struct values *values;
    struct sets *sets;  /* owned, measured ones only; NULL none */
    struct note *notes; /* owned: failures and remarks */
    size_t note_count;
};
void run_done(struct run *run); /* frees its contents, not the struct */

/* Opens or creates directory/berth.db (mode 0640; WAL or journal; foreign keys on) and migrates it
 * to the newest schema. Creates the directory (0750) if its parent exists. Takes a few ms for any
 * size of the file.
 * - STORE_SET_ASIDE: SQLite calls the file corrupt or no database, or its tables differ from its
 *   schema version. It is renamed berth.db.corrupt-<unix time> and a new one begun. The state lasts
 *   while the renamed file exists, for 30 days at most, also after restarts.
 * - STORE_MEMORY_ONLY, with a note: a newer schema, another program's database, a directory that
 *   cannot be written, a full disk or a held lock. A database in memory serves; the file stays
 *   unchanged, until store_retry can use it. directory NULL means memory only, without a note.
 *
 * Fails only with NO_MEMORY. */
enum berth_code store_open(const char *directory, const struct clock *clock,
                           struct store **ret_store, struct berth_err *err);
enum berth_code store_open_as(const char *directory, enum store_journal journal,
                              const struct clock *clock, struct store **ret_store,
                              struct berth_err *err);
void store_close(struct store *store); /* NULL is fine; calls store_retry first */

/* Returns to the file with all data written meanwhile, if the store is memory only (not by choice)
 * and the file can be used. Returns false when it cannot yet. Cheap when there is nothing to do.
 * waits: for another process' lock, a moment. Other callers wait for this call. */
bool store_retry(struct store *store, bool waits);

/* Checks the file as every call does first: its existence, and that of a set-aside file. */
void store_check(struct store *store);

/* True when files and sizes are those after the last call, so that only the store has written to
 * them. Takes no lock and three lstat(2). False, without these, in memory and with a rollback
 * journal, whose file system may be a network's. */
bool store_is_sole_writer(const struct store *store);

enum store_state store_state(const struct store *store); /* after the last call */

/* Returns true when the store is in memory without the file's state, because the file could not be
 * read. The state is that after the last call. */
bool store_is_unread(const struct store *store);

/* Counts changes of the store's state or note. A caller that displays them reads them again when
 * this number grows. */
uint64_t store_changes(const struct store *store);

/* Grows whenever the store has changed to another database: a new one, a replacement at its place,
 * memory, or the file again. Earlier writes may not be in it. Read it before and after a write: if
 * it is the same, the data is in the current database. */
uint64_t store_files(const struct store *store);

/* wire names: ok, memory_only, set_aside */
const char *store_state_name(enum store_state state);

/* Copies the note on the store's problem; returns false when all is well. */
bool store_note(struct store *store, struct note *ret_note);

/* Stores the node of this graph (by fingerprint) and this boot (by the kernel's boot id); later
 * runs belong to them. Keeps a reference to graph. Call it before the two functions below; if it
 * fails, they try again. */
enum berth_code store_begin(struct store *store, const struct graph *graph, const char *boot_id,
                            struct berth_err *err);

/* Writes a run in one transaction, all or nothing; into memory when the file fails. Opens or begins
 * a deleted or replaced file anew first, with a note. *ret_run gets its id. Stores a NAN as a skip
 * with its why_not, as the latest of its series. Fails with BAD_DATA also when values has one that
 * was not measured; no file is set aside then. */
enum berth_code store_write_run(struct store *store, const struct graph *graph,
                                const struct run *run, int64_t *ret_run, struct berth_err *err);

/* Adds the latest value of every series of this node to values, which the caller finishes. Returns
 * the notes of each probe's latest run (the caller frees them) and the start of the latest run (0
 * never). Leaves out places that graph lacks. After a failure values may be incomplete, but not
 * wrong. */
enum berth_code store_load_latest(struct store *store, const struct graph *graph,
                                  struct values *values, struct note **ret_notes,
                                  size_t *ret_note_count, int64_t *ret_last_probe_at_s,
                                  struct berth_err *err);

/* Returns the newest launch shapes of each model and memory (node/tuning.h) among the latest GPU
 * probe runs. NULL, and OK, when there is none; otherwise the caller frees it. */
enum berth_code store_load_shapes(struct store *store, char **ret_shapes, struct berth_err *err);

/* store/set.c: adds the latest measurement of each set (transfers measured at the same time) of
 * this node, except sets with a place that graph lacks. Blocks on the disk; fails as
 * store_load_latest. */
enum berth_code store_set_load(struct store *store, const struct graph *graph, struct sets *sets,
                               struct berth_err *err);
