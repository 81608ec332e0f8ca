#include "judge_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_MAX 64 /* and one that counts the rest */

static const char *const codes[RULE_COUNT] = {
    [RULE_NOMINAL] = "below-nominal",
    [RULE_LIKES] = "slower-than-likes",
    [RULE_BASELINE] = "slower-than-baseline",
    [RULE_BETTER] = "better-than-baseline",
};

void judge_report_add(struct suspects *suspects, const struct suspect *suspect) { suspects->item[suspects->count++] = *suspect; }

static int compare_numbers(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* What is better than it was is no trouble: it comes last and is counted apart. */
static int compare_pairs(const void *a, const void *b)
{
    const struct suspect *x = a, *y = b;
    int order = compare_numbers(x->rule, y->rule);
    if (order == 0)
        order = compare_numbers(x->value->metric, y->value->metric);
    if (order == 0)
        order = compare_numbers(x->value->from, y->value->from);
    if (order == 0)
        order = compare_numbers(x->value->to, y->value->to);
    if (order == 0) /* one that has been low for three runs must not hide behind one that is lower since today */
        order = compare_numbers(y->runs >= BASELINE_LOW_RUNS, x->runs >= BASELINE_LOW_RUNS);
    return order != 0 ? order : (x->goodness > y->goodness) - (x->goodness < y->goodness);
}

static bool is_same_pair(const struct suspect *a, const struct suspect *b)
{
    return a->rule == b->rule && a->value->metric == b->value->metric && a->value->from == b->value->from && a->value->to == b->value->to;
}

static int compare_goodness(const void *a, const void *b)
{
    const struct suspect *x = a, *y = b;
    int order = compare_numbers(x->rule == RULE_BETTER, y->rule == RULE_BETTER);
    if (order == 0)
        order = compare_numbers(y->runs >= BASELINE_LOW_RUNS, x->runs >= BASELINE_LOW_RUNS);
    if (order == 0 && x->goodness != y->goodness)
        order = x->goodness < y->goodness ? -1 : 1;
    return order != 0 ? order : compare_pairs(a, b);
}

static void describe_expectation(const struct suspect *suspect, char *buffer, size_t size)
{
    if (suspect->rule == RULE_NOMINAL)
        snprintf(buffer, size, "what is stated");
    else if (suspect->rule == RULE_LIKES)
        snprintf(buffer, size, "the median of %zu like it", suspect->others);
    else
        snprintf(buffer, size, "its baseline of %zu value%s", suspect->others, suspect->others == 1 ? "" : "s");
}

static enum berth_code report(struct judge_work *work, const struct suspect *suspect, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct value *v = suspect->value;
    const struct metric_info *info = metric_info(v->metric);
    const struct place *from = graph_place(graph, v->from), *to = graph_place(graph, v->to);
    bool is_lasting = suspect->runs >= BASELINE_LOW_RUNS;
    enum severity severity = suspect->rule == RULE_BETTER ? SEVERITY_INFO : is_lasting ? SEVERITY_CRITICAL : SEVERITY_WARNING;
    struct finding *finding = judge_part_add(work, severity, codes[suspect->rule], to->kind == PLACE_NUMA ? to->name : from->name);
    if (finding == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    const char *axes = values_axes(work->snap->values, v);
    double scale = strcmp(info->unit, "bytes_per_s") == 0 ? 1e-9 : 1;
    char against[64], runs[48] = "";
    describe_expectation(suspect, against, sizeof against);
    if (suspect->runs > 1)
        snprintf(runs, sizeof runs, ", under %.0f %% in %u runs", 100 * BASELINE_LOW, suspect->runs);
    snprintf(finding->subject, sizeof finding->subject, "%s %s %s", info->name, from->name, to->name);
    snprintf(finding->text, sizeof finding->text, "%s from %s to %s%s%s is %.4g %s, %.0f %% of %s (%.4g)%s", info->name, from->name, to->name,
             axes[0] != '\0' ? " with " : "", axes, v->value * scale, scale == 1 ? info->unit : "GB/s", 100 * v->value / suspect->expected,
             against, suspect->expected * scale, runs);
    finding->value = v->value;
    finding->expected = suspect->expected;
    finding->unit = info->unit;
    finding->at_s = v->measured_at_s;
    finding->drain = is_lasting;
    return BERTH_OK;
}

/* suspects: all worse than expected or all better, the farthest first. */
static enum berth_code report_group(struct judge_work *work, const struct suspect *suspect, size_t count, struct berth_err *err)
{
    for (size_t i = 0; i < count && i < FINDINGS_MAX; i++) {
        enum berth_code code = report(work, &suspect[i], err);
        if (code != BERTH_OK)
            return code;
    }
    if (count <= FINDINGS_MAX)
        return BERTH_OK;
    bool is_better = suspect->rule == RULE_BETTER;
    struct finding *finding = judge_part_add(work, is_better ? SEVERITY_INFO : SEVERITY_WARNING, "more", graph_place(work->snap->graph, 0)->name);
    if (finding == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    snprintf(finding->subject, sizeof finding->subject, "%s", is_better ? "better" : "worse");
    snprintf(finding->text, sizeof finding->text, "%zu more values are %s; the %s %d are listed", count - FINDINGS_MAX,
             is_better ? "better than their baseline" : "out of line", is_better ? "first" : "worst", FINDINGS_MAX);
    work->is_cut = true;
    return BERTH_OK;
}

enum berth_code judge_report(struct judge_work *work, struct suspects *suspects, struct berth_err *err)
{
    size_t pairs = 0, worse = 0;
    qsort(suspects->item, suspects->count, sizeof *suspects->item, compare_pairs);
    for (size_t i = 0; i < suspects->count; i++)
        if (pairs == 0 || !is_same_pair(&suspects->item[pairs - 1], &suspects->item[i]))
            suspects->item[pairs++] = suspects->item[i];
    qsort(suspects->item, pairs, sizeof *suspects->item, compare_goodness);
    while (worse < pairs && suspects->item[worse].rule != RULE_BETTER)
        worse++;
    enum berth_code code = report_group(work, suspects->item, worse, err);
    return code == BERTH_OK ? report_group(work, suspects->item + worse, pairs - worse, err) : code;
}
