/**
 * Budget of background measuring: after a run the next one waits so long that runs of this cost
 * take no more than the duty's share of any ten minutes, and of any hour. A run that costs more
 * than half of such a share is alone in that time. Pure.
 */
#pragma once
#include <stdint.h>

#define DUTY_SLOT_S 300
#define DUTY_SLOTS  288 /* a day */

struct duty {
    uint64_t free_ns;              /* time from which the next run may begin */
    uint64_t slot;                 /* number of the latest slot with a cost, from time 0 */
    uint64_t spent_ns[DUTY_SLOTS]; /* private */
};

/* Charges a run that has ended now. percent is greater than 0. */
void duty_charge(struct duty *duty, uint64_t now_ns, uint64_t cost_ns, double percent);

/* Returns the cost of runs that ended within the last so many slots, the present one among them. */
uint64_t duty_spent_ns(const struct duty *duty, uint64_t now_ns, unsigned slots);
