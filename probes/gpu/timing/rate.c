#include "gpu/timing/rate.h"

#include <math.h>

#include "common/clock.h"

#define SHORTER 0.2 /* length of the short leg, as a fraction of the long one */
/* fraction of a leg; some devices poll for completion in steps: an H200's reading engine every 9 us
 */
#define DITHER    0.1
#define GRAIN     UINT64_C(4096)
#define FIRST     (UINT64_C(1) << 20) /* bytes of the first trial of a flow */
#define COUNT_MAX 64                  /* operations in a queue */
/* a flow whose time is this far from the expected one gets other bytes */
#define DIFFER 0.03
/* fewer are enough unless flows share something unequally */
#define LOOKS 6
/* multiple of the time that one of n takes alone: the first is done this early when flows
 * alternate */
#define IN_TURN 1.15

/* least total time of the operations behind one reported time */
#define QUEUE_NS    150e3
#define QUEUE_SHARE 0.01 /* fraction of the budget, when that is more */
#define QUEUE_NS_TO 1e6  /* upper limit of both */
/* most operations: the start of a queue varies by a microsecond or two, at any length */
#define QUEUE_MAX 48

#define CALLS_MIN  8
#define CALLS_COLD 2 /* discarded calls before these */

#define CALLED_SHORT   (UINT64_C(4) << 20)
#define CALLED_LONG    (UINT64_C(32) << 20)
#define CALLED_PER_CPU 2 /* from one CPU, one after the other */

static uint64_t round_up(uint64_t bytes) { return (bytes + GRAIN - 1) / GRAIN * GRAIN; }

/* Fewest operations for these bytes. */
static unsigned operations(const struct gpu_flow *flow, double bytes)
{
    uint64_t most = flow->span / GRAIN * GRAIN;
    double count = ceil(bytes / (double)most);
    return count < 1 ? 1 : count > COUNT_MAX ? COUNT_MAX : (unsigned)count;
}

/* Sets the flow's bytes, in this many operations. */
static void set_bytes(struct gpu_flow *flow, double bytes, unsigned count)
{
    uint64_t most = flow->span / GRAIN * GRAIN, each = round_up((uint64_t)(bytes / count));
    flow->count = count;
    flow->op.bytes = each < GRAIN ? GRAIN : each > most ? most : each;
    flow->advance = flow->op.bytes;
}

static double moved(const struct gpu_flow *flow) { return (double)flow->op.bytes * flow->count; }

/* True when flows leave one device, or come into one, so that both need a common resource. */
static bool meet(const struct gpu_flow *a, const struct gpu_flow *b)
{
    return (a->op.from_device >= 0 && a->op.from_device == b->op.from_device) ||
           (a->op.to_device >= 0 && a->op.to_device == b->op.to_device);
}

/* Flows that are measured together. */
struct together {
    const struct gpu_legs *legs;
    struct gpu_flow *flows;
    size_t count;
    double expected[GPU_TRIAL_FLOWS_MAX]; /* rates in bytes per ns */
    bool waits[GPU_TRIAL_FLOWS_MAX];      /* alternates with others: the last one's end counts */
};

/* Time of a flow. A flow that waits for others ends with the last of those. */
static double taken_ns(const struct together *all, size_t index)
{
    const struct gpu_flow *flows = all->flows;
    double ns = flows[index].ns;
    for (size_t i = 0; all->waits[index] && i < all->count; i++)
        if (all->waits[i] && meet(&flows[i], &flows[index]))
            ns = fmax(ns, flows[i].began_ns + flows[i].ns);
    return ns;
}

/* Runs both legs and takes the rates, in bytes per ns, from their differences. At its expected
 * rate, every flow takes about as long as the others. It has as many operations in one leg as in
 * the other, so the cost of each operation cancels. */
