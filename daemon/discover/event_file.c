#include "discover/event_file.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

struct reading {
    struct counters *counters;
    const char *path;
    int64_t from; /* first message that is not counted */
    bool is_other_boot, is_out;
};

static void read_event(struct reading *reading, const json_t *object, const char *line)
{
    struct kernel_event event;
    struct kernel_events *events = &reading->counters->events;
    int64_t sequence;
    if (!kernel_events_parse(object, &event, &sequence) || sequence < 0) {
        counters_note_garbage(reading->counters, "%.60s: %.80s", reading->path, line);
        return;
    }
    if (sequence < reading->from)
        return;
    reading->is_out = !kernel_events_enter(events, &event) || reading->is_out;
    if (sequence >= events->counted_to)
        events->counted_to = sequence + 1;
}

static enum berth_code read_line(void *arg, const char *line, size_t length, struct berth_err *err)
{
    struct reading *reading = arg;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const char *record = json_string_value(json_object_get(object, "record")),
               *boot = json_string_value(json_object_get(object, "id"));
    (void)err;
    if (record == NULL || (strcmp(record, "boot") == 0 && boot == NULL))
        counters_note_garbage(reading->counters, "%.60s: %.80s", reading->path, line);
    else if (strcmp(record, "boot") == 0)
        reading->is_other_boot = strcmp(boot, reading->counters->boot_id) != 0;
    else if (strcmp(record, "event") == 0 && !reading->is_other_boot)
        read_event(reading, object, line);
    json_decref(object);
    return BERTH_OK;
}

static bool is_recent(const struct kernel_event *event, const void *arg)
{
    const int64_t *now_s = arg;
    return event->at_s > *now_s - KERNEL_EVENTS_AGE_S;
}

bool event_file_read(const struct files *io, const char *path, int64_t now_s,
                     struct counters *counters)
{
    struct reading reading = {counters, path, counters->events.counted_to, false, false};
    struct stat status;
    struct berth_err err = {0};
    enum berth_code code = files_stat(io, path, &status, &err);
    if (code == BERTH_OK && ((status.st_uid != 0 && status.st_uid != geteuid()) ||
                             (status.st_mode & (S_IWGRP | S_IWOTH)) != 0))
        code = err_set(&err, BERTH_BAD_DATA, "%.100s: others may write it", path);
    if (code == BERTH_OK)
        code = files_read_lines(io, path, COUNTERS_FILE_MAX, read_line, &reading, &err);
    if (code != BERTH_OK && code != BERTH_ABSENT && code != BERTH_NO_MEMORY)
        counters_note_garbage(counters, "%s", err.detail);
    kernel_events_filter(&counters->events, is_recent, &now_s);
    return code != BERTH_NO_MEMORY && !reading.is_out;
}
