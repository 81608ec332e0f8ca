#include "plan_route.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "metric.h"

#define LEAST_BYTES 4096.0
#define MOST_BYTES  17179869184.0 /* where crossovers are looked for: 4 KiB to 16 GiB */

struct work {
    struct snapshot *snap;
    const struct route_request *request;
    struct route_answer answer;
    size_t room;
    struct move meanwhile[ROUTE_MEANWHILE_MAX];
};

/* ---- the time of one option ---- */

/* Only pieces of sizes of which something is known. They follow each other: the first goes all the way, each further one adds what the slowest hop takes for it. */
static struct prediction pipelined(const struct route_option *option, double bytes, double chunk)
{
    struct prediction first = plan_move_called(&option->hop[0], fmin(chunk, bytes));
    struct prediction slowest = {0, 0, 0};
    for (size_t i = 0; i < option->hop_count; i++) {
        struct prediction one = plan_move_queued(&option->hop[i], fmin(chunk, bytes));
        if (i > 0)
            first = (struct prediction){first.time_ns + one.time_ns, first.low_ns + one.low_ns, first.high_ns + one.high_ns};
        if (one.time_ns > slowest.time_ns)
            slowest = one;
    }
    double more = ceil(bytes / chunk) - 1;
    return (struct prediction){first.time_ns + more * slowest.time_ns, first.low_ns + more * slowest.low_ns, first.high_ns + more * slowest.high_ns};
}

struct prediction plan_route_time(const struct route_option *option, double bytes, double *ret_chunk)
{
    double best_chunk = 0;
    struct prediction best;
    if (option->hop_count == 1) {
        best = plan_move_called(&option->hop[0], bytes);
    } else {
        best = pipelined(option, bytes, bytes);
        for (int64_t piece = ROUTE_CHUNK_LEAST; (double)piece < bytes; piece *= 2) {
            double chunk = (double)piece;
            if (!plan_move_knows(&option->hop[0], chunk) || !plan_move_knows(&option->hop[1], chunk))
                continue;
            struct prediction time = pipelined(option, bytes, chunk);
            if (time.time_ns < best.time_ns) {
                best = time;
                best_chunk = chunk;
            }
        }
    }
    if (ret_chunk != NULL)
        *ret_chunk = best_chunk;
    return best;
}

/* Whether more is known for such a size than a rate of large ones, which would count starting as nothing. */
static bool is_known(const struct route_option *option, double bytes)
{
    for (size_t i = 0; i < option->hop_count; i++)
        if (!plan_move_knows(&option->hop[i], bytes))
            return false;
    return true;
}

/* ---- candidates ---- */

static enum berth_code add_option(struct work *work, struct route_option *option, struct berth_err *err)
{
    struct route_answer *answer = &work->answer;
    for (size_t i = 0; i < option->hop_count && work->request->both; i++)
        option->unknown_both |= !plan_move_both(work->snap, &option->hop[i]);
    if (answer->count == work->room) {
        size_t room = 2 * work->room + 8;
        struct route_option *item = realloc(answer->option, room * sizeof *item);
        if (item == NULL)
            return err_set(err, BERTH_NO_MEMORY, "no memory for routes");
        answer->option = item;
        work->room = room;
    }
    struct route_option *added = &answer->option[answer->count++];
    *added = *option;
    added->predicted = plan_route_time(option, (double)work->request->bytes, &added->chunk_bytes);
    added->is_known = is_known(option, (double)work->request->bytes);
    return BERTH_OK;
}

static enum berth_code add_direct(struct work *work, enum move_by by, bool known, struct berth_err *err)
{
    struct route_option option = {.hop_count = 1};
    if (!plan_move_find(work->snap, work->request->from, work->request->to, by, &option.hop[0]) || (option.hop[0].rate != NULL) != known)
        return BERTH_OK;
    return add_option(work, &option, err);
}

/* Through one other memory. A hop of which nothing is known for such a size is left out: what links are said to carry, or starting for nothing, would win against what
 * was measured. */
static bool find_via(struct work *work, place_id via, enum move_by by, struct route_option *ret)
{
    const struct route_request *request = work->request;
    struct route_option option = {.hop_count = 2};
    if (via == request->from || via == request->to || !plan_move_find(work->snap, request->from, via, by, &option.hop[0]) ||
        !plan_move_find(work->snap, via, request->to, by, &option.hop[1]))
        return false;
    if (option.hop[0].rate == NULL || option.hop[1].rate == NULL || !is_known(&option, (double)request->bytes))
        return false;
    *ret = option;
    return true;
}

