#include "plan/bind/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cost/evidence.h"
#include "cost/memcores.h"
#include "node/reasons.h"
#include "plan/bind/memory.h"
#include "plan/bind/peers.h"

#define WORTH 0.005 /* less is not worth other cores, or a line */

/* What a step takes with the tasks as they are. */
struct streamed {
    struct prediction time;
    /* of those that end last; PLACE_NONE nothing is moved, or nothing is known */
    place_id memory;
    size_t users, memories;
    double bytes;     /* that they move */
    double alone_ns;  /* the first of them without the others */
    bool is_measured; /* nothing nominal or published is in it */
    bool at_least;    /* time is a lower bound: low_ns is time_ns, high_ns NAN */
};

struct moved {
    double reads, writes; /* bytes */
};

struct pricing {
    const struct bind_stream *stream;
    const struct bind_task *task;
    size_t tasks;
    struct moved *moved; /* by task */
    struct memkind_node node;
    struct reasons *warnings; /* about the memory whose tasks end last */
};

/* What each task reads of its memory, and writes into it. */
static void sum_up(struct pricing *pricing)
{
    const struct traffic *traffic = pricing->stream->traffic;
    for (size_t i = 0; i < traffic->count; i++) {
        const struct traffic_flow *flow = &traffic->flow[i];
        if (flow->from == TRAFFIC_HOST)
            pricing->moved[flow->to].reads += flow->bytes;
        else if (flow->to == TRAFFIC_HOST)
            pricing->moved[flow->from].writes += flow->bytes;
    }
}

static size_t count_flows(const struct traffic *traffic, bool with_host)
{
    size_t count = 0;
    for (size_t i = 0; traffic != NULL && i < traffic->count; i++)
        count += (traffic->flow[i].from == TRAFFIC_HOST || traffic->flow[i].to == TRAFFIC_HOST) ==
                 with_host;
    return count;
}

/* What the tasks with that memory, first to last of them, take together. NAN where nothing known
 * says it. */
static enum berth_code price_memory(const struct pricing *pricing, place_id memory, size_t most,
                                    struct memtime_basis *basis, struct streamed *ret,
                                    struct memtime *ret_time, struct berth_err *err)
{
    struct memcores who;
    double reads = 0, writes = 0;
    struct cpuset cpus = {0};
    ret->users = 0;
    for (size_t t = 0; t < pricing->tasks && ret->users < most; t++) {
        const struct moved *moved = &pricing->moved[t];
        if (pricing->task[t].memory != memory || moved->reads + moved->writes == 0)
            continue;
        cpuset_or(&cpus, &pricing->task[t].cpus);
        reads += moved->reads;
        writes += moved->writes;
        ret->users++;
    }
    ret->memory = memory;
    ret->bytes = reads + writes;
    *ret_time = (struct memtime){0};
    if (ret->users == 0)
        return BERTH_OK;
    enum berth_code code = memcores_init(pricing->stream->snap->graph, &cpus, &who, err);
    if (code != BERTH_OK)
        return code;
    const struct memcores_access access = {.snap = pricing->stream->snap,
                                           .node = &pricing->node,
                                           .who = &who,
                                           .memory = memory,
                                           .span = ret->bytes,
                                           .basis = basis};
    *ret_time = memcores_stream(&access, reads, writes);
    memcores_done(&who);
    return basis->no_memory ? err_set(err, BERTH_NO_MEMORY, "no memory for evidence") : BERTH_OK;
}

/* The memory whose tasks end last. */
static enum berth_code find_last(const struct pricing *pricing, struct memtime_basis *basis,
                                 struct streamed *ret, struct berth_err *err)
{
    const struct graph *graph = pricing->stream->snap->graph;
    struct memtime last = {0};
    struct streamed found = {.memory = PLACE_NONE};
    size_t memories = 0;
    bool at_least = false;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        struct streamed here = {0};
        struct memtime time;
        enum berth_code code = price_memory(pricing, n, SIZE_MAX, basis, &here, &time, err);
        if (code != BERTH_OK)
            return code;
        memories += here.users > 0;
        at_least |= time.source >= SOURCE_NOMINAL;
        if (here.users == 0 || (!isnan(time.time_ns) && time.time_ns <= last.time_ns))
            continue;
        found = here;
        last = time;
        if (isnan(time.time_ns))
            break;
    }
    found.memories = memories;
    struct estimate time = memtime_estimate(&last);
    found.time = (struct prediction){time.time_ns, time.low_ns, time.high_ns};
    found.at_least = at_least;
    *ret = found;
    return BERTH_OK;
}

