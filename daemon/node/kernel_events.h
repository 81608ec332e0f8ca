/**
 * Errors that the kernel has logged since the boot, folded: one of a kind, number and device, with
 * how many there were and when.
 * Text of node folders, of the state directory and of berth-probe-events: docs/ERRORS.md.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/graph.h"

#define KERNEL_EVENTS_MAX     256 /* then the oldest goes */
#define KERNEL_EVENTS_AGE_S   INT64_C(604800)
#define KERNEL_EVENTS_AT_SIZE 16

enum kernel_event_kind {
#define EVENT(id, name, finding, severity, drains, per_hour, about) KERNEL_EVENT_##id,
#include "kernel_events.def"
#undef EVENT
    KERNEL_EVENT_COUNT
};

/* Severities of schema/kernel_events.def and schema/xids.def, as those of a finding. */
enum { KERNEL_EVENT_WARNING = 1, KERNEL_EVENT_CRITICAL = 2 };

struct kernel_event_info {
    const char *name, *finding, *about;
    int severity;
    bool drains;
    int per_hour; /* most in an hour that are no finding */
};

const struct kernel_event_info *kernel_events_info(enum kernel_event_kind kind);

struct kernel_event {
    char at[KERNEL_EVENTS_AT_SIZE]; /* PCI address; "" not named */
    enum kernel_event_kind kind;
    int number; /* of an Xid or SXid; 0 others */
    int64_t count;
    int64_t first_s, at_s; /* the first, the latest */
    char text[160];        /* the latest message; of an Xid the latest fatal one, if any is */
};

struct kernel_events {
    struct kernel_event *event;
    size_t count;
    int64_t counted_to; /* messages below this number are counted */
};

/* Frees the events. */
void kernel_events_done(struct kernel_events *events);

/* Copies all; false when out of memory. */
bool kernel_events_copy(const struct kernel_events *from, struct kernel_events *ret);

/* Adds an event to those of its kind, number and device. False when out of memory. */
bool kernel_events_enter(struct kernel_events *events, const struct kernel_event *seen);

/* True for an Xid whose message has the word Fatal, as those of NVLinks from Blackwell on have. */
bool kernel_events_is_fatal(const struct kernel_event *event);

/* Keeps those for which keep returns true. */
void kernel_events_filter(struct kernel_events *events,
                          bool (*keep)(const struct kernel_event *event, const void *arg),
                          const void *arg);

/* Reads a record "event". ret_sequence is the message's number; -1 for one that is folded. */
bool kernel_events_parse(const json_t *object, struct kernel_event *ret, int64_t *ret_sequence);

/* Returns the record of a folded event; NULL when out of memory. */
json_t *kernel_events_json(const struct kernel_event *event);

/* Returns the event's device; the machine when it is no place. */
place_id kernel_events_place(const struct graph *graph, const struct kernel_event *event);

/* True when there are more in an hour than the row of its kind allows. */
bool kernel_events_is_out_of_line(const struct kernel_event *event);
