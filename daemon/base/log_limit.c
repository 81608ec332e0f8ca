#include "base/log_limit.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static bool is_over(const struct log_limit *limit, const struct log_cause *cause)
{
    return uv_now(limit->timer.loop) - cause->since_ms >= LOG_LIMIT_MS;
}

static void report(struct log_limit *limit, struct log_cause *cause)
{
    if (cause->left_out > 0 && cause == &limit->others)
        log_line(LOG_LEVEL_NOTICE, "%" PRIu64 " more lines about other users were left out",
                 cause->left_out);
    else if (cause->left_out > 0)
        log_line(LOG_LEVEL_NOTICE, "%" PRIu64 " more lines about %s of uid %lu were left out",
                 cause->left_out, cause->cause, (unsigned long)cause->uid);
    *cause = (struct log_cause){0};
}

static void report_all(struct log_limit *limit, bool now)
{
    for (size_t i = 0; i < LOG_LIMIT_CAUSES; i++)
        if (limit->cause[i].cause != NULL && (now || is_over(limit, &limit->cause[i])))
            report(limit, &limit->cause[i]);
    if (limit->others.cause != NULL && (now || is_over(limit, &limit->others)))
        report(limit, &limit->others);
}

static bool leaves_out(const struct log_limit *limit)
{
    bool any = limit->others.left_out > 0;
    for (size_t i = 0; i < LOG_LIMIT_CAUSES; i++)
        any |= limit->cause[i].left_out > 0;
    return any;
}

static void on_time(uv_timer_t *timer)
{
    struct log_limit *limit = timer->data;
    report_all(limit, false);
    if (leaves_out(limit))
        uv_timer_start(timer, on_time, LOG_LIMIT_MS / 10, 0);
}

void log_limit_init(struct log_limit *limit, uv_loop_t *loop)
{
    *limit = (struct log_limit){0};
    uv_timer_init(loop, &limit->timer);
    uv_unref((uv_handle_t *)&limit->timer);
    limit->timer.data = limit;
}

void log_limit_close(struct log_limit *limit)
{
    report_all(limit, true);
    if (!uv_is_closing((uv_handle_t *)&limit->timer))
        uv_close((uv_handle_t *)&limit->timer, NULL);
}

static struct log_cause *cause_of(struct log_limit *limit, uid_t uid, const char *cause)
{
    struct log_cause *free = NULL;
    for (size_t i = 0; i < LOG_LIMIT_CAUSES; i++) {
        struct log_cause *at = &limit->cause[i];
        if (at->cause == NULL)
            free = free == NULL ? at : free;
        else if (at->uid == uid && strcmp(at->cause, cause) == 0)
            return at;
    }
    free = free != NULL ? free : &limit->others;
    if (free->cause == NULL)
        *free =
            (struct log_cause){.uid = uid, .cause = cause, .since_ms = uv_now(limit->timer.loop)};
    return free;
}

bool log_limit_allows(struct log_limit *limit, uid_t uid, const char *cause)
{
    if (limit == NULL || uid == 0 || uid == geteuid())
        return true;
    report_all(limit, false);
    struct log_cause *entry = cause_of(limit, uid, cause);
    if (entry->lines < LOG_LIMIT_LINES) {
        entry->lines++;
        return true;
    }
    entry->left_out++;
    if (!uv_is_active((uv_handle_t *)&limit->timer))
        uv_timer_start(&limit->timer, on_time, LOG_LIMIT_MS / 10, 0);
    return false;
}
