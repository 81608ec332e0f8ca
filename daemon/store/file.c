#include "store/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "store/db.h"
#include "store/memory_db.h"

/* Sets the note; keeps its time while the problem is the same. */
__attribute__((format(printf, 4, 5))) static void
set_note(struct store *store, int severity, const char *code, const char *format, ...)
{
    va_list args;
    int64_t since_s =
        strcmp(store->note.code, code) == 0 ? store->note.since_s : clock_now_s(&store->clock);
    store->note = (struct note){.severity = severity, .place = "machine0", .since_s = since_s};
    snprintf(store->note.code, sizeof store->note.code, "%s", code);
    va_start(args, format);
    vsnprintf(store->note.text, sizeof store->note.text, format, args);
    text_clean(store->note.text);
    va_end(args);
}

bool store_file_is_unread(const struct store *store)
{
    return store->path != NULL && store->state == STORE_MEMORY_ONLY && !store->has_state;
}

static void note_memory_only(struct store *store, const char *why)
{
    set_note(store, 1, "store-memory-only",
             "berth.db cannot be used and measurements are kept in memory until it can%s: %.120s",
             store_file_is_unread(store) ? "; its claims and baselines are unknown" : "", why);
}

#define INDEX_LOST "the index of its log cannot be kept: the disk is full, or somebody truncates it"
#define LOSSES     3    /* calls in a row without an index: then memory, so that nothing is lost */
#define LOG_FRAMES 1000 /* SQLite's own limit */

#define ASIDE        "berth.db.corrupt-"
#define REMEMBERED_S (30 * 86400)

/* Returns name and time of the last file set aside, if it still exists and is not old. */
static bool latest_aside(const struct store *store, char *name, size_t size, int64_t *ret_since_s)
{
    char directory[4096];
    int64_t since_s = clock_now_s(&store->clock) - REMEMBERED_S;
    bool found = false;
    snprintf(directory, sizeof directory, "%s", store->path);
    *strrchr(directory, '/') = '\0';
    DIR *files = opendir(directory);
    for (struct dirent *file; files != NULL && (file = readdir(files)) != NULL;) {
        char *end;
        if (strncmp(file->d_name, ASIDE, sizeof ASIDE - 1) != 0)
            continue;
        int64_t at_s = strtoll(file->d_name + sizeof ASIDE - 1, &end, 10);
        if ((*end != '\0' && *end != '.') || at_s <= since_s || strstr(end, "-wal") != NULL)
            continue;
        snprintf(name, size, "%.63s", file->d_name);
        since_s = at_s;
        found = true;
    }
    if (files != NULL)
        closedir(files);
    if (found)
        *ret_since_s = since_s;
    return found;
}

/* Sets state and note of a file that works. */
static void note_file(struct store *store, const char *aside, const char *how_broken)
{
    char name[64];
    int64_t since_s;
    store->state = STORE_SET_ASIDE;
    if (aside[0] != '\0') {
        store->note.code[0] = '\0'; /* a new time */
        set_note(store, 1, "store-set-aside",
                 "the database was broken (%.100s) and is now %.60s; history begins anew",
                 how_broken, strrchr(aside, '/') + 1);
        return;
    }
    if (latest_aside(store, name, sizeof name, &since_s)) {
        if (strcmp(store->note.code, "store-set-aside") == 0 && store->note.since_s == since_s)
            return; /* which also names the reason */
        set_note(store, 1, "store-set-aside",
                 "the database was broken and became %s; history began anew then (this ends when "
                 "that file is moved away)",
                 name);
        store->note.since_s = since_s;
        return;
    }
    store->state = STORE_OK;
    if (store_db_is_exclusive(store->db))
        set_note(store, 0, "store-rollback",
                 "berth.db is kept with a rollback journal and locked for others, as %s",
                 store->journal == STORE_JOURNAL_ROLLBACK ? "the configuration says"
                                                          : "on any network file system");
    else
        store->note.code[0] = '\0';
}

static int64_t file_bytes(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : -1;
}

static void read_sizes(const char *path, int64_t ret_bytes[STORE_PARTS])
{
    static const char *const suffix[STORE_PARTS / 2] = {"", "-wal", "-shm"};
    char name[4096];
    for (size_t i = 0; i < STORE_PARTS / 2; i++) {
        struct stat status = {0};
        snprintf(name, sizeof name, "%s%s", path, suffix[i]);
        bool is_file = lstat(name, &status) == 0 && S_ISREG(status.st_mode);
        ret_bytes[2 * i] = is_file ? status.st_size : -1;
        ret_bytes[2 * i + 1] = (int64_t)status.st_ino;
    }
}

