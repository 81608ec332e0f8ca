#include "cost/load_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/classes.h"
#include "cost/limits.h"
#include "cost/matrix.h"
#include "cost/policy.h"
#include "node/spread.h"

/* Room for one more item; the room doubles. */
static bool make_room(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room > 0 ? 2 * *room : 64;
    void *item = realloc(*(void **)array, more * size);
    if (item == NULL)
        return false;
    *(void **)array = item;
    *room = more;
    return true;
}

/* ---- transfers alone ---- */

static enum load_known known_of(const struct transfer *alone)
{
    if (alone->basis != BASIS_OWN)
        return LOAD_NOMINAL;
    return alone->value->source == VALUE_MEASURED    ? LOAD_MEASURED
           : alone->value->source == VALUE_PUBLISHED ? LOAD_PUBLISHED
                                                     : LOAD_NOMINAL;
}

/* The stated rate of the nic's port to the outside; INFINITY unknown. */
static double outside(const struct graph *graph, place_id nic)
{
    double most = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if (link->kind == LINK_NETWORK && (link->from == nic || link->to == nic))
            most = fmax(most, link->nominal_bytes_per_s);
    }
    return most > 0 ? most : INFINITY;
}

/* To or from a nic: the stated rate of its links. */
static bool find_network(const struct snapshot *snap, place_id from, place_id to,
                         struct transfer *ret)
{
    const struct graph *graph = snap->graph;
    double rate = limits_pair(snap->derived.limits, from, to)->bytes_per_s;
    if (graph_place(graph, from)->kind == PLACE_NIC)
        rate = fmin(rate, outside(graph, from));
    if (graph_place(graph, to)->kind == PLACE_NIC)
        rate = fmin(rate, outside(graph, to));
    *ret = transfer_none(graph, from, to, MECHANISM_COPY_ENGINE);
    ret->driver = PLACE_NONE;
    ret->basis = BASIS_LINKS;
    ret->source = SOURCE_NOMINAL;
    ret->bytes_per_s = rate;
    return rate > 0;
}

static void take_alone(const struct load_table *table, const struct transfer *alone, bool network,
                       struct load_transfer *transfer)
{
    transfer->alone = *alone;
    transfer->known = known_of(alone);
    transfer->start_ns = transfer_start_ns(alone);
    transfer->launch_ns = transfer_launch_ns(alone);
    transfer->kind = network ? TRANSFER_NETWORK : alone->kind;
    transfer->several = limits_pair(table->snap->derived.limits, alone->from, alone->to)->several;
}

static void find_transfer(struct load_table *table, enum mechanism by, size_t a, size_t b)
{
    const struct graph *graph = table->snap->graph;
    place_id from = table->place[a], to = table->place[b];
    enum place_kind kind[] = {graph_place(graph, from)->kind, graph_place(graph, to)->kind};
    bool network = kind[0] == PLACE_NIC || kind[1] == PLACE_NIC,
         peers = kind[0] == PLACE_GPU && kind[1] == PLACE_GPU,
         asked = !peers || table->by == LOAD_BEST ||
                 (table->by == LOAD_KERNEL) == (by == MECHANISM_KERNEL);
    struct transfer alone;
    const struct matrix_item *item =
        network || !asked ? NULL : matrix_find(table->matrix, from, to, by);
    if (network ? by != MECHANISM_COPY_ENGINE || !find_network(table->snap, from, to, &alone)
                : item == NULL)
        return;
    if (item != NULL)
        alone = matrix_of_class(item);
    take_alone(table, &alone, network, plan_load_table_transfer(table, by, a, b));
}

/* ---- resources ---- */

static bool add_resource(struct load_table *table, const struct load_resource *resource,
                         uint16_t *ret_index)
{
    if (table->resource_count >= SIM_NO_LIMIT ||
        !make_room(&table->resource, table->resource_count, &table->resource_room,
                   sizeof *table->resource))
        return false;
    *ret_index = (uint16_t)table->resource_count;
    table->resource[table->resource_count++] = *resource;
    return true;
}

