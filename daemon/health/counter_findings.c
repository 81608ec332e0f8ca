/* Findings from error counters. */
#include <stdio.h>
#include <string.h>

#include "health/findings.h"

static bool add_counter(struct findings *findings, const struct place *place,
                        const struct counter_value *value)
{
    const struct counter_info *info = counters_info(value->counter);
    struct finding *finding =
        findings_add(findings, (enum severity)info->severity, info->finding, place->name);
    int64_t seconds, rise = counters_rise(value, &seconds);
    if (finding == NULL)
        return false;
    snprintf(finding->subject, sizeof finding->subject, "%s", info->name);
    finding->at_s = value->at_s;
    finding->value = (double)(info->per_hour == COUNTER_STATE ? value->value : rise);
    if (info->per_hour == COUNTER_STATE)
        snprintf(finding->text, sizeof finding->text, "%lld of its %s", (long long)value->value,
                 info->about);
    else
        snprintf(finding->text, sizeof finding->text,
                 "%lld %s in %lld minutes, %lld since its driver was loaded", (long long)rise,
                 info->about, (long long)(seconds + 59) / 60, (long long)value->value);
    return true;
}

static bool has_finding(const struct findings *findings, const char *code, const char *place)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->finding[i].code, code) == 0 &&
            strcmp(findings->finding[i].place, place) == 0)
            return true;
    return false;
}

/* A GPU that is throttled now has the finding of its driver's facts. */
static bool add_throttled(struct findings *findings, const struct place *place,
                          const struct throttle_gpu *gpu)
{
    if (throttled_count(gpu) < THROTTLE_LEAST || has_finding(findings, "throttled", place->name))
        return true;
    struct finding *finding =
        findings_add(findings, SEVERITY_WARNING, "gpu-throttled", place->name);
    if (finding == NULL)
        return false;
    finding->at_s = gpu->since_s;
    snprintf(finding->text, sizeof finding->text,
             "its clocks were held down at the end of %d of its last %d measurements: %s",
             throttled_count(gpu), gpu->count, gpu->why);
    return true;
}

static bool add_garbage(struct findings *findings)
{
    const struct counters *counters = &findings->snap->counters;
    if (counters->garbage == 0 || !findings_is_selected(findings, 0))
        return true;
    struct finding *finding =
        findings_add(findings, SEVERITY_WARNING, "counter-garbage", "machine0");
    if (finding == NULL)
        return false;
    snprintf(finding->text, sizeof finding->text, "%zu record%s not read; the first: %.160s",
             counters->garbage, counters->garbage == 1 ? " of errors is" : "s of errors are",
             counters->first_garbage);
    return true;
}

enum berth_code counter_findings_add(struct findings *findings, struct berth_err *err)
{
    const struct graph *graph = findings->snap->graph;
    const struct counters *counters = &findings->snap->counters;
    bool ok = add_garbage(findings);
    for (size_t i = 0; ok && i < counters->count; i++) {
        const struct counter_value *value = &counters->value[i];
        place_id at = graph_find(graph, value->at);
        if (at != PLACE_NONE && counters_is_out_of_line(value) &&
            findings_is_selected(findings, at))
            ok = add_counter(findings, graph_place(graph, at), value);
    }
    for (size_t i = 0; ok && i < counters->throttles.count; i++) {
        place_id at = graph_find(graph, counters->throttles.gpu[i].at);
        if (at != PLACE_NONE && findings_is_selected(findings, at))
            ok = add_throttled(findings, graph_place(graph, at), &counters->throttles.gpu[i]);
    }
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for findings");
}
