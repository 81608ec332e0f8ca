#include "node/kernel_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "node/pci.h"

#define NUMBER_MAX 99999
#define WHOLE_MAX  INT64_C(1000000000000000)

enum { WARNING = KERNEL_EVENT_WARNING, CRITICAL = KERNEL_EVENT_CRITICAL };

static const struct kernel_event_info infos[KERNEL_EVENT_COUNT] = {
#define EVENT(id, name, finding, severity, drains, per_hour, about)                                \
    [KERNEL_EVENT_##id] = {name, finding, about, severity, drains, per_hour},
#include "kernel_events.def"
#undef EVENT
};

const struct kernel_event_info *kernel_events_info(enum kernel_event_kind kind)
{
    return &infos[kind];
}

void kernel_events_done(struct kernel_events *events)
{
    free(events->event);
    *events = (struct kernel_events){0};
}

bool kernel_events_copy(const struct kernel_events *from, struct kernel_events *ret)
{
    struct kernel_events copy = {.counted_to = from->counted_to};
    for (; copy.count < from->count; copy.count++) {
        if (!grow_by_one(&copy.event, copy.count, sizeof *copy.event)) {
            kernel_events_done(&copy);
            return false;
        }
        copy.event[copy.count] = from->event[copy.count];
    }
    *ret = copy;
    return true;
}

static struct kernel_event *oldest(struct kernel_events *events)
{
    struct kernel_event *found = &events->event[0];
    for (size_t i = 1; i < events->count; i++)
        if (events->event[i].at_s < found->at_s)
            found = &events->event[i];
    return found;
}

bool kernel_events_is_fatal(const struct kernel_event *event)
{
    return event->kind == KERNEL_EVENT_XID && strstr(event->text, " Fatal ") != NULL;
}

bool kernel_events_enter(struct kernel_events *events, const struct kernel_event *seen)
{
    for (size_t i = 0; i < events->count; i++) {
        struct kernel_event *known = &events->event[i];
        if (known->kind != seen->kind || known->number != seen->number ||
            strcmp(known->at, seen->at) != 0)
            continue;
        int64_t first_s = known->first_s < seen->first_s ? known->first_s : seen->first_s;
        int64_t count = known->count + seen->count;
        int64_t at_s = known->at_s > seen->at_s ? known->at_s : seen->at_s;
        bool known_is_fatal = kernel_events_is_fatal(known),
             seen_is_fatal = kernel_events_is_fatal(seen);
        if (seen_is_fatal != known_is_fatal ? seen_is_fatal : seen->at_s >= known->at_s)
            *known = *seen;
        known->at_s = at_s;
        known->first_s = first_s;
        known->count = count < WHOLE_MAX ? count : WHOLE_MAX;
        return true;
    }
    if (events->count == KERNEL_EVENTS_MAX) {
        *oldest(events) = *seen;
        return true;
    }
    if (!grow_by_one(&events->event, events->count, sizeof *events->event))
        return false;
    events->event[events->count++] = *seen;
    return true;
}

void kernel_events_filter(struct kernel_events *events,
                          bool (*keep)(const struct kernel_event *event, const void *arg),
                          const void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < events->count; i++)
        if (keep(&events->event[i], arg))
            events->event[kept++] = events->event[i];
    events->count = kept;
}

bool kernel_events_parse(const json_t *object, struct kernel_event *ret, int64_t *ret_sequence)
{
    struct kernel_event event = {.kind = KERNEL_EVENT_COUNT};
    const char *name, *at, *text;
    int number;
    json_int_t at_s, first_s = -1, count = 1, sequence = -1;
    if (json_unpack((json_t *)object, "{s:s, s:s, s:i, s:I, s:s, s?I, s?I, s?I}", "event", &name,
                    "at", &at, "number", &number, "at_s", &at_s, "text", &text, "first_s", &first_s,
                    "count", &count, "sequence", &sequence) != 0)
        return false;
    for (int i = 0; i < KERNEL_EVENT_COUNT; i++)
        if (strcmp(infos[i].name, name) == 0)
            event.kind = (enum kernel_event_kind)i;
    first_s = first_s < 0 ? at_s : first_s;
    if (event.kind == KERNEL_EVENT_COUNT || strlen(at) >= sizeof event.at ||
        (at[0] != '\0' && pci_parse(at) == PCI_NONE) || number < 0 || number > NUMBER_MAX ||
        at_s < 0 || at_s < first_s || at_s > WHOLE_MAX || count < 1 || count > WHOLE_MAX ||
        sequence > WHOLE_MAX)
        return false;
    event.number = number;
    event.at_s = at_s;
    event.first_s = first_s;
    event.count = count;
    snprintf(event.at, sizeof event.at, "%s", at);
    snprintf(event.text, sizeof event.text, "%s", text);
    text_clean(event.text);
    *ret = event;
    *ret_sequence = sequence;
    return true;
}

json_t *kernel_events_json(const struct kernel_event *event)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:s}", "record", "event", "event",
                     infos[event->kind].name, "at", event->at, "number", event->number, "at_s",
                     (json_int_t)event->at_s, "first_s", (json_int_t)event->first_s, "count",
                     (json_int_t)event->count, "text", event->text);
}

place_id kernel_events_place(const struct graph *graph, const struct kernel_event *event)
{
    place_id place = event->at[0] != '\0' ? graph_find(graph, event->at) : PLACE_NONE;
    return place != PLACE_NONE ? place : 0;
}

bool kernel_events_is_out_of_line(const struct kernel_event *event)
{
    double hours = (double)(event->at_s - event->first_s) / 3600;
    return (double)event->count > infos[event->kind].per_hour * (hours > 1 ? hours : 1);
}
