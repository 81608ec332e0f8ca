/**
 * What an option of Route rests on, and which option leads: the one place of that rule.
 *
 * Evidence decides order. Measured goes before published, and that before what links are said to
 * carry. An option of several transfers leads only if all of them were measured, and those of one
 * kind together, unless they would keep up even if they took turns; and if it gains POLICY_SEVERAL
 * over one transfer for very many bytes and POLICY_SIMILAR for these. A larger run that has all of
 * them counts, too, if it leads even at the rates that they got there: fewer transfers are never
 * slower. A request may lift all of that but the gains. Of times that differ by less than
 * POLICY_SAME the simpler option leads.
 *
 * Each option is judged by itself, against one direct one that every request for the same transfer
 * has in common: so that what is allowed besides never makes it take longer. Pure; any thread.
 */
#pragma once
#include "plan/route/work.h"

/* What a new option rests on. */
void order_begin(const struct route_work *work, struct route_option *option);

/* The direct option that others are compared with: such a size is known, then its source, then the
 * copy engine. NULL none. */
const struct route_option *order_reference(const struct route_answer *answer);

/* Whether a priced option may lead. */
void order_judge(const struct route_work *work, const struct route_option *reference,
                 struct route_option *option);

/* An option that may lead at all and takes time_ns for some size, where the reference takes
 * reference_ns: whether it gains enough. */
bool order_gains(const struct route_option *option, const struct route_option *reference,
                 double time_ns, double reference_ns);

/* Which of two options that both may lead and take so long does: negative the first. least_ns: the
 * least of all. */
int order_compare(const struct route_option *a, double a_ns, const struct route_option *b,
                  double b_ns, double least_ns);

/* All options, the leading one first, with the commands that measure what is missing. */
void order_options(const struct route_work *work);

#define ORDER_GROUP_MAX (ROUTE_PARTS_MAX * ROUTE_HOPS_MAX + ROUTE_CONCURRENT_MAX)

/* Transfers of an option, and beside it, that were not measured together. */
struct order_group {
    enum metric metric; /* of such runs */
    const struct move *hop[ORDER_GROUP_MAX];
    size_t count;
    double busy; /* the part of the time that they took if they took turns */
};

/* The groups that keep an option from being measured together; how many, at most most. */
size_t order_missing(const struct route_work *work, const struct route_option *option,
                     struct order_group *ret, size_t most);
