#include "plan_bind_traffic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_bind_memory.h"
#include "plan_bind_nics.h"

#define NOT_NEXT    100  /* how far a gpu without cores next to it is, beyond any distance */
#define OTHER_MODULE 1
#define WORTH_SAYING 1.005 /* the launcher's order is slower by more */

struct work {
    struct snapshot *snap;
    const struct bind_request *request;
    const struct bind_gpus *gpus;
    struct bind_cores *cores;
    struct bind_traffic *traffic;
    size_t tasks, each;
    double *far, *apart;
};

/* ---- what each gpu would come with ---- */

/* The nearest cores' NUMA nodes, by gpu. */
struct homes {
    place_id *numa; /* room of them for each gpu */
    size_t *count;
    size_t room;
};

static bool is_same_home(const struct homes *homes, size_t a, size_t b)
{
    return homes->count[a] == homes->count[b] && memcmp(homes->numa + a * homes->room, homes->numa + b * homes->room, homes->count[a] * sizeof *homes->numa) == 0;
}

/* A task on a gpu has the memory next to the nearest cores. Gpus with several NUMA nodes equally near, as those of a whole package, are dealt out to them in order. */
static void deal_out(struct work *work, const struct homes *homes)
{
    for (size_t g = 0; g < work->gpus->count; g++) {
        size_t before = 0, all = 1;
        for (size_t other = 0; other < work->gpus->count; other++)
            if (other != g && is_same_home(homes, g, other)) {
                before += other < g;
                all++;
            }
        place_id gpu = work->gpus->gpu[g], numa = homes->count[g] > 0 ? homes->numa[g * homes->room + before * homes->count[g] / all] : PLACE_NONE;
        place_id memory = plan_bind_memory_nearest(work->snap, work->request->allowed, numa);
        work->traffic->numa[g] = numa;
        work->traffic->memory[g] = memory;
        work->far[g] = (memory != PLACE_NONE ? plan_distance(work->snap, gpu, memory) : 0) + (plan_bind_cores_near(work->snap, work->cores, gpu) == 0 ? NOT_NEXT : 0);
    }
}

static enum berth_code find_memory(struct work *work, struct berth_err *err)
{
    struct homes homes = {.room = work->cores->group_count};
    enum berth_code code = BERTH_OK;
    homes.numa = calloc(work->gpus->count * homes.room + 1, sizeof *homes.numa);
    homes.count = calloc(work->gpus->count + 1, sizeof *homes.count);
    if (homes.numa == NULL || homes.count == NULL) {
        code = err_set(err, BERTH_NO_MEMORY, "no memory for NUMA nodes");
    } else {
        for (size_t g = 0; code == BERTH_OK && g < work->gpus->count; g++)
            code = plan_bind_cores_numas(work->snap, work->cores, work->gpus->gpu[g], homes.numa + g * homes.room, &homes.count[g], err);
        if (code == BERTH_OK)
            deal_out(work, &homes);
    }
    free(homes.numa);
    free(homes.count);
    return code;
}

/* Of several nics equally near, gpus take turns. */
static enum berth_code find_nics(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    place_id *nic = calloc(graph_count(graph, PLACE_NIC) + 1, sizeof *nic);
    if (nic == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the nics");
    for (size_t g = 0; g < work->gpus->count; g++) {
        struct nics_of who = {.gpu = &work->gpus->gpu[g], .gpu_count = 1, .memory = PLACE_NONE};
        size_t count = plan_bind_nics(work->snap, &who, nic);
        work->traffic->nic[g] = count > 0 ? nic[(size_t)graph_place(graph, work->gpus->gpu[g])->number % count] : PLACE_NONE;
    }
    free(nic);
    return BERTH_OK;
}

static enum berth_code describe(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    size_t n = work->gpus->count;
    enum berth_code code = find_memory(work, err);
    for (size_t g = 0; code == BERTH_OK && g < n; g++) {
        for (size_t other = 0; other < n; other++) {
            place_id a = work->gpus->gpu[g], b = work->gpus->gpu[other], module = plan_above(graph, a, PLACE_MODULE);
            bool together = a == b || (module != PLACE_NONE && plan_above(graph, b, PLACE_MODULE) == module);
            work->apart[g * n + other] = together ? 0 : OTHER_MODULE + plan_distance(work->snap, a, b);
        }
    }
    return code == BERTH_OK ? find_nics(work, err) : code;
}

/* ---- the choice ---- */

static bool make_room(struct work *work)
{
    struct bind_traffic *traffic = work->traffic;
    size_t n = work->gpus->count, berths = work->tasks * work->each;
    traffic->numa = calloc(n, sizeof *traffic->numa);
    traffic->memory = calloc(n, sizeof *traffic->memory);
    traffic->nic = calloc(n, sizeof *traffic->nic);
    traffic->slot = calloc(berths, sizeof *traffic->slot);
    traffic->in_order = calloc(berths, sizeof *traffic->in_order);
    traffic->task_memory = calloc(work->tasks, sizeof *traffic->task_memory);
    traffic->task_numa = calloc(work->tasks, sizeof *traffic->task_numa);
    work->far = calloc(n, sizeof *work->far);
    work->apart = calloc(n * n, sizeof *work->apart);
    return traffic->numa != NULL && traffic->memory != NULL && traffic->nic != NULL && traffic->task_numa != NULL && traffic->slot != NULL && traffic->in_order != NULL && traffic->task_memory != NULL && work->far != NULL &&
           work->apart != NULL;
}

/* As a launcher gives out gpus: the first to the first, and as evenly as it goes. */
static void put_in_order(const struct work *work)
{
    size_t berths = work->tasks * work->each, n = work->gpus->count, least = berths / n, more = berths % n, b = 0;
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; i < least + (g < more); i++)
            work->traffic->in_order[b++] = (uint16_t)g;
}

