#include "plan/bind/mechanism.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cost/pairs.h"
#include "cost/policy.h"
#include "node/reasons.h"

#define NAMED 3 /* transfers, when only some go by kernel */

/* Transfers between gpus, or with the host. */
struct sort {
    size_t count[2]; /* by mechanism */
    const struct move *kernel[NAMED];
};

static bool is_between_gpus(const struct graph *graph, const struct move *move)
{
    return graph_place(graph, move->from)->kind == PLACE_GPU &&
           graph_place(graph, move->to)->kind == PLACE_GPU;
}

/* With a nic no gpu copies. */
static bool is_copy(const struct graph *graph, const struct move *move)
{
    return move != NULL && graph_place(graph, move->from)->kind != PLACE_NIC &&
           graph_place(graph, move->to)->kind != PLACE_NIC;
}

static void count_one(struct sort *sort, const struct move *move)
{
    size_t by = move->by == MOVE_KERNEL;
    if (by == 1 && sort->count[1] < NAMED)
        sort->kernel[sort->count[1]] = move;
    sort->count[by]++;
}

/* ---- the environment ---- */

/* The moves of each task, one task's after the other's: a transfer is made by the process at either
 * end of it, so it stands with both. */
struct mine {
    const struct move **move;
    size_t *begin; /* by task, and one more */
};

static bool find_mine(const struct bind_price *price, const struct graph *graph, size_t tasks,
                      struct mine *mine)
{
    size_t rides = plan_bind_price_ride_count(price);
    mine->move = calloc(2 * rides + 1, sizeof *mine->move);
    mine->begin = calloc(tasks + 2, sizeof *mine->begin);
    if (mine->move == NULL || mine->begin == NULL)
        return false;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t f = 0; f < rides; f++) {
            struct bind_ride ride = plan_bind_price_ride(price, f);
            for (size_t end = 0; end < 2 && is_copy(graph, ride.move); end++) {
                size_t task = end == 0 ? ride.task : ride.other;
                if (task == BIND_NO_TASK)
                    continue;
                /* Counted two behind, then filled one behind: in the end each begins where it
                 * should. */
                if (pass == 0)
                    mine->begin[task + 2]++;
                else
                    mine->move[mine->begin[task + 1]++] = ride.move;
            }
        }
        for (size_t t = 0; pass == 0 && t < tasks; t++)
            mine->begin[t + 2] += mine->begin[t + 1];
    }
    return true;
}

static bool set_variables(const struct bind_price *price, const struct snapshot *snap,
                          struct bind_answer *answer)
{
    struct mine mine = {0};
    bool ok = find_mine(price, snap->graph, answer->task_count, &mine);
    for (size_t t = 0; ok && t < answer->task_count; t++) {
        answer->task[t].variables =
            runtime_variables_of(snap->graph, snap->values, mine.move + mine.begin[t],
                                 mine.begin[t + 1] - mine.begin[t]);
    }
    free(mine.move);
    free(mine.begin);
    return ok;
}

/* ---- the sentence ---- */

/* What makes the runtime copy so, "" nothing does. */
static const char *variable_of(const struct bind_answer *answer, const char *name)
{
    for (size_t t = 0; t < answer->task_count; t++)
        for (size_t i = 0; i < answer->task[t].variables.count; i++)
            if (strcmp(answer->task[t].variables.variable[i].name, name) == 0 &&
                strcmp(answer->task[t].variables.variable[i].value, "0") == 0)
                return name;
    return "";
}

static void say_some(const struct graph *graph, const struct sort *sort, const char *what,
                     struct bind_answer *answer)
{
    char names[120] = "";
    size_t used = 0;
    for (size_t i = 0; i < NAMED && i < sort->count[1] && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s to %s", i > 0 ? ", " : "",
                                 graph_place(graph, sort->kernel[i]->from)->name,
                                 graph_place(graph, sort->kernel[i]->to)->name);
    char more[40] = "";
    if (sort->count[1] > NAMED)
        snprintf(more, sizeof more, " and %zu more", sort->count[1] - NAMED);
    reasons_note(&answer->reasons,
                 "%s: %s%s by kernels of the program's own, the other %zu by copy engine", what,
                 names, more, sort->count[0]);
}

