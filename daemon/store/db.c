#include "store/db.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/embedded.h"
#include "store/log_index.h"

#define APPLICATION_ID 0x62727468

static enum berth_code code_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return BERTH_NO_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return BERTH_BAD_DATA;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return BERTH_UNAVAILABLE;
    default:
        return rc == SQLITE_IOERR_NOMEM ? BERTH_NO_MEMORY : BERTH_IO;
    }
}

enum berth_code store_db_error(sqlite3 *db, const char *doing, struct berth_err *err)
{
    return err_set(err, code_of(sqlite3_extended_errcode(db)), "%s: %s", doing, sqlite3_errmsg(db));
}

enum berth_code store_db_exec(sqlite3 *db, const char *sql, const char *doing,
                              struct berth_err *err)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? BERTH_OK
                                                                : store_db_error(db, doing, err);
}

enum berth_code store_db_number(sqlite3 *db, const char *sql, int64_t *ret_number,
                                struct berth_err *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    int64_t number = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    enum berth_code code = rc == SQLITE_ROW || rc == SQLITE_DONE
                               ? BERTH_OK
                               : store_db_error(db, "reading the database", err);
    sqlite3_finalize(statement);
    if (code == BERTH_OK)
        *ret_number = number;
    return code;
}

static int64_t newest_version(void)
{
    int64_t newest = 0;
    while (embedded_migrations[newest].name != NULL)
        newest++;
    return newest;
}

/* Reports BAD_DATA when a migration fails with SQLITE_ERROR ("table node already exists"). The file
 * then does not match its schema version, so a retry cannot help. */
static enum berth_code exec_fitting(sqlite3 *db, int64_t version, const char *sql,
                                    struct berth_err *err)
{
    struct berth_err why = {0};
    enum berth_code code = store_db_exec(db, sql, "schema", &why);
    if (code == BERTH_IO && sqlite3_errcode(db) == SQLITE_ERROR)
        return err_set(err, BERTH_BAD_DATA, "its schema version %lld does not fit its tables: %s",
                       (long long)version, sqlite3_errmsg(db));
    return code == BERTH_OK ? code : err_set(err, code, "%s", why.detail);
}

static enum berth_code migrate_one(sqlite3 *db, int64_t version, const struct embedded_file *file,
                                   struct berth_err *err)
{
    enum berth_code code = store_db_exec(db, "BEGIN IMMEDIATE", file->name, err);
    if (code != BERTH_OK)
        return code;
    int64_t now = 0;
    char set_version[48];
    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %lld", (long long)version + 1);
    code = store_db_number(db, "PRAGMA user_version", &now, err);
    if (code == BERTH_OK && now == version) { /* else another process was faster */
        code = exec_fitting(db, version, file->text, err);
        if (code == BERTH_OK)
            code = store_db_exec(db, set_version, file->name, err);
    }
    if (code == BERTH_OK)
        code = store_db_exec(db, "COMMIT", file->name, err);
    if (code != BERTH_OK)
        store_db_exec(db, "ROLLBACK", file->name, NULL);
    return code;
}

static enum berth_code migrate(sqlite3 *db, int64_t version, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (int64_t i = version; code == BERTH_OK && embedded_migrations[i].name != NULL; i++)
        code = migrate_one(db, i, &embedded_migrations[i], err);
    return code;
}

static enum berth_code check_owner(int64_t application, int64_t version, bool has_tables,
                                   struct berth_err *err)
{
    int64_t newest = newest_version();
    if (application != APPLICATION_ID && (application != 0 || version != 0 || has_tables))
        return err_set(err, BERTH_BAD_CONFIG, "it is a database of another program");
    if (version < 0 || version > newest)
        return err_set(err, BERTH_BAD_CONFIG,
                       "it has schema version %lld and this berthd knows %lld", (long long)version,
                       (long long)newest);
    return BERTH_OK;
}

/* Reads the file's owner and schema version. */
static enum berth_code identify(sqlite3 *db, int64_t *ret_version, struct berth_err *err)
{
    int64_t version = 0, application = 0, tables = 0;
    enum berth_code code = store_db_number(db, "PRAGMA user_version", &version, err);
    if (code == BERTH_OK)
        code = store_db_number(db, "PRAGMA application_id", &application, err);
    if (code == BERTH_OK)
        code = store_db_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (code == BERTH_OK)
        code = check_owner(application, version, tables != 0, err);
    if (code == BERTH_OK)
        *ret_version = version;
    return code;
}

