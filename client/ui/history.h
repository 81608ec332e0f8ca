/**
 * What changed, drawn for a person: the points of one series, and the findings that appeared and
 * cleared.
 */
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "ui/ui.h"

/* history: the reply of History; baseline: that of GetBaseline. Of the points the latest most are
 * shown, in a line each. */
void ui_history(struct ui *ui, const json_t *history, const json_t *baseline, size_t most);

/* The reply of ListFindings as events, the latest first. */
void ui_changes(struct ui *ui, const json_t *reply);
/* the same of a private daemon over a node folder */
void ui_changes_of_folder(struct ui *ui, const json_t *reply);
