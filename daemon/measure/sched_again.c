#include "measure/sched_again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/programs.h"
#include "measure/sched_left_out.h"

/* shortest wait: the interrupted run is still being written, and a timer of 0 that restarts itself
 * would block the loop */
#define LEAST_MS  20
#define LONGEST_S 600

static void resume_due(uv_timer_t *timer)
{
    struct sched_again *again = timer->data;
    again->env.resume(again->env.arg);
}

static void start_retry(struct sched_again *again);

static void retry_due(uv_timer_t *timer)
{
    struct sched_again *again = timer->data;
    again->retries++;
    start_retry(again);
    again->env.retry_gpus(again->env.arg);
}

void sched_again_init(struct sched_again *again, uv_loop_t *loop, const struct sched_again_env *env)
{
    *again = (struct sched_again){.env = *env};
    uv_timer_init(loop, &again->resume);
    uv_timer_init(loop, &again->retry);
    again->resume.data = again->retry.data = again;
}

/* Returns the delay in ms, doubled @times times. */
static uint64_t delay_ms(int64_t first_s, unsigned times)
{
    uint64_t delay_s = (uint64_t)first_s;
    for (unsigned i = 0; i < times && delay_s < LONGEST_S; i++)
        delay_s = 2 * delay_s < LONGEST_S ? 2 * delay_s : LONGEST_S;
    return delay_s > 0 ? delay_s * 1000 : LEAST_MS;
}

void sched_again_later(struct sched_again *again, unsigned cut)
{
    uv_timer_start(&again->resume, resume_due,
                   delay_ms(again->env.config->claim_resume_s, cut > 0 ? cut - 1 : 0), 0);
}

void sched_again_cancel(struct sched_again *again) { uv_timer_stop(&again->resume); }

static void start_retry(struct sched_again *again)
{
    const struct config *config = again->env.config;
    int64_t first_s = config->gpu_retry_s > 0      ? config->gpu_retry_s
                      : config->claim_resume_s > 0 ? config->claim_resume_s
                                                   : 1;
    uv_timer_start(&again->retry, retry_due, delay_ms(first_s, again->retries), 0);
}

enum due { DUE_NOT, DUE_IN_USE, DUE_PROFILED };

/* Returns the reason to measure the note's place again: its GPU was in use, or was profiled by a
 * claim that has ended. */
static enum due due_of(const struct snapshot *snapshot, const struct claim_set *claims, size_t note)
{
    const struct graph *graph = snapshot->graph;
    place_id place = graph_find(graph, snapshot->notes[note].place);
    place_id gpu = place != PLACE_NONE ? sched_left_out_gpu(graph, place) : PLACE_NONE;
    if (gpu == PLACE_NONE)
        return DUE_NOT;
    if (strcmp(snapshot->notes[note].code, SCHED_LEFT_OUT_IN_USE) == 0)
        return DUE_IN_USE;
    bool was_profiled = strcmp(snapshot->notes[note].code, SCHED_LEFT_OUT_PROFILED) == 0;
    return was_profiled &&
                   (claims == NULL || claim_set_profiling(claims, graph, gpu, false) == NULL)
               ? DUE_PROFILED
               : DUE_NOT;
}

void sched_again_follow(struct sched_again *again, const struct snapshot *snapshot,
                        const struct claim_set *claims)
{
    const struct config *config = again->env.config;
    bool any[] = {[DUE_NOT] = false, [DUE_IN_USE] = false, [DUE_PROFILED] = false};
    for (size_t i = 0; i < snapshot->note_count; i++)
        any[due_of(snapshot, claims, i)] = true;
    if (config->gpu_retry_s == 0)
        any[DUE_IN_USE] = false;
    if ((!any[DUE_IN_USE] && !any[DUE_PROFILED]) || !config->probe_at_start) {
        uv_timer_stop(&again->retry);
        again->retries = 0;
    } else if (any[DUE_PROFILED] && again->retries == 0) {
        uint64_t wait_ms = delay_ms(config->claim_resume_s, 0);
        if (!uv_is_active((uv_handle_t *)&again->retry) ||
            uv_timer_get_due_in(&again->retry) > wait_ms)
            uv_timer_start(&again->retry, retry_due, wait_ms, 0);
    } else if (!uv_is_active((uv_handle_t *)&again->retry)) {
        start_retry(again);
    }
}

/* Returns the metrics of the CPU probe, or of the GPU probe without vendor variants. */
static const char *metrics_of(bool is_gpu)
{
    size_t count;
    const struct program *programs = programs_all(&count);
    for (size_t i = 0; i < count; i++)
        if (programs[i].is_gpu == is_gpu && programs[i].vendor == NULL)
            return programs[i].metrics;
    return "";
}

bool sched_again_request(const struct snapshot *snapshot, const struct claim_set *claims,
                         struct probe_request *ret_request)
{
    struct probe_request request = {.when_free = true};
    size_t used = 0;
    bool has_memory = false;
    request.places = malloc(snapshot->note_count * (sizeof snapshot->notes[0].place + 1) + 1);
    for (size_t i = 0; request.places != NULL && i < snapshot->note_count; i++) {
        size_t length = strlen(snapshot->notes[i].place);
        if (due_of(snapshot, claims, i) == DUE_NOT)
            continue;
        if (used > 0)
            request.places[used++] = ',';
        memcpy(request.places + used, snapshot->notes[i].place, length);
        used += length;
        has_memory |=
            graph_place(snapshot->graph, graph_find(snapshot->graph, snapshot->notes[i].place))
                ->kind == PLACE_NUMA;
    }
    const char *of_gpus = metrics_of(true), *of_memory = has_memory ? metrics_of(false) : "";
    request.metrics = malloc(strlen(of_gpus) + strlen(of_memory) + 2);
    if (request.places == NULL || request.metrics == NULL || used == 0) {
        sched_probe_request_done(&request);
        return false;
    }
    request.places[used] = '\0';
    sprintf(request.metrics, "%s%s%s", of_gpus, has_memory ? "," : "", of_memory);
    *ret_request = request;
    return true;
}

void sched_again_stop(struct sched_again *again)
{
    uv_close((uv_handle_t *)&again->resume, NULL);
    uv_close((uv_handle_t *)&again->retry, NULL);
}
