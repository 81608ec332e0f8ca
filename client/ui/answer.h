/**
 * Replies of Bind, Allocate and Check as text for a person.
 */
#pragma once
#include <jansson.h>

#include "ui/ui.h"

void ui_bind(struct ui *ui, const json_t *reply);
void ui_alloc(struct ui *ui, const json_t *reply);
void ui_route(struct ui *ui, const json_t *reply);
void ui_health(struct ui *ui, const json_t *reply);

/* Prints the export and unset lines of one task, for a shell to evaluate. False, without output,
 * when a name is not valid in a shell. */
bool ui_bind_environment(struct ui *ui, const json_t *task);

/* ui/answer.c: parts that several answers share. */
/* text of a member; "" when there is none */
const char *ui_member(const json_t *object, const char *key);
/* "1.23 ms (1.20 to 1.26)", or "not predicted". */
void ui_prediction(struct ui *ui, const json_t *prediction);
/* Prints sentences: the measured value, its places and its time. Prints a few, then the number of
 * the others. */
void ui_evidence(struct ui *ui, const json_t *why);
/* Prints the reasons, sentences with numbers that a person can check. */
void ui_reasons(struct ui *ui, const json_t *reasons);
void ui_warnings(struct ui *ui, const json_t *warnings);
/* Prints a line when an answer is not about this machine. */
void ui_basis(struct ui *ui, const char *origin);
