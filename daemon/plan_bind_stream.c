#include "plan_bind_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "memuse.h"
#include "plan_bind_memory.h"
#include "plan_text.h"

#define WORTH 0.005 /* less is not worth other cores, or a line */

/* What a step takes with the tasks as they are. */
struct streamed {
    struct prediction time;
    place_id memory;      /* of those that end last; PLACE_NONE nothing is moved, or nothing is known */
    size_t users, memories;
    double bytes;         /* that they move */
    double alone_ns;      /* the first of them without the others */
    bool is_measured;     /* nothing nominal or published is in it */
    bool at_least;        /* time is a lower bound: low_ns is time_ns, high_ns NAN */
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
        count += (traffic->flow[i].from == TRAFFIC_HOST || traffic->flow[i].to == TRAFFIC_HOST) == with_host;
    return count;
}

/* What the tasks with that memory, first to last of them, take together. NAN where nothing known says it. */
static enum berth_code price_memory(const struct pricing *pricing, place_id memory, size_t most, struct memrate_basis *basis, struct streamed *ret, struct memtime *ret_time,
                                    struct berth_err *err)
{
    struct memuse use = {.gpu = PLACE_NONE};
    struct cpuset cpus = {0};
    ret->users = 0;
    for (size_t t = 0; t < pricing->tasks && ret->users < most; t++) {
        const struct moved *moved = &pricing->moved[t];
        if (pricing->task[t].memory != memory || moved->reads + moved->writes == 0)
            continue;
        cpuset_or(&cpus, &pricing->task[t].cpus);
        use.read_bytes += moved->reads;
        use.write_bytes += moved->writes;
        ret->users++;
    }
    ret->memory = memory;
    ret->bytes = use.read_bytes + use.write_bytes;
    *ret_time = memtime_bare(0);
    if (ret->users == 0)
        return BERTH_OK;
    enum berth_code code = memrate_cores(pricing->stream->snap->graph, &cpus, &use.who, err);
    if (code == BERTH_OK)
        code = memuse_cores(&use, &pricing->node, pricing->stream->snap, memory, ret->bytes, basis, ret_time, err);
    memuse_done(&use);
    return code;
}

/* The memory whose tasks end last. */
static enum berth_code find_last(const struct pricing *pricing, struct memrate_basis *basis, struct streamed *ret, struct berth_err *err)
{
    const struct graph *graph = pricing->stream->snap->graph;
    struct memtime last = {0};
    struct streamed found = {.memory = PLACE_NONE};
    size_t memories = 0;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE; n = graph_next(graph, PLACE_NUMA, n + 1)) {
        struct streamed here = {0};
        struct memtime time;
        enum berth_code code = price_memory(pricing, n, SIZE_MAX, basis, &here, &time, err);
        if (code != BERTH_OK)
            return code;
        memories += here.users > 0;
        if (here.users == 0 || (!isnan(time.time_ns) && time.time_ns <= last.time_ns))
            continue;
        found = here;
        last = time;
        if (isnan(time.time_ns))
            break;
    }
    found.memories = memories;
    found.time = memtime_once(&last);
    *ret = found;
    return BERTH_OK;
}

/* NAN where something moves of which nothing is known. What is said and cited is of the memory whose tasks end last: the others' is alike. */
static enum berth_code price(const struct pricing *pricing, struct memrate_basis *basis, struct streamed *ret, struct berth_err *err)
{
    struct plan_evidence unsaid = {0};
    struct plan_warnings unwarned = {0};
    struct memrate_basis any = {.evidence = &unsaid, .warnings = &unwarned}, alone = any;
    struct streamed again = {0};
    struct memtime time = memtime_unknown();
    enum berth_code code = find_last(pricing, &any, ret, err);
    bool is_known = code == BERTH_OK && ret->memory != PLACE_NONE && !isnan(ret->time.time_ns);
    for (size_t t = 0; t < pricing->tasks; t++)
        is_known = is_known && pricing->task[t].memory != PLACE_NONE;
    if (is_known)
        code = price_memory(pricing, ret->memory, SIZE_MAX, basis, &again, &time, err);
    if (is_known && code == BERTH_OK)
        code = price_memory(pricing, ret->memory, 1, &alone, &again, &time, err);
    plan_evidence_done(&unsaid);
    if (code != BERTH_OK)
        return code;
    ret->alone_ns = time.time_ns;
    ret->at_least = any.at_least || any.floor != 0 || count_flows(pricing->stream->traffic, false) > 0;
    if (!is_known)
        ret->time = (struct prediction){NAN, NAN, NAN};
    else if (ret->at_least)
        ret->time = (struct prediction){ret->time.time_ns, ret->time.time_ns, NAN};
    else if (ret->memories > 1)
        ret->time = (struct prediction){ret->time.time_ns, NAN, NAN};
    return BERTH_OK;
}