/* Reads both ends of every tree: a few pages of each, including those that the next run writes. */
static const char edges[] =
    "SELECT (SELECT min(id) + max(id) FROM node), (SELECT min(fingerprint) || max(fingerprint) "
    "FROM node),"
    " (SELECT min(id) FROM boot), (SELECT max(id) FROM boot), (SELECT min(id) FROM run), (SELECT "
    "max(id) FROM run),"
    " (SELECT min(node) FROM probe), (SELECT max(node) FROM probe), (SELECT min(id) FROM series), "
    "(SELECT max(id) FROM series),"
    " (SELECT min(node) FROM series), (SELECT max(node) FROM series), (SELECT min(series) FROM "
    "settled_value),"
    " (SELECT max(series) FROM settled_value), (SELECT min(run) FROM fresh_value), (SELECT "
    "max(run) FROM fresh_value),"
    " (SELECT min(series) FROM skip), (SELECT max(series) FROM skip), (SELECT min(id) FROM text), "
    "(SELECT max(id) FROM text),"
    " (SELECT min(text) FROM text), (SELECT max(text) FROM text), (SELECT min(id) FROM note), "
    "(SELECT max(id) FROM note),"
    " (SELECT 1 FROM day LIMIT 1), (SELECT 1 FROM flow_set LIMIT 1), (SELECT 1 FROM flow_rate "
    "LIMIT 1),"
    " (SELECT 1 FROM baseline LIMIT 1), (SELECT 1 FROM finding LIMIT 1), (SELECT 1 FROM "
    "expected_place LIMIT 1),"
    " (SELECT 1 FROM claim LIMIT 1), (SELECT 1 FROM claim_generation LIMIT 1)";

/* Sum of the hashes of all that the migrations in schema/ make. A file with another sum is compared
 * with migrations in memory, which costs a start three times as many allocations: another version
 * of SQLite may store other texts. The note of a file that is set aside has its sum. */
#define SCHEMA_HASH 0xe1fe9ae1794deeac

/* Adds text to an FNV-1a hash. A comment ("--") and white space count as one space. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    const uint64_t prime = 0x100000001b3;
    while (*text != '\0') {
        const char *token = text;
        while (isspace((unsigned char)*text) || strncmp(text, "--", 2) == 0)
            text += *text == '-' ? strcspn(text, "\n") : 1;
        hash = (hash ^ (unsigned char)(text > token ? ' ' : *text++)) * prime;
    }
    return hash * prime; /* the text's NUL */
}

/* Sums the hashes of all tables, indices, views and triggers. */
static enum berth_code sum_schema(sqlite3 *db, uint64_t *ret_sum, struct berth_err *err)
{
    static const char all[] = /* without the keys' indices and the tables of ANALYZE */
        "SELECT type, name, tbl_name, sql FROM sqlite_schema "
        "WHERE sql IS NOT NULL AND NOT (type = 'table' AND name GLOB 'sqlite_stat[14]')";
    sqlite3_stmt *row = NULL;
    *ret_sum = 0;
    int rc = sqlite3_prepare_v2(db, all, -1, &row, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        uint64_t hash = 0xcbf29ce484222325;
        for (int i = 0; i < 4; i++) {
            const char *text = (const char *)sqlite3_column_text(row, i);
            hash = text != NULL ? hash_text(hash, text) : 0;
        }
        *ret_sum += hash;
        rc = SQLITE_OK;
    }
    enum berth_code code = rc == SQLITE_DONE ? BERTH_OK : store_db_error(db, "schema", err);
    sqlite3_finalize(row);
    return code;
}

/* Sums the schema that the migrations make in memory with this version of SQLite. */
static enum berth_code sum_migrations(uint64_t *ret_sum, struct berth_err *err)
{
    sqlite3 *db = NULL;
    enum berth_code code = BERTH_OK;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        code = store_db_error(db, "schema", err);
    if (code == BERTH_OK)
        code = migrate(db, 0, err);
    if (code == BERTH_OK)
        code = sum_schema(db, ret_sum, err);
    sqlite3_close(db);
    return code;
}

/* Fails with BAD_DATA unless the file has the tables, indices and views that the migrations make,
 * and nothing else: a trigger, a key or a column more could drop rows or refuse them. */
static enum berth_code check_schema(sqlite3 *db, struct berth_err *err)
{
    uint64_t sum = 0, expected = SCHEMA_HASH;
    enum berth_code code = sum_schema(db, &sum, err);
    if (code == BERTH_OK && sum != expected)
        code = sum_migrations(&expected, err);
    if (code == BERTH_OK && sum != expected)
        code = err_set(err, BERTH_BAD_DATA,
                       "its schema version %lld does not fit its tables (hash %#llx)",
                       (long long)newest_version(), (unsigned long long)sum);
    return code;
}

/* Creates the file with its mode before SQLite opens it. Does not open an existing file: closing it
 * would drop the locks of this process' connections. */
