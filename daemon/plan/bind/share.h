/**
 * How many cores each task gets when the request does not say: as many for every task as all of
 * them find next to their gpus at once.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/bind/usable.h"

struct bind_share_request {
    const struct bind_cores *cores;
    size_t tasks;
    const bool *near; /* by task and group: nearest to the task's gpus, at least one of each task */
};

struct bind_share {
    int64_t each;        /* at least 1, though there may be fewer */
    size_t short_task;   /* one of those that find no more */
    size_t short_count;  /* how many these are */
    int64_t short_cores; /* next to their gpus, for all of them */
    /* what the other tasks would find, each; each where they would find no more */
    int64_t others;
};

/* NO_MEMORY. */
enum berth_code plan_bind_share(const struct bind_share_request *request, struct bind_share *ret,
                                struct berth_err *err);
