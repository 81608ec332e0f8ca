#include "store/claim.h"

#include <stdio.h>
#include <string.h>

#include "store/core.h"
#include "store/file.h"

#define VERSION_MAX (INT64_MAX / 2) /* leaves room for later versions */

struct saving {
    struct claim *const *claims;
    size_t count;
    uint64_t generation;
};

static const char insert_sql[] =
    "INSERT OR REPLACE INTO claim (id, boot_id, version, uid, purpose, places, configuration, key, "
    "owner_pid, owner_start, owner_cgroup,"
    " deadline_ns, plan_asked, plan_answered, is_admins) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
    "?9, ?10, ?11, ?12, ?13, ?14, ?15)";

static char *text_of(sqlite3_stmt *row, int at)
{
    return (char *)(uintptr_t)sqlite3_column_text(row, at);
}

/* True for text without NUL bytes, as we write it. */
static bool is_text(sqlite3_stmt *row, int at)
{
    const char *text = text_of(row, at);
    return text == NULL || strlen(text) == (size_t)sqlite3_column_bytes(row, at);
}

static void bind_optional(sqlite3_stmt *statement, int at, const char *text)
{
    if (text != NULL)
        store_core_bind_text(statement, at, text);
    else
        sqlite3_bind_null(statement, at);
}

static enum berth_code insert_claim(struct store *store, sqlite3_stmt *insert,
                                    const struct claim *claim, struct berth_err *err)
{
    store_core_bind_text(insert, 1, claim->id);
    store_core_bind_text(insert, 2, store->boot_id);
    sqlite3_bind_int64(insert, 3, (int64_t)claim->version);
    sqlite3_bind_int64(insert, 4, claim->uid);
    store_core_bind_text(insert, 5, claim_purpose_name(claim->purpose));
    store_core_bind_text(insert, 6, claim->places);
    bind_optional(insert, 7, claim->configuration);
    bind_optional(insert, 8, claim->key);
    if (claim->owner.pid != 0) {
        sqlite3_bind_int64(insert, 9, claim->owner.pid);
        sqlite3_bind_int64(insert, 10, (int64_t)claim->owner.start_ticks);
    } else {
        sqlite3_bind_null(insert, 9);
        sqlite3_bind_null(insert, 10);
    }
    bind_optional(insert, 11, claim->owner.cgroup);
    sqlite3_bind_int64(insert, 12, (int64_t)claim->deadline_ns);
    bind_optional(insert, 13, claim->plan_asked);
    bind_optional(insert, 14, claim->plan_answered);
    sqlite3_bind_int(insert, 15, claim->is_admins);
    return store_core_step(store, insert, "writing a claim", NULL, err);
}

static const struct claim *claim_of(const struct saving *saving, const char *id)
{
    for (size_t i = 0; i < saving->count; i++)
        if (strcmp(saving->claims[i]->id, id) == 0)
            return saving->claims[i];
    return NULL;
}

/* Deletes claims that have ended. SQLite allows deleting a row after stepping past it. */
static enum berth_code delete_ended(struct store *store, const struct saving *saving,
                                    struct berth_err *err)
{
    sqlite3_stmt *row = NULL, *delete = NULL;
    int rc = SQLITE_DONE;
    enum berth_code code = store_core_prepare(store, "SELECT id, boot_id FROM claim", &row, err);
    if (code == BERTH_OK)
        code = store_core_prepare(store, "DELETE FROM claim WHERE id = ?1", &delete, err);
    while (code == BERTH_OK && (rc = store_core_next(row)) == SQLITE_ROW) {
        if (is_text(row, 0) && claim_of(saving, text_of(row, 0)) != NULL &&
            strcmp(store_core_text(row, 1), store->boot_id) == 0)
            continue;
        sqlite3_bind_value(delete, 1, sqlite3_column_value(row, 0)); /* of any type */
        code = store_core_step(store, delete, "deleting a claim", NULL, err);
    }
    if (code == BERTH_OK && rc != SQLITE_DONE)
        code = store_core_fail(store, "reading claims", err);
    sqlite3_finalize(row);
    sqlite3_finalize(delete);
    return code;
}

static enum berth_code insert_changed(struct store *store, const struct saving *saving,
                                      struct berth_err *err)
{
    sqlite3_stmt *version = NULL, *insert = NULL;
    enum berth_code code =
        store_core_prepare(store, "SELECT version FROM claim WHERE id = ?1", &version, err);
    if (code == BERTH_OK)
        code = store_core_prepare(store, insert_sql, &insert, err);
    for (size_t i = 0; code == BERTH_OK && i < saving->count; i++) {
        int64_t stored = 0;
        store_core_bind_text(version, 1, saving->claims[i]->id);
        code = store_core_step(store, version, "reading claims", &stored, err);
        if (code == BERTH_OK && stored != (int64_t)saving->claims[i]->version)
            code = insert_claim(store, insert, saving->claims[i], err);
    }
    sqlite3_finalize(version);
    sqlite3_finalize(insert);
    return code;
}

static enum berth_code save(struct store *store, void *arg, struct berth_err *err)
{
    const struct saving *saving = arg;
    sqlite3_stmt *generation = NULL;
    enum berth_code code = delete_ended(store, saving, err);
    if (code == BERTH_OK)
        code = insert_changed(store, saving, err);
    if (code == BERTH_OK)
        code = store_core_prepare(
            store, "INSERT OR REPLACE INTO claim_generation (one, generation) VALUES (1, ?1)",
            &generation, err);
    if (code == BERTH_OK) {
        sqlite3_bind_int64(generation, 1, (int64_t)saving->generation);
        code = store_core_step(store, generation, "writing claims", NULL, err);
    }
    sqlite3_finalize(generation);
    return code;
}