/* NAN where something moves of which nothing is known. What is said and cited is of the memory
 * whose tasks end last: the others' is alike. */
static enum berth_code price(const struct pricing *pricing, struct memtime_basis *basis,
                             struct streamed *ret, struct berth_err *err)
{
    struct evidence unsaid = {0};
    struct memtime_basis any = {.evidence = &unsaid}, alone = any;
    struct streamed again = {0};
    struct memtime time = memtime_unknown();
    enum berth_code code = find_last(pricing, &any, ret, err);
    bool is_known = code == BERTH_OK && ret->memory != PLACE_NONE && !isnan(ret->time.time_ns);
    for (size_t t = 0; t < pricing->tasks; t++)
        is_known = is_known && pricing->task[t].memory != PLACE_NONE;
    if (is_known)
        code = price_memory(pricing, ret->memory, SIZE_MAX, basis, &again, &time, err);
    if (is_known && code == BERTH_OK)
        memtime_warn(time.doubts, graph_place(pricing->stream->snap->graph, ret->memory)->name,
                     pricing->warnings);
    if (is_known && code == BERTH_OK)
        code = price_memory(pricing, ret->memory, 1, &alone, &again, &time, err);
    evidence_done(&unsaid);
    if (code != BERTH_OK)
        return code;
    ret->alone_ns = time.time_ns;
    if (!is_known)
        ret->time = (struct prediction){NAN, NAN, NAN};
    else if (ret->at_least)
        ret->time = (struct prediction){ret->time.time_ns, ret->time.time_ns, NAN};
    else if (ret->memories > 1)
        ret->time = (struct prediction){ret->time.time_ns, NAN, NAN};
    return BERTH_OK;
}

