/* Causes of slow values: a link that is down or degraded explains the transfers that use it. */
#include "health/findings.h"

#include <stdio.h>
#include <string.h>

#include "node/link_path.h"

#define BEYOND 0.5 /* of the remaining fraction; a value below has another cause too */

static bool is_gpu(const struct graph *graph, place_id id)
{
    return graph_place(graph, id)->kind == PLACE_GPU;
}

static bool is_fabric(const struct link *link)
{
    return link->kind == LINK_NVLINK || link->kind == LINK_XGMI;
}

void explain_link(const struct graph *graph, const struct link *link, struct finding *finding)
{
    place_id gpu = is_gpu(graph, link->from) ? link->from : link->to,
             far = gpu == link->from ? link->to : link->from;
    bool is_to_switch = graph_place(graph, far)->kind == PLACE_SWITCH && is_fabric(link);
    finding->scope = is_gpu(graph, gpu) == is_gpu(graph, far) ? SCOPE_PAIR
                     : is_to_switch                           ? SCOPE_PEERS
                                                              : SCOPE_HOST;
    finding->first = gpu;
    finding->second = far;
}

/* True for metrics of small transfers, which do not depend on the number of lanes. */
static bool is_of_few_bytes(enum metric metric)
{
    return metric == METRIC_COPY_LATENCY || metric == METRIC_GPU_PINGPONG ||
           metric == METRIC_COLLECTIVE_LATENCY || metric == METRIC_TRANSFER_OVERHEAD ||
           metric == METRIC_MEMORY_LATENCY || metric == METRIC_CPU_PINGPONG;
}

/* True when id is @place or inside it, or when its nearest NUMA node is. */
static bool is_at(const struct graph *graph, place_id id, place_id place)
{
    place_id numa = graph_place(graph, id)->numa;
    for (place_id at = id; at != PLACE_NONE; at = graph_place(graph, at)->parent)
        if (at == place)
            return true;
    for (place_id at = numa; at != PLACE_NONE; at = graph_place(graph, at)->parent)
        if (at == place)
            return true;
    return false;
}

/* True when the GPU takes part. A collective of more than two has the GPUs between its ends as
 * members. */
static bool has_end(const struct snapshot *snap, const struct value *v, place_id gpu)
{
    bool is_collective =
        v->metric == METRIC_COLLECTIVE_BANDWIDTH || v->metric == METRIC_COLLECTIVE_LATENCY;
    bool are_many = is_collective && strstr(values_axes(snap->values, v), "members=") != NULL;
    return v->from == gpu || v->to == gpu || (are_many && (v->from < gpu) == (gpu < v->to));
}

/* True when the transfer goes through the host, as between GPUs without links of their own. */
static bool leaves_for_host(const struct graph *graph, const struct link_paths *paths,
                            const struct value *v)
{
    struct link_path path;
    if (!is_gpu(graph, v->from) || !is_gpu(graph, v->to))
        return true;
    return !link_path_find(paths, v->from, v->to, &path) ||
           !is_fabric(&graph->links[path.step[0].link]);
}

/* True on POWER9, where a GPU's NVLinks lead to the host as well. */
static bool has_nvlink_to_host(const struct graph *graph, place_id gpu)
{
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        place_id far = link->from == gpu ? link->to : link->to == gpu ? link->from : gpu;
        if (link->kind == LINK_NVLINK && graph_place(graph, far)->kind == PLACE_NUMA)
            return true;
    }
    return false;
}

static bool goes_over(const struct snapshot *snap, const struct link_paths *paths,
                      const struct finding *fact, const struct value *v)
{
    const struct graph *graph = snap->graph;
    if (v->from == v->to || v->metric == METRIC_ALLOCATION ||
        (fact->remaining > 0 && is_of_few_bytes(v->metric)))
        return false;
    if (fact->scope == SCOPE_PAIR)
        return (is_at(graph, v->from, fact->first) && is_at(graph, v->to, fact->second)) ||
               (is_at(graph, v->from, fact->second) && is_at(graph, v->to, fact->first));
    if (!has_end(snap, v, fact->first))
        return false;
    bool are_peers = is_gpu(graph, v->from) && is_gpu(graph, v->to);
    return fact->scope == SCOPE_HOST ? leaves_for_host(graph, paths, v)
                                     : are_peers || has_nvlink_to_host(graph, fact->first);
}