void store_file_sizes(const struct store *store, int64_t ret_bytes[STORE_PARTS])
{
    if (store->path != NULL && store->db != NULL && store->state != STORE_MEMORY_ONLY &&
        !store_db_is_exclusive(store->db)) {
        read_sizes(store->path, ret_bytes);
        return;
    }
    for (size_t i = 0; i < STORE_PARTS; i++)
        ret_bytes[i] = STORE_BYTES_UNKNOWN;
}

bool store_is_sole_writer(const struct store *store)
{
    int64_t left[STORE_PARTS], now[STORE_PARTS];
    for (size_t i = 0; i < STORE_PARTS; i++)
        left[i] = __atomic_load_n(&store->published.bytes[i], __ATOMIC_ACQUIRE);
    if (left[0] == STORE_BYTES_UNKNOWN)
        return false;
    read_sizes(store->path, now);
    return memcmp(left, now, sizeof now) == 0;
}

/* Opens the file. Checks a malformed file twice, because SQLite calls it malformed after one failed
 * read (EIO). */
static enum berth_code open_confirmed(const struct store *store, const char *how_broken,
                                      sqlite3 **ret_db, struct berth_err *err)
{
    struct berth_err first = {0};
    int busy_ms = store->is_retry ? 0 : STORE_DB_BUSY_MS;
    if (how_broken != NULL && !store_db_is_whole(store->path, store->journal))
        return err_set(err, BERTH_BAD_DATA, "%s", how_broken);
    if (store_db_open(store->path, store->journal, busy_ms, ret_db, &first) == BERTH_OK)
        return BERTH_OK;
    return first.code == BERTH_BAD_DATA
               ? store_db_open(store->path, store->journal, busy_ms, ret_db, err)
               : err_set(err, first.code, "%s", first.detail);
}

/* Opens the file; does not trust results of an index that was lost meanwhile. */
static enum berth_code open_trusted(const struct store *store, const char *how_broken,
                                    sqlite3 **ret_db, struct berth_err *err)
{
    for (int tries = 0; tries < 2; tries++) {
        struct berth_err why = {0};
        sqlite3 *db = NULL;
        enum berth_code code = open_confirmed(store, how_broken, &db, &why);
        if (!store_log_index_is_lost()) {
            if (code != BERTH_OK)
                return err_set(err, code, "%s", why.detail);
            *ret_db = db;
            return BERTH_OK;
        }
        store_db_close(db);
        store_log_index_renew(store->path);
    }
    return err_set(err, BERTH_IO, "%s", INDEX_LOST);
}

/* Opens the file, or a new one in place of a broken one; aside and broken then tell its name and
 * the reason. */
static enum berth_code open_file(struct store *store, const char *how_broken, char *aside,
                                 size_t aside_size, char *broken, size_t broken_size,
                                 sqlite3 **ret_db, struct berth_err *err)
{
    struct berth_err why = {0};
    char directory[4096];
    snprintf(directory, sizeof directory, "%s", store->path);
    *strrchr(directory, '/') = '\0';
    mkdir(directory, 0750); /* if it fails, opening the file reports the reason */
    enum berth_code code = open_trusted(store, how_broken, ret_db, &why);
    if (code == BERTH_BAD_DATA) {
        snprintf(broken, broken_size, "%s", why.detail);
        why = (struct berth_err){0};
        code = store_db_set_aside(store->path, clock_now_s(&store->clock), aside, aside_size, &why);
        if (code == BERTH_OK)
            code = store_db_open(store->path, store->journal, STORE_DB_BUSY_MS, ret_db, &why);
    }
    return code == BERTH_OK ? code : err_set(err, code, "%s", why.detail);
}

/* Copies the file's state to memory; false when it could not be read. */
static bool fill(sqlite3 *file, sqlite3 *memory)
{
    bool is_filled = store_memory_db_fill(file, memory, NULL) == BERTH_OK;
    store_db_look(file);
    return is_filled && !store_log_index_is_lost();
}

/* Opens memory, with the file's state if it can be read. why: the reason, for the note. */
static enum berth_code open_memory(struct store *store, const char *why, struct berth_err *err)
{
    store->state = STORE_MEMORY_ONLY;
    store->has_state = false;
    store->boot = 0;
    store->files++;
    enum berth_code code = store_db_open(":memory:", STORE_JOURNAL_WAL, 0, &store->db, err);
    if (code == BERTH_OK && store->path != NULL && store_db_open_reader(store->path, &store->file))
        store->has_state = fill(store->file, store->db);
    if (store->path != NULL)
        note_memory_only(store, why);
    return code;
}