/* What these tasks take; what it rests on goes to the basis. */
static enum berth_code price_tasks(const struct bind_stream *stream, const struct bind_task *task,
                                   size_t tasks, struct memtime_basis *basis,
                                   struct reasons *warnings, struct streamed *ret,
                                   struct berth_err *err)
{
    struct pricing pricing = {.stream = stream,
                              .task = task,
                              .tasks = tasks,
                              .warnings = warnings,
                              .moved = calloc(tasks, sizeof *pricing.moved)};
    if (pricing.moved == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for what tasks move");
    size_t first = basis->evidence->count;
    sum_up(&pricing);
    enum berth_code code = memkind_node_init(stream->snap->graph, &pricing.node, err);
    if (code == BERTH_OK)
        code = price(&pricing, basis, ret, err);
    ret->is_measured = !ret->at_least;
    for (size_t i = first; i < basis->evidence->count && ret->is_measured; i++)
        ret->is_measured =
            basis->evidence->item[i] == NULL || basis->evidence->item[i]->source == VALUE_MEASURED;
    memkind_node_done(&pricing.node);
    free(pricing.moved);
    return code;
}

/* What tasks with these cpus would take, and which memory each has: nothing of it is said. */
static enum berth_code price_cpus(const struct bind_stream *stream, size_t tasks,
                                  const struct cpuset *cpus, struct streamed *ret,
                                  struct berth_err *err)
{
    struct evidence uncited = {0};
    struct reasons unsaid = {0};
    struct memtime_basis basis = {.evidence = &uncited};
    struct memory_request request = {.tasks = tasks, .cpus = cpus};
    struct bind_task *task = calloc(tasks, sizeof *task);
    place_id *memory = calloc(2 * tasks, sizeof *memory);
    if (task == NULL || memory == NULL) {
        free(task);
        free(memory);
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    }
    enum berth_code code = plan_bind_memory(stream->snap, stream->allowed, stream->cores, &request,
                                            &uncited, memory, memory + tasks, err);
    for (size_t t = 0; code == BERTH_OK && t < tasks; t++) {
        task[t].cpus = cpus[t];
        task[t].memory = memory[t];
    }
    if (code == BERTH_OK)
        code = price_tasks(stream, task, tasks, &basis, &unsaid, ret, err);
    evidence_done(&uncited);
    free(task);
    free(memory);
    return code;
}

/* As a launcher gives out cores: the first to the first. */
static struct cpuset *in_order(const struct bind_cores *cores, size_t tasks, int64_t each,
                               struct berth_err *err)
{
    struct cpuset *cpus = calloc(tasks, sizeof *cpus);
    if (cpus == NULL)
        err_set(err, BERTH_NO_MEMORY, "no memory for the cpus");
    for (size_t i = 0; cpus != NULL && i < tasks * (size_t)each && i < cores->count; i++)
        cpuset_or(&cpus[i / (size_t)each], &cores->core[i].use);
    return cpus;
}

static struct bind_peers peers_of(const struct bind_stream *stream, size_t tasks)
{
    return (struct bind_peers){
        .snap = stream->snap, .traffic = stream->traffic, .cores = stream->cores, .tasks = tasks};
}

/* What decides between two orders of cores. */
struct weight {
    double stream_ns; /* NAN unknown */
    double peers_ns;  /* NAN unknown */
    double distance;  /* of peers */
};

static enum berth_code weigh(const struct bind_stream *stream, size_t tasks,
                             const struct cpuset *cpus, struct weight *ret, struct berth_err *err)
{
    struct bind_peers peers = peers_of(stream, tasks);
    struct streamed streamed = {0};
    struct peers_time exchanged;
    enum berth_code code = BERTH_OK;
    if (count_flows(stream->traffic, true) > 0)
        code = price_cpus(stream, tasks, cpus, &streamed, err);
    if (code == BERTH_OK)
        code = plan_bind_peers_time(&peers, cpus, &exchanged, err);
    if (code == BERTH_OK)
        *ret = (struct weight){streamed.time.time_ns, exchanged.time_ns, exchanged.distance};
    return code;
}

/* By time; what peers take counts only where it is known of both, else their distance does among
 * equals. */
static bool is_better(const struct weight *a, const struct weight *b)
{
    bool is_known = !isnan(a->peers_ns) && !isnan(b->peers_ns);
    double mine = a->stream_ns + (is_known ? a->peers_ns : 0),
           other = b->stream_ns + (is_known ? b->peers_ns : 0);
    if (mine * (1 + WORTH) < other)
        return true;
    return !is_known && mine <= other * (1 + WORTH) && a->distance < b->distance;
}

/* Cores for families of tasks that exchange bytes. */
static struct cpuset *by_peers(const struct bind_stream *stream, const struct core_request *request,
                               struct berth_err *err)
{
    struct core_request families = *request;
    struct core_allocation allocation = {0};
    struct bind_peers peers = peers_of(stream, request->tasks);
    size_t *joined = calloc(request->tasks, sizeof *joined);
    if (joined == NULL) {
        err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
        return NULL;
    }
    plan_bind_peers_join(stream->traffic, request->tasks, joined);
    families.family = joined;
    enum berth_code code =
        plan_bind_allocate(stream->snap, stream->cores, &families, NULL, &allocation, err);
    if (code == BERTH_OK)
        code = plan_bind_peers_assign(&peers, allocation.cpus, err);
    struct cpuset *cpus = code == BERTH_OK ? allocation.cpus : NULL;
    if (code == BERTH_OK)
        allocation.cpus = NULL;
    plan_bind_allocation_done(&allocation);
    free(joined);
    return cpus;
}

/* Weighs one order of cores against the least so far, and frees it. */
static enum berth_code try_order(const struct bind_stream *stream, size_t tasks,
                                 struct cpuset *take_others, struct cpuset *cpus,
                                 struct weight *least, bool *ret_taken, struct berth_err *err)
{
    struct weight other;
    *ret_taken = false;
    if (take_others == NULL)
        return err->code;
    enum berth_code code = weigh(stream, tasks, take_others, &other, err);
    if (code == BERTH_OK && is_better(&other, least)) {
        *ret_taken = true;
        *least = other;
        memcpy(cpus, take_others, tasks * sizeof *cpus);
    }
    free(take_others);
    return code;
}

enum berth_code plan_bind_stream_choose(const struct bind_stream *stream,
                                        const struct core_request *request, int64_t each,
                                        struct cpuset *cpus, enum bind_order *ret_order,
                                        struct berth_err *err)
{
    size_t tasks = request->tasks;
    bool exchanges = plan_bind_peers_count(stream->traffic) > 0, taken = false;
    struct bind_peers peers = peers_of(stream, tasks);
    struct weight least;
    *ret_order = ORDER_EVEN;
    if (!exchanges && count_flows(stream->traffic, true) == 0)
        return BERTH_OK;
    enum berth_code code = plan_bind_peers_assign(&peers, cpus, err);
    if (code == BERTH_OK)
        code = weigh(stream, tasks, cpus, &least, err);
    if (code == BERTH_OK && exchanges)
        code = try_order(stream, tasks, by_peers(stream, request, err), cpus, &least, &taken, err);
    *ret_order = taken ? ORDER_PEERS : *ret_order;
    if (code == BERTH_OK)
        code = try_order(stream, tasks, in_order(stream->cores, tasks, each, err), cpus, &least,
                         &taken, err);
    *ret_order = code == BERTH_OK && taken ? ORDER_LAUNCHER : *ret_order;
    return code;
}

static void say_fewer(int64_t fewer, int64_t each, const struct weight *even,
                      struct reasons *warnings)
{
    char time[QUANTITY_SIZE], at[QUANTITY_SIZE + 8] = "";
    double ns = even->stream_ns + even->peers_ns;
    if (!isnan(ns))
        snprintf(at, sizeof at, ", at %s", quantity_time(ns, time));
    reasons_note(warnings,
                 "%lld core%s a task, so that tasks that exchange bytes share an L3; %lld each "
                 "(cores_per_task) use more cores%s",
                 (long long)fewer, fewer == 1 ? "" : "s", (long long)each, at);
}

static void say_even(int64_t fewer, int64_t each, const char *why, struct reasons *warnings)
{
    reasons_note(warnings,
                 "tasks that exchange bytes have %lld cores each and share no L3; with %lld each "
                 "(cores_per_task) they would, but %s",
                 (long long)each, (long long)fewer, why);
}

enum berth_code plan_bind_stream_choose_fewer(const struct bind_stream *stream,
                                              const struct core_request *request,
                                              struct cpuset *cpus, int64_t *each,
                                              enum bind_order *order, struct reasons *warnings,
                                              struct berth_err *err)
{
    struct core_request smaller = *request;
    struct bind_peers peers = peers_of(stream, request->tasks);
    enum bind_order other_order = ORDER_EVEN;
    struct weight even, other;
    int64_t got = 0;
    bool is_half;
    enum berth_code code =
        plan_bind_peers_fewer(&peers, *each, &smaller.cores_per_task, &is_half, err);
    if (code != BERTH_OK || smaller.cores_per_task == 0)
        return code;
    if (!is_half) {
        say_even(smaller.cores_per_task, *each, "more than half of their cores would be left out",
                 warnings);
        return BERTH_OK;
    }
    struct core_allocation fewer = {0};
    code = weigh(stream, request->tasks, cpus, &even, err);
    if (code == BERTH_OK)
        code = plan_bind_allocate(stream->snap, stream->cores, &smaller, NULL, &fewer, err);
    got = fewer.each;
    if (code == BERTH_OK)
        code = plan_bind_stream_choose(stream, &smaller, got, fewer.cpus, &other_order, err);
    if (code == BERTH_OK)
        code = weigh(stream, request->tasks, fewer.cpus, &other, err);
    if (code == BERTH_OK && is_better(&other, &even)) {
        memcpy(cpus, fewer.cpus, request->tasks * sizeof *cpus);
        say_fewer(got, *each, &even, warnings);
        *each = got;
        *order = other_order;
    } else if (code == BERTH_OK) {
        say_even(smaller.cores_per_task, *each, "the step is not known to take less", warnings);
    }
    plan_bind_allocation_done(&fewer);
    return code;
}

static void name_bottleneck(const struct graph *graph, const struct streamed *streamed,
                            char text[LIMIT_NAME_SIZE])
{
    if (streamed->time.time_ns > streamed->alone_ns * (1 + WORTH))
        snprintf(text, LIMIT_NAME_SIZE, "%s:memory", graph_place(graph, streamed->memory)->name);
}

/* "the last to end are 4 tasks that stream memory of numa0: 38.4 GB/s together, 25.0 GB/s one
 * alone". */
static void say(const struct graph *graph, const struct streamed *streamed, const char *prefix,
                const char *source, struct reasons *reasons)
{
    char together[QUANTITY_SIZE], one[QUANTITY_SIZE], alone[48] = "";
    const char *memory = graph_place(graph, streamed->memory)->name,
               *most = streamed->at_least ? "at most " : "";
    quantity_rate(streamed->bytes * 1e9 / streamed->time.time_ns, together);
    if (!streamed->at_least && streamed->time.time_ns > streamed->alone_ns * (1 + WORTH))
        snprintf(alone, sizeof alone, ", %s one alone",
                 quantity_rate(streamed->bytes / (double)streamed->users * 1e9 / streamed->alone_ns,
                               one));
    if (streamed->users == 1)
        reasons_note(
            reasons,
            "%sthe last to end is a task that streams memory of %s, as nobody else does: %s%s%s",
            prefix, memory, streamed->at_least ? most : "at ", together, source);
    else
        reasons_note(reasons,
                     "%sthe last to end are %zu tasks that stream memory of %s: %s%s together%s%s",
                     prefix, streamed->users, memory, most, together, alone, source);
}

/* " (published)" where none of it was measured. */
static const char *source_of(const struct evidence *evidence)
{
    bool is_published = evidence->count > 0, is_stated = is_published;
    for (size_t i = 0; i < evidence->count; i++) {
        is_published = is_published && evidence->item[i] != NULL &&
                       evidence->item[i]->source == VALUE_PUBLISHED;
        is_stated =
            is_stated && evidence->item[i] != NULL && evidence->item[i]->source == VALUE_NOMINAL;
    }
    return is_published ? " (published)" : is_stated ? " (nominal)" : "";
}

static void warn_of(const struct streamed *ours, size_t unknown, struct reasons *warnings)
{
    if (unknown > 0)
        reasons_note(warnings,
                     "what %zu transfer%s between tasks without gpus take%s is not known: it is "
                     "not in the time",
                     unknown, unknown == 1 ? "" : "s", unknown == 1 ? "s" : "");
    if (ours->memories > 1)
        reasons_note(warnings, "what cores of several NUMA nodes get when all stream at the same "
                               "time was not measured: each memory counts as alone");
}

/* A step of all tasks. */
struct step {
    struct streamed streamed;
    struct peers_time exchanged;
    struct prediction time;
    bool is_measured;
    size_t unknown; /* flows that are not in the time */
};

/* Adds what tasks exchange to what they stream. */
static void sum_step(const struct bind_stream *stream, struct step *step)
{
    const struct peers_time *exchanged = &step->exchanged;
    bool streams = count_flows(stream->traffic, true) > 0,
         exchanges = plan_bind_peers_count(stream->traffic) > 0;
    bool is_known = exchanges && !isnan(exchanged->time_ns);
    step->unknown = count_flows(stream->traffic, false) -
                    (is_known ? plan_bind_peers_count(stream->traffic) : 0);
    step->is_measured = (!streams || step->streamed.is_measured) &&
                        (!is_known || (exchanged->is_measured && !streams)) && step->unknown == 0;
    if (!streams && !is_known) {
        step->time = (struct prediction){NAN, NAN, NAN};
        return;
    }
    step->time = streams ? step->streamed.time : (struct prediction){0, 0, 0};
    if (isnan(step->time.time_ns))
        return;
    bool at_least =
        (streams && step->streamed.at_least) || exchanged->at_least || step->unknown > 0;
    double time = step->time.time_ns + (is_known ? exchanged->time_ns : 0);
    if (at_least)
        step->time = (struct prediction){time, time, NAN};
    else if (is_known)
        step->time = (struct prediction){time, NAN, NAN};
}

static enum berth_code price_step(const struct bind_stream *stream,
                                  const struct bind_answer *answer, const struct cpuset *cpus,
                                  struct step *ret, struct berth_err *err)
{
    struct bind_peers peers = peers_of(stream, answer->task_count);
    enum berth_code code = plan_bind_peers_time(&peers, cpus, &ret->exchanged, err);
    if (code == BERTH_OK)
        sum_step(stream, ret);
    return code;
}

/* "task 0 to task 1 is the longest transfer of the busiest task: core0 to core1, 48 ns a round
 * trip, 15.0 GB/s". */
static void say_peers(const struct bind_stream *stream, const struct peers_time *exchanged,
                      const char *prefix, struct reasons *reasons)
{
    const struct graph *graph = stream->snap->graph;
    char rate[QUANTITY_SIZE] = "no rate known";
    if (exchanged->latency == NULL || isnan(exchanged->time_ns))
        return;
    const struct traffic_flow *flow = &stream->traffic->flow[exchanged->flow];
    if (exchanged->rate != NULL)
        quantity_rate(exchanged->rate->value, rate);
    reasons_note(reasons,
                 "%sthe busiest task's longest transfer is task %d to %d: %.0f ns a round trip (%s "
                 "to %s), %s",
                 prefix, flow->from, flow->to, exchanged->latency->value,
                 graph_place(graph, exchanged->latency->from)->name,
                 graph_place(graph, exchanged->latency->to)->name, rate);
}

/* The launcher's own order, as the baseline; its cpus are not kept. */
static enum berth_code price_order(const struct bind_stream *stream,
                                   const struct bind_answer *answer, struct step *ret,
                                   struct berth_err *err)
{
    struct cpuset *ordered =
        in_order(stream->cores, answer->task_count, answer->cores_per_task, err);
    if (ordered == NULL)
        return BERTH_NO_MEMORY;
    enum berth_code code = BERTH_OK;
    if (count_flows(stream->traffic, true) > 0)
        code = price_cpus(stream, answer->task_count, ordered, &ret->streamed, err);
    if (code == BERTH_OK)
        code = price_step(stream, answer, ordered, ret, err);
    free(ordered);
    return code;
}

/* The answer's own tasks, with what their times rest on. ret_source: as source_of says. */
static enum berth_code price_own(const struct bind_stream *stream, struct bind_answer *answer,
                                 struct step *ret, const char **ret_source, struct berth_err *err)
{
    struct evidence its = {0};
    struct memtime_basis basis = {.evidence = &its};
    size_t start = answer->evidence.count;
    struct cpuset *cpus = calloc(answer->task_count, sizeof *cpus);
    if (cpus == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    enum berth_code code = BERTH_OK;
    for (size_t t = 0; t < answer->task_count; t++)
        cpus[t] = answer->task[t].cpus;
    if (count_flows(stream->traffic, true) > 0)
        code = price_tasks(stream, answer->task, answer->task_count, &basis, &answer->warnings,
                           &ret->streamed, err);
    if (code == BERTH_OK)
        code = price_step(stream, answer, cpus, ret, err);
    const struct value *cited[] = {ret->exchanged.latency, ret->exchanged.rate};
    for (size_t i = 0; i < 2 && code == BERTH_OK && cited[i] != NULL; i++)
        if (!evidence_add(&answer->evidence, start, cited[i]))
            code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    for (size_t i = 0; i < its.count && code == BERTH_OK; i++)
        if (!evidence_add_same(&answer->evidence, start, &its, i))
            code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    *ret_source = source_of(&its);
    evidence_done(&its);
    free(cpus);
    return code;
}

enum berth_code plan_bind_stream_tell(const struct bind_stream *stream, struct bind_answer *answer,
                                      struct berth_err *err)
{
    const struct graph *graph = stream->snap->graph;
    bool streams = count_flows(stream->traffic, true) > 0;
    struct step ours = {0}, order = {0};
    const char *source = "", *before = "in the launcher's own order: ";
    if (!streams && count_flows(stream->traffic, false) == 0)
        return BERTH_OK;
    enum berth_code code = price_own(stream, answer, &ours, &source, err);
    if (code == BERTH_OK)
        code = price_order(stream, answer, &order, err);
    if (code != BERTH_OK)
        return code;
    answer->predicted = ours.time;
    answer->baseline = order.time;
    answer->predicted_is_measured = ours.is_measured;
    answer->baseline_is_measured = order.is_measured;
    if (isnan(ours.time.time_ns)) {
        reasons_note(
            &answer->warnings,
            streams
                ? "no time is predicted: nothing known says what these cores get of their memory "
                  "(berth probe measures it); locality alone decided"
                : "no time is predicted: nothing says what tasks without gpus take for what they "
                  "send each other (berth probe cpu_pingpong measures it); locality alone decided");
        return BERTH_OK;
    }
    bool is_worse = order.time.time_ns > ours.time.time_ns * (1 + WORTH);
    if (streams) {
        name_bottleneck(graph, &ours.streamed, answer->bottleneck);
        say(graph, &ours.streamed, "", source, &answer->reasons);
    }
    say_peers(stream, &ours.exchanged, "", &answer->reasons);
    if (streams && !isnan(order.time.time_ns))
        name_bottleneck(graph, &order.streamed, answer->baseline_bottleneck);
    if (streams && is_worse)
        say(graph, &order.streamed, before, "", &answer->reasons);
    if (is_worse)
        say_peers(stream, &order.exchanged, before, &answer->reasons);
    warn_of(&ours.streamed, ours.unknown, &answer->warnings);
    return BERTH_OK;
}
