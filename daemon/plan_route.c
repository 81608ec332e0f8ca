#include "plan_route.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apu.h"
#include "metric.h"
#include "plan_ends.h"
#include "plan_route_say.h"
#include "plan_route_sizes.h"

struct work {
    struct snapshot *snap;
    struct route_request request; /* a gpu's memory that Linux shows as a NUMA node is the gpu */
    struct way_ends ends;
    struct route_answer *answer;
    struct move meanwhile[ROUTE_MEANWHILE_MAX];
    const struct pair *busy[ROUTE_MEANWHILE_MAX]; /* those of which something is measured or published */
};

/* ---- the time of one option ---- */

static void price(struct route_option *option, double bytes)
{
    option->predicted = plan_split_time(option->way, option->way_count, bytes, option->share, option->chunk_bytes);
    if (!option->knows_both)
        option->predicted.low_ns = option->predicted.high_ns = NAN;
}

static double rate_of(const struct route_option *option) { return plan_split_rate(option->way, option->way_count); }

/* ---- which goes first ---- */

static size_t hops_of(const struct route_option *option)
{
    size_t hops = 0;
    for (size_t i = 0; i < option->way_count; i++)
        hops += option->way[i].hop_count;
    return hops;
}

/* What is known for this size first, then faster, then fewer hops, then copy engines, which leave the gpus free; as the first of all not what is not clear. */
static bool goes_before(const struct route_option *x, const struct route_option *y, bool leads)
{
    if (x->is_known != y->is_known)
        return x->is_known;
    if (leads && x->is_clear != y->is_clear)
        return x->is_clear;
    if (x->predicted.time_ns != y->predicted.time_ns)
        return x->predicted.time_ns < y->predicted.time_ns;
    if (hops_of(x) != hops_of(y))
        return hops_of(x) < hops_of(y);
    return x->way[0].hop[0].by < y->way[0].hop[0].by;
}

/* ---- candidates ---- */

static struct route_option *add_option(struct work *work, const struct way *ways, size_t count, const char *shared)
{
    struct route_option *option = &work->answer->option[work->answer->count++];
    option->way_count = count;
    option->shared = shared;
    option->is_guess = option->is_clear = false;
    option->knows_both = true;
    memcpy(option->way, ways, count * sizeof *ways);
    for (size_t i = 0; i < count && work->request.both; i++)
        option->knows_both = option->knows_both && plan_way_knows_both(&ways[i]);
    option->is_known = ways[0].pair[0] != NULL && (!plan_route_answer_is_direct(option) || plan_way_knows(&ways[0], work->ends.bytes));
    price(option, work->ends.bytes);
    return option;
}

/* What is known, else what stands for it. */
static bool find_hop(struct work *work, place_id from, place_id to, enum move_by by, struct move *ret)
{
    if (!plan_pairs_move(work->snap, work->ends.pairs, from, to, by, ret))
        return false;
    if (work->request.both && !(ret->rate != NULL && plan_move_both(work->snap, ret)))
        ret->slowdown = plan_pairs_both(work->snap, ret);
    return !isnan(ret->slowdown);
}

/* Of the direct way nothing is measured or published: what its links are said to carry is all there is to say, by either mechanism, and ways around could not be compared with it. */
static void add_nominal(struct work *work)
{
    for (int by = MOVE_COPY_ENGINE; by <= (work->request.overlap ? MOVE_COPY_ENGINE : MOVE_KERNEL); by++) {
        struct way way = {.hop_count = 1};
        if (find_hop(work, work->ends.from, work->ends.to, (enum move_by)by, &way.hop[0]))
            add_option(work, &way, 1, NULL);
    }
}