enum berth_code store_file_open(struct store *store, const char *how_broken, struct berth_err *err)
{
    struct berth_err why = {0};
    char aside[4096] = "", broken[sizeof why.detail] = "";
    store->boot = 0;
    if (store->path != NULL) {
        enum berth_code code = open_file(store, how_broken, aside, sizeof aside, broken,
                                         sizeof broken, &store->db, &why);
        if (code == BERTH_NO_MEMORY)
            return err_set(err, BERTH_NO_MEMORY, "%s", why.detail);
        if (code == BERTH_OK) {
            store->files++;
            note_file(store, aside, broken);
            store->log = (struct store_log){0};
            return BERTH_OK;
        }
    }
    return open_memory(store, why.detail, err);
}

void store_file_leave(struct store *store, const char *why)
{
    sqlite3 *memory = NULL;
    if (store_db_open(":memory:", STORE_JOURNAL_WAL, 0, &memory, NULL) != BERTH_OK)
        return;
    store->has_state = fill(store->db, memory);
    store->file = store->db;
    store->db = memory;
    store->files++;
    store->boot = 0;
    store->state = STORE_MEMORY_ONLY;
    note_memory_only(store, why);
}

static bool has_moved(sqlite3 *db)
{
    int moved = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved != 0;
}

/* Returns to the file; how_broken as for open_file. */
static bool return_to(struct store *store, const char *how_broken)
{
    struct berth_err why = {0};
    char aside[4096] = "", broken[sizeof why.detail] = "";
    if (store->state != STORE_MEMORY_ONLY || store->path == NULL || store->db == NULL)
        return true;
    if (store->file != NULL && (sqlite3_db_readonly(store->file, "main") ||
                                has_moved(store->file) || store_db_is_other_version(store->file))) {
        store_db_close(store->file);
        store->file = NULL;
    }
    sqlite3 *file = store->file;
    enum berth_code code = BERTH_OK;
    if (file == NULL)
        code =
            open_file(store, how_broken, aside, sizeof aside, broken, sizeof broken, &file, &why);
    if (code == BERTH_OK) {
        sqlite3_busy_timeout(file, store->is_retry ? 0 : STORE_DB_BUSY_MS);
        code = store_memory_db_merge(store->db, store->has_state, file, &why);
        sqlite3_busy_timeout(file, STORE_DB_BUSY_MS);
        if (code != BERTH_OK && store_log_index_is_lost())
            snprintf(why.detail, sizeof why.detail, "%s", INDEX_LOST);
    }
    if (code != BERTH_OK) {
        if (store->file == NULL) {
            store_db_close(file);
            store_db_open_reader(store->path, &store->file);
        }
        note_memory_only(store, why.detail);
        return false;
    }
    store_db_close(store->db);
    store->db = file;
    store->files++;
    store->file = NULL;
    store->boot = 0;
    store->log = (struct store_log){0};
    note_file(store, aside, broken);
    return true;
}

bool store_file_return(struct store *store) { return return_to(store, NULL); }

void store_file_renew(struct store *store)
{
    bool is_in_memory = store->state == STORE_MEMORY_ONLY;
    sqlite3 **lost = is_in_memory ? &store->file : &store->db;
    store_db_close(*lost);
    *lost = NULL;
    store_log_index_renew(store->path);
    if (!is_in_memory && store->losses >= LOSSES)
        open_memory(store, INDEX_LOST, NULL); /* out of memory: the next call opens the file */
    else if (!is_in_memory && store_file_open(store, NULL, NULL) == BERTH_OK &&
             store->state == STORE_OK)
        set_note(store, 1, "store-index-lost",
                 "somebody truncated the index of the database's log (berth.db-shm) while it was "
                 "in use; it was made anew");
}

/* True when the log or its index is deleted or replaced. It exists as long as this process holds
 * it, but others would use another. Closing the database copies the log into the file. */
static bool is_gone(struct store *store)
{
    static const char *const suffix[] = {"-wal", "-shm"};
    bool is_first_known = store->first.files == store->files, is_gone = false;
    if (store->boot == 0 || store_db_is_exclusive(store->db))
        return false;
    for (size_t i = 0; i < 2; i++) {
        char name[4096];
        struct stat status = {0};
        snprintf(name, sizeof name, "%s%s", store->path, suffix[i]);
        if (lstat(name, &status) < 0 && errno != ENOENT)
            return false;
        is_gone |=
            status.st_ino == 0 || (is_first_known && (status.st_ino != store->first.inode[i] ||
                                                      status.st_dev != store->first.device[i]));
        store->first.inode[i] = status.st_ino;
        store->first.device[i] = status.st_dev;
    }
    store->first.files = store->files;
    return is_gone;
}

/* True when the file lacks a page that the log lacks too, judged by the connection's number of
 * pages. An empty file is cut too: SQLite would delete its log. It counts one byte as none. The
 * size is read last, because others may copy the log into it. */
