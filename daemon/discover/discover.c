#include "discover/discover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/text.h"
#include "discover/backend.h"
#include "discover/backend_replay.h"
#include "discover/draft.h"
#include "node/curve.h"
#include "node/record.h"
#include "node/record_plain.h"
#include "node/record_values.h"
#include "node/tuning.h"

#define LIVE_KFD "/sys/class/kfd/kfd"

/* In the order of trust, ascending; each sees the places of those before it. */
static const struct backend *const backends[] = {&backend_hwloc, &backend_kfd, &backend_facts};

static enum berth_code run_backends(const struct backend_input *input, struct draft *draft,
                                    struct berth_err *err)
{
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        struct berth_err own = {0};
        enum berth_code code = backends[i]->discover(input, draft, &own);
        if (code != BERTH_OK && code != BERTH_ABSENT)
            return err_set(err, code, "%s", own.detail);
    }
    return BERTH_OK;
}

static void read_version(const struct files *io, const char *path, const char *key,
                         struct draft *draft)
{
    char *text = NULL;
    if (files_read(io, path, 256, &text, NULL) != BERTH_OK)
        return;
    text[strcspn(text, "\n")] = '\0';
    draft_software(draft, key, text);
    free(text);
}

enum berth_code discover_live(const struct files *io, const char *facts, struct discovery *ret,
                              struct berth_err *err)
{
    struct draft draft;
    struct utsname host;
    if (uname(&host) != 0 || !draft_init(&draft))
        return err_set(err, BERTH_NO_MEMORY, "no memory for discovery");
    const struct backend_input input = {.live = true, .io = io, .kfd = LIVE_KFD, .facts = facts};
    enum berth_code code = run_backends(&input, &draft, err);
    draft_software(&draft, "kernel", host.release);
    read_version(io, "/sys/module/amdgpu/version", "amdgpu", &draft);
    read_version(io, "/sys/module/nvidia/version", "nvidia", &draft);
    struct discovery found = {0};
    if (code == BERTH_OK)
        code = draft_finish(&draft, host.nodename, ORIGIN_LIVE, &found.graph, &found.values, err);
    else
        draft_done(&draft);
    if (code != BERTH_OK)
        return code;
    values_finish(found.values);
    *ret = found;
    return BERTH_OK;
}

/* State of reading a folder's record, line by line. A line that is broken, or about places that
 * this node lacks, is skipped and counted. The cell of a broken value notes the reason. */
struct reading {
    struct discovery *found;
    enum value_source source;
    int64_t started_at;
    size_t number, broken, first_line;
    struct berth_err first;
};

static void add_shapes(struct discovery *found, const char *shapes)
{
    char *merged = shapes != NULL ? tuning_merge(found->shapes, shapes) : NULL;
    if (merged == NULL)
        return;
    free(found->shapes);
    found->shapes = merged;
}

static void add_record(struct reading *reading, const char *line, size_t length,
                       struct berth_err *err)
{
    struct discovery *found = reading->found;
    struct record record;
    if (record_parse(line, length, &record, err) != BERTH_OK)
        return;
    if (record.kind == RECORD_RUN) {
        reading->source = record.run.source;
        reading->started_at = record.run.started_at;
        add_shapes(found, json_string_value(json_object_get(record.run.conditions, "shapes")));
        found->measured_at_s =
            reading->started_at > found->measured_at_s ? reading->started_at : found->measured_at_s;
    } else if (record.kind == RECORD_END) {
        add_shapes(found, json_string_value(json_object_get(record.end.conditions, "shapes")));
    } else if (record.kind == RECORD_SET) {
        record_add_set(&record, found->graph, reading->source, reading->started_at, found->sets,
                       err);
    } else if (record.kind == RECORD_VALUE || record.kind == RECORD_SKIP) {
        record_add_values(&record, found->graph, reading->source, reading->started_at,
                          found->values, err);
    }
    record_done(&record);
}

