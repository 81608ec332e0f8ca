#include "discover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "backend.h"
#include "backend_replay.h"
#include "curve.h"
#include "draft.h"
#include "record.h"
#include "record_values.h"

#define LIVE_KFD "/sys/class/kfd/kfd"

/* Ascending trust, and each finds what those before it added. */
static const struct backend *const backends[] = {&backend_hwloc, &backend_kfd, &backend_facts};

static enum berth_code run_backends(const struct backend_input *input, struct draft *draft, struct berth_err *err)
{
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        struct berth_err own = {0};
        enum berth_code code = backends[i]->discover(input, draft, &own);
        if (code != BERTH_OK && code != BERTH_ABSENT)
            return err_set(err, code, "%s", own.detail);
    }
    return BERTH_OK;
}

static void read_version(const struct sysio *io, const char *path, const char *key, struct draft *draft)
{
    char *text = NULL;
    if (sysio_read(io, path, 256, &text, NULL) != BERTH_OK)
        return;
    text[strcspn(text, "\n")] = '\0';
    draft_software(draft, key, text);
    free(text);
}

enum berth_code discover_live(const struct sysio *io, const char *facts, struct discovery *ret, struct berth_err *err)
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

/* A folder's record, line by line. What is broken or about places this node has not is left out and counted. */
static enum berth_code read_measurements(const char *text, struct discovery *found, struct berth_err *err)
{
    enum value_source source = VALUE_MEASURED;
    struct berth_err first = {0};
    size_t broken = 0, number = 0, first_line = 0;
    int64_t started_at = 0;
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        struct record record;
        struct berth_err own = {0};
        number++;
        if (length > 0 && record_parse(line, length, &record, &own) == BERTH_OK) {
            if (record.kind == RECORD_RUN) {
                source = record.run.source;
                started_at = record.run.started_at;
                found->measured_at_s = started_at > found->measured_at_s ? started_at : found->measured_at_s;
            } else if (record.kind == RECORD_SET) {
                record_add_set(&record, found->graph, source, started_at, found->sets, &own);
            } else if (record.kind == RECORD_VALUE || record.kind == RECORD_SKIP) {
                record_add_values(&record, found->graph, source, started_at, found->values, &own);
            }
            record_done(&record);
        }
        if (own.code == BERTH_NO_MEMORY)
            return err_set(err, own.code, "%s", own.detail);
        if (own.code != BERTH_OK && broken++ == 0) {
            first = own;
            first_line = number;
        }
        line += length + (line[length] == '\n');
    }
    if (broken > 0 && !graph_add_disagreement(found->graph, "%zu lines of the measurements are left out; the first, line %zu: %s.", broken,
                                              first_line, first.detail))
        return err_set(err, BERTH_NO_MEMORY, "no memory for discovery");
    return BERTH_OK;
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
    const struct sysio io = {replay.root};
    const struct backend_input input = {
        .xml = replay.xml, .xml_name = replay.xml_name, .io = &io, .kfd = replay.kfd, .facts = replay.facts};
    code = run_backends(&input, &draft, err);
    const char *key;
    json_t *value;
    json_object_foreach(replay.software, key, value) {
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
        code = read_measurements(replay.measurements, &found, err);
    if (code == BERTH_OK && !curve_fill_large(found.values, found.graph))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for discovery");
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
    *discovery = (struct discovery){0};
}
