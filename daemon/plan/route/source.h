/**
 * Evidence decides order: what the price of a transfer rests on, and which of Route's options may
 * go first for it. The one place of this rule.
 *
 * What was measured goes before what was published, and that before what links are said to carry,
 * however fast the latter would be. An option of several transfers (through another memory, or a
 * split) goes first only if all of them, and what they share, were measured. Others stand behind,
 * with the command that measures them.
 *
 * Pure; any thread.
 */
#pragma once
#include "cost/estimate.h"
#include "plan/route/way.h"

/* Ascending: the later, the less is known. A measured rate of the other direction, or of other
 * sizes of a similar pair, counts as measured: such options have a doubt of their own
 * (plan/route/order.h). */
enum source plan_source_of(const struct move *move);

/* Of the hop of which least is known. */
enum source plan_source_of_ways(const struct way *way, size_t count);

/* Whether what the hops of these ways share was measured. Hops share the host's memory, and the gpu
 * that copies where it would have to make several copies at once; lanes (cost/lanes.h) are wide
 * enough by what one transfer was measured to get, or the ways are none (plan/route/share.h). Such
 * hops must be in one concurrent run; but those of one gpu's engine that it could make in turns
 * need not be. */
bool plan_source_is_together(const struct way_ends *ends, const struct way *way, size_t count);

/* Whether what these ways' copies with the host share with others at a gpu, by one gpu's link in
 * the same direction, was measured. What that link is said to carry says nothing of it. */
bool plan_source_is_beside(const struct way_ends *ends, const struct way *way, size_t count,
                           const struct move *other, size_t other_count);

/* Whether an option of these ways may go before a direct way of that source. is_together:
 * plan_source_is_together, of several transfers. */
bool plan_source_may_lead(const struct way *way, size_t count, bool is_together,
                          enum source direct);

#define SOURCE_COMMAND_SIZE 160

/* "berth probe gpu_gpu_kernel": what measures what is missing for ways that may not lead; "" where
 * nothing is. */
void plan_source_command(const struct way_ends *ends, const struct way *way, size_t count,
                         char text[SOURCE_COMMAND_SIZE]);
