#include "cost/usage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/matrix.h"
#include "cost/policy.h"
#include "node/spread.h"

/* ---- transfers alone ---- */

static struct user *user_at(const struct usage *usage, size_t from, size_t to, enum mechanism by)
{
    return &usage->user[((size_t)by * usage->place_count + from) * usage->place_count + to];
}

static bool find_places(struct usage *usage)
{
    const struct graph *graph = usage->snap->graph;
    const place_id *memory;
    size_t memories = matrix_memories(usage->snap->derived.matrix, &memory);
    usage->place = calloc(USAGE_PLACES_MAX, sizeof *usage->place);
    usage->slot = malloc((graph->place_count + 1) * sizeof *usage->slot);
    if (usage->place == NULL || usage->slot == NULL)
        return false;
    memset(usage->slot, 0xff, (graph->place_count + 1) * sizeof *usage->slot);
    for (size_t i = 0; i < memories && i < USAGE_PLACES_MAX; i++)
        usage->place[usage->place_count++] = memory[i];
    for (place_id nic = graph_next(graph, PLACE_NIC, 0);
         nic != PLACE_NONE && usage->place_count < USAGE_PLACES_MAX;
         nic = graph_next(graph, PLACE_NIC, nic + 1))
        usage->place[usage->place_count++] = nic;
    for (size_t i = 0; i < usage->place_count; i++)
        usage->slot[usage->place[i]] = (uint16_t)i;
    return true;
}

/* The stated rate of the links, and of a NIC's port to the outside; 0 unknown. */
static double network_rate(const struct snapshot *snap, place_id from, place_id to)
{
    const struct graph *graph = snap->graph;
    double rate = limits_pair(snap->derived.limits, from, to)->bytes_per_s;
    const place_id end[] = {from, to};
    for (size_t e = 0; e < 2 && graph_place(graph, end[e])->kind == PLACE_NIC; e++) {
        double most = 0;
        for (size_t i = 0; i < graph->link_count; i++) {
            const struct link *link = &graph->links[i];
            if (link->kind == LINK_NETWORK && (link->from == end[e] || link->to == end[e]))
                most = fmax(most, link->nominal_bytes_per_s);
        }
        rate = most > 0 ? fmin(rate, most) : rate;
    }
    return rate;
}

static void find_user(struct usage *usage, size_t a, size_t b, enum mechanism by)
{
    const struct snapshot *snap = usage->snap;
    struct user *user = user_at(usage, a, b, by);
    place_id from = usage->place[a], to = usage->place[b];
    bool is_network = graph_place(snap->graph, from)->kind == PLACE_NIC ||
                      graph_place(snap->graph, to)->kind == PLACE_NIC;
    const struct matrix_item *item =
        is_network ? NULL : matrix_find(snap->derived.matrix, from, to, by);
    user->pair = (uint32_t)(a * usage->place_count + b) + 1;
    if (item != NULL)
        user->alone = matrix_of_class(item);
    else if (is_network && by == MECHANISM_COPY_ENGINE) {
        user->alone = transfer_none(snap->graph, from, to, by);
        user->alone.driver = PLACE_NONE;
        user->alone.basis = BASIS_LINKS;
        user->alone.source = SOURCE_NOMINAL;
        user->alone.bytes_per_s = network_rate(snap, from, to);
        user->alone.kind = user->alone.bytes_per_s > 0 ? TRANSFER_NETWORK : 0;
    }
}

static bool find_users(struct usage *usage)
{
    size_t places = usage->place_count;
    usage->user_count = MECHANISMS * places * places;
    usage->user = calloc(usage->user_count + 1, sizeof *usage->user);
    for (size_t i = 0; usage->user != NULL && i < places * places; i++)
        for (int by = MECHANISM_COPY_ENGINE; by <= MECHANISM_KERNEL && i / places != i % places;
             by++)
            find_user(usage, i / places, i % places, (enum mechanism)by);
    return usage->user != NULL;
}

/* ---- limits ---- */

static bool has_same_part(const struct limit *a, const struct limit *b)
{
    return a->has_role && b->has_role && a->role.part == b->role.part;
}

/* The same part of another place, with capacities for the same numbers of transfers that differ by
 * less than is similar, or than one more run would differ. */
static bool is_similar(const struct limit *a, const struct limit *b)
{
    bool same = has_same_part(a, b) && a->source == b->source && a->metric == b->metric &&
                a->role.direction == b->role.direction && a->step_count == b->step_count &&
                a->is_uneven == b->is_uneven;
    for (size_t i = 0; same && i < a->step_count; i++)
        same = a->step[i].flows == b->step[i].flows &&
               fabs(a->step[i].bytes_per_s / b->step[i].bytes_per_s - 1) <
                   fmax(POLICY_SIMILAR, a->step[i].spread + b->step[i].spread);
    return same;
}

