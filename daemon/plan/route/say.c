#include "plan/route/say.h"
#include "base/quantity.h"
#include "cost/ends.h"
#include "cost/evidence.h"
#include "node/allowed.h"
#include "node/reasons.h"
#include "plan/route/order.h"
#include "plan/route/shared.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_SIZE 160
#define MUCH      0.1 /* of the time: then what starting costs is worth a word */

/* What a copy within one memory counts with (plan_move_is_own). */
static const char *half_of(const struct graph *graph, const struct move *hop)
{
    return hop->most->from == hop->driver
               ? "it counts with half of what that gpu streams in its memory (evidence)"
           : graph_place(graph, hop->most->from)->kind == PLACE_GPU
               ? "it counts with half of what a gpu of the same model streams in its memory "
                 "(evidence)"
               : "it counts with half of what firmware says of that memory (evidence)";
}

/* bytes: of its way; piece: of them at a time. */
static void warn_of_hop(const struct route_said *said, const struct move *hop, double bytes,
                        double piece, bool is_first, bool is_direct)
{
    const struct graph *graph = said->snap->graph;
    struct reasons *warnings = &said->answer->warnings;
    const char *from = graph_place(graph, hop->from)->name, *to = graph_place(graph, hop->to)->name;
    if (hop->rate == NULL) {
        reasons_note(
            warnings, "nothing was measured from %s to %s%s: %s", from, to,
            hop->by == MOVE_KERNEL ? " by kernel" : "",
            plan_move_is_own(hop)       ? half_of(graph, hop)
            : plan_move_is_back(hop)    ? "it counts with what the other direction gets (evidence)"
            : plan_move_is_engines(hop) ? "it counts with what is published of such copy "
                                          "engines (evidence), whatever links are said to carry"
            : plan_move_is_bounded(hop)
                ? "it counts with a bound that is published of such accesses (evidence)"
            : hop->most != NULL ? "it counts with the most that is known at either end "
                                  "(evidence), whatever links are said to carry"
            : hop->reach != NULL
                ? "it counts with what such links reach of what they are said to carry"
                : "the time is what the links are said to allow at best");
        if (plan_move_lacks_start(hop, piece))
            reasons_note(warnings,
                         "what starting a transfer from %s to %s costs was not measured: the time "
                         "of so few bytes is at least this",
                         from, to);
    } else if (!plan_move_knows(hop, piece)) {
        reasons_note(warnings,
                     !is_direct
                         ? "what so few bytes from %s to %s take was not measured: on other paths "
                           "than the direct one they count as taking as long as more that are known"
                         : "what so few bytes from %s to %s take was not measured: the time is at "
                           "least this",
                     from, to);
    } else if (plan_move_is_by_another(hop, bytes, piece) && hop->is_like) {
        reasons_note(warnings,
                     "sizes from %s to %s were not measured: those of another pair that gets the "
                     "same rate stand for them",
                     from, to);
    } else if (plan_move_is_by_another(hop, bytes, piece)) {
        reasons_note(warnings,
                     "what starting a transfer from %s to %s costs was not measured: that of "
                     "another pair stands for it",
                     from, to);
    } else if (isnan(hop->t0_call_ns) && is_first) {
        reasons_note(warnings,
                     "what a call from %s to %s costs its caller was not measured: the time is "
                     "that of a transfer queued already",
                     from, to);
    }
}

/* As many bytes go the other way, which nobody measured. */
static void warn_of_both(const struct route_said *said, const struct move *hop)
{
    const struct graph *graph = said->snap->graph;
    const struct pair *pair = plan_pairs_find(said->pairs, hop->from, hop->to, hop->by);
    const char *from = graph_place(graph, hop->from)->name, *to = graph_place(graph, hop->to)->name;
    double slowdown = pair != NULL ? pair->both.slowdown : hop->slowdown;
    if (pair != NULL && pair->both_is_others)
        reasons_note(&said->answer->warnings,
                     "what both directions get at once was not measured for every path here: those "
                     "count as slowed as others are, at most");
    else if (slowdown > 1.001)
        reasons_note(
            &said->answer->warnings,
            "what both directions between %s and %s %s get at once was not measured: bytes count "
            "as %.2f times as long, as structure has both share what is on the path",
            hop->from < hop->to ? from : to, hop->from < hop->to ? to : from,
            hop->by == MOVE_KERNEL ? "by kernel" : "by copy engine", slowdown);
    else
        reasons_note(&said->answer->warnings,
                     "what both directions get at once was not measured for every path here: where "
                     "structure shows nothing that both share, each counts as alone");
}

