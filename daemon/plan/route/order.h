/**
 * Sources of an option of Route, and the rule for the option that leads.
 *
 * Evidence decides order. Measured rates go before published ones, and these before nominal
 * rates. An option of several transfers leads only if all of them were measured, and those of one
 * kind together, unless they would keep up even if they took turns; and if it gains POLICY_SEVERAL
 * over one transfer for very many bytes and POLICY_SIMILAR for these. A larger run that has all of
 * them counts, too, if it leads even at the rates that they got there: fewer transfers are never
 * slower. A request may lift all of that but the gains. Of times that differ by less than
 * POLICY_SAME the simpler option leads.
 *
 * Each option is judged by itself, against one direct one that every request for the same transfer
 * has in common: so an answer never gets slower as more gpus or kernels are allowed. Pure; any
 * thread.
 */
#pragma once
#include "plan/route/work.h"

/* Sets the sources of a new option. */
void order_begin(const struct route_work *work, struct route_option *option);

/* The direct option that others are compared with: such a size is known, then its source, then the
 * copy engine. NULL none. */
const struct route_option *order_reference(const struct route_answer *answer);

/* Sets may_lead of a priced option. */
void order_judge(const struct route_work *work, const struct route_option *reference,
                 struct route_option *option);

/* True when an option that may lead at all gains enough for a size, with that time of both. */
bool order_gains(const struct route_option *option, const struct route_option *reference,
                 double time_ns, double reference_ns);

/* Sorts the options, the leading one first, and adds the commands that measure missing numbers. */
void order_options(const struct route_work *work);

#define ORDER_GROUP_MAX (ROUTE_PARTS_MAX * ROUTE_HOPS_MAX + ROUTE_CONCURRENT_MAX)

/* Transfers of one kind, of an option and beside it. */
struct order_group {
    enum metric metric; /* of such runs */
    const struct transfer *hop[ORDER_GROUP_MAX];
    size_t count;
    double busy; /* their share of the time, if they took turns */
};

/* Writes the groups that no run has, at most most. Returns their number. */
size_t order_missing(const struct route_work *work, const struct route_option *option,
                     struct order_group *ret, size_t most);
