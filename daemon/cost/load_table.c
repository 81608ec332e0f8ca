#include "cost/load_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/alike.h"
#include "cost/limits.h"
#include "cost/published_bound.h"
#include "cost/step.h"
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

static bool add_resource(struct load_table *table, const struct load_resource *resource,
                         const unsigned *apart, size_t *ret_index)
{
    if (table->resource_count >= SIM_NO_LIMIT ||
        !make_room(&table->resource, table->resource_count, &table->resource_room,
                   sizeof *table->resource))
        return false;
    *ret_index = table->resource_count;
    struct load_resource *added = &table->resource[table->resource_count++];
    *added = *resource;
    added->apart = apart;
    return true;
}

static bool add_use(struct load_table *table, struct load_ride *ride, size_t resource)
{
    if (!make_room(&table->use, table->use_count, &table->use_room, sizeof *table->use))
        return false;
    table->use[table->use_count++] = (uint16_t)resource;
    ride->use_count++;
    if (ride->use_count > table->most_uses)
        table->most_uses = ride->use_count;
    return true;
}

static enum load_known known_of(const struct move *move)
{
    if (move->rate == NULL)
        return LOAD_NOMINAL;
    return move->rate->source == VALUE_MEASURED    ? LOAD_MEASURED
           : move->rate->source == VALUE_PUBLISHED ? LOAD_PUBLISHED
                                                   : LOAD_NOMINAL;
}

/* What the nic's port to the outside is said to carry; INFINITY not stated. */
static double outside(const struct graph *graph, place_id nic)
{
    double most = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        if (link->kind == LINK_NETWORK && (link->from == nic || link->to == nic) &&
            link->nominal_bytes_per_s > most)
            most = link->nominal_bytes_per_s;
    }
    return most > 0 ? most : INFINITY;
}

/* To or from a nic, of which nothing is measured: what the links on the way are said to carry. */
static bool find_network(const struct load_table *table, const struct limits *limits, place_id from,
                         place_id to, struct move *ret)
{
    const struct graph *graph = table->snap->graph;
    double rate = limits_pair(limits, from, to)->bytes_per_s;
    if (graph_place(graph, from)->kind == PLACE_NIC)
        rate = fmin(rate, outside(graph, from));
    if (graph_place(graph, to)->kind == PLACE_NIC)
        rate = fmin(rate, outside(graph, to));
    if (!(rate > 0))
        return false;
    *ret = (struct move){.from = from,
                         .to = to,
                         .by = MOVE_COPY_ENGINE,
                         .driver = PLACE_NONE,
                         .bytes_per_s = rate,
                         .low = NAN,
                         .high = NAN,
                         .t0_queue_ns = NAN,
                         .t0_call_ns = NAN,
                         .slowdown = 1};
    return true;
}

static void find_ride(struct load_table *table, const struct limits *limits, enum move_by by,
                      size_t a, size_t b)
{
    const struct graph *graph = table->snap->graph;
    place_id from = table->place[a], to = table->place[b];
    struct load_ride *ride = plan_load_table_ride(table, by, a, b);
    bool network =
        graph_place(graph, from)->kind == PLACE_NIC || graph_place(graph, to)->kind == PLACE_NIC;
    bool peers =
        graph_place(graph, from)->kind == PLACE_GPU && graph_place(graph, to)->kind == PLACE_GPU;
    bool asked =
        !peers || table->by == LOAD_BEST || (table->by == LOAD_KERNEL) == (by == MOVE_KERNEL);
    bool found =
        network ? by == MOVE_COPY_ENGINE && find_network(table, limits, from, to, &ride->move)
                : asked && plan_pairs_move(table->snap, table->pairs, from, to, by, &ride->move);
    if (!found)
        return;
    const struct pair *pair = network ? NULL : plan_pairs_find(table->pairs, from, to, by);
    if (pair != NULL && ride->move.rate != NULL)
        plan_alike_take(&ride->move, pair->alike);
    ride->known = known_of(&ride->move);
    ride->start_ns = plan_move_start_ns(&ride->move);
    ride->launch_ns = plan_step_launch_ns(&ride->move);
    ride->kind = network ? TRANSFER_NETWORK : plan_move_kind(graph, &ride->move);
    ride->several = limits_pair(limits, from, to)->several;
}

