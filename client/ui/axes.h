/**
 * Which combinations of axes a person means who did not name them all: of an axis that was not
 * named, the default.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "ui/cells.h"
#include "ui/ui.h"

struct ui_choice {
    const json_t *where;    /* axes that were named; NULL none */
    const json_t *defaults; /* of the metric, axis to value; NULL not known: nothing is chosen */
};

bool ui_chosen(const struct ui_group *group, const struct ui_choice *choice);

/* Whether the chosen ones are the better picture: there are any, and a matrix of several rows and
 * columns among them. */
bool ui_chosen_helps(const struct ui_cells *cells, const struct ui_choice *choice);

/* What there is besides, a value or more for each axis, and how to ask for it. */
void ui_chosen_rest(struct ui *ui, const struct ui_cells *cells, const struct ui_choice *choice);
