/**
 * Replies of Claim, Release and ListClaims as text for a person.
 */
#pragma once
#include <jansson.h>

#include "ui/ui.h"

void ui_claim(struct ui *ui, const json_t *reply);
void ui_released(struct ui *ui, const json_t *reply);
void ui_claims(struct ui *ui, const json_t *reply);