/* Between gpus copy engines may stop where links do not: where nothing is known of kernels, by links they may be faster. */
static void add_kernel_by_links(struct work *work)
{
    const struct graph *graph = work->snap->graph;
    const struct route_option *engine = &work->answer->option[0];
    place_id from = work->ends.from, to = work->ends.to;
    struct way way = {.hop_count = 1};
    if (graph_place(graph, from)->kind != PLACE_GPU || graph_place(graph, to)->kind != PLACE_GPU || plan_pairs_find(work->ends.pairs, from, to, MOVE_KERNEL) != NULL ||
        !find_hop(work, from, to, MOVE_KERNEL, &way.hop[0]) || plan_way_rate(&way) <= rate_of(engine))
        return;
    bool is_known = engine->is_known;
    struct route_option *option = add_option(work, &way, 1, NULL);
    option->is_guess = plan_pairs_is_guess(work->ends.pairs, from, to, MOVE_KERNEL);
    option->is_known = is_known && !option->is_guess;
}

static bool is_too_small(const struct place *memory, int64_t bytes) { return memory->capacity_bytes >= 0 && memory->capacity_bytes < bytes; }

/* No runtime reaches both gpus: each copies from or to memory of the host, one after the other, because neither waits for the other's streams. */
static void add_between_vendors(struct work *work)
{
    const struct graph *graph = work->snap->graph;
    struct way best = {.hop_count = 0};
    double best_ns = INFINITY;
    for (place_id numa = graph_next(graph, PLACE_NUMA, 0); numa != PLACE_NONE; numa = graph_next(graph, PLACE_NUMA, numa + 1)) {
        struct way way = {.hop_count = 2};
        if (!plan_pairs_passes(work->ends.pairs, numa) || !plan_allows_memory(work->request.allowed, numa) || is_too_small(graph_place(graph, numa), work->request.bytes) ||
            !find_hop(work, work->ends.from, numa, MOVE_COPY_ENGINE, &way.hop[0]) || !find_hop(work, numa, work->ends.to, MOVE_COPY_ENGINE, &way.hop[1]))
            continue;
        double time_ns = plan_way_time_ns(&way, work->ends.bytes, 0, NULL);
        if (time_ns < best_ns) {
            best_ns = time_ns;
            best = way;
        }
    }
    if (best.hop_count > 0)
        add_option(work, &best, 1, NULL);
}

/* One way, whose hops may share something, too. */
static struct route_option *add_way(struct work *work, struct way *way)
{
    const char *shared = NULL;
    (void)plan_share_ways(&work->ends, way, 1, &shared);
    return add_option(work, way, 1, shared);
}

/* Through other memories by that mechanism. Two gpus between are worth a word only where they are faster than one. */
static void add_around(struct work *work, enum move_by by)
{
    struct way way;
    double limit_ns = INFINITY;
    if (by == MOVE_COPY_ENGINE && plan_way_through(&work->ends, WAY_HOST, by, NULL, INFINITY, &way))
        add_way(work, &way);
    if (plan_way_through(&work->ends, WAY_GPU, by, NULL, INFINITY, &way))
        limit_ns = add_way(work, &way)->predicted.time_ns;
    if (plan_way_through(&work->ends, WAY_TWO_GPUS, by, NULL, limit_ns, &way))
        add_way(work, &way);
}

/* The direct way with the highest rate, which is one of the first count options, with others beside it. False when out of memory. */
static bool add_split(struct work *work, size_t count)
{
    struct route_answer *answer = work->answer;
    const struct route_option *direct = NULL;
    struct way ways[ROUTE_WAYS_MAX];
    const char *shared = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct route_option *option = &answer->option[i];
        if (option->is_known && option->way[0].pair[0] != NULL && (direct == NULL || (option->knows_both && !direct->knows_both) || (option->knows_both == direct->knows_both && rate_of(option) > rate_of(direct))))
            direct = option;
    }
    if (direct == NULL)
        return true;
    ways[0] = direct->way[0];
    size_t found;
    if (!plan_split_find(&work->ends, !work->request.overlap, 1 / ROUTE_WORTH, ways, &found, &shared))
        return false;
    if (found > 1 && plan_split_time_ns(ways, found, work->ends.bytes, direct->predicted.time_ns) < direct->predicted.time_ns)
        add_option(work, ways, found, shared);
    return true;
}

