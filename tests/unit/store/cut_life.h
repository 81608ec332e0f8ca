/* A daemon's life in which the database or its log is truncated at some access to the disk: a claim
 * that counts as stored outlives a kill. */
#pragma once
#include <dirent.h>
#include <limits.h>

#include "store/claim.h"
#include "store/core.h"
#include "unit/store/store_world.h"

/* A cut happens in front of, or behind, an access of SQLite's: all of them are counted. */
struct cut {
    long at; /* 0 never */
    const char *suffix;
    off_t bytes; /* at most so many are left */
};

static struct {
    const char *database;
    long count, stored_one;     /* now; when a claim is stored and the other one is not */
    long first_copy, last_copy; /* into the database */
    struct cut cut[2];
    int lost;
} steps;

static inline void cut_file(const char *suffix, off_t bytes)
{
    char name[96];
    struct stat status;
    snprintf(name, sizeof name, "%s%s", steps.database, suffix);
    if (lstat(name, &status) == 0 && status.st_size > bytes)
        assert_int_equal(truncate(name, bytes), 0);
}

static inline void step(void)
{
    if (steps.database == NULL)
        return;
    steps.count++;
    for (size_t i = 0; i < 2; i++)
        if (steps.cut[i].at == steps.count)
            cut_file(steps.cut[i].suffix, steps.cut[i].bytes);
}

enum { OPEN, FSTAT, FCNTL, READ, WRITE, TRUNCATE, UNLINK, CALLS };
static sqlite3_syscall_ptr next[CALLS];

#define AROUND(result, parameters, call, ...)                                                      \
    step();                                                                                        \
    result done = ((result(*) parameters)next[call])(__VA_ARGS__);                                 \
    step();                                                                                        \
    return done

static inline void note_copy(int fd)
{
    struct stat written, database;
    if (steps.database == NULL || fstat(fd, &written) < 0 || stat(steps.database, &database) < 0 ||
        written.st_ino != database.st_ino)
        return;
    steps.first_copy = steps.first_copy == 0 ? steps.count : steps.first_copy;
    steps.last_copy = steps.count;
}

static inline int do_open(const char *path, int flags, int mode)
{
    AROUND(int, (const char *, int, int), OPEN, path, flags, mode);
}
static inline int do_fstat(int fd, struct stat *status)
{
    AROUND(int, (int, struct stat *), FSTAT, fd, status);
}
static inline int do_fcntl(int fd, int command, void *arg)
{
    AROUND(int, (int, int, ...), FCNTL, fd, command, arg);
}
static inline ssize_t do_read(int fd, void *text, size_t bytes, off_t at)
{
    AROUND(ssize_t, (int, void *, size_t, off_t), READ, fd, text, bytes, at);
}
static inline ssize_t do_write(int fd, const void *text, size_t bytes, off_t at)
{
    note_copy(fd);
    AROUND(ssize_t, (int, const void *, size_t, off_t), WRITE, fd, text, bytes, at);
}
static inline int do_truncate(int fd, off_t bytes)
{
    AROUND(int, (int, off_t), TRUNCATE, fd, bytes);
}
static inline int do_unlink(const char *path) { AROUND(int, (const char *), UNLINK, path); }

static inline int count_accesses(void **state)
{
    static const struct {
        const char *name;
        sqlite3_syscall_ptr function;
    } calls[CALLS] = {
        [OPEN] = {"open", (sqlite3_syscall_ptr)do_open},
        [FSTAT] = {"fstat", (sqlite3_syscall_ptr)do_fstat},
        [FCNTL] = {"fcntl", (sqlite3_syscall_ptr)do_fcntl},
        [READ] = {"pread64", (sqlite3_syscall_ptr)do_read},
        [WRITE] = {"pwrite64", (sqlite3_syscall_ptr)do_write},
        [TRUNCATE] = {"ftruncate", (sqlite3_syscall_ptr)do_truncate},
        [UNLINK] = {"unlink", (sqlite3_syscall_ptr)do_unlink},
    };
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    (void)state;
    for (size_t i = 0; i < CALLS; i++) {
        next[i] = vfs->xGetSystemCall(vfs, calls[i].name);
        assert_true(next[i] != NULL &&
                    vfs->xSetSystemCall(vfs, calls[i].name, calls[i].function) == SQLITE_OK);
    }
    return 0;
}

