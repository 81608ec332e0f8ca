/* Text of a series over time, and of changes of findings. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"

#define COLUMNS 80 /* most columns of a line, on a wider terminal too */
#define BESIDE  72 /* columns beside a bar: time, value, interval, verdict */
#define LINE    64 /* most columns of the line over all points */

#define PLACES_SHOWN 6
#define NO_CHANGE    "no finding has appeared or cleared"

/* Baseline from the reply of GetBaseline; numbers are NAN without one. */
struct expected {
    const char *unit;
    bool is_higher_better;
    double median, worse_beyond, better_beyond;
    int64_t begun_s;
    const json_t *judgement; /* of the latest value; null: it is in line */
};

static int64_t integer_of(const json_t *object, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(object, key));
}

static struct expected expected_of(const json_t *reply)
{
    const json_t *baseline = json_object_get(reply, "baseline");
    return (struct expected){
        .unit = ui_member(reply, "unit"),
        .is_higher_better = strcmp(ui_member(reply, "better"), "higher") == 0,
        .median = ui_member_number(baseline, "expected"),
        .worse_beyond = ui_member_number(baseline, "worse_beyond"),
        .better_beyond = ui_member_number(baseline, "better_beyond"),
        .begun_s = integer_of(baseline, "begun_at_s"),
        .judgement = json_object_get(reply, "judgement"),
    };
}

#define LEAST_RATE 1e-9 /* of false alarms that is shown: the noise is not known better */

static void put_expected(struct ui *ui, const json_t *reply, const struct expected *expected,
                         int indent)
{
    const json_t *baseline = json_object_get(reply, "baseline");
    char number[UI_NUMBER], limit[UI_NUMBER], when[UI_NUMBER];
    if (isnan(expected->median)) {
        ui_put(ui, "no baseline yet\n");
        return;
    }
    long long values = (long long)integer_of(baseline, "values");
    const json_t *rate = json_object_get(baseline, "false_alarm_rate");
    char alarms[64] = "";
    if (json_is_number(rate))
        snprintf(alarms, sizeof alarms, "; false alarms: %.0e of the measurements",
                 fmax(json_number_value(rate), LEAST_RATE));
    ui_line(
        ui, indent, "expected %s: %s of %lld value%s since %s; %s%s%s%s",
        ui_value(ui, number, expected->median, expected->unit),
        json_is_true(json_object_get(baseline, "accepted")) ? "accepted, the median" : "the median",
        values, values == 1 ? "" : "s", ui_when(when, expected->begun_s),
        isnan(expected->worse_beyond) ? "too few to compare with"
        : expected->is_higher_better  ? "less than "
                                      : "more than ",
        isnan(expected->worse_beyond) ? ""
                                      : ui_value(ui, limit, expected->worse_beyond, expected->unit),
        isnan(expected->worse_beyond) ? "" : " is a finding", alarms);
}

const char *ui_reference(const char *code)
{
    static const struct {
        const char *code, *reference;
    } references[] = {{"below-nominal", "what is stated"},
                      {"slower-than-peers", "its peers' median"}};
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++)
        if (strcmp(references[i].code, code) == 0)
            return references[i].reference;
    return "what is expected";
}

/* Returns -1 for worse, 1 for better. Of the points since the latest value's finding, that finding
 * decides. Older ones are compared with the baseline as the daemon does: the value, with the
 * favourable end of its interval for worse and the unfavourable one for better. Points before the
 * baseline are not compared. A daily median has no interval: its low and high are the extremes of
 * the day. */
static int out_of_line(const struct expected *expected, const json_t *point, bool is_latest)
{
    double value = ui_member_number(point, "value"), sign = expected->is_higher_better ? 1 : -1;
    int64_t at_s = integer_of(point, "measured_at_s");
    bool is_judged =
        json_is_object(expected->judgement) && at_s >= integer_of(expected->judgement, "since_s");
    bool is_day = integer_of(point, "values") > 0;
    double best =
        is_day ? value : ui_member_number(point, expected->is_higher_better ? "high" : "low");
    double worst =
        is_day ? value : ui_member_number(point, expected->is_higher_better ? "low" : "high");
    if (is_judged)
        return strcmp(ui_member(expected->judgement, "severity"), "info") == 0 ? 1 : -1;
    if (is_latest || at_s < expected->begun_s)
        return 0;
    /* comparisons with NAN are false; fmax and fmin skip NAN */
    if (fmax(sign * value, sign * best) < sign * expected->worse_beyond)
        return -1;
    return fmin(sign * value, sign * worst) > sign * expected->better_beyond ? 1 : 0;
}

