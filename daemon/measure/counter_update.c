#include "measure/counter_update.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "discover/counter_files.h"
#include "discover/event_file.h"
#include "health/findings.h"

#define FILE_NAME "counters.jsonl"

/* Loads the last reading. False when there is none. */
static bool load(const char *state_dir, struct counters *ret)
{
    const struct files here = {""};
    char path[4352], *text = NULL;
    snprintf(path, sizeof path, "%.4096s/" FILE_NAME, state_dir);
    if (state_dir[0] == '\0' || files_read(&here, path, COUNTERS_FILE_MAX, &text, NULL) != BERTH_OK)
        return false;
    counters_parse(text, ret);
    free(text);
    return true;
}

static bool put_text(FILE *file, const void *text) { return fputs(text, file) >= 0; }

static void save(const char *state_dir, const struct counters *counters)
{
    char path[4352], *text = state_dir[0] != '\0' ? counters_print(counters) : NULL;
    struct berth_err err = {0};
    snprintf(path, sizeof path, "%.4096s/" FILE_NAME, state_dir);
    if (text != NULL && files_replace(path, put_text, text, &err) != BERTH_OK)
        log_line(LOG_LEVEL_WARNING, "%s", err.detail);
    free(text);
}

enum berth_code counter_update(const struct files *io, const struct graph *graph,
                               const char *state_dir, const char *events_file, int64_t now_s,
                               const struct counters *before, struct counters *ret,
                               struct berth_err *err)
{
    struct counters counters = {0};
    bool ok = load(state_dir, &counters) || before == NULL || counters_copy(before, &counters);
    if (!ok || !counter_files_read(io, graph, now_s, &counters) ||
        (events_file[0] != '\0' && !event_file_read(io, events_file, now_s, &counters))) {
        counters_done(&counters);
        return err_set(err, BERTH_NO_MEMORY, "no memory for error counters");
    }
    save(state_dir, &counters);
    *ret = counters;
    return BERTH_OK;
}

struct selection {
    const struct graph *graph;
    const bool *selected;
};

static bool is_left(const struct kernel_event *event, const void *arg)
{
    const struct selection *selection = arg;
    place_id place = kernel_events_place(selection->graph, event);
    while (selection->selected != NULL && place != PLACE_NONE && !selection->selected[place])
        place = graph_place(selection->graph, place)->parent;
    return selection->selected != NULL && place == PLACE_NONE;
}

void counter_update_accept(const struct graph *graph, const bool *selected, const char *state_dir,
                           struct counters *counters)
{
    const struct selection selection = {graph, selected};
    size_t before = counters->events.count;
    kernel_events_filter(&counters->events, is_left, &selection);
    if (counters->events.count < before)
        save(state_dir, counters);
}

/* Copies the reasons of a GPU: all GPUs have the same, or each one's stand behind its address. "":
 * not known. */
static void copy_reasons(const char *text, const char *pci, char *ret, size_t size)
{
    bool is_shared = strchr(text, ':') == NULL;
    const char *from = is_shared ? text : strstr(text, pci);
    ret[0] = '\0';
    if (from == NULL)
        return;
    from += is_shared ? 0 : strlen(pci);
    from += strspn(from, " ");
    size_t length = strcspn(from, " ");
    length -= length > 0 && from[length - 1] == ',';
    if (length > 0 && from[0] != '-')
        snprintf(ret, size, "%.*s", (int)length, from);
}

void counter_update_with_run(const struct graph *graph, const struct run *run,
                             const char *state_dir, struct counters *counters)
{
    json_t *conditions = run->conditions != NULL ? json_loads(run->conditions, 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(conditions, "gpu_throttle"));
    char reasons[96];
    for (place_id id = graph_next(graph, PLACE_GPU, 0); text != NULL && id != PLACE_NONE;
         id = graph_next(graph, PLACE_GPU, id + 1)) {
        const struct place *gpu = graph_place(graph, id);
        reasons[0] = '\0';
        if (gpu->pci != NULL && place_detail(gpu, "partition") == NULL)
            copy_reasons(text, gpu->pci, reasons, sizeof reasons);
        if (reasons[0] != '\0')
            throttled_enter(&counters->throttles, gpu->pci,
                            driver_findings_is_throttling(reasons) ? reasons : NULL,
                            run->started_at_s);
    }
    if (text != NULL)
        save(state_dir, counters);
    json_decref(conditions);
}

static bool says_something(const struct counters *counters)
{
    bool says =
        counters->garbage > 0 || counters->events.count > 0 || counters->throttles.count > 0;
    for (size_t i = 0; !says && i < counters->count; i++)
        says = counters_is_out_of_line(&counters->value[i]);
    return says;
}

bool counter_update_changes(const struct counters *before, const struct counters *after)
{
    return says_something(before) || says_something(after);
}
