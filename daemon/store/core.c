#include "store/core.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/file.h"
#include "store/memory_db.h"

enum berth_code store_core_fail(struct store *store, const char *doing, struct berth_err *err)
{
    struct berth_err why = {0};
    store_db_look(store->db);
    if (store_log_index_is_lost()) /* then SQLite's error proves nothing */
        return err_set(err, BERTH_UNAVAILABLE,
                       "%s: somebody has truncated the index of the database's log", doing);
    enum berth_code code = store_db_error(store->db, doing, &why);
    if (code == BERTH_BAD_DATA)
        snprintf(store->how_broken, sizeof store->how_broken, "%s", sqlite3_errmsg(store->db));
    else if (code != BERTH_NO_MEMORY)
        snprintf(store->how_failed, sizeof store->how_failed, "%.127s", why.detail);
    return err_set(err, code, "%s", why.detail);
}

static enum berth_code execute(struct store *store, const char *sql, const char *doing,
                               struct berth_err *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? BERTH_OK
               : store_core_fail(store, doing, err);
}

enum berth_code store_core_prepare(struct store *store, const char *sql,
                                   sqlite3_stmt **ret_statement, struct berth_err *err)
{
    return sqlite3_prepare_v2(store->db, sql, -1, ret_statement, NULL) == SQLITE_OK
               ? BERTH_OK
               : store_core_fail(store, "preparing a statement", err);
}

int store_core_next(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);
    sqlite3 *db = sqlite3_db_handle(statement);
    if (rc == SQLITE_DONE && sqlite3_get_autocommit(db)) /* transactions look as they commit */
        store_db_look(db);
    return store_log_index_is_lost() ? SQLITE_IOERR : rc;
}

enum berth_code store_core_step(struct store *store, sqlite3_stmt *statement, const char *doing,
                                int64_t *ret_id, struct berth_err *err)
{
    int64_t id = 0;
    int rc;
    while ((rc = store_core_next(statement)) == SQLITE_ROW)
        id = sqlite3_column_int64(statement, 0);
    enum berth_code code = rc == SQLITE_DONE ? BERTH_OK : store_core_fail(store, doing, err);
    sqlite3_reset(statement);
    if (code == BERTH_OK && ret_id != NULL)
        *ret_id = id;
    return code;
}

enum berth_code store_core_insert(struct store *store, sqlite3_stmt *insert, const char *doing,
                                  int64_t *ret_id, struct berth_err *err)
{
    enum berth_code code = store_core_step(store, insert, doing, NULL, err);
    if (code == BERTH_OK)
        *ret_id = sqlite3_last_insert_rowid(store->db);
    return code;
}

enum berth_code store_core_upsert(struct store *store, sqlite3_stmt *upsert, sqlite3_stmt *find,
                                  const char *doing, int64_t *ret_id, struct berth_err *err)
{
    enum berth_code code = store_core_step(store, upsert, doing, NULL, err);
    return code == BERTH_OK ? store_core_step(store, find, doing, ret_id, err) : code;
}

enum berth_code store_core_each(struct store *store, sqlite3_stmt *statement, const char *doing,
                                enum berth_code (*each)(sqlite3_stmt *row, void *arg,
                                                        struct berth_err *err),
                                void *arg, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    int rc = SQLITE_DONE;
    while (code == BERTH_OK && (rc = store_core_next(statement)) == SQLITE_ROW)
        code = each(statement, arg, err);
    if (code == BERTH_OK && rc != SQLITE_DONE)
        code = store_core_fail(store, doing, err);
    sqlite3_reset(statement);
    return code;
}

void store_core_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

void store_core_bind_number(sqlite3_stmt *statement, int at, double number)
{
    if (isnan(number))
        sqlite3_bind_null(statement, at);
    else
        sqlite3_bind_double(statement, at, number);
}

#define BOUND_UNIT 1e-9

void store_core_bind_bound(sqlite3_stmt *statement, int at, double value, double bound, int sign)
{
    double share = bound / value;
    if (share >= 0.1 && share <= 3) /* within eight certain digits; false for NAN */
        sqlite3_bind_int64(statement, at,
                           (int64_t)round(sign * (bound - value) / value / BOUND_UNIT));
    else
        store_core_bind_number(statement, at, bound);
}

/* Rounds to the eight digits that BOUND_UNIT keeps, so that a measured 13.2 is 13.2 again. */
static double eight_digits(double number)
{
    if (number == 0 || !isfinite(number))
        return number;
    int digits = 7 - (int)floor(log10(fabs(number)));
    double scale = pow(10, abs(digits));
    return digits >= 0 ? round(number * scale) / scale : round(number / scale) * scale;
}

