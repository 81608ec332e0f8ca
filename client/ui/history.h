/**
 * Changes as text for a person: the points of one series, and the findings that appeared and
 * cleared.
 */
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "ui/ui.h"

/* Prints a series. history: reply of History; baseline: reply of GetBaseline. Shows the latest
 * points, at most `most`, in a line each. */
void ui_history(struct ui *ui, const json_t *history, const json_t *baseline, size_t most);

/* Prints the reply of ListFindings as events, the latest first. */
void ui_changes(struct ui *ui, const json_t *reply);
/* the same from a private daemon over a node folder */
void ui_changes_of_folder(struct ui *ui, const json_t *reply);