static bool run_legs(struct together *all, double leg_ns, double *ret_rates, struct gpu_err *err)
{
    struct gpu_flow *flows = all->flows;
    const double *expected = all->expected;
    double bytes[GPU_TRIAL_FLOWS_MAX], ns[GPU_TRIAL_FLOWS_MAX], shorter = SHORTER * leg_ns;
    /* All take longer when the least bytes of one do. */
    for (size_t i = 0; i < all->count; i++)
        shorter = fmax(shorter, (double)all->legs->least / expected[i]);
    double longer = shorter + (1 - SHORTER) * leg_ns;
    for (size_t i = 0; i < all->count; i++)
        set_bytes(&flows[i], expected[i] * shorter, operations(&flows[i], expected[i] * longer));
    if (!gpu_trial_run(all->legs->trial, flows, all->count, err))
        return false;
    for (size_t i = 0; i < all->count; i++) {
        bytes[i] = moved(&flows[i]);
        ns[i] = taken_ns(all, i);
        set_bytes(&flows[i], expected[i] * longer, flows[i].count);
    }
    if (!gpu_trial_run(all->legs->trial, flows, all->count, err))
        return false;
    for (size_t i = 0; i < all->count; i++) {
        double longer_ns = taken_ns(all, i);
        ret_rates[i] = (moved(&flows[i]) - bytes[i]) / (longer_ns - ns[i]);
        if (!(longer_ns > ns[i]) || !(ret_rates[i] > 0)) {
            err->fault = GPU_FAULT_OTHER;
            return probe_why_set(&err->why,
                                 "more bytes do not take more time: %s in %.3g ms, %s in %.3g ms",
                                 probe_size((int64_t)bytes[i]).text, ns[i] * 1e-6,
                                 probe_size((int64_t)moved(&flows[i])).text, longer_ns * 1e-6);
        }
    }
    return true;
}

/* Finds the flows that alternate. An engine that makes copy after copy gives the first one all of
 * its rate. The others get the less, the less they move in the same time, down to nothing, and the
 * first one may change. With as many bytes each, one of them is done at its time alone, the last
 * one with all of them. Such flows wait for each other, and are expected to get equal rates. */
