#include "serve/map_keep.h"

#include <map_layout.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sealed.h"
#include "measure/sched.h"

/* Has the kernel mark the page's owner when this thread ends, however that comes (robust futexes).
 * glibc's list, of mutexes that nothing here uses, rests meanwhile. The list lies in this process,
 * so that the page shows no address of its memory. */
static bool own(struct map_keep *keep)
{
    size_t size;
    keep->list.list.next = &keep->entry;
    keep->entry.next = &keep->list.list;
    keep->list.futex_offset = (long)((uintptr_t)&keep->page->owner - (uintptr_t)&keep->entry);
    if (syscall(SYS_get_robust_list, 0, &keep->before, &size) != 0 ||
        syscall(SYS_set_robust_list, &keep->list, sizeof keep->list) != 0)
        return false;
    __atomic_store_n(&keep->page->owner, (uint32_t)gettid(), __ATOMIC_RELEASE);
    return true;
}

static void disown(struct map_keep *keep)
{
    __atomic_store_n(&keep->page->owner, 0, __ATOMIC_RELEASE);
    syscall(SYS_set_robust_list, keep->before, sizeof *keep->before);
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
    *keep = (struct map_keep){.notifier = notifier,
                              .sched = sched,
                              .page = page,
                              .page_fd = keep->page_fd,
                              .listener.woken = snapshot_published};
    if (!own(keep)) {
        munmap(page, MAP_PAGE_BYTES);
        close(keep->page_fd);
        *keep = (struct map_keep){0};
        return err_set(err, BERTH_UNAVAILABLE, "no robust futex for programs that map the answers");
    }
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
    disown(keep);
    munmap(keep->page, MAP_PAGE_BYTES);
    close(keep->page_fd);
    *keep = (struct map_keep){0};
}