static bool add_use(struct load_table *table, struct load_transfer *transfer, uint16_t resource)
{
    if (!make_room(&table->use, table->use_count, &table->use_room, sizeof *table->use))
        return false;
    table->use[table->use_count++] = resource;
    transfer->use_count++;
    return true;
}

/* The same part of another place, with capacities for the same numbers of transfers that differ by
 * less than is similar, or than one more run would differ. */
static bool is_similar(const struct limit *a, const struct limit *b)
{
    bool same = a->source == b->source && a->metric == b->metric && a->has_role && b->has_role &&
                a->role.part == b->role.part && a->role.direction == b->role.direction &&
                a->step_count == b->step_count && a->is_uneven == b->is_uneven;
    for (size_t i = 0; same && i < a->step_count; i++)
        same = a->step[i].flows == b->step[i].flows &&
               fabs(a->step[i].bytes_per_s / b->step[i].bytes_per_s - 1) <
                   fmax(POLICY_SIMILAR, a->step[i].spread + b->step[i].spread);
    return same;
}

/* Of similar limits each has the mean capacity: noise makes no difference between them. */
static void take_mean(const struct limits *limits, size_t at, struct load_resource *ret)
{
    double count = 0;
    for (size_t i = 0; i < limits->count; i++) {
        if (!is_similar(&limits->item[i], &limits->item[at]))
            continue;
        count++;
        for (size_t s = 0; s < ret->step_count; s++)
            ret->step[s].bytes_per_s +=
                (limits->item[i].step[s].bytes_per_s - ret->step[s].bytes_per_s) / count;
    }
}

/* As concurrent runs show it. */
static bool add_found(struct load_table *table, const struct limits *limits, size_t at)
{
    const struct limit *limit = &limits->item[at];
    struct load_resource resource = {.step_count = limit->step_count, .limit = limit};
    snprintf(resource.name, sizeof resource.name, "%s", limit->name);
    memcpy(resource.step, limit->step, sizeof resource.step);
    if (limit->has_role && table->place != NULL)
        take_mean(limits, at, &resource);
    return add_resource(table, &resource, &table->index[at]);
}

/* As structure states it: at least what runs show of the same part; of a PCIe port as much of the
 * stated rate as the transfer reaches of its own link. */
static double stated_of(const struct load_table *table, const struct load_transfer *transfer,
                        const struct limit *limit)
{
    const struct limit_role *role = &limit->role;
    double rate = limit->step[0].bytes_per_s;
    bool is_stated = limit->source == LIMIT_STATED || limit->source == LIMIT_MEMBER;
    if (table->place == NULL)
        return rate;
    if (limits_is_pcie_port(role->part) && is_stated && transfer->alone.stated > 0)
        rate *= fmin(transfer->alone.bytes_per_s / transfer->alone.stated, 1);
    for (size_t r = 0; r < table->resource_count; r++) {
        const struct limit *found = table->resource[r].limit;
        bool same = found != NULL && found->source == LIMIT_RUNS && found->has_role &&
                    found->role.part == role->part && found->role.place == role->place &&
                    found->role.other == role->other &&
                    (found->role.direction == role->direction || role->direction == LIMIT_BOTH);
        for (size_t i = 0; same && i < found->step_count; i++)
            rate = fmax(rate, table->resource[r].step[i].bytes_per_s);
    }
    return rate;
}

/* The first transfer that uses it adds it. */
static bool use_stated(struct load_table *table, struct load_transfer *transfer, size_t at)
{
    const struct limit *limit = &table->snap->derived.limits->item[at];
    uint16_t *index = &table->index[at];
    if (*index == SIM_NO_LIMIT) {
        struct load_resource resource = {
            .step_count = 1,
            .step = {{1, stated_of(table, transfer, limit), NAN, NAN, NAN}},
            .is_nominal = true,
            .apart = limit->apart,
            .limit = limit};
        snprintf(resource.name, sizeof resource.name, "%s", limit->name);
        if (!add_resource(table, &resource, index))
            return false;
    } else if (limits_is_pcie_port(limit->role.part) && transfer->kind != TRANSFER_NETWORK) {
        double *rate = &table->resource[*index].step[0].bytes_per_s;
        *rate = fmax(*rate, stated_of(table, transfer, limit));
    }
    return add_use(table, transfer, *index);
}

