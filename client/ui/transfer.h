/**
 * Transfers drawn for a person: GetCurves' reply, and GetSets' (ui/sets.c): who ran with whom, what
 * each got, what by what is shared it should have got, "(not)" where that is more than 5 % off, and
 * what is shared.
 */
#pragma once
#include <jansson.h>

#include "ui/ui.h"

void ui_curves(struct ui *ui, const json_t *reply);
void ui_sets(struct ui *ui, const json_t *reply);