/* False when out of memory. */
static bool add_options(struct work *work)
{
    struct route_answer *answer = work->answer;
    struct way way;
    bool is_known = false;
    const struct graph *graph = work->snap->graph;
    place_id from = work->ends.from, to = work->ends.to;
    if (graph_place(graph, from)->kind == PLACE_GPU && graph_place(graph, to)->kind == PLACE_GPU && plan_ends_vendors_differ(graph, from, to)) {
        add_between_vendors(work);
        return true;
    }
    for (int by = MOVE_COPY_ENGINE; by <= (work->request.overlap ? MOVE_COPY_ENGINE : MOVE_KERNEL); by++)
        if (plan_way_direct(&work->ends, (enum move_by)by, &way))
            is_known = add_option(work, &way, 1, NULL)->is_known || is_known;
    if (answer->count == 0)
        add_nominal(work);
    else if (!work->request.overlap)
        add_kernel_by_links(work);
    size_t direct = answer->count;
    if (!is_known)
        return true;
    add_around(work, MOVE_COPY_ENGINE);
    if (!work->request.overlap)
        add_around(work, MOVE_KERNEL);
    return add_split(work, direct);
}

/* ---- what moves meanwhile ---- */

static enum berth_code find_meanwhile(struct work *work, struct berth_err *err)
{
    const struct route_request *request = &work->request;
    const struct graph *graph = work->snap->graph;
    if (request->meanwhile_count > ROUTE_MEANWHILE_MAX)
        return err_invalid(err, "meanwhile", "at most %d transfers are weighed", ROUTE_MEANWHILE_MAX);
    for (size_t i = 0; i < request->meanwhile_count; i++) {
        const struct route_transfer *other = &request->meanwhile[i];
        struct move *move = &work->meanwhile[i], kernel;
        const struct plan_pairs *pairs = work->ends.pairs;
        bool engine = plan_pairs_move(work->snap, pairs, other->from, other->to, MOVE_COPY_ENGINE, move);
        bool by_kernel = plan_pairs_move(work->snap, pairs, other->from, other->to, MOVE_KERNEL, &kernel);
        if (!engine && !by_kernel)
            return err_invalid(err, "meanwhile", "nothing is known of a transfer from %s to %s", graph_place(graph, other->from)->name, graph_place(graph, other->to)->name);
        double bytes = (double)other->bytes;
        bool may = by_kernel && !plan_pairs_is_guess(pairs, other->from, other->to, MOVE_KERNEL) && (kernel.rate != NULL || move->rate != NULL);
        if (may && (!engine || plan_move_queued(&kernel, bytes).time_ns < plan_move_queued(move, bytes).time_ns))
            *move = kernel;
        const struct pair *pair = plan_pairs_find(pairs, move->from, move->to, move->by);
        if (pair != NULL)
            work->busy[work->ends.busy_count++] = pair;
    }
    work->ends.busy = work->busy;
    return BERTH_OK;
}

/* How many times as long a hop takes beside what moves meanwhile over the same lanes, which carry what was seen to go over them and not what they are said to; 1 where that is not known. */
static double crowded(const struct work *work, const struct pair *pair, double rate, double bytes)
{
    double slower = 1;
    for (size_t w = 0; pair != NULL && w < LANES_WORDS; w++)
        for (uint64_t bits = pair->lanes->bit[w]; bits != 0; bits &= bits - 1) {
            double lane = plan_pairs_lane(work->ends.pairs, 64 * w + (size_t)__builtin_ctzll(bits)), others = 0, their_bytes = 0, users = 1;
            for (size_t i = 0; i < work->request.meanwhile_count; i++) {
                const struct move *move = &work->meanwhile[i];
                const struct pair *other = plan_pairs_find(work->ends.pairs, move->from, move->to, move->by);
                if (other == NULL || (other->lanes->bit[w] & bits & -bits) == 0)
                    continue;
                others += plan_way_hop_rate(move);
                their_bytes += (double)work->request.meanwhile[i].bytes;
                users++;
            }
            if (rate + others <= lane)
                continue;
            /* All that goes over it, or its fair share, or what the others leave. */
            double least = fmin((bytes + their_bytes) / lane, users * bytes / lane);
            slower = fmax(slower, fmin(least, others < lane ? bytes / (lane - others) : INFINITY) * rate / bytes);
        }
    return slower;
}