/* Length of a bar: the value as a part of the best. */
static double goodness(const struct expected *expected, double value, double best)
{
    double share = expected->is_higher_better ? value / best : best / value;
    return isfinite(share) ? fmin(fmax(share, 0), 1) : 0;
}

static double best_of(const struct expected *expected, const json_t *points)
{
    const json_t *point;
    size_t i;
    double best = expected->median;
    json_array_foreach(points, i, point)
    {
        double value = ui_member_number(point, "value");
        if (isnan(best) || (expected->is_higher_better ? value > best : value < best))
            best = value;
    }
    return best;
}

static void put_bar(struct ui *ui, double share)
{
    static const char *const parts[] = {"",       "\u258f", "\u258e", "\u258d",
                                        "\u258c", "\u258b", "\u258a", "\u2589"};
    int most = ui->width - BESIDE < 0 ? 0 : ui->width - BESIDE;
    int eighths = (int)lround(share * most * 8),
        columns = ui->utf8 ? eighths / 8 : (eighths + 4) / 8;
    for (int i = 0; i < columns; i++)
        ui_put(ui, ui->utf8 ? "\u2588" : "#");
    if (ui->utf8 && eighths % 8 > 0) {
        ui_put(ui, "%s", parts[eighths % 8]);
        columns++;
    }
    ui_pad(ui, most - columns);
}

/* Prints all points in one line; a column of several points shows the worst. The scale reaches from
 * the worst point to the best. */
static void put_line(struct ui *ui, const struct expected *expected, const json_t *points)
{
    static const char *const heights[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                          "\u2585", "\u2586", "\u2587", "\u2588"};
    size_t count = json_array_size(points), columns = count < LINE ? count : LINE;
    double best = best_of(expected, points), low = 1;
    if (!ui->utf8 || count < 3)
        return;
    for (size_t i = 0; i < count; i++)
        low = fmin(low,
                   goodness(expected, ui_member_number(json_array_get(points, i), "value"), best));
    ui_put(ui, "  ");
    for (size_t c = 0; c < columns; c++) {
        double worst = 1;
        int verdict = 0;
        for (size_t i = c * count / columns; i < (c + 1) * count / columns; i++) {
            const json_t *point = json_array_get(points, i);
            worst = fmin(worst, goodness(expected, ui_member_number(point, "value"), best));
            verdict = out_of_line(expected, point, i + 1 == count) < 0 ? -1 : verdict;
        }
        ui_style(ui, verdict < 0 ? UI_WARN : UI_PLAIN);
        ui_put(ui, "%s", heights[low < 1 ? (int)lround(7 * (worst - low) / (1 - low)) : 7]);
    }
    ui_style(ui, UI_PLAIN);
    ui_put(ui, "\n");
}

/* False for conditions that change with every run and explain no change of a value, for the reasons
 * of unknown ones, and for the tables of tuned kernels. */
static bool is_reported(const char *condition)
{
    return strcmp(condition, "loadavg") != 0 && strcmp(condition, "seed") != 0 &&
           strcmp(condition, "shapes") != 0 && strncmp(condition, "not_known", 9) != 0;
}

/* Returns the condition's value; NULL where it is not known, which the wire has as "null". */
static const char *known(const json_t *conditions, const char *key)
{
    const char *value = json_string_value(json_object_get(conditions, key));
    return value == NULL || strcmp(value, "null") == 0 ? NULL : value;
}

/* Prints one condition where it changed; returns whether it did. */
static bool put_change(struct ui *ui, int indent, const char *key, const char *was, const char *is)
{
    if (was == is || (was != NULL && is != NULL && strcmp(was, is) == 0))
        return false;
    ui_pad(ui, indent);
    if (was != NULL && is != NULL)
        ui_line(ui, indent + 4, "%s was %s, is %s", key, was, is);
    else
        ui_line(ui, indent + 4, "%s is %s: %s", key, is != NULL ? "new" : "known no longer",
                is != NULL ? is : was);
    return true;
}

/* Prints what changed, a line each, and returns how many. A daily median has no conditions of its
 * own, so it is not compared. */
static size_t put_changes(struct ui *ui, int indent, const json_t *before, const json_t *now)
{
    const char *key;
    json_t *value;
    size_t count = 0;
    if (json_object_size(before) == 0 || json_object_size(now) == 0)
        return 0;
    json_object_foreach((json_t *)now, key, value)
    {
        if (is_reported(key))
            count += put_change(ui, indent, key, known(before, key), known(now, key));
    }
    json_object_foreach((json_t *)before, key, value)
    {
        if (is_reported(key) && json_object_get(now, key) == NULL)
            count += put_change(ui, indent, key, known(before, key), NULL);
    }
    return count;
}