static enum berth_code create_file(const char *path, struct berth_err *err)
{
    static const char *const beside[] = {"-wal", "-shm", "-journal"};
    struct stat status;
    char name[4096];
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, beside[i]);
        if (lstat(name, &status) == 0 && !S_ISREG(status.st_mode)) /* opening it may block */
            return err_set(err, BERTH_IO, "berth.db%s is not a regular file", beside[i]);
    }
    if (lstat(path, &status) == 0)
        return S_ISREG(status.st_mode) ? BERTH_OK
                                       : err_set(err, BERTH_IO, "it is not a regular file");
    if (errno != ENOENT)
        return err_set_errno(err, BERTH_IO, errno, "it cannot be found out about");
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (fd < 0 && errno != EEXIST)
        return err_set_errno(err, BERTH_IO, errno, "it cannot be created");
    if (fd >= 0)
        close(fd);
    return BERTH_OK;
}

/* Refuses to commit writes that rest on a lost index. May not use the connection. log_db: NULL
 * without a log. */
static int refuse_commit(void *log_db)
{
    if (log_db != NULL && store_log_index_is_cut(sqlite3_db_filename(log_db, "main")))
        store_log_index_lose();
    return store_log_index_is_lost();
}

static enum berth_code prepare_connection(sqlite3 *db, bool exclusive, int busy_ms,
                                          struct berth_err *err)
{
    static const char settings[] =
        "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
        "PRAGMA cache_size = -512; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
        "PRAGMA secure_delete = OFF;"; /* see store_log_copy */
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, busy_ms);
    sqlite3_commit_hook(db, refuse_commit, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    /* Do not even write a newer version's log into its file. */
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    enum berth_code code = store_db_exec(db, settings, "settings", err);
    /* before any read: then a log needs no memory shared through a file */
    if (code == BERTH_OK && exclusive)
        code = store_db_exec(db, "PRAGMA locking_mode = EXCLUSIVE", "locking mode", err);
    int64_t version = 0;
    if (code == BERTH_OK)
        code = identify(db, &version, err);
    if (code != BERTH_OK)
        return code;
    if (sqlite3_db_readonly(db, "main"))
        return err_set(err, BERTH_IO, "it cannot be written to");
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    code = store_db_exec(db,
                         exclusive ? "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL"
                                   : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                                     "PRAGMA journal_size_limit = 4194304;"
                                     "PRAGMA wal_autocheckpoint = 0", /* see store_log_copy */
                         "journal mode", err);
    if (!exclusive && sqlite3_db_filename(db, "main")[0] != '\0')
        sqlite3_commit_hook(db, refuse_commit, db);
    if (code == BERTH_OK)
        code = migrate(db, version, err);
    if (code == BERTH_OK)
        code = exec_fitting(db, newest_version(), edges, err);
    return code;
}

bool store_db_is_network(uint32_t kind)
{
    /* from linux/magic.h, else from the file system's source */
    static const uint32_t magic[] = {
        0x6969,     0x517b,     0xff534d42, 0xfe534d42, /* nfs, smb, cifs, smb2 */
        0x0bd00bd0, 0x47504653, 0x19830326, 0x00c36400, /* lustre, gpfs, beegfs, ceph */
        0x65735546, 0x01021997, 0x5346414f, 0x6b414653, /* fuse, 9p, afs, kafs */
        0x73757245, 0x01161970, 0x7461636f, 0xaad7aaea, /* coda, gfs2, ocfs2, panfs */
        0x20030528, 0xbacbacbc,                         /* orangefs, vmhgfs */
    };
    for (size_t i = 0; i < sizeof magic / sizeof magic[0]; i++)
        if (kind == magic[i])
            return true;
    return false;
}

static bool is_on_network(const char *path)
{
    char directory[4096];
    struct statfs status;
    snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return statfs(directory, &status) == 0 && store_db_is_network((uint32_t)status.f_type);
}

/* Reads application and version directly from the file (fileformat2.html, 1.3), so that a newer
 * version's file gets no log. Only while this process has no connection to the file; see
 * create_file. */
static enum berth_code check_header(const char *path, struct berth_err *err)
{
    unsigned char header[100];
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t length = fd >= 0 ? pread(fd, header, sizeof header, 0) : -1;
    if (fd >= 0)
        close(fd);
    if (length < (ssize_t)sizeof header || memcmp(header, "SQLite format 3", 16) != 0)
        return BERTH_OK; /* opening it reports the error */
    return check_owner(be32toh(*(const uint32_t *)(header + 68)),
                       (int32_t)be32toh(*(const uint32_t *)(header + 60)),
                       be32toh(*(const uint32_t *)(header + 40)) != 0, err);
}

