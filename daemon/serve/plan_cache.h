/**
 * Cache of Bind's plans under a key without a claim. The tasks of a job step ask one after the
 * other and must get one plan, even if the node has changed. Each user has their own. A restart
 * forgets them. A plan expires PLAN_CACHE_S after its last request. Loop thread only.
 *
 * A user has at most PLAN_CACHE_PER_USER plans, all users together PLAN_CACHE_MAX. The least
 * recently requested one is dropped first.
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
    struct plan_cache_plan *first; /* ordered by last request, latest first */
    size_t count;
};

void plan_cache_done(struct plan_cache *cache);

/* Returns the answer to exactly this request under this key, borrowed until the next call; NULL
 * when there is none. Restarts its PLAN_CACHE_S. */
const char *plan_cache_find(struct plan_cache *cache, uid_t uid, const char *key, const char *asked,
                            uint64_t now_ns);

/* Adds an answer that is not in the cache yet. Returns false, without change, when out of
 * memory. */
bool plan_cache_keep(struct plan_cache *cache, uid_t uid, const char *key, const char *asked,
                     const char *answered, uint64_t now_ns);
