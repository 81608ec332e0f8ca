#include "varlink/conn_clock.h"

#define CHECK_AGAIN_MS 1000 /* between checks for a peer that left while it is not read */

void conn_clock_set(struct conn_clock *clock, enum conn_wait wait, bool anew, uint64_t unread,
                    uint64_t gone, uint64_t now_ms)
{
    if (wait != clock->wait || anew)
        clock->since_ms = now_ms;
    clock->wait = wait;
    if (unread > 0 && (!clock->is_unread || gone != clock->gone)) {
        clock->unread_ms = now_ms;
        clock->gone = gone;
    }
    clock->is_unread = unread > 0;
}

static uint64_t wait_due(const struct conn_clock *clock, const struct server_limits *limits)
{
    switch (clock->wait) {
    case WAIT_IDLE:
        return limits->idle_ms == 0 ? CONN_NEVER : clock->since_ms + limits->idle_ms;
    case WAIT_HALF:
        return clock->since_ms + limits->half_message_ms;
    case WAIT_PEER:
        return clock->since_ms + CHECK_AGAIN_MS;
    case WAIT_NONE:
        break;
    }
    return CONN_NEVER;
}

uint64_t conn_clock_due(const struct conn_clock *clock, const struct server_limits *limits)
{
    uint64_t due = wait_due(clock, limits),
             unread = clock->is_unread ? clock->unread_ms + limits->unread_ms : CONN_NEVER;
    return due < unread ? due : unread;
}

bool conn_clock_expired(struct conn_clock *clock, const struct server_limits *limits, uint64_t gone,
                        uint64_t now_ms, bool *ret_must_check)
{
    bool is_over = false, must_check = false;
    if (wait_due(clock, limits) <= now_ms) {
        must_check = clock->wait == WAIT_PEER;
        is_over = !must_check;
        clock->since_ms = now_ms;
    }
    if (clock->is_unread && clock->unread_ms + limits->unread_ms <= now_ms) {
        is_over |= gone == clock->gone;
        clock->unread_ms = now_ms;
        clock->gone = gone;
    }
    *ret_must_check = must_check;
    return is_over;
}
