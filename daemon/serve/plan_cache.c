#include "serve/plan_cache.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

struct plan_cache_plan {
    struct plan_cache_plan *next;
    uid_t uid;
    uint64_t asked_ns;
    char *key, *asked, *answered;
};

static void plan_free(struct plan_cache_plan *plan)
{
    free(plan->key);
    free(plan->asked);
    free(plan->answered);
    free(plan);
}

void plan_cache_done(struct plan_cache *cache)
{
    while (cache->first != NULL) {
        struct plan_cache_plan *plan = cache->first;
        cache->first = plan->next;
        plan_free(plan);
    }
    cache->count = 0;
}

/* Drops expired plans. Then drops plans, the oldest first, until the user has fewer than per_user
 * and all users have fewer than in_all. Plans are in the order of their last request. */
static void make_room(struct plan_cache *cache, uid_t uid, size_t per_user, size_t in_all,
                      uint64_t now_ns)
{
    size_t all = 0, its = 0;
    for (struct plan_cache_plan **at = &cache->first; *at != NULL;) {
        struct plan_cache_plan *plan = *at;
        bool is_its = plan->uid == uid;
        if (now_ns - plan->asked_ns > PLAN_CACHE_S * SECOND_NS || all >= in_all ||
            (is_its && its >= per_user)) {
            *at = plan->next;
            plan_free(plan);
            cache->count--;
            continue;
        }
        all++;
        its += is_its;
        at = &plan->next;
    }
}

const char *plan_cache_find(struct plan_cache *cache, uid_t uid, const char *key, const char *asked,
                            uint64_t now_ns)
{
    make_room(cache, uid, PLAN_CACHE_PER_USER, PLAN_CACHE_MAX, now_ns);
    for (struct plan_cache_plan **at = &cache->first; *at != NULL; at = &(*at)->next) {
        struct plan_cache_plan *plan = *at;
        if (plan->uid != uid || strcmp(plan->key, key) != 0 || strcmp(plan->asked, asked) != 0)
            continue;
        *at = plan->next;
        plan->next = cache->first;
        cache->first = plan;
        plan->asked_ns = now_ns;
        return plan->answered;
    }
    return NULL;
}

bool plan_cache_keep(struct plan_cache *cache, uid_t uid, const char *key, const char *asked,
                     const char *answered, uint64_t now_ns)
{
    struct plan_cache_plan *plan = malloc(sizeof *plan);
    if (plan == NULL)
        return false;
    *plan = (struct plan_cache_plan){.uid = uid,
                                     .asked_ns = now_ns,
                                     .key = strdup(key),
                                     .asked = strdup(asked),
                                     .answered = strdup(answered)};
    if (plan->key == NULL || plan->asked == NULL || plan->answered == NULL) {
        plan_free(plan);
        return false;
    }
    make_room(cache, uid, PLAN_CACHE_PER_USER - 1, PLAN_CACHE_MAX - 1, now_ns);
    plan->next = cache->first;
    cache->first = plan;
    cache->count++;
    return true;
}
