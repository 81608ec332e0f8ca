#include "cost/memuse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "cost/ends.h"
#include "cost/memlink.h"
#include "node/allowed.h"
#include "node/gpu.h"
#include "node/reasons.h"

#define MEMUSE_BYTES_MAX (INT64_C(1) << 60) /* that one access reads, or writes */

/* Nothing runs on that gpu: says why, and which there are. */
static enum berth_code gone(const struct snapshot *snap, place_id gpu, const char *why,
                            struct berth_err *err)
{
    const struct graph *graph = snap->graph;
    char there[120] = "";
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        if (!plan_ends_is_lost(snap, g) && !gpu_is_cut(graph, g) &&
            strlen(there) + 24 < sizeof there)
            snprintf(there + strlen(there), sizeof there - strlen(there), "%s%s",
                     there[0] == '\0' ? "" : ", ", graph_place(graph, g)->name);
    return err_set(err, BERTH_UNAVAILABLE, "%s %s; %s%s", graph_place(graph, gpu)->name, why,
                   there[0] == '\0' ? "no gpu is left" : "these answer: ", there);
}

static enum berth_code gpu_init(const struct memkind_node *node, const struct snapshot *snap,
                                const struct memuse_access *access, const struct allowed *allowed,
                                struct memuse *use, struct berth_err *err)
{
    const struct graph *graph = snap->graph;
    if (access->cores > 0)
        return err_invalid(err, "accesses", "%s is a gpu: cores are a processor's",
                           graph_place(graph, access->by)->name);
    if (plan_ends_is_lost(snap, access->by))
        return gone(snap, access->by, "stopped answering (gpu-lost)", err);
    if (gpu_is_cut(graph, access->by))
        return gone(snap, access->by, plan_ends_cut_text(graph, access->by), err);
    /* whoever asks could not run on it, nor call its driver */
    enum berth_code code = plan_ends_check_allowed(snap, allowed, access->by, err);
    if (code != BERTH_OK)
        return code;
    use->gpu = access->by;
    memkind_gpu(node, snap, use->gpu, &use->reached);
    return BERTH_OK;
}

static enum berth_code cores_init(const struct graph *graph, const struct memuse_access *access,
                                  const struct allowed *allowed, struct memuse *use,
                                  struct berth_err *err)
{
    const struct place *by = access->by != PLACE_NONE ? graph_place(graph, access->by) : NULL;
    if (by != NULL && (by->cpus == NULL || by->kind > PLACE_PU))
        return err_invalid(
            err, "accesses",
            "%s has no cores and is no gpu: a core, pu, llc, NUMA node, package or gpu uses memory",
            by->name);
    enum berth_code code =
        memrate_cores(graph, by != NULL ? by->cpus : &allowed->cpus, &use->who, err);
    if (code != BERTH_OK)
        return code;
    if (use->who.in_all == 0 && by == NULL && graph_count(graph, PLACE_CORE) == 0)
        return err_set(err, BERTH_UNAVAILABLE,
                       "the cores of this node are not known: say who uses the memory (accesses)");
    if (use->who.in_all == 0)
        return by != NULL
                   ? err_invalid(err, "accesses", "%s has no cores and is no gpu", by->name)
                   : err_set(err, BERTH_NOTHING_ALLOWED, "no core is allowed (allowed.cpus)");
    if (access->cores > use->who.in_all)
        return err_not_enough(err, "cores", access->cores, use->who.in_all,
                              "%" PRId64 " cores are to use the memory; %s has %u", access->cores,
                              by != NULL ? by->name : "the allowed part of the node",
                              use->who.in_all);
    if (access->cores > 0)
        use->who.cores = (unsigned)access->cores;
    return BERTH_OK;
}