/* Stores the first so many claims as their keeper does. True when they count as stored. */
static inline bool keep(struct store *store, size_t count)
{
    enum { TRIES = 3 };
    static char places[] = "core0";
    static struct claim claim[] = {{.id = "c0", .version = 1, .places = places},
                                   {.id = "c1", .version = 2, .places = places}};
    struct claim *claims[] = {&claim[0], &claim[1]};
    enum berth_code code = BERTH_BAD_DATA;
    uint64_t files = 0;
    for (int i = 0; i < TRIES && (code == BERTH_BAD_DATA || store_files(store) != files); i++) {
        files = store_files(store);
        code = store_save_claims(store, claims, count, count, &(struct berth_err){0});
    }
    return code == BERTH_OK && store_files(store) == files &&
           store_state(store) != STORE_MEMORY_ONLY;
}

static inline void copy_file(const char *from_directory, const char *to_directory, const char *name)
{
    char path[96], text[1 << 16];
    snprintf(path, sizeof path, "%s/%s", from_directory, name);
    FILE *from = fopen(path, "rb");
    if (from == NULL)
        return;
    snprintf(path, sizeof path, "%s/%s", to_directory, name);
    FILE *to = fopen(path, "wb");
    assert_non_null(to);
    for (size_t got; (got = fread(text, 1, sizeof text, from)) > 0;)
        assert_int_equal(fwrite(text, 1, got, to), got);
    fclose(from);
    assert_int_equal(fclose(to), 0);
}

