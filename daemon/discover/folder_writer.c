/* Recording of a node as a node folder: the files that a daemon elsewhere answers from. */
#include "discover/discover.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "discover/backend.h"
#include "discover/backend_replay.h"
#include "node/record.h"

#define LIVE_KFD     "/sys/class/kfd/kfd"
#define KFD_FILE_MAX 65536

struct recording {
    const struct files *io;
    const char *xml, *kfd, *facts; /* text, path below io, text; NULL none */
    const struct folder_contents *contents;
    bool has_nominal; /* nominal values are recorded, too */
    discover_visit visit;
    void *arg;
    bool stopped; /* visit has returned false */
};

static void free_text(char **text) { free(*text); }
static void free_names(char ***names) { files_names_free(*names); }

static void emit(struct recording *recording, const char *file, const char *text)
{
    if (!recording->stopped)
        recording->stopped = !recording->visit(recording->arg, file, text, strlen(text));
}

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory to record the node");
}

/* Text that grows. */
struct text {
    char *bytes;
    size_t length, room;
};

static bool append(struct text *text, const char *line)
{
    size_t length = strlen(line);
    if (text->length + length + 1 > text->room) {
        size_t room = 2 * (text->length + length + 1);
        char *more = realloc(text->bytes, room);
        if (more == NULL)
            return false;
        text->bytes = more;
        text->room = room;
    }
    memcpy(text->bytes + text->length, line, length + 1);
    text->length += length;
    return true;
}

/* Appends an object as one line and drops it. */
static bool append_json(struct text *text, json_t *object)
{
    char *line = object == NULL ? NULL : print_tree(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool ok = line != NULL && append(text, line) && append(text, "\n");
    free(line);
    json_decref(object);
    return ok;
}

static bool set_number(json_t *object, const char *key, double number)
{
    return isnan(number) || json_object_set_new(object, key, json_real(number)) == 0;
}

/* Parses "bytes=4096;operation=cas" to an object; NULL when out of memory. */
static json_t *axes_json(const char *axes)
{
    json_t *object = json_object();
    while (object != NULL && *axes != '\0') {
        char key[64], value[64];
        size_t length = strcspn(axes, ";"), split = strcspn(axes, "=");
        if (split < length && length < sizeof key) {
            snprintf(key, sizeof key, "%.*s", (int)split, axes);
            snprintf(value, sizeof value, "%.*s", (int)(length - split - 1), axes + split + 1);
            if (json_object_set_new(object, key, json_string(value)) != 0) {
                json_decref(object);
                return NULL;
            }
        }
        axes += length + (axes[length] == ';');
    }
    return object;
}

static json_t *value_json(const struct graph *graph, const struct values *values,
                          const struct value *value)
{
    bool has_value = !isnan(value->value);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:o*}", "record", has_value ? "value" : "skip", "metric",
                  metric_info(value->metric)->name, "from", graph->places[value->from].name, "to",
                  graph->places[value->to].name, "axes", axes_json(values_axes(values, value)));
    bool ok = object != NULL;
    if (has_value)
        ok = ok && set_number(object, "value", value->value) &&
             set_number(object, "low", value->low) && set_number(object, "high", value->high) &&
             (value->n == 0 || json_object_set_new(object, "n", json_integer(value->n)) == 0);
    else
        ok = ok && json_object_set_new(
                       object, "why",
                       json_string(value->why_not == NULL ? "unknown" : value->why_not)) == 0;
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Finds the next group of values under one run line: by source, then time. A live machine's nominal
 * values are left to their sources; those of a folder may be its measurements file's own. */
static const struct value *next_group(const struct values *values, const struct value *last,
                                      bool has_nominal)
{
    const struct value *next = NULL;
    for (size_t i = 0; i < values->count; i++) {
        const struct value *v = &values->item[i];
        bool after = last == NULL || v->source > last->source ||
                     (v->source == last->source && v->measured_at_s > last->measured_at_s);
        bool before = next == NULL || v->source < next->source ||
                      (v->source == next->source && v->measured_at_s < next->measured_at_s);
        if ((has_nominal || v->source != VALUE_NOMINAL) && after && before)
            next = v;
    }
    return next;
}

static json_t *run_json(enum value_source source, int64_t measured_at_s)
{
    return json_pack("{s:s, s:i, s:s, s:s, s:I, s:s}", "record", "run", "schema", RECORD_SCHEMA,
                     "probe", "all", "backend", "store", "started_at", (json_int_t)measured_at_s,
                     "source", value_source_name(source));
}

/* A run without values, for its condition. */
static json_t *shapes_json(const char *shapes)
{
    json_t *run = run_json(VALUE_MEASURED, 0);
    if (run != NULL &&
        json_object_set_new(run, "conditions", json_pack("{s:s}", "shapes", shapes)) == 0)
        return run;
    json_decref(run);
    return NULL;
}