/* Of similar limits each has the mean capacity: noise makes no difference between them. Runs differ
 * from one time to the next. */
static void take_found(const struct limits *limits, const struct limit *found, struct limit *limit)
{
    const struct agreement *drift = agreement_of(limits->agree, transfer_kind_of(limit->metric));
    double count = 0;
    for (size_t i = 0; i < limits->count; i++) {
        if (!is_similar(&limits->item[i], found))
            continue;
        count++;
        for (size_t s = 0; s < limit->step_count; s++)
            limit->step[s].bytes_per_s +=
                (limits->item[i].step[s].bytes_per_s - limit->step[s].bytes_per_s) / count;
    }
    for (size_t s = 0; s < limit->step_count && drift != NULL && drift->rates > 0; s++)
        limit->step[s].spread =
            hypot(limit->step[s].spread, spread_one(0, drift->rate, drift->rates, 1));
}

/* reached: of the stated rates of their links, by transfers that use it. */
static void take_stated(const struct limits *limits, double reached, struct limit *limit)
{
    const struct limit_role *role = &limit->role;
    double rate = limit->step[0].bytes_per_s;
    if (limits_is_pcie_port(role->part) &&
        (limit->source == LIMIT_STATED || limit->source == LIMIT_MEMBER))
        rate *= reached > 0 ? reached : 1;
    for (const struct limit *found = limits->item; found < limits->item + limits->count; found++)
        for (size_t s = 0;
             s < found->step_count && found->source == LIMIT_RUNS && has_same_part(found, limit) &&
             found->role.place == role->place && found->role.other == role->other &&
             (found->role.direction == role->direction || role->direction == LIMIT_BOTH);
             s++)
            rate = fmax(rate, found->step[s].bytes_per_s);
    limit->step_count = 1;
    limit->step[0] = (struct limit_step){1, rate, NAN, NAN, NAN};
}

/* What both directions of a pair get together, measured or as a published bound, where it is less
 * than each alone, beyond noise; NULL none. */
static const struct value *find_both(const struct usage *usage, const struct user *there,
                                     const struct user *back)
{
    const struct snapshot *snap = usage->snap;
    if (there->alone.kind == 0 || back->alone.kind == 0 || there->alone.kind == TRANSFER_NETWORK)
        return NULL;
    const struct matrix_item *pair =
        matrix_find(snap->derived.matrix, back->alone.from, back->alone.to, back->alone.by);
    const struct value *published = matrix_published_both(snap, &there->alone);
    bool is_measured =
        there->alone.source == SOURCE_MEASURED && back->alone.source == SOURCE_MEASURED;
    const struct value *both = published != NULL || pair == NULL ? published : pair->peer_both;
    return both != NULL && is_measured == (both != published) &&
                   both->value <
                       (1 - POLICY_SAME) * (there->alone.bytes_per_s + back->alone.bytes_per_s)
               ? both
               : NULL;
}

static struct limit limit_of_pair(const struct usage *usage, const struct user *user,
                                  const struct value *both)
{
    const struct graph *graph = usage->snap->graph;
    struct limit limit = {
        .source = LIMIT_PAIR,
        .value = both,
        .step = {{2, both->value, both->low, both->high,
                  spread_cell((both->high - both->low) / 2, both->n) / both->value}},
        .step_count = 1};
    snprintf(limit.name, sizeof limit.name, "%s-%s:both",
             graph_place(graph, user->alone.from)->name, graph_place(graph, user->alone.to)->name);
    return limit;
}

/* The share of the stated rates of their links that transfers through each limit reach; 0 none. */
static double *find_reached(const struct usage *usage)
{
    double *reached = calloc(usage->limit_count + 1, sizeof *reached);
    for (size_t i = 0; reached != NULL && i < usage->user_count; i++) {
        const struct user *user = &usage->user[i];
        double its =
            user->alone.stated > 0 ? fmin(user->alone.bytes_per_s / user->alone.stated, 1) : 1;
        for (unsigned u = 0; u < user->limit_count && user->alone.kind != TRANSFER_NETWORK; u++)
            reached[user->limit[u]] = fmax(reached[user->limit[u]], its);
    }
    return reached;
}

/* Writes the limits of a user, that of its pair first; returns their number. */
static size_t list_limits(const struct usage *usage, const struct user *user, size_t pair,
                          uint16_t ret[LIMITS_USES_MAX + 1])
{
    size_t own = pair < usage->limit_count;
    ret[0] = (uint16_t)pair;
    return own + limits_of(usage->snap->derived.limits, user->alone.kind, user->alone.from,
                           user->alone.to, user->alone.axes, ret + own);
}

