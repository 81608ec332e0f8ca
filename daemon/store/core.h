/**
 * What the parts of the store share: the open database, its state, and how a call uses it. Private
 * to the store.
 *
 * A part is a file a file of this folder with store_X.h, over tables of its own migration. Each of
 * its public functions has one shape:
 *
 *     store_core_lock(store);
 *     enum berth_code code = store_core_ready(store, err);
 *     if (code == BERTH_OK)
 *         code = store_core_transact(store, work, &arg, err);   (or statements that only read)
 *     return store_core_done(store, code);
 *
 * Every function below but store_core_lock is called between the two ends of that. No public
 * function of the store is called inside: the lock is taken once. Nothing slow but the disk happens
 * inside: parse before, build JSON after.
 *
 * A new table needs a row in store/carry.c, or it does not survive a full disk. A call that fails
 * with anything but NO_MEMORY has made the store change places (store_core_done): called once more,
 * it works.
 */
#pragma once
#include <sqlite3.h>

#include "store/inner.h"
#include "store/store.h"

/* Enters: waits until no other thread is inside. store_core_done leaves. */
void store_core_lock(struct store *store);

/* A database is open, and the rows of this node and boot are in it. store->graph must be set. */
enum berth_code store_core_ready(struct store *store, struct berth_err *err);

/* Leaves a call that comes to code, which it returns: a file that proved broken is set aside at
 * once, and one that cannot be used is left for memory, so that the next call finds a database that
 * works. No statement may be alive. */
enum berth_code store_core_done(struct store *store, enum berth_code code);

/* What store_state and the like say from now on is what is so. Part of store_core_done. */
void store_core_tell(struct store *store);

/* work in one transaction, all of it or nothing. */
enum berth_code store_core_transact(struct store *store,
                                    enum berth_code (*work)(struct store *, void *,
                                                            struct berth_err *),
                                    void *arg, struct berth_err *err);

/* work, which only reads, on all that has been written: once, or, while the file can only be read,
 * on the file and then on what memory has beside it. store->node is the row of the node in the one
 * it is at. For tables of measurements; what is state is in store->db alone. */
enum berth_code store_core_read(struct store *store,
                                enum berth_code (*work)(struct store *, void *, struct berth_err *),
                                void *arg, struct berth_err *err);

/* SQLite's last error as ours, remembered when it means that the file is broken. */
enum berth_code store_core_fail(struct store *store, const char *doing, struct berth_err *err);

/* Statements are made for one call and end with it (sqlite3_finalize): a call a minute needs no
 * cache. */
enum berth_code store_core_prepare(struct store *store, const char *sql,
                                   sqlite3_stmt **ret_statement, struct berth_err *err);

/* Runs a statement to its end and makes it ready for the next time. ret_id (NULL fine) gets the
 * first column of its last row, 0 when it has none. */
enum berth_code store_core_step(struct store *store, sqlite3_stmt *statement, const char *doing,
                                int64_t *ret_id, struct berth_err *err);

/* sqlite3_step, for whoever goes through the rows himself. Anything but SQLITE_ROW and SQLITE_DONE
 * is for store_core_fail. */
int store_core_next(sqlite3_stmt *statement);

/* Hands each row of a statement to take, as long as that is BERTH_OK, and makes it ready for the
 * next time. */
enum berth_code store_core_each(struct store *store, sqlite3_stmt *statement, const char *doing,
                                enum berth_code (*take)(sqlite3_stmt *row, void *arg,
                                                        struct berth_err *err),
                                void *arg, struct berth_err *err);

/* Text is not copied and must live until the statement has run. Binding allocates nothing and
 * cannot fail. */
void store_core_bind_text(sqlite3_stmt *statement, int at, const char *text);
void store_core_bind_number(sqlite3_stmt *statement, int at, double number); /* NAN is NULL */

/* The bounds of a value as the table value has them, see 0002_history.sql: sign is -1 for low and 1
 * for high. */
void store_core_bind_bound(sqlite3_stmt *statement, int at, double value, double bound, int sign);
double store_core_bound(sqlite3_stmt *row, int at, double value, int sign);

/* A column of the present row: NULL is NAN, NULL is "". */
double store_core_number(sqlite3_stmt *row, int at);
const char *store_core_text(sqlite3_stmt *row, int at);
/* cut to fit, and cleaned */
void store_core_copy(sqlite3_stmt *row, int at, char *buffer, size_t size);
