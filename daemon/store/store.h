/**
 * Folder daemon/store: the store: measurements, claims, baselines and findings in one SQLite file;
 *   the only door to SQLite.
 *
 * Main types: struct store, struct run.
 * Uses: base node claim health
 * Public headers: baseline.h claim.h finding.h history.h retention.h place.h set.h store.h
 * Shown by: tests/unit/store, tests/fault
 *
 * The store: every measurement, in one SQLite file. The only door to SQLite.
 *
 * Threads: any number may call for one store, a lock inside lets in one at a time. Every function
 * blocks, on the disk and on whoever is inside, store_note too: call them on a worker thread, or at
 * start, before the loop runs. store_state, store_changes, store_files and store_is_as_left do not
 * block. Only store_open and store_close must have the store for themselves.
 *
 * A schema version that somebody changes while the file is in use ends that use before the next
 * write, as at store_open.
 *
 * A call that fails has written nothing. NO_MEMORY: try again later. With any other code the store
 * has changed its place during the call, and state and note with it, so that the same call made
 * once more works: BAD_DATA the file proved broken, was set aside, and a fresh one begun;
 * UNAVAILABLE (another process holds the lock) and IO (the disk is full or refuses): the store goes
 * on in memory, within a bound, and store_retry brings what was written there into the file.
 * Meanwhile the file, when it still can be, is read.
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

/* How SQLite makes a transaction whole. WAL: with a log beside the file; others may read while we
 * write. ROLLBACK: with a rollback journal and the file locked for as long as the store is open,
 * which is what holds on a network file system. AUTO: ROLLBACK there, WAL elsewhere. */
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
    /* asked for some metrics or places only: what an earlier run found wrong elsewhere stands */
    bool is_partial;
    char *conditions; /* owned JSON object text; NULL none */
    /* owned, measured ones only; NULL none; store_write_run finishes them */
    struct values *values;
    struct sets *sets;  /* owned, measured ones only; NULL none */
    struct note *notes; /* owned: what went wrong */
    size_t note_count;
};
void run_done(struct run *run); /* frees what it owns, not the struct */

/* Opens or creates directory/berth.db (mode 0640), WAL, foreign keys on, and migrates it to the
 * newest schema; the directory is created (0750) if its parent is there. Takes a few ms whatever
 * the size of the file. A file that SQLite calls corrupt or no database, or whose tables are not
 * those of its schema version, is renamed berth.db.corrupt-<unix time> and a fresh one begun: state
 * SET_ASIDE, for as long as the renamed file lies there, 30 days at most, restarts included. A
 * schema newer than ours, another program's database, a directory that cannot be written, a disk
 * that is full or a lock that somebody holds: state MEMORY_ONLY with a note, served from an
 * in-memory database, the file untouched, until store_retry finds it well. directory NULL means
 * memory only, without a note. Fails only with NO_MEMORY. */
enum berth_code store_open(const char *directory, const struct clock *clock,
                           struct store **ret_store, struct berth_err *err);
enum berth_code store_open_as(const char *directory, enum store_journal journal,
                              const struct clock *clock, struct store **ret_store,
                              struct berth_err *err);
void store_close(struct store *store); /* NULL is fine; a last store_retry comes first */

/* Goes back to the file, with all that was written meanwhile, if the store is memory only (not by
 * choice) and the file can be used. False: it cannot yet. Cheap when there is nothing to do. */
bool store_retry(struct store *store);

/* Looks after the file as any other call does first: whether it is still there, and what was set
 * aside still beside it. */
void store_look(struct store *store);

/* Whether the files are those that the last call left, with the same sizes: then only the store
 * itself has written to them. Takes no lock and three lstat(2); false, without them, in memory, and
 * with a rollback journal, whose file system may be a network's. */
bool store_is_as_left(const struct store *store);

enum store_state store_state(const struct store *store); /* as the last call left it */

/* Counts the calls that changed the store's state or note. A caller that displays them reads them
 * again when this number grows. */
uint64_t store_changes(const struct store *store);

/* Grows whenever the store has begun to write to another database: one made anew, what lies at its
 * place now, memory, or the file again. What was written before may not be in it. Ask before
 * writing: when it is still the same afterwards, what was written is where the store is. */
uint64_t store_files(const struct store *store);

/* ok, memory_only, set_aside: the wire's names */
const char *store_state_name(enum store_state state);

/* A copy of what is wrong with the store; false, and nothing, when all is well. */
bool store_note(struct store *store, struct note *ret_note);

/* The node of this graph (by fingerprint) and this boot (by the kernel's boot id) are noted and
 * become the ones that runs belong to. Keeps a reference to graph. Comes before the two calls
 * below; when it fails they try again what it could not do. */
enum berth_code store_begin(struct store *store, const struct graph *graph, const char *boot_id,
                            struct berth_err *err);

/* Writes a run in one transaction; all of it or nothing. When the file fails, into memory, in the
 * same call. A file that was deleted or replaced is opened, or begun, anew first, with a note.
 * ret_run gets its id. A value that is NAN is kept as a skip with its why_not, and is the
 * latest of its series like any other. Fails with BAD_DATA also when values holds one that was not
 * measured; no file is set aside then. */
enum berth_code store_write_run(struct store *store, const struct graph *graph,
                                const struct run *run, int64_t *ret_run, struct berth_err *err);

/* The latest value of every series of this node into values (finished afterwards by the caller),
 * the notes of each probe's latest run (the caller frees them), and when the latest run started (0
 * never). Places the graph no longer has are left out. After a failure values may hold a part; what
 * it holds is right. */
enum berth_code store_load_latest(struct store *store, const struct graph *graph,
                                  struct values *values, struct note **ret_notes,
                                  size_t *ret_note_count, int64_t *ret_last_probe_at_s,
                                  struct berth_err *err);

/* The condition "shapes" of the newest of the GPU probe's runs that has it: how kernels are
 * launched best, in the probe's own words, which name the models and the driver that it is true of.
 * NULL, and OK, when there is none; else the caller frees it. */
enum berth_code store_load_shapes(struct store *store, char **ret_shapes, struct berth_err *err);
