/**
 * Folder client/fleet: the records of many nodes compared: slow nodes, conditions that they share,
 *   baselines of a class, lines for a data lake.
 *
 * Main types: struct fleet (nodes, classes, verdicts).
 * Uses: lib ui picture report
 * Public headers: fleet.h
 * Shown by: tests/system/fleet.py, tests/unit/fleet
 *
 * A fleet is read by several threads, then compared by one. docs/FLEET.md has the statistics.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "ui/ui.h"

struct fleet;

struct fleet_settings {
    double rate;     /* highest share of the named nodes that chance names, 0 to 1 */
    double least;    /* least loss that counts, as a share */
    FILE *lines;     /* takes each value as a JSON line; NULL: values are kept and compared */
    bool with_files; /* keeps what fleet_baseline needs */
};

/* NULL when out of memory. */
struct fleet *fleet_new(const struct fleet_settings *settings);
void fleet_free(struct fleet *fleet); /* accepts NULL */

/* Reads node folders, folders of them, .tar and .baseline files, on all cores. A file that cannot
 * be used is noted in the answer. Returns false when out of memory. */
bool fleet_read(struct fleet *fleet, const char *const *path, size_t count);

/* Finds classes, slow nodes and shared conditions, once after reading. False when out of memory. */
bool fleet_compare(struct fleet *fleet);

/* Returns the answer, a new reference; NULL when out of memory. docs/FLEET.md lists its members.
 * with_series adds the values of each class. */
json_t *fleet_json(const struct fleet *fleet, bool with_series);

/* Writes the baseline file of a class, by its number in the answer. Returns its fingerprint; NULL,
 * without text, for a class that is not compared or whose fingerprint is unknown. */
const char *fleet_baseline(const struct fleet *fleet, size_t class, struct ui *text);

/* fleet/text.c: writes the answer for a person. ui->why adds the evidence. */
void fleet_text(struct ui *ui, const json_t *answer);

/* fleet/page.c: writes one HTML file without scripts. answer: with series. */
void fleet_page(struct ui *page, const json_t *answer);