enum berth_code store_db_open(const char *path, enum store_journal journal, int busy_ms,
                              sqlite3 **ret_db, struct berth_err *err)
{
    sqlite3 *db = NULL;
    bool is_file = strcmp(path, ":memory:") != 0;
    enum berth_code code = is_file ? create_file(path, err) : BERTH_OK;
    if (code == BERTH_OK && is_file)
        code = check_header(path, err);
    if (code != BERTH_OK)
        return code;
    int rc = sqlite3_open_v2(
        path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, NULL);
    if (db == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory for a database connection");
    bool exclusive = is_file && (journal == STORE_JOURNAL_ROLLBACK ||
                                 (journal == STORE_JOURNAL_AUTO && is_on_network(path)));
    code = rc == SQLITE_OK ? prepare_connection(db, exclusive, busy_ms, err)
                           : store_db_error(db, "opening", err);
    if (code == BERTH_OK && is_file)
        code = check_schema(db, err);
    if (code != BERTH_OK) {
        store_db_close(db);
        return code;
    }
    *ret_db = db;
    return BERTH_OK;
}

bool store_db_is_exclusive(sqlite3 *db)
{
    sqlite3_stmt *row = NULL;
    bool is_exclusive =
        sqlite3_prepare_v2(db, "PRAGMA locking_mode", -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW &&
        strcmp((const char *)sqlite3_column_text(row, 0), "exclusive") == 0;
    sqlite3_finalize(row);
    return is_exclusive;
}

bool store_db_open_reader(const char *path, sqlite3 **ret_db)
{
    char name[4096];
    struct stat status;
    sqlite3 *db = NULL;
    int64_t version = 0, unused;
    /* opening anything else may block */
    if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    snprintf(name, sizeof name, "%s-wal", path);
    if (stat(name, &status) == 0 && status.st_size > 0)
        return false;
    snprintf(name, sizeof name, "%s-journal", path);
    if (stat(name, &status) == 0 && status.st_size > 0)
        return false;
    if (strpbrk(path, "?#%") != NULL ||
        (size_t)snprintf(name, sizeof name, "file:%s?immutable=1", path) >= sizeof name)
        return false;
    bool is_good = sqlite3_open_v2(name, &db,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                                       SQLITE_OPEN_PRIVATECACHE,
                                   NULL) == SQLITE_OK &&
                   identify(db, &version, NULL) == BERTH_OK && version == newest_version() &&
                   check_schema(db, NULL) == BERTH_OK &&
                   store_db_number(db, edges, &unused, NULL) == BERTH_OK;
    if (!is_good) {
        store_db_close(db);
        return false;
    }
    *ret_db = db;
    return true;
}

bool store_db_is_whole(const char *path, enum store_journal journal)
{
    sqlite3 *db = NULL;
    int64_t is_whole = 0;
    if (store_db_open(path, journal, STORE_DB_BUSY_MS, &db, NULL) != BERTH_OK)
        return false;
    bool is_checked =
        store_db_number(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check(1)",
                        &is_whole, NULL) == BERTH_OK;
    store_db_close(db);
    return is_checked && is_whole != 0;
}

bool store_db_is_other_version(sqlite3 *db)
{
    int64_t version;
    return store_db_number(db, "PRAGMA user_version", &version, NULL) == BERTH_OK &&
           version != newest_version();
}

void store_db_look(sqlite3 *db)
{
    const char *path = sqlite3_db_filename(db, "main");
    if (path != NULL && path[0] != '\0' && sqlite3_db_readonly(db, "main") == 0 &&
        store_log_index_is_cut(path) && !store_db_is_exclusive(db))
        store_log_index_lose();
}

void store_db_close(sqlite3 *db)
{
    if (db != NULL)
        store_db_look(db);
    if (db != NULL &&
        (store_log_index_is_lost() || store_db_is_other_version(db) || store_log_index_is_lost()))
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(db);
}

enum berth_code store_db_set_aside(const char *path, int64_t now_s, char *buffer, size_t size,
                                   struct berth_err *err)
{
    struct stat status;
    size_t used = (size_t)snprintf(buffer, size, "%s.corrupt-%lld", path, (long long)now_s);
    for (int i = 2; used < size && lstat(buffer, &status) == 0; i++)
        used = (size_t)snprintf(buffer, size, "%s.corrupt-%lld.%d", path, (long long)now_s, i);
    char log[4096], log_aside[4096], index[4096];
    if (used >= size ||
        (size_t)snprintf(log_aside, sizeof log_aside, "%s-wal", buffer) >= sizeof log_aside)
        return err_set(err, BERTH_IO, "it cannot be set aside: its name is too long");
    snprintf(log, sizeof log, "%s-wal", path);
    snprintf(index, sizeof index, "%s-shm", path);
    if (rename(path, buffer) < 0)
        return err_set_errno(err, BERTH_IO, errno, "it cannot be set aside");
    /* SQLite deletes a log without its database, so an interruption here is harmless. */
    if (rename(log, log_aside) < 0 && errno != ENOENT)
        return err_set_errno(err, BERTH_IO, errno, "its log cannot be set aside");
    unlink(index);
    return BERTH_OK;
}
