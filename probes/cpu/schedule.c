#include "cpu/schedule.h"

#include <assert.h>

#define LOOK_AHEAD 4096 /* pairs; a round of the largest machine is far shorter */

int cpu_schedule_rounds(int n) { return n < 2 ? 0 : n % 2 == 0 ? n - 1 : n; }

/* All but the last of an even number of players stand on a circle of odd size m. In round r, a
 * meets b when a + b = r modulo m. The remaining player, 2 a = r, meets the last. An odd number
 * plays with an empty chair as the last. */
int cpu_schedule_round(int n, int a, int b)
{
    int m = cpu_schedule_rounds(n);
    assert(m > 0 && a != b);
    if (a == m)
        return 2 * b % m;
    if (b == m)
        return 2 * a % m;
    return (a + b) % m;
}

size_t cpu_schedule_pick(struct cpu_schedule_pair *pairs, size_t count, size_t most, bool *busy,
                         size_t *ret_picked)
{
    size_t picked = 0, looked = 0;
    for (size_t i = 0; i < count && picked < most && looked < LOOK_AHEAD; i++) {
        struct cpu_schedule_pair *pair = &pairs[i];
        if (pair->taken)
            continue;
        looked++;
        if (busy[pair->a] || busy[pair->b])
            continue;
        busy[pair->a] = busy[pair->b] = pair->taken = true;
        ret_picked[picked++] = i;
    }
    for (size_t i = 0; i < picked; i++)
        busy[pairs[ret_picked[i]].a] = busy[pairs[ret_picked[i]].b] = false;
    return picked;
}