static void put_point(struct ui *ui, const struct expected *expected, const json_t *point,
                      double best, bool is_latest)
{
    char when[UI_NUMBER], value[UI_NUMBER], interval[2 * UI_NUMBER + 8];
    double number = ui_member_number(point, "value");
    int verdict = out_of_line(expected, point, is_latest);
    long long of = (long long)integer_of(point, "values");
    ui_when(when, integer_of(point, "measured_at_s"));
    if (of > 0) /* the day alone */
        snprintf(when + strcspn(when, " "), UI_NUMBER - strcspn(when, " "), ": %lld values", of);
    ui_value(ui, value, number, expected->unit);
    ui_interval(ui, point, expected->unit, interval, sizeof interval);
    ui_put(ui, "  %-25s  ", when);
    ui_pad(ui, 10 - ui_columns(value));
    ui_put(ui, "%s  %s", value, interval);
    ui_pad(ui, 21 - ui_columns(interval));
    ui_put(ui, "  ");
    ui_style(ui, verdict < 0 ? UI_WARN : verdict > 0 ? UI_GOOD : UI_PLAIN);
    put_bar(ui, goodness(expected, number, best));
    ui_put(ui, "%s", verdict < 0 ? "  worse" : verdict > 0 ? "  better" : "");
    ui_style(ui, UI_PLAIN);
    ui_put(ui, "\n");
}

/* The rest of the first line: the latest value, beside what its finding expects, or else its
 * baseline. */
static void put_latest(struct ui *ui, const struct expected *expected, const json_t *point)
{
    char value[UI_NUMBER], share[UI_NUMBER];
    double number = ui_member_number(point, "value"),
           of = json_is_object(expected->judgement)
                    ? ui_member_number(expected->judgement, "expected")
                    : expected->median;
    int verdict = out_of_line(expected, point, true);
    ui_put(ui, ": %s", ui_value(ui, value, number, expected->unit));
    if (of > 0)
        ui_put(ui, ", %s %% of %s%s", ui_digits(share, round(100 * number / of)),
               ui_reference(ui_member(expected->judgement, "code")),
               verdict < 0   ? ": worse"
               : verdict > 0 ? ": better"
                             : "");
    ui_put(ui, "\n");
}

