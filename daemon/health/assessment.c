#include "health/assessment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/baseline.h"
#include "health/findings.h"

static const char *const severity_names[] = {
    [SEVERITY_INFO] = "info", [SEVERITY_WARNING] = "warning", [SEVERITY_CRITICAL] = "critical"};
static const char *const verdict_names[] = {[VERDICT_HEALTHY] = "healthy",
                                            [VERDICT_DEGRADED] = "degraded",
                                            [VERDICT_UNHEALTHY] = "unhealthy",
                                            [VERDICT_UNKNOWN] = "unknown"};

const char *assessment_severity_name(enum severity severity) { return severity_names[severity]; }
const char *assessment_verdict_name(enum verdict verdict) { return verdict_names[verdict]; }

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
}

/* Reports links that are down or degraded. An unplugged network cable is no fault of the node; any
 * other link that is down is one. */
static enum berth_code check_links(struct findings *findings, struct berth_err *err)
{
    const struct graph *graph = findings->snap->graph;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if ((link->state != LINK_DOWN && link->state != LINK_DEGRADED) ||
            (!findings_is_selected(findings, link->from) &&
             !findings_is_selected(findings, link->to)))
            continue;
        bool is_down = link->state == LINK_DOWN, is_cable = link->kind == LINK_NETWORK;
        struct finding *finding = findings_add(findings,
                                               is_cable  ? SEVERITY_INFO
                                               : is_down ? SEVERITY_CRITICAL
                                                         : SEVERITY_WARNING,
                                               is_cable  ? "network-link"
                                               : is_down ? "link-down"
                                                         : "link-degraded",
                                               graph_place(graph, link->from)->name);
        if (finding == NULL)
            return no_memory(err);
        finding->drain = link->state == LINK_DOWN && !is_cable;
        explain_link(graph, link, finding);
        snprintf(finding->subject, sizeof finding->subject, "%s %s", link_kind_name(link->kind),
                 graph_place(graph, link->to)->name);
        snprintf(finding->text, sizeof finding->text, "the %s link from %s to %s is %s, says %s",
                 link_kind_name(link->kind), graph_place(graph, link->from)->name,
                 graph_place(graph, link->to)->name, link_state_name(link->state), link->source);
    }
    return BERTH_OK;
}

/* True for codes of notes that make a node unfit for jobs. */
static bool drains(const char *code)
{
    static const char *const codes[] = {"gpu-missing", "gpu-lost", "wrong-bytes"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

bool assessment_add_note(struct findings *findings, const struct note *note)
{
    enum severity severity = note->severity >= SEVERITY_CRITICAL ? SEVERITY_CRITICAL
                             : note->severity <= 0               ? SEVERITY_INFO
                                                                 : SEVERITY_WARNING;
    struct finding *finding = findings_add(findings, severity, note->code, note->place);
    if (finding == NULL)
        return false;
    snprintf(finding->text, sizeof finding->text, "%s", note->text);
    finding->drain = drains(note->code);
    finding->at_s = finding->since_s = note->since_s;
    return true;
}

static enum berth_code check_notes(struct findings *findings, struct berth_err *err)
{
    for (size_t i = 0; i < findings->snap->note_count; i++) {
        const struct note *note = &findings->snap->notes[i];
        place_id at = graph_find(findings->snap->graph, note->place);
        if (findings_is_selected(findings, at != PLACE_NONE ? at : 0) &&
            !assessment_add_note(findings, note))
            return no_memory(err);
    }
    return BERTH_OK;
}

/* Orders shown findings before others, graver before lighter ones, and unconfirmed ones last. So
 * the reason names the first of the list. */
static int compare_findings(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    if (x->is_unconfirmed != y->is_unconfirmed)
        return x->is_unconfirmed ? 1 : -1;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->is_unlisted != y->is_unlisted)
        return x->is_unlisted ? 1 : -1;
    if (x->drain != y->drain)
        return x->drain ? -1 : 1;
    if (x->goodness != y->goodness)
        return x->goodness < y->goodness ? -1 : 1;
    int order = strcmp(x->code, y->code);
    if (order == 0)
        order = strcmp(x->place, y->place);
    return order != 0 ? order : strcmp(x->text, y->text);
}

/* Cuts the text to fit, never within a UTF-8 character. Cuts before a clause if a third of the
 * buffer stays used; otherwise before a word, and appends dots. */
static void cut(char *buffer, size_t size, const char *text)
{
    size_t length = strlen(text);
    if (length >= size) {
        length = size - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
        size_t clause = length, word;
        while (clause > size / 3 &&
               !(text[clause] == ' ' && strchr(",;", text[clause - 1]) != NULL))
            clause--;
        if (clause > size / 3) {
            length = clause - 1;
        } else {
            length -= 3;
            word = length;
            while (word > size / 2 && text[word] != ' ')
                word--;
            word = word > size / 2 ? word : length;
            while (word > 0 && ((unsigned char)text[word] & 0xc0) == 0x80)
                word--;
            memcpy(buffer, text, word);
            strcpy(buffer + word, "...");
            return;
        }
    }
    memcpy(buffer, text, length);
    buffer[length] = '\0';
}

static void conclude(const struct findings *findings, struct assessment *assessment)
{
    const struct finding *worst = findings->count > 0 ? &findings->finding[0] : NULL;
    char reason[512];
    size_t bad = 0;
    size_t unconfirmed = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->finding[i];
        bool is_worse = finding->severity != SEVERITY_INFO;
        bad += is_worse && assessment_lists(finding);
        unconfirmed += is_worse && finding->is_unconfirmed && !finding->is_unlisted;
        assessment->drain = assessment->drain || (finding->drain && !finding->is_unconfirmed);
    }
    if (bad > 0) {
        assessment->verdict =
            worst->severity == SEVERITY_CRITICAL ? VERDICT_UNHEALTHY : VERDICT_DEGRADED;
        if (bad > 1)
            snprintf(reason, sizeof reason, "%s: %zu findings, the worst: %s: %s",
                     assessment_verdict_name(assessment->verdict), bad, worst->place, worst->text);
        else
            snprintf(reason, sizeof reason, "%s: %s: %s",
                     assessment_verdict_name(assessment->verdict), worst->place, worst->text);
    } else if (findings->measured == 0) {
        assessment->verdict = VERDICT_UNKNOWN;
        snprintf(reason, sizeof reason, "unknown: nothing has been measured%s",
                 findings->selected != NULL ? " there" : "");
    } else {
        assessment->verdict = VERDICT_HEALTHY;
        if (unconfirmed > 0)
            snprintf(reason, sizeof reason,
                     "healthy: %zu measured values; a second measurement is due at %zu place%s",
                     findings->measured, unconfirmed, unconfirmed == 1 ? "" : "s");
        else
            snprintf(reason, sizeof reason, "healthy: %zu measured values, none out of line",
                     findings->measured);
    }
    cut(assessment->reason, sizeof assessment->reason, reason);
}