static bool list_uses(struct load_table *table, struct load_transfer *transfer, uint16_t both)
{
    const struct limits *limits = table->snap->derived.limits;
    const struct transfer *alone = &transfer->alone;
    uint16_t item[LIMITS_USES_MAX];
    size_t count = limits_of(limits, transfer->kind, alone->from, alone->to, alone->axes, item);
    transfer->use = (uint32_t)table->use_count;
    bool ok = both == SIM_NO_LIMIT || add_use(table, transfer, both);
    for (size_t i = 0; i < count && ok; i++)
        ok = limits->item[item[i]].source == LIMIT_RUNS
                 ? (table->index[item[i]] != SIM_NO_LIMIT || add_found(table, limits, item[i])) &&
                       add_use(table, transfer, table->index[item[i]])
                 : use_stated(table, transfer, item[i]);
    return ok;
}

/* What both directions of a pair get together, measured or as a published bound, where it is less
 * than each alone. */
static bool add_both(struct load_table *table, enum mechanism by, size_t a, size_t b,
                     uint16_t *ret_index)
{
    const struct load_transfer *there = plan_load_table_transfer(table, by, a, b),
                               *back = plan_load_table_transfer(table, by, b, a);
    const struct matrix_item *pair =
        matrix_find(table->matrix, table->place[a], table->place[b], by);
    const struct value *published = matrix_published_both(table->snap, &there->alone),
                       *both = published != NULL ? published
                               : pair != NULL    ? pair->peer_both
                                                 : NULL;
    bool is_measured = there->known == LOAD_MEASURED && back->known == LOAD_MEASURED;
    *ret_index = SIM_NO_LIMIT;
    if (both == NULL || !(is_measured ? both != published : both == published) ||
        !(there->alone.bytes_per_s > 0 && back->alone.bytes_per_s > 0) ||
        both->value >= there->alone.bytes_per_s + back->alone.bytes_per_s)
        return true;
    struct load_resource resource = {
        .step_count = 1,
        .step = {{2, both->value, both->low, both->high,
                  spread_cell((both->high - both->low) / 2, both->n) / both->value}},
        .value = both};
    const struct graph *graph = table->snap->graph;
    snprintf(resource.name, sizeof resource.name, "%s-%s:both",
             graph_place(graph, table->place[a])->name, graph_place(graph, table->place[b])->name);
    return add_resource(table, &resource, ret_index);
}

/* Transfers with nics last: only the stated rates of their links are known. */
static bool list_all_uses(struct load_table *table)
{
    size_t places = table->place_count;
    bool ok = true;
    for (size_t i = 0; i < 4 * places * places && ok; i++) {
        bool nics = i >= 2 * places * places;
        enum mechanism by =
            i / (places * places) % 2 == 0 ? MECHANISM_COPY_ENGINE : MECHANISM_KERNEL;
        size_t a = i / places % places, b = i % places;
        struct load_transfer *there = plan_load_table_transfer(table, by, a, b),
                             *back = plan_load_table_transfer(table, by, b, a);
        uint16_t both = SIM_NO_LIMIT;
        if (a >= b || (there->kind == TRANSFER_NETWORK || back->kind == TRANSFER_NETWORK) != nics)
            continue;
        ok = add_both(table, by, a, b, &both) &&
             (there->known == LOAD_NOTHING || list_uses(table, there, both)) &&
             (back->known == LOAD_NOTHING || list_uses(table, back, both));
    }
    return ok;
}

static bool make_limits(struct load_table *table)
{
    size_t count = table->resource_count;
    table->limit = calloc(count + 1, sizeof *table->limit);
    table->step = calloc(count * LIMIT_STEPS_MAX + 1, sizeof *table->step);
    if (table->limit == NULL || table->step == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct load_resource *resource = &table->resource[i];
        struct sim_step *step = &table->step[i * LIMIT_STEPS_MAX];
        for (size_t s = 0; s < resource->step_count; s++)
            step[s] = (struct sim_step){resource->step[s].flows, resource->step[s].bytes_per_s};
        table->limit[i] = (struct sim_limit){step, resource->step_count};
    }
    return true;
}

/* ---- runs that no limit explains ---- */