/* Appends the limits of pairs. ret_pair: by user; none is no index. */
static bool find_limits(struct usage *usage, uint16_t *ret_pair)
{
    const struct limits *limits = usage->snap->derived.limits;
    size_t places = usage->place_count, most = limits->count + MECHANISMS * places * places / 2;
    usage->limit = calloc(most + 1, sizeof *usage->limit);
    if (usage->limit == NULL)
        return false;
    if (limits->count > 0) /* item is NULL where there are none */
        memcpy(usage->limit, limits->item, limits->count * sizeof *usage->limit);
    usage->limit_count = limits->count;
    for (size_t i = 0; i < usage->user_count; i++)
        ret_pair[i] = SIM_NO_LIMIT;
    for (size_t i = 0; i < usage->user_count; i++) {
        size_t from = i / places % places, to = i % places,
               reverse = i + (to - from) * (places - 1);
        const struct value *both =
            from < to ? find_both(usage, &usage->user[i], &usage->user[reverse]) : NULL;
        if (both == NULL || usage->limit_count >= SIM_NO_LIMIT)
            continue;
        ret_pair[i] = ret_pair[reverse] = (uint16_t)usage->limit_count;
        usage->limit[usage->limit_count++] = limit_of_pair(usage, &usage->user[i], both);
    }
    return true;
}

static bool find_uses(struct usage *usage)
{
    uint16_t *pair = calloc(usage->user_count + 1, sizeof *pair), limit[LIMITS_USES_MAX + 1];
    bool ok = pair != NULL && find_limits(usage, pair);
    size_t uses = 0;
    for (int pass = 0; pass < 2 && ok; pass++) {
        if (pass == 1)
            ok = (usage->use = calloc(uses + 1, sizeof *usage->use)) != NULL;
        uses = 0;
        for (size_t i = 0; i < usage->user_count && ok; i++) {
            struct user *user = &usage->user[i];
            size_t count = user->alone.kind != 0 ? list_limits(usage, user, pair[i], limit) : 0;
            user->limit = usage->use + uses;
            user->limit_count = (unsigned)count;
            user->is_pair_limited = pair[i] != SIM_NO_LIMIT;
            if (pass == 1)
                memcpy(usage->use + uses, limit, count * sizeof *limit);
            uses += count;
        }
    }
    free(pair);
    return ok;
}

/* ---- runs that no limit explains ---- */

/* True when two of its transfers go through the port of one module, which is a limit. */
static bool shares_port(const struct graph *graph, const struct set *set)
{
    bool shares = false;
    for (size_t i = 0; i < set->flow_count; i++)
        for (size_t k = 0; k < set->flow_count; k++) {
            place_id module = graph_place(graph, set->flow[i].to)->parent;
            shares = shares || (k != i && module != PLACE_NONE &&
                                graph_place(graph, module)->kind == PLACE_MODULE &&
                                graph_place(graph, set->flow[k].to)->parent == module);
        }
    return shares;
}

/* Which of its transfers came first is chance, and so are the shares of one direction. Copy engines
 * of real GPUs (H200) that were slower are no faster when the others have ended. */
static struct usage_run run_of(const struct usage *usage, const struct set *set)
{
    const struct graph *graph = usage->snap->graph;
    struct usage_run run = {.set = set, .count = set->flow_count};
    size_t count[2] = {0};
    for (size_t i = 0; i < set->flow_count; i++) {
        const struct set_flow *flow = &set->flow[i];
        bool is_read = graph_place(graph, flow->from)->kind == PLACE_NUMA;
        run.user[i] = usage_find(usage, flow->from, flow->to, MECHANISM_COPY_ENGINE);
        if (run.user[i] == NULL || run.user[i]->alone.basis != BASIS_OWN ||
            strcmp(values_axes(usage->snap->values, run.user[i]->alone.value), flow->axes) != 0)
            run.count = 0;
        run.own[is_read] += (flow->bytes_per_s - run.own[is_read]) / (double)++count[is_read];
    }
    if (count[0] == 0 || count[1] == 0 || shares_port(graph, set))
        run.count = 0;
    return run;
}

/* Similar runs have the mean of all: noise makes no difference between them. */
static void take_mean(const struct usage *usage, struct usage_run *run)
{
    double count = 0;
    for (size_t r = 0; r < usage->run_count; r++) {
        const struct usage_run *other = &usage->run[r];
        bool similar = other->count == run->count;
        for (int d = 0; d < 2 && similar; d++)
            similar =
                fabs(other->own[d] - run->own[d]) <= POLICY_SIMILAR * (other->own[d] + run->own[d]);
        count += similar;
        for (int d = 0; d < 2 && similar; d++)
            run->rate[d] += (other->own[d] - run->rate[d]) / count;
    }
}