/* The same of a kernel on a gpu whose multiprocessors a kernel of what moves meanwhile fills, too: each gets half of them until one has ended, as far as is known. */
static double beside_kernels(const struct work *work, const struct move *hop, double alone_ns)
{
    double slower = 1;
    for (size_t i = 0; i < work->request.meanwhile_count; i++) {
        const struct move *move = &work->meanwhile[i];
        if (hop->by == MOVE_KERNEL && move->by == MOVE_KERNEL && move->driver == hop->driver)
            slower += fmin(1, plan_move_queued_ns(move, (double)work->request.meanwhile[i].bytes) / alone_ns);
    }
    return slower;
}

static bool is_mixed(const struct work *work, const struct move *hop)
{
    for (size_t i = 0; i < work->request.meanwhile_count; i++)
        if (work->meanwhile[i].by != hop->by)
            return true;
    return false;
}

/* Each hop takes as much longer as it does when what moves meanwhile begins with it. The hops of a way move as fast as the slowest of them. */
static enum berth_code share(struct work *work, struct route_option *option, struct berth_err *err)
{
    const struct route_request *request = &work->request;
    struct step_flow flows[STEP_FLOWS_MAX];
    struct move *hop[ROUTE_WAYS_MAX * WAY_HOPS_MAX], alone[ROUTE_WAYS_MAX * WAY_HOPS_MAX];
    const struct pair *pair[ROUTE_WAYS_MAX * WAY_HOPS_MAX];
    size_t own = 0;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++, own++) {
            hop[own] = &option->way[w].hop[i];
            pair[own] = option->way[w].pair[i];
            alone[own] = *hop[own];
            alone[own].slowdown *= fmax(plan_way_hop_rate(hop[own]) / plan_way_rate(&option->way[w]), 1);
            flows[own] = (struct step_flow){.move = &alone[own], .bytes = option->share[w] * work->ends.bytes};
        }
    size_t count = own;
    for (size_t i = 0; i < request->meanwhile_count; i++)
        flows[count++] = (struct step_flow){.move = &work->meanwhile[i], .bytes = (double)request->meanwhile[i].bytes};
    enum berth_code code = plan_step(work->snap, flows, count, err);
    double most = 1, sooner = 1, later = 1;
    for (size_t i = 0; code == BERTH_OK && i < own; i++) {
        double start_ns = plan_move_start_ns(&alone[i]), alone_ns = plan_move_queued_ns(&alone[i], flows[i].bytes) - start_ns;
        double slower = alone_ns > 0 ? fmax((flows[i].time.time_ns - start_ns) / alone_ns, 1) : 1;
        slower = fmax(slower, beside_kernels(work, &alone[i], flows[i].bytes / plan_way_hop_rate(&alone[i]) * 1e9));
        if (flows[i].is_nominal || flows[i].shared == NULL)
            slower = fmax(slower, crowded(work, pair[i], plan_way_hop_rate(&alone[i]), flows[i].bytes));
        if (slower > 1)
            hop[i]->slowdown = alone[i].slowdown * slower;
        hop[i]->is_slowed_by_guess = hop[i]->is_slowed_by_guess || (slower > 1.001 && (flows[i].shared == NULL || flows[i].is_nominal));
        sooner = fmin(sooner, flows[i].soonest_ns / flows[i].time.time_ns);
        later = fmax(later, flows[i].latest_ns / flows[i].time.time_ns);
        if (slower > most && flows[i].shared != NULL)
            option->shared = flows[i].shared;
        most = fmax(most, slower);
        if (slower > 1.001 && flows[i].shared == NULL)
            plan_warn(&work->answer->warnings, "what goes from %s to %s beside what moves meanwhile was not measured: it counts as sharing the links, ports and packages on the way, and kernels a gpu",
                      graph_place(work->snap->graph, alone[i].from)->name, graph_place(work->snap->graph, alone[i].to)->name);
        else if (slower > 1.001 && flows[i].is_nominal)
            plan_warn(&work->answer->warnings, "what %s get through %s was not measured: they count as sharing what %s, or what is said of it",
                      is_mixed(work, &alone[i]) ? "copy engines and kernels at once" : "several transfers", flows[i].shared, is_mixed(work, &alone[i]) ? "either was seen to get" : "one of them was seen to get");
    }
    if (most > 1)
        price(option, work->ends.bytes);
    option->predicted.low_ns *= sooner;
    option->predicted.high_ns *= later;
    return code;
}

