#include "measure/duty.h"

#include <math.h>
#include <stdbool.h>

#define SECOND_NS   UINT64_C(1000000000)
#define SLOT_NS     (DUTY_SLOT_S * SECOND_NS)
#define PART_NS     (DUTY_PART_S * SECOND_NS)
#define TEN_MINUTES (600 / DUTY_SLOT_S) /* slots, like the next */
#define HOUR        (3600 / DUTY_SLOT_S)
#define DAY         (86400 / DUTY_PART_S)
#define LONGEST_NS  (86400e9 * 365)

/* Adds a cost to a ring of slots, and clears those that have passed since the latest. */
static void add(uint64_t *ring, uint64_t count, uint64_t *latest, uint64_t now, uint64_t cost_ns)
{
    for (uint64_t i = 1; i <= count && *latest + i <= now; i++)
        ring[(*latest + i) % count] = 0;
    *latest = now;
    ring[now % count] += cost_ns;
}

/* Returns the cost of a slot; 0 of one that the ring has no more. */
static uint64_t cost_of(const uint64_t *ring, uint64_t count, uint64_t latest, uint64_t slot)
{
    return slot <= latest && latest - slot < count ? ring[slot % count] : 0;
}

static uint64_t sum_of(const uint64_t *ring, uint64_t count, uint64_t latest, uint64_t now,
                       uint64_t last)
{
    uint64_t sum_ns = 0;
    for (uint64_t i = 0; i < last && i <= now; i++)
        sum_ns += cost_of(ring, count, latest, now - i);
    return sum_ns;
}

void duty_charge(struct duty *duty, uint64_t now_ns, uint64_t cost_ns, double percent)
{
    add(duty->slot_ns, DUTY_SLOTS, &duty->slot, now_ns / SLOT_NS, cost_ns);
    add(duty->part_ns, DUTY_PARTS, &duty->part, now_ns / PART_NS, cost_ns);
    duty->paced_ns = now_ns + (uint64_t)fmin((double)cost_ns * 100 / percent, LONGEST_NS);
}

/* Returns the time from which the cost fits its share of each window of so many slots. Costs leave
 * the window a slot at a time. */
static uint64_t fits_ns(const struct duty *duty, uint64_t at_ns, uint64_t expected_ns,
                        double percent, uint64_t window)
{
    double share_ns = percent / 100 * (double)(window * SLOT_NS), sum_ns = (double)expected_ns;
    uint64_t now = at_ns / SLOT_NS, first = now > window ? now - window : 0;
    bool is_alone = true;
    for (uint64_t slot = first; slot <= now; slot++) {
        uint64_t cost_ns = cost_of(duty->slot_ns, DUTY_SLOTS, duty->slot, slot);
        sum_ns += (double)cost_ns;
        is_alone = is_alone && cost_ns == 0;
    }
    for (uint64_t slot = first; slot <= now && !is_alone && sum_ns > share_ns; slot++) {
        uint64_t cost_ns = cost_of(duty->slot_ns, DUTY_SLOTS, duty->slot, slot);
        sum_ns -= (double)cost_ns;
        if (cost_ns > 0)
            at_ns = (slot + window + 1) * SLOT_NS;
    }
    return at_ns;
}

uint64_t duty_begin_ns(const struct duty *duty, uint64_t now_ns, uint64_t expected_ns,
                       double percent)
{
    uint64_t at_ns = now_ns > duty->paced_ns ? now_ns : duty->paced_ns;
    at_ns = fits_ns(duty, at_ns, expected_ns, percent, TEN_MINUTES);
    return fits_ns(duty, at_ns, expected_ns, percent, HOUR);
}

uint64_t duty_hour_ns(const struct duty *duty, uint64_t now_ns)
{
    return sum_of(duty->slot_ns, DUTY_SLOTS, duty->slot, now_ns / SLOT_NS, HOUR);
}

uint64_t duty_day_ns(const struct duty *duty, uint64_t now_ns)
{
    return sum_of(duty->part_ns, DUTY_PARTS, duty->part, now_ns / PART_NS, DAY);
}
