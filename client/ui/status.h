/**
 * State and activity of the daemon as text for a person.
 */
#pragma once
#include <jansson.h>

#include "ui/ui.h"

void ui_status(struct ui *ui, const json_t *reply);
void ui_change(struct ui *ui, const json_t *reply); /* prints one line for a reply of Watch */

/* Prints a probe's progress as a bar without a line end, or as a line of words. */
void ui_progress_bar(struct ui *ui, const json_t *reply);
void ui_progress_line(struct ui *ui, const json_t *reply);
void ui_probe_summary(struct ui *ui, const json_t *reply);