/* The best way through a place of that kind; the lowest number of equals. */
static enum berth_code add_best_via(struct work *work, enum place_kind kind, enum move_by by, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct allowed *allowed = work->request->allowed;
    struct route_option best = {0};
    double best_ns = INFINITY;
    for (place_id via = graph_next(graph, kind, 0); via != PLACE_NONE; via = graph_next(graph, kind, via + 1)) {
        struct route_option option;
        bool may = kind == PLACE_GPU ? plan_allows_gpu(allowed, via) : plan_allows_memory(allowed, via);
        if (!may || !find_via(work, via, by, &option))
            continue;
        double time_ns = plan_route_time(&option, (double)work->request->bytes, NULL).time_ns;
        if (time_ns < best_ns) {
            best_ns = time_ns;
            best = option;
        }
    }
    return best.hop_count > 0 ? add_option(work, &best, err) : BERTH_OK;
}

/* Where nothing is known of the direct way, what its links are said to carry is all there is to say: ways around could not be compared with it. */
static enum berth_code add_options(struct work *work, struct berth_err *err)
{
    bool overlap = work->request->overlap;
    enum berth_code code = add_direct(work, MOVE_COPY_ENGINE, true, err);
    if (code == BERTH_OK && !overlap)
        code = add_direct(work, MOVE_KERNEL, true, err);
    if (code == BERTH_OK && work->answer.count == 0)
        return add_direct(work, MOVE_COPY_ENGINE, false, err);
    if (code == BERTH_OK)
        code = add_best_via(work, PLACE_NUMA, MOVE_COPY_ENGINE, err);
    if (code == BERTH_OK)
        code = add_best_via(work, PLACE_GPU, MOVE_COPY_ENGINE, err);
    if (code == BERTH_OK && !overlap)
        code = add_best_via(work, PLACE_GPU, MOVE_KERNEL, err);
    return code;
}

/* ---- what moves meanwhile ---- */

static enum berth_code find_meanwhile(struct work *work, struct berth_err *err)
{
    const struct route_request *request = work->request;
    const struct graph *graph = work->snap->graph;
    if (request->meanwhile_count > ROUTE_MEANWHILE_MAX)
        return err_invalid(err, "meanwhile", "at most %d transfers are weighed", ROUTE_MEANWHILE_MAX);
    for (size_t i = 0; i < request->meanwhile_count; i++) {
        const struct route_transfer *other = &request->meanwhile[i];
        struct move *move = &work->meanwhile[i], kernel;
        bool engine = plan_move_find(work->snap, other->from, other->to, MOVE_COPY_ENGINE, move);
        bool by_kernel = plan_move_find(work->snap, other->from, other->to, MOVE_KERNEL, &kernel);
        if (!engine && !by_kernel)
            return err_invalid(err, "meanwhile", "nothing is known of a transfer from %s to %s", graph_place(graph, other->from)->name, graph_place(graph, other->to)->name);
        double bytes = (double)other->bytes;
        if (by_kernel && kernel.rate != NULL && (!engine || plan_move_queued(&kernel, bytes).time_ns < plan_move_queued(move, bytes).time_ns))
            *move = kernel;
    }
    return BERTH_OK;
}

/* Each hop takes as much longer as it does when all begin at once. */
static enum berth_code share(struct work *work, struct route_option *option, struct berth_err *err)
{
    const struct route_request *request = work->request;
    struct step_flow flows[STEP_FLOWS_MAX] = {0};
    struct move hops[ROUTE_HOPS_MAX];
    size_t count = 0;
    for (; count < option->hop_count; count++) {
        hops[count] = option->hop[count];
        flows[count] = (struct step_flow){.move = &hops[count], .bytes = (double)request->bytes};
    }
    for (size_t i = 0; i < request->meanwhile_count; i++)
        flows[count++] = (struct step_flow){.move = &work->meanwhile[i], .bytes = (double)request->meanwhile[i].bytes};
    enum berth_code code = plan_step(work->snap, flows, count, err);
    double most = 1;
    for (size_t i = 0; code == BERTH_OK && i < option->hop_count; i++) {
        double slower = flows[i].time.time_ns / plan_move_queued(&option->hop[i], flows[i].bytes).time_ns;
        option->hop[i].slowdown *= fmax(slower, 1);
        if (slower > most && flows[i].shared != NULL) {
            most = slower;
            option->shared = flows[i].shared;
        }
    }
    if (code == BERTH_OK)
        option->predicted = plan_route_time(option, (double)request->bytes, &option->chunk_bytes);
    return code;
}