static void put_judgement(struct ui *ui, const struct expected *expected)
{
    const json_t *judgement = expected->judgement;
    char number[UI_NUMBER], when[UI_NUMBER];
    if (!json_is_object(judgement))
        return;
    struct ui line = {.utf8 = ui->utf8};
    ui_text(&line, ui_member(judgement, "code"));
    ui_put(&line, " since %s%s", ui_when(when, integer_of(judgement, "since_s")),
           json_is_true(json_object_get(judgement, "unconfirmed")) ? ", seen once" : "");
    if (strcmp(ui_reference(ui_member(judgement, "code")), ui_reference("")) != 0)
        ui_put(&line, ": %s is %s", ui_reference(ui_member(judgement, "code")),
               ui_value(ui, number, ui_member_number(judgement, "expected"), expected->unit));
    ui_paragraph(ui, 2, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

void ui_history(struct ui *ui, const json_t *history, const json_t *baseline, const char *why_none,
                size_t most)
{
    const json_t *points = json_object_get(history, "points");
    size_t count = json_array_size(points), first = count > most ? count - most : 0;
    struct expected expected = expected_of(baseline);
    ui->width = ui->width < COLUMNS ? ui->width : COLUMNS;
    if (count == 0) {
        ui_put(ui, ": %s\n", why_none);
        if (!isnan(expected.median))
            put_expected(ui, baseline, &expected, 2);
        return;
    }
    put_latest(ui, &expected, json_array_get(points, count - 1));
    put_expected(ui, baseline, &expected, 2);
    put_judgement(ui, &expected);
    double best = best_of(&expected, points);
    put_line(ui, &expected, points);
    if (first > 0)
        ui_put(ui, "  %zu earlier ones are left out; --all shows them\n", first);
    for (size_t i = first; i < count; i++) {
        const json_t *point = json_array_get(points, i);
        if (i > 0)
            put_changes(ui, 4, json_object_get(json_array_get(points, i - 1), "conditions"),
                        json_object_get(point, "conditions"));
        put_point(ui, &expected, point, best, i + 1 == count);
    }
}

void ui_expected(struct ui *ui, int indent, const json_t *baseline)
{
    struct expected expected = expected_of(baseline);
    put_expected(ui, baseline, &expected, indent);
}

void ui_changed_since(struct ui *ui, int indent, const json_t *history, int64_t since_s)
{
    const json_t *points = json_object_get(history, "points"), *point, *before = NULL, *now = NULL;
    size_t i;
    json_array_foreach(points, i, point)
    {
        if (json_object_size(json_object_get(point, "conditions")) == 0)
            continue;
        if (integer_of(point, "measured_at_s") < since_s)
            before = point;
        else if (now == NULL)
            now = point;
    }
    ui_pad(ui, indent);
    if (before == NULL || now == NULL) {
        ui_put(ui, "no measurement from before is kept, to compare its conditions\n");
        return;
    }
    char when[UI_NUMBER];
    ui_line(ui, indent + 2, "conditions, compared with those of %s:",
            ui_when(when, integer_of(before, "measured_at_s")));
    if (put_changes(ui, indent + 2, json_object_get(before, "conditions"),
                    json_object_get(now, "conditions")) == 0) {
        ui_pad(ui, indent + 2);
        ui_put(ui, "none has changed\n");
    }
}

/* ---- findings ---- */

struct event {
    const json_t *finding;
    int64_t at_s;
    bool is_end;
    size_t number;
};

static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->at_s != y->at_s)
        return x->at_s > y->at_s ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static const char *lasting(char *buffer, int64_t s)
{
    if (s < 120)
        snprintf(buffer, UI_NUMBER, "%lld s", (long long)s);
    else if (s < 7200)
        snprintf(buffer, UI_NUMBER, "%lld min", (long long)(s / 60));
    else if (s < 172800)
        snprintf(buffer, UI_NUMBER, "%lld h", (long long)(s / 3600));
    else
        snprintf(buffer, UI_NUMBER, "%lld days", (long long)(s / 86400));
    return buffer;
}

static const char *word_of(const struct event *event)
{
    return !event->is_end ? ui_member(event->finding, "severity")
           : json_is_true(json_object_get(event->finding, "accepted")) ? "accepted"
                                                                       : "cleared";
}

/* True for values that were found, or cleared, at the same time: most often of one cause. */
static bool is_with(const struct event *a, const struct event *b)
{
    return a->at_s == b->at_s && a->is_end == b->is_end && strcmp(word_of(a), word_of(b)) == 0 &&
           json_is_number(json_object_get(a->finding, "value")) &&
           json_is_number(json_object_get(b->finding, "value"));
}

static double deviation_of(const struct event *event)
{
    double share =
        ui_member_number(event->finding, "value") / ui_member_number(event->finding, "expected");
    return share > 0 ? fabs(log(share)) : 0;
}

/* Returns the number of values that a finding stands for, at least 1. */
static size_t values_of(const json_t *finding)
{
    int64_t count = integer_of(finding, "series");
    return count > 1 ? (size_t)count : 1;
}

/* "; with 15 more values, of gpu2, gpu4 (--all)", the places of other causes */
static void put_others(struct ui *line, const struct event *event, size_t count)
{
    json_t *places = json_object(), *unused;
    const char *place, *separator = ", of ";
    size_t i = 0, values = values_of(event->finding) - 1;
    for (size_t e = 1; e < count; e++) {
        values += values_of(event[e].finding);
        json_object_set_new(places, ui_member(event[e].finding, "place"), json_true());
    }
    if (values > 0)
        ui_put(line, "; with %zu more value%s", values, values == 1 ? "" : "s");
    json_object_foreach(places, place, unused)
    {
        if (i++ == PLACES_SHOWN)
            break;
        ui_put(line, "%s", separator);
        ui_text(line, place);
        separator = ", ";
    }
    if (json_object_size(places) > PLACES_SHOWN)
        ui_put(line, " and more");
    if (values > 0)
        ui_put(line, " (--all)");
    json_decref(places);
}

/* Prints the other values of one cause. */
static void put_slow(struct ui *ui, const json_t *finding)
{
    const json_t *slow = json_object_get(finding, "slow"), *one;
    size_t shown = json_array_size(slow), all = values_of(finding), i;
    json_array_foreach(slow, i, one)
    {
        if (i > 0)
            ui_slow_value(ui, one);
    }
    if (shown > 0 && all > shown) {
        ui_pad(ui, 12);
        ui_put(ui, "and %zu more\n", all - shown);
    }
}

/* Prints an event, and how many others came with it; 0: the values that it stands for. */
static void put_event(struct ui *ui, const struct event *event, size_t count)
{
    const char *severity = ui_member(event->finding, "severity"), *word = word_of(event);
    int64_t critical_s = integer_of(event->finding, "critical_since_s"),
            since_s = integer_of(event->finding, "since_s");
    char when[UI_NUMBER], length[UI_NUMBER];
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    if (event->is_end)
        ui_put(&line, "after %s: ", lasting(length, event->at_s - since_s));
    ui_text(&line, ui_member(event->finding, "place"));
    ui_put(&line, ": ");
    ui_text(&line, ui_member(event->finding, "text"));
    ui_put(&line, " [");
    ui_text(&line, ui_member(event->finding, "code"));
    ui_put(&line, "]");
    if (critical_s > since_s)
        ui_put(&line, ", critical since %s", ui_when(when, critical_s));
    if (count > 0)
        put_others(&line, event, count);
    ui_put(ui, "%s  ", ui_when(when, event->at_s));
    ui_style(ui, event->is_end                       ? UI_GOOD
                 : strcmp(severity, "critical") == 0 ? UI_BAD
                 : strcmp(severity, "warning") == 0  ? UI_WARN
                                                     : UI_PLAIN);
    ui_text(ui, word);
    ui_style(ui, UI_PLAIN);
    ui_pad(ui, 10 - ui_columns(word));
    ui_paragraph(ui, 35, line.text == NULL ? "" : line.text);
    if (count == 0)
        put_slow(ui, event->finding);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* The first line: what is there now, and since when. */
static void put_now(struct ui *ui, const json_t *findings)
{
    const json_t *finding;
    int64_t first_s = INT64_MAX;
    char when[UI_NUMBER];
    size_t now = 0, i;
    json_array_foreach(findings, i, finding)
    {
        if (json_is_integer(json_object_get(finding, "cleared_s")))
            continue;
        now++;
        first_s =
            integer_of(finding, "since_s") < first_s ? integer_of(finding, "since_s") : first_s;
    }
    ui_style(ui, UI_BOLD);
    if (now == 0)
        ui_put(ui, "no finding now");
    else
        ui_put(ui, "%zu finding%s now, since %s", now, now == 1 ? "" : "s", ui_when(when, first_s));
    if (now < i)
        ui_put(ui, "; %zu past", i - now);
    ui_style(ui, UI_PLAIN);
    ui_put(ui, "\n");
}

/* Moves the events that came with the first one, at least it, to the front, with the largest
 * deviation first; returns their number. */
static size_t gather(struct event *event, size_t count)
{
    size_t group = 1;
    for (size_t i = 1; i < count && event[i].at_s == event[0].at_s; i++) {
        struct event one = event[i];
        if (!is_with(&event[0], &one))
            continue;
        memmove(&event[group + 1], &event[group], (i - group) * sizeof *event);
        event[group] = one;
        if (deviation_of(&one) >= deviation_of(&event[0])) {
            event[group] = event[0];
            event[0] = one;
        }
        group++;
    }
    return group;
}

static void put_changes_of(struct ui *ui, const json_t *reply, const char *none, bool all)
{
    const json_t *findings = json_object_get(reply, "findings"), *finding;
    struct event *event = calloc(2 * json_array_size(findings) + 1, sizeof *event);
    size_t count = 0, i;
    if (event == NULL) {
        ui->failed = true;
        return;
    }
    json_array_foreach(findings, i, finding)
    {
        if (json_is_integer(json_object_get(finding, "cleared_s")))
            event[count++] = (struct event){finding, integer_of(finding, "cleared_s"), true, i};
        event[count++] = (struct event){finding, integer_of(finding, "since_s"), false, i};
    }
    qsort(event, count, sizeof *event, compare_events);
    if (count > 0)
        put_now(ui, findings);
    i = 0;
    for (size_t group; i < count; i += group) {
        group = all ? 1 : gather(&event[i], count - i);
        put_event(ui, &event[i], all ? 0 : group);
    }
    if (count == 0)
        ui_line(ui, 2, "%s", none);
    free(event);
}

void ui_changes(struct ui *ui, const json_t *reply) { put_changes_of(ui, reply, NO_CHANGE, false); }

void ui_changes_all(struct ui *ui, const json_t *reply)
{
    put_changes_of(ui, reply, NO_CHANGE, true);
}

void ui_changes_of_folder(struct ui *ui, const json_t *reply)
{
    put_changes_of(
        ui, reply,
        "a node folder has no history: it holds one state of a node, which berth health judges",
        false);
}
