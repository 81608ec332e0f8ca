/**
 * What is behind the time of an iteration, and what is not known of it: evidence, reasons, and what
 * keeps it from counting as measured or proven. Each looks at the scratch of an iteration that has
 * just been simulated. Pure; any thread.
 */
#pragma once
#include "cost/evidence.h"
#include "cost/load_table.h"
#include "node/reasons.h"

/* Whether no run of several of its transfers got less together than shared limits explain. */
bool plan_load_is_explained(const struct load_table *table, const struct load_flow *flows,
                            size_t count, const struct load_scratch *scratch);

/* As plan_load_cite. */
enum berth_code plan_load_why(const struct load_table *table, const struct load_flow *flows,
                              size_t count, const struct load_scratch *scratch,
                              struct evidence *evidence, size_t start, struct reasons *warnings,
                              struct berth_err *err);

/* Cites what flow last rests on, then what those do that the same resource slowed. NO_MEMORY. */
enum berth_code plan_load_why_last(const struct load_table *table, const struct load_flow *flows,
                                   size_t count, const struct load_scratch *scratch, size_t last,
                                   struct evidence *evidence, size_t start, struct berth_err *err);

/* Of an iteration that the answer's own is compared with: adds warnings of unknown paths and of
 * rates that were not measured, their subjects behind the prefix, where the answer's own has none
 * of that code. */
void plan_load_why_beside(const struct load_table *table, const struct load_flow *flows,
                          size_t count, const struct load_scratch *scratch, const char *prefix,
                          struct reasons *warnings);

/* Transfers of which no measurement says what they get together: two between gpus that meet at one
 * on their way through the host, or more between two packages than a run had. They count as slowing
 * each other no more than structure says: nothing is proven of such an iteration. */
struct load_untried {
    bool is_any;
    /* of the step: two that meet; the same one twice: out of memory */
    size_t flow[2];
    /* of the snapshot: what joins two packages; NULL it is flow */
    const struct limit *between;
    size_t users; /* transfers of the step through that */
};

/* scratch holds the step, which has just been run. */
struct load_untried plan_load_untried(const struct load_table *table, const struct load_flow *flows,
                                      size_t count, const struct load_scratch *scratch);