/* ---- the answer ---- */

/* What is known for this size first, then faster, then fewer hops, then copy engines, which leave the gpus free. */
static int compare(const void *a, const void *b)
{
    const struct route_option *x = a, *y = b;
    if (x->is_known != y->is_known)
        return x->is_known ? -1 : 1;
    if (x->predicted.time_ns != y->predicted.time_ns)
        return x->predicted.time_ns < y->predicted.time_ns ? -1 : 1;
    int order = (x->hop_count > y->hop_count) - (x->hop_count < y->hop_count);
    return order != 0 ? order : (int)x->hop[0].by - (int)y->hop[0].by;
}

/* Of those that are known for such a size, if any is. */
static size_t fastest(const struct route_answer *answer, double bytes)
{
    size_t best = 0;
    double best_ns = INFINITY;
    bool best_known = false;
    for (size_t i = 0; i < answer->count; i++) {
        bool known = is_known(&answer->option[i], bytes);
        double time_ns = plan_route_time(&answer->option[i], bytes, NULL).time_ns;
        if (known < best_known || (known == best_known && time_ns >= best_ns))
            continue;
        best = i;
        best_ns = time_ns;
        best_known = known;
    }
    return best;
}

/* Where the winner changes, to within a hundredth. */
static void find_crossovers(struct route_answer *answer)
{
    double low = LEAST_BYTES;
    size_t below = fastest(answer, low);
    while (low < MOST_BYTES && answer->crossover_count < ROUTE_CROSSOVERS) {
        double high = 2 * low;
        size_t above = fastest(answer, high);
        if (above == below) {
            low = high;
            continue;
        }
        double left = low, right = high;
        while (right > left * 1.01) {
            double middle = sqrt(left * right);
            size_t winner = fastest(answer, middle);
            *(winner == below ? &left : &right) = middle;
            above = winner == below ? above : winner;
        }
        answer->crossover[answer->crossover_count++] = (struct route_crossover){(int64_t)right, below, above};
        below = above;
        low = right;
    }
}

/* The least size at which the option gets 80 % of what it gets for very many bytes; NAN when what starting it costs is not known. */
static double b80(const struct route_option *option)
{
    double top = 0, low = 1, high = 1e13;
    for (size_t i = 0; i < option->hop_count; i++) {
        const struct move *hop = &option->hop[i];
        if (isnan(hop->t0_call_ns))
            return NAN;
        double rate = hop->curve != NULL ? curve_wmax_bytes_per_s(hop->curve) : hop->bytes_per_s;
        top = i == 0 ? rate : fmin(top, rate);
    }
    while (high > low * 1.001) {
        double middle = sqrt(low * high);
        bool enough = middle / plan_route_time(option, middle, NULL).time_ns * 1e9 >= 0.8 * top;
        *(enough ? &high : &low) = middle;
    }
    return high;
}

static enum berth_code cite(struct work *work, struct route_option *option, struct berth_err *err)
{
    struct route_answer *answer = &work->answer;
    enum berth_code code = BERTH_OK;
    option->why = answer->evidence.count;
    for (size_t i = 0; i < option->hop_count && code == BERTH_OK; i++)
        code = plan_move_cite(work->snap, &option->hop[i], &answer->evidence, option->why, err);
    option->why_count = answer->evidence.count - option->why;
    return code;
}