/* What these tasks take; what it rests on goes to the basis. */
static enum berth_code price_tasks(const struct bind_stream *stream, const struct bind_task *task, size_t tasks, struct memrate_basis *basis, struct streamed *ret, struct berth_err *err)
{
    struct pricing pricing = {.stream = stream, .task = task, .tasks = tasks, .moved = calloc(tasks, sizeof *pricing.moved)};
    if (pricing.moved == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for what tasks move");
    size_t first = basis->evidence->count;
    sum_up(&pricing);
    enum berth_code code = memkind_node_init(stream->snap->graph, &pricing.node, err);
    if (code == BERTH_OK)
        code = price(&pricing, basis, ret, err);
    ret->is_measured = !ret->at_least;
    for (size_t i = first; i < basis->evidence->count && ret->is_measured; i++)
        ret->is_measured = basis->evidence->item[i] == NULL || basis->evidence->item[i]->source == VALUE_MEASURED;
    memkind_node_done(&pricing.node);
    free(pricing.moved);
    return code;
}

/* What tasks with these cpus would take, and which memory each has: nothing of it is said. */
static enum berth_code price_cpus(const struct bind_stream *stream, size_t tasks, const struct cpuset *cpus, struct streamed *ret, struct berth_err *err)
{
    struct bind_answer *scratch = calloc(1, sizeof *scratch);
    struct bind_task *task = calloc(tasks, sizeof *task);
    if (scratch == NULL || task == NULL) {
        free(scratch);
        free(task);
        return err_set(err, BERTH_NO_MEMORY, "no memory for the tasks");
    }
    enum berth_code code = BERTH_OK;
    scratch->task = task;
    scratch->task_count = tasks;
    for (size_t t = 0; t < tasks; t++)
        task[t].cpus = cpus[t];
    for (size_t t = 0; code == BERTH_OK && t < tasks; t++)
        code = plan_bind_memory(stream->snap, stream->allowed, stream->cores, t, PLACE_NONE, scratch, err);
    struct memrate_basis basis = {.evidence = &scratch->evidence, .warnings = &scratch->warnings};
    if (code == BERTH_OK)
        code = price_tasks(stream, task, tasks, &basis, ret, err);
    plan_evidence_done(&scratch->evidence);
    free(task);
    free(scratch);
    return code;
}

/* As a launcher gives out cores: the first to the first. */
static struct cpuset *in_order(const struct bind_cores *cores, size_t tasks, int64_t each, struct berth_err *err)
{
    struct cpuset *cpus = calloc(tasks, sizeof *cpus);
    if (cpus == NULL)
        err_set(err, BERTH_NO_MEMORY, "no memory for the cpus");
    for (size_t i = 0; cpus != NULL && i < tasks * (size_t)each && i < cores->count; i++)
        cpuset_or(&cpus[i / (size_t)each], &cores->core[i].use);
    return cpus;
}

enum berth_code plan_bind_stream_choose(const struct bind_stream *stream, size_t tasks, int64_t each, struct cpuset *cpus, bool *ret_in_order, struct berth_err *err)
{
    struct streamed ours = {0}, order = {0};
    if (count_flows(stream->traffic, true) == 0)
        return BERTH_OK;
    struct cpuset *ordered = in_order(stream->cores, tasks, each, err);
    if (ordered == NULL)
        return BERTH_NO_MEMORY;
    enum berth_code code = price_cpus(stream, tasks, cpus, &ours, err);
    if (code == BERTH_OK)
        code = price_cpus(stream, tasks, ordered, &order, err);
    *ret_in_order = code == BERTH_OK && order.time.time_ns * (1 + WORTH) < ours.time.time_ns;
    for (size_t t = 0; *ret_in_order && t < tasks; t++)
        cpus[t] = ordered[t];
    free(ordered);
    return code;
}

static void name_bottleneck(const struct graph *graph, const struct streamed *streamed, char text[RESOURCE_NAME_SIZE])
{
    if (streamed->time.time_ns > streamed->alone_ns * (1 + WORTH))
        snprintf(text, RESOURCE_NAME_SIZE, "%s:memory", graph_place(graph, streamed->memory)->name);
}

/* "the last to end are 4 tasks that stream memory of numa0: 38.4 GB/s together, 25.0 GB/s one alone". */
static void say(const struct graph *graph, const struct streamed *streamed, const char *prefix, const char *source, struct plan_warnings *reasons)
{
    char together[PLAN_TEXT_SIZE], one[PLAN_TEXT_SIZE], alone[48] = "";
    const char *memory = graph_place(graph, streamed->memory)->name, *most = streamed->at_least ? "at most " : "";
    plan_text_rate(streamed->bytes * 1e9 / streamed->time.time_ns, together);
    if (!streamed->at_least && streamed->time.time_ns > streamed->alone_ns * (1 + WORTH))
        snprintf(alone, sizeof alone, ", %s one alone", plan_text_rate(streamed->bytes / (double)streamed->users * 1e9 / streamed->alone_ns, one));
    if (streamed->users == 1)
        plan_warn(reasons, "%sthe last to end is a task that streams memory of %s, as nobody else does: %s%s%s", prefix, memory, streamed->at_least ? most : "at ", together, source);
    else
        plan_warn(reasons, "%sthe last to end are %zu tasks that stream memory of %s: %s%s together%s%s", prefix, streamed->users, memory, most, together, alone, source);
}

/* " (published)" where none of it was measured. */
static const char *source_of(const struct plan_evidence *evidence)
{
    bool is_published = evidence->count > 0, is_stated = is_published;
    for (size_t i = 0; i < evidence->count; i++) {
        is_published = is_published && evidence->item[i] != NULL && evidence->item[i]->source == VALUE_PUBLISHED;
        is_stated = is_stated && evidence->item[i] != NULL && evidence->item[i]->source == VALUE_NOMINAL;
    }
    return is_published ? " (published)" : is_stated ? " (nominal)" : "";
}

static void warn_of(const struct streamed *ours, size_t between, struct plan_warnings *warnings)
{
    if (between > 0)
        plan_warn(warnings, "what %zu transfer%s between tasks without gpus take%s is not known: it is not in the time", between, between == 1 ? "" : "s", between == 1 ? "s" : "");
    if (ours->memories > 1)
        plan_warn(warnings, "what cores of several NUMA nodes get when all stream at the same time was not measured: each memory counts as alone");
}

enum berth_code plan_bind_stream_tell(const struct bind_stream *stream, struct bind_answer *answer, struct berth_err *err)
{
    const struct graph *graph = stream->snap->graph;
    size_t between = count_flows(stream->traffic, false);
    struct streamed ours = {0}, order = {0};
    if (count_flows(stream->traffic, true) == 0) {
        if (between > 0)
            plan_warn(&answer->warnings, "no time is predicted: nothing says what tasks without gpus take for what they send each other; locality alone decided");
        return BERTH_OK;
    }
    struct plan_evidence its = {0};
    struct memrate_basis basis = {.evidence = &its, .warnings = &answer->warnings};
    enum berth_code code = price_tasks(stream, answer->task, answer->task_count, &basis, &ours, err);
    size_t start = answer->evidence.count;
    for (size_t i = 0; i < its.count && code == BERTH_OK; i++)
        if (!plan_evidence_add_same(&answer->evidence, start, &its, i))
            code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    const char *source = source_of(&its);
    plan_evidence_done(&its);
    struct cpuset *ordered = code == BERTH_OK ? in_order(stream->cores, answer->task_count, answer->cores_per_task, err) : NULL;
    if (ordered == NULL)
        return code == BERTH_OK ? BERTH_NO_MEMORY : code;
    code = price_cpus(stream, answer->task_count, ordered, &order, err);
    free(ordered);
    if (code != BERTH_OK)
        return code;
    answer->predicted = ours.time;
    answer->baseline = order.time;
    answer->predicted_is_measured = ours.is_measured;
    answer->baseline_is_measured = order.is_measured;
    if (isnan(ours.time.time_ns)) {
        plan_warn(&answer->warnings, "no time is predicted: nothing known says what these cores get of their memory (berth probe measures it); locality alone decided");
        return BERTH_OK;
    }
    name_bottleneck(graph, &ours, answer->bottleneck);
    say(graph, &ours, "", source, &answer->reasons);
    if (!isnan(order.time.time_ns))
        name_bottleneck(graph, &order, answer->baseline_bottleneck);
    if (order.time.time_ns > ours.time.time_ns * (1 + WORTH))
        say(graph, &order, "in the launcher's own order: ", "", &answer->reasons);
    warn_of(&ours, between, &answer->warnings);
    return BERTH_OK;
}