/* ---- resources ---- */

static struct alike_number number_of(const struct limit_step *step)
{
    double half = isnan(step->spread) ? 0 : step->spread * step->bytes_per_s;
    bool unknown = isnan(step->spread) && isnan(step->low);
    return (struct alike_number){step->bytes_per_s,
                                 unknown ? NAN : fmin(step->low, step->bytes_per_s - half),
                                 unknown ? NAN : fmax(step->high, step->bytes_per_s + half)};
}

/* The same part of another place, with a capacity for the same numbers of transfers. */
static bool is_one_sort(const struct limit *a, const struct limit *b)
{
    bool same = a->source == b->source && a->metric == b->metric && a->has_role && b->has_role &&
                a->role.part == b->role.part && a->role.direction == b->role.direction &&
                a->step_count == b->step_count && a->is_uneven == b->is_uneven;
    for (size_t i = 0; same && i < a->step_count; i++)
        same = a->step[i].flows == b->step[i].flows;
    return same;
}

/* Its steps, as those of the one that stands for it among what runs cannot tell from it. */
static bool take_steps(const struct limits *limits, size_t f, struct load_resource *ret)
{
    const struct limit *found = &limits->item[f];
    struct alike_number *number = calloc(limits->count, sizeof *number);
    uint32_t *member = calloc(limits->count, sizeof *member),
             *stands = calloc(limits->count, sizeof *stands);
    bool ok = number != NULL && member != NULL && stands != NULL;
    for (size_t i = 0; ok && i < found->step_count; i++) {
        size_t members = 0, own = 0;
        for (size_t other = 0; other < limits->count; other++) {
            if (other != f && !is_one_sort(found, &limits->item[other]))
                continue;
            own = other == f ? members : own;
            number[members] = number_of(&limits->item[other].step[i]);
            member[members++] = (uint32_t)other;
        }
        ok = plan_alike_numbers(number, members, stands);
        if (!ok)
            continue;
        ret->step[i] = limits->item[member[stands[own]]].step[i];
        if (isnan(ret->step[i].spread))
            ret->step[i].spread = found->step[i].spread;
    }
    free(number);
    free(member);
    free(stands);
    return ok;
}

/* What the sets of its metric showed. */
static bool add_found(struct load_table *table, const struct limits *limits, size_t f,
                      uint16_t *ret_index)
{
    const struct limit *found = &limits->item[f];
    struct load_resource resource = {.step_count = found->step_count, .limit = found};
    snprintf(resource.name, sizeof resource.name, "%s", found->name);
    if (!take_steps(limits, f, &resource))
        return false;
    size_t index = 0;
    bool ok = add_resource(table, &resource, NULL, &index);
    *ret_index = (uint16_t)index;
    return ok;
}

/* What both directions of a pair get together, measured or as a published bound, where it is less
 * than each alone. */
static bool add_both(struct load_table *table, enum move_by by, size_t a, size_t b,
                     uint16_t *ret_index)
{
    const struct load_ride *there = plan_load_table_ride(table, by, a, b),
                           *back = plan_load_table_ride(table, by, b, a);
    const struct pair *pair = plan_pairs_find(table->pairs, table->place[a], table->place[b], by);
    const struct value *published = published_bound_together(table->snap, &there->move),
                       *both = published != NULL ? published
                               : pair != NULL    ? pair->alike_both
                                                 : NULL;
    bool is_measured = there->known == LOAD_MEASURED && back->known == LOAD_MEASURED;
    if (both == NULL || !(is_measured ? both != published : both == published) ||
        !(there->move.bytes_per_s > 0 && back->move.bytes_per_s > 0) ||
        both->value >= there->move.bytes_per_s + back->move.bytes_per_s)
        return true;
    struct load_resource resource = {
        .step_count = 1,
        .step = {{2, both->value, both->low, both->high,
                  spread_cell((both->high - both->low) / 2, both->n) / both->value}},
        .value = both};
    const struct graph *graph = table->snap->graph;
    snprintf(resource.name, sizeof resource.name, "%s-%s:both",
             graph_place(graph, table->place[a])->name, graph_place(graph, table->place[b])->name);
    size_t index;
    if (!add_resource(table, &resource, NULL, &index))
        return false;
    *ret_index = (uint16_t)index;
    return true;
}

