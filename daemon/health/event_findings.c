/* Findings from errors that the kernel logged. */
#include <stdio.h>
#include <string.h>

#include "health/findings.h"

enum action { RESET, RESTART, POWER, LATER, PROGRAM, WATCH, MESSAGE, LINK };

/* Up to POWER they drain the node. */
static const char *const actions[] = {
    [RESET] = "reset the GPU",
    [RESTART] = "restart the node",
    [POWER] = "look at its power cable",
    [LATER] = "reset the GPU between jobs",
    [PROGRAM] = "start the programs on it again",
    [WATCH] = "replace the GPU when it returns",
    [MESSAGE] = "",
    [LINK] = "",
};

static const struct xid {
    int number;
    enum severity severity;
    enum action action;
    const char *meaning;
} xids[] = {
#define XID(number, severity, action, meaning) {number, SEVERITY_##severity, action, meaning},
#include "xids.def"
#undef XID
};

static const struct xid *find_xid(int number)
{
    for (size_t i = 0; i < sizeof xids / sizeof *xids; i++)
        if (xids[i].number == number)
            return &xids[i];
    return NULL;
}

/* Writes "3 times in 40 minutes: ", "3 times: " within one, or nothing for one event. */
static void write_count(const struct kernel_event *event, char *text, size_t size)
{
    long long minutes = (event->at_s - event->first_s + 59) / 60;
    text[0] = '\0';
    if (event->count > 1 && minutes > 1)
        snprintf(text, size, "%lld times in %lld minutes: ", (long long)event->count, minutes);
    else if (event->count > 1)
        snprintf(text, size, "%lld times: ", (long long)event->count);
}

/* The driver's action of none says that a GPU has recovered. */
static bool is_recovered(const struct kernel_event *event)
{
    return event->number == 154 && strstr(event->text, " to 0x0") != NULL;
}

static bool add_xid(struct findings *findings, const struct place *place,
                    const struct kernel_event *event)
{
    const struct xid *xid = find_xid(event->number);
    char count[64];
    if (xid == NULL || is_recovered(event))
        return true;
    bool is_fatal = xid->action == LINK && kernel_events_is_fatal(event);
    struct finding *finding =
        findings_add(findings, is_fatal ? SEVERITY_CRITICAL : xid->severity, "xid", place->name);
    if (finding == NULL)
        return false;
    write_count(event, count, sizeof count);
    snprintf(finding->subject, sizeof finding->subject, "%d", event->number);
    if (is_fatal)
        snprintf(finding->text, sizeof finding->text, "Xid %d, %sfatal %s: %s: %.120s", xid->number,
                 count, xid->meaning, actions[RESET], event->text);
    else if (xid->action >= MESSAGE)
        snprintf(finding->text, sizeof finding->text, "Xid %d, %s%s: %.120s", xid->number, count,
                 xid->meaning, event->text);
    else
        snprintf(finding->text, sizeof finding->text, "Xid %d, %s%s: %s", xid->number, count,
                 xid->meaning, actions[xid->action]);
    finding->drain = is_fatal || xid->action <= POWER;
    finding->at_s = event->first_s;
    return true;
}

static bool add_other(struct findings *findings, const struct place *place,
                      const struct kernel_event *event)
{
    const struct kernel_event_info *info = kernel_events_info(event->kind);
    char count[64], number[16] = "";
    struct finding *finding =
        findings_add(findings, (enum severity)info->severity, info->finding, place->name);
    if (finding == NULL)
        return false;
    write_count(event, count, sizeof count);
    if (event->number > 0)
        snprintf(number, sizeof number, " %d", event->number);
    snprintf(finding->subject, sizeof finding->subject, "%.16s%s %.15s", info->name, number,
             event->at);
    snprintf(finding->text, sizeof finding->text, "%s%s: %.120s", count, info->about, event->text);
    finding->drain = info->drains;
    finding->at_s = event->first_s;
    return true;
}

/* True when a counter of the device is a finding about the same errors. */
static bool is_counted(const struct findings *findings, const struct kernel_event *event)
{
    const struct counters *counters = &findings->snap->counters;
    enum counter counter = event->kind == KERNEL_EVENT_AER_CORRECTABLE ? COUNTER_AER_CORRECTABLE
                           : event->kind == KERNEL_EVENT_AER_NONFATAL  ? COUNTER_AER_NONFATAL
                           : event->kind == KERNEL_EVENT_AER_FATAL     ? COUNTER_AER_FATAL
                                                                       : COUNTER_COUNT;
    for (size_t i = 0; i < counters->count; i++)
        if (counters->value[i].counter == counter && strcmp(counters->value[i].at, event->at) == 0)
            return counters_is_out_of_line(&counters->value[i]);
    return false;
}

enum berth_code event_findings_add(struct findings *findings, struct berth_err *err)
{
    const struct graph *graph = findings->snap->graph;
    const struct kernel_events *events = &findings->snap->counters.events;
    bool ok = true;
    for (size_t i = 0; ok && i < events->count; i++) {
        const struct kernel_event *event = &events->event[i];
        place_id at = kernel_events_place(graph, event);
        if (!findings_is_selected(findings, at) || !kernel_events_is_out_of_line(event) ||
            is_counted(findings, event))
            continue;
        const struct place *place = graph_place(graph, at);
        ok = event->kind == KERNEL_EVENT_XID ? add_xid(findings, place, event)
                                             : add_other(findings, place, event);
    }
    return ok ? BERTH_OK : err_set(err, BERTH_NO_MEMORY, "no memory for findings");
}
