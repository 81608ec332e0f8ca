/* Export of the node, the daemon's state and measured values as Prometheus metrics. */
#include "export/formats.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "export/text.h"
#include "health/baseline.h"

static void put_help(struct print *text, const char *name, const char *help)
{
    export_text(text, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void put_one(struct print *text, const char *name, const char *help, double value)
{
    put_help(text, name, help);
    export_text(text, "%s %.15g\n", name, value);
}

static void put_info(const struct export_input *input, struct print *text)
{
    const struct graph *graph = input->snap->graph;
    put_help(text, "berth_info",
             "The daemon and the node that it answers for; always 1. origin is live unless the "
             "node is a recording.");
    export_text(text, "berth_info{version=\"" BERTH_VERSION "\",name=\"");
    export_text_quoted(text, graph->name);
    export_text(text, "\",origin=\"%s\",hardware=\"%.8s\"} 1\n",
                origin_name(snapshot_origin(input->snap)), graph->fingerprint);
    put_one(text, "berth_export_timestamp_seconds", "When these metrics were written.",
            (double)input->now_s);
    if (input->snap->last_probe_at_s > 0)
        put_one(text, "berth_last_probe_timestamp_seconds", "When the node was measured last.",
                (double)input->snap->last_probe_at_s);
}

static void put_health(const struct export_input *input, struct print *text)
{
    static const char *const about[] = {"info", "warning", "critical"};
    const struct assessment *assessment = input->assessment;
    put_help(text, "berth_health", "1 for the verdict of berth health, 0 for the others.");
    for (enum verdict verdict = VERDICT_HEALTHY; verdict <= VERDICT_UNKNOWN; verdict++)
        export_text(text, "berth_health{verdict=\"%s\"} %d\n", assessment_verdict_name(verdict),
                    assessment->verdict == verdict);
    put_one(text, "berth_drain_advised", "1 when berth advises to take the node out of service.",
            assessment->drain);
    put_help(text, "berth_findings", "Findings that stand, by severity.");
    for (enum severity severity = SEVERITY_INFO; severity <= SEVERITY_CRITICAL; severity++) {
        size_t count = 0;
        for (size_t i = 0; i < assessment->count; i++)
            count += assessment->finding[i].severity == severity &&
                     assessment_lists(&assessment->finding[i]);
        export_text(text, "berth_findings{severity=\"%s\"} %zu\n", about[severity], count);
    }
}

static bool same_series(const struct finding *a, const struct finding *b)
{
    return a->severity == b->severity && strcmp(a->code, b->code) == 0 &&
           strcmp(a->place, b->place) == 0;
}

/* Writes one series for all findings of a code, place and severity; berth health prints their
 * texts. */
static void put_findings(const struct export_input *input, struct print *text)
{
    const struct assessment *assessment = input->assessment;
    bool is_begun = false;
    for (size_t i = 0; i < assessment->count; i++) {
        const struct finding *finding = &assessment->finding[i];
        size_t count = 0;
        bool is_first = assessment_lists(finding);
        for (size_t k = 0; k < assessment->count; k++) {
            bool is_same = assessment_lists(&assessment->finding[k]) &&
                           same_series(finding, &assessment->finding[k]);
            is_first = is_first && !(is_same && k < i);
            count += is_same;
        }
        if (!is_first)
            continue;
        if (!is_begun)
            put_help(text, "berth_finding",
                     "Findings that stand, by code and place; berth health has their texts.");
        is_begun = true;
        export_text(text, "berth_finding{severity=\"%s\",code=\"",
                    assessment_severity_name(finding->severity));
        export_text_quoted(text, finding->code);
        export_text(text, "\",place=\"");
        export_text_quoted(text, finding->place);
        export_text(text, "\"} %zu\n", count);
    }
}

static void put_places(const struct export_input *input, struct print *text)
{
    static const enum place_kind kinds[] = {PLACE_PACKAGE, PLACE_NUMA, PLACE_LLC, PLACE_CORE,
                                            PLACE_PU,      PLACE_GPU,  PLACE_NIC, PLACE_SWITCH};
    const struct graph *graph = input->snap->graph;
    put_help(text, "berth_places", "Places that the node has, by kind.");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        export_text(text, "berth_places{kind=\"%s\"} %zu\n", place_kind_name(kinds[k]),
                    graph_count(graph, kinds[k]));
    if (input->is_claimed == NULL)
        return;
    put_help(text, "berth_places_free", "Places that no claim to compute covers, by kind.");
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        size_t count = 0;
        for (place_id id = graph_next(graph, kinds[k], 0); id != PLACE_NONE;
             id = graph_next(graph, kinds[k], id + 1))
            count += !input->is_claimed[id];
        if (kinds[k] == PLACE_GPU || kinds[k] == PLACE_CORE || kinds[k] == PLACE_NUMA)
            export_text(text, "berth_places_free{kind=\"%s\"} %zu\n", place_kind_name(kinds[k]),
                        count);
    }
}

static void put_memory(const struct export_input *input, struct print *text)
{
    const struct graph *graph = input->snap->graph;
    bool is_begun = false;
    for (place_id id = 0; (size_t)id < graph->place_count; id++) {
        const struct place *place = &graph->places[id];
        if ((place->kind != PLACE_NUMA && place->kind != PLACE_GPU) || place->capacity_bytes < 0)
            continue;
        if (!is_begun)
            put_help(text, "berth_memory_size_bytes", "Memory of a NUMA node or gpu.");
        is_begun = true;
        export_text(text, "berth_memory_size_bytes{place=\"%s\"} %" PRId64 "\n", place->name,
                    place->capacity_bytes);
    }
    is_begun = false;
    for (place_id id = 0; input->free_bytes != NULL && (size_t)id < graph->place_count; id++) {
        if (input->free_bytes[id] < 0)
            continue;
        if (!is_begun)
            put_help(text, "berth_memory_free_bytes",
                     "Memory of a NUMA node that the kernel could give now.");
        is_begun = true;
        export_text(text, "berth_memory_free_bytes{place=\"%s\"} %" PRId64 "\n",
                    graph->places[id].name, input->free_bytes[id]);
    }
}

static bool is_coarse(enum place_kind kind)
{
    return kind == PLACE_NUMA || kind == PLACE_LLC || kind == PLACE_GPU;
}

static bool is_sample(const struct snapshot *snap, const struct value *value)
{
    return value->source != VALUE_NOMINAL && isfinite(value->value) &&
           values_axes(snap->values, value)[0] == '\0' &&
           is_coarse(snap->graph->places[value->from].kind) &&
           is_coarse(snap->graph->places[value->to].kind);
}

/* The sample of a metric: its value, or its ratio to the baseline. */
enum sample { SAMPLE_VALUE, SAMPLE_RATIO };

static double sample_of(const struct snapshot *snap, const struct value *value, enum sample sample)
{
    const struct baseline *baseline =
        snap->baseline != NULL ? &snap->baseline[value - snap->values->item] : NULL;
    bool is_rate = strcmp(metric_info(value->metric)->unit, "bytes_per_s") == 0;
    if (sample == SAMPLE_VALUE)
        return is_rate ? value->value : value->value / 1e9;
    return baseline != NULL && baseline->count > 0
               ? baseline_goodness(value->metric, value->value, baseline->median)
               : (double)NAN;
}

static void put_samples(const struct snapshot *snap, const char *unit, const char *name,
                        const char *help, enum sample sample, size_t *left_out, struct print *text)
{
    bool is_begun = false;
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        const struct value *first;
        size_t count = values_range(snap->values, metric, PLACE_NONE, &first), pairs = 0;
        for (size_t i = 0;
             (unit == NULL || strcmp(metric_info(metric)->unit, unit) == 0) && i < count; i++) {
            double number =
                is_sample(snap, &first[i]) ? sample_of(snap, &first[i], sample) : (double)NAN;
            if (!isfinite(number))
                continue;
            if (pairs++ >= EXPORT_PROMETHEUS_PAIRS) {
                ++*left_out;
                continue;
            }
            if (!is_begun)
                put_help(text, name, help);
            is_begun = true;
            export_text(text, "%s{metric=\"%s\",from=\"%s\",to=\"%s\",source=\"%s\"} %.9g\n", name,
                        metric_info(metric)->name, snap->graph->places[first[i].from].name,
                        snap->graph->places[first[i].to].name, value_source_name(first[i].source),
                        number);
        }
    }
}

void export_prometheus(const struct export_input *input, struct print *text)
{
    size_t left_out = 0;
    put_info(input, text);
    put_health(input, text);
    put_findings(input, text);
    put_places(input, text);
    put_memory(input, text);
    put_samples(input->snap, "bytes_per_s", "berth_bandwidth_bytes_per_second",
                "Measured bandwidth between two places, at the metric's default axes.",
                SAMPLE_VALUE, &left_out, text);
    put_samples(input->snap, "ns", "berth_latency_seconds",
                "Measured latency between two places, at the metric's default axes.", SAMPLE_VALUE,
                &left_out, text);
    put_samples(input->snap, NULL, "berth_baseline_ratio",
                "How good the latest value is as a share of what is expected of this node; 1 is as "
                "expected.",
                SAMPLE_RATIO, &left_out, text);
    put_one(text, "berth_series_left_out", "Samples beyond the most that one metric may have.",
            (double)left_out);
}
