/**
 * The daemon itself, and what it is doing, drawn for a person.
 */
#pragma once
#include <jansson.h>

#include "ui/ui.h"

void ui_status(struct ui *ui, const json_t *reply);
void ui_change(struct ui *ui, const json_t *reply); /* one line for a reply of Watch */

/* A probe's progress as a bar without a line's end, or as a line of words. */
void ui_progress_bar(struct ui *ui, const json_t *reply);
void ui_progress_line(struct ui *ui, const json_t *reply);
void ui_probe_summary(struct ui *ui, const json_t *reply);
