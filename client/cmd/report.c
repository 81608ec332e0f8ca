/* berth report: an HTML page of node, health, matrices and histories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "picture/picture.h"
#include "report/report.h"
#include "ui/answer.h"

#define MOST_SERIES 24         /* most histories drawn */
#define JOB_BYTES   (64 << 20) /* of each transfer of the typical job */
#define HOST_BYTES  (1 << 30)  /* of each direction of its exchange with the host */

enum { OUTPUT, OPTIONS };

static const struct cmd_option options[] = {
    [OUTPUT] = {.letter = 'o',
                .name = "output",
                .value = "FILE",
                .help = "the page; - is standard output"},
};

/* A page in progress: replies that several parts need. */
struct report {
    struct cmd *cmd;
    struct ui page, curves, history; /* curves, history: later parts, written separately */
    json_t *node, *check, *metrics, *changes;
    size_t series;
    bool is_any_matrix;
};

static int ask(struct report *report, const char *method, json_t *take_parameters,
               json_t **ret_reply)
{
    return cmd_ask(report->cmd, method, take_parameters, ret_reply);
}

/* Adds the history of the worst cell of a matrix. */
static int add_history(struct report *report, const json_t *metric, const json_t *matrix)
{
    const char *from, *to, *name = ui_member(metric, "name");
    json_t *history, *baseline;
    if (report->series >= MOST_SERIES || !report_worst(metric, matrix, &from, &to))
        return CMD_DONE;
    int status = ask(report, "io.berth.Fabric.History",
                     json_pack("{s:s,s:s,s:s}", "metric", name, "from", from, "to", to), &history);
    if (status != CMD_DONE)
        return status;
    status = ask(report, "io.berth.Health.GetBaseline",
                 json_pack("{s:s,s:s,s:s}", "metric", name, "from", from, "to", to), &baseline);
    if (status == CMD_DONE) {
        struct report_series series = {name, from, to, history, baseline, report->changes};
        report->series += report_history(&report->history, &series);
        json_decref(baseline);
    }
    json_decref(history);
    return status;
}

/* True for transfers between gpus or with the host: they come first. */
static bool is_of_gpus(const json_t *metric)
{
    const char *name = ui_member(metric, "name");
    return strncmp(name, "gpu_gpu_", 8) == 0 || strncmp(name, "host_gpu_", 9) == 0;
}

/* Adds the rates by size of a transfer between gpus, or with the host. */
static int add_curves(struct report *report, const json_t *metric)
{
    const char *name = ui_member(metric, "name");
    json_t *matrix;
    if (!is_of_gpus(metric))
        return CMD_DONE;
    int status =
        ask(report, "io.berth.Fabric.GetMatrix", json_pack("{s:s}", "metric", name), &matrix);
    if (status == CMD_DONE) {
        report_curves(&report->curves, metric, matrix);
        json_decref(matrix);
    }
    return status;
}

static int add_matrix(struct report *report, const json_t *metric)
{
    json_t *matrix, *where = json_deep_copy(json_object_get(metric, "defaults"));
    json_t *parameters = json_pack("{s:s,s:o*}", "metric", ui_member(metric, "name"), "where",
                                   json_object_size(where) > 0 ? json_incref(where) : NULL);
    json_decref(where);
    int status = ask(report, "io.berth.Fabric.GetMatrix", parameters, &matrix);
    if (status != CMD_DONE)
        return status;
    if (report_matrix(&report->page, metric, matrix)) {
        report->is_any_matrix = true;
        status = add_history(report, metric, matrix);
    }
    json_decref(matrix);
    return status == CMD_DONE ? add_curves(report, metric) : status;
}

