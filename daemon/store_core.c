#include "store_core.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_db.h"

__attribute__((format(printf, 3, 4))) static void set_note(struct store *store, const char *code, const char *format, ...)
{
    va_list args;
    store->note = (struct note){.severity = 1, .place = "machine0", .since_s = clock_now_s(&store->clock)};
    snprintf(store->note.code, sizeof store->note.code, "%s", code);
    va_start(args, format);
    vsnprintf(store->note.text, sizeof store->note.text, format, args);
    va_end(args);
}

/* SQLite also calls a file malformed when one read of it failed (EIO), so it is looked at a second time before it is believed. */
static enum berth_code open_file(struct store *store, const char *how_broken, struct berth_err *why)
{
    if (how_broken != NULL && !store_db_is_whole(store->path))
        return err_set(why, BERTH_BAD_DATA, "%s", how_broken);
    struct berth_err first = {0};
    if (store_db_open(store->path, &store->db, &first) == BERTH_OK)
        return BERTH_OK;
    return first.code == BERTH_BAD_DATA ? store_db_open(store->path, &store->db, why) : err_set(why, first.code, "%s", first.detail);
}

enum berth_code store_core_open(struct store *store, const char *how_broken, struct berth_err *err)
{
    struct berth_err why = {0};
    char aside[4096] = "";
    store->boot = 0;
    store->note.code[0] = '\0';
    if (store->path != NULL) {
        enum berth_code code = open_file(store, how_broken, &why);
        if (code == BERTH_BAD_DATA) {
            char broken[sizeof why.detail];
            memcpy(broken, why.detail, sizeof broken);
            why = (struct berth_err){0};
            code = store_db_set_aside(store->path, clock_now_s(&store->clock), aside, sizeof aside, &why);
            if (code == BERTH_OK)
                code = store_db_open(store->path, &store->db, &why);
            if (code == BERTH_OK) {
                store->state = STORE_SET_ASIDE;
                set_note(store, "store-set-aside", "the database was broken (%.100s) and is now %.60s; history begins anew",
                         broken, strrchr(aside, '/') + 1);
                return BERTH_OK;
            }
        }
        if (code == BERTH_OK) {
            store->state = STORE_OK;
            return BERTH_OK;
        }
        if (code == BERTH_NO_MEMORY)
            return err_set(err, BERTH_NO_MEMORY, "%s", why.detail);
        set_note(store, "store-memory-only", "measurements are kept in memory only, berth.db cannot be used: %.160s", why.detail);
    }
    store->state = STORE_MEMORY_ONLY;
    return store_db_open(":memory:", &store->db, err);
}

enum berth_code store_core_fail(struct store *store, const char *doing, struct berth_err *err)
{
    if (store_db_is_broken(store->db))
        snprintf(store->how_broken, sizeof store->how_broken, "%s", sqlite3_errmsg(store->db));
    return store_db_error(store->db, doing, err);
}

static enum berth_code execute(struct store *store, const char *sql, const char *doing, struct berth_err *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? BERTH_OK : store_core_fail(store, doing, err);
}

enum berth_code store_core_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement, struct berth_err *err)
{
    return sqlite3_prepare_v2(store->db, sql, -1, ret_statement, NULL) == SQLITE_OK
               ? BERTH_OK
               : store_core_fail(store, "preparing a statement", err);
}

enum berth_code store_core_step(struct store *store, sqlite3_stmt *statement, const char *doing, int64_t *ret_id,
                                struct berth_err *err)
{
    int64_t id = 0;
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
        id = sqlite3_column_int64(statement, 0);
    enum berth_code code = rc == SQLITE_DONE ? BERTH_OK : store_core_fail(store, doing, err);
    sqlite3_reset(statement);
    if (code == BERTH_OK && ret_id != NULL)
        *ret_id = id;
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
    if (share >= 0.1 && share <= 3) /* where eight digits stay certain; false for NAN */
        sqlite3_bind_int64(statement, at, (int64_t)round(sign * (bound - value) / value / BOUND_UNIT));
    else
        store_core_bind_number(statement, at, bound);
}

/* A bound has the eight digits that BOUND_UNIT leaves certain, so that what was measured as 13.2 is 13.2 again. */
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
        return eight_digits(value + sign * value * (double)sqlite3_column_int64(row, at) * BOUND_UNIT);
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

