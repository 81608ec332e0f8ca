#include "plan/route/route.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/doubt.h"
#include "cost/ends.h"
#include "cost/evidence.h"
#include "node/allowed.h"
#include "node/gpu.h"
#include "node/metric.h"
#include "node/reasons.h"
#include "plan/route/beside.h"
#include "plan/route/links.h"
#include "plan/route/links_time.h"
#include "plan/route/option.h"
#include "plan/route/order.h"
#include "plan/route/price.h"
#include "plan/route/say.h"
#include "plan/route/shared.h"
#include "plan/route/sizes.h"

static double rate_of(const struct route_option *option)
{
    return plan_split_rate(option->way, option->way_count);
}

/* ---- candidates ---- */

static bool is_direct(const struct route_option *option)
{
    return plan_route_answer_is_direct(option) && !option->is_guess;
}

static struct route_option *add_option(struct route_work *work, const struct way *ways,
                                       size_t count, const char *shared)
{
    struct route_option *option = &work->answer->option[work->answer->count++];
    plan_route_option_begin(work, ways, count, shared, option);
    return option;
}

static void add_by_links(struct route_work *work, const struct way *ways, size_t count)
{
    plan_route_option_begin_by_links(work, ways, count,
                                     &work->answer->option[work->answer->count++]);
}

/* Through another memory, and the faster of the splits by one mechanism. */
static void add_around_by_links(struct route_work *work, const struct way *direct,
                                enum move_by last)
{
    struct way best[ROUTE_WAYS_MAX];
    size_t best_count = 1;
    double best_ns = INFINITY;
    for (int by = MOVE_COPY_ENGINE; by <= (int)last; by++) {
        struct way around[LINKS_WAYS_MAX], ways[ROUTE_WAYS_MAX];
        size_t arounds = plan_links_ways(&work->ends, (enum move_by)by, around);
        static const enum place_kind kinds[] = {PLACE_NUMA, PLACE_GPU};
        for (int k = 0; k < 2; k++) {
            const struct way *way = plan_links_fastest(&work->ends, around, arounds, kinds[k]);
            if (way != NULL)
                add_by_links(work, way, 1);
        }
        ways[0] = direct[by];
        size_t count =
            ways[0].hop_count > 0 ? plan_links_beside(&work->ends, around, arounds, ways) : 1;
        double time_ns = count > 1
                             ? plan_links_time(ways, count, work->ends.bytes, NULL, NULL).time_ns
                             : INFINITY;
        if (time_ns < best_ns) {
            best_ns = time_ns;
            best_count = count;
            memcpy(best, ways, count * sizeof *ways);
        }
    }
    if (best_count > 1)
        add_by_links(work, best, best_count);
}

/* Of the direct way nothing is measured or published: what its links are said to carry stands for
 * it, by either mechanism, and is compared with what they are said to carry otherwise. */
static void add_nominal(struct route_work *work)
{
    const struct graph *graph = work->snap->graph;
    place_id from = work->ends.from, to = work->ends.to;
    enum move_by last = work->request.overlap ? MOVE_COPY_ENGINE : MOVE_KERNEL;
    struct way direct[MOVE_KERNEL + 1] = {{.hop_count = 0}, {.hop_count = 0}};
    for (int by = MOVE_COPY_ENGINE; by <= (int)last; by++)
        if (plan_links_hop(&work->ends, from, to, (enum move_by)by, &direct[by].hop[0])) {
            bool is_guess = plan_pairs_is_guess(work->ends.pairs, from, to, (enum move_by)by);
            if (is_guess && work->answer->count > 0 &&
                direct[by].hop[0].bytes_per_s <= work->answer->option[0].way[0].hop[0].bytes_per_s)
                continue; /* as add_kernel_by_links has it */
            direct[by].hop_count = 1;
            add_option(work, &direct[by], 1, NULL)->is_guess = is_guess;
        }
    if (work->answer->count > 0 && !plan_ends_are_one(graph, from, to))
        add_around_by_links(work, direct, last);
}

/* Between gpus copy engines may stop where links do not: where nothing is known of kernels, by
 * links they may be faster. */