void assessment_conclude(struct findings *take_findings, struct assessment *ret)
{
    struct assessment assessment = {0};
    if (take_findings->count > 0)
        qsort(take_findings->finding, take_findings->count, sizeof *take_findings->finding,
              compare_findings);
    conclude(take_findings, &assessment);
    assessment.finding = take_findings->finding;
    assessment.count = take_findings->count;
    assessment.is_cut = take_findings->is_cut;
    take_findings->finding = NULL;
    take_findings->count = 0;
    *ret = assessment;
}

/* True when a comes before b among the findings: compare_findings. */
static bool is_worse(const struct opened *a, const struct opened *b)
{
    double off_a = fabs(log(a->value / a->expected)), off_b = fabs(log(b->value / b->expected));
    if (a->severity != b->severity)
        return a->severity > b->severity;
    return off_a != off_b ? off_a > off_b : strcmp(a->code, b->code) < 0;
}

const struct opened *assessment_of_series(const struct snapshot *snap, enum metric metric,
                                          place_id from, place_id to, const char *axes)
{
    char subject[FINDING_SUBJECT_SIZE];
    const struct opened *worst = NULL;
    findings_subject(snap->graph, metric, from, to, axes, subject);
    for (size_t i = 0; i < snap->opened_count; i++) {
        const struct opened *opened = &snap->opened[i];
        if (strcmp(opened->subject, subject) == 0 && opened->expected > 0 &&
            (worst == NULL || is_worse(opened, worst)))
            worst = opened;
    }
    return worst;
}

/* Returns the open finding of the same code, place and subject; NULL none. The text is no key: it
 * contains the latest value. */
static const struct opened *opened_of(const struct snapshot *snap, const struct finding *finding)
{
    for (size_t i = 0; i < snap->opened_count; i++) {
        const struct opened *opened = &snap->opened[i];
        if (strcmp(opened->code, finding->code) == 0 &&
            strcmp(opened->place, finding->place) == 0 &&
            strcmp(opened->subject, finding->subject) == 0)
            return opened;
    }
    return NULL;
}

/* True when a later run measured other cells between the value's places and left its own out, as
 * background measuring does with those of the full profile. */
static bool was_left_out(const struct snapshot *snap, const struct value *v)
{
    for (int m = 0; m < METRIC_COUNT; m++) {
        const struct value *same = NULL;
        size_t count = values_range_to(snap->values, (enum metric)m, v->from, v->to, &same);
        for (size_t i = 0; i < count; i++)
            if (same[i].source == VALUE_MEASURED &&
                same[i].measured_at_s >= v->measured_at_s + ASSESSMENT_LEFT_OUT_S)
                return true;
    }
    return false;
}

