/* berth report: an HTML page of node, health, matrices and histories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "picture/picture.h"
#include "report/report.h"
#include "ui/answer.h"
#include "ui/topo.h"

#define MOST_SERIES 24 /* most histories drawn */

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
    struct ui page, history; /* history: the last part, written separately */
    json_t *node, *check, *metrics;
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
        char title[256];
        snprintf(title, sizeof title, "%s from %s to %s", name, from, to);
        report->series += report_history(&report->history, title, history, baseline);
        json_decref(baseline);
    }
    json_decref(history);
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
    return status;
}

static int add_matrices(struct report *report)
{
    const json_t *metric;
    size_t i;
    report_section(
        &report->page, "Matrices",
        "Each metric at its default axes, the best of its own green, half as good or worse red. "
        "Hold the pointer over a cell for its interval, or why it is missing.");
    json_array_foreach(json_object_get(report->metrics, "metrics"), i, metric)
    {
        int status = json_integer_value(json_object_get(metric, "cells")) > 0
                         ? add_matrix(report, metric)
                         : CMD_DONE;
        if (status != CMD_DONE)
            return status;
    }
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

/* Adds one reply, drawn as in the terminal. */
static int add_plain(struct report *report, const char *title, const char *about,
                     const char *method, void (*draw)(struct ui *ui, const json_t *reply))
{
    json_t *reply;
    int status = ask(report, method, json_object(), &reply);
    if (status != CMD_DONE)
        return status;
    report_section(&report->page, title, about);
    report_plain(&report->page, draw, reply);
    json_decref(reply);
    return CMD_DONE;
}

static int write_page(struct report *report)
{
    struct ui *page = &report->page;
    report_begin(page, ui_member(report->node, "name"), report->check);
    report_section(page, "Health",
                   "What berth health says. On the node, berth probe measures again, berth history "
                   "shows since when, berth accept takes the measured values as the baseline.");
    report_plain(page, ui_health, report->check);
    report_section(page, "Topology",
                   "Memory with its cores above, gpus and network cards next to it below. A line "
                   "is a link, the wider the faster; hold the pointer over it for its rates.");
    ui_put(page, "<div class=\"scroll\">");
    picture_node(page, report->node, NULL);
    ui_put(page, "</div>\n");
    report_plain(page, ui_topo, report->node);
    int status = add_plain(report, "Claims", "Who has claimed what.",
                           "io.berth.Placement.ListClaims", ui_claims);
    if (status == CMD_DONE)
        status = add_matrices(report);
    if (status == CMD_DONE)
        status = add_plain(report, "History",
                           "What was found wrong and what has cleared, the latest change first; "
                           "then the worst cell of each matrix over time.",
                           "io.berth.Health.ListFindings", ui_changes);
    if (status != CMD_DONE)
        return status;
    page->failed = page->failed || report->history.failed;
    ui_put(page, "%s", report->history.text == NULL ? "" : report->history.text);
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
        return cmd_file_replace(path, report->page.text, report->page.length);
    int status = cmd_print(&report->page);
    report->page = (struct ui){0};
    return status;
}

static int run(struct cmd *cmd)
{
    struct report report = {
        .cmd = cmd, .page = {.utf8 = true, .width = 120}, .history = {.utf8 = true, .width = 120}};
    if (!cmd_has(cmd, &options[OUTPUT]))
        return cmd_usage(cmd, "where to? -o FILE");
    if (cmd_wants_json(cmd))
        return cmd_usage(cmd, "a report is a page of many replies and has no --json");
    int status = ask(&report, "io.berth.Fabric.GetNode", json_object(), &report.node);
    if (status == CMD_DONE)
        status = ask(&report, "io.berth.Health.Check", json_object(), &report.check);
    if (status == CMD_DONE)
        status = ask(&report, "io.berth.Fabric.ListMetrics", json_object(), &report.metrics);
    if (status == CMD_DONE)
        status = write_page(&report);
    if (status == CMD_DONE)
        status = show(&report);
    ui_done(&report.page);
    ui_done(&report.history);
    json_decref(report.node);
    json_decref(report.check);
    json_decref(report.metrics);
    return status;
}

const struct cmd_command cmd_report = {
    .name = "report",
    .operands = "",
    .about = "a page with pictures: health, topology, matrices, history of this node",
    .options = options,
    .option_count = OPTIONS,
    .run = run,
    .notes = {"One HTML file without scripts and without anything from elsewhere, to look at, to "
              "mail, to keep with a ticket."},
};