static bool find_runs(struct usage *usage)
{
    const struct snapshot *snap = usage->snap;
    size_t most = snap->sets != NULL ? snap->derived.limits->run_count : 0;
    usage->run = calloc(most + 1, sizeof *usage->run);
    for (size_t s = 0; s < most && usage->run != NULL; s++) {
        const struct limits_run *run = &snap->derived.limits->run[s];
        if (run->predicted == NULL || run->is_reproduced || snap->sets->item[s].flow_count < 3 ||
            transfer_kind_of(snap->sets->item[s].metric) != TRANSFER_HOST_ENGINE)
            continue;
        usage->run[usage->run_count] = run_of(usage, &snap->sets->item[s]);
        usage->run_count += usage->run[usage->run_count].count > 0;
    }
    for (size_t r = 0; r < usage->run_count; r++)
        take_mean(usage, &usage->run[r]);
    return usage->run != NULL;
}

/* ---- all of it ---- */

static bool find_capacities(struct usage *usage)
{
    const struct limits *limits = usage->snap->derived.limits;
    double *reached = find_reached(usage);
    usage->sim = calloc(usage->limit_count + 1, sizeof *usage->sim);
    usage->step = calloc(usage->limit_count * LIMIT_STEPS_MAX + 1, sizeof *usage->step);
    bool ok = reached != NULL && usage->sim != NULL && usage->step != NULL;
    for (size_t i = 0; ok && i < usage->limit_count; i++) {
        struct limit *limit = &usage->limit[i];
        struct sim_step *step = &usage->step[i * LIMIT_STEPS_MAX];
        if (limit->source == LIMIT_RUNS)
            take_found(limits, &limits->item[i], limit);
        else if (limit->source != LIMIT_PAIR && limit->step_count > 0)
            take_stated(limits, reached[i], limit);
        for (size_t s = 0; s < limit->step_count; s++)
            step[s] = (struct sim_step){limit->step[s].flows, limit->step[s].bytes_per_s};
        usage->sim[i] = (struct sim_limit){.step = step, .step_count = limit->step_count};
    }
    free(reached);
    return ok;
}

struct usage *usage_new(const struct snapshot *snap)
{
    struct usage *usage = calloc(1, sizeof *usage);
    if (usage == NULL)
        return NULL;
    usage->snap = snap;
    if (find_places(usage) && find_users(usage) && find_uses(usage) && find_capacities(usage) &&
        find_runs(usage))
        return usage;
    usage_free(usage);
    return NULL;
}

void usage_free(struct usage *usage)
{
    if (usage == NULL)
        return;
    free(usage->place);
    free(usage->slot);
    free(usage->user);
    free(usage->limit);
    free(usage->sim);
    free(usage->run);
    free(usage->step);
    free(usage->use);
    free(usage);
}

const struct user *usage_find(const struct usage *usage, place_id from, place_id to,
                              enum mechanism by)
{
    size_t places = usage->snap->graph->place_count;
    if (from == to || (size_t)from >= places || (size_t)to >= places ||
        usage->slot[from] == UINT16_MAX || usage->slot[to] == UINT16_MAX)
        return NULL;
    const struct user *user = user_at(usage, usage->slot[from], usage->slot[to], by);
    return user->alone.kind != 0 ? user : NULL;
}

/* An own value is known better than another's. */
static enum source source_of(const struct transfer *alone)
{
    return alone->basis == BASIS_OWN ? alone->source : SOURCE_NOMINAL;
}

const struct user *usage_choose(const struct usage *usage, place_id from, place_id to, double bytes,
                                enum copy_by by)
{
    const struct user *engine = usage_find(usage, from, to, MECHANISM_COPY_ENGINE),
                      *kernel = usage_find(usage, from, to, MECHANISM_KERNEL);
    const struct user *any = engine != NULL ? engine : kernel;
    if (any != NULL && by != COPY_BEST && transfer_is_peer(&any->alone))
        return by == COPY_BY_KERNEL ? kernel : engine;
    if (engine == NULL || kernel == NULL)
        return any;
    if (source_of(&engine->alone) != source_of(&kernel->alone))
        return source_of(&engine->alone) < source_of(&kernel->alone) ? engine : kernel;
    bool covers = bytes >= engine->alone.least_bytes;
    if (covers != (bytes >= kernel->alone.least_bytes))
        return covers ? engine : kernel;
    double engine_ns = transfer_called_ns(&engine->alone, bytes),
           kernel_ns = transfer_called_ns(&kernel->alone, bytes);
    if (engine->alone.engine != NULL && engine->alone.basis != BASIS_OWN && kernel_ns == engine_ns)
        /* by links alone both look alike, and such engines are the ones that may not fill them */
        return kernel;
    double worth = (kernel->alone.kind & TRANSFER_HOST_KERNEL) != 0 ? 1 - POLICY_SAME : 1;
    return kernel_ns < worth * engine_ns ? kernel : engine;
}
