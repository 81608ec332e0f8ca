#include "measure/counter_update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "discover/counter_files.h"
#include "discover/event_file.h"

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

static bool says_something(const struct counters *counters)
{
    bool says = counters->garbage > 0 || counters->events.count > 0;
    for (size_t i = 0; !says && i < counters->count; i++)
        says = counters_is_out_of_line(&counters->value[i]);
    return says;
}

bool counter_update_changes(const struct counters *before, const struct counters *after)
{
    return says_something(before) || says_something(after);
}
