/**
 * What tasks without gpus take for what they stream to and from their memory in a step: the cores of all tasks whose memory is one NUMA node stream it together, at the rate that is
 * known of so many cores and that memory (memuse.h). What several NUMA nodes do to each other nobody measured: each counts as alone, without interval.
 *
 * What tasks send each other is not in it: nothing known says what that takes.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan_bind.h"
#include "plan_bind_cores.h"

struct bind_stream {
    struct snapshot *snap;
    const struct traffic *traffic; /* NULL or empty: nothing says */
    const struct allowed *allowed;
    struct bind_cores *cores;
};

/* Of tasks without gpus, which have these cpus, each as many cores: in their place the cores in order, where that is known to take less. The answer's tasks are not looked at. NO_MEMORY. */
enum berth_code plan_bind_stream_choose(const struct bind_stream *stream, size_t tasks, int64_t each, struct cpuset *cpus, bool *ret_in_order, struct berth_err *err);

/* What a step of the answer's tasks takes, beside the same with the cores in order; why, or why not. NO_MEMORY. */
enum berth_code plan_bind_stream_tell(const struct bind_stream *stream, struct bind_answer *answer, struct berth_err *err);
