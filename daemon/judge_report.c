#include "judge_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_LISTED   64   /* and one that counts the rest */
#define FINDINGS_KEPT 4096 /* of each group, with those of pairs that are not listed */

static const char *const codes[RULE_COUNT] = {
    [RULE_NOMINAL] = "below-nominal",
    [RULE_LIKES] = "slower-than-likes",
    [RULE_BASELINE] = "slower-than-baseline",
    [RULE_BETTER] = "better-than-baseline",
};

void judge_report_add(struct suspects *suspects, const struct suspect *suspect) { suspects->item[suspects->count++] = *suspect; }

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

/* What is better than it was is no trouble: it comes last and is counted apart. */
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
    const char *while_busy = suspect->is_overloaded ? ", measured while the node was overloaded" : "";
    describe_expectation(suspect, against, sizeof against);
    if (suspect->runs > 1)
        snprintf(runs, sizeof runs, ", under %.0f %% in %u runs", 100 * BASELINE_LOW, suspect->runs);
    snprintf(finding->pair, sizeof finding->pair, "%s %s %s", info->name, from->name, to->name);
    snprintf(finding->subject, sizeof finding->subject, "%s%s%s", finding->pair, axes[0] != '\0' ? " " : "", axes);
    snprintf(finding->text, sizeof finding->text, "%s from %s to %s%s%s is %.4g %s, %.0f %% of %s (%.4g)%s%s", info->name, from->name, to->name,
             axes[0] != '\0' ? " with " : "", axes, v->value * scale, scale == 1 ? info->unit : "GB/s", 100 * v->value / suspect->expected,
             against, suspect->expected * scale, runs, while_busy);
    finding->value = v->value;
    finding->expected = suspect->expected;
    finding->unit = info->unit;
    finding->goodness = suspect->goodness;
    finding->at_s = v->measured_at_s;
    finding->drain = is_lasting;
    return BERTH_OK;
}

static enum berth_code report_rest(struct judge_work *work, bool is_better, size_t unlisted, struct berth_err *err)
{
    struct finding *finding = judge_part_add(work, is_better ? SEVERITY_INFO : SEVERITY_WARNING, "more", graph_place(work->snap->graph, 0)->name);
    if (finding == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    snprintf(finding->subject, sizeof finding->subject, "%s", is_better ? "better" : "worse");
    snprintf(finding->text, sizeof finding->text, "%zu more values are %s; the %s %d pairs are listed", unlisted,
             is_better ? "better than their baseline" : "out of line", is_better ? "first" : "worst", PAIRS_LISTED);
    return BERTH_OK;
}

/* Which of the pairs this one is of, the first one among them being 0: an index into first, which has the suspects that showed each. */
static size_t pair_of(const struct suspect **first, size_t *pairs, const struct suspect *suspect)
{
    for (size_t i = 0; i < *pairs; i++)
        if (compare_pairs(first[i], suspect) == 0)
            return i;
    if (*pairs < PAIRS_LISTED)
        first[(*pairs)++] = suspect;
    else
        return PAIRS_LISTED;
    return *pairs - 1;
}

/* suspects: all worse than expected or all better, the farthest first. Each is a finding of its own; what is listed is what is said of the first pairs. */
static enum berth_code report_group(struct judge_work *work, const struct suspect *suspect, size_t count, struct berth_err *err)
{
    const struct suspect *first[PAIRS_LISTED];
    size_t pairs = 0, unlisted = 0;
    for (size_t i = 0; i < count; i++) {
        size_t pair = pair_of(first, &pairs, &suspect[i]);
        unlisted += pair == PAIRS_LISTED;
        if (i >= FINDINGS_KEPT)
            continue;
        enum berth_code code = report(work, &suspect[i], err);
        if (code != BERTH_OK)
            return code;
        work->finding[work->count - 1].is_unlisted = pair == PAIRS_LISTED;
    }
    work->is_cut = work->is_cut || count > FINDINGS_KEPT;
    return unlisted > 0 ? report_rest(work, suspect->rule == RULE_BETTER, unlisted, err) : BERTH_OK;
}

enum berth_code judge_report(struct judge_work *work, struct suspects *suspects, struct berth_err *err)
{
    size_t worse = 0;
    qsort(suspects->item, suspects->count, sizeof *suspects->item, compare_goodness);
    while (worse < suspects->count && suspects->item[worse].rule != RULE_BETTER)
        worse++;
    enum berth_code code = report_group(work, suspects->item, worse, err);
    return code == BERTH_OK ? report_group(work, suspects->item + worse, suspects->count - worse, err) : code;
}
