#include "health/suspects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/baseline.h"

#define CAUSES_LISTED 64 /* per group; one more finding counts the rest */
/* least fraction of a core's cells out of line that puts the blame on the core */
#define CORE_SHARE 0.5
/* least fraction of a metric's cells and number of places that put the blame on the machine */
#define EVERYWHERE        0.75
#define EVERYWHERE_PLACES 4
/* most findings kept per group, including those of unlisted causes */
#define FINDINGS_KEPT 4096

static const char *const codes[RULE_COUNT] = {
    [RULE_NOMINAL] = "below-nominal",
    [RULE_PEERS] = "slower-than-peers",
    [RULE_BASELINE] = "slower-than-baseline",
    [RULE_BETTER] = "better-than-baseline",
};

void suspects_add(struct suspects *suspects, const struct suspect *suspect)
{
    suspects->item[suspects->count++] = *suspect;
}

static int compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare_pairs(const struct suspect *x, const struct suspect *y)
{
    int order = compare_numbers(x->rule, y->rule);
    if (order == 0)
        order = compare_numbers(x->value->metric, y->value->metric);
    if (order == 0)
        order = compare_numbers(x->value->from, y->value->from);
    return order != 0 ? order : compare_numbers(x->value->to, y->value->to);
}

/* Orders the worst first. Values better than their baseline come last and are counted apart. */
static int compare_goodness(const void *a, const void *b)
{
    const struct suspect *x = a, *y = b;
    int order = compare_numbers(x->rule == RULE_BETTER, y->rule == RULE_BETTER);
    if (order == 0)
        order = compare_numbers(y->runs >= BASELINE_LOW_RUNS, x->runs >= BASELINE_LOW_RUNS);
    if (order == 0 && x->goodness != y->goodness)
        order = x->goodness < y->goodness ? -1 : 1;
    if (order == 0)
        order = compare_pairs(x, y);
    return order != 0 ? order : compare_numbers(x->value->axes, y->value->axes);
}

static void describe_expectation(const struct suspect *suspect, char *buffer, size_t size)
{
    if (suspect->rule == RULE_NOMINAL)
        snprintf(buffer, size, "what is stated");
    else if (suspect->rule == RULE_PEERS)
        snprintf(buffer, size, "the median of %zu peers", suspect->others);
    else
        snprintf(buffer, size, "its baseline of %zu value%s", suspect->others,
                 suspect->others == 1 ? "" : "s");
}

/* Returns the end that a finding names: the GPU beside a memory, the memory beside a core. */
static const char *named_end(const struct place *from, const struct place *to)
{
    bool is_memorys = to->kind == PLACE_NUMA && from->kind != PLACE_GPU;
    return is_memorys || (to->kind == PLACE_GPU && from->kind == PLACE_NUMA) ? to->name
                                                                             : from->name;
}

