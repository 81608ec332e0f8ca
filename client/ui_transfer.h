/**
 * Transfers drawn for a person: GetCurves' reply and GetSets'.
 */
#pragma once
#include <jansson.h>

#include "ui.h"

void ui_curves(struct ui *ui, const json_t *reply);
void ui_sets(struct ui *ui, const json_t *reply);
