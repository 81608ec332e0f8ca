/**
 * Bind's plans that stand under a key though its caller has no claim under it: the tasks of a step
 * ask one after the other, and must get one plan whatever has changed meanwhile. Of each user by
 * itself; in memory alone, so that a restart forgets them; each until PLAN_CACHE_S after it was
 * last asked for. Loop thread only.
 *
 * A user has at most PLAN_CACHE_PER_USER, all together PLAN_CACHE_MAX: the one that was asked for
 * longest ago goes first.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PLAN_CACHE_S        600
#define PLAN_CACHE_PER_USER 32
#define PLAN_CACHE_MAX      128

/* Zero-initialise. */
struct plan_cache {
    struct plan_cache_plan *first; /* the one that was asked for last goes first */
    size_t count;
};

void plan_cache_done(struct plan_cache *held);

/* What was answered to just this question under this key, borrowed until the next call; NULL when
 * nothing is held. It is held for PLAN_CACHE_S from now on. */
const char *plan_cache_find(struct plan_cache *held, uid_t uid, const char *key, const char *asked,
                            uint64_t now_ns);

/* Holds an answer; one that is held already must not be. False when out of memory: then nothing has
 * changed. */
bool plan_cache_keep(struct plan_cache *held, uid_t uid, const char *key, const char *asked,
                     const char *answered, uint64_t now_ns);
