/**
 * Transfers as text for a person: replies of GetCurves and of GetSets (ui/sets.c). A set shows its
 * flows, the rate of each, its fair share of the shared resources, and those resources. "(not)"
 * marks a rate more than 5 % off its fair share.
 */
#pragma once
#include <jansson.h>

#include "ui/ui.h"

void ui_curves(struct ui *ui, const json_t *reply);
void ui_sets(struct ui *ui, const json_t *reply);
