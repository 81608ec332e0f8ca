/* The page of berth fleet: one HTML file with pictures, without scripts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/fleet.h"
#include "fleet/words.h"
#include "picture/picture.h"
#include "report/report.h"
#include "ui/answer.h"

#define ROWS_MOST    500 /* slow nodes on the page */
#define CLASSES_MOST 50
#define BINS         61 /* of a histogram, an odd number: the one in the middle is the class */
#define WORD_MOST    30 /* columns of a name in one line */
#define WIDTH        560
#define HEIGHT       110

static void put_cell(struct ui *page, const char *text)
{
    ui_put(page, "<td class=\"t\">");
    picture_text(page, text);
    ui_put(page, "</td>");
}

/* A cell whose text is not wrapped, unless it is as long as a path. */
static void put_word(struct ui *page, const char *text)
{
    ui_put(page, ui_columns(text) > WORD_MOST ? "<td class=\"t\" style=\"min-width:16rem\">"
                                              : "<td style=\"text-align:left\">");
    picture_text(page, text);
    ui_put(page, "</td>");
}

static void put_titles(struct ui *page, const char *const *title, size_t count)
{
    report_hint(page);
    ui_put(page, "<div class=\"scroll\"><table class=\"facts\"><tr>");
    for (size_t i = 0; i < count; i++)
        ui_put(page, "<th class=\"t\">%s</th>", title[i]);
    ui_put(page, "</tr>\n");
}

/* Draws a loss as a bar, with its interval; scale: the loss that fills the width. */
static void put_bar(struct ui *page, const json_t *worst, double scale)
{
    double loss = ui_member_number(worst, "loss") / scale,
           low = fmax(0, ui_member_number(worst, "low") / scale),
           high = fmin(1, ui_member_number(worst, "high") / scale);
    ui_put(page,
           "<td><svg width=\"144\" height=\"14\" viewBox=\"0 0 144 14\" role=\"img\"><rect "
           "class=\"differs\" x=\"0\" y=\"2\" width=\"%.1f\" height=\"10\"/><path class=\"mark\" "
           "d=\"M%.1f 7H%.1f\"/></svg></td>",
           144 * fmin(1, loss), 144 * low, 144 * high);
}

/* Prints the worst single series of a node with its value. */
static void put_series(struct ui *page, const json_t *series)
{
    char where[FLEET_WORD], what[FLEET_WORD], value[UI_NUMBER], of_class[UI_NUMBER],
        text[3 * FLEET_WORD];
    if (!json_is_object(series)) {
        put_cell(page, "none alone is beyond chance");
        return;
    }
    fleet_where(where, series);
    fleet_what(what, series);
    const char *unit = ui_member(series, "unit");
    snprintf(text, sizeof text, "%s %s: %s, its class %s", where, what,
             ui_value(page, value, ui_member_number(series, "value"), unit),
             ui_value(page, of_class, ui_member_number(series, "class_value"), unit));
    put_cell(page, text);
}

static void put_slow(struct ui *page, const json_t *slow)
{
    static const char *const titles[] = {
        "node", "where", "speed", "", "95 %", "chance", "worst single series"};
    const json_t *node;
    size_t i;
    char word[FLEET_WORD], other[FLEET_WORD];
    double scale = ui_member_number(json_object_get(json_array_get(slow, 0), "worst"), "loss");
    report_section(page, "Slow nodes",
                   "The largest loss first, beside the median of equal hardware; a time counts as "
                   "its inverse. The line in a bar is the 95 % interval. Chance is that of all "
                   "series of the node together.");
    if (json_array_size(slow) == 0) {
        ui_put(page, "<p>None.</p>\n");
        return;
    }
    put_titles(page, titles, sizeof titles / sizeof titles[0]);
    json_array_foreach(slow, i, node)
    {
        const json_t *worst = json_object_get(node, "worst");
        if (i == ROWS_MOST)
            break;
        ui_put(page, "<tr>");
        put_word(page, ui_member(node, "node"));
        fleet_where(word, worst);
        put_word(page, word);
        ui_put(page, "<td>%s</td>", fleet_percent(word, ui_member_number(worst, "loss")));
        put_bar(page, worst, scale);
        ui_put(page, "<td>%s to %s</td><td>%.1g</td>",
               fleet_percent(word, ui_member_number(worst, "high")),
               fleet_percent(other, ui_member_number(worst, "low")), ui_member_number(node, "p"));
        put_series(page, json_object_get(node, "worst_series"));
        ui_put(page, "</tr>\n");
    }
    ui_put(page, "</table></div>\n");
    if (json_array_size(slow) > ROWS_MOST)
        ui_put(page, "<p>And %s others.</p>\n",
               fleet_count(word, (json_int_t)json_array_size(slow) - ROWS_MOST));
}