enum berth_code memuse_init(const struct memkind_node *node, const struct snapshot *snap,
                            const struct memuse_access *access, const struct allowed *allowed,
                            struct memuse *ret, struct berth_err *err)
{
    if (access->reads_bytes < 0 || access->writes_bytes < 0)
        return err_invalid(err, "accesses", "bytes are not negative");
    char text[QUANTITY_SIZE];
    int64_t most =
        access->reads_bytes > access->writes_bytes ? access->reads_bytes : access->writes_bytes;
    /* else it is the buffer, once around */
    if (access->by != PLACE_NONE && most > MEMUSE_BYTES_MAX)
        return err_invalid(err, "accesses",
                           "%s by one who uses the buffer; at most 1 EiB is weighed",
                           quantity_size((double)most, text));
    if (access->reads_bytes == 0 && access->writes_bytes == 0)
        return err_invalid(err, "accesses",
                           "an access reads or writes at least a byte (reads_bytes, writes_bytes)");
    if (access->cores < 0)
        return err_invalid(err, "accesses", "cores are not negative");
    struct memuse use = {.gpu = PLACE_NONE,
                         .read_bytes = (double)access->reads_bytes,
                         .write_bytes = (double)access->writes_bytes,
                         .random = access->random};
    bool is_gpu =
        access->by != PLACE_NONE && graph_place(snap->graph, access->by)->kind == PLACE_GPU;
    enum berth_code code = is_gpu ? gpu_init(node, snap, access, allowed, &use, err)
                                  : cores_init(snap->graph, access, allowed, &use, err);
    if (code == BERTH_OK)
        *ret = use;
    else
        memuse_done(&use);
    return code;
}

void memuse_done(struct memuse *use) { memrate_done(&use->who); }

enum memkind_reach memuse_reaches(struct memuse *use, const struct memkind_node *node,
                                  const struct snapshot *snap, const struct memkind_place *place,
                                  struct reasons *warnings, bool *ret_xnack)
{
    const char *kind = memkind_names[place->kind];
    if (use->gpu == PLACE_NONE) {
        enum memkind_reach reach = memkind_cores_reach(node, place);
        if (reach == MEMKIND_UNREACHED && !use->said[place->kind])
            reasons_note(
                warnings,
                "%s memory is left out: cores do not reach what a gpu's own allocator gives", kind);
        use->said[place->kind] |= reach == MEMKIND_UNREACHED;
        return reach;
    }
    struct memkind_reached found = memkind_gpu_reaches(&use->reached, snap, place);
    const char *gpu = graph_place(node->graph, use->gpu)->name;
    *ret_xnack |= found.xnack;
    if (place->kind != MEMKIND_DEVICE && use->said[place->kind])
        return found.reach;
    use->said[place->kind] = true;
    if (found.reach == MEMKIND_UNREACHED && place->kind == MEMKIND_DEVICE)
        reasons_note(warnings, "%s memory of %s is left out for %s: %s", kind,
                     graph_place(node->graph, place->gpu)->name, gpu, found.why);
    else if (found.reach == MEMKIND_UNREACHED)
        reasons_note(warnings, "%s memory is left out for %s: %s", kind, gpu, found.why);
    else if (found.reach == MEMKIND_UNKNOWN && place->kind == MEMKIND_SYSTEM)
        reasons_note(warnings,
                     "whether %s reaches %s memory was not measured (berth probe --full does)", gpu,
                     kind);
    return found.reach;
}

static double accesses(const struct memuse *use)
{
    return (use->read_bytes + use->write_bytes) / MEMUSE_LINE_BYTES;
}

static enum berth_code cores_random(const struct memuse *use, const struct snapshot *snap,
                                    place_id numa, double span, struct memrate_basis *basis,
                                    struct memtime *ret, struct berth_err *err)
{
    double loads = ceil(accesses(use) / use->who.cores);
    struct memrate latency;
    enum berth_code code =
        memrate_latency_within(snap, &use->who, numa, span, basis, &latency, err);
    *ret = memtime_unknown();
    if (code != BERTH_OK || isnan(latency.value))
        return code;
    *ret = memtime_of(loads * latency.value, loads * latency.low, loads * latency.high, latency.n,
                      0, 1);
    basis->by_other = true;
    reasons_note(basis->warnings, "how many random accesses a core has under way at once was not "
                                  "measured: counted one after the other");
    return BERTH_OK;
}

/* no single access takes as long: what streams longer needs no look at it */
#define ACCESS_MOST_NS 1e4

/* The least latency of cores to that memory, else to any; NULL unknown. */
static const struct value *least_latency(const struct snapshot *snap, place_id numa)
{
    const struct value *v, *least = NULL;
    for (size_t n = values_range(snap->values, METRIC_MEMORY_LATENCY, PLACE_NONE, &v); n > 0;
         v++, n--) {
        bool is_main_memory = graph_place(snap->graph, v->from)->kind != PLACE_GPU &&
                              values_axes(snap->values, v)[0] == '\0';
        if (!is_main_memory || !(v->value > 0))
            continue;
        bool is_there = v->to == numa, was_there = least != NULL && least->to == numa;
        if (least == NULL || (is_there != was_there ? is_there : v->value < least->value))
            least = v;
    }
    return least;
}