static int add_matrices(struct report *report)
{
    const json_t *metric;
    size_t i;
    report_section(
        &report->page, "Matrices",
        "Each metric at its default axes, the best of its own green, half as good or worse red. "
        "Hold the pointer over a cell for its interval, or why it is missing; berth matrix METRIC "
        "--intervals prints them.");
    ui_put(&report->page, "<div class=\"cards\">\n");
    for (int of_gpus = 1; of_gpus >= 0; of_gpus--)
        json_array_foreach(json_object_get(report->metrics, "metrics"), i, metric)
        {
            bool is_drawn = json_integer_value(json_object_get(metric, "cells")) > 0 &&
                            is_of_gpus(metric) == (of_gpus == 1);
            int status = is_drawn ? add_matrix(report, metric) : CMD_DONE;
            if (status != CMD_DONE)
                return status;
        }
    ui_put(&report->page, "</div>\n");
    if (!report->is_any_matrix)
        ui_put(&report->page, "<p>Nothing is measured yet.</p>\n");
    return CMD_DONE;
}

static void add_disagreements(struct report *report)
{
    const json_t *sentence, *all = json_object_get(report->node, "disagreements");
    size_t i;
    if (json_array_size(all) == 0)
        return;
    ui_put(&report->page, "<h3>What the sources disagree about</h3>\n<ul>");
    json_array_foreach(all, i, sentence)
    {
        ui_put(&report->page, "<li>");
        picture_text(&report->page, json_string_value(sentence));
        ui_put(&report->page, "</li>\n");
    }
    ui_put(&report->page, "</ul>\n");
}

static int add_claims(struct report *report)
{
    json_t *claims;
    int status = ask(report, "io.berth.Placement.ListClaims", json_object(), &claims);
    if (status != CMD_DONE)
        return status;
    report_section(&report->page, "Claims", "Places that berth keeps for somebody.");
    report_claims(&report->page, claims);
    json_decref(claims);
    return CMD_DONE;
}

/* Time in rank order as a multiple of the plan's; 0 where one is unknown. */
static double gain_of(const json_t *plan)
{
    double gain = ui_member_number(json_object_get(plan, "baseline"), "time_ns") /
                  ui_member_number(json_object_get(plan, "predicted"), "time_ns");
    return gain > 0 ? gain : 0;
}

/* Adds the job of two for which the placement matters more: a ring on half the gpus, or two tasks
 * that exchange bytes with the host. Without gpus, and where none may be used, there is none. */
static int add_placement(struct report *report)
{
    const json_t *place;
    size_t gpus = 0, i;
    json_array_foreach(json_object_get(report->node, "places"), i, place) gpus +=
        strcmp(ui_member(place, "kind"), "gpu") == 0;
    if (gpus < 2)
        return CMD_DONE;
    json_int_t tasks = gpus < 4 ? 2 : (json_int_t)(gpus / 2);
    json_t *ring = cmd_try(report->cmd->berth, "io.berth.Placement.Bind",
                           json_pack("{s:I,s:s,s:I}", "tasks", tasks, "pattern", "ring", "bytes",
                                     (json_int_t)JOB_BYTES)),
           *host =
               cmd_try(report->cmd->berth, "io.berth.Placement.Bind",
                       json_pack("{s:i,s:I}", "tasks", 2, "host_bytes", (json_int_t)HOST_BYTES));
    if (host != NULL && (ring == NULL || gain_of(host) > gain_of(ring)))
        report_placement(&report->page,
                         "Two tasks, each with a gpu, copy 1 GiB to the host and back in an "
                         "iteration: <code>berth bind -n 2 --host-bytes 1G</code>.",
                         report->node, host);
    else if (ring != NULL)
        report_placement(&report->page,
                         "Tasks on half the gpus, but at least two, send 64 MiB to the next one in "
                         "an iteration: <code>berth bind -n TASKS --pattern ring --bytes "
                         "64M</code>.",
                         report->node, ring);
    json_decref(ring);
    json_decref(host);
    return CMD_DONE;
}

static int add_contention(struct report *report)
{
    json_t *contention;
    int status = ask(report, "io.berth.Fabric.GetContention", json_object(), &contention);
    if (status != CMD_DONE)
        return status;
    report_runs(&report->page, contention);
    json_decref(contention);
    return CMD_DONE;
}

