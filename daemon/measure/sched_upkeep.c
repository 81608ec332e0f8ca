#include "measure/sched_upkeep.h"

#include "base/log.h"

/* steps of thinning, about ten milliseconds each; other jobs run in between */
#define STEPS_AT_ONCE 16
#define WITNESS_DAYS  3
#define WAIT_MAX_S    60
/* before another try at a file that fails right after each return */
#define RETURN_WAIT_MAX_S 4

static void maintain(struct sched_job *job, struct store *store)
{
    struct sched_upkeep *upkeep = (struct sched_upkeep *)job;
    struct berth_err err = {0};
    upkeep->was_out = store_state(store) == STORE_MEMORY_ONLY;
    upkeep->is_well = store_retry(store, false);
    upkeep->has_more = upkeep->is_well;
    for (int i = 0; i < STEPS_AT_ONCE && upkeep->has_more; i++)
        if (store_retention(store, &upkeep->keep, &upkeep->has_more, &err) != BERTH_OK)
            upkeep->has_more = false; /* the next run tries again */
}

static void timer_passed(uv_timer_t *timer) { sched_upkeep_due(timer->data); }

static void wait(struct sched_upkeep *upkeep)
{
    uv_timer_start(&upkeep->timer, timer_passed, upkeep->wait_s * UINT64_C(1000), 0);
    upkeep->wait_s = upkeep->wait_s * 2 > WAIT_MAX_S ? WAIT_MAX_S : upkeep->wait_s * 2;
}

static void done(struct sched_job *job)
{
    struct sched_upkeep *upkeep = (struct sched_upkeep *)job;
    upkeep->queued = false;
    if (upkeep->stopped)
        return;
    if (upkeep->has_more)
        sched_upkeep_due(upkeep);
    if (!upkeep->is_well)
        wait(upkeep);
    else if (upkeep->was_out)
        upkeep->returned_ms = uv_now(upkeep->timer.loop);
}

void sched_upkeep_init(struct sched_upkeep *upkeep, uv_loop_t *loop, struct sched_jobs *jobs,
                       const struct config *config)
{
    *upkeep = (struct sched_upkeep){
        .job = {.work = maintain, .done = done}, .jobs = jobs, .config = config, .wait_s = 1};
    uv_timer_init(loop, &upkeep->timer);
    upkeep->timer.data = upkeep;
}

void sched_upkeep_due(struct sched_upkeep *upkeep)
{
    if (upkeep->queued || upkeep->stopped)
        return;
    upkeep->queued = true;
    upkeep->keep = (struct keep){.history_days = upkeep->config->history_days,
                                 .daily_days = upkeep->config->daily_years * 365,
                                 .witness_days = WITNESS_DAYS};
    sched_jobs_add(upkeep->jobs, &upkeep->job);
}

void sched_upkeep_out(struct sched_upkeep *upkeep)
{
    uint64_t since_ms = uv_now(upkeep->timer.loop) - upkeep->returned_ms;
    if (upkeep->queued || upkeep->stopped || uv_is_active((const uv_handle_t *)&upkeep->timer))
        return;
    if (upkeep->wait_s > RETURN_WAIT_MAX_S)
        upkeep->wait_s = RETURN_WAIT_MAX_S;
    if (upkeep->returned_ms != 0 && since_ms < upkeep->wait_s * UINT64_C(1000)) {
        wait(upkeep);
        return;
    }
    upkeep->wait_s = 1;
    sched_upkeep_due(upkeep);
}

void sched_upkeep_stop(struct sched_upkeep *upkeep)
{
    upkeep->stopped = true;
    uv_close((uv_handle_t *)&upkeep->timer, NULL);
}

void sched_upkeep_log(const struct note *note)
{
    if (note->code[0] == '\0')
        log_line(LOG_LEVEL_INFO, "the store works again");
    else
        log_line(note->severity > 0 ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "store: %s", note->text);
}
