#include "plan_route.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metric.h"
#include "plan_ends.h"
#include "plan_route_say.h"

#define OPTIONS_MAX 12 /* two direct, through the host, by each mechanism through one gpu and through two, a split */
#define LEAST_BYTES 4096.0
#define MOST_BYTES  17179869184.0 /* where crossovers are looked for: 4 KiB to 16 GiB */

struct work {
    struct snapshot *snap;
    const struct route_request *request;
    struct way_ends ends;
    struct route_answer *answer;
    struct move meanwhile[ROUTE_MEANWHILE_MAX];
};

/* ---- the time of one option ---- */

static void price(struct route_option *option, double bytes)
{
    option->predicted = plan_split_time(option->way, option->way_count, bytes, option->share, option->chunk_bytes);
    option->is_known = true;
    for (size_t i = 0; i < option->way_count; i++)
        option->is_known = option->is_known && plan_way_knows(&option->way[i], option->share[i] * bytes);
}

static bool is_direct(const struct route_option *option) { return option->way_count == 1 && option->way[0].hop_count == 1; }

static double time_of(const struct route_option *option, double bytes) { return plan_split_time_ns(option->way, option->way_count, bytes); }

/* ---- which goes first ---- */

static size_t hops_of(const struct route_option *option)
{
    size_t hops = 0;
    for (size_t i = 0; i < option->way_count; i++)
        hops += option->way[i].hop_count;
    return hops;
}

/* Where both directions were not measured together they count as sharing what one of them gets. */
#define UNKNOWN_BOTH 2.0

static double counted_ns(const struct route_option *option) { return option->predicted.time_ns * (option->knows_both ? 1 : UNKNOWN_BOTH); }

/* What is known for this size first, then what is clear, then faster, then fewer hops, then copy engines, which leave the gpus free. */
static bool goes_before(const struct route_option *x, const struct route_option *y)
{
    if (x->is_known != y->is_known)
        return x->is_known;
    if (x->is_clear != y->is_clear)
        return x->is_clear;
    if (counted_ns(x) != counted_ns(y))
        return counted_ns(x) < counted_ns(y);
    if (hops_of(x) != hops_of(y))
        return hops_of(x) < hops_of(y);
    return x->way[0].hop[0].by < y->way[0].hop[0].by;
}

/* ---- candidates ---- */

static struct route_option *add_option(struct work *work, const struct way *ways, size_t count)
{
    struct route_option *option = &work->answer->option[work->answer->count++];
    option->way_count = count;
    option->shared = NULL;
    option->is_clear = false;
    option->knows_both = true;
    memcpy(option->way, ways, count * sizeof *ways);
    for (size_t i = 0; i < count && work->request->both; i++)
        option->knows_both = option->knows_both && plan_way_knows_both(&ways[i]);
    price(option, work->ends.bytes);
    return option;
}

/* Of the direct way nothing is measured or published: what its links are said to carry is all there is to say, and ways around could not be compared with it. */
static void add_nominal(struct work *work)
{
    struct way way = {.hop_count = 1};
    if (plan_move_find(work->snap, work->request->from, work->request->to, MOVE_COPY_ENGINE, &way.hop[0]))
        add_option(work, &way, 1);
}

/* Through other memories by that mechanism. Two gpus between are worth a word only where they are faster than one. */
static void add_around(struct work *work, enum move_by by)
{
    struct way way;
    double limit_ns = INFINITY;
    if (by == MOVE_COPY_ENGINE && plan_way_through(&work->ends, WAY_HOST, by, NULL, 0, INFINITY, &way))
        add_option(work, &way, 1);
    if (plan_way_through(&work->ends, WAY_GPU, by, NULL, 0, INFINITY, &way))
        limit_ns = add_option(work, &way, 1)->predicted.time_ns;
    if (plan_way_through(&work->ends, WAY_TWO_GPUS, by, NULL, 0, limit_ns, &way))
        add_option(work, &way, 1);
}

/* The fastest direct way, which is one of the first count options, with others beside it. */
static void add_split(struct work *work, size_t count)
{
    struct route_answer *answer = work->answer;
    const struct route_option *direct = NULL;
    struct way ways[ROUTE_WAYS_MAX];
    double limit_ns = INFINITY;
    for (size_t i = 0; i < count; i++)
        if (answer->option[i].is_known && (direct == NULL || goes_before(&answer->option[i], direct)))
            direct = &answer->option[i];
    if (direct == NULL)
        return;
    for (size_t i = 0; i < answer->count; i++)
        if (answer->option[i].knows_both == direct->knows_both)
            limit_ns = fmin(limit_ns, SPLIT_WORTH * answer->option[i].predicted.time_ns);
    ways[0] = direct->way[0];
    size_t found = plan_split_find(&work->ends, !work->request->overlap, ways);
    if (found > 1 && plan_split_time_ns(ways, found, work->ends.bytes) < limit_ns)
        add_option(work, ways, found);
}

