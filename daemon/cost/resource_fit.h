/**
 * What transfers share, found from what each got when they ran together. Pure; flows, runs and
 * candidates are numbers here, cost/resource_model.h knows what they are.
 *
 * A flow gets at most what it gets alone. A limit is a capacity that its users share max-min
 * fairly: nobody gets less than another user who could do with less. It is constant, or a small
 * table by how many of its users are at work, where the runs show that it changes with them.
 *
 * Which limits there are is decided greedily, by the smallest run that the limits found so far do
 * not explain: of the candidates that some of its slower flows use, the one that explains the most
 * flows of all runs, less those that it spoils, and whose users were slower together; without such
 * a candidate the slower flows themselves are one, without a name. The capacity is the one of least
 * squares: a run in which users are slower than without the limit has no slack, the others have a
 * slack of at least 0.
 *
 * Not everything is shared evenly: an engine takes one copy after the other, writes to a memory get
 * more of it than reads. Runs whose flows that leaves unexplained, and which get less together than
 * predicted, are explained by what all their flows get together, in the same way but by candidates
 * alone: how long equal transfers take until the last has ended follows from that. Such runs stay
 * not reproduced, and how far the last end is off where shares are as measured is in the limit's
 * spread.
 */
#pragma once
#include "cost/resource_problem.h"

/* False when out of memory; the problem is then as it was. */
bool resource_fit(struct resource_problem *problem);
void resource_fit_done(struct resource_problem *problem);
