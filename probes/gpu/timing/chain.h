/**
 * What a piece of a way through several memories costs beside its bytes: it waits for an event of
 * another stream, which says that the hop before has brought it, and an event of its own says that
 * it has gone on; and a thread that takes several ways at once sees the end of each.
 */
#pragma once
#include "common/stats.h"
#include "gpu/timing/trial.h"

struct gpu_chain {
    /* of each on the device, more than in a plain queue, behind events of another device where
     * there is one; may come out below 0 where it costs nothing */
    double wait_ns;
    /* likewise, of a kernel whose event happens only while it waits, as the first piece's does;
     * NAN of a copy engine, for which no such event stands for that of another engine's copy */
    double behind_ns;
    /* of the thread that starts it: an event to be waited for, the operation, and an event; of
     * those that have no time */
    double launch_ns;
    /* of a thread that sees the end of one more stream, which has ended already */
    double end_ns;
};

/* Of operations of op's bytes within span; queued_ns: what each takes in a plain queue. But for
 * behind_ns, the events that it waits for have happened when it begins, as they have where a hop
 * waits that is slower than the one before. Medians; false as gpu_trial_run. */
bool gpu_chain_measure(struct gpu_trial *trial, const struct gpu_op *op, uint64_t span,
                       double queued_ns, struct gpu_chain *ret, enum gpu_fault *ret_fault,
                       struct probe_why *why);
