#include "sched_again.h"

#include <stdlib.h>
#include <string.h>

#include "programs.h"

#define LEAST_MS  20 /* what was cut short is still being written; and a timer of 0 that starts itself never lets go of the loop */
#define LONGEST_S 600
#define NOTE_CODE "gpu-in-use"

static void resume_due(uv_timer_t *timer)
{
    struct sched_again *again = timer->data;
    again->env.resume(again->env.arg);
}

static void start_look(struct sched_again *again);

static void look_due(uv_timer_t *timer)
{
    struct sched_again *again = timer->data;
    again->looks++;
    start_look(again);
    again->env.look(again->env.arg);
}

void sched_again_init(struct sched_again *again, uv_loop_t *loop, const struct sched_again_env *env)
{
    *again = (struct sched_again){.env = *env};
    uv_timer_init(loop, &again->resume);
    uv_timer_init(loop, &again->look);
    again->resume.data = again->look.data = again;
}

/* Doubled so often, in ms. */
static uint64_t delay_ms(int64_t first_s, unsigned times)
{
    uint64_t delay_s = (uint64_t)first_s;
    for (unsigned i = 0; i < times && delay_s < LONGEST_S; i++)
        delay_s = 2 * delay_s < LONGEST_S ? 2 * delay_s : LONGEST_S;
    return delay_s > 0 ? delay_s * 1000 : LEAST_MS;
}

void sched_again_later(struct sched_again *again, unsigned cut)
{
    uv_timer_start(&again->resume, resume_due, delay_ms(again->env.config->claim_resume_s, cut > 0 ? cut - 1 : 0), 0);
}

void sched_again_not_now(struct sched_again *again) { uv_timer_stop(&again->resume); }

static void start_look(struct sched_again *again) { uv_timer_start(&again->look, look_due, delay_ms(again->env.config->gpu_retry_s, again->looks), 0); }

static bool was_in_use(const struct snapshot *snapshot, size_t note)
{
    return strcmp(snapshot->notes[note].code, NOTE_CODE) == 0 && graph_find(snapshot->graph, snapshot->notes[note].place) != PLACE_NONE;
}

void sched_again_follow(struct sched_again *again, const struct snapshot *snapshot)
{
    const struct config *config = again->env.config;
    bool any = false;
    for (size_t i = 0; i < snapshot->note_count && !any; i++)
        any = was_in_use(snapshot, i);
    if (!any || !config->probe_at_start || config->gpu_retry_s == 0) {
        uv_timer_stop(&again->look);
        again->looks = 0;
    } else if (!uv_is_active((uv_handle_t *)&again->look)) {
        start_look(again);
    }
}

/* Metrics of the probe of gpus that is not for a vendor's variants. */
static const char *gpu_metrics(void)
{
    size_t count;
    const struct program *programs = programs_all(&count);
    for (size_t i = 0; i < count; i++)
        if (programs[i].is_gpu && programs[i].vendor == NULL)
            return programs[i].metrics;
    return "";
}

bool sched_again_request(const struct snapshot *snapshot, struct probe_request *ret_request)
{
    struct probe_request request = {.when_free = true, .metrics = strdup(gpu_metrics())};
    size_t used = 0;
    request.places = malloc(snapshot->note_count * (sizeof snapshot->notes[0].place + 1) + 1);
    for (size_t i = 0; request.places != NULL && i < snapshot->note_count; i++) {
        size_t length = strlen(snapshot->notes[i].place);
        if (!was_in_use(snapshot, i))
            continue;
        if (used > 0)
            request.places[used++] = ',';
        memcpy(request.places + used, snapshot->notes[i].place, length);
        used += length;
    }
    if (request.places == NULL || request.metrics == NULL || used == 0) {
        sched_probe_request_done(&request);
        return false;
    }
    request.places[used] = '\0';
    *ret_request = request;
    return true;
}

void sched_again_stop(struct sched_again *again)
{
    uv_close((uv_handle_t *)&again->resume, NULL);
    uv_close((uv_handle_t *)&again->look, NULL);
}