static json_t *set_json(const struct graph *graph, const struct set *set)
{
    json_t *flows = json_array();
    json_t *object = json_pack("{s:s, s:s, s:o}", "record", "set", "metric",
                               metric_info(set->metric)->name, "flows", flows);
    bool ok = object != NULL;
    for (size_t i = 0; ok && i < set->flow_count; i++) {
        const struct set_flow *flow = &set->flow[i];
        json_t *one = json_pack("{s:s, s:s, s:o*, s:f}", "from", graph->places[flow->from].name,
                                "to", graph->places[flow->to].name, "axes",
                                flow->axes[0] != '\0' ? axes_json(flow->axes) : NULL, "bytes_per_s",
                                flow->bytes_per_s);
        ok = json_array_append(flows, one) == 0 && set_number(one, "low", flow->low) &&
             set_number(one, "high", flow->high);
        json_decref(one);
    }
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

/* Appends the sets, each under a run line of its own time. */
static bool append_sets(struct text *text, const struct graph *graph, const struct sets *sets)
{
    bool ok = true;
    for (size_t i = 0; sets != NULL && ok && i < sets->count; i++) {
        const struct set *set = &sets->item[i];
        if (i == 0 || set->source != set[-1].source || set->measured_at_s != set[-1].measured_at_s)
            ok = append_json(text, run_json(set->source, set->measured_at_s));
        ok = ok && append_json(text, set_json(graph, set));
    }
    return ok;
}

static enum berth_code record_values(struct recording *recording, struct berth_err *err)
{
    const struct graph *graph = recording->contents->graph;
    const struct values *values = recording->contents->values;
    struct text text = {0};
    bool ok = recording->contents->shapes == NULL ||
              append_json(&text, shapes_json(recording->contents->shapes));
    const struct value *group = NULL;
    while (ok && (group = next_group(values, group, recording->has_nominal)) != NULL) {
        ok = append_json(&text, run_json(group->source, group->measured_at_s));
        for (size_t i = 0; ok && i < values->count; i++)
            if (values->item[i].source == group->source &&
                values->item[i].measured_at_s == group->measured_at_s)
                ok = append_json(&text, value_json(graph, values, &values->item[i]));
    }
    ok = ok && append_sets(&text, graph, recording->contents->sets);
    if (ok && text.length > 0)
        emit(recording, "measurements.jsonl", text.bytes);
    free(text.bytes);
    return ok ? BERTH_OK : no_memory(err);
}

/* Copies the file from/rest as to/rest. Kernels may lack files, and users may lack the right to
 * read them. */
static enum berth_code record_file(struct recording *recording, const char *from, const char *to,
                                   const char *rest, struct berth_err *err)
{
    char *path __attribute__((cleanup(free_text))) = NULL,
               *file __attribute__((cleanup(free_text))) = NULL;
    char *text __attribute__((cleanup(free_text))) = NULL;
    if (asprintf(&path, "%s/%s", from, rest) < 0)
        path = NULL; /* undefined after a failure */
    if (asprintf(&file, "%s/%s", to, rest) < 0)
        file = NULL;
    if (path == NULL || file == NULL)
        return no_memory(err);
    enum berth_code code = files_read(recording->io, path, KFD_FILE_MAX, &text, NULL);
    if (code == BERTH_OK)
        emit(recording, file, text);
    return code == BERTH_NO_MEMORY ? no_memory(err) : BERTH_OK;
}

/* Copies the files of one node of the tree that berth reads. */
static enum berth_code record_kfd_node(struct recording *recording, const char *from,
                                       const char *to, struct berth_err *err)
{
    static const char *const files[] = {"properties", "gpu_id", "name"};
    static const char *const lists[] = {"io_links", "p2p_links", "mem_banks"};
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < 3 && code == BERTH_OK; i++)
        code = record_file(recording, from, to, files[i], err);
    for (size_t i = 0; i < 3 && code == BERTH_OK; i++) {
        char *directory __attribute__((cleanup(free_text))) = NULL;
        char **names __attribute__((cleanup(free_names))) = NULL;
        if (asprintf(&directory, "%s/%s", from, lists[i]) < 0) {
            directory = NULL;
            return no_memory(err);
        }
        if (files_list(recording->io, directory, &names, NULL) != BERTH_OK)
            continue;
        for (size_t k = 0; names[k] != NULL && code == BERTH_OK; k++) {
            char rest[512];
            snprintf(rest, sizeof rest, "%s/%.255s/properties", lists[i], names[k]);
            code = record_file(recording, from, to, rest, err);
        }
    }
    return code;
}

static enum berth_code record_kfd(struct recording *recording, struct berth_err *err)
{
    char *directory __attribute__((cleanup(free_text))) = NULL;
    char **names __attribute__((cleanup(free_names))) = NULL;
    if (asprintf(&directory, "%s/topology/nodes", recording->kfd) < 0) {
        directory = NULL;
        return no_memory(err);
    }
    enum berth_code code = files_list(recording->io, directory, &names, err);
    for (size_t i = 0; code == BERTH_OK && names[i] != NULL; i++) {
        char *from __attribute__((cleanup(free_text))) = NULL;
        char to[300];
        if (asprintf(&from, "%s/%s", directory, names[i]) < 0) {
            from = NULL;
            return no_memory(err);
        }
        snprintf(to, sizeof to, "kfd/topology/nodes/%.255s", names[i]);
        code = record_kfd_node(recording, from, to, err);
    }
    return code;
}