/* ---- in order ---- */

static bool is_direct(const struct route_option *option) { return plan_route_answer_is_direct(option) && !option->is_guess; }

/* By rates, not by the times of that size: so that a few bytes more never take less because another option may lead from there on. */
static void find_clear(struct route_answer *answer)
{
    double most = 0;
    for (size_t i = 0; i < answer->count; i++)
        if (is_direct(&answer->option[i]))
            most = fmax(most, rate_of(&answer->option[i]));
    for (size_t i = 0; i < answer->count; i++)
        answer->option[i].is_clear = is_direct(&answer->option[i]) || ROUTE_WORTH * rate_of(&answer->option[i]) > most;
}

/* There are few, and they are large: each is moved once at most. */
static void put_in_order(struct route_answer *answer)
{
    for (size_t i = 0; i + 1 < answer->count; i++) {
        size_t first = i;
        for (size_t j = i + 1; j < answer->count; j++)
            if (goes_before(&answer->option[j], &answer->option[first], i == 0))
                first = j;
        if (first != i) {
            struct route_option option = answer->option[i];
            answer->option[i] = answer->option[first];
            answer->option[first] = option;
        }
    }
}

static enum berth_code cite(struct work *work, struct route_option *option, struct berth_err *err)
{
    struct route_answer *answer = work->answer;
    enum berth_code code = BERTH_OK;
    option->why = answer->evidence.count;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count && code == BERTH_OK; i++)
            code = plan_move_cite(work->snap->graph, &option->way[w].hop[i], &answer->evidence, option->why, err);
    option->why_count = answer->evidence.count - option->why;
    return code;
}

/* ---- the answer ---- */

static enum berth_code not_measured(const struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct place *from = graph_place(graph, work->request.from), *to = graph_place(graph, work->request.to);
    char why[MOVE_WHY_SIZE];
    plan_move_why_not(work->snap, work->request.from, work->request.to, why);
    err_text(err, 0, metric_info(from->kind == to->kind ? METRIC_GPU_GPU_COPY_ENGINE : METRIC_HOST_GPU_COPY_ENGINE)->name);
    err_text(err, 1, from->name);
    err_text(err, 2, to->name);
    return err_set(err, BERTH_NOT_MEASURED, "neither measurements nor links say what a transfer from %s to %s takes%s", from->name, to->name, why);
}

/* Cites each option; the first one last, so that what overlap adds to it stands with it. */
static enum berth_code cite_all(struct work *work, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t i = work->answer->count; i-- > 0 && code == BERTH_OK;)
        code = cite(work, &work->answer->option[i], err);
    return code;
}

static enum berth_code say_all(struct work *work, struct berth_err *err)
{
    const struct route_said said = {work->snap, work->ends.pairs, &work->request, work->answer};
    plan_route_say_warnings(&said);
    plan_route_say_reasons(&said);
    return plan_route_say_overlap(&said, err);
}