double store_core_bound(sqlite3_stmt *row, int at, double value, int sign)
{
    if (sqlite3_column_type(row, at) == SQLITE_INTEGER)
        return eight_digits(value +
                            sign * value * (double)sqlite3_column_int64(row, at) * BOUND_UNIT);
    return store_core_number(row, at);
}

double store_core_number(sqlite3_stmt *row, int at)
{
    return sqlite3_column_type(row, at) == SQLITE_NULL ? NAN : sqlite3_column_double(row, at);
}

const char *store_core_text(sqlite3_stmt *row, int at)
{
    const char *text = (const char *)sqlite3_column_text(row, at);
    return text != NULL ? text : "";
}

void store_core_copy(sqlite3_stmt *row, int at, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", store_core_text(row, at));
    text_clean(buffer);
}

enum berth_code store_core_transact(struct store *store,
                                    enum berth_code (*work)(struct store *, void *,
                                                            struct berth_err *),
                                    void *arg, struct berth_err *err)
{
    enum berth_code code = execute(store, "BEGIN IMMEDIATE", "beginning to write", err);
    if (code != BERTH_OK)
        return code;
    store->is_other_version = store_db_is_other_version(store->db);
    if (store->is_other_version)
        code = err_set(err, BERTH_UNAVAILABLE,
                       "somebody has changed the schema version of the database");
    else
        code = work(store, arg, err);
    if (code == BERTH_OK)
        code = execute(store, "COMMIT", "writing", err);
    if (code != BERTH_OK) /* fails if SQLite has already rolled back, as after some errors */
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

/* Sets store->node to the node's row in a file that is only read; 0, which has no data, if it is
 * missing. */
static enum berth_code read_node(struct store *store)
{
    sqlite3_stmt *row = NULL;
    enum berth_code code =
        store_core_prepare(store, "SELECT id FROM node WHERE fingerprint = ?1", &row, NULL);
    if (code == BERTH_OK) {
        store_core_bind_text(row, 1, store->graph->fingerprint);
        code = store_core_step(store, row, "looking for the node", &store->node, NULL);
    }
    sqlite3_finalize(row);
    return code;
}

enum berth_code store_core_read(struct store *store,
                                enum berth_code (*work)(struct store *, void *, struct berth_err *),
                                void *arg, struct berth_err *err)
{
    if (store->file != NULL) { /* an unreadable file only lacks its part of the answer */
        sqlite3 *memory = store->db;
        int64_t node = store->node;
        store->db = store->file;
        enum berth_code code = read_node(store);
        if (code == BERTH_OK)
            code = work(store, arg, NULL);
        store->db = memory;
        store->node = node;
        store->how_broken[0] = store->how_failed[0] = '\0';
        if (code == BERTH_NO_MEMORY)
            return err_set(err, code, "out of memory");
    }
    return work(store, arg, err);
}

static enum berth_code write_boot(struct store *store, void *arg, struct berth_err *err)
{
    (void)arg;
    enum { UPSERT_NODE, FIND_NODE, UPSERT_BOOT, FIND_BOOT, STATEMENTS };
    static const char *const sql[STATEMENTS] = {
        [UPSERT_NODE] = "INSERT INTO node (fingerprint, name) VALUES (?1, ?2)"
                        " ON CONFLICT (fingerprint) DO UPDATE SET name = excluded.name",
        [FIND_NODE] = "SELECT id FROM node WHERE fingerprint = ?1",
        [UPSERT_BOOT] =
            "INSERT INTO boot (node, boot_id, first_seen_s, kernel) VALUES (?1, ?2, ?3, ?4)"
            " ON CONFLICT (node, boot_id) DO UPDATE SET kernel = excluded.kernel",
        [FIND_BOOT] = "SELECT id FROM boot WHERE node = ?1 AND boot_id = ?2",
    };
    const struct graph *graph = store->graph;
    int64_t node = 0, boot = 0;
    sqlite3_stmt *statement[STATEMENTS] = {NULL};
    enum berth_code code = BERTH_OK;
    for (int i = 0; i < STATEMENTS && code == BERTH_OK; i++)
        code = store_core_prepare(store, sql[i], &statement[i], err);
    if (code == BERTH_OK) {
        store_core_bind_text(statement[UPSERT_NODE], 1, graph->fingerprint);
        store_core_bind_text(statement[UPSERT_NODE], 2, graph->name != NULL ? graph->name : "");
        store_core_bind_text(statement[FIND_NODE], 1, graph->fingerprint);
        code = store_core_upsert(store, statement[UPSERT_NODE], statement[FIND_NODE],
                                 "writing the node", &node, err);
    }
    if (code == BERTH_OK) {
        sqlite3_bind_int64(statement[UPSERT_BOOT], 1, node);
        store_core_bind_text(statement[UPSERT_BOOT], 2, store->boot_id);
        sqlite3_bind_int64(statement[UPSERT_BOOT], 3, clock_now_s(&store->clock));
        for (size_t i = 0; i < graph->software_count; i++)
            if (strcmp(graph->software[i].key, "kernel") == 0)
                store_core_bind_text(statement[UPSERT_BOOT], 4, graph->software[i].value);
        sqlite3_bind_int64(statement[FIND_BOOT], 1, node);
        store_core_bind_text(statement[FIND_BOOT], 2, store->boot_id);
        code = store_core_upsert(store, statement[UPSERT_BOOT], statement[FIND_BOOT],
                                 "writing the boot", &boot, err);
    }
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(statement[i]);
    if (code == BERTH_OK) {
        store->node = node;
        store->boot = boot;
    }
    return code;
}

void store_core_lock(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    store_log_index_enter(&store->log_index);
}

enum berth_code store_core_ready(struct store *store, struct berth_err *err)
{
    assert(store->graph != NULL);
    enum berth_code code = store_file_check(store, err);
    /* memory ran out even for the rollback */
    if (code == BERTH_OK && !sqlite3_get_autocommit(store->db))
        code = execute(store, "ROLLBACK", "undoing what failed", err);
    if (code == BERTH_OK && store->state == STORE_MEMORY_ONLY)
        store_memory_db_bound(store->db, STORE_MEMORY_BYTES);
    if (code != BERTH_OK || store->boot != 0)
        return code;
    store->keeping = (struct keeping_state){0}; /* of another file */
    code = store_core_transact(store, write_boot, NULL, err);
    if (code != BERTH_OK)
        store->boot = 0;
    return code;
}

static bool same_note(const struct note *a, const struct note *b)
{
    return a->severity == b->severity && a->since_s == b->since_s &&
           strcmp(a->code, b->code) == 0 && strcmp(a->text, b->text) == 0;
}

void store_core_publish(struct store *store)
{
    bool is_wrong = store->note.code[0] != '\0', was_wrong = store->published.note.code[0] != '\0';
    bool changed = store->state != store->published.state || is_wrong != was_wrong ||
                   (is_wrong && !same_note(&store->note, &store->published.note));
    __atomic_store_n(&store->published.is_unread, store_file_is_unread(store), __ATOMIC_RELEASE);
    __atomic_store_n(&store->published.files, store->files, __ATOMIC_RELEASE);
    if (!changed)
        return;
    store->published.note = store->note;
    __atomic_store_n(&store->published.state, store->state, __ATOMIC_RELEASE);
    __atomic_fetch_add(&store->published.changes, 1, __ATOMIC_RELEASE);
}

enum berth_code store_core_done(struct store *store, enum berth_code code)
{
    uint64_t files = store->files;
    int64_t bytes[STORE_PARTS];
    /* read before the check, so that a later change is seen */
    store_file_sizes(store, bytes);
    store_file_mend(store);
    store->losses = store_log_index_is_lost() ? store->losses + 1 : 0;
    if (store->losses > 0)
        store_file_renew(store);
    if (files != store->files) {
        /* errors of the other file do not apply to this one */
        store->is_other_version = false;
    } else if (store->how_broken[0] != '\0' || store->is_other_version) {
        store_db_close(store->db);
        store->db = NULL;
        store_file_open(store, store->is_other_version ? NULL : store->how_broken, NULL);
        store->is_other_version = false;
    } else if (store->how_failed[0] != '\0' && store->path != NULL &&
               store->state != STORE_MEMORY_ONLY) {
        store_file_leave(store, store->how_failed);
    }
    store->how_broken[0] = store->how_failed[0] = '\0';
    for (size_t i = 0; i < STORE_PARTS; i++)
        __atomic_store_n(&store->published.bytes[i],
                         files == store->files ? bytes[i] : STORE_BYTES_UNKNOWN, __ATOMIC_RELEASE);
    store_core_publish(store);
    store_log_index_leave();
    pthread_mutex_unlock(&store->lock);
    return code;
}
