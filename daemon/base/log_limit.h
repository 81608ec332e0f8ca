/**
 * Limits lines of the log that users can cause: LOG_LIMIT_LINES of each user and cause in
 * LOG_LIMIT_MS, then none. A last line gives the number of those left out. Root and the daemon's
 * own user have no limit. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "base/log.h"

#define LOG_LIMIT_LINES  10
#define LOG_LIMIT_MS     60000
#define LOG_LIMIT_CAUSES 64 /* of all users at a time; further ones are counted together */

struct log_cause {
    uid_t uid;
    const char *cause; /* NULL: free */
    uint64_t since_ms;
    uint64_t lines, left_out;
};

struct log_limit {
    uv_timer_t timer;
    struct log_cause cause[LOG_LIMIT_CAUSES];
    struct log_cause others;
};

void log_limit_init(struct log_limit *limit, uv_loop_t *loop);

/* Logs the pending counts of left-out lines, and closes the timer. */
void log_limit_close(struct log_limit *limit);

/* True when another line of that cause may be written, and counts it. The cause is a plural
 * ("claims") that outlives the limit. With limit NULL always true. */
bool log_limit_allows(struct log_limit *limit, uid_t uid, const char *cause);