/* The quick profile's runs use one buffer for all: on two H100 two ports got 105 GB/s together in
 * 119 buffers and 69 in one. */
static void warn_of_ports(const struct route_option *option, struct reasons *warnings)
{
    size_t with_host = 0;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++)
            with_host += option->way[w].pair[i] != NULL && option->way[w].pair[i]->is_with_host;
    if (with_host > 1)
        reasons_note(warnings,
                     "what several ports get of the host's memory together was measured in one "
                     "place of it, and another place may give less: time a split with the "
                     "buffers that will be used");
}

static void warn_of_option(const struct route_said *said, const struct route_option *option,
                           bool is_first)
{
    const struct graph *graph = said->snap->graph;
    struct reasons *warnings = &said->answer->warnings;
    if (option->is_by_links) {
        reasons_note(
            warnings,
            "other paths than the direct one count with what links are said to carry, starting "
            "nothing: what several transfers cost was not measured, so they do not go first");
        return;
    }
    for (size_t w = 0; w < option->way_count; w++) {
        const struct way *way = &option->way[w];
        double bytes = (double)said->request->bytes;
        for (size_t i = 0; i < way->hop_count; i++) {
            const struct move *hop = &way->hop[i];
            warn_of_hop(said, hop, option->share[w] * bytes,
                        plan_route_answer_piece(option, w, bytes), is_first && w == 0 && i == 0,
                        plan_route_answer_is_direct(option));
            char down[2][PLAN_ENDS_DOWN_SIZE];
            size_t count = plan_ends_down_between(graph, hop->from, hop->to, down);
            for (size_t k = 0; k < count; k++)
                reasons_note(warnings, "%s: %s", down[k],
                             hop->rate != NULL
                                 ? "what was measured may be from before"
                                 : "nothing goes over it, whatever it is said to carry");
            if (said->request->both && hop->both == NULL && hop->both_set == NULL)
                warn_of_both(said, hop);
        }
    }
    if (option->way_count > 1) {
        reasons_note(warnings,
                     "the paths of a split were not measured together: they share what other "
                     "transfers show, and go over no link or port with more than was seen there");
        warn_of_ports(option, warnings);
    }
}

/* The most that copy engines get from a gpu to any other. */
static const struct value *most_by_engine(const struct route_said *said, place_id gpu)
{
    const place_id *memory;
    const struct value *most = NULL;
    size_t count = plan_pairs_memories(said->pairs, &memory);
    for (size_t m = 0; m < count; m++) {
        const struct pair *pair =
            graph_place(said->snap->graph, memory[m])->kind == PLACE_GPU
                ? plan_pairs_find(said->pairs, gpu, memory[m], MOVE_COPY_ENGINE)
                : NULL;
        if (pair != NULL && (most == NULL || pair->move.rate->value > most->value))
            most = pair->move.rate;
    }
    return most;
}

/* What its rate is, where nobody measured or published it. */
static const char *stand_in_of(const struct move *hop)
{
    return hop->rate != NULL           ? ""
           : plan_move_is_back(hop)    ? " by the other direction"
           : plan_move_is_bounded(hop) ? " by a published bound"
           : hop->most != NULL         ? " by the most that is known at either end"
                                       : " by its links";
}

/* Where kernels are not wanted: what that costs, and where copy engines end. A kernel of which only
 * links tell counts, too: it is what such gpus are built for. */
