#include "plan/bind/memory.h"

#include <math.h>
#include <string.h>

#include "cost/memrate.h"
#include "node/locality.h"

static bool is_usable(const struct snapshot *snap, const struct allowed *allowed, place_id id)
{
    const struct place *numa = graph_place(snap->graph, id);
    const char *memory = place_detail(numa, "memory");
    return numa->capacity_bytes != 0 && (memory == NULL || strcmp(memory, "gpu") != 0) &&
           allowed_has_memory(allowed, id);
}

place_id plan_bind_memory_nearest(const struct snapshot *snap, const struct allowed *allowed,
                                  place_id home)
{
    place_id best = PLACE_NONE;
    double least = INFINITY;
    for (place_id n = graph_next(snap->graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(snap->graph, PLACE_NUMA, n + 1)) {
        double distance = home != PLACE_NONE ? locality_distance(snap, home, n) : 0;
        if (is_usable(snap, allowed, n) && distance < least) {
            least = distance;
            best = n;
        }
    }
    return best;
}

/* Replaces the nearest memory by structure by one whose measured latency is certainly less. */
static void measured_memory(const struct allowed *allowed, struct memrate_access *access)
{
    const struct snapshot *snap = access->snap;
    place_id nearest = access->place.numa, best = nearest;
    struct memrate least = memrate_find(access, MEMRATE_LATENCY);
    for (place_id n = graph_next(snap->graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(snap->graph, PLACE_NUMA, n + 1)) {
        if (n == nearest || !is_usable(snap, allowed, n))
            continue;
        access->place.numa = n;
        struct memrate latency = memrate_find(access, MEMRATE_LATENCY);
        if (latency.high < least.low) {
            least = latency;
            best = n;
        }
    }
    access->place.numa = best;
}

enum berth_code plan_bind_memory(const struct snapshot *snap, const struct allowed *allowed,
                                 const struct cpuset *cpus, place_id home,
                                 struct evidence *evidence, place_id *ret, struct berth_err *err)
{
    struct memuser who;
    size_t cited = evidence->count;
    *ret = plan_bind_memory_nearest(snap, allowed, home);
    if (*ret == PLACE_NONE)
        return BERTH_OK;
    enum berth_code code = memuser_of_cores(snap->graph, cpus, &who, err);
    if (code != BERTH_OK)
        return code;
    struct memrate_access access = {
        .snap = snap,
        .user = &who,
        .place = memkind_place(snap->graph, *ret, MEMKIND_SYSTEM, PLACE_NONE),
        .span = INFINITY,
        .evidence = evidence};
    measured_memory(allowed, &access);
    *ret = access.place.numa;
    evidence->count = cited;
    memrate_find(&access, MEMRATE_LATENCY);
    memrate_find(&access, MEMRATE_READ);
    memuser_done(&who);
    return evidence_code(evidence, err);
}