enum berth_code store_save_claims(struct store *store, struct claim *const *claims, size_t count,
                                  uint64_t generation, struct berth_err *err)
{
    struct saving saving = {claims, count, generation};
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK)
        code = store_core_transact(store, save, &saving, err);
    return store_core_done(store, code);
}

static bool is_within(sqlite3_stmt *row, int at, int64_t low, int64_t high)
{
    int64_t number = sqlite3_column_int64(row, at);
    return number >= low && number <= high;
}

/* Reads a row; its strings are valid until the next step. Returns false for a row that the store
 * did not write. */
static bool read_row(sqlite3_stmt *row, struct claim *ret)
{
    for (int i = 0; i < sqlite3_column_count(row); i++)
        if (!is_text(row, i))
            return false;
    if (!is_within(row, 1, 1, VERSION_MAX) || !is_within(row, 2, 0, UINT32_MAX - 1) ||
        !is_within(row, 7, 0, INT32_MAX) || !is_within(row, 10, 0, INT64_MAX))
        return false;
    const char *id = text_of(row, 0), *purpose = text_of(row, 3);
    *ret = (struct claim){
        .version = (uint64_t)sqlite3_column_int64(row, 1),
        .uid = (uid_t)sqlite3_column_int64(row, 2),
        .places = text_of(row, 4),
        .configuration = text_of(row, 5),
        .key = text_of(row, 6),
        .owner = {.pid = (pid_t)sqlite3_column_int64(row, 7),
                  .start_ticks = (uint64_t)sqlite3_column_int64(row, 8),
                  .cgroup = text_of(row, 9)},
        .deadline_ns = (uint64_t)sqlite3_column_int64(row, 10),
        .plan_asked = text_of(row, 11),
        .plan_answered = text_of(row, 12),
        .is_admins = sqlite3_column_int(row, 13) != 0,
    };
    if (id == NULL || strlen(id) >= sizeof ret->id || purpose == NULL || ret->places == NULL)
        return false;
    strcpy(ret->id, id);
    ret->purpose = strcmp(purpose, "profiling") == 0 ? CLAIM_PROFILING : CLAIM_COMPUTE;
    return true;
}

static enum berth_code count_of_other_boots(struct store *store, size_t *ret_count,
                                            struct berth_err *err)
{
    sqlite3_stmt *count = NULL;
    int64_t found = 0;
    enum berth_code code = store_core_prepare(
        store, "SELECT count(*) FROM claim WHERE boot_id IS NOT ?1", &count, err);
    if (code == BERTH_OK) {
        store_core_bind_text(count, 1, store->boot_id);
        code = store_core_step(store, count, "reading claims", &found, err);
    }
    sqlite3_finalize(count);
    if (code == BERTH_OK)
        *ret_count = (size_t)found;
    return code;
}

static enum berth_code load(struct store *store, struct claim_set *claims, struct berth_err *err)
{
    sqlite3_stmt *row = NULL, *generation = NULL;
    int64_t stored = 0;
    int rc = SQLITE_DONE;
    enum berth_code code =
        store_core_prepare(store, "SELECT generation FROM claim_generation", &generation, err);
    if (code == BERTH_OK)
        code = store_core_step(store, generation, "reading claims", &stored, err);
    if (code == BERTH_OK)
        claims->generation = stored > 0 && stored <= VERSION_MAX ? (uint64_t)stored : 0;
    if (code == BERTH_OK)
        code = store_core_prepare(
            store,
            "SELECT id, version, uid, purpose, places, configuration, key, owner_pid, owner_start, "
            "owner_cgroup, deadline_ns,"
            " plan_asked, plan_answered, is_admins FROM claim WHERE boot_id = ?1 ORDER BY version",
            &row, err);
    if (code == BERTH_OK)
        store_core_bind_text(row, 1, store->boot_id);
    while (code == BERTH_OK && (rc = store_core_next(row)) == SQLITE_ROW) {
        struct claim claim;
        if (!read_row(row, &claim) || claim_set_find(claims, claim.id) != NULL ||
            (claim.key != NULL && claim_set_find_key(claims, claim.uid, claim.key) != NULL))
            continue;
        if (!claim_set_restore(claims, &claim))
            code = err_set(err, BERTH_NO_MEMORY, "out of memory for claims");
    }
    if (code == BERTH_OK && rc != SQLITE_DONE)
        code = store_core_fail(store, "reading claims", err);
    sqlite3_finalize(row);
    sqlite3_finalize(generation);
    return code;
}

enum berth_code store_load_claims(struct store *store, struct claim_set *claims, size_t *ret_ended,
                                  struct berth_err *err)
{
    size_t ended = 0;
    store_core_lock(store);
    enum berth_code code = store_core_ready(store, err);
    if (code == BERTH_OK && store_file_is_unread(store))
        code = err_set(err, BERTH_UNAVAILABLE, "the database could not be read yet");
    if (code == BERTH_OK)
        code = load(store, claims, err);
    if (code == BERTH_OK)
        code = count_of_other_boots(store, &ended, err);
    if (code == BERTH_OK)
        *ret_ended = ended;
    return store_core_done(store, code);
}
