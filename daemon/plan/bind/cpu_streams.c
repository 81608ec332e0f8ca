#include "plan/bind/cpu_streams.h"

#include "cost/memtime.h"

/* Prices the tasks that stream one memory (NONE: unknown); no users where none does. */
static enum berth_code price_memory(const struct snapshot *snap, const struct traffic *traffic,
                                    const struct bind_task *task, place_id memory,
                                    struct evidence *evidence, struct cpu_streams *ret,
                                    struct berth_err *err)
{
    struct memuser who;
    struct cpuset all = {0};
    double reads = 0, writes = 0;
    *ret = (struct cpu_streams){.time = estimate_of(NAN, NAN, NAN), .memory = memory};
    for (size_t i = 0; i < traffic->count; i++) {
        const struct traffic_flow *flow = &traffic->flow[i];
        int32_t t = flow->from == TRAFFIC_HOST ? flow->to : flow->from;
        if ((flow->from != TRAFFIC_HOST && flow->to != TRAFFIC_HOST) || task[t].memory != memory)
            continue;
        ret->users += !cpuset_contains(&all, &task[t].cpus);
        cpuset_or(&all, &task[t].cpus);
        *(flow->from == TRAFFIC_HOST ? &reads : &writes) += flow->bytes;
    }
    if (ret->users == 0 || memory == PLACE_NONE)
        return BERTH_OK;
    enum berth_code code = memuser_of_cores(snap->graph, &all, &who, err);
    if (code != BERTH_OK)
        return code;
    ret->bytes = reads + writes;
    const struct memrate_access access = {
        .snap = snap,
        .user = &who,
        .place = memkind_place(snap->graph, memory, MEMKIND_SYSTEM, PLACE_NONE),
        .span = ret->bytes,
        .evidence = evidence};
    ret->time = estimate_at_least(memtime_stream(&access, reads, writes));
    memuser_done(&who);
    return evidence_code(evidence, err);
}

enum berth_code cpu_streams_time(const struct snapshot *snap, const struct traffic *traffic,
                                 const struct bind_task *task, struct evidence *evidence,
                                 struct cpu_streams *ret, struct berth_err *err)
{
    struct cpu_streams here;
    size_t memories = 0;
    enum source source = SOURCE_MEASURED;
    enum berth_code code = BERTH_OK;
    place_id n = PLACE_NONE;
    *ret = (struct cpu_streams){.memory = PLACE_NONE};
    if (traffic == NULL)
        return BERTH_OK;
    do {
        code = price_memory(snap, traffic, task, n, evidence, &here, err);
        memories += here.users > 0;
        source = here.users > 0 ? estimate_worse(source, here.time.source) : source;
        if (here.users > 0 && !(here.time.time_ns <= ret->time.time_ns))
            *ret = here;
        n = graph_next(snap->graph, PLACE_NUMA, n + 1);
    } while (code == BERTH_OK && n != PLACE_NONE && !isnan(ret->time.time_ns));
    ret->memories = memories;
    ret->time.source = source;
    if (memories > 1)
        ret->time.low_ns = ret->time.high_ns = NAN;
    ret->time = estimate_at_least(ret->time);
    return code;
}