static enum berth_code report(struct findings *findings, const struct suspect *suspect,
                              struct berth_err *err)
{
    const struct graph *graph = findings->snap->graph;
    const struct value *v = suspect->value;
    const struct metric_info *info = metric_info(v->metric);
    const struct place *from = graph_place(graph, v->from), *to = graph_place(graph, v->to);
    bool is_lasting = suspect->runs >= BASELINE_LOW_RUNS;
    enum severity severity = suspect->rule == RULE_BETTER ? SEVERITY_INFO
                             : is_lasting                 ? SEVERITY_CRITICAL
                                                          : SEVERITY_WARNING;
    struct finding *finding =
        findings_add(findings, severity, codes[suspect->rule], named_end(from, to));
    if (finding == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    char against[64], runs[48] = "", said[FINDINGS_AXES_SIZE], is[QUANTITY_SIZE],
                      expected[QUANTITY_SIZE];
    const char *while_busy =
        suspect->is_overloaded ? ", measured while the node was overloaded" : "";
    describe_expectation(suspect, against, sizeof against);
    if (suspect->runs > 1)
        snprintf(runs, sizeof runs, ", under %.0f %% in %u runs", 100 * BASELINE_LOW,
                 suspect->runs);
    findings_subject(graph, v->metric, v->from, v->to, values_axes(findings->snap->values, v),
                     finding->subject);
    finding->cause = suspect->cause;
    snprintf(finding->text, sizeof finding->text,
             "%s from %s to %s%s is %s, %.0f %% of %s (%s)%s%s", info->name, from->name, to->name,
             findings_axes(findings->snap, v, said), findings_number(v->metric, v->value, is),
             100 * v->value / suspect->expected, against,
             findings_number(v->metric, suspect->expected, expected), runs, while_busy);
    finding->value = v->value;
    finding->expected = suspect->expected;
    finding->unit = info->unit;
    finding->goodness = suspect->goodness;
    finding->at_s = v->measured_at_s;
    finding->drain = is_lasting;
    finding->of = v;
    return BERTH_OK;
}

static enum berth_code report_rest(struct findings *findings, bool is_better, size_t unlisted,
                                   struct berth_err *err)
{
    struct finding *finding = findings_add(findings, is_better ? SEVERITY_INFO : SEVERITY_WARNING,
                                           "more", graph_place(findings->snap->graph, 0)->name);
    if (finding == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    finding->is_rest = true;
    snprintf(finding->subject, sizeof finding->subject, "%s", is_better ? "better" : "worse");
    snprintf(finding->text, sizeof finding->text,
             "%zu more values are %s; the %s %d places are listed", unlisted,
             is_better ? "better than their baseline" : "out of line",
             is_better ? "first" : "worst", CAUSES_LISTED);
    return BERTH_OK;
}

/* Number of cells of one metric at one place: measured, and suspected. */
struct tally {
    size_t all, suspected;
};

static void count(struct tally *tally, size_t places, const struct value *v, bool is_suspect)
{
    const place_id ends[] = {v->from, v->to};
    for (int i = 0; i < (v->from == v->to ? 1 : 2); i++) {
        struct tally *at = &tally[(size_t)v->metric * places + (size_t)ends[i]];
        at->all += !is_suspect;
        at->suspected += is_suspect;
    }
}

/* True when a is more to blame than b: by the fraction of suspected cells, then by their number. */
static bool is_rather(const struct tally *a, const struct tally *b)
{
    double left = (double)a->suspected * (double)b->all,
           right = (double)b->suspected * (double)a->all;
    return left != right ? left > right : a->suspected > b->suspected;
}

/* True when nearly all cells of the metric at several places are suspected: no single place is to
 * blame. */
static bool is_everywhere(const struct tally *of, size_t places)
{
    size_t all = 0, suspected = 0, involved = 0;
    for (size_t p = 0; p < places; p++) {
        all += of[p].all;
        suspected += of[p].suspected;
        involved += of[p].suspected > 0;
    }
    return involved >= EVERYWHERE_PLACES && (double)suspected >= EVERYWHERE * (double)all;
}

/* Returns the end of a value with the larger fraction of its cells out of line. All cells of a slow
 * GPU are; of the memory at the other end only those of this GPU. */
static place_id cause_of(const struct graph *graph, const struct tally *of, const struct value *v)
{
    if (is_rather(&of[v->from], &of[v->to]) || is_rather(&of[v->to], &of[v->from]))
        return is_rather(&of[v->from], &of[v->to]) ? v->from : v->to;
    place_id first = v->from < v->to ? v->from : v->to, last = v->from < v->to ? v->to : v->from;
    return graph_place(graph, last)->kind == PLACE_NUMA ? last : first;
}

/* True for random scatter between cores. Single pairs vary by factors with the cache line's
 * position and a hypervisor's load. So a core differs from its peers only if half of its cells
 * do. */
static bool is_scatter(const struct suspect *suspect, const struct tally *at)
{
    const struct value *v = suspect->value;
    bool is_of_cores = suspect->rule == RULE_PEERS &&
                       health_limits_kind(v->metric) == LIMIT_PINGPONG && v->from != v->to &&
                       suspect->cause != 0;
    return is_of_cores && (double)at->suspected < CORE_SHARE * (double)at->all;
}

/* Sets the cause of each suspect and removes scatter; *n is the number that remain, in their order.
 * Fails with NO_MEMORY. */
static enum berth_code find_causes(const struct snapshot *snap, struct suspect *suspect, size_t *n,
                                   struct berth_err *err)
{
    size_t kept = 0;
    size_t places = snap->graph->place_count;
    int8_t everywhere[METRIC_COUNT] = {0}; /* 1 yes, -1 no, 0 not computed yet */
    struct tally *tally = calloc(METRIC_COUNT * places, sizeof *tally);
    bool *is_counted = calloc(snap->values->count + 1, sizeof *is_counted);
    if (tally == NULL || is_counted == NULL) {
        free(tally);
        free(is_counted);
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    }
    for (size_t i = 0; i < snap->values->count; i++)
        if (snap->values->item[i].source == VALUE_MEASURED && snap->values->item[i].value > 0)
            count(tally, places, &snap->values->item[i], false);
    for (size_t i = 0; i < *n; i++) {
        bool *counted = &is_counted[suspect[i].value - snap->values->item];
        if (!*counted)
            count(tally, places, suspect[i].value, true);
        *counted = true;
    }
    for (size_t i = 0; i < *n; i++) {
        const struct value *v = suspect[i].value;
        const struct tally *of = &tally[(size_t)v->metric * places];
        if (everywhere[v->metric] == 0)
            everywhere[v->metric] = is_everywhere(of, places) ? 1 : -1;
        suspect[i].cause = everywhere[v->metric] > 0 ? 0 : cause_of(snap->graph, of, v);
        if (!is_scatter(&suspect[i], &of[suspect[i].cause]))
            suspect[kept++] = suspect[i];
    }
    free(tally);
    free(is_counted);
    *n = kept;
    return BERTH_OK;
}

/* True when the cause is listed already, or there is room to list it. */
static bool is_listed(place_id *listed, size_t *n, place_id cause)
{
    for (size_t i = 0; i < *n; i++)
        if (listed[i] == cause)
            return true;
    if (*n == CAUSES_LISTED)
        return false;
    listed[(*n)++] = cause;
    return true;
}

/* Makes a finding of each suspect. They are all worse than expected or all better, the farthest
 * first. Lists the findings of the first CAUSES_LISTED causes. */
static enum berth_code report_group(struct findings *findings, struct suspect *suspect, size_t n,
                                    struct berth_err *err)
{
    place_id listed[CAUSES_LISTED];
    size_t causes = 0, unlisted = 0;
    enum berth_code code = n > 0 ? find_causes(findings->snap, suspect, &n, err) : BERTH_OK;
    for (size_t i = 0; code == BERTH_OK && i < n; i++) {
        bool is_unlisted = !is_listed(listed, &causes, suspect[i].cause);
        unlisted += is_unlisted;
        if (i >= FINDINGS_KEPT)
            continue;
        code = report(findings, &suspect[i], err);
        if (code == BERTH_OK)
            findings->finding[findings->count - 1].is_unlisted = is_unlisted;
    }
    if (code != BERTH_OK)
        return code;
    findings->is_cut = findings->is_cut || n > FINDINGS_KEPT;
    return unlisted > 0 ? report_rest(findings, suspect->rule == RULE_BETTER, unlisted, err)
                        : BERTH_OK;
}

enum berth_code suspects_report(struct findings *findings, struct suspects *suspects,
                                struct berth_err *err)
{
    size_t worse = 0;
    qsort(suspects->item, suspects->count, sizeof *suspects->item, compare_goodness);
    while (worse < suspects->count && suspects->item[worse].rule != RULE_BETTER)
        worse++;
    enum berth_code code = report_group(findings, suspects->item, worse, err);
    return code == BERTH_OK
               ? report_group(findings, suspects->item + worse, suspects->count - worse, err)
               : code;
}