static void put_shared(struct ui *page, const json_t *all)
{
    const json_t *shared;
    size_t i;
    report_section(page, "Conditions",
                   "Those that slow nodes have more often than chance allows, and those whose "
                   "nodes are slower altogether.");
    if (json_array_size(all) == 0)
        ui_put(page, "<p>None.</p>\n");
    ui_put(page, "<ul>");
    json_array_foreach(all, i, shared)
    {
        struct ui line = {.utf8 = true};
        fleet_shared_line(&line, shared);
        ui_put(page, "<li>");
        picture_text(page, line.text);
        ui_put(page, "</li>\n");
        page->failed = page->failed || line.failed;
        ui_done(&line);
    }
    ui_put(page, "</ul>\n");
}

/* Draws how many nodes lose how much over all series. Heights are roots: a node alone is seen. */
static void put_histogram(struct ui *page, const json_t *losses)
{
    size_t count[BINS] = {0}, most = 1, i;
    double reach = 0.02;
    const json_t *loss;
    char word[FLEET_WORD];
    json_array_foreach(losses, i, loss) reach = fmax(reach, fabs(json_number_value(loss)));
    json_array_foreach(losses, i, loss)
    {
        double at = (1 - json_number_value(loss) / reach) / 2 * BINS;
        size_t bin = at < 0 ? 0 : at >= BINS ? BINS - 1 : (size_t)at;
        most = ++count[bin] > most ? count[bin] : most;
    }
    ui_put(page,
           "<svg width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\"><title>nodes by "
           "their loss over all series</title>\n",
           WIDTH, HEIGHT, WIDTH, HEIGHT);
    for (i = 0; i < BINS; i++) {
        double height = (HEIGHT - 20) * sqrt((double)count[i] / (double)most);
        double middle = ((double)i + 0.5) / BINS * 2 - 1;
        if (count[i] == 0)
            continue;
        ui_put(
            page,
            "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s: "
            "%zu nodes</title></rect>\n",
            (double)i * WIDTH / BINS, HEIGHT - 18 - height, (double)WIDTH / BINS - 1, height,
            fleet_percent(word, -middle * reach), count[i]);
    }
    ui_put(page,
           "<path class=\"grid\" d=\"M0 %d.5H%d\"/><text x=\"0\" y=\"%d\">%s</text><text "
           "x=\"%d\" y=\"%d\" text-anchor=\"middle\">its class</text>",
           HEIGHT - 18, WIDTH, HEIGHT - 5, fleet_percent(word, reach), WIDTH / 2, HEIGHT - 5);
    ui_put(page, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text></svg>\n", WIDTH, HEIGHT - 5,
           fleet_percent(word, -reach));
}

static int compare_numbers(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return one < other ? -1 : one > other;
}

/* Lists the metrics of a class: series, and the spread between nodes. Values are in the order of
 * their metrics. */
static void put_metrics(struct ui *page, const json_t *values)
{
    static const char half[] = "spread between nodes, half of the series below";
    static const char *const titles[] = {"metric", "series", half, "largest"};
    size_t count = json_array_size(values);
    double *deviation = calloc(count + 1, sizeof *deviation);
    if (deviation == NULL) {
        page->failed = true;
        return;
    }
    json_t *by_metric = json_object(), *kept;
    const json_t *value;
    const char *metric;
    size_t i, k;
    json_array_foreach(values, i, value)
    {
        metric = ui_member(value, "metric");
        if (json_object_get(by_metric, metric) == NULL)
            json_object_set_new(by_metric, metric, json_array());
        json_array_append(json_object_get(by_metric, metric), json_object_get(value, "deviation"));
    }
    put_titles(page, titles, sizeof titles / sizeof titles[0]);
    json_object_foreach(by_metric, metric, kept)
    {
        json_array_foreach(kept, k, value) deviation[k] = 100 * json_number_value(value);
        qsort(deviation, k, sizeof *deviation, compare_numbers);
        ui_put(page, "<tr>");
        put_cell(page, metric);
        ui_put(page, "<td>%zu</td><td>%.2f %%</td><td>%.2f %%</td></tr>\n", k, deviation[k / 2],
               deviation[k - 1]);
    }
    ui_put(page, "</table></div>\n");
    json_decref(by_metric);
    free(deviation);
}