static void warn(struct work *work)
{
    const struct graph *graph = work->snap->graph;
    struct route_answer *answer = &work->answer;
    for (size_t i = 0; i < answer->count; i++) {
        const struct route_option *option = &answer->option[i];
        for (size_t j = 0; j < option->hop_count; j++) {
            const struct move *hop = &option->hop[j];
            const char *from = graph_place(graph, hop->from)->name, *to = graph_place(graph, hop->to)->name;
            if (hop->rate == NULL)
                plan_warn(&answer->warnings, "nothing was measured from %s to %s: the time is what the links are said to allow at best", from, to);
            else if (!plan_move_knows(hop, option->chunk_bytes > 0 ? option->chunk_bytes : (double)work->request->bytes))
                plan_warn(&answer->warnings, "what so few bytes from %s to %s take was not measured: the time is at least this", from, to);
            else if (isnan(hop->t0_call_ns) && i == 0 && j == 0)
                plan_warn(&answer->warnings, "what a call from %s to %s costs its caller was not measured: the time is that of a transfer queued already", from, to);
        }
    }
    for (size_t i = 0; i < answer->count; i++)
        if (answer->option[i].unknown_both)
            plan_warn(&answer->warnings, "what both directions get at once was not measured for every way here: those count as if neither disturbed the other");
    if (!work->request->allowed->given)
        plan_warn(&answer->warnings, "the request does not say where it comes from (allowed): the whole node is meant");
}

static enum berth_code check(const struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct route_request *request = work->request;
    const place_id ends[] = {request->from, request->to};
    static const char *const names[] = {"from", "to"};
    bool any_gpu = false;
    for (int i = 0; i < 2; i++) {
        const struct place *place = graph_place(graph, ends[i]);
        if (place->kind != PLACE_NUMA && place->kind != PLACE_GPU)
            return err_invalid(err, names[i], "%s is no memory: a gpu or a NUMA node is", place->name);
        if (place->kind == PLACE_GPU && !plan_allows_gpu(request->allowed, ends[i]))
            return err_set(err, BERTH_NOTHING_ALLOWED, "%s is not among the gpus that are allowed", place->name);
        any_gpu |= place->kind == PLACE_GPU;
    }
    if (request->from == request->to)
        return err_invalid(err, "to", "the bytes are in %s already", graph_place(graph, request->to)->name);
    if (!any_gpu)
        return err_invalid(err, "to", "between two NUMA nodes cores copy, of which nothing is measured: one end is a gpu");
    if (request->bytes < 1)
        return err_invalid(err, "bytes", "a transfer has at least one");
    return BERTH_OK;
}

static enum berth_code fill(struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    struct route_answer *answer = &work->answer;
    enum berth_code code = check(work, err);
    if (code == BERTH_OK)
        code = add_options(work, err);
    if (code == BERTH_OK)
        code = find_meanwhile(work, err);
    for (size_t i = 0; code == BERTH_OK && i < answer->count && work->request->meanwhile_count > 0; i++)
        code = share(work, &answer->option[i], err);
    if (code == BERTH_OK && answer->count == 0) {
        bool peers = graph_place(graph, work->request->from)->kind == graph_place(graph, work->request->to)->kind;
        err_text(err, 0, metric_info(peers ? METRIC_GPU_GPU_COPY_ENGINE : METRIC_HOST_GPU_COPY_ENGINE)->name);
        err_text(err, 1, graph_place(graph, work->request->from)->name);
        err_text(err, 2, graph_place(graph, work->request->to)->name);
        code = err_set(err, BERTH_NOT_MEASURED, "neither measurements nor links say what a transfer from %s to %s takes",
                       graph_place(graph, work->request->from)->name, graph_place(graph, work->request->to)->name);
    }
    if (code != BERTH_OK)
        return code;
    if (answer->count > 1)
        qsort(answer->option, answer->count, sizeof *answer->option, compare);
    for (size_t i = 0; i < answer->count && code == BERTH_OK; i++)
        code = cite(work, &answer->option[i], err);
    answer->b80_bytes = NAN;
    if (work->request->meanwhile_count == 0) {
        find_crossovers(answer);
        answer->b80_bytes = b80(&answer->option[0]);
    }
    warn(work);
    return code;
}

enum berth_code plan_route(struct snapshot *snap, const struct route_request *request, struct route_answer *ret, struct berth_err *err)
{
    struct work work = {.snap = snap, .request = request};
    enum berth_code code = fill(&work, err);
    if (code == BERTH_OK)
        *ret = work.answer;
    else
        plan_route_done(&work.answer);
    return code;
}

void plan_route_done(struct route_answer *answer)
{
    free(answer->option);
    plan_evidence_done(&answer->evidence);
    answer->option = NULL;
    answer->count = 0;
}
