#include "gpu/timing/chain.h"

#include <math.h>

#include "common/clock.h"
#include "gpu/driver/node.h"

#define LONG  8 /* operations in the longer of two queues */
#define TIMES 3 /* in a profile of seconds each curve costs about a millisecond more by this */
/* nanoseconds: longer than a released stream takes to come to its wait; a device that polls its
 * clock slowly takes longer */
#define DELAY 4000

/* One queue, and the stream whose events it waits for. */
struct chain {
    struct gpu_trial *trial;
    const struct gpu_op *op;
    uint64_t span;
    /* device of the stream of those events: another one where there is one, as most hops are
     * between two */
    int other;
    gpu_event before[LONG], after[LONG];
    unsigned count;
    double launch_ns; /* result, of each */
};

static void free_events(struct chain *chain)
{
    const struct gpu_api *api = gpu_trial_node(chain->trial)->api;
    for (int i = 0; i < LONG; i++) {
        if (chain->before[i] != NULL)
            api->event_free(api, chain->before[i]);
        if (chain->after[i] != NULL)
            api->event_free(api, chain->after[i]);
    }
}

static bool make_events(struct chain *chain, struct gpu_err *err)
{
    const struct gpu_node *node = gpu_trial_node(chain->trial);
    const int devices[] = {chain->other, chain->op->device};
    gpu_event *const events[] = {chain->before, chain->after};
    int code = 0;
    for (int d = 0; d < 2 && code == 0; d++) {
        if (!gpu_node_enter(node, devices[d], err))
            return false;
        for (int i = 0; i < LONG && code == 0; i++)
            code = node->api->event_plain_new(node->api, &events[d][i]);
    }
    return gpu_node_check(node, chain->op->device, code, "event", err);
}

/* Returns the device at the other end of the transfer, else any other usable device, else the
 * operation's own. */
static int other_of(const struct gpu_node *node, const struct gpu_op *op)
{
    int other = op->to_device >= 0 && op->to_device != op->device ? op->to_device : op->from_device;
    for (int i = 0; i < node->device_count && (other < 0 || other == op->device); i++)
        other = i != op->device && node->device[i].usable ? i : other;
    return other >= 0 && node->device[other].usable ? other : op->device;
}

static int enqueue_events(void *arg, gpu_stream stream)
{
    struct chain *chain = arg;
    const struct gpu_api *api = gpu_trial_node(chain->trial)->api;
    int code = 0;
    for (unsigned i = 0; code == 0 && i < chain->count; i++)
        code = api->event_record(api, chain->before[i], stream);
    return code;
}

/* The event happens when this stream, and no other, has been busy for a while. */
static int enqueue_late_event(void *arg, gpu_stream stream)
{
    struct chain *chain = arg;
    int code = gpu_trial_delay(chain->trial, chain->other, DELAY, stream);
    return code == 0 ? enqueue_events(chain, stream) : code;
}

static int enqueue_chain(void *arg, gpu_stream stream)
{
    struct chain *chain = arg;
    const struct gpu_node *node = gpu_trial_node(chain->trial);
    const struct gpu_api *api = node->api;
    const struct gpu_device *own = &node->device[chain->op->device];
    uint64_t places = chain->span / chain->op->bytes;
    int code = 0;
    int64_t start_ns = probe_clock_ns();
    for (unsigned i = 0; code == 0 && i < chain->count; i++) {
        /* A thread that alternates between hops enters the device each time. */
        code = api->enter(api, own->api_device, own->context);
        code = code == 0 ? api->stream_after(api, stream, chain->before[i]) : code;
        code = code == 0 ? gpu_trial_enqueue(chain->trial, chain->op, i % places * chain->op->bytes,
                                             stream)
                         : code;
        code = code == 0 ? api->event_record(api, chain->after[i], stream) : code;
    }
    chain->launch_ns = (double)(probe_clock_ns() - start_ns) / chain->count;
    return code;
}

static bool run(struct chain *chain, unsigned count, double *ret_ns, struct gpu_err *err)
{
    struct gpu_task tasks[] = {
        {.device = chain->other, .enqueue = enqueue_events, .arg = chain},
        {.device = chain->op->device, .enqueue = enqueue_chain, .arg = chain}};
    chain->count = count;
    if (!gpu_trial_tasks(chain->trial, tasks, 2, err))
        return false;
    *ret_ns = tasks[1].ns;
    return true;
}

/* Time of one operation behind the late event, from that event on. */
static bool run_behind(struct chain *chain, double *ret_ns, struct gpu_err *err)
{
    struct gpu_task tasks[] = {
        {.device = chain->other, .enqueue = enqueue_late_event, .arg = chain},
        {.device = chain->op->device, .enqueue = enqueue_chain, .arg = chain}};
    chain->count = 1;
    if (!gpu_trial_tasks(chain->trial, tasks, 2, err))
        return false;
    *ret_ns = tasks[1].ns - tasks[0].ns;
    return true;
}

/* Uses two streams: the first has ended when the other's end is seen. */
static bool see_end(const struct chain *chain, double *ret_ns, struct gpu_err *err)
{
    const struct gpu_node *node = gpu_trial_node(chain->trial);
    const gpu_stream *stream = node->device[chain->op->device].stream;
    int64_t start_ns = 0;
    if (!gpu_node_enter(node, chain->op->device, err))
        return false;
    int code = 0, waited = 0;
    for (int i = 0; i < 2 && code == 0; i++)
        code = gpu_trial_enqueue(chain->trial, chain->op, 0, stream[i]);
    for (int i = 2; i-- > 0;) {
        start_ns = probe_clock_ns();
        waited = node->api->stream_wait(node->api, stream[i]);
        code = code == 0 ? waited : code;
    }
    *ret_ns = (double)(probe_clock_ns() - start_ns);
    return gpu_node_check(node, chain->op->device, code, "transfer", err);
}

static bool measure(struct chain *chain, double queued_ns, struct gpu_chain *ret,
                    struct gpu_err *err)
{
    double wait_ns[TIMES], behind_ns[TIMES], launch_ns[TIMES], seen_ns[TIMES], one_ns, all_ns;
    if (!run(chain, LONG, &all_ns, err)) /* the first may have waited for anything */
        return false;
    bool is_kernel = chain->op->mechanism == GPU_BY_KERNEL;
    for (int n = 0; n < TIMES; n++) {
        if (!run(chain, 1, &one_ns, err) || !run(chain, LONG, &all_ns, err) ||
            !see_end(chain, &seen_ns[n], err))
            return false;
        launch_ns[n] = chain->launch_ns;
        wait_ns[n] = (all_ns - one_ns) / (LONG - 1) - queued_ns;
        if (is_kernel && !run_behind(chain, &behind_ns[n], err))
            return false;
    }
    ret->wait_ns = probe_stats_quantile(wait_ns, TIMES, 0.5).value;
    ret->behind_ns =
        is_kernel ? probe_stats_quantile(behind_ns, TIMES, 0.5).value - queued_ns : NAN;
    ret->launch_ns = probe_stats_quantile(launch_ns, TIMES, 0.5).value;
    ret->end_ns = probe_stats_quantile(seen_ns, TIMES, 0.5).value;
    return true;
}

bool gpu_chain_measure(struct gpu_trial *trial, const struct gpu_op *op, uint64_t span,
                       double queued_ns, struct gpu_chain *ret, struct gpu_err *err)
{
    struct chain chain = {
        .trial = trial, .op = op, .span = span, .other = other_of(gpu_trial_node(trial), op)};
    bool ok = make_events(&chain, err) && measure(&chain, queued_ns, ret, err);
    free_events(&chain);
    return ok;
}
