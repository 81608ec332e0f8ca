/* State of one assessment, shared by its parts: the findings so far and the selected places. */
#pragma once
#include "base/quantity.h"
#include "health/assessment.h"

struct findings {
    const struct snapshot *snap;
    const bool *selected;
    const struct health_limits *limits;
    struct finding *finding;
    size_t count, room;
    size_t measured; /* number of measured values in the selected places */
    bool is_cut;
};

/* True when the place, a place above it or its nearest NUMA node is selected. */
bool findings_is_selected(const struct findings *findings, place_id id);

/* Adds an empty finding of that severity, code and place. Returns NULL when out of memory. Valid
 * until the next call. */
struct finding *findings_add(struct findings *findings, enum severity severity, const char *code,
                             const char *place);

/* Returns " with bytes=1 MiB, kind=pinned" of a value's axes; "" of the default ones. */
#define FINDINGS_AXES_SIZE 160
const char *findings_axes(const struct snapshot *snap, const struct value *v,
                          char text[FINDINGS_AXES_SIZE]);

/* Writes a value of the metric for a person: "3.7 TB/s". */
const char *findings_number(enum metric metric, double value, char text[QUANTITY_SIZE]);

/* Writes the subject of findings about a series. */
void findings_subject(const struct graph *graph, enum metric metric, place_id from, place_id to,
                      const char *axes, char subject[FINDING_SUBJECT_SIZE]);

/* Adds a note's finding. Returns false when out of memory. */
bool assessment_add_note(struct findings *findings, const struct note *note);

/* Orders the findings, worst first, and moves them into *ret with verdict and reason. */
void assessment_conclude(struct findings *take_findings, struct assessment *ret);

/* True for a reason that protects the chip: no limit of a site and no idle chip. */
bool driver_findings_is_throttling(const char *reasons);

/* Adds findings from the drivers' facts about GPUs: details of places, which
 * discover/backend_facts.c reads (docs/RECORD.md, Facts). Fails with NO_MEMORY. */
enum berth_code driver_findings_add(struct findings *findings, struct berth_err *err);

/* Adds findings from error counters that rose. Fails with NO_MEMORY. */
enum berth_code counter_findings_add(struct findings *findings, struct berth_err *err);

/* Adds findings from errors that the kernel logged. Fails with NO_MEMORY. */
enum berth_code event_findings_add(struct findings *findings, struct berth_err *err);

/* Adds findings from measured values, compared with nominal ones, peers and baselines. Fails with
 * NO_MEMORY. */
enum berth_code value_findings_add(struct findings *findings, struct berth_err *err);

/* health/explain.c: one finding per cause. A fact about links explains the slow values of transfers
 * over these links. Pure; any thread. */

/* Sets the transfers that use a link which is down or degraded. */
void explain_link(const struct graph *graph, const struct link *link, struct finding *finding);

/* Marks explained findings as unlisted. Each fact names its worst value and takes on the severity
 * of the explained ones. A fact of severity info explains nothing, because GPUs that are not slow
 * have it too. Fails with NO_MEMORY. */
enum berth_code explain_values(struct findings *findings, struct berth_err *err);

/* Marks the snapshot's values, by index, that are not what the node is expected to do: a finding
 * calls them, or others of their metric between these places, worse than they should be; they are
 * of transfers over a link with a fault; or the clocks of one of their places are held down. Marks
 * all of an incomplete assessment. Fails with NO_MEMORY. */
enum berth_code explain_mark_bad(const struct snapshot *snap, const struct assessment *assessment,
                                 bool *is_bad, struct berth_err *err);