static void put_class(struct ui *page, const json_t *class)
{
    const char *fingerprint = ui_member(class, "fingerprint");
    char nodes[FLEET_WORD], slow[FLEET_WORD];
    ui_put(page, "<h3>");
    picture_text(page, ui_member(class, "models"));
    fleet_part(nodes, class);
    picture_text(page, nodes);
    ui_put(page, " <span class=\"small\">hardware ");
    picture_text(page, *fingerprint != '\0' ? fingerprint : "unknown");
    ui_put(page, "</span></h3>\n");
    ui_put(page, "<p>%s nodes, %s slow.</p>\n",
           fleet_count(nodes, json_integer_value(json_object_get(class, "nodes"))),
           fleet_count(slow, json_integer_value(json_object_get(class, "slow"))));
    if (!json_is_true(json_object_get(class, "compared"))) {
        ui_put(page, "<p>Fewer than five nodes are not compared.</p>\n");
        return;
    }
    put_histogram(page, json_object_get(class, "losses"));
    put_metrics(page, json_object_get(class, "values"));
}

static void put_left_out(struct ui *page, const json_t *answer)
{
    const json_t *one, *all = json_object_get(answer, "left_out");
    size_t i;
    char word[FLEET_WORD];
    if (json_array_size(all) == 0)
        return;
    report_section(page, "Left out", "Files that could not be read, wholly or in part.");
    json_int_t count = json_integer_value(json_object_get(answer, "left_out_count"));
    if (count > (json_int_t)json_array_size(all))
        ui_put(page, "<p>%s; here are the first %zu.</p>\n", fleet_count(word, count),
               json_array_size(all));
    ui_put(page, "<ul>");
    json_array_foreach(all, i, one)
    {
        ui_put(page, "<li>");
        picture_text(page, ui_member(one, "file"));
        ui_put(page, ": ");
        picture_text(page, ui_member(one, "why"));
        ui_put(page, "</li>\n");
    }
    ui_put(page, "</ul>\n");
}

void fleet_page(struct ui *page, const json_t *answer)
{
    const json_t *slow = json_object_get(answer, "slow"), *class;
    size_t i;
    char when[UI_NUMBER], title[FLEET_WORD + 16], word[FLEET_WORD];
    bool is_known = json_integer_value(json_object_get(answer, "compared")) > 0;
    const char *verdict = !is_known                    ? "unknown"
                          : json_array_size(slow) == 0 ? "healthy"
                                                       : "degraded";
    struct ui line = {.utf8 = true};
    snprintf(title, sizeof title, "%s nodes",
             fleet_count(word, json_integer_value(json_object_get(answer, "nodes"))));
    report_head(page, title, verdict);
    ui_put(page, "<p class=\"small\">berth " BERTH_VERSION ", written %s, %s values.</p>\n",
           ui_when(when, (int64_t)time(NULL)),
           fleet_count(word, json_integer_value(json_object_get(answer, "values"))));
    fleet_first_line(&line, answer);
    ui_put(page, "<div class=\"verdict %s\">", verdict);
    picture_text(page, line.text);
    ui_put(page, "</div>\n");
    page->failed = page->failed || line.failed;
    ui_done(&line);
    put_slow(page, slow);
    put_shared(page, json_object_get(answer, "shared"));
    report_section(page, "Hardware",
                   "How many nodes lose how much speed over all series, slower to the left. "
                   "Heights are square roots, so that a node alone is seen.");
    json_array_foreach(json_object_get(answer, "classes"), i, class)
    {
        if (i == CLASSES_MOST) {
            ui_put(page, "<p>And %zu other classes.</p>\n",
                   json_array_size(json_object_get(answer, "classes")) - CLASSES_MOST);
            break;
        }
        put_class(page, class);
    }
    put_left_out(page, answer);
    report_end(page, "berth fleet");
}
