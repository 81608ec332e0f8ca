/**
 * Folder client/report: the page of `berth report`: one HTML file with pictures.
 *
 * Main types: struct ui (the page as it grows).
 * Uses: lib ui
 * Public headers: report.h
 * Shown by: tests/system/report.sh
 *
 * Parts of the page that berth report writes: one HTML file with pictures, without scripts and
 * without anything from elsewhere. What comes from the daemon is escaped wherever it stands.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "ui/ui.h"

/* report/report.c */
/* escaped; NULL nothing */
void report_text(struct ui *page, const char *text);
void report_begin(struct ui *page, const char *node, const json_t *check);  /* up to the verdict */
void report_section(struct ui *page, const char *title, const char *about); /* about NULL: none */
/* What a person sees in the terminal, as it is. */
void report_plain(struct ui *page, void (*draw)(struct ui *ui, const json_t *reply),
                  const json_t *reply);
/* an object of texts; nothing when it is empty */
void report_table(struct ui *page, const char *title, const json_t *texts);
void report_end(struct ui *page, const char *command);

/* report/node.c: GetNode's places and links as SVG. */
void report_node(struct ui *page, const json_t *node);

/* report/matrix.c: GetMatrix's cells of one combination of axes as a table of colours; metric: its
 * entry of ListMetrics. False when there is nothing to draw. */
bool report_matrix(struct ui *page, const json_t *metric, const json_t *matrix);

/* The cell with the worst number: from and to borrowed from the reply. False: there is none. */
bool report_worst(const json_t *metric, const json_t *matrix, const char **ret_from,
                  const char **ret_to);

/* report/history.c: a cell's points over time as SVG, with what is expected (GetBaseline's reply,
 * NULL none). False when there are fewer than two. */
bool report_history(struct ui *page, const char *title, const json_t *history,
                    const json_t *baseline);
