/**
 * Folder client/report: the page of `berth report`: one HTML file with pictures.
 *
 * Main types: struct ui (the page as it grows).
 * Uses: lib ui picture
 * Public headers: report.h
 * Shown by: tests/system/report.sh
 *
 * Parts of the page of berth report: one HTML file with pictures, without scripts and external
 * files. All text from the daemon is escaped.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "ui/ui.h"

/* report/report.c */
/* Writes the page up to its title. verdict: of a title's end, as "healthy". */
void report_head(struct ui *page, const char *title, const char *verdict);
/* writes the page up to the verdict */
void report_begin(struct ui *page, const char *node, const json_t *check);
/* about: HTML; NULL none */
void report_section(struct ui *page, const char *title, const char *about);
/* draws an object of texts; nothing when it is empty */
void report_table(struct ui *page, const char *title, const json_t *texts);
/* Adds a line that is seen where what follows is wider than the screen. */
void report_hint(struct ui *page);
/* Adds the picture of a node, with Bind's reply on it (NULL none). */
void report_picture(struct ui *page, const json_t *node, const json_t *plan);
void report_end(struct ui *page, const char *command);

/* report/heatmap.c: draws GetMatrix's cells of one combination of axes as a table of colours, large
 * ones as a picture. metric: its entry of ListMetrics. False when there is nothing to draw. */
bool report_matrix(struct ui *page, const json_t *metric, const json_t *matrix);

/* Finds the cell with the worst number; from and to are borrowed from the reply. False when there
 * is none. */
bool report_worst(const json_t *metric, const json_t *matrix, const char **ret_from,
                  const char **ret_to);

/* report/curves.c: draws the measured rates by size at the metric's default axes, as SVG. False
 * when there are not several sizes. */
bool report_curves(struct ui *page, const json_t *metric, const json_t *matrix);

/* report/runs.c: draws GetContention's runs as bars; nothing without runs of several. */
void report_runs(struct ui *page, const json_t *contention);

/* report/placement.c: draws Bind's reply beside rank order, and on the node. */
void report_placement(struct ui *page, const char *about, const json_t *node, const json_t *plan);

/* A cell over time: replies of History, GetBaseline and ListFindings. */
struct report_series {
    const char *metric, *from, *to;
    const json_t *history, *baseline, *changes;
};

/* report/history.c: draws a cell's points over time as SVG, with its baseline, and marks the
 * findings that appeared or cleared at its places. False for fewer than two points. */
bool report_history(struct ui *page, const struct report_series *series);

/* report/findings.c: tables of the replies of Check, with actions (nothing without findings),
 * ListFindings and ListClaims. */
void report_findings(struct ui *page, const json_t *check);
void report_changes(struct ui *page, const json_t *changes);
void report_claims(struct ui *page, const json_t *claims);
