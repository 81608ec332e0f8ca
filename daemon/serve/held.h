/**
 * Bind's plans that stand under a key though its caller has no claim under it: the tasks of a step
 * ask one after the other, and must get one plan whatever has changed meanwhile. Of each user by
 * itself; in memory alone, so that a restart forgets them; each until HELD_S after it was last
 * asked for. Loop thread only.
 *
 * A user has at most HELD_PER_USER, all together HELD_MAX: the one that was asked for longest ago
 * goes first.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HELD_S        600
#define HELD_PER_USER 32
#define HELD_MAX      128

/* Zero-initialise. */
struct held {
    struct held_plan *first; /* the one that was asked for last goes first */
    size_t count;
};

void held_done(struct held *held);

/* What was answered to just this question under this key, borrowed until the next call; NULL when
 * nothing is held. It is held for HELD_S from now on. */
const char *held_find(struct held *held, uid_t uid, const char *key, const char *asked,
                      uint64_t now_ns);

/* Holds an answer; one that is held already must not be. False when out of memory: then nothing has
 * changed. */
bool held_keep(struct held *held, uid_t uid, const char *key, const char *asked,
               const char *answered, uint64_t now_ns);