/* What it carries: no less than what was found of just that part and direction, as it counts here;
 * of a PCIe port as much of what is said as the transfer reaches of its own link. */
static double width_of(const struct load_table *table, const struct load_ride *ride,
                       const struct limit *nominal)
{
    const struct limit_role *role = &nominal->role;
    double width = nominal->step[0].bytes_per_s;
    bool is_stated = nominal->source == LIMIT_STATED || nominal->source == LIMIT_MEMBER;
    if (role->part == LIMIT_PCIE_PORT && is_stated && ride->move.stated > 0)
        width *= fmin(ride->move.bytes_per_s / ride->move.stated, 1);
    for (size_t r = 0; r < table->resource_count; r++) {
        const struct limit *found = table->resource[r].limit;
        bool same = found != NULL && found->source == LIMIT_RUNS && found->has_role &&
                    found->role.part == role->part && found->role.place == role->place &&
                    found->role.other == role->other && found->role.level == role->level &&
                    (found->role.direction == role->direction || role->direction == LIMIT_BOTH);
        for (size_t i = 0; same && i < found->step_count; i++)
            width = fmax(width, table->resource[r].step[i].bytes_per_s);
    }
    return width;
}

/* What stands for something that was not measured: the first transfer that uses it adds it. */
static bool use_one(struct load_table *table, struct load_ride *ride, const struct limit *nominal,
                    uint16_t *known)
{
    size_t index = *known;
    if (index == SIM_NO_LIMIT) {
        struct load_resource resource = {
            .step_count = 1,
            .step = {{1, width_of(table, ride, nominal), NAN, NAN, NAN}},
            .is_nominal = true,
            .limit = nominal};
        snprintf(resource.name, sizeof resource.name, "%s", nominal->name);
        if (!add_resource(table, &resource, nominal->apart, &index))
            return false;
        *known = (uint16_t)index;
    } else if (nominal->role.part == LIMIT_PCIE_PORT &&
               ride->kind != TRANSFER_NETWORK) { /* other transfers may reach more */
        double *width = &table->resource[index].step[0].bytes_per_s;
        *width = fmax(*width, width_of(table, ride, nominal));
    }
    return add_use(table, ride, index);
}

static bool list_uses_of(struct load_table *table, struct load_ride *ride,
                         const struct limits *limits, uint16_t both, uint16_t *known)
{
    const struct move *move = &ride->move;
    const char *axes = move->rate != NULL ? values_axes(table->snap->values, move->rate) : "";
    ride->use = (uint32_t)table->use_count;
    if (ride->known == LOAD_NOTHING)
        return true;
    uint16_t item[LIMITS_USES_MAX];
    size_t count = limits_of(limits, ride->kind, move->from, move->to, axes, item), i = 0;
    for (; i < count && limits->item[item[i]].source == LIMIT_RUNS; i++)
        if (!add_use(table, ride, known[item[i]]))
            return false;
    if (both != SIM_NO_LIMIT && !add_use(table, ride, both))
        return false;
    for (; i < count; i++)
        if (!use_one(table, ride, &limits->item[item[i]], &known[item[i]]))
            return false;
    return true;
}

/* Transfers with nics last: of these only links are known, which say nothing of what others reach.
 */
static bool list_uses(struct load_table *table, const struct limits *limits, const uint16_t *both,
                      uint16_t *known)
{
    size_t rides = 2 * table->place_count * table->place_count;
    bool ok = true;
    for (int nics = 0; nics <= 1; nics++)
        for (size_t i = 0; i < rides && ok; i++)
            if ((table->ride[i].kind == TRANSFER_NETWORK) == (nics == 1))
                ok = list_uses_of(table, &table->ride[i], limits, both[i], known);
    return ok;
}