enum berth_code plan_route_say_overlap(const struct route_said *said, struct berth_err *err)
{
    const struct graph *graph = said->snap->graph;
    struct route_answer *answer = said->answer;
    place_id from = said->request->from, to = said->request->to;
    const struct pair *engine =
        said->request->overlap ? plan_pairs_find(said->pairs, from, to, MOVE_COPY_ENGINE) : NULL;
    struct move kernel;
    if (engine == NULL ||
        !plan_pairs_move(said->snap, said->pairs, from, to, MOVE_KERNEL, &kernel) ||
        !(kernel.bytes_per_s > 1.05 * engine->move.bytes_per_s))
        return BERTH_OK;
    bool peers =
        graph_place(graph, from)->kind == PLACE_GPU && graph_place(graph, to)->kind == PLACE_GPU;
    const struct value *most = peers ? most_by_engine(said, from) : engine->move.rate;
    reasons_note(&answer->warnings,
                 "copy engines leave the gpus free and stop at %.1f GB/s from %s%s; a kernel gets "
                 "%.1f GB/s to %s%s, and computes nothing else meanwhile",
                 most->value / 1e9, graph_place(graph, from)->name, peers ? " to any one gpu" : "",
                 kernel.bytes_per_s / 1e9, graph_place(graph, to)->name, stand_in_of(&kernel));
    kernel.call = NULL; /* its rate is what is said */
    enum berth_code code =
        plan_move_cite(graph, &kernel, &answer->evidence, answer->option[0].why, err);
    if (code == BERTH_OK && !evidence_add(&answer->evidence, answer->option[0].why, most))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    answer->option[0].why_count = answer->evidence.count - answer->option[0].why;
    return code;
}

void plan_route_say_warnings(const struct route_said *said)
{
    for (size_t i = 0; i < said->answer->count; i++)
        warn_of_option(said, &said->answer->option[i], i == 0);
    if (!said->request->allowed->given)
        reasons_note(
            &said->answer->warnings,
            "the request does not say where it comes from (allowed): the whole node is meant");
}

/* ---- reasons ---- */

static const char *by_name(const struct move *hop)
{
    return hop->by == MOVE_KERNEL ? "kernel" : "copy engine";
}

/* "kernel", "copy engine via gpu4, gpu6". */
static void name_way(const struct graph *graph, const struct way *way, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", by_name(&way->hop[0]));
    for (size_t i = 1; i < way->hop_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 1 ? " via " : ", ",
                                 graph_place(graph, way->hop[i].from)->name);
}

/* "copy engine + via gpu4 + kernel via gpu2": the mechanism where it is another than that of the
 * way before. */
static void name_option(const struct graph *graph, const struct route_option *option, char *text,
                        size_t size)
{
    size_t used = 0;
    for (size_t w = 0; w < option->way_count && used < size; w++) {
        char one[NAME_SIZE];
        bool is_same = w > 0 && option->way[w].hop_count > 1 &&
                       option->way[w].hop[0].by == option->way[w - 1].hop[0].by;
        name_way(graph, &option->way[w], one, sizeof one);
        used += (size_t)snprintf(text + used, size - used, "%s%s", w > 0 ? " + " : "",
                                 is_same ? strstr(one, "via ") : one);
    }
}

static const char *source_of(const struct move *hop)
{
    return hop->rate != NULL ? value_source_name(hop->rate->source) : "by its links";
}

static const struct move *slowest_hop(const struct way *way)
{
    const struct move *slowest = &way->hop[0];
    for (size_t i = 1; i < way->hop_count; i++) {
        double rate = way->hop[i].bytes_per_s / way->hop[i].slowdown,
               least = slowest->bytes_per_s / slowest->slowdown;
        /* where several are slowed to the same, the one that is slowest alone */
        if (rate < 0.99 * least ||
            (rate < 1.01 * least && way->hop[i].bytes_per_s < slowest->bytes_per_s))
            slowest = &way->hop[i];
    }
    return slowest;
}

/* What a copy within one memory gets half of (plan_move_is_own): "gpu0 streams in its memory
 * (published)". */
static void name_own(const struct graph *graph, const struct move *hop, char *text, size_t size)
{
    const struct place *of = graph_place(graph, hop->most->from);
    bool is_streamed = of->kind == PLACE_GPU;
    snprintf(text, size, "%s%s%s%s (%s)", is_streamed ? "" : "firmware says of ", of->name,
             is_streamed && hop->most->from != hop->driver ? ", of the same model," : "",
             is_streamed ? " streams in its memory" : "", value_source_name(hop->most->source));
}