static void say_how(const struct graph *graph, const struct sort *sort, bool peers,
                    const char *instead, struct bind_answer *answer)
{
    const char *what = peers ? "copies between gpus" : "copies with the host";
    if (sort->count[0] > 0 && sort->count[1] > 0) {
        say_some(graph, sort, what, answer);
    } else if (sort->count[0] > 0) {
        reasons_note(&answer->reasons, "%s go by copy engine%s", what, instead);
    } else if (sort->count[1] > 0) {
        const char *name = variable_of(answer, "HSA_ENABLE_SDMA");
        if (peers && *name == '\0')
            name = variable_of(answer, "HSA_ENABLE_PEER_SDMA");
        reasons_note(&answer->reasons, "%s go by kernel: %s%s%s", what,
                     *name != '\0' ? name : "the program's own, no copy of the runtime's",
                     *name != '\0' ? "=0 in the tasks' environment has the runtime do so" : "",
                     instead);
    }
}

/* "; by kernel an iteration takes 671 us", when it differs. */
static void say_other(const struct bind_by *by, const struct sort *peers, double step_ns,
                      char *text, size_t size)
{
    enum load_by other = peers->count[1] == 0 ? LOAD_KERNEL : LOAD_COPY_ENGINE;
    double other_ns = by[other].time_ns;
    char time[QUANTITY_SIZE];
    text[0] = '\0';
    if (!isnan(other_ns) && fabs(other_ns - step_ns) > POLICY_SAME * step_ns &&
        (peers->count[0] == 0 || peers->count[1] == 0))
        snprintf(text, size, "; by %s an iteration takes %s%s%s",
                 other == LOAD_KERNEL ? "kernel" : "copy engine",
                 by[other].is_least ? "at least " : "", quantity_time(other_ns, time),
                 by[other].is_measured ? "" : " (not all measured)");
}

/* Why kernels and not copy engines, where links are said to carry the same for both. */
static void say_engines(const struct snapshot *snap, const struct sort *peers,
                        struct bind_answer *answer)
{
    const struct move *kernel = peers->count[1] > 0 ? peers->kernel[0] : NULL;
    const struct plan_pairs *pairs = snap->derived.pairs;
    struct move engine;
    if (kernel == NULL || kernel->rate != NULL ||
        !plan_pairs_move(snap, pairs, kernel->from, kernel->to, MOVE_COPY_ENGINE, &engine) ||
        engine.rate != NULL || engine.engine == NULL)
        return;
    if (engine.engine->gfx != NULL)
        reasons_note(&answer->reasons,
                     "copy engines of %s stop at %.4g GB/s, kernels do not (published: %s)",
                     engine.engine->gfx, engine.engine->bytes_per_s / 1e9, engine.engine->source);
    else
        reasons_note(&answer->reasons,
                     "by links alone kernels and copy engines take as long: kernels go first, "
                     "because the engines of another model of AMD's (gfx90a) are known not to fill "
                     "such links, and of these nothing is known");
}

/* A kernel that fills a gpu keeps the next one waiting, and both together take twice what is
 * predicted. */
static bool say_kernels(const struct bind_price *price, const struct graph *graph,
                        struct bind_answer *answer)
{
    size_t *kernels = calloc(graph->place_count + 1, sizeof *kernels), gpus = 0;
    place_id most = 0;
    if (kernels == NULL)
        return false;
    for (size_t f = 0; f < plan_bind_price_ride_count(price); f++) {
        struct bind_ride ride = plan_bind_price_ride(price, f);
        if (!is_copy(graph, ride.move) || ride.move->by != MOVE_KERNEL || ride.is_behind)
            continue;
        gpus += ++kernels[ride.move->driver] == 2;
        most = kernels[ride.move->driver] > kernels[most] ? ride.move->driver : most;
    }
    char more[48] = "";
    if (gpus > 1)
        snprintf(more, sizeof more, " (%zu gpus have several)", gpus);
    if (gpus > 0)
        reasons_note(
            &answer->reasons,
            "%zu kernels of %s%s copy at the same time: that many share the blocks that it holds, "
            "launched with fewer each, or they take turns and the iteration is longer",
            kernels[most], graph_place(graph, most)->name, more);
    free(kernels);
    return true;
}

/* Whether one gpu's engine makes two such copies. */
static bool are_engines_own(const struct snapshot *snap, const struct bind_ride *a,
                            const struct bind_ride *b)
{
    return a->other != BIND_NO_TASK && b->other != BIND_NO_TASK && is_copy(snap->graph, a->move) &&
           is_copy(snap->graph, b->move) && a->move->by == MOVE_COPY_ENGINE &&
           b->move->by == MOVE_COPY_ENGINE && a->move->driver == b->move->driver &&
           (a->move->from != b->move->from || a->move->to != b->move->to);
}