static bool find_turns(struct together *all, struct gpu_err *err)
{
    struct gpu_flow *flows = all->flows;
    double *expected = all->expected;
    size_t count = all->count;
    for (size_t i = 0; i < count; i++) {
        double most = expected[i];
        for (size_t j = 0; j < count; j++)
            most = meet(&flows[i], &flows[j]) ? fmax(most, expected[j]) : most;
        double bytes = fmax(most * all->legs->leg_ns, (double)all->legs->least);
        set_bytes(&flows[i], bytes, operations(&flows[i], bytes));
    }
    if (!gpu_trial_run(all->legs->trial, flows, count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        double first_ns = INFINITY, last_ns = 0;
        unsigned n = 0;
        for (size_t j = 0; j < count; j++)
            if (meet(&flows[i], &flows[j])) {
                double ns = flows[j].began_ns + flows[j].ns;
                first_ns = fmin(first_ns, ns);
                last_ns = fmax(last_ns, ns);
                n++;
            }
        all->waits[i] = n > 1 && first_ns * n < IN_TURN * last_ns;
        expected[i] = all->waits[i] ? moved(&flows[i]) / last_ns : expected[i];
    }
    return true;
}

/* Estimates the rates of the flows together: repeats until a trial confirms the expectation from
 * the last one. One flow alone needs less accuracy, because no other one has to end with it. */
static bool look(struct together *all, struct gpu_err *err)
{
    struct gpu_flow *flows = all->flows;
    uint64_t least = all->legs->least;
    double rates[GPU_TRIAL_FLOWS_MAX];
    for (size_t i = 0; i < all->count; i++) {
        all->waits[i] = false;
        set_bytes(&flows[i], (double)(least < FIRST ? FIRST : least),
                  operations(&flows[i], (double)least));
    }
    for (int again = 0; again < 2; again++)
        if (!gpu_trial_run(all->legs->trial, flows, all->count, err))
            return false;
    for (size_t i = 0; i < all->count; i++)
        all->expected[i] = fmax(moved(&flows[i]) / fmax(flows[i].ns, 1), 1e-6);
    bool far = all->count > 1;
    for (int i = 0; far && i < LOOKS; i++) {
        if (!run_legs(all, all->legs->leg_ns, rates, err))
            return false;
        far = false;
        for (size_t j = 0; j < all->count; j++) {
            far |= fabs(rates[j] - all->expected[j]) > DIFFER * all->expected[j];
            all->expected[j] = rates[j];
        }
    }
    return !far || find_turns(all, err);
}

/* Factor from 1 - DITHER / 2 to 1 + DITHER / 2 of a leg, never repeated. */
static double dithered(double leg_ns, unsigned n)
{
    return leg_ns * (1 + DITHER * (fmod(n * 0.618034, 1) - 0.5));
}

bool gpu_rate_concurrent(const struct gpu_legs *legs, struct gpu_flow *flows, size_t count,
                         struct probe_summary *ret_rates, struct probe_summary *ret_sum,
                         struct gpu_err *err)
{
    double samples[GPU_TRIAL_FLOWS_MAX + 1][PROBE_STATS_MAX], rates[GPU_TRIAL_FLOWS_MAX];
    int64_t end_ns = probe_clock_ns() + legs->budget_ns;
    struct together all = {.legs = legs, .flows = flows, .count = count};
    if (!look(&all, err))
        return false;
    unsigned n = 0;
    for (bool enough = false; !enough; n++) {
        if (!run_legs(&all, dithered(legs->leg_ns, n), rates, err))
            return false;
        bool late = probe_clock_ns() >= end_ns;
        double sum = 0;
        enough = true;
        for (size_t i = 0; i < all.count; i++) {
            samples[i][n] = rates[i] * 1e9;
            all.expected[i] = all.count == 1 ? rates[i] : all.expected[i];
            sum += rates[i] * 1e9;
            enough &= probe_stats_enough(samples[i], n + 1, late);
        }
        samples[all.count][n] = sum;
    }
    for (size_t i = 0; i < all.count; i++)
        ret_rates[i] = probe_stats_quantile(samples[i], n, 0.5);
    if (ret_sum != NULL)
        *ret_sum = probe_stats_quantile(samples[all.count], n, 0.5);
    return true;
}

/* State of one size while it is timed. */
struct size {
    struct gpu_flow flow;
    unsigned most; /* operations in a queue */
    double samples[PROBE_STATS_MAX];
    unsigned n;
    bool enough;
};

/* Time of one more operation in a queue. Both queues have their own events, which cost as much as a
 * small operation. */
static bool time_once(struct gpu_trial *trial, struct size *size, double *ret_ns,
                      struct gpu_err *err)
{
    size->flow.count = 1;
    if (!gpu_trial_run(trial, &size->flow, 1, err))
        return false;
    double one = size->flow.ns;
    size->flow.count = size->most;
    if (!gpu_trial_run(trial, &size->flow, 1, err))
        return false;
    *ret_ns = (size->flow.ns - one) / (size->most - 1);
    return true;
}

/* Finds the number of operations of the size's flow to time at once; *ret_ns: approximate time of
 * one. The first trial may have waited for anything. */
static bool begin_size(struct gpu_trial *trial, double queue_ns, struct size *size, double *ret_ns,
                       struct gpu_err *err)
{
    double ns, again;
    size->most = 3;
    if (!time_once(trial, size, &ns, err) || !time_once(trial, size, &again, err))
        return false;
    ns = fmin(ns, again);
    double fit = queue_ns / fmax(ns, 1);
    *ret_ns = ns;
    size->most = 1 + (fit > QUEUE_MAX ? QUEUE_MAX : fit < 1 ? 1 : (unsigned)fit);
    return true;
}

static void shuffle(size_t *order, size_t count, struct probe_random *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = probe_random_below(random, i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

bool gpu_rate_times(const struct gpu_timing *timing, const struct gpu_op *op, uint64_t span,
                    struct probe_sample *samples, size_t *ret_count, struct gpu_err *err)
{
    struct size sizes[GPU_RATE_SIZES_MAX];
    size_t order[GPU_RATE_SIZES_MAX], count = 0, left;
    int64_t end_ns = probe_clock_ns() + timing->budget_ns;
    double queue_ns = fmin(fmax(QUEUE_SHARE * (double)timing->budget_ns, QUEUE_NS), QUEUE_NS_TO);
    /* A size that takes as long as the shortest queue, or half of a longer one, is the last. */
    double longest_ns = fmax(queue_ns / 2, QUEUE_NS);
    for (double ns = 0; count < *ret_count && ns < longest_ns; count++) {
        uint64_t bytes = (uint64_t)samples[count].bytes;
        order[count] = count;
        sizes[count] = (struct size){.flow = {.op = *op, .advance = round_up(bytes), .span = span}};
        sizes[count].flow.op.bytes = bytes;
        if (!begin_size(timing->trial, queue_ns, &sizes[count], &ns, err))
            return false;
    }
    left = count;
    while (left > 0) {
        shuffle(order, count, timing->random);
        for (size_t i = 0; i < count; i++) {
            struct size *size = &sizes[order[i]];
            if (size->enough)
                continue;
            if (!time_once(timing->trial, size, &size->samples[size->n], err))
                return false;
            size->enough = probe_stats_enough(size->samples, ++size->n, probe_clock_ns() >= end_ns);
            left -= size->enough;
        }
    }
    for (size_t i = 0; i < count; i++) {
        samples[i].ns = probe_stats_quantile(sizes[i].samples, sizes[i].n, 0.5);
        if (!(samples[i].ns.value > 0)) {
            err->fault = GPU_FAULT_OTHER;
            return probe_why_set(&err->why, "%lld bytes take no time in a queue",
                                 (long long)samples[i].bytes);
        }
        if (!(samples[i].ns.low > 0))
            samples[i].ns.low = samples[i].ns.high = NAN;
    }
    *ret_count = count;
    return true;
}

static bool call_all(const struct gpu_timing *timing, const struct gpu_op *ops, size_t op_count,
                     double *ret_ns, unsigned *ret_count, struct gpu_err *err)
{
    double ns;
    int64_t end_ns = probe_clock_ns() + timing->budget_ns;
    unsigned n = 0, count = *ret_count, each = count / GPU_CALLER_CPUS_MAX;
    for (; n < count && (n < CALLS_MIN || probe_clock_ns() < end_ns); n++) {
        if (n % each == 0) {
            gpu_caller_cpus_pin(timing->caller_cpus, n / each);
            for (unsigned i = 0; i < CALLS_COLD; i++)
                if (!gpu_trial_call(timing->trial, &ops[i % op_count], &ns, err))
                    return false;
        }
        if (!gpu_trial_call(timing->trial, &ops[n % op_count], &ret_ns[n], err))
            return false;
    }
    *ret_count = n;
    return true;
}

bool gpu_rate_calls(const struct gpu_timing *timing, const struct gpu_op *ops, size_t op_count,
                    double *ret_ns, unsigned *ret_count, struct gpu_err *err)
{
    bool ok = call_all(timing, ops, op_count, ret_ns, ret_count, err);
    gpu_caller_cpus_restore(timing->caller_cpus);
    return ok;
}

bool gpu_rate_call(const struct gpu_timing *timing, const struct gpu_op *op,
                   struct probe_summary *ret_median, struct probe_summary *ret_low,
                   struct gpu_err *err)
{
    double samples[GPU_RATE_CALLS];
    unsigned n = GPU_RATE_CALLS;
    if (!gpu_rate_calls(timing, op, 1, samples, &n, err))
        return false;
    *ret_median = probe_stats_quantile(samples, n, 0.5);
    *ret_low = probe_stats_quantile(samples, n, 0.1);
    return true;
}

/* Rates by the difference of two copies, from one CPU after the other. */
static bool call_copies(const struct gpu_timing *timing, const struct gpu_flow *flow,
                        double *ret_samples, unsigned *ret_count, struct gpu_err *err)
{
    uint64_t bytes[2] = {CALLED_SHORT, flow->span < CALLED_LONG ? flow->span : CALLED_LONG};
    int64_t end_ns = probe_clock_ns() + timing->budget_ns;
    struct gpu_op op = flow->op;
    double ns[2];
    unsigned n = 0, turns = 0;
    for (bool enough = false; !enough && turns < PROBE_STATS_MAX; turns++) {
        gpu_caller_cpus_pin(timing->caller_cpus, turns);
        /* The first is for the runtime's staging buffers, and for this CPU's caches. */
        for (int i = -1; !enough && i < CALLED_PER_CPU; i++) {
            for (int leg = 0; leg < 2; leg++) {
                op.bytes = bytes[leg];
                if (!gpu_trial_call(timing->trial, &op, &ns[leg], err))
                    return false;
            }
            if (i < 0 || !(ns[1] > ns[0]))
                continue;
            ret_samples[n++] = (double)(bytes[1] - bytes[0]) * 1e9 / (ns[1] - ns[0]);
            enough = n == PROBE_STATS_MAX ||
                     (n >= GPU_CALLER_CPUS_MAX * CALLED_PER_CPU &&
                      probe_stats_enough(ret_samples, n, probe_clock_ns() >= end_ns));
        }
    }
    *ret_count = n;
    return true;
}

bool gpu_rate_called(const struct gpu_timing *timing, const struct gpu_flow *flow,
                     struct probe_summary *ret_rate, struct gpu_err *err)
{
    double samples[PROBE_STATS_MAX];
    unsigned n = 0;
    bool ok = call_copies(timing, flow, samples, &n, err);
    gpu_caller_cpus_restore(timing->caller_cpus);
    if (ok && n < PROBE_STATS_MIN) {
        err->fault = GPU_FAULT_OTHER;
        ok = probe_why_set(&err->why, "more bytes do not take more time");
    }
    if (ok)
        *ret_rate = probe_stats_quantile(samples, n, 0.5);
    return ok;
}