static size_t index_of(const struct load_table *table, place_id place)
{
    size_t index = 0;
    while (index < table->place_count && table->place[index] != place)
        index++;
    return index;
}

/* 0: not in the table, or not measured like this. */
static uint32_t transfer_of(const struct load_table *table, const struct set_flow *flow)
{
    size_t from = index_of(table, flow->from), to = index_of(table, flow->to);
    const struct load_transfer *transfer =
        from < table->place_count && to < table->place_count
            ? plan_load_table_transfer(table, MECHANISM_COPY_ENGINE, from, to)
            : NULL;
    return transfer != NULL && transfer->known == LOAD_MEASURED && flow->bytes_per_s > 0 &&
                   strcmp(values_axes(table->snap->values, transfer->alone.value), flow->axes) == 0
               ? plan_load_table_number(table, transfer)
               : 0;
}

/* Whether a NUMA node's memory is read by one of them and written by another, through several
 * ports. Reads and writes of one memory get uneven shares, and copy engines of real GPUs (H200)
 * that were slower are no faster when the others have ended. */
static bool reads_and_writes(const struct graph *graph, const struct set *set)
{
    bool both = false, port = false;
    for (size_t i = 0; i < set->flow_count; i++)
        for (size_t k = 0;
             k < set->flow_count && graph_place(graph, set->flow[i].from)->kind == PLACE_NUMA;
             k++) {
            place_id module = graph_place(graph, set->flow[i].to)->parent;
            both = both || set->flow[k].to == set->flow[i].from;
            port = port || (k != i && module != PLACE_NONE &&
                            graph_place(graph, module)->kind == PLACE_MODULE &&
                            graph_place(graph, set->flow[k].to)->parent == module);
        }
    return both && !port;
}

static void take_own_rates(const struct graph *graph, struct load_run *run)
{
    double count[2] = {0};
    for (size_t i = 0; i < run->set->flow_count; i++) {
        const struct set_flow *flow = &run->set->flow[i];
        bool is_read = graph_place(graph, flow->from)->kind == PLACE_NUMA;
        run->own[is_read] += (flow->bytes_per_s - run->own[is_read]) / ++count[is_read];
    }
}

/* Runs of as many transfers of which one rate would reproduce both: each has the mean of all. */
static void take_mean_rates(struct load_table *table, struct load_run *run)
{
    double count = 0;
    for (size_t r = 0; r < table->run_count; r++) {
        const struct load_run *other = &table->run[r];
        bool similar = other->set->flow_count == run->set->flow_count;
        for (int d = 0; d < 2 && similar; d++)
            similar =
                fabs(other->own[d] - run->own[d]) <= POLICY_SIMILAR * (other->own[d] + run->own[d]);
        count += similar;
        for (int d = 0; d < 2 && similar; d++)
            run->rate[d] += (other->own[d] - run->rate[d]) / count;
    }
}

/* Copies with the host by engine that are not reproduced. */
static bool find_runs(struct load_table *table)
{
    const struct snapshot *snap = table->snap;
    const struct limits *limits = snap->derived.limits;
    size_t most = snap->sets != NULL ? limits->run_count : 0;
    for (size_t s = 0, room = 0; s < most; s++) {
        const struct set *set = &snap->sets->item[s];
        struct load_run run = {.set = set};
        bool is_taken = limits->run[s].contradiction.value == NULL &&
                        !limits->run[s].is_reproduced && set->flow_count > 2 &&
                        transfer_kind_of(set->metric) == TRANSFER_HOST_ENGINE &&
                        reads_and_writes(snap->graph, set);
        for (size_t i = 0; i < set->flow_count && is_taken; i++)
            is_taken = (run.transfer[i] = transfer_of(table, &set->flow[i])) != 0;
        if (!is_taken)
            continue;
        if (!make_room(&table->run, table->run_count, &room, sizeof *table->run))
            return false;
        take_own_rates(snap->graph, &run);
        table->run[table->run_count++] = run;
    }
    for (size_t r = 0; r < table->run_count; r++)
        take_mean_rates(table, &table->run[r]);
    return true;
}

/* ---- tables ---- */