/* True when a second measurement of the value is to come. A node without a past has none. */
static bool awaits_second_look(const struct snapshot *snap, const struct value *v)
{
    return snap->baseline != NULL && !was_left_out(snap, v);
}

/* Copies the time of the open finding. A worse value is confirmed by a fact that explains it, or by
 * the same finding from a measurement some minutes later. After a clock was set back, a measurement
 * with a time some minutes earlier is a later one. */
static void copy_opened(const struct snapshot *snap, const struct health_limits *limits,
                        struct finding *finding)
{
    const struct opened *opened = opened_of(snap, finding);
    bool is_doubtful = limits->looks > 1 && finding->of != NULL &&
                       finding->severity != SEVERITY_INFO && finding->explained_by == 0 &&
                       awaits_second_look(snap, finding->of);
    if (opened != NULL)
        finding->since_s = opened->since_s;
    finding->is_unconfirmed =
        is_doubtful && (opened == NULL || (opened->is_unconfirmed &&
                                           llabs(finding->of->measured_at_s - opened->since_s) <
                                               ASSESSMENT_SECOND_LOOK_S));
}

/* Marks the finding that counts unlisted values as unconfirmed while all of these are. */
static void doubt_rest(struct findings *findings)
{
    bool is_certain = findings->limits->looks <= 1;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->finding[i];
        is_certain = is_certain || (finding->is_unlisted && finding->explained_by == 0 &&
                                    finding->severity != SEVERITY_INFO && !finding->is_unconfirmed);
    }
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->finding[i];
        finding->is_unconfirmed =
            finding->is_unconfirmed ||
            (finding->is_rest && finding->severity != SEVERITY_INFO && !is_certain);
    }
}

static bool may_be_grouped(const struct finding *finding)
{
    return finding->cause != PLACE_NONE && finding->explained_by == 0 &&
           finding->represented_by == 0;
}

/* Returns the time between the appearances of two findings. A new one has no since_s yet, and none
 * has where no past is kept. */
static int64_t apart_s(const struct finding *a, const struct finding *b)
{
    if (a->since_s == 0 && b->since_s == 0)
        return 0;
    return llabs((a->since_s > 0 ? a->since_s : a->at_s) - (b->since_s > 0 ? b->since_s : b->at_s));
}

static bool is_shown_by(const struct finding *shown, const struct finding *finding)
{
    bool are_both = (shown->severity == SEVERITY_INFO) == (finding->severity == SEVERITY_INFO) &&
                    shown->is_unconfirmed == finding->is_unconfirmed;
    return are_both && shown->cause == finding->cause &&
           apart_s(shown, finding) <= ASSESSMENT_ONE_CAUSE_S;
}

/* Marks findings of one cause and about one time as unlisted and represented by the worst, which
 * comes first. That one takes the earliest time. */
static void group_by_cause(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->finding[i];
        if (!may_be_grouped(finding))
            continue;
        for (size_t k = i + 1; k < findings->count; k++) {
            struct finding *other = &findings->finding[k];
            if (!may_be_grouped(other) || !is_shown_by(finding, other))
                continue;
            other->is_unlisted = true;
            other->represented_by = finding->number;
            finding->represents++;
            if (other->since_s > 0 && (finding->since_s == 0 || other->since_s < finding->since_s))
                finding->since_s = other->since_s;
        }
    }
}

enum berth_code health_assess(const struct snapshot *snap, const bool *selected,
                              const struct health_limits *limits, struct assessment *ret,
                              struct berth_err *err)
{
    struct findings findings = {.snap = snap, .selected = selected, .limits = limits};
    enum berth_code code = check_links(&findings, err);
    if (code == BERTH_OK)
        code = driver_findings_add(&findings, err);
    if (code == BERTH_OK)
        code = counter_findings_add(&findings, err);
    if (code == BERTH_OK)
        code = event_findings_add(&findings, err);
    if (code == BERTH_OK)
        code = check_notes(&findings, err);
    if (code == BERTH_OK)
        code = value_findings_add(&findings, err);
    if (code == BERTH_OK)
        code = explain_values(&findings, err);
    if (code != BERTH_OK) {
        free(findings.finding);
        return code;
    }
    for (size_t i = 0; i < findings.count; i++)
        copy_opened(snap, limits, &findings.finding[i]);
    doubt_rest(&findings);
    group_by_cause(&findings);
    assessment_conclude(&findings, ret);
    return BERTH_OK;
}

void assessment_done(struct assessment *assessment)
{
    free(assessment->finding);
    assessment->finding = NULL;
    assessment->count = 0;
}
