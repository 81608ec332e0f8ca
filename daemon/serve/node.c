/* io.berth.Fabric.GetNode: places, links, resources and limits found from measurements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/limits.h"
#include "node/jsonify.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/serve.h"

static json_t *place_json(const struct graph *graph, const struct place *place)
{
    char *cpus = place->cpus != NULL ? cpuset_list_new(place->cpus) : NULL;
    json_t *object = json_pack(
        "{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "name", place->name, "kind",
        place_kind_name(place->kind), "parent",
        place->parent == PLACE_NONE ? json_null() : json_string(graph->places[place->parent].name),
        "numa",
        place->numa == PLACE_NONE ? json_null() : json_string(graph->places[place->numa].name),
        "cpus", jsonify_text(cpus), "capacity_bytes", jsonify_count(place->capacity_bytes), "model",
        jsonify_text(place->model), "pci", jsonify_text(place->pci), "uuid",
        jsonify_text(place->uuid), "minor", jsonify_count(place->minor), "render_node",
        jsonify_text(place->render_node), "details",
        jsonify_details(place->details, place->detail_count));
    free(cpus);
    return object;
}

/* Returns the best measured rate in one direction for any other axes; at least @best, NAN none. */
static double best_measured(const struct values *values, enum metric metric, place_id from,
                            place_id to, double best)
{
    const struct value *first;
    size_t count = values_range(values, metric, from, &first);
    char text[48];
    for (size_t i = 0; i < count; i++) {
        if (first[i].to != to || first[i].source != VALUE_MEASURED || first[i].why_not != NULL ||
            first[i].value <= best)
            continue;
        const char *direction =
            axes_get(metric, values_axes(values, &first[i]), "direction", text, sizeof text);
        if (direction == NULL || strncmp(direction, "both", 4) != 0) /* a sum of both directions */
            best = first[i].value;
    }
    return best;
}

/* Returns the measured rate over a link in its slower direction, by the best mechanism or by copy
 * engine; NAN when nothing was measured. */
static double link_measured(const struct snapshot *snap, const struct link *link, bool by_engine)
{
    static const enum metric between[] = {METRIC_GPU_GPU_COPY_ENGINE, METRIC_HOST_GPU_COPY_ENGINE,
                                          METRIC_GPU_GPU_KERNEL, METRIC_HOST_GPU_KERNEL};
    size_t count = by_engine ? 2 : sizeof between / sizeof between[0];
    double there = NAN, back = NAN;
    if (link->kind == LINK_MEMBUS) {
        place_id numa = snap->graph->places[link->from].kind == PLACE_NUMA ? link->from : link->to;
        const struct value *value =
            values_find(snap->values, METRIC_MEMORY_BANDWIDTH, numa, numa, "");
        return value != NULL && value->source == VALUE_MEASURED && !by_engine ? value->value : NAN;
    }
    for (size_t i = 0; i < count; i++) {
        there = best_measured(snap->values, between[i], link->from, link->to, there);
        back = best_measured(snap->values, between[i], link->to, link->from, back);
    }
    return fmin(there, back);
}

static json_t *link_json(const struct snapshot *snap, const struct link *link)
{
    return json_pack("{s:s,s:s,s:s,s:i,s:o,s:o,s:o,s:s}", "from",
                     snap->graph->places[link->from].name, "to", snap->graph->places[link->to].name,
                     "kind", link_kind_name(link->kind), "width", link->width,
                     "nominal_bytes_per_s", jsonify_number(link->nominal_bytes_per_s),
                     "measured_bytes_per_s", jsonify_number(link_measured(snap, link, false)),
                     "engine_bytes_per_s", jsonify_number(link_measured(snap, link, true)), "state",
                     link_state_name(link->state));
}

static json_t *resource_json(const struct resource *resource)
{
    return json_pack("{s:s,s:o,s:o,s:o,s:b,s:o}", "name", resource->name, "capacity_bytes_per_s",
                     jsonify_number(resource->capacity_bytes_per_s), "low",
                     jsonify_number(resource->low), "high", jsonify_number(resource->high),
                     "inferred", resource->inferred, "users",
                     jsonify_strings(resource->users, resource->user_count));
}

/* Prints a limit found from measurements, for the mechanism that it limits. Its capacity is that of
 * the largest number of transfers measured. */
static json_t *found_json(const struct graph *graph, const struct limit *found)
{
    json_t *users = json_array();
    const struct limit_step *step = &found->step[found->step_count - 1];
    const char *metric = metric_info(found->metric)->name,
               *concurrent = strstr(metric, "_concurrent");
    for (size_t i = 0; i < found->user_count; i++)
        json_array_append_new(users, json_sprintf("%s>%s", graph->places[found->user[i].from].name,
                                                  graph->places[found->user[i].to].name));
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:b,s:o}", "name",
        json_sprintf("%s:%.*s", found->name,
                     concurrent != NULL ? (int)(concurrent - metric) : (int)strlen(metric), metric),
        "capacity_bytes_per_s", jsonify_number(step->bytes_per_s), "low", jsonify_number(step->low),
        "high", jsonify_number(step->high), "inferred", true, "users", users);
}

struct asked {
    const struct snapshot *snap; /* referenced */
    uint64_t claims;             /* generation at the time of the request */
};

static enum berth_code node_json(void *state, json_t **ret_result, struct berth_err *err)
{
    const struct snapshot *snap = ((const struct asked *)state)->snap;
    const struct limits *limits = snap->derived.limits;
    const struct graph *graph = snap->graph;
    json_t *places = json_array(), *links = json_array(), *resources = json_array();
    for (size_t i = 0; i < graph->place_count; i++)
        json_array_append_new(places, place_json(graph, &graph->places[i]));
    for (size_t i = 0; i < graph->link_count; i++)
        json_array_append_new(links, link_json(snap, &graph->links[i]));
    for (size_t i = 0; i < graph->resource_count; i++)
        json_array_append_new(resources, resource_json(&graph->resources[i]));
    for (size_t i = 0; i < limits->count; i++)
        if (limits->item[i].source == LIMIT_RUNS)
            json_array_append_new(resources, found_json(graph, &limits->item[i]));
    json_t *result =
        json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "name", jsonify_text(graph->name), "places",
                  places, "links", links, "resources", resources, "software",
                  jsonify_details(graph->software, graph->software_count), "disagreements",
                  jsonify_strings(graph->disagreements, graph->disagreement_count), "basis",
                  jsonify_basis(snap, ((const struct asked *)state)->claims));
    if (result == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *ret_result = result;
    return BERTH_OK;
}

static void asked_free(void *state)
{
    snapshot_unref(((const struct asked *)state)->snap);
    free(state);
}

/* Runs on the thread pool: it takes a good part of a millisecond or more. */
enum berth_code query_get_node(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    struct asked *asked = malloc(sizeof *asked);
    if (asked == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *asked = (struct asked){snapshot_ref(call->snap), claim_keep_generation(call->daemon->claims)};
    *ret = (struct outcome){
        .kind = OUTCOME_WORK, .state = asked, .work = node_json, .free_state = asked_free};
    return BERTH_OK;
}
