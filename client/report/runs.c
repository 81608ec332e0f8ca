/* Transfers at the same time as bars: what each got, and what the shared limits predict. */
#include "report/report.h"

#include <math.h>
#include <string.h>

#include "picture/picture.h"
#include "ui/answer.h"

#define RUNS_MOST 12 /* of a metric, the largest first; the command has all */
#define SIZE_MOST 64
#define BAR       180.0

static size_t size_of(const json_t *run) { return json_array_size(json_object_get(run, "flows")); }

static double total_of(const json_t *run, const char *key)
{
    const json_t *flow;
    double total = 0;
    size_t i;
    json_array_foreach(json_object_get(run, "flows"), i, flow) total += ui_member_number(flow, key);
    return total;
}

/* The transfers of a run: "gpu0>numa0, gpu1>numa0 and 6 more". */
static void put_flows(struct ui *page, const json_t *run)
{
    const json_t *flow;
    size_t i, count = size_of(run), most = count > 4 ? 3 : count;
    json_array_foreach(json_object_get(run, "flows"), i, flow)
    {
        if (i == most)
            break;
        ui_put(page, "%s", i > 0 ? ", " : "");
        picture_text(page, ui_member(flow, "from"));
        ui_put(page, "&gt;");
        picture_text(page, ui_member(flow, "to"));
    }
    if (count > most)
        ui_put(page, " and %zu more", count - most);
}

static void put_run(struct ui *page, const json_t *run, double most)
{
    char rate[UI_NUMBER], expected[UI_NUMBER];
    double got = total_of(run, "bytes_per_s"), predicted = total_of(run, "predicted_bytes_per_s");
    ui_put(page, "<tr><td class=\"t\">");
    put_flows(page, run);
    ui_put(page, "</td><td class=\"t\"><svg viewBox=\"0 0 %.0f 14\" width=\"%.0f\"><title>", BAR,
           BAR);
    ui_put(page, "together %s", ui_rate(rate, got));
    if (!isnan(predicted))
        ui_put(page, ", predicted %s", ui_rate(expected, predicted));
    ui_put(page, "</title><rect y=\"2\" width=\"%.1f\" height=\"10\" class=\"%s\"/>",
           BAR * got / most, json_is_false(json_object_get(run, "reproduced")) ? "differs" : "bar");
    if (!isnan(predicted))
        ui_put(page, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"0\" y2=\"14\" class=\"mark\"/>",
               fmin(BAR * predicted / most, BAR - 1), fmin(BAR * predicted / most, BAR - 1));
    ui_put(page, "</svg></td><td>%s</td></tr>\n", ui_rate(rate, got));
}

/* The largest runs of one metric, at one scale. */
static void put_metric(struct ui *page, const json_t *runs, const char *metric)
{
    const json_t *run;
    double most = 0;
    size_t i, shown = 0, left = 0;
    json_array_foreach(runs, i, run)
    {
        if (size_of(run) > 1 && strcmp(ui_member(run, "metric"), metric) == 0)
            most = fmax(most,
                        fmax(total_of(run, "bytes_per_s"), total_of(run, "predicted_bytes_per_s")));
    }
    if (!(most > 0))
        return;
    ui_put(page, "<div class=\"card\"><h3>");
    picture_text(page, metric);
    ui_put(page, "</h3>\n<table class=\"runs\">\n");
    for (size_t size = SIZE_MOST; size > 1; size--)
        json_array_foreach(runs, i, run)
        {
            if (size_of(run) != size || strcmp(ui_member(run, "metric"), metric) != 0)
                continue;
            if (shown < RUNS_MOST)
                put_run(page, run, most);
            left += shown >= RUNS_MOST;
            shown++;
        }
    ui_put(page, "</table>\n");
    if (left > 0)
        ui_put(page,
               "<p class=\"small\">%zu more: <code>berth contention --why</code> has all.</p>\n",
               left);
    ui_put(page, "</div>\n");
}

/* True for the first run of its metric. */
static bool is_first(const json_t *runs, size_t index)
{
    const char *metric = ui_member(json_array_get(runs, index), "metric");
    for (size_t i = 0; i < index; i++)
        if (strcmp(ui_member(json_array_get(runs, i), "metric"), metric) == 0)
            return false;
    return true;
}

void report_runs(struct ui *page, const json_t *contention)
{
    const json_t *runs = json_object_get(contention, "runs");
    bool is_any = false;
    for (size_t i = 0; i < json_array_size(runs); i++)
        is_any = is_any || size_of(json_array_get(runs, i)) > 1;
    if (!is_any)
        return;
    report_section(page, "Transfers at the same time",
                   "What they got together; the line across is what the shared limits predict. "
                   "Orange: they differ by more than 5 %.");
    ui_put(page, "<div class=\"cards\">\n");
    for (size_t i = 0; i < json_array_size(runs); i++)
        if (is_first(runs, i))
            put_metric(page, runs, ui_member(json_array_get(runs, i), "metric"));
    ui_put(page, "</div>\n");
}
