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
