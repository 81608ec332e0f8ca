/**
 * Replies of the daemon as text for a person.
 */
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "ui/ui.h"

void ui_bind(struct ui *ui, const json_t *reply);
void ui_alloc(struct ui *ui, const json_t *reply);
void ui_route(struct ui *ui, const json_t *reply);
/* With why each finding about a cell has the members baseline and history: replies of GetBaseline
 * and of History. */
void ui_health(struct ui *ui, const json_t *reply);
/* ui/nagios.c: a reply of Check as the line of a monitoring plugin, with performance data; and the
 * line of one that knows nothing. */
void ui_nagios(struct ui *ui, const json_t *reply);
void ui_nagios_unknown(struct ui *ui, const char *why);
/* Prints the reason and the findings of a reply of Check or of Load. */
void ui_verdict(struct ui *ui, const json_t *reply);
/* ui/load.c: the last reply of Load; and its progress as ui_progress_bar and _line. */
void ui_load(struct ui *ui, const json_t *reply);
void ui_load_progress(struct ui *ui, const json_t *reply, bool is_bar);

/* Prints in words what a limit of concurrent transfers is: "numa3:memory:read" is "numa3's
 * memory, read". */
void ui_limit(struct ui *ui, const char *name);

/* Prints the export and unset lines of one task, for a shell to evaluate. False, without output,
 * when a name is not valid in a shell. */
bool ui_bind_environment(struct ui *ui, const json_t *task);

/* ui/status.c: state and activity of the daemon; the reply may have the members of ListClaims, too.
 */
void ui_status(struct ui *ui, const json_t *reply);

/* Prints a probe's progress as a bar without a line end, or as a line of words. */
void ui_progress_bar(struct ui *ui, const json_t *reply);
void ui_progress_line(struct ui *ui, const json_t *reply);
void ui_probe_summary(struct ui *ui, const json_t *reply);

/* ui/explain.c: records of the gpu probe's --explain between these two places. */
void ui_explain(struct ui *ui, const json_t *records, const char *from, const char *to);

/* ui/reports.c: replies of ListReports and of Report. */
void ui_reports(struct ui *ui, const json_t *reply);
void ui_reported(struct ui *ui, const json_t *reply);

/* ui/claims.c: replies of Claim, Release and ListClaims. */
void ui_claim(struct ui *ui, const json_t *reply);
void ui_released(struct ui *ui, const json_t *reply);
void ui_claims(struct ui *ui, const json_t *reply);
/* Prints the claim in the way of one that waits: waits_for of a reply of Claim. */
void ui_claim_waits(struct ui *ui, const json_t *by);
/* Prints who has which places, and what for, without a line end. */
void ui_claim_holding(struct ui *ui, const json_t *claim);

/* ui/transfer.c and ui/contention.c: replies of GetCurves and of GetContention. A concurrent
 * run shows its flows, the rate of each, the rate predicted from the shared limits, and those
 * limits. "(not)" marks a prediction more than 5 % off. */
void ui_curves(struct ui *ui, const json_t *reply);
/* Prints a row each metric with curves. list: an array of objects with metric, about (of
 * ListMetrics) and curves (of GetCurves). */
void ui_curves_list(struct ui *ui, const json_t *list);
void ui_contention(struct ui *ui, const json_t *reply);

/* ui/tuning.c: reply of GetTuning. */
void ui_tuning(struct ui *ui, const json_t *reply);

/* ui/kernel.c: reply of PredictKernel. */
void ui_kernel(struct ui *ui, const json_t *reply);

/* ui/history.c: ends the first line, which names the series, and prints it. history: reply of
 * History; baseline: reply of GetBaseline; why_none: said where there is no point. Shows the latest
 * points, at most `most`, in a line each. */
void ui_history(struct ui *ui, const json_t *history, const json_t *baseline, const char *why_none,
                size_t most);

/* "19.9 to 20.1 GB/s" of the members low and high: the unit once where both ends have the same; ""
 * without them. */
void ui_interval(const struct ui *ui, const json_t *point, const char *unit, char *text,
                 size_t size);
/* Returns what a finding of that code compares with: "what is expected" of a baseline. */
const char *ui_reference(const char *code);
/* Prints a reply of GetBaseline: its median, its limit, its rate of false alarms. */
void ui_expected(struct ui *ui, int indent, const json_t *baseline);
/* Prints the conditions that changed between the last point before since_s and the next one. */
void ui_changed_since(struct ui *ui, int indent, const json_t *history, int64_t since_s);

/* Prints the reply of ListFindings as events, the latest first; values that came or went at the
 * same time are one event. */
void ui_changes(struct ui *ui, const json_t *reply);
void ui_changes_all(struct ui *ui, const json_t *reply); /* each by itself */
/* Prints such a reply of a private daemon over a node folder. */
void ui_changes_of_folder(struct ui *ui, const json_t *reply);

/* ui/answer.c: parts that several answers share. */
/* text of a member; "" when there is none */
const char *ui_member(const json_t *object, const char *key);
/* true for an array of texts that has this one */
bool ui_lists(const json_t *array, const char *text);
/* number of a member; NAN when there is none */
double ui_member_number(const json_t *object, const char *key);
/* "1.23 ms (1.20 to 1.26)", or "not predicted". */
void ui_prediction(struct ui *ui, const json_t *prediction);
/* Prints a prediction without its interval. */
void ui_prediction_short(struct ui *ui, const json_t *prediction);
/* True for a lower bound below a microsecond: the start of few bytes, which decides, is unknown. */
bool ui_is_unmeasured(const json_t *prediction);
/* ui/evidence.c: appends " with sdma=off": those axes that are not as by default. */
void ui_axes_put(struct ui *line, const char *metric, const json_t *axes);
/* Prints a value with its places and such axes, and those like it that come later; nothing where an
 * earlier one is like it. */
void ui_evidence_put(struct ui *ui, const json_t *evidence, size_t index);
/* Prints a slow value that a finding explains, with units of sizes. */
void ui_slow_value(struct ui *ui, const json_t *value);
/* Writes the heading of evidence, with the times of its measurements. size: bytes of text. */
void ui_evidence_heading(const json_t *evidence, char *text, size_t size);
/* Returns the sentence of a reason or a warning; "?" where it has none. */
const char *ui_reason_text(const json_t *reason);

/* True when a reason or a warning has that code (schema/reasons.def). */
bool ui_reason_is(const json_t *reason, const char *code);

/* True for a reason that tells an alternative, which stands under that heading. */
bool ui_is_alternative(const json_t *reason);

/* Prints a call, a line each statement, so that it can be copied; longer lines are wrapped. */
void ui_call(struct ui *ui, const char *call);

/* ui/why.c: prints the end of an answer. With why: reasons, evidence (of the reply's first option,
 * or its own) and notes; on a terminal as many as a screen of 40 rows has room for, and the
 * number of others. Without why: the notes that ask for an action, and the number of others. Ends
 * with ui_basis. */
void ui_why(struct ui *ui, const json_t *reply, const json_t *evidence);
/* Prints a line when an answer is not about this machine. */
void ui_basis(struct ui *ui, const char *origin);