static enum berth_code choose(struct work *work, struct bind_answer *answer, struct berth_err *err)
{
    struct bind_traffic *traffic = work->traffic;
    if (!make_room(work))
        return err_set(err, BERTH_NO_MEMORY, "no memory for the gpus");
    enum berth_code code = describe(work, err);
    struct bind_price_request request = {.traffic = work->request->traffic, .by = work->request->by, .tasks = work->tasks, .each = work->each, .gpu = work->gpus->gpu,
                                         .memory = traffic->memory, .nic = traffic->nic, .gpu_count = work->gpus->count};
    if (code == BERTH_OK)
        code = plan_bind_price_new(work->snap, &request, &traffic->price, err);
    if (code != BERTH_OK)
        return code;
    put_in_order(work);
    size_t share = (work->tasks * work->each + work->gpus->count - 1) / work->gpus->count;
    struct bind_price_choice choice = {.share = share, .in_order = work->request->in_rank_order, .far = work->far, .apart = work->apart};
    code = plan_bind_price_search(traffic->price, &choice, traffic->slot, &traffic->found, err);
    if (code != BERTH_OK)
        return code;
    traffic->is_chosen = !isnan(plan_bind_price_of(traffic->price, traffic->slot, NULL).step.time_ns);
    for (size_t b = 0; b < work->tasks * work->each && traffic->is_chosen; b++) {
        answer->gpu[b] = work->gpus->gpu[traffic->slot[b]];
        if (b % work->each == 0)
            traffic->task_numa[b / work->each] = traffic->numa[traffic->slot[b]];
    }
    return BERTH_OK;
}

enum berth_code plan_bind_traffic_choose(struct snapshot *snap, const struct bind_request *request, const struct bind_gpus *gpus, struct bind_cores *cores,
                                         struct bind_answer *answer, struct bind_traffic *ret, struct berth_err *err)
{
    struct work work = {.snap = snap, .request = request, .gpus = gpus, .cores = cores, .traffic = ret, .tasks = answer->task_count, .each = (size_t)answer->gpus_per_task};
    if (gpus->count > SEARCH_SLOTS_MAX)
        return err_invalid(err, "allowed.gpus", "traffic is weighed on at most %d gpus, not %zu", SEARCH_SLOTS_MAX, gpus->count);
    enum berth_code code = choose(&work, answer, err);
    free(work.far);
    free(work.apart);
    return code;
}

/* ---- what it takes, and why ---- */

static double capacity_of(const struct load_resource *resource, size_t users)
{
    double capacity = INFINITY;
    for (size_t i = 0; i < resource->step_count && resource->step[i].flows <= users; i++)
        capacity = resource->step[i].bytes_per_s;
    return capacity;
}

/* "gpu4 and gpu5 share module2:host-port:out: 28.1 GB/s together, 28.3 alone" */
static void say_sharing(const struct graph *graph, const struct bind_sharing *sharing, const char *prefix, struct plan_warnings *lines)
{
    double together = fmin(capacity_of(sharing->resource, sharing->users), (double)sharing->users * sharing->alone_bytes_per_s);
    const char *a = graph_place(graph, sharing->a)->name, *name = sharing->resource->name;
    const char *stated = sharing->resource->is_nominal ? " (as the links are said to carry)" : "";
    if (sharing->b == PLACE_NONE)
        plan_warn(lines, "%s%zu transfers of %s share %s: %.1f GB/s together, %.1f alone%s", prefix, sharing->users, a, name, together / 1e9,
                  sharing->alone_bytes_per_s / 1e9, stated);
    else if (sharing->users == 2)
        plan_warn(lines, "%s%s and %s share %s: %.1f GB/s together, %.1f alone%s", prefix, a, graph_place(graph, sharing->b)->name, name, together / 1e9,
                  sharing->alone_bytes_per_s / 1e9, stated);
    else
        plan_warn(lines, "%s%zu transfers, of %s, %s and maybe others, share %s: %.1f GB/s together, %.1f alone%s", prefix, sharing->users, a,
                  graph_place(graph, sharing->b)->name, name, together / 1e9, sharing->alone_bytes_per_s / 1e9, stated);
}