static bool is_file_cut(const struct store *store, bool has_log, int64_t *ret_bytes,
                        struct berth_err *ret_how)
{
    int64_t pages = 0, page_bytes = 0;
    enum berth_code code = store_db_number(store->db, "PRAGMA page_count", &pages, ret_how);
    if (code == BERTH_OK)
        code = store_db_number(store->db, "PRAGMA page_size", &page_bytes, ret_how);
    if (code != BERTH_OK && code != BERTH_BAD_DATA)
        return false;
    if (code == BERTH_OK && has_log)
        pages = store_log_index_file_pages(store->db, pages);
    int64_t bytes = *ret_bytes = file_bytes(store->path);
    if (bytes < 0 || (code == BERTH_OK && bytes > 1 && bytes >= pages * page_bytes))
        return false;
    if (code == BERTH_OK)
        err_set(ret_how, BERTH_BAD_DATA, "somebody truncated it");
    return !store_log_index_is_lost();
}

/* Stops using a cut file and opens the rest. Lost state is still in the connection's cache, or not
 * read at all. The rest is used if it is whole; the log's rest need not be, if it is older than the
 * file's pages. An empty file is begun anew. lost: subject of the note on a file that is used
 * further; NULL no note. */
static void mend(struct store *store, const char *how, const char *lost)
{
    store_file_leave(store, how);
    if (store->state != STORE_MEMORY_ONLY)
        return;             /* out of memory: the next call tries again */
    store_log_index_lose(); /* keeps SQLite from writing the log into the file */
    store_db_close(store->file);
    store->file = NULL;
    store_log_index_renew(store->path);
    if (return_to(store, how) && store->state == STORE_OK && lost != NULL)
        set_note(store, 1, "store-cut", "somebody truncated %s", lost);
}

/* Checks file and log, and copies a log of more than @frames frames into the file. SQLite does not:
 * after its checkpoint, which restores the length, a cut file would go unnoticed. */
static void check_and_copy(struct store *store, uint32_t frames)
{
    static const char file_lost[] =
        "the database (berth.db) while it was in use; history begins anew",
                      log_lost[] = "the database's log (berth.db-wal) while it was in use;"
                                   " measurements that were in it alone are lost";
    struct berth_err how = {0};
    if (store->db == NULL || store->state == STORE_MEMORY_ONLY)
        return;
    bool has_log = !store_db_is_exclusive(store->db);
    int64_t bytes = 0;
    if (is_file_cut(store, has_log, &bytes, &how))
        mend(store, how.detail, bytes <= 1 ? file_lost : NULL);
    else if (bytes < 0)
        return; /* gone: the next call notices */
    else if (has_log && store_log_is_cut(store->db, &store->log))
        mend(store, "somebody truncated its log", log_lost);
    else if (has_log && store->log.frames > frames && !store_log_copy(store->db))
        mend(store, "somebody truncated it", NULL);
}

void store_file_mend(struct store *store)
{
    if (store->db == NULL || store->state == STORE_MEMORY_ONLY || has_moved(store->db) ||
        !is_gone(store)) {
        check_and_copy(store, LOG_FRAMES);
        return;
    }
    store_db_close(store->db);
    store->db = NULL;
    store_file_open(store, NULL, NULL); /* out of memory: the next call opens it */
}

enum berth_code store_file_check(struct store *store, struct berth_err *err)
{
    bool taken_away = false;
    struct note before = store->note;
    if (store->db != NULL && store->state != STORE_MEMORY_ONLY) {
        taken_away = has_moved(store->db);
        if (!taken_away && store_log_index_is_cut(store->path) &&
            !store_db_is_exclusive(store->db)) {
            store_log_index_lose();
            store_file_renew(store);
        } else if (taken_away) {
            /* leaves another file's log alone: SQLite checks too */
            store_db_close(store->db);
            store->db = NULL;
        } else {
            store_file_mend(store);
        }
    }
    enum berth_code code = store->db == NULL ? store_file_open(store, NULL, err) : BERTH_OK;
    bool is_same_aside = store->state == STORE_SET_ASIDE &&
                         strcmp(before.code, store->note.code) == 0 &&
                         before.since_s == store->note.since_s;
    if (taken_away && code == BERTH_OK && (store->state == STORE_OK || is_same_aside))
        set_note(store, 1, "store-taken-away",
                 "the database was deleted or replaced while it was in use; what is at its place "
                 "now is used");
    return code;
}

void store_file_clear_aside(struct store *store)
{
    char name[64];
    int64_t since_s;
    if (store->state == STORE_SET_ASIDE && !latest_aside(store, name, sizeof name, &since_s)) {
        store->state = STORE_OK;
        if (strcmp(store->note.code, "store-set-aside") == 0)
            note_file(store, "", "");
    }
}

void store_file_close(struct store *store)
{
    check_and_copy(store, 0);
    store_db_close(store->db);
    store_db_close(store->file);
    store->db = store->file = NULL;
    if (store_log_index_is_lost())
        store_log_index_renew(store->path);
}
