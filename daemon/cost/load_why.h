/**
 * Why a step takes as long as cost/load.h says: the numbers behind it, and what is not known of it.
 */
#pragma once
#include "cost/evidence.h"
#include "cost/load_table.h"
#include "node/reasons.h"

/* scratch holds the step, which has just been run. As plan_load_cite. */
enum berth_code plan_load_why(const struct load_table *table, const struct load_flow *flows,
                              size_t count, const struct load_scratch *scratch,
                              struct evidence *evidence, size_t start, struct reasons *warnings,
                              struct berth_err *err);

/* What the flow last of that step rests on, and then what those do that the same thing slowed: what
 * several were measured to get together is known of the whole step alone. NO_MEMORY. */
enum berth_code plan_load_why_last(const struct load_table *table, const struct load_flow *flows,
                                   size_t count, const struct load_scratch *scratch, size_t last,
                                   struct evidence *evidence, size_t start, struct berth_err *err);

/* Of a step that the answer's own is compared with: warns, behind the prefix, of flows that a link
 * slows, of which it is not known whether they go over it, and of rates that were not measured,
 * unless a line says the same of the answer's own. */
void plan_load_why_beside(const struct load_table *table, const struct load_flow *flows,
                          size_t count, const struct load_scratch *scratch, const char *prefix,
                          struct reasons *warnings);
