/**
 * The store: every measurement, in one SQLite file. The only door to SQLite.
 *
 * Every function blocks on the disk: call them on a worker thread, one at a time for one store (the scheduler sees
 * to that); store_open and store_load_latest also at start, before the loop runs.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "err.h"
#include "graph.h"
#include "snapshot.h"
#include "values.h"

struct store;

enum store_state { STORE_OK, STORE_MEMORY_ONLY, STORE_SET_ASIDE };

/* One finished probe run, ready to be written. */
struct run {
    char probe[16], backend[16];
    char profile[8];            /* quick, full */
    int64_t started_at_s;
    int64_t elapsed_ns;
    char status[16];            /* complete, cancelled, budget, failed, crashed, timeout, garbage */
    char *conditions;           /* owned JSON object text; NULL none */
    struct values *values;      /* owned; unfinished is fine */
    struct note *notes;         /* owned: what went wrong */
    size_t note_count;
};
void run_done(struct run *run); /* frees what it owns, not the struct */

/* Opens or creates directory/berth.db (mode 0640), WAL, foreign keys on, and migrates it to the newest schema in one transaction.
 * A file that SQLite calls corrupt or no database is renamed berth.db.corrupt-<unix time> and a fresh one begun: state SET_ASIDE. A schema
 * newer than ours, a directory that cannot be written or a disk that is full: state MEMORY_ONLY with a note, served from an in-memory database,
 * the file untouched. directory NULL means memory only, without a note. Fails only with NO_MEMORY. */
enum berth_code store_open(const char *directory, const struct clock *clock, struct store **ret_store, struct berth_err *err);
void store_close(struct store *store); /* NULL is fine */

enum store_state store_state(const struct store *store);
const char *store_state_name(enum store_state state); /* ok, memory_only, set_aside: the wire's names */
const struct note *store_note(const struct store *store); /* NULL when all is well */

/* The node of this graph (by fingerprint) and this boot (by the kernel's boot id) are noted and become the ones that runs belong to. */
enum berth_code store_begin(struct store *store, const struct graph *graph, const char *boot_id, struct berth_err *err);

/* Writes a run in one transaction; all of it or nothing. ret_run gets its id. */
enum berth_code store_write_run(struct store *store, const struct graph *graph, const struct run *run, int64_t *ret_run, struct berth_err *err);

/* The latest value of every series of this node into values (finished afterwards by the caller), the notes of each probe's
 * latest run, and when that run started. Places the graph no longer has are left out. */
enum berth_code store_load_latest(struct store *store, const struct graph *graph, struct values *values, struct note **ret_notes,
                                  size_t *ret_note_count, int64_t *ret_last_probe_at_s, struct berth_err *err);