static void add_options(struct work *work)
{
    struct route_answer *answer = work->answer;
    struct way way;
    bool is_known = false;
    for (int by = MOVE_COPY_ENGINE; by <= (work->request->overlap ? MOVE_COPY_ENGINE : MOVE_KERNEL); by++)
        if (plan_way_direct(&work->ends, (enum move_by)by, &way))
            is_known = add_option(work, &way, 1)->is_known || is_known;
    size_t direct = answer->count;
    if (direct == 0)
        add_nominal(work);
    if (!is_known)
        return;
    add_around(work, MOVE_COPY_ENGINE);
    if (!work->request->overlap)
        add_around(work, MOVE_KERNEL);
    add_split(work, direct);
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

/* Each hop takes as much longer as it does when all begin at once: those of the option itself, and what moves meanwhile. */
static enum berth_code share(struct work *work, struct route_option *option, struct berth_err *err)
{
    const struct route_request *request = work->request;
    struct step_flow flows[STEP_FLOWS_MAX];
    struct move *hop[ROUTE_WAYS_MAX * WAY_HOPS_MAX], alone[ROUTE_WAYS_MAX * WAY_HOPS_MAX];
    size_t own = 0;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++, own++) {
            hop[own] = &option->way[w].hop[i];
            alone[own] = *hop[own];
            flows[own] = (struct step_flow){.move = &alone[own], .bytes = option->share[w] * work->ends.bytes};
        }
    size_t count = own;
    if (own + request->meanwhile_count < 2)
        return BERTH_OK;
    for (size_t i = 0; i < request->meanwhile_count; i++)
        flows[count++] = (struct step_flow){.move = &work->meanwhile[i], .bytes = (double)request->meanwhile[i].bytes};
    enum berth_code code = plan_step(work->snap, flows, count, err);
    double most = 1;
    for (size_t i = 0; code == BERTH_OK && i < own; i++) {
        double slower = flows[i].time.time_ns / plan_move_queued(&alone[i], flows[i].bytes).time_ns;
        hop[i]->slowdown *= fmax(slower, 1);
        if (slower > most && flows[i].shared != NULL) {
            most = slower;
            option->shared = flows[i].shared;
        }
        if (slower > 1.001 && flows[i].is_nominal)
            plan_warn(&work->answer->warnings, "what several transfers get through %s was not measured: they count as sharing what is said of it", flows[i].shared);
    }
    if (most > 1)
        price(option, work->ends.bytes);
    return code;
}

/* ---- in order ---- */

/* Several transfers instead of one, and where intervals meet, are a risk that a small gain is not worth. */
static void find_clear(struct route_answer *answer)
{
    const struct route_option *direct = NULL;
    for (size_t i = 0; i < answer->count; i++)
        if (is_direct(&answer->option[i]) && (direct == NULL || goes_before(&answer->option[i], direct)))
            direct = &answer->option[i];
    for (size_t i = 0; i < answer->count && direct != NULL; i++) {
        struct route_option *option = &answer->option[i];
        const struct prediction *time = &option->predicted, *other = &direct->predicted;
        option->is_clear = option == direct || (!is_direct(option) && counted_ns(option) < ROUTE_WORTH * counted_ns(direct) && !(time->high_ns >= other->low_ns));
    }
}

/* There are few, and they are large: each is moved once at most. */
static void put_in_order(struct route_answer *answer)
{
    for (size_t i = 0; i + 1 < answer->count; i++) {
        size_t first = i;
        for (size_t j = i + 1; j < answer->count; j++)
            if (goes_before(&answer->option[j], &answer->option[first]))
                first = j;
        if (first != i) {
            struct route_option option = answer->option[i];
            answer->option[i] = answer->option[first];
            answer->option[first] = option;
        }
    }
}

/* Whether more is known of each for such a size than a rate of large ones. */
static bool all_known(const struct route_answer *answer, double bytes)
{
    for (size_t i = 0; i < answer->count; i++)
        for (size_t w = 0; w < answer->option[i].way_count; w++)
            if (!plan_way_knows(&answer->option[i].way[w], answer->option[i].share[w] * bytes))
                return false;
    return true;
}

/* How long each option took for fewer bytes: for more it takes as long at least, but for what a rough time is off. What takes several transfers counts as longer, as in the order. */
#define ROUGH 0.95

struct floors {
    double time_ns[OPTIONS_MAX];
};

static size_t fastest(const struct route_answer *answer, double bytes, struct floors *floors)
{
    size_t best = 0;
    double best_ns = INFINITY;
    for (size_t i = 0; i < answer->count; i++) {
        if (ROUGH * floors->time_ns[i] >= best_ns)
            continue;
        double time_ns = time_of(&answer->option[i], bytes) / (is_direct(&answer->option[i]) ? 1 : ROUTE_WORTH) * (answer->option[i].knows_both ? 1 : UNKNOWN_BOTH);
        floors->time_ns[i] = time_ns;
        if (time_ns < best_ns) {
            best = i;
            best_ns = time_ns;
        }
    }
    return best;
}

