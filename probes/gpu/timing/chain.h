/**
 * Costs of one piece on a path through several memories, besides its bytes. The piece waits for an
 * event of another stream, which marks the end of the hop before. An event of its own marks its own
 * end. A thread that uses several paths at once sees the end of each.
 */
#pragma once
#include "common/stats.h"
#include "gpu/timing/trial.h"

struct gpu_chain {
    /* additional time of each over a plain queue, behind events of another device
     * where there is one; may be below 0 when it is free */
    double wait_ns;
    /* the same for a kernel whose event happens only while it waits, as for the first piece. NAN of
     * a copy engine, where no such event stands for another engine's copy */
    double behind_ns;
    /* time of the thread that starts it: an event to be waited for, the operation, and an event;
     * events without a time */
    double launch_ns;
    /* time to see the end of one more stream, which has ended already */
    double end_ns;
};

/* Measures with operations of op's bytes within span. queued_ns: time of each in a plain queue. The
 * awaited events have happened when an operation begins, as behind a faster hop; behind_ns is the
 * exception. Values are medians; false as gpu_trial_run. */
bool gpu_chain_measure(struct gpu_trial *trial, const struct gpu_op *op, uint64_t span,
                       double queued_ns, struct gpu_chain *ret, struct gpu_err *err);
