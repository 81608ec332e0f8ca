#include "gpu/timing/work.h"

#include <math.h>

#include "common/clock.h"
#include "gpu/driver/node.h"

#define SPREAD_NS     200e3 /* time of the operations behind one reported time */
#define SPREAD_MAX    16
#define FIRST         3 /* operations of the first trial */
#define CALLS         24
#define CALLS_MIN     8
#define CALLS_PER_CPU 6 /* from one CPU, one after the other */
#define CALLS_COLD    2 /* discarded calls before these */

/* State of one work while it is timed. */
struct course {
    const struct gpu_work *work;
    unsigned most; /* operations in the longer of two queues */
    double samples[PROBE_STATS_MAX];
    unsigned n;
    bool enough;
};

struct queue {
    const struct gpu_work *work;
    unsigned count;
};

static int enqueue_all(void *arg, gpu_stream stream)
{
    const struct queue *queue = arg;
    int code = 0;
    for (unsigned i = 0; code == 0 && i < queue->count; i++)
        code = queue->work->enqueue(queue->work->arg, stream);
    return code;
}

static bool prepare(struct gpu_trial *trial, const struct gpu_work *work, struct gpu_err *err)
{
    const struct gpu_node *node = gpu_trial_node(trial);
    gpu_stream stream = node->device[work->device].stream[0];
    return work->prepare == NULL ||
           (gpu_node_enter(node, work->device, err) &&
            gpu_node_check(node, work->device, work->prepare(work->arg, stream), "prepare", err) &&
            gpu_node_check(node, work->device, node->api->stream_wait(node->api, stream), "prepare",
                           err));
}

static bool time_queue(struct gpu_trial *trial, const struct gpu_work *work, unsigned count,
                       double *ret_ns, struct gpu_err *err)
{
    struct queue queue = {work, count};
    return gpu_trial_time(trial, work->device, enqueue_all, &queue, ret_ns, err);
}

static bool time_once(struct gpu_trial *trial, const struct course *course, double *ret_ns,
                      struct gpu_err *err)
{
    double one, all;
    if (!prepare(trial, course->work, err) || !time_queue(trial, course->work, 1, &one, err) ||
        !time_queue(trial, course->work, course->most, &all, err))
        return false;
    *ret_ns = (all - one) / (course->most - 1);
    return true;
}

/* ret_ns: approximate time of one. The first trial may have waited for anything. */
static bool begin(struct gpu_trial *trial, const struct gpu_work *work, struct course *ret_course,
                  double *ret_ns, struct gpu_err *err)
{
    double ns, again;
    *ret_course = (struct course){.work = work, .most = FIRST};
    if (!time_once(trial, ret_course, &ns, err) || !time_once(trial, ret_course, &again, err))
        return false;
    *ret_ns = fmin(ns, again);
    double fit = SPREAD_NS / fmax(*ret_ns, 1);
    ret_course->most = 1 + (fit > SPREAD_MAX ? SPREAD_MAX : fit < 1 ? 1 : (unsigned)fit);
    return true;
}

bool gpu_work_times(const struct gpu_timing *timing, const struct gpu_work *works,
                    size_t *ret_count, double longest_ns, struct probe_summary *ret_ns,
                    struct gpu_err *err)
{
    struct course courses[GPU_WORKS_MAX];
    size_t count = 0;
    int64_t end_ns = probe_clock_ns() + timing->budget_ns;
    err->fault = GPU_FAULT_OTHER;
    if (*ret_count > GPU_WORKS_MAX)
        return probe_why_set(&err->why, "too many to be timed together");
    for (double ns = 0; count < *ret_count && ns < longest_ns; count++)
        if (!begin(timing->trial, &works[count], &courses[count], &ns, err))
            return false;
    for (size_t left = count; left > 0;) {
        for (size_t i = count; i > 1; i--) {
            size_t other = probe_random_below(timing->random, i);
            struct course kept = courses[i - 1];
            courses[i - 1] = courses[other];
            courses[other] = kept;
        }
        for (size_t i = 0; i < count; i++) {
            struct course *course = &courses[i];
            if (course->enough)
                continue;
            if (!time_once(timing->trial, course, &course->samples[course->n], err))
                return false;
            course->enough =
                probe_stats_enough(course->samples, ++course->n, probe_clock_ns() >= end_ns);
            left -= course->enough;
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct probe_summary ns = probe_stats_quantile(courses[i].samples, courses[i].n, 0.5);
        err->fault = GPU_FAULT_OTHER;
        if (!(ns.value > 0))
            return probe_why_set(&err->why, "more of it does not take more time");
        if (!(ns.low > 0))
            ns.low = ns.high = NAN;
        ret_ns[courses[i].work - works] = ns;
    }
    *ret_count = count;
    return true;
}

static bool call_once(struct gpu_trial *trial, const struct gpu_work *work, double *ret_ns,
                      struct gpu_err *err)
{
    const struct gpu_node *node = gpu_trial_node(trial);
    gpu_stream stream = node->device[work->device].stream[0];
    int64_t start_ns = probe_clock_ns();
    int code = work->enqueue(work->arg, stream);
    if (code == 0)
        code = node->api->stream_wait(node->api, stream);
    *ret_ns = (double)(probe_clock_ns() - start_ns);
    return gpu_node_check(node, work->device, code, "launch", err);
}

static bool call_all(const struct gpu_timing *timing, const struct gpu_work *work,
                     double *ret_samples, unsigned *ret_count, struct gpu_err *err)
{
    int64_t end_ns = probe_clock_ns() + timing->budget_ns;
    double cold;
    unsigned n = 0;
    for (; n < CALLS && (n < CALLS_MIN || probe_clock_ns() < end_ns); n++) {
        if (n % CALLS_PER_CPU == 0) {
            gpu_caller_cpus_pin(timing->caller_cpus, n / CALLS_PER_CPU);
            for (int i = 0; i < CALLS_COLD; i++)
                if (!call_once(timing->trial, work, &cold, err))
                    return false;
        }
        if (!call_once(timing->trial, work, &ret_samples[n], err))
            return false;
    }
    *ret_count = n;
    return true;
}

bool gpu_work_call(const struct gpu_timing *timing, const struct gpu_work *work,
                   struct probe_summary *ret_ns, struct gpu_err *err)
{
    double samples[CALLS];
    unsigned n;
    bool ok = prepare(timing->trial, work, err) &&
              gpu_node_enter(gpu_trial_node(timing->trial), work->device, err) &&
              call_all(timing, work, samples, &n, err);
    gpu_caller_cpus_restore(timing->caller_cpus);
    if (ok)
        *ret_ns = probe_stats_quantile(samples, n, 0.5);
    return ok;
}