/* Appends the number of explained values and the worst of them to the fact's text. */
static void name_worst(const struct snapshot *snap, struct finding *fact,
                       const struct finding *worst)
{
    const struct value *v = worst->of;
    const struct metric_info *info = metric_info(v->metric);
    char axes[FINDINGS_AXES_SIZE], is[QUANTITY_SIZE], expected[QUANTITY_SIZE];
    size_t length = strlen(fact->text);
    snprintf(fact->text + length, sizeof fact->text - length,
             "; it explains %zu slow value%s, the worst %s from %s to %s%s: %s, expected %s",
             fact->explains, fact->explains == 1 ? "" : "s", info->name,
             graph_place(snap->graph, v->from)->name, graph_place(snap->graph, v->to)->name,
             findings_axes(snap, v, axes), findings_number(v->metric, worst->value, is),
             findings_number(v->metric, worst->expected, expected));
}

/* True when another rule reported the same value before: it counts once. */
static bool is_counted(const struct findings *findings, const struct finding *slow, size_t number)
{
    for (const struct finding *f = findings->finding; f < slow; f++)
        if (f->of == slow->of && f->explained_by == number)
            return true;
    return false;
}

static void explain(struct findings *findings, const struct link_paths *paths, struct finding *fact)
{
    const struct finding *worst = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *slow = &findings->finding[i];
        bool is_open =
            slow->of != NULL && slow->severity != SEVERITY_INFO && slow->explained_by == 0;
        if (!is_open || slow->goodness < BEYOND * fact->remaining ||
            !goes_over(findings->snap, paths, fact, slow->of))
            continue;
        slow->explained_by = fact->number;
        slow->is_unlisted = true;
        fact->explains += !is_counted(findings, slow, fact->number);
        if (slow->severity > fact->severity) {
            fact->severity = slow->severity;
            fact->at_s = slow->at_s;
        }
        fact->drain = fact->drain || slow->drain;
        if (worst == NULL || slow->goodness < worst->goodness)
            worst = slow;
    }
    if (worst != NULL)
        name_worst(findings->snap, fact, worst);
}

enum berth_code explain_values(struct findings *findings, struct berth_err *err)
{
    struct link_paths *paths = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *fact = &findings->finding[i];
        if (fact->scope == SCOPE_NONE || fact->severity == SEVERITY_INFO)
            continue;
        if (paths == NULL)
            paths = link_paths_new(findings->snap->graph);
        if (paths == NULL)
            return err_set(err, BERTH_NO_MEMORY, "no memory for the paths of slow values");
        explain(findings, paths, fact);
    }
    link_paths_free(paths);
    return BERTH_OK;
}

static bool holds_clocks_down(const struct finding *finding)
{
    return strcmp(finding->code, "throttled") == 0 || strcmp(finding->code, "gpu-throttled") == 0;
}

static bool is_bad_by(const struct snapshot *snap, const struct link_paths *paths,
                      const struct finding *finding, const struct value *v)
{
    const struct value *of = finding->of;
    if (finding->severity == SEVERITY_INFO)
        return false;
    if (of != NULL)
        return of->metric == v->metric && of->from == v->from && of->to == v->to;
    if (holds_clocks_down(finding)) {
        place_id place = graph_find(snap->graph, finding->place);
        return v->from == place || v->to == place;
    }
    return finding->scope != SCOPE_NONE && goes_over(snap, paths, finding, v);
}

enum berth_code explain_mark_bad(const struct snapshot *snap, const struct assessment *assessment,
                                 bool *is_bad, struct berth_err *err)
{
    struct link_paths *paths = link_paths_new(snap->graph);
    if (paths == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the paths of bad values");
    for (size_t i = 0; i < snap->values->count; i++)
        is_bad[i] = assessment->is_cut;
    for (size_t f = 0; f < assessment->count; f++)
        for (size_t i = 0; i < snap->values->count; i++)
            is_bad[i] = is_bad[i] ||
                        is_bad_by(snap, paths, &assessment->finding[f], &snap->values->item[i]);
    link_paths_free(paths);
    return BERTH_OK;
}
