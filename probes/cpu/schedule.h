/**
 * Pairs of cores that can be measured at the same time: those that share no core. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Number of rounds in which n players all meet each other: n - 1, or n when n is odd. A player
 * plays at most once a round. */
int cpu_schedule_rounds(int n);

/* The round, from 0, in which players a and b meet, a != b: the circle method (Lucas, Récréations
 * mathématiques, 1883). With an even n all play in every round, with an odd n one rests. The order
 * of a and b does not matter. */
int cpu_schedule_round(int n, int a, int b);

/* Two players, for cpu_schedule_pick; taken ones are left out. Both may be the same player. */
struct cpu_schedule_pair {
    int a, b;
    bool taken;
};

/* Takes the first pairs of the list that share no player with each other, at most @most, from the
 * next few thousand only. Returns their number, and their indices in the list. busy has room for
 * all players and is all false, before and after. */
size_t cpu_schedule_pick(struct cpu_schedule_pair *pairs, size_t count, size_t most, bool *busy,
                         size_t *ret_picked);