static bool has_counters(const struct folder_contents *contents)
{
    const struct counters *counters = contents->counters;
    return counters != NULL &&
           counters->count + counters->events.count + counters->throttles.count > 0;
}

static enum berth_code record_counters(struct recording *recording, struct berth_err *err)
{
    char *text = counters_print(recording->contents->counters);
    if (text == NULL)
        return no_memory(err);
    emit(recording, "counters.jsonl", text);
    free(text);
    return BERTH_OK;
}

static enum berth_code record_node_json(struct recording *recording, struct berth_err *err)
{
    const struct folder_contents *contents = recording->contents;
    const struct graph *graph = contents->graph;
    enum origin origin = contents->origin == ORIGIN_LIVE ? ORIGIN_RECORDED : contents->origin;
    bool has_measurements = contents->shapes != NULL ||
                            next_group(contents->values, NULL, recording->has_nominal) != NULL ||
                            (contents->sets != NULL && contents->sets->count > 0);
    json_t *node = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*}", "name", graph->name,
                             "fingerprint", graph->fingerprint, "origin", origin_name(origin),
                             "hwloc", recording->xml != NULL ? "topology.xml" : NULL, "kfd",
                             recording->kfd != NULL ? "kfd" : NULL, "facts",
                             recording->facts != NULL ? "facts.jsonl" : NULL, "counters",
                             has_counters(contents) ? "counters.jsonl" : NULL, "measurements",
                             has_measurements ? "measurements.jsonl" : NULL);
    json_t *software = json_object();
    bool ok = node != NULL && software != NULL;
    for (size_t i = 0; ok && i < graph->software_count; i++)
        ok = json_object_set_new(software, graph->software[i].key,
                                 json_string(graph->software[i].value)) == 0;
    ok = ok && json_object_set(node, "software", software) == 0;
    char *text = ok ? print_tree(node, JSON_INDENT(2)) : NULL;
    if (text != NULL)
        emit(recording, "node.json", text);
    ok = text != NULL;
    free(text);
    json_decref(software);
    json_decref(node);
    return ok ? BERTH_OK : no_memory(err);
}

static enum berth_code record_all(struct recording *recording, struct berth_err *err)
{
    enum berth_code code = record_node_json(recording, err);
    if (code == BERTH_OK && recording->xml != NULL)
        emit(recording, "topology.xml", recording->xml);
    if (code == BERTH_OK && recording->kfd != NULL)
        code = record_kfd(recording, err);
    if (code == BERTH_OK && recording->facts != NULL)
        emit(recording, "facts.jsonl", recording->facts);
    if (code == BERTH_OK && has_counters(recording->contents))
        code = record_counters(recording, err);
    return code == BERTH_OK ? record_values(recording, err) : code;
}

enum berth_code discover_write_folder(const struct files *io, const char *folder,
                                      const struct folder_contents *contents, discover_visit visit,
                                      void *arg, struct berth_err *err)
{
    struct recording recording = {.io = io, .contents = contents, .visit = visit, .arg = arg};
    enum berth_code code;
    if (folder != NULL) {
        struct replay replay;
        code = backend_replay_open(folder, &replay, err);
        if (code != BERTH_OK)
            return code;
        const struct files inside = {replay.root};
        recording.io = &inside;
        recording.xml = replay.xml;
        recording.kfd = replay.kfd;
        recording.facts = replay.facts;
        recording.has_nominal = true;
        code = record_all(&recording, err);
        backend_replay_done(&replay);
        return code;
    }
    char *xml __attribute__((cleanup(free_text))) = NULL;
    code = backend_hwloc_export(io, &xml, err);
    if (code != BERTH_OK)
        return code;
    recording.xml = xml;
    recording.kfd = files_exists(io, LIVE_KFD "/topology/nodes") ? LIVE_KFD : NULL;
    recording.facts = contents->graph->facts;
    return record_all(&recording, err);
}

enum berth_code discover_xml(const struct files *io, const char *folder, char **ret_xml,
                             char **ret_name, struct berth_err *err)
{
    char *xml = NULL, *name = NULL;
    struct replay replay = {0};
    enum berth_code code = folder == NULL ? backend_hwloc_export(io, &xml, err)
                                          : backend_replay_open(folder, &replay, err);
    if (code == BERTH_OK && folder != NULL && replay.xml == NULL)
        code = err_set(err, BERTH_ABSENT, "this node is known without an hwloc XML");
    if (code == BERTH_OK && replay.xml != NULL)
        xml = strdup(replay.xml);
    if (code == BERTH_OK)
        name = strdup(folder != NULL && replay.xml_name != NULL ? replay.xml_name : "topology.xml");
    backend_replay_done(&replay);
    if (code == BERTH_OK && (xml == NULL || name == NULL))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the XML of the node");
    if (code != BERTH_OK) {
        free(xml);
        free(name);
        return code;
    }
    *ret_xml = xml;
    *ret_name = name;
    return BERTH_OK;
}
