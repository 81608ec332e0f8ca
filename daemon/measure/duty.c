#include "measure/duty.h"

#include <math.h>

#define SECOND_NS      UINT64_C(1000000000)
#define TEN_MINUTES_NS (600e9)
#define HOUR_NS        (3600e9)
#define LONGEST_NS     (86400e9 * 365)

static uint64_t slot_at(uint64_t now_ns) { return now_ns / (DUTY_SLOT_S * SECOND_NS); }

/* Returns the wait for which runs of the share take no more than it in any window: that has n runs
 * and n - 1 waits, so that the share alone were too short. */
static double wait_in(double share_ns, double window_ns)
{
    return share_ns < window_ns / 2 ? share_ns * window_ns / (window_ns - share_ns)
                                    : share_ns + window_ns;
}

static double wait_ns(double cost_ns, double percent)
{
    double share_ns = cost_ns * 100 / percent;
    double wait_ns = fmax(wait_in(share_ns, TEN_MINUTES_NS), wait_in(share_ns, HOUR_NS));
    return fmin(wait_ns, LONGEST_NS);
}

void duty_charge(struct duty *duty, uint64_t now_ns, uint64_t cost_ns, double percent)
{
    uint64_t slot = slot_at(now_ns);
    for (uint64_t i = 1; i <= DUTY_SLOTS && duty->slot + i <= slot; i++)
        duty->spent_ns[(duty->slot + i) % DUTY_SLOTS] = 0;
    duty->slot = slot;
    duty->spent_ns[slot % DUTY_SLOTS] += cost_ns;
    duty->free_ns = now_ns + (uint64_t)wait_ns((double)cost_ns, percent);
}

uint64_t duty_spent_ns(const struct duty *duty, uint64_t now_ns, unsigned slots)
{
    uint64_t now = slot_at(now_ns), sum_ns = 0;
    for (uint64_t i = 0; i < slots && i <= now; i++)
        if (now - i <= duty->slot && duty->slot - (now - i) < DUTY_SLOTS)
            sum_ns += duty->spent_ns[(now - i) % DUTY_SLOTS];
    return sum_ns;
}
