#include "serve/map_keep.h"

#include <map_layout.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sealed.h"
#include "measure/sched.h"

/* The page as the daemon sees it. The thread that locks the mutex is the loop's; when the thread
 * ends, however that comes, the kernel marks the mutex's first word (robust futexes). */
struct owned_page {
    char magic[8];
    uint64_t generation;
    pthread_mutex_t owner;
};
_Static_assert(offsetof(struct owned_page, generation) == offsetof(struct map_page, generation) &&
                   offsetof(struct owned_page, owner) + offsetof(pthread_mutex_t, __data.__lock) ==
                       offsetof(struct map_page, owner),
               "the layout of the page");

static struct owned_page *owned(struct map_page *page) { return (struct owned_page *)page; }

static bool own(struct owned_page *page)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0)
        return false;
    bool ok = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
              pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
              pthread_mutex_init(&page->owner, &attributes) == 0 &&
              pthread_mutex_lock(&page->owner) == 0;
    pthread_mutexattr_destroy(&attributes);
    return ok;
}

static void drop_map(struct map_keep *keep)
{
    if (keep->generation != 0)
        close(keep->map_fd);
    keep->generation = 0;
}

static void snapshot_published(struct notifier_listener *listener)
{
    struct map_keep *keep =
        (struct map_keep *)((char *)listener - offsetof(struct map_keep, listener));
    uint64_t generation = sched_snapshot(keep->sched)->generation;
    __atomic_store_n(&keep->page->generation, generation, __ATOMIC_RELEASE);
    if (keep->generation != generation)
        drop_map(keep);
}

enum berth_code map_keep_begin(struct map_keep *keep, struct notifier *notifier,
                               const struct sched *sched, struct berth_err *err)
{
    if (keep->page != NULL)
        return BERTH_OK;
    void *page = NULL;
    enum berth_code code = sealed_page("berth-page", MAP_PAGE_BYTES, &page, &keep->page_fd, err);
    if (code != BERTH_OK)
        return code;
    if (!own(page)) {
        munmap(page, MAP_PAGE_BYTES);
        close(keep->page_fd);
        return err_set(err, BERTH_UNAVAILABLE, "no robust futex for programs that map the answers");
    }
    *keep = (struct map_keep){.notifier = notifier,
                              .sched = sched,
                              .page = page,
                              .page_fd = keep->page_fd,
                              .listener.woken = snapshot_published};
    memcpy(keep->page->magic, MAP_MAGIC, sizeof keep->page->magic);
    snapshot_published(&keep->listener);
    notifier_listen(notifier, &keep->listener);
    return BERTH_OK;
}

void map_keep_take(struct map_keep *keep, uint64_t generation, int take_fd, size_t bytes)
{
    if (keep->page == NULL || keep->generation == generation ||
        sched_snapshot(keep->sched)->generation != generation) {
        close(take_fd);
        return;
    }
    drop_map(keep);
    keep->generation = generation;
    keep->map_fd = take_fd;
    keep->bytes = bytes;
}

void map_keep_done(struct map_keep *keep)
{
    if (keep->page == NULL)
        return;
    notifier_leave(keep->notifier, &keep->listener);
    drop_map(keep);
    pthread_mutex_unlock(&owned(keep->page)->owner);
    munmap(keep->page, MAP_PAGE_BYTES);
    close(keep->page_fd);
    *keep = (struct map_keep){0};
}