static void add_broken(struct reading *reading, const char *line, size_t length, const char *detail)
{
    char why[200];
    snprintf(why, sizeof why, "line %zu of the measurements is no value: %.150s", reading->number,
             detail);
    text_clean(why);
    record_add_broken(line, length, reading->found->graph, reading->source, reading->started_at,
                      why, reading->found->values);
}

static enum berth_code read_line(void *arg, const char *line, size_t length, struct berth_err *err)
{
    struct reading *reading = arg;
    struct record_plain plain;
    struct berth_err own = {0};
    reading->number++;
    if (length > 0 && record_plain(line, length, &plain))
        record_add_plain(&plain, reading->found->graph, reading->source, reading->started_at,
                         reading->found->values, &own);
    else if (length > 0)
        add_record(reading, line, length, &own);
    if (own.code == BERTH_NO_MEMORY)
        return err_set(err, own.code, "%s", own.detail);
    if (own.code != BERTH_OK)
        add_broken(reading, line, length, own.detail);
    if (own.code != BERTH_OK && reading->broken++ == 0) {
        reading->first = own;
        reading->first_line = reading->number;
    }
    return BERTH_OK;
}

static enum berth_code read_measurements(const struct files *io, const char *path,
                                         struct discovery *found, struct berth_err *err)
{
    struct reading reading = {.found = found, .source = VALUE_MEASURED};
    enum berth_code code = files_read_lines(io, path, RECORD_FILE_MAX, read_line, &reading, err);
    if (code != BERTH_OK || reading.broken == 0)
        return code;
    snprintf(found->left_out, sizeof found->left_out,
             "%zu line%s left out of the measurements, the first is line %zu: %.150s",
             reading.broken, reading.broken == 1 ? " is" : "s are", reading.first_line,
             reading.first.detail);
    text_clean(found->left_out);
    if (!graph_add_disagreement(found->graph, "%s.", found->left_out))
        return err_set(err, BERTH_NO_MEMORY, "no memory for discovery");
    return code;
}

enum berth_code discover_folder(const char *folder, struct discovery *ret, struct berth_err *err)
{
    struct replay replay;
    struct draft draft;
    enum berth_code code = backend_replay_open(folder, &replay, err);
    if (code != BERTH_OK)
        return code;
    if (!draft_init(&draft)) {
        backend_replay_done(&replay);
        return err_set(err, BERTH_NO_MEMORY, "no memory for discovery");
    }
    const struct files io = {replay.root};
    const struct backend_input input = {.xml = replay.xml,
                                        .xml_name = replay.xml_name,
                                        .io = &io,
                                        .kfd = replay.kfd,
                                        .facts = replay.facts};
    code = run_backends(&input, &draft, err);
    const char *key;
    json_t *value;
    json_object_foreach(replay.software, key, value)
    {
        draft_software(&draft, key, json_string_value(value));
    }
    struct discovery found = {0};
    if (code == BERTH_OK)
        code = draft_finish(&draft, replay.name, replay.origin, &found.graph, &found.values, err);
    else
        draft_done(&draft);
    if (code == BERTH_OK && (found.sets = sets_new()) == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for discovery");
    if (code == BERTH_OK && replay.measurements != NULL)
        code = read_measurements(&io, replay.measurements, &found, err);
    if (code == BERTH_OK && !curve_fill_large(found.values, found.graph))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for discovery");
    if (code == BERTH_OK && replay.counters != NULL)
        counters_parse(replay.counters, &found.counters);
    backend_replay_done(&replay);
    if (code != BERTH_OK) {
        discovery_done(&found);
        return code;
    }
    *ret = found;
    return BERTH_OK;
}

void discovery_done(struct discovery *discovery)
{
    graph_unref(discovery->graph);
    values_free(discovery->values);
    sets_free(discovery->sets);
    counters_done(&discovery->counters);
    free(discovery->shapes);
    *discovery = (struct discovery){0};
}
