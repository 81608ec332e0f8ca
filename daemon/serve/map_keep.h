/**
 * The files that io.berth.Fabric.Map passes: the page, made for the first caller, and the map of
 * the current snapshot, made for its first caller and closed when another snapshot is published.
 * Programs keep theirs. Loop thread only. Zero-initialise.
 */
#pragma once
#include <linux/futex.h>
#include <stdint.h>

#include "base/err.h"
#include "varlink/notifier.h"

struct map_page;
struct sched;

struct map_keep {
    struct notifier *notifier;
    const struct sched *sched;
    struct notifier_listener listener;
    struct map_page *page; /* NULL: nobody has asked */
    int page_fd;
    /* by which the kernel marks the page's owner; before: the thread's list until then */
    struct robust_list_head list, *before;
    struct robust_list entry;
    /* of generation; 0: there is no map */
    uint64_t generation;
    int map_fd;
    size_t bytes;
};

/* Makes the page unless it is there. UNAVAILABLE. */
enum berth_code map_keep_begin(struct map_keep *keep, struct notifier *notifier,
                               const struct sched *sched, struct berth_err *err);

/* Keeps the map of a generation, or closes it where another one is current or kept. */
void map_keep_take(struct map_keep *keep, uint64_t generation, int take_fd, size_t bytes);

/* Closes both, which tells programs that the daemon ended. */
void map_keep_done(struct map_keep *keep);