static void say_way(const struct route_said *said, const struct route_option *option, size_t index)
{
    const struct graph *graph = said->snap->graph;
    const struct way *way = &option->way[index];
    const struct move *hop = slowest_hop(way);
    char name[NAME_SIZE], share[40] = "", own[NAME_SIZE];
    name_way(graph, way, name, sizeof name);
    if (option->way_count > 1)
        snprintf(share, sizeof share, "%.1f %% of the bytes go by ", 100 * option->share[index]);
    if (plan_move_is_own(hop)) {
        name_own(graph, hop, own, sizeof own);
        reasons_note(&said->answer->reasons,
                     "%s: %s to %s counts with %.1f GB/s: half of what %s, which such a copy reads "
                     "and writes",
                     name, graph_place(graph, hop->from)->name, graph_place(graph, hop->to)->name,
                     hop->bytes_per_s / 1e9, own);
    } else if (plan_move_is_bounded(hop))
        reasons_note(&said->answer->reasons,
                     "%s: %s to %s counts with %.1f GB/s, which is published as a bound of what "
                     "kernels of %s get of %s",
                     name, graph_place(graph, hop->from)->name, graph_place(graph, hop->to)->name,
                     hop->bytes_per_s / 1e9, graph_place(graph, hop->most->from)->name,
                     graph_place(graph, hop->most->to)->name);
    else if (hop->most != NULL && hop->most->metric == METRIC_MEMORY_BANDWIDTH)
        reasons_note(&said->answer->reasons,
                     "%s: %s to %s counts with %.1f GB/s: %s %s %s at that (%s), the most that is "
                     "known at either end, whatever links are said to carry",
                     name, graph_place(graph, hop->from)->name, graph_place(graph, hop->to)->name,
                     hop->bytes_per_s / 1e9, graph_place(graph, hop->most->from)->name,
                     *values_axes(said->snap->values, hop->most) == '\0' ? "reads" : "writes",
                     graph_place(graph, hop->most->to)->name, value_source_name(hop->most->source));
    else if (hop->most != NULL)
        reasons_note(
            &said->answer->reasons,
            "%s: %s to %s counts with %.1f GB/s: %s to %s gets that (%s), %s", name,
            graph_place(graph, hop->from)->name, graph_place(graph, hop->to)->name,
            hop->bytes_per_s / 1e9, graph_place(graph, hop->most->from)->name,
            graph_place(graph, hop->most->to)->name, value_source_name(hop->most->source),
            plan_move_is_back(hop)
                ? "the other direction"
                : "the most that is known at either end, whatever links are said to carry");
    else if (plan_move_is_engines(hop))
        reasons_note(&said->answer->reasons,
                     "%s%s: %s to %s counts with %.1f GB/s, where copy engines of %s stop (%s)",
                     share, name, graph_place(graph, hop->from)->name,
                     graph_place(graph, hop->to)->name, hop->bytes_per_s / 1e9, hop->engine->gfx,
                     hop->engine->source);
    else if (hop->stated > 0 && hop->reach != NULL)
        reasons_note(&said->answer->reasons,
                     "%s%s: %s to %s%s counts with %.1f GB/s of the %.1f that its links are said "
                     "to carry, as much as %s reach",
                     share, name, graph_place(graph, hop->from)->name,
                     graph_place(graph, hop->to)->name,
                     way->hop_count > 1 ? ", its slowest hop," : "", hop->bytes_per_s / 1e9,
                     hop->stated / 1e9, hop->reach);
    else
        reasons_note(&said->answer->reasons, "%s%s: %s to %s%s gets %.1f GB/s alone (%s)", share,
                     name, graph_place(graph, hop->from)->name, graph_place(graph, hop->to)->name,
                     way->hop_count > 1 ? ", its slowest hop," : "", hop->bytes_per_s / 1e9,
                     source_of(hop));
}

/* A kernel that fills a gpu keeps the next one waiting. */
static void say_kernels(const struct route_said *said, const struct route_option *option)
{
    const struct graph *graph = said->snap->graph;
    for (size_t w = 0; w < option->way_count; w++)
        for (size_t i = 0; i < option->way[w].hop_count; i++) {
            const struct move *hop = &option->way[w].hop[i];
            bool drives_both =
                said->request->both && (graph_place(graph, hop->from)->kind != PLACE_GPU ||
                                        graph_place(graph, hop->to)->kind != PLACE_GPU);
            size_t kernels = hop->by == MOVE_KERNEL
                                 ? plan_way_kernels(option->way, option->way_count, hop->driver) *
                                       (drives_both ? 2 : 1)
                                 : 0,
                   beside = option->beside[w][i];
            char others[48] = "";
            if (beside > 0)
                snprintf(others, sizeof others, ", %zu of them what moves meanwhile", beside);
            if (kernels + beside > 1)
                reasons_note(
                    &said->answer->reasons,
                    "%zu kernels of %s copy at the same time%s: that many share the blocks that it "
                    "holds, launched with fewer each, or they take turns and it takes longer",
                    kernels + beside, graph_place(graph, hop->driver)->name, others);
        }
}

