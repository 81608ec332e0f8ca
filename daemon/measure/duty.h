/**
 * Budget of background measuring: the costs of all runs that end in any ten minutes, or in any
 * hour, are at most the duty's share of that time. A run that costs more than the share is alone in
 * it. Runs are also spread: after each one comes a pause of its cost / duty. Pure.
 */
#pragma once
#include <stdint.h>

#define DUTY_SLOT_S 10
#define DUTY_SLOTS  364 /* an hour and a little more */
#define DUTY_PART_S 300
#define DUTY_PARTS  288 /* a day */

/* Zero-initialise; private, except paced_ns. */
struct duty {
    uint64_t paced_ns;            /* end of the pause */
    uint64_t slot, part;          /* numbers of the latest with a cost, from time 0 */
    uint64_t slot_ns[DUTY_SLOTS]; /* costs of runs that ended in each */
    uint64_t part_ns[DUTY_PARTS];
};

/* Charges a run that has ended now. percent is greater than 0. */
void duty_charge(struct duty *duty, uint64_t now_ns, uint64_t cost_ns, double percent);

/* Returns the time from which a run of the expected cost may begin, now_ns at the earliest. */
uint64_t duty_begin_ns(const struct duty *duty, uint64_t now_ns, uint64_t expected_ns,
                       double percent);

/* Return the costs of the runs that ended in the last hour, and in the last day. */
uint64_t duty_hour_ns(const struct duty *duty, uint64_t now_ns);
uint64_t duty_day_ns(const struct duty *duty, uint64_t now_ns);
