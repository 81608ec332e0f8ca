/**
 * The answers of Bind, Allocate and Check drawn for a person, from their replies.
 */
#pragma once
#include <jansson.h>

#include "ui/ui.h"

void ui_bind(struct ui *ui, const json_t *reply);
void ui_alloc(struct ui *ui, const json_t *reply);
void ui_route(struct ui *ui, const json_t *reply);
void ui_health(struct ui *ui, const json_t *reply);

/* The export and unset lines of one task, for a shell to evaluate. False when a name is not one a
 * shell has: nothing is printed then. */
bool ui_bind_environment(struct ui *ui, const json_t *task);

/* ui/answer.c: what several answers have. */
const char *ui_member(const json_t *object, const char *key); /* a text; "" when there is none */
/* "1.23 ms (1.20 to 1.26)", or "not predicted". */
void ui_prediction(struct ui *ui, const json_t *prediction);
/* A sentence each: what was measured, between what, when. At most a few; then how many more. */
void ui_evidence(struct ui *ui, const json_t *why);
/* Each a sentence whose numbers a person can check. */
void ui_reasons(struct ui *ui, const json_t *reasons);
void ui_warnings(struct ui *ui, const json_t *warnings);
/* Says when an answer is not about this very machine. */
void ui_basis(struct ui *ui, const char *origin);