static void say_starting(const struct route_said *said, const struct route_option *option)
{
    const struct move *hop = &option->way[0].hop[0];
    if (!isnan(hop->t0_call_ns) && hop->t0_call_ns > MUCH * option->predicted.time_ns)
        reasons_note(&said->answer->reasons,
                     "starting it costs its caller %.1f \u00b5s of %.1f \u00b5s",
                     hop->t0_call_ns / 1e3, option->predicted.time_ns / 1e3);
}

/* What keeps it from going first. */
static const char *lack_of(const struct route_option *option)
{
    enum source source = plan_source_of_ways(option->way, option->way_count);
    return source == SOURCE_NOMINAL ? "that is what links are said to carry, and nobody measured it"
           : source == SOURCE_PUBLISHED
               ? plan_route_answer_is_direct(option)
                     ? "that was published, and not measured here"
                     : "its transfers were published, and nobody measured them together"
               : "nobody measured what its transfers get at the same time";
}

/* It is faster, and not the first. */
static void say_passed_over(const struct route_said *said, const struct route_option *option,
                            const char *name)
{
    const struct route_option *best = &said->answer->option[0],
                              *direct = plan_route_order_direct(said->answer);
    double times = option->predicted.time_ns / best->predicted.time_ns;
    if (!option->is_evident && !option->is_by_links && !option->is_guess)
        reasons_note(
            &said->answer->reasons,
            "%s would take %.2f times as long, but %s: it goes behind what is known better", name,
            times, lack_of(option));
    else if (option->is_by_links)
        reasons_note(&said->answer->reasons,
                     "%s would take %s%.2f times as long by what links are said to carry, but what "
                     "several transfers cost was not measured",
                     name, option->is_at_least && !best->is_at_least ? "at least " : "", times);
    else if (option->is_guess)
        reasons_note(&said->answer->reasons,
                     "%s would take %.2f times as long by its links, but nothing was measured or "
                     "published of it, and of the first something was",
                     name, times);
    else if (option->is_known && option->is_clear)
        reasons_note(&said->answer->reasons,
                     "%s is predicted to take %.1f %% less, which is no more than these numbers "
                     "are known to: %s goes first",
                     name, 100 * (1 - times),
                     plan_route_answer_is_direct(option)
                         ? "the copy engine, which leaves the gpus free,"
                         : "one transfer");
    else if (option->is_known)
        reasons_note(
            &said->answer->reasons,
            "%s would take %.2f times as long, but moves %.1f GB/s at most: no more than %.2f "
            "times what one transfer by %s does",
            name, times, plan_split_rate(option->way, option->way_count) / 1e9, 1 / ROUTE_WORTH,
            direct != NULL && direct->way[0].hop[0].by == MOVE_KERNEL ? "kernel" : "copy engine");
    else
        reasons_note(
            &said->answer->reasons,
            "%s would take %.2f times as long, but what so few bytes take there was not measured",
            name, times);
}

/* Why there is no way but the direct one to compare with. */
static void say_no_other(const struct route_said *said)
{
    const struct graph *graph = said->snap->graph;
    const place_id *memory;
    size_t count = plan_pairs_memories(said->pairs, &memory), passed = 0;
    bool is_known = false, is_rated = false;
    for (size_t i = 0; i < said->answer->count; i++) {
        if (!plan_route_answer_is_direct(&said->answer->option[i]))
            return;
        is_known = is_known || said->answer->option[i].is_known;
        is_rated = is_rated || said->answer->option[i].way[0].pair[0] != NULL;
    }
    for (size_t m = 0; m < count; m++) {
        bool is_gpu = graph_place(graph, memory[m])->kind == PLACE_GPU,
             may = is_gpu ? allowed_has_gpu(said->request->allowed, memory[m])
                          : allowed_has_memory(said->request->allowed, memory[m]);
        passed += may && memory[m] != said->request->from && memory[m] != said->request->to &&
                  plan_pairs_passes(said->pairs, memory[m]);
    }
    reasons_note(
        &said->answer->reasons, "no other path has a price: %s",
        plan_ends_are_one(graph, said->request->from, said->request->to)
            ? "both ends are one memory"
        : passed == 0 ? "no other memory that is allowed is between"
        : is_known    ? "nothing was measured or published of what goes through another memory"
        : is_rated
            ? "what so few bytes take was not measured, and nothing could be compared with it"
            : "neither measurements nor links show one that leads elsewhere");
}