static void add_kernel_by_links(struct route_work *work)
{
    const struct graph *graph = work->snap->graph;
    const struct route_option *engine = &work->answer->option[0];
    place_id from = work->ends.from, to = work->ends.to;
    struct way way = {.hop_count = 1};
    if (graph_place(graph, from)->kind != PLACE_GPU || graph_place(graph, to)->kind != PLACE_GPU ||
        plan_pairs_find(work->ends.pairs, from, to, MOVE_KERNEL) != NULL ||
        !plan_links_hop(&work->ends, from, to, MOVE_KERNEL, &way.hop[0]) ||
        plan_way_rate(&way) <= rate_of(engine))
        return;
    bool is_known = engine->is_known;
    struct route_option *option = add_option(work, &way, 1, NULL);
    option->is_guess = plan_pairs_is_guess(work->ends.pairs, from, to, MOVE_KERNEL);
    option->is_known = is_known && !option->is_guess;
}

static bool is_too_small(const struct place *memory, int64_t bytes)
{
    return memory->capacity_bytes >= 0 && memory->capacity_bytes < bytes;
}

/* No runtime reaches both gpus: each copies from or to memory of the host, one after the other,
 * because neither waits for the other's streams. */
static void add_between_vendors(struct route_work *work)
{
    const struct graph *graph = work->snap->graph;
    struct way best = {.hop_count = 0};
    double best_ns = INFINITY;
    for (place_id numa = graph_next(graph, PLACE_NUMA, 0); numa != PLACE_NONE;
         numa = graph_next(graph, PLACE_NUMA, numa + 1)) {
        struct way way = {.hop_count = 2};
        if (!plan_pairs_passes(work->ends.pairs, numa) ||
            !allowed_has_memory(work->request.allowed, numa) ||
            is_too_small(graph_place(graph, numa), work->request.bytes) ||
            !plan_links_hop(&work->ends, work->ends.from, numa, MOVE_COPY_ENGINE, &way.hop[0]) ||
            !plan_links_hop(&work->ends, numa, work->ends.to, MOVE_COPY_ENGINE, &way.hop[1]))
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
static struct route_option *add_way(struct route_work *work, struct way *way)
{
    const char *shared = NULL;
    (void)plan_share_ways(&work->ends, way, 1, &shared);
    return add_option(work, way, 1, shared);
}

/* The fastest of those that may lead, else the fastest. */
static bool find_through(const struct route_work *work, enum way_through through, enum move_by by,
                         double limit_ns, struct way *ret)
{
    const struct route_option *direct = plan_route_order_direct(work->answer);
    struct way_ends ends = work->ends;
    ends.least_rate = direct != NULL ? rate_of(direct) / ROUTE_WORTH : INFINITY;
    double lead_ns = direct != NULL ? direct->predicted.time_ns / (1 + ROUTE_DOUBT) : 0;
    return plan_way_through(&ends, through, by, NULL, fmin(lead_ns, limit_ns), ret) ||
           plan_way_through(&work->ends, through, by, NULL, limit_ns, ret);
}

/* Through other memories by that mechanism. Two gpus between are worth a word only where they are
 * faster than one. */
static void add_around(struct route_work *work, enum move_by by)
{
    struct way way;
    double limit_ns = INFINITY;
    if (by == MOVE_COPY_ENGINE && find_through(work, WAY_HOST, by, INFINITY, &way))
        add_way(work, &way);
    if (find_through(work, WAY_GPU, by, INFINITY, &way))
        limit_ns = add_way(work, &way)->predicted.time_ns;
    if (find_through(work, WAY_TWO_GPUS, by, limit_ns, &way))
        add_way(work, &way);
}

/* What several ways would get if no bytes went the other way, where nobody measured what they get
 * when as many do. False when out of memory. */
static bool find_left_out(struct route_work *work, size_t taken)
{
    struct way_ends ends = work->ends;
    struct way ways[ROUTE_WAYS_MAX];
    const char *shared;
    size_t found;
    const struct route_option *direct = plan_route_order_direct(work->answer);
    ends.both = false;
    if (direct == NULL || !plan_way_direct(&ends, direct->way[0].hop[0].by, &ways[0]))
        return true;
    double alone = plan_way_rate(&ways[0]);
    struct chain_list *list = plan_chain_list(&ends, !work->request.overlap);
    bool has_room =
        list != NULL && plan_split_find(&ends, list, plan_route_order_firsts(work->answer),
                                        alone / ROUTE_WORTH, false, ways, &found, &shared);
    free(list);
    if (!has_room)
        return false;
    double together = plan_split_rate(ways, found);
    if (found > taken && ROUTE_WORTH * together > alone)
        work->answer->left_out = (struct route_left_out){found, taken, together, alone};
    return true;
}

/* Several ways at once, the fastest of those that may lead, or of all; where they are faster than
 * limit_ns, which becomes their time. False when out of memory. */
static bool add_fastest(struct route_work *work, const struct chain_list *list, unsigned firsts,
                        double direct_rate, bool must_lead, double *limit_ns)
{
    struct way ways[ROUTE_WAYS_MAX];
    const char *shared = NULL;
    size_t found;
    if (!plan_split_find(&work->ends, list, firsts, direct_rate / ROUTE_WORTH, must_lead, ways,
                         &found, &shared))
        return false;
    double time_ns =
        found > 0 ? add_option(work, ways, found, shared)->predicted.time_ns : INFINITY;
    if (found > 0 && time_ns >= *limit_ns)
        work->answer->count--;
    *limit_ns = fmin(*limit_ns, time_ns);
    return true;
}

/* What may lead, and what may be faster and is worth measuring. False when out of memory. */
static bool add_split(struct route_work *work)
{
    struct route_answer *answer = work->answer;
    const struct route_option *direct = plan_route_order_direct(answer);
    unsigned firsts = plan_route_order_firsts(answer);
    double direct_ns = INFINITY;
    if (direct == NULL || firsts == 0)
        return true;
    for (size_t i = 0; i < answer->count; i++)
        if (is_direct(&answer->option[i]))
            direct_ns = fmin(direct_ns, answer->option[i].predicted.time_ns);
    double direct_rate = rate_of(direct);
    struct chain_list *list = plan_chain_list(&work->ends, !work->request.overlap);
    bool has_room = list != NULL &&
                    add_fastest(work, list, firsts, direct_rate, true, &direct_ns) &&
                    add_fastest(work, list, firsts, direct_rate, false, &direct_ns);
    free(list);
    return has_room;
}

/* No split by links of which what its ways share leaves one of them less than is worth it. */
static void leave_worthy(const struct route_work *work)
{
    struct route_answer *answer = work->answer;
    for (size_t i = answer->count; i-- > 0;) {
        const struct route_option *option = &answer->option[i];
        if (option->is_by_links &&
            !plan_split_is_enough(option->share, option->way_count, work->ends.bytes))
            memmove(&answer->option[i], &answer->option[i + 1],
                    (--answer->count - i) * sizeof *answer->option);
    }
}

/* What there is through other memories, and several ways at once. NO_MEMORY. */
static enum berth_code add_others(struct route_work *work, struct berth_err *err)
{
    enum berth_code code =
        work->request.meanwhile_count > 0 ? plan_route_beside(work, err) : BERTH_OK;
    for (int by = MOVE_COPY_ENGINE;
         by <= (work->request.overlap ? MOVE_COPY_ENGINE : MOVE_KERNEL) &&
         work->request.meanwhile_count == 0;
         by++)
        add_around(work, (enum move_by)by);
    bool has_room = work->request.meanwhile_count > 0 || add_split(work);
    size_t taken = 1;
    for (size_t i = 0; i < work->answer->count; i++)
        taken =
            work->answer->option[i].way_count > taken ? work->answer->option[i].way_count : taken;
    if (code == BERTH_OK && has_room && work->request.both)
        has_room = find_left_out(work, taken);
    return code != BERTH_OK || has_room ? code
                                        : err_set(err, BERTH_NO_MEMORY, "no memory for paths");
}

/* The direct ways; where nothing is known of them also others, by links. ret_is_known: whether
 * something is known of one for such a size. */
static void add_direct(struct route_work *work, bool *ret_is_known)
{
    struct route_answer *answer = work->answer;
    struct way way;
    const struct graph *graph = work->snap->graph;
    place_id from = work->ends.from, to = work->ends.to;
    *ret_is_known = false;
    if (graph_place(graph, from)->kind == PLACE_GPU && graph_place(graph, to)->kind == PLACE_GPU &&
        plan_ends_vendors_differ(graph, from, to)) {
        add_between_vendors(work);
        return;
    }
    for (int by = MOVE_COPY_ENGINE; by <= (work->request.overlap ? MOVE_COPY_ENGINE : MOVE_KERNEL);
         by++)
        if (plan_way_direct(&work->ends, (enum move_by)by, &way))
            *ret_is_known = add_option(work, &way, 1, NULL)->is_known || *ret_is_known;
    if (answer->count == 0)
        add_nominal(work);
    else if (!work->request.overlap)
        add_kernel_by_links(work);
}

/* ---- the answer ---- */

static enum berth_code cite(struct route_work *work, struct route_option *option,
                            struct berth_err *err)
{
    struct route_answer *answer = work->answer;
    enum berth_code code = BERTH_OK;
    option->why = answer->evidence.count;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count && code == BERTH_OK; i++)
            code = plan_move_cite(work->snap->graph, &option->way[w].hop[i], &answer->evidence,
                                  option->why, err);
    const struct route_shared shared =
        option->shared != NULL ? plan_route_shared(work->snap, option, work->request.both)
                               : (struct route_shared){.set = NULL};
    if (code == BERTH_OK && shared.set != NULL &&
        !evidence_add_set(&answer->evidence, option->why, shared.set))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    option->why_count = answer->evidence.count - option->why;
    return code;
}

static enum berth_code not_measured(const struct route_work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct place *from = graph_place(graph, work->request.from),
                       *to = graph_place(graph, work->request.to);
    char why[MOVE_WHY_SIZE];
    place_id end[] = {work->request.from, work->request.to};
    /* what is known of a gpu's memory is known by that gpu's name, which the caller may not use */
    for (size_t i = 0; i < 2; i++) {
        place_id gpu = graph_place(graph, end[i])->kind == PLACE_NUMA
                           ? plan_ends_gpu_of(graph, end[i])
                           : PLACE_NONE;
        if (gpu != PLACE_NONE && !allowed_has_gpu(work->request.allowed, gpu))
            return plan_ends_check(work->snap, work->request.allowed, gpu, end[1 - i],
                                   work->request.bytes, err);
    }
    plan_move_why_not(work->snap, work->request.from, work->request.to, why);
    err_text(err, 0,
             metric_info(from->kind == to->kind ? METRIC_GPU_GPU_COPY_ENGINE
                                                : METRIC_HOST_GPU_COPY_ENGINE)
                 ->name);
    err_text(err, 1, from->name);
    err_text(err, 2, to->name);
    return err_set(err, BERTH_NOT_MEASURED,
                   "neither measurements nor links say what a transfer from %s to %s takes%s",
                   from->name, to->name, why);
}

/* What would be faster than the first: what is missing of it, if it is what nobody measured, else
 * what is missing of the first, which rests on less. */
static void note_worth(const struct route_work *work)
{
    struct route_answer *answer = work->answer;
    for (size_t i = 1; i < answer->count; i++) {
        struct route_option *option = &answer->option[i];
        const struct route_option *lacks = option->is_evident ? &answer->option[0] : option;
        if (option->predicted.time_ns < answer->option[0].predicted.time_ns)
            plan_source_command(&work->ends, lacks->way, lacks->way_count, option->worth_measuring);
    }
}

/* Cites each option; the first one last, so that what overlap adds to it stands with it. */
static enum berth_code cite_all(struct route_work *work, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    for (size_t i = work->answer->count; i-- > 0 && code == BERTH_OK;)
        code = cite(work, &work->answer->option[i], err);
    return code;
}

static enum berth_code say_all(struct route_work *work, struct berth_err *err)
{
    const struct route_said said = {work->snap, work->ends.pairs, &work->request, work->answer};
    const place_id ends[] = {work->request.from, work->request.to};
    plan_route_say_warnings(&said);
    plan_doubt_warn(work->snap, ends, 2,
                    TRANSFER_HOST_ENGINE | TRANSFER_HOST_KERNEL | TRANSFER_PEER_ENGINE |
                        TRANSFER_PEER_KERNEL,
                    &work->answer->warnings);
    plan_route_say_reasons(&said);
    return plan_route_say_overlap(&said, err);
}

/* The gpu that a NUMA node is the memory of, or shares it with its cores (MI300A), unless something
 * is known of that NUMA node itself, or the gpu is not allowed. */
static place_id resolved(struct route_work *work, place_id end, place_id other, bool is_known)
{
    const struct graph *graph = work->snap->graph;
    place_id gpu = !is_known && graph_place(graph, end)->kind == PLACE_NUMA
                       ? plan_ends_gpu_of(graph, end)
                       : PLACE_NONE;
    if (graph_place(graph, end)->kind == PLACE_NUMA && gpu_apu_at(graph, end) == other)
        reasons_note(
            &work->answer->warnings,
            "%s is the memory of %s, too, whose kernels reach all of it: the bytes need not move",
            graph_place(graph, end)->name, graph_place(graph, other)->name);
    else if (!is_known && gpu == PLACE_NONE && graph_place(graph, end)->kind == PLACE_NUMA)
        gpu = gpu_apu_at(graph, end);
    if (gpu == PLACE_NONE || !allowed_has_gpu(work->request.allowed, gpu) ||
        !allowed_has_memory(work->request.allowed, end))
        return end;
    reasons_note(&work->answer->reasons,
                 "%s is the memory of %s: what is known of that stands for it",
                 graph_place(graph, end)->name, graph_place(graph, gpu)->name);
    return gpu;
}

static void resolve(struct route_work *work)
{
    place_id from = work->request.from, to = work->request.to;
    const struct plan_pairs *pairs = work->ends.pairs;
    bool is_known = pairs != NULL && (plan_pairs_find(pairs, from, to, MOVE_COPY_ENGINE) != NULL ||
                                      plan_pairs_find(pairs, from, to, MOVE_KERNEL) != NULL);
    work->ends.from = work->request.from = resolved(work, from, to, is_known);
    work->ends.to = work->request.to = resolved(work, to, from, is_known);
}

static enum berth_code fill(struct route_work *work, struct berth_err *err)
{
    const struct route_request *request = &work->request;
    struct route_answer *answer = work->answer;
    enum berth_code code = plan_ends_check(work->snap, request->allowed, request->from, request->to,
                                           request->bytes, err);
    answer->option = code == BERTH_OK ? malloc(ROUTE_OPTIONS_MAX * sizeof *answer->option) : NULL;
    if (code == BERTH_OK && answer->option == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for paths");
    if (code == BERTH_OK)
        code = plan_route_price_meanwhile(work, err);
    if (code != BERTH_OK)
        return code;
    bool is_known;
    add_direct(work, &is_known);
    if (answer->count == 0)
        return not_measured(work, err);
    for (size_t i = 0; code == BERTH_OK && i < answer->count; i++)
        if (request->meanwhile_count > 0 || answer->option[i].is_by_links)
            code = plan_route_price_shared(work, &answer->option[i], err);
    leave_worthy(work);
    if (code == BERTH_OK && is_known)
        code = add_others(work, err);
    plan_route_order(answer);
    note_worth(work);
    if (code == BERTH_OK)
        code = cite_all(work, err);
    if (code == BERTH_OK && request->meanwhile_count == 0)
        plan_route_sizes(&work->ends, answer);
    return code == BERTH_OK ? say_all(work, err) : code;
}

enum berth_code plan_route(const struct snapshot *snap, const struct route_request *request,
                           struct route_answer *ret, struct berth_err *err)
{
    struct route_answer answer = {.b80_bytes = NAN};
    struct route_work work;
    work.snap = snap; /* there is much that need not be anything yet */
    work.request = *request;
    work.answer = &answer;
    work.ends = (struct way_ends){.graph = snap->graph,
                                  .snap = snap,
                                  .pairs = snap->derived.pairs,
                                  .bytes = (double)request->bytes,
                                  .both = request->both,
                                  .allowed = request->allowed};
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
    evidence_done(&answer->evidence);
}
