/**
 * Choice of axis combinations when the caller did not name every axis: an axis without a name takes
 * its default.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "ui/cells.h"
#include "ui/ui.h"

struct ui_choice {
    const json_t *where; /* axes with given values; NULL none */
    /* defaults of the metric, axis to value; NULL unknown: nothing is chosen */
    const json_t *defaults;
};

bool ui_chosen(const struct ui_group *group, const struct ui_choice *choice);

/* True when the chosen groups make the better picture: they include a matrix of several rows and
 * columns, and are few. */
bool ui_chosen_helps(const struct ui_cells *cells, const struct ui_choice *choice);

/* Prints the other values, some for each axis, and the options that select them. */
void ui_chosen_rest(struct ui *ui, const struct ui_cells *cells, const struct ui_choice *choice);

/* Returns the value of an axis for a person: "4 KiB" for 4096 on the axis bytes, else the value. */
const char *ui_axis_value(const char *key, const char *value, char buffer[UI_NUMBER]);

/* Writes a group's axes for a person, without those that do not apply, the metric that they are
 * about first; of many groups only those in which groups about that metric differ, NULL all. */
void ui_axes_text(const struct ui_cells *cells, const struct ui_group *group, char *text,
                  size_t size);