static void say_slowest(const struct graph *graph, const struct bind_priced *priced, const char *prefix, struct plan_warnings *lines)
{
    if (priced->slowest_from != PLACE_NONE)
        plan_warn(lines, "%sthe slowest transfer goes from %s to %s, which carries %.1f GB/s alone", prefix, graph_place(graph, priced->slowest_from)->name,
                  graph_place(graph, priced->slowest_to)->name, priced->slowest_alone_bytes_per_s / 1e9);
}

static void say_why(const struct graph *graph, const struct bind_priced *ours, const struct bind_priced *order, struct bind_answer *answer)
{
    say_slowest(graph, ours, "", &answer->reasons);
    if (ours->sharing_count == 0)
        plan_warn(&answer->reasons, "no transfer slows another");
    for (size_t i = 0; i < ours->sharing_count; i++)
        say_sharing(graph, &ours->sharing[i], "", &answer->warnings);
    if (!(order->step.time_ns > ours->step.time_ns * WORTH_SAYING))
        return;
    say_slowest(graph, order, "in order, ", &answer->reasons);
    for (size_t i = 0; i < order->sharing_count; i++)
        say_sharing(graph, &order->sharing[i], "in order, ", &answer->reasons);
}

/* The slots of what the tasks have; whether their memory is what the search took for it. */
static bool find_slots(struct bind_traffic *traffic, const struct bind_gpus *gpus, const struct bind_answer *answer)
{
    size_t each = (size_t)answer->gpus_per_task;
    bool is_as_searched = traffic->is_chosen;
    for (size_t t = 0; t < answer->task_count; t++) {
        traffic->task_memory[t] = answer->task[t].memory;
        for (size_t i = 0; i < each; i++) {
            size_t g = 0;
            while (g + 1 < gpus->count && gpus->gpu[g] != answer->task[t].gpus[i])
                g++;
            traffic->slot[t * each + i] = (uint16_t)g;
            is_as_searched = is_as_searched && (i > 0 || traffic->memory[g] == answer->task[t].memory);
        }
    }
    return is_as_searched;
}

static void say_shared_gpus(const struct graph *graph, const struct bind_gpus *gpus, struct bind_answer *answer)
{
    if ((size_t)answer->gpus_per_task * answer->task_count > gpus->count)
        plan_warn(&answer->warnings, "%zu tasks share %zu gpus, %s among them: what tasks on one gpu send each other is taken to cost nothing", answer->task_count, gpus->count,
                  graph_place(graph, gpus->gpu[0])->name);
}

enum berth_code plan_bind_traffic_tell(struct bind_traffic *traffic, const struct snapshot *snap, const struct bind_gpus *gpus, struct bind_answer *answer, struct berth_err *err)
{
    if (traffic->price == NULL)
        return BERTH_OK;
    bool is_as_searched = find_slots(traffic, gpus, answer);
    struct bind_priced order = plan_bind_price_of(traffic->price, traffic->in_order, NULL);
    struct bind_priced ours = plan_bind_price_of(traffic->price, traffic->slot, traffic->task_memory);
    answer->predicted = ours.step;
    answer->baseline = order.step;
    snprintf(answer->bottleneck, sizeof answer->bottleneck, "%s", ours.bottleneck);
    snprintf(answer->baseline_bottleneck, sizeof answer->baseline_bottleneck, "%s", order.bottleneck);
    say_shared_gpus(snap->graph, gpus, answer);
    if (!isnan(ours.step.time_ns)) {
        double bound_ns = traffic->found.bound_ns;
        answer->is_proven = traffic->found.is_proven && is_as_searched;
        answer->gap = answer->is_proven ? 0 : is_as_searched && bound_ns > 0 ? fmax(ours.step.time_ns / bound_ns - 1, 0) : NAN;
        say_why(snap->graph, &ours, &order, answer);
    }
    return plan_bind_price_cite(traffic->price, traffic->slot, traffic->task_memory, &answer->evidence, &answer->warnings, err);
}

void plan_bind_traffic_done(struct bind_traffic *traffic)
{
    plan_bind_price_free(traffic->price);
    free(traffic->numa);
    free(traffic->task_numa);
    free(traffic->memory);
    free(traffic->nic);
    free(traffic->slot);
    free(traffic->in_order);
    free(traffic->task_memory);
    *traffic = (struct bind_traffic){0};
}