enum berth_code store_core_transact(struct store *store, enum berth_code (*work)(struct store *, void *, struct berth_err *),
                                    void *arg, struct berth_err *err)
{
    enum berth_code code = execute(store, "BEGIN IMMEDIATE", "beginning to write", err);
    if (code != BERTH_OK)
        return code;
    code = work(store, arg, err);
    if (code == BERTH_OK)
        code = execute(store, "COMMIT", "writing", err);
    if (code != BERTH_OK) /* after some errors SQLite has rolled back itself, and this one fails */
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

enum berth_code store_core_read(struct store *store, enum berth_code (*work)(struct store *, void *, struct berth_err *), void *arg,
                                struct berth_err *err)
{
    return work(store, arg, err);
}

static enum berth_code write_boot(struct store *store, void *arg, struct berth_err *err)
{
    (void)arg;
    const struct graph *graph = store->graph;
    int64_t node = 0, boot = 0;
    sqlite3_stmt *insert_node = NULL, *insert_boot = NULL;
    enum berth_code code = store_core_prepare(store,
                                              "INSERT INTO node (fingerprint, name) VALUES (?1, ?2)"
                                              " ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id",
                                              &insert_node, err);
    if (code == BERTH_OK)
        code = store_core_prepare(store,
                                  "INSERT INTO boot (node, boot_id, first_seen_s, kernel) VALUES (?1, ?2, ?3, ?4)"
                                  " ON CONFLICT DO UPDATE SET kernel = excluded.kernel RETURNING id",
                                  &insert_boot, err);
    if (code == BERTH_OK) {
        store_core_bind_text(insert_node, 1, graph->fingerprint);
        store_core_bind_text(insert_node, 2, graph->name != NULL ? graph->name : "");
        code = store_core_step(store, insert_node, "writing the node", &node, err);
    }
    if (code == BERTH_OK) {
        sqlite3_bind_int64(insert_boot, 1, node);
        store_core_bind_text(insert_boot, 2, store->boot_id);
        sqlite3_bind_int64(insert_boot, 3, clock_now_s(&store->clock));
        for (size_t i = 0; i < graph->software_count; i++)
            if (strcmp(graph->software[i].key, "kernel") == 0)
                store_core_bind_text(insert_boot, 4, graph->software[i].value);
        code = store_core_step(store, insert_boot, "writing the boot", &boot, err);
    }
    sqlite3_finalize(insert_node);
    sqlite3_finalize(insert_boot);
    if (code == BERTH_OK) {
        store->node = node;
        store->boot = boot;
    }
    return code;
}

/* Whether somebody deleted, renamed or replaced the file: what is written to it now would be lost with it, without an error. */
static bool was_taken_away(const struct store *store)
{
    int moved = 0;
    return store->db != NULL && store->state != STORE_MEMORY_ONLY &&
           sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

void store_core_lock(struct store *store) { pthread_mutex_lock(&store->lock); }

enum berth_code store_core_ready(struct store *store, struct berth_err *err)
{
    assert(store->graph != NULL);
    bool taken_away = was_taken_away(store);
    if (taken_away) {
        store_db_close(store->db); /* which leaves a log of that name alone: SQLite looks, too */
        store->db = NULL;
    }
    enum berth_code code = store->db == NULL ? store_core_open(store, NULL, err) : BERTH_OK;
    if (taken_away && code == BERTH_OK && store->state == STORE_OK)
        set_note(store, "store-taken-away", "the database was deleted or replaced while it was in use; what is at its place now is used");
    if (code == BERTH_OK && !sqlite3_get_autocommit(store->db)) /* memory ran out even for the rollback */
        code = execute(store, "ROLLBACK", "undoing what failed", err);
    if (code != BERTH_OK || store->boot != 0)
        return code;
    code = store_core_transact(store, write_boot, NULL, err);
    if (code != BERTH_OK)
        store->boot = 0;
    return code;
}

enum berth_code store_core_done(struct store *store, enum berth_code code)
{
    if (store->how_broken[0] != '\0') {
        store_db_close(store->db);
        store->db = NULL;
        store_core_open(store, store->how_broken, NULL);
        store->how_broken[0] = '\0';
    }
    pthread_mutex_unlock(&store->lock);
    return code;
}