/* What slows the first option. */
static void say_shared(const struct route_said *said, const struct route_option *option)
{
    char moved[QUANTITY_SIZE], carried[QUANTITY_SIZE];
    const struct route_shared shared = plan_route_shared(said->snap, option, said->request->both);
    (void)quantity_rate((double)said->request->bytes / option->predicted.time_ns * 1e9, moved);
    if (shared.set != NULL)
        reasons_note(
            &said->answer->reasons,
            "it shares %s, over which %zu transfers got %s together (evidence), and moves %s",
            option->shared, shared.users, quantity_rate(shared.bytes_per_s, carried), moved);
    else if (shared.bytes_per_s > 0)
        reasons_note(&said->answer->reasons,
                     "it shares %s, which counts with the %s that are known of it, and moves %s",
                     option->shared, quantity_rate(shared.bytes_per_s, carried), moved);
    else
        reasons_note(&said->answer->reasons, "it shares %s, and moves %s", option->shared, moved);
}

/* "119.2 GB/s instead of 60.1"; where either is less than 1 GB/s, each in its own unit. */
static void name_rates(double its, double best, char *text, size_t size)
{
    char one[QUANTITY_SIZE], other[QUANTITY_SIZE];
    if (fmin(its, best) >= 1)
        snprintf(text, size, "%.1f GB/s instead of %.1f", its, best);
    else
        snprintf(text, size, "%s instead of %s", quantity_rate(its * 1e9, one),
                 quantity_rate(best * 1e9, other));
}

void plan_route_say_reasons(const struct route_said *said)
{
    const struct graph *graph = said->snap->graph;
    const struct route_option *best = &said->answer->option[0];
    double bytes = (double)said->request->bytes;
    for (size_t w = 0; w < best->way_count; w++)
        say_way(said, best, w);
    say_starting(said, best);
    say_kernels(said, best);
    if (best->shared != NULL)
        say_shared(said, best);
    for (size_t i = 1; i < said->answer->count; i++) {
        const struct route_option *option = &said->answer->option[i];
        char name[NAME_SIZE], rates[2 * QUANTITY_SIZE + 16];
        name_option(graph, option, name, sizeof name);
        name_rates(bytes / option->predicted.time_ns, bytes / best->predicted.time_ns, rates,
                   sizeof rates);
        if (option->predicted.time_ns < best->predicted.time_ns) {
            say_passed_over(said, option, name);
            continue;
        }
        reasons_note(&said->answer->reasons, "%s would take %s%.2f times as long (%s%s)%s", name,
                     option->is_at_least && !best->is_at_least ? "at least " : "",
                     option->predicted.time_ns / best->predicted.time_ns, rates,
                     plan_route_answer_is_measured(option, bytes) ? "" : ", not all measured",
                     best->lacks_start ? ", if starting cost nothing" : "");
    }
    const struct route_left_out *left = &said->answer->left_out;
    if (left->ways > 0 && left->taken > 1)
        reasons_note(
            &said->answer->reasons,
            "in one direction only, %zu paths at once would get %.1f GB/s; what more than %zu get "
            "while as many bytes come back was not measured, or is no more, and the others are "
            "left out",
            left->ways, left->bytes_per_s / 1e9, left->taken);
    else if (left->ways > 0)
        reasons_note(&said->answer->reasons,
                     "in one direction only, %zu paths at once would get %.1f GB/s instead of "
                     "%.1f; what they "
                     "get while as many bytes come back was not measured, and they are left out",
                     left->ways, left->bytes_per_s / 1e9, left->direct_bytes_per_s / 1e9);
    say_no_other(said);
}
