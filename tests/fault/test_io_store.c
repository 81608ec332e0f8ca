/*
 * Every access to the disk fails once, and for ever from there: SQLite's file system is replaced by
 * one that hands everything on to the real one and counts. Nothing is set aside for it, what was
 * reported written is there, and what was reported failed is not.
 */
#include <math.h>

#include "old_file.h"

struct failing_file {
    sqlite3_file base;
    sqlite3_file *real; /* stands behind this struct */
};

static long countdown;
static bool has_failed, stays_failing;
static sqlite3_vfs *real_vfs;

static void arm(long at, bool for_ever)
{
    countdown = at;
    stays_failing = for_ever;
    has_failed = false;
}

static bool disarm(void)
{
    countdown = 0;
    return has_failed;
}

static bool fails(void)
{
    if (countdown == 0 || --countdown > 0)
        return false;
    countdown = stays_failing ? 1 : 0;
    return has_failed = true;
}

static sqlite3_file *real_of(sqlite3_file *file) { return ((struct failing_file *)file)->real; }

#define ON(file, method, ...) real_of(file)->pMethods->method(real_of(file), __VA_ARGS__)

static int file_close(sqlite3_file *file) { return real_of(file)->pMethods->xClose(real_of(file)); }

static int file_read(sqlite3_file *file, void *buffer, int size, sqlite3_int64 at)
{
    return fails() ? SQLITE_IOERR_READ : ON(file, xRead, buffer, size, at);
}

static int file_write(sqlite3_file *file, const void *buffer, int size, sqlite3_int64 at)
{
    return fails() ? (at % 8192 == 0 ? SQLITE_FULL : SQLITE_IOERR_WRITE)
                   : ON(file, xWrite, buffer, size, at);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return fails() ? SQLITE_IOERR_TRUNCATE : ON(file, xTruncate, size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    return fails() ? SQLITE_IOERR_FSYNC : ON(file, xSync, flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
    return fails() ? SQLITE_IOERR_FSTAT : ON(file, xFileSize, ret_size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return fails() ? SQLITE_IOERR_LOCK : ON(file, xLock, level);
}
static int file_unlock(sqlite3_file *file, int level) { return ON(file, xUnlock, level); }
static int file_reserved(sqlite3_file *file, int *ret) { return ON(file, xCheckReservedLock, ret); }
static int file_control(sqlite3_file *file, int operation, void *arg)
{
    return ON(file, xFileControl, operation, arg);
}
static int file_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}
static int file_features(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int file_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret)
{
    return fails() ? SQLITE_IOERR_SHMMAP : ON(file, xShmMap, region, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return ON(file, xShmLock, offset, count, flags);
}
static void file_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}
static int file_shm_unmap(sqlite3_file *file, int remove_it)
{
    return ON(file, xShmUnmap, remove_it);
}

static const sqlite3_io_methods methods = {2,
                                           file_close,
                                           file_read,
                                           file_write,
                                           file_truncate,
                                           file_sync,
                                           file_size,
                                           file_lock,
                                           file_unlock,
                                           file_reserved,
                                           file_control,
                                           file_sector,
                                           file_features,
                                           file_shm_map,
                                           file_shm_lock,
                                           file_shm_barrier,
                                           file_shm_unmap,
                                           NULL,
                                           NULL};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
    (void)vfs;
    struct failing_file *failing = (struct failing_file *)file;
    failing->base.pMethods = NULL;
    failing->real = (sqlite3_file *)(failing + 1);
    if (fails())
        return SQLITE_CANTOPEN;
    int rc = real_vfs->xOpen(real_vfs, name, failing->real, flags, ret_flags);
    if (failing->real->pMethods != NULL)
        failing->base.pMethods = &methods;
    return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void)vfs;
    return fails() ? SQLITE_IOERR_DELETE : real_vfs->xDelete(real_vfs, name, sync);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
    (void)vfs;
    return fails() ? SQLITE_IOERR_ACCESS : real_vfs->xAccess(real_vfs, name, flags, ret);
}

static sqlite3_vfs failing_vfs;

static int use_failing_vfs(void **state)
{
    (void)state;
    real_vfs = sqlite3_vfs_find(NULL);
    failing_vfs = *real_vfs;
    failing_vfs.zName = "failing";
    failing_vfs.szOsFile = (int)sizeof(struct failing_file) + real_vfs->szOsFile;
    failing_vfs.xOpen = vfs_open;
    failing_vfs.xDelete = vfs_delete;
    failing_vfs.xAccess = vfs_access;
    return sqlite3_vfs_register(&failing_vfs, 1);
}

