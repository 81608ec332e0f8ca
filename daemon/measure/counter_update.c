#include "measure/counter_update.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "discover/counter_files.h"

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

/* Replaces the file whole, so that a reader never sees a part. */
static void save(const char *state_dir, const struct counters *counters)
{
    char path[4352], fresh[4400], *text = counters_print(counters);
    snprintf(path, sizeof path, "%.4096s/" FILE_NAME, state_dir);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = text != NULL && state_dir[0] != '\0' ? fopen(fresh, "we") : NULL;
    bool ok = file != NULL && fputs(text, file) >= 0;
    if (file != NULL && fclose(file) != 0)
        ok = false;
    if (file != NULL && (!ok || rename(fresh, path) != 0))
        log_line(LOG_LEVEL_WARNING, "%s is not written: %s", path, strerror(errno));
    free(text);
}

enum berth_code counter_update(const struct files *io, const struct graph *graph,
                               const char *state_dir, int64_t now_s, const struct counters *before,
                               struct counters *ret, struct berth_err *err)
{
    struct counters counters = {0};
    bool ok = load(state_dir, &counters) || before == NULL || counters_copy(before, &counters);
    if (!ok || !counter_files_read(io, graph, now_s, &counters)) {
        counters_done(&counters);
        return err_set(err, BERTH_NO_MEMORY, "no memory for error counters");
    }
    save(state_dir, &counters);
    *ret = counters;
    return BERTH_OK;
}

static bool says_something(const struct counters *counters)
{
    bool says = counters->garbage > 0;
    for (size_t i = 0; !says && i < counters->count; i++)
        says = counters_is_out_of_line(&counters->value[i]);
    return says;
}

bool counter_update_changes(const struct counters *before, const struct counters *after)
{
    return says_something(before) || says_something(after);
}