/* Nothing is there before one access has ended: no stream, of however few bytes, takes less than
 * that does from that memory, where it is known. */
static enum berth_code take_one_access(const struct memuse *use, const struct snapshot *snap,
                                       place_id numa, struct memrate_basis *basis,
                                       struct memtime *time, struct berth_err *err)
{
    size_t evidence = basis->evidence->count, warnings = basis->warnings->count;
    struct memrate latency;
    if (!(time->time_ns < ACCESS_MOST_NS))
        return BERTH_OK;
    enum berth_code code = memrate_latency_within(snap, &use->who, numa, NAN, basis, &latency, err);
    if (code == BERTH_OK && latency.value > time->time_ns) {
        /* what is streamed may come on top */
        *time =
            memtime_of(latency.value, latency.low, latency.high + time->high_ns, latency.n, 0, 1);
        return BERTH_OK;
    }
    basis->evidence->count = evidence;
    basis->warnings->count = warnings;
    const struct value *least =
        code == BERTH_OK && isnan(latency.value) ? least_latency(snap, numa) : NULL;
    /* of some of these cores, or of others: no access takes less */
    if (least != NULL && least->value > time->time_ns) {
        *time = memtime_of(least->value, least->value, least->value, least->n, 0, 1);
        basis->at_least = true;
        return memrate_cite(basis, least, err);
    }
    if (code == BERTH_OK && isnan(latency.value) && least == NULL && time->time_ns > 0 &&
        time->time_ns < MEMUSE_SHORT_NS)
        basis->lacks_access = basis->at_least = true;
    return code;
}

enum berth_code memuse_cores(const struct memuse *use, const struct memkind_node *node,
                             const struct snapshot *snap, place_id numa, double span,
                             struct memrate_basis *basis, struct memtime *ret,
                             struct berth_err *err)
{
    const struct {
        const char *how;
        double bytes;
    } streams[] = {{"read", use->read_bytes}, {"write", use->write_bytes}};
    struct memtime time = {0};
    if (use->random) {
        enum berth_code code = cores_random(use, snap, numa, span, basis, ret, err);
        if (code != BERTH_OK || !isnan(ret->time_ns))
            return code;
        basis->floor |= MEMRATE_FLOOR_RANDOM; /* no random access is faster than a stream */
    }
    for (size_t i = 0; i < 2 && !isnan(time.time_ns); i++) {
        struct memrate rate;
        if (streams[i].bytes == 0)
            continue;
        enum berth_code code =
            memrate_stream(snap, &use->who, numa, streams[i].how, basis, &rate, err);
        /* What is published of memory that is a gpu's as well is what that memory gives, which
         * cores do not get. */
        bool is_peak = code == BERTH_OK && !isnan(rate.value) && isnan(rate.low) &&
                       memkind_one_of(node, numa) != PLACE_NONE;
        if (is_peak)
            reasons_note(
                basis->warnings,
                "how fast cores use memory that is a gpu's as well was not measured: no "
                "faster than that memory is said to be (evidence; berth probe measures it)");
        basis->at_least |= is_peak;
        if (code == BERTH_OK && isnan(rate.value))
            code = memlink_stream(node, snap, &use->who, numa, streams[i].how, basis, &rate, err);
        if (code == BERTH_OK && isnan(rate.value))
            code = memrate_bound(snap, &use->who, numa, streams[i].how, basis, &rate, err);
        if (code != BERTH_OK)
            return code;
        double ns = streams[i].bytes * 1e9;
        time = memtime_sum(time, memtime_of(ns / rate.value, ns / rate.high, ns / rate.low, rate.n,
                                            0, streams[i].bytes / span));
    }
    *ret = time;
    return take_one_access(use, snap, numa, basis, ret, err);
}

enum berth_code memuse_gpu(const struct memuse *use, const struct gpurate *at,
                           struct memrate_basis *basis, struct memtime *ret, struct berth_err *err)
{
    if (use->random && accesses(use) > 0)
        return gpurate_random(at, accesses(use), MEMUSE_LINE_BYTES, basis, ret, err);
    struct memtime read, write;
    enum berth_code code = gpurate_stream(at, "read", use->read_bytes, basis, &read, err);
    if (code == BERTH_OK)
        code = gpurate_stream(at, "write", use->write_bytes, basis, &write, err);
    if (code == BERTH_OK)
        *ret = memtime_sum(read, write);
    return code;
}