/* Where the winner changes, to within a hundredth; not where something is known of some only. */
static void find_crossovers(struct route_answer *answer)
{
    struct floors floors;
    double low = LEAST_BYTES;
    for (size_t i = 0; i < answer->count; i++)
        floors.time_ns[i] = 0;
    while (low < MOST_BYTES && !all_known(answer, low))
        low *= 2;
    size_t below = fastest(answer, low, &floors);
    while (low < MOST_BYTES && answer->crossover_count < ROUTE_CROSSOVERS) {
        double high = 2 * low;
        struct floors at_low = floors;
        size_t above = fastest(answer, high, &floors);
        if (above == below) {
            low = high;
            continue;
        }
        double left = low, right = high;
        while (right > left * 1.01) {
            double middle = sqrt(left * right);
            struct floors at_middle = at_low;
            size_t winner = fastest(answer, middle, &at_middle);
            *(winner == below ? &left : &right) = middle;
            above = winner == below ? above : winner;
        }
        answer->crossover[answer->crossover_count++] = (struct route_crossover){(int64_t)right, below, above};
        floors = at_low;
        below = above;
        low = right;
    }
}

/* Where an option that took T0 and then moved its bytes at the highest rate gets 80 % of it is at 4 T0 Wmax; T0 is found anew at each such size until it stays. */
#define B80_STEPS 40

/* The size from which on the option gets 80 % of what it gets for very many bytes; NAN when what starting it costs is not known. */
static double b80(const struct route_option *option)
{
    double top = 0, bytes = LEAST_BYTES;
    for (size_t w = 0; w < option->way_count; w++) {
        top += plan_way_rate(&option->way[w]);
        for (size_t i = 0; i < option->way[w].hop_count; i++)
            if (isnan(option->way[w].hop[i].t0_call_ns))
                return NAN;
    }
    for (int step = 0; step < B80_STEPS; step++) {
        double before = bytes, start_ns = fmax(time_of(option, bytes) - bytes / top * 1e9, 0);
        bytes = 4 * start_ns * 1e-9 * top;
        if (fabs(bytes - before) <= 1e-3 * bytes)
            break;
    }
    return bytes;
}

static enum berth_code cite(struct work *work, struct route_option *option, struct berth_err *err)
{
    struct route_answer *answer = work->answer;
    enum berth_code code = BERTH_OK;
    option->why = answer->evidence.count;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count && code == BERTH_OK; i++)
            code = plan_move_cite(&option->way[w].hop[i], &answer->evidence, option->why, err);
    option->why_count = answer->evidence.count - option->why;
    return code;
}

/* ---- the answer ---- */

static enum berth_code not_measured(const struct work *work, struct berth_err *err)
{
    const struct graph *graph = work->snap->graph;
    const struct place *from = graph_place(graph, work->request->from), *to = graph_place(graph, work->request->to);
    err_text(err, 0, metric_info(from->kind == to->kind ? METRIC_GPU_GPU_COPY_ENGINE : METRIC_HOST_GPU_COPY_ENGINE)->name);
    err_text(err, 1, from->name);
    err_text(err, 2, to->name);
    return err_set(err, BERTH_NOT_MEASURED, "neither measurements nor links say what a transfer from %s to %s takes", from->name, to->name);
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
    const struct route_said said = {work->snap, work->ends.pairs, work->request, work->answer};
    plan_route_say_warnings(&said);
    plan_route_say_reasons(&said);
    return plan_route_say_overlap(&said, err);
}

static enum berth_code fill(struct work *work, struct berth_err *err)
{
    const struct route_request *request = work->request;
    struct route_answer *answer = work->answer;
    enum berth_code code = plan_ends_check(work->snap, request->allowed, request->from, request->to, request->bytes, err);
    answer->option = code == BERTH_OK ? malloc(OPTIONS_MAX * sizeof *answer->option) : NULL;
    if (code == BERTH_OK && (work->ends.pairs == NULL || answer->option == NULL))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for what is known of transfers");
    if (code == BERTH_OK)
        code = plan_move_prepare(work->snap, err);
    if (code == BERTH_OK)
        code = find_meanwhile(work, err);
    if (code != BERTH_OK)
        return code;
    add_options(work);
    if (answer->count == 0)
        return not_measured(work, err);
    for (size_t i = 0; code == BERTH_OK && i < answer->count; i++)
        code = share(work, &answer->option[i], err);
    find_clear(answer);
    put_in_order(answer);
    if (code == BERTH_OK)
        code = cite_all(work, err);
    if (code == BERTH_OK && request->meanwhile_count == 0) {
        find_crossovers(answer);
        answer->b80_bytes = b80(&answer->option[0]);
    }
    return code == BERTH_OK ? say_all(work, err) : code;
}

enum berth_code plan_route(struct snapshot *snap, const struct route_request *request, struct route_answer *ret, struct berth_err *err)
{
    struct route_answer answer = {.b80_bytes = NAN};
    struct work work;
    work.snap = snap; /* there is much that need not be anything yet */
    work.request = request;
    work.answer = &answer;
    work.ends = (struct way_ends){.graph = snap->graph, .pairs = plan_pairs_of(snap), .from = request->from, .to = request->to, .bytes = (double)request->bytes,
                                  .both = request->both, .allowed = request->allowed};
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
