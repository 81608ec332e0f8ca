/**
 * Shared parts of the store: the open database, its state, and the sequence of a call. Private to
 * the store.
 *
 * A part of the store is one file, with a header and tables of its own migration. Its public
 * functions have one form:
 *
 *     store_core_lock(store);
 *     enum berth_code code = store_core_ready(store, err);
 *     if (code == BERTH_OK)
 *         code = store_core_transact(store, work, &arg, err);   (or statements that only read)
 *     return store_core_done(store, code);
 *
 * Call the functions below between store_core_lock and store_core_done. Call no public function of
 * the store there, because the lock is taken once. Do nothing slow there except disk access: parse
 * before, build JSON after.
 *
 * A new table needs a row in store/memory_db.c, or it does not survive a full disk. After a failure
 * other than NO_MEMORY the store has changed its place (store_core_done), so the same call works
 * when repeated.
 */
#pragma once
#include <sqlite3.h>

#include "store/members.h"
#include "store/store.h"

/* Begins a call: waits until no other thread is inside. store_core_done ends it. */
void store_core_lock(struct store *store);

/* Ensures that a database is open and has rows of this node and boot. store->graph must be set. */
enum berth_code store_core_ready(struct store *store, struct berth_err *err);

/* Ends a call and returns its code. Sets a broken file aside at once and replaces an unusable file
 * by memory, so that the next call has a working database. No statement may be alive. */
enum berth_code store_core_done(struct store *store, enum berth_code code);

/* Publishes the state for store_state and similar functions. Part of store_core_done. */
void store_core_publish(struct store *store);

/* Runs work in one transaction, all or nothing. */
enum berth_code store_core_transact(struct store *store,
                                    enum berth_code (*work)(struct store *, void *,
                                                            struct berth_err *),
                                    void *arg, struct berth_err *err);

/* Runs work, which only reads, on all written data. That is one database, or, while the file can
 * only be read, the file and then memory. During work, store->node is the node's row in the current
 * one. For tables of measurements; state is in store->db alone. */
enum berth_code store_core_read(struct store *store,
                                enum berth_code (*work)(struct store *, void *, struct berth_err *),
                                void *arg, struct berth_err *err);

/* Sets err from SQLite's last error, and remembers one that means a broken file. */
enum berth_code store_core_fail(struct store *store, const char *doing, struct berth_err *err);

/* Prepares a statement for one call, which ends it (sqlite3_finalize). A call a minute needs no
 * cache. */
enum berth_code store_core_prepare(struct store *store, const char *sql,
                                   sqlite3_stmt **ret_statement, struct berth_err *err);

/* Runs a statement to its end and resets it. *ret_id (NULL is fine) gets the first column of the
 * last row, 0 without rows. */
enum berth_code store_core_step(struct store *store, sqlite3_stmt *statement, const char *doing,
                                int64_t *ret_id, struct berth_err *err);

/* Runs an INSERT and resets it; *ret_id gets the new row's. RETURNING does not exist before SQLite
 * 3.35; RHEL 9 has 3.34. */
enum berth_code store_core_insert(struct store *store, sqlite3_stmt *insert, const char *doing,
                                  int64_t *ret_id, struct berth_err *err);

/* Runs an INSERT ... ON CONFLICT DO UPDATE, then find, a SELECT of that row by its key. */
enum berth_code store_core_upsert(struct store *store, sqlite3_stmt *upsert, sqlite3_stmt *find,
                                  const char *doing, int64_t *ret_id, struct berth_err *err);

/* Steps a statement, as sqlite3_step. Pass results other than SQLITE_ROW and SQLITE_DONE to
 * store_core_fail. */
int store_core_next(sqlite3_stmt *statement);

/* Calls @each for each row of a statement, until it fails, and resets the statement. */
enum berth_code store_core_each(struct store *store, sqlite3_stmt *statement, const char *doing,
                                enum berth_code (*each)(sqlite3_stmt *row, void *arg,
                                                        struct berth_err *err),
                                void *arg, struct berth_err *err);

/* Binds text without copying it; it must live until the statement has run. Binding allocates
 * nothing and cannot fail. */
void store_core_bind_text(sqlite3_stmt *statement, int at, const char *text);
void store_core_bind_number(sqlite3_stmt *statement, int at, double number); /* NAN is NULL */

/* Bind and read the bounds of a value in the format of table value (0002_history.sql). sign: -1 for
 * low, 1 for high. */
void store_core_bind_bound(sqlite3_stmt *statement, int at, double value, double bound, int sign);
double store_core_bound(sqlite3_stmt *row, int at, double value, int sign);

/* Return a column of the current row: NULL is NAN or "". */
double store_core_number(sqlite3_stmt *row, int at);
const char *store_core_text(sqlite3_stmt *row, int at);
/* cut to fit, control characters replaced */
void store_core_copy(sqlite3_stmt *row, int at, char *buffer, size_t size);

/* store/set.c: writes a run's sets on this graph, inside a call's transaction (store/core.h). Fails
 * with BAD_DATA for a set that was not measured. */
enum berth_code store_set_write(struct store *store, const struct graph *graph,
                                const struct sets *sets, struct berth_err *err);