/* Also removes the files that were set aside. */
static inline void remove_files(const char *directory)
{
    char path[340];
    DIR *files = opendir(directory);
    assert_non_null(files);
    for (struct dirent *file; (file = readdir(files)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", directory, file->d_name);
        if (strncmp(file->d_name, "berth.db", 8) == 0)
            assert_int_equal(unlink(path), 0);
    }
    closedir(files);
}

/* In the place of all that is there. An index is made anew. */
static inline void copy_files(const char *from, const char *to)
{
    remove_files(to);
    copy_file(from, to, "berth.db");
    copy_file(from, to, "berth.db-wal");
}

/* Returns the claims that the next daemon finds after a kill: the files as they are now. */
static inline size_t claims_after_kill(const struct world *world)
{
    struct world after = *world;
    struct claim_set claims = {0};
    size_t ended, count;
    const char *database = steps.database;
    steps.database = NULL;
    strcat(after.directory, "/k");
    copy_files(world->directory, after.directory);
    struct store *store;
    assert_int_equal(store_open(after.directory, &fixed, &store, NULL), BERTH_OK);
    assert_int_equal(store_begin(store, world->graph, BOOT, NULL), BERTH_OK);
    store_load_claims(store, &claims, &ended, NULL);
    count = claims.count;
    claim_set_done(&claims);
    store_close(store);
    steps.database = database;
    return count;
}

/* Counts the files of the store that this process has open. */
static inline size_t open_files(const struct world *world)
{
    size_t count = 0;
    DIR *files = opendir("/proc/self/fd");
    assert_non_null(files);
    for (const struct dirent *file; (file = readdir(files)) != NULL;) {
        char path[128] = "";
        if (readlinkat(dirfd(files), file->d_name, path, sizeof path - 1) > 0)
            count += strncmp(path, world->directory, strlen(world->directory)) == 0;
    }
    closedir(files);
    return count;
}

/* A daemon's life in which files are truncated. Returns the number of accesses. */
static inline long life(const struct world *world, struct cut first, struct cut second)
{
    struct store *store;
    steps.count = steps.first_copy = steps.last_copy = 0;
    steps.cut[0] = first, steps.cut[1] = second;
    steps.database = world->database;
    assert_int_equal(store_open(world->directory, &fixed, &store, NULL), BERTH_OK);
    store_begin(store, world->graph, BOOT, NULL);
    keep(store, 1);
    steps.stored_one = steps.count;
    bool is_kept = keep(store, 2);
    long count = steps.count;
    steps.database = NULL;
    bool is_early = first.at <= steps.stored_one && second.at <= steps.stored_one;
    size_t early = is_early && is_kept ? claims_after_kill(world) : 2;
    store_check(store); /* as whoever watches the files has it done */
    store_retry(store, true);
    is_kept = keep(store, 2);
    size_t late = claims_after_kill(world);
    if ((early < 2 || !is_kept || late < 2) && ++steps.lost <= 20)
        print_message("berth.db%s to %ld at %ld, berth.db%s to %ld at %ld of %ld: %zu claims, %zu "
                      "after a look, kept: %d, %s (%s)\n",
                      first.suffix, (long)first.bytes, first.at, second.suffix, (long)second.bytes,
                      second.at, count, early, late, is_kept, store_state_name(store_state(store)),
                      noted(store).text);
    store_close(store);
    assert_int_equal(open_files(world), 0);
    return count;
}

/* Beginnings of a life: with no file, with a file, with a log left by a kill, with one that is long
 * enough to be copied. */
enum beginning { NO_FILE, A_FILE, A_LOG, A_LONG_LOG };

static inline void begin(const struct world *world)
{
    char kept[96];
    snprintf(kept, sizeof kept, "%s/b", world->directory);
    copy_files(kept, world->directory);
}

/* A log of so many frames: some pages, and then one page again and again. */
static inline void write_log(const struct world *world, const char *kept, int frames)
{
    sqlite3 *db;
    char name[96];
    struct stat log = {0};
    snprintf(name, sizeof name, "%s-wal", world->database);
    assert_int_equal(sqlite3_open(world->database, &db), SQLITE_OK);
    const char *sql =
        "PRAGMA wal_autocheckpoint = 0; INSERT INTO text (text) VALUES (hex(randomblob(30000)))";
    for (; log.st_size < 32 + frames * 4120L;
         sql = "UPDATE text SET text = 't' || random() WHERE id = 1")
        assert_true(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK && stat(name, &log) == 0);
    copy_files(world->directory, kept);
    sqlite3_close(db);
}

static inline void prepare(struct world *world, enum beginning beginning, int frames)
{
    char name[96];
    snprintf(name, sizeof name, "%s/k", world->directory);
    mkdir(name, 0700);
    snprintf(name, sizeof name, "%s/b", world->directory);
    mkdir(name, 0700);
    if (beginning == NO_FILE)
        return;
    remove_files(world->directory);
    filled(world, 20);
    struct store *store = opened(world, STORE_OK);
    struct run run = pingpongs(world->graph, 50);
    written(store, world->graph, &run);
    if (beginning == A_LOG)
        copy_files(world->directory, name);
    store_close(store);
    if (beginning == A_FILE)
        copy_files(world->directory, name);
    if (beginning == A_LONG_LOG)
        write_log(world, name, frames);
}

static const off_t sizes[] = {0, 4096, 20000, 100000};

static inline void assert_none_lost(void)
{
    int lost = steps.lost;
    steps.lost = 0;
    assert_int_equal(lost, 0);
}

static inline bool is_long(void) { return getenv("BERTH_LONG") != NULL; }

/* From one place of a cut to the next: make check CHANGED=1 cuts at fewer places. */
static inline long stride(long usual)
{
    return is_long() ? 1 : getenv("BERTH_QUICK") != NULL ? 5 * usual : usual;
}