static struct load_table *begin(const struct snapshot *snap, size_t transfers)
{
    struct load_table *table = calloc(1, sizeof *table);
    size_t limits = snap->derived.limits->count;
    if (table == NULL)
        return NULL;
    *table = (struct load_table){.snap = snap,
                                 .matrix = snap->derived.matrix,
                                 .transfer = calloc(transfers + 1, sizeof *table->transfer),
                                 .transfer_count = transfers,
                                 .index = malloc((limits + 1) * sizeof *table->index)};
    for (size_t i = 0; table->index != NULL && i < limits; i++)
        table->index[i] = SIM_NO_LIMIT;
    return table;
}

static struct load_table *finish(struct load_table *table, bool ok)
{
    if (ok && make_limits(table))
        return table;
    plan_load_free(table);
    return NULL;
}

struct load_table *plan_load_table_new(const struct snapshot *snap, const place_id *places,
                                       size_t count, enum load_by by)
{
    const struct limits *limits = snap->derived.limits;
    struct load_table *table = begin(snap, 2 * count * count);
    bool ok = table != NULL && table->transfer != NULL && table->index != NULL &&
              (table->place = calloc(count + 1, sizeof *table->place)) != NULL;
    if (!ok)
        return finish(table, false);
    table->by = by;
    table->place_count = count;
    for (size_t i = 0; i < count; i++)
        table->place[i] = places[i];
    for (size_t i = 0; i < limits->count && ok; i++)
        ok = limits->item[i].source != LIMIT_RUNS || add_found(table, limits, i);
    for (size_t i = 0; i < count * count; i++)
        for (int mechanism = MECHANISM_COPY_ENGINE; mechanism <= MECHANISM_KERNEL; mechanism++)
            find_transfer(table, (enum mechanism)mechanism, i / count, i % count);
    return finish(table, ok && list_all_uses(table) && find_runs(table));
}

void plan_load_free(struct load_table *table)
{
    if (table == NULL)
        return;
    free(table->place);
    free(table->transfer);
    free(table->resource);
    free(table->index);
    free(table->limit);
    free(table->step);
    free(table->use);
    free(table->run);
    free(table);
}

/* ---- one flow ---- */

double plan_load_table_alone_ns(const struct load_transfer *transfer, double bytes,
                                double *ret_bytes_ns)
{
    const struct transfer *alone = &transfer->alone;
    double queued_ns = transfer_queued_ns(alone, bytes);
    if (ret_bytes_ns != NULL)
        *ret_bytes_ns = fmax(queued_ns - transfer->start_ns, 0);
    return isnan(alone->t0_call_ns)
               ? queued_ns
               : curve_fit_called_ns(queued_ns, alone->t0_call_ns, transfer->start_ns);
}

const struct load_transfer *plan_load_table_choose(const struct load_table *table, size_t from,
                                                   size_t to, double bytes)
{
    const struct load_transfer *engine =
                                   plan_load_table_transfer(table, MECHANISM_COPY_ENGINE, from, to),
                               *kernel =
                                   plan_load_table_transfer(table, MECHANISM_KERNEL, from, to);
    if (engine->known == LOAD_NOTHING || kernel->known == LOAD_NOTHING)
        return engine->known != LOAD_NOTHING   ? engine
               : kernel->known != LOAD_NOTHING ? kernel
                                               : NULL;
    if (engine->known != kernel->known)
        return engine->known > kernel->known ? engine : kernel;
    bool knows = bytes >= engine->alone.least_bytes;
    if (knows != (bytes >= kernel->alone.least_bytes))
        return knows ? engine : kernel;
    double engine_ns = plan_load_table_alone_ns(engine, bytes, NULL),
           kernel_ns = plan_load_table_alone_ns(kernel, bytes, NULL);
    if (engine->alone.engine != NULL && engine->alone.basis != BASIS_OWN && kernel_ns == engine_ns)
        /* by links alone both look alike, and such engines are the ones that may not fill them */
        return kernel;
    /* a program copies to the host by engine unless it has kernels for that */
    double worth = (kernel->kind & TRANSFER_HOST_KERNEL) != 0 ? 1 - POLICY_SAME : 1;
    return kernel_ns < worth * engine_ns ? kernel : engine;
}