/* Writes the changes, and the series that were collected with the matrices. */
static void add_histories(struct report *report)
{
    struct ui *page = &report->page;
    report_section(page, "History", "Findings that appeared or cleared, the latest change first.");
    report_changes(page, report->changes);
    page->failed = page->failed || report->history.failed;
    if (report->series == 0)
        return;
    ui_put(page,
           "<p class=\"small\">Below, the worst cell of each matrix over time (%zu of at most %d; "
           "<code>berth history METRIC FROM TO</code> prints any other). Shaded is in line with "
           "the baseline; a red mark is a finding at its places, a green one its end.</p>\n"
           "<div class=\"cards\">\n%s</div>\n",
           report->series, MOST_SERIES, report->history.text);
}

static int write_page(struct report *report)
{
    struct ui *page = &report->page;
    report_begin(page, ui_member(report->node, "name"), report->check);
    report_findings(page, report->check);
    report_picture(page, report->node, NULL);
    int status = add_matrices(report);
    if (status == CMD_DONE && report->curves.length > 0) {
        report_section(page, "Transfers by size",
                       "A line for each pair; points are measured, with their 95 % intervals.");
        ui_put(page, "<div class=\"cards\">\n%s</div>\n", report->curves.text);
    }
    page->failed = page->failed || report->curves.failed;
    if (status == CMD_DONE)
        status = add_contention(report);
    if (status == CMD_DONE)
        status = add_placement(report);
    if (status == CMD_DONE)
        status = add_claims(report);
    if (status != CMD_DONE)
        return status;
    add_histories(report);
    report_section(page, "Software", NULL);
    report_table(page, "Versions", json_object_get(report->node, "software"));
    add_disagreements(report);
    report_end(page, "berth report");
    return CMD_DONE;
}

static int show(struct report *report)
{
    const char *path = cmd_value(report->cmd, &options[OUTPUT]);
    if (report->page.failed)
        return cmd_fail_memory();
    if (strcmp(path, "-") != 0)
        return cmd_file_report(report->cmd, path,
                               cmd_file_replace(path, report->page.text, report->page.length));
    int status = cmd_print(&report->page);
    report->page = (struct ui){0};
    return status;
}

static int run(struct cmd *cmd)
{
    struct report report = {.cmd = cmd,
                            .page = {.utf8 = true, .width = 120},
                            .curves = {.utf8 = true},
                            .history = {.utf8 = true, .width = 120}};
    if (!cmd_has(cmd, &options[OUTPUT]))
        return cmd_usage(cmd, "where to? -o FILE");
    const char *path = cmd_value(cmd, &options[OUTPUT]);
    if (strcmp(path, "-") != 0 && cmd_is_picture(path))
        return cmd_usage(cmd, "a report is a page, FILE.html; berth topo -o %.60s draws a picture",
                         path);
    if (cmd_wants_json(cmd))
        return cmd_usage(cmd, "a report is a page of many replies and has no --json");
    int status = cmd_ask_node(cmd, &report.node);
    if (status == CMD_DONE)
        status = ask(&report, "io.berth.Health.Check", json_object(), &report.check);
    if (status == CMD_DONE)
        status = ask(&report, "io.berth.Fabric.ListMetrics", json_object(), &report.metrics);
    if (status == CMD_DONE)
        status = ask(&report, "io.berth.Health.ListFindings", json_object(), &report.changes);
    if (status == CMD_DONE)
        status = write_page(&report);
    if (status == CMD_DONE)
        status = show(&report);
    ui_done(&report.page);
    ui_done(&report.curves);
    ui_done(&report.history);
    json_decref(report.node);
    json_decref(report.check);
    json_decref(report.metrics);
    json_decref(report.changes);
    return status;
}

const struct cmd_command cmd_report = {
    .name = "report",
    .operands = "",
    .about = "a page with pictures: health, topology, matrices, history",
    .options = options,
    .option_count = OPTIONS,
    .run = run,
    .notes = {"One HTML file without scripts and without anything from elsewhere, to look at, to "
              "mail, to keep with a ticket."},
};