static bool add_all(struct load_table *table, const struct limits *limits, uint16_t *both,
                    uint16_t *known)
{
    size_t places = table->place_count;
    for (size_t i = 0; i < limits->count; i++)
        if (limits->item[i].source == LIMIT_RUNS && !add_found(table, limits, i, &known[i]))
            return false;
    for (size_t by = 0; by < 2; by++)
        for (size_t a = 0; a < places; a++)
            for (size_t b = a + 1; b < places; b++) {
                uint16_t *there = &both[(by * places + a) * places + b];
                if (!add_both(table, (enum move_by)by, a, b, there))
                    return false;
                both[(by * places + b) * places + a] = *there;
            }
    return true;
}

static bool find_resources(struct load_table *table, const struct limits *limits)
{
    size_t rides = 2 * table->place_count * table->place_count, items = limits->count;
    uint16_t *both = calloc(rides + items + 1, sizeof *both);
    if (both == NULL)
        return false;
    for (size_t i = 0; i < rides + items; i++)
        both[i] = SIM_NO_LIMIT;
    bool ok =
        add_all(table, limits, both, both + rides) && list_uses(table, limits, both, both + rides);
    free(both);
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

bool plan_load_table_fill(struct load_table *table, const place_id *places)
{
    const struct limits *limits = table->snap->derived.limits;
    table->place = calloc(table->place_count + 1, sizeof *table->place);
    table->ride = calloc(2 * table->place_count * table->place_count + 1, sizeof *table->ride);
    table->pairs = table->snap->derived.pairs;
    if (table->place == NULL || table->ride == NULL)
        return false;
    for (size_t i = 0; i < table->place_count; i++)
        table->place[i] = places[i];
    for (size_t a = 0; a < table->place_count; a++)
        for (size_t b = 0; b < table->place_count; b++)
            for (int by = MOVE_COPY_ENGINE; by <= MOVE_KERNEL; by++)
                find_ride(table, limits, (enum move_by)by, a, b);
    return find_resources(table, limits) && make_limits(table);
}

void plan_load_table_empty(struct load_table *table)
{
    free(table->place);
    free(table->ride);
    free(table->resource);
    free(table->limit);
    free(table->step);
    free(table->use);
    free(table->known);
    free(table->who);
    free(table->who_bytes_per_s);
}

/* ---- one flow ---- */

double plan_load_table_alone_ns(const struct load_ride *ride, double bytes, double *ret_bytes_ns)
{
    const struct move *move = &ride->move;
    double queued_ns = plan_move_queued_ns(move, bytes);
    if (ret_bytes_ns != NULL)
        *ret_bytes_ns = fmax(queued_ns - ride->start_ns, 0);
    return isnan(move->t0_call_ns)
               ? queued_ns
               : curve_fit_called_ns(queued_ns, move->t0_call_ns, ride->start_ns);
}

const struct load_ride *plan_load_table_choose(const struct load_table *table, size_t from,
                                               size_t to, double bytes)
{
    const struct load_ride *engine = plan_load_table_ride(table, MOVE_COPY_ENGINE, from, to),
                           *kernel = plan_load_table_ride(table, MOVE_KERNEL, from, to);
    if (engine->known == LOAD_NOTHING || kernel->known == LOAD_NOTHING)
        return engine->known != LOAD_NOTHING   ? engine
               : kernel->known != LOAD_NOTHING ? kernel
                                               : NULL;
    if (engine->known != kernel->known)
        return engine->known > kernel->known ? engine : kernel;
    bool knows = plan_move_knows(&engine->move, bytes);
    if (knows != plan_move_knows(&kernel->move, bytes))
        return knows ? engine : kernel;
    double engine_ns = plan_load_table_alone_ns(engine, bytes, NULL),
           kernel_ns = plan_load_table_alone_ns(kernel, bytes, NULL);
    if (engine->move.engine != NULL && engine->move.rate == NULL && kernel_ns == engine_ns)
        /* by links alone both look alike, and such engines are the ones that may not fill them */
        return kernel;
    /* a program copies to the host by engine unless it has kernels for that */
    double worth = (kernel->kind & TRANSFER_HOST_KERNEL) != 0 ? 1 - LOAD_WORTH : 1;
    return kernel_ns < worth * engine_ns ? kernel : engine;
}
