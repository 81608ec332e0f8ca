/**
 * The rule for the option that leads.
 *
 * Evidence decides order. Measured rates go before published ones, and these before nominal
 * rates. An option of several transfers leads only if all of them were measured, and those of one
 * kind together, unless they would keep up even if they took turns; and if it saves POLICY_SEVERAL
 * of the time of one transfer for very many bytes, and POLICY_SIMILAR for these. A request may lift
 * all of that but the gains. Of times that differ by less than POLICY_SAME the simpler option
 * leads.
 *
 * Each option is judged by itself, against one direct one that every request for the same transfer
 * has in common: so an answer never gets slower as more gpus or kernels are allowed. Pure; any
 * thread.
 */
#pragma once
#include "plan/route/work.h"

/* The direct option that others are compared with: such a size is known, then its source, then the
 * copy engine. NULL none. */
const struct route_option *order_reference(const struct route_answer *answer);

/* True when an option may lead by its sources. */
bool order_has_evidence(const struct route_work *work, const struct route_option *reference,
                        const struct route_option *option);

/* Sets may_lead of a priced option. */
void order_judge(const struct route_work *work, const struct route_option *reference,
                 struct route_option *option);

/* True when an option that may lead at all gains enough for a size, with that time of both. */
bool order_gains(const struct route_option *option, const struct route_option *reference,
                 double time_ns, double reference_ns);

/* Sorts the options, the leading one first, and adds the commands that measure missing numbers. */
void order_options(const struct route_work *work);