/* Whether a set shows what copies by one gpu's engines to several at once do. */
static bool knows_apart(const struct snapshot *snap)
{
    for (size_t i = 0; snap->sets != NULL && i < snap->sets->count; i++) {
        const struct set *set = &snap->sets->item[i];
        for (size_t f = 1; set->metric == METRIC_GPU_GPU_COPY_ENGINE && f < set->flow_count; f++)
            if (set->flow[f].from == set->flow[f - 1].from &&
                set->flow[f].to != set->flow[f - 1].to)
                return true;
    }
    return false;
}

/* Copies that one gpu drives over the same lane go one after the other, in the order in which they
 * are begun: so it was seen on gpus with one port to the others. Where each task copies to every
 * other by engine that order decides; where they have lanes of their own the copies are priced as
 * going at once. False without memory. */
static bool find_order(const struct bind_price *price, const struct snapshot *snap, size_t tasks,
                       bool *ret_meet, bool *ret_apart)
{
    size_t *copies = calloc(tasks + 1, sizeof *copies), all = 0,
           flows = plan_bind_price_ride_count(price);
    const struct plan_pairs *pairs = snap->derived.pairs;
    *ret_meet = *ret_apart = false;
    for (size_t f = 0; copies != NULL && f < flows; f++) {
        struct bind_ride ride = plan_bind_price_ride(price, f);
        if (ride.other != BIND_NO_TASK && is_copy(snap->graph, ride.move) &&
            ride.move->by == MOVE_COPY_ENGINE)
            all += ++copies[ride.task] == tasks - 1;
    }
    for (size_t f = 0; tasks > 2 && all == tasks && f < flows && !(*ret_meet && *ret_apart); f++)
        for (size_t other = f + 1; other < flows; other++) {
            struct bind_ride a = plan_bind_price_ride(price, f),
                             b = plan_bind_price_ride(price, other);
            if (!are_engines_own(snap, &a, &b))
                continue;
            bool meet = plan_lanes_meet(plan_pairs_lanes(pairs, a.move->from, a.move->to),
                                        plan_pairs_lanes(pairs, b.move->from, b.move->to));
            *ret_meet |= meet;
            *ret_apart |= !meet;
        }
    bool ok = copies != NULL;
    free(copies);
    return ok;
}

static bool say_order(const struct bind_price *price, const struct snapshot *snap,
                      struct bind_answer *answer)
{
    bool meet, apart;
    if (!find_order(price, snap, answer->task_count, &meet, &apart))
        return false;
    if (meet && !apart && plan_bind_price_is_round(price))
        reasons_note(
            &answer->reasons,
            "copies of one gpu go one after the other: task t begins with that to t+1, "
            "then to t+2, and so on round; if all begin with the same task's, the iteration is "
            "up to twice as long");
    if (apart && !knows_apart(snap))
        reasons_note(&answer->warnings,
                     "what copies by one gpu's engines to several gpus at once do to each other "
                     "was not measured: they count as sharing links and nothing else");
    return true;
}

enum berth_code plan_bind_mechanism(const struct bind_price *price, const struct bind_by *by,
                                    const struct snapshot *snap, struct bind_answer *answer,
                                    struct berth_err *err)
{
    size_t rides = plan_bind_price_ride_count(price);
    struct sort peers = {0}, host = {0};
    char other[96];
    if (!set_variables(price, snap, answer))
        return err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
    for (size_t f = 0; f < rides; f++) {
        struct bind_ride ride = plan_bind_price_ride(price, f);
        if (is_copy(snap->graph, ride.move))
            count_one(is_between_gpus(snap->graph, ride.move) ? &peers : &host, ride.move);
    }
    say_other(by, &peers, answer->predicted.time_ns, other, sizeof other);
    if (peers.count[0] > 0 && host.count[0] > 0 && peers.count[1] + host.count[1] == 0) {
        reasons_note(&answer->reasons, "copies between gpus and with the host go by copy engine%s",
                     other);
    } else {
        say_how(snap->graph, &peers, true, other, answer);
        say_how(snap->graph, &host, false, "", answer);
    }
    say_engines(snap, &peers, answer);
    return say_order(price, snap, answer) && say_kernels(price, snap->graph, answer)
               ? BERTH_OK
               : err_set(err, BERTH_NO_MEMORY, "no memory for reasons");
}