/* A daemon's life with the store: how many runs it was told are written, and how many of those to
 * the file for certain; the others were in memory, and may have been brought home at the end. */
struct told {
    int64_t written, certain;
    bool began_in_memory;
};

static struct told life(struct world *world)
{
    struct store *store;
    struct berth_err err = {0};
    struct loaded all = {.values = values_new()};
    struct run run = pingpongs(world->graph, 1);
    struct told told = {0};
    int64_t id;
    assert_int_equal(store_open(world->directory, &fixed, &store, &err), BERTH_OK);
    told.began_in_memory = store_state(store) == STORE_MEMORY_ONLY;
    store_begin(store, world->graph, BOOT, &err);
    for (int i = 0; i < 2; i++) {
        /* wherever to */
        assert_int_equal(store_write_run(store, world->graph, &run, &id, &err), BERTH_OK);
        told.written++;
        told.certain += store_state(store) != STORE_MEMORY_ONLY;
        store_retry(store, true);
    }
    enum berth_code code = store_load_latest(store, world->graph, all.values, &all.notes,
                                             &all.note_count, &all.last_probe_at_s, &err);
    assert_true(code == BERTH_OK || code == BERTH_IO);
    assert_true(store_state(store) != STORE_SET_ASIDE);
    loaded_done(&all);
    run_done(&run);
    store_close(store);
    return told;
}

static void fails_at_every_place(struct world *world, bool is_fresh, bool for_ever)
{
    int began_in_memory = 0, bridged = 0;
    int64_t runs = 0;
    for (long at = 1;; at++) {
        if (is_fresh) {
            char command[64];
            snprintf(command, sizeof command, "rm -f %s/*", world->directory);
            assert_int_equal(system(command), 0);
            runs = 0;
        }
        arm(at, for_ever);
        struct told told = life(world);
        bool failed = disarm();
        began_in_memory += told.began_in_memory;
        struct told after = life(world); /* without a fault, on what is left */
        assert_true(!after.began_in_memory && after.certain == 2);
        int64_t now = query(world, "SELECT count(*) FROM run");
        assert_true(now >= runs + told.certain + 2 && now <= runs + told.written + 2);
        assert_true(for_ever || now == runs + 4); /* what fails once costs nothing */
        bridged += told.certain < 2 && now == runs + 4;
        runs = now;
        assert_int_equal(query(world, "SELECT count(*) FROM value"), runs * (CORES - 1));
        assert_int_equal(
            query(world,
                  "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
            1);
        assert_int_equal(query(world, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
        if (!failed) {
            print_message("through at access %ld, %d times from memory, %d outages bridged\n", at,
                          began_in_memory, bridged);
            assert_true(at > 20 && began_in_memory > 5 && (for_ever || bridged > 5));
            return;
        }
    }
}

static void a_new_file_fails_once(void **state) { fails_at_every_place(*state, true, false); }
static void a_new_file_fails_for_ever(void **state) { fails_at_every_place(*state, true, true); }
static void an_existing_file_fails_once(void **state)
{
    fails_at_every_place(*state, false, false);
}
static void an_existing_file_fails_for_ever(void **state)
{
    fails_at_every_place(*state, false, true);
}

/* The file of every older version is served from memory when it cannot be brought to the newest
 * one, and brought there later. */
static void a_migration_fails(void **state)
{
    struct world *world = *state;
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (int version = 1; version < newest_version(); version++) {
            bool failed = true;
            long at = 0;
            for (at = 1; failed; at++) {
                struct store *store = NULL;
                struct berth_err err = {0};
                old_file(world, version);
                arm(at, for_ever);
                assert_int_equal(store_open(world->directory, &fixed, &store, &err), BERTH_OK);
                failed = disarm();
                assert_true(store_state(store) == STORE_OK ||
                            (failed && store_state(store) == STORE_MEMORY_ONLY));
                store_close(store);
                assert_migrates_whole(world);
            }
            print_message("version %d: through at access %ld\n", version, at - 1);
            assert_true(at > 20);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_migration_fails),
        TEST(a_new_file_fails_once),
        TEST(a_new_file_fails_for_ever),
        TEST(an_existing_file_fails_once),
        TEST(an_existing_file_fails_for_ever),
    };
    return cmocka_run_group_tests(tests, use_failing_vfs, NULL);
}