/* The gpu that a NUMA node is the memory of, or shares it with its cores (MI300A), unless something is known of that NUMA node itself, or the gpu is not allowed. */
static place_id resolved(struct work *work, place_id end, place_id other, bool is_known)
{
    const struct graph *graph = work->snap->graph;
    place_id gpu = !is_known && graph_place(graph, end)->kind == PLACE_NUMA ? plan_ends_gpu_of(graph, end) : PLACE_NONE;
    if (graph_place(graph, end)->kind == PLACE_NUMA && apu_at(graph, end) == other)
        plan_warn(&work->answer->warnings, "%s is the memory of %s, too, whose kernels reach all of it: the bytes need not move", graph_place(graph, end)->name, graph_place(graph, other)->name);
    else if (!is_known && gpu == PLACE_NONE && graph_place(graph, end)->kind == PLACE_NUMA)
        gpu = apu_at(graph, end);
    if (gpu == PLACE_NONE || !plan_allows_gpu(work->request.allowed, gpu) || !plan_allows_memory(work->request.allowed, end))
        return end;
    plan_warn(&work->answer->reasons, "%s is the memory of %s: what is known of that stands for it", graph_place(graph, end)->name, graph_place(graph, gpu)->name);
    return gpu;
}

static void resolve(struct work *work)
{
    place_id from = work->request.from, to = work->request.to;
    const struct plan_pairs *pairs = work->ends.pairs;
    bool is_known = pairs != NULL && (plan_pairs_find(pairs, from, to, MOVE_COPY_ENGINE) != NULL || plan_pairs_find(pairs, from, to, MOVE_KERNEL) != NULL);
    work->ends.from = work->request.from = resolved(work, from, to, is_known);
    work->ends.to = work->request.to = resolved(work, to, from, is_known);
}

static enum berth_code fill(struct work *work, struct berth_err *err)
{
    const struct route_request *request = &work->request;
    struct route_answer *answer = work->answer;
    enum berth_code code = plan_ends_check(work->snap, request->allowed, request->from, request->to, request->bytes, err);
    answer->option = code == BERTH_OK ? malloc(ROUTE_OPTIONS_MAX * sizeof *answer->option) : NULL;
    if (code == BERTH_OK && (work->ends.pairs == NULL || answer->option == NULL))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for what is known of transfers");
    if (code == BERTH_OK)
        code = plan_move_prepare(work->snap, err);
    if (code == BERTH_OK)
        code = find_meanwhile(work, err);
    if (code != BERTH_OK)
        return code;
    if (!add_options(work))
        return err_set(err, BERTH_NO_MEMORY, "no memory for ways");
    if (answer->count == 0)
        return not_measured(work, err);
    for (size_t i = 0; code == BERTH_OK && i < answer->count && request->meanwhile_count > 0; i++)
        code = share(work, &answer->option[i], err);
    find_clear(answer);
    put_in_order(answer);
    if (code == BERTH_OK)
        code = cite_all(work, err);
    if (code == BERTH_OK && request->meanwhile_count == 0)
        plan_route_sizes(&work->ends, answer);
    return code == BERTH_OK ? say_all(work, err) : code;
}

enum berth_code plan_route(struct snapshot *snap, const struct route_request *request, struct route_answer *ret, struct berth_err *err)
{
    struct route_answer answer = {.b80_bytes = NAN};
    struct work work;
    work.snap = snap; /* there is much that need not be anything yet */
    work.request = *request;
    work.answer = &answer;
    work.ends = (struct way_ends){.graph = snap->graph, .snap = snap, .pairs = plan_pairs_of(snap), .bytes = (double)request->bytes, .both = request->both, .allowed = request->allowed};
    resolve(&work);
    enum berth_code code = fill(&work, err);
    if (code == BERTH_OK)
        *ret = answer;
    else
        plan_route_done(&answer);
    return code;
}

void plan_route_done(struct route_answer *answer)
{
    free(answer->option);
    answer->option = NULL;
    plan_evidence_done(&answer->evidence);
}
