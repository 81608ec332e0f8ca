#include "plan_load_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool plan_load_table_metric(unsigned kind, enum metric *ret_metric)
{
    switch (kind) {
    case LOAD_HOST_ENGINE: *ret_metric = METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT; return true;
    case LOAD_HOST_KERNEL: *ret_metric = METRIC_HOST_GPU_KERNEL_CONCURRENT; return true;
    case LOAD_PEER_ENGINE: *ret_metric = METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT; return true;
    case LOAD_PEER_KERNEL: *ret_metric = METRIC_GPU_GPU_KERNEL_CONCURRENT; return true;
    default: return false;
    }
}

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

bool plan_load_table_add(struct load_table *table, const struct load_resource *resource, unsigned apart, size_t *ret_index)
{
    if (table->resource_count >= LOAD_NO_LIMIT || !make_room(&table->resource, table->resource_count, &table->resource_room, sizeof *table->resource))
        return false;
    *ret_index = table->resource_count;
    struct load_resource *added = &table->resource[table->resource_count++];
    *added = *resource;
    added->apart = apart;
    return true;
}

bool plan_load_table_use(struct load_table *table, struct load_ride *ride, size_t resource)
{
    if (!make_room(&table->use, table->use_count, &table->use_room, sizeof *table->use))
        return false;
    table->use[table->use_count++] = (uint16_t)resource;
    ride->use_count++;
    if (ride->use_count > table->most_uses)
        table->most_uses = ride->use_count;
    return true;
}

static unsigned kind_of(const struct graph *graph, const struct move *move)
{
    bool peers = graph_place(graph, move->from)->kind == PLACE_GPU && graph_place(graph, move->to)->kind == PLACE_GPU;
    if (move->by == MOVE_COPY_ENGINE)
        return peers ? LOAD_PEER_ENGINE : LOAD_HOST_ENGINE;
    return peers ? LOAD_PEER_KERNEL : LOAD_HOST_KERNEL;
}

static enum load_known known_of(const struct move *move)
{
    if (move->rate == NULL)
        return LOAD_NOMINAL;
    return move->rate->source == VALUE_MEASURED ? LOAD_MEASURED : move->rate->source == VALUE_PUBLISHED ? LOAD_PUBLISHED : LOAD_NOMINAL;
}

static void find_rides(struct load_table *table)
{
    for (size_t from = 0; from < table->place_count; from++)
        for (size_t to = 0; to < table->place_count; to++)
            for (int by = MOVE_COPY_ENGINE; by <= MOVE_KERNEL; by++) {
                struct load_ride *ride = plan_load_table_ride(table, (enum move_by)by, from, to);
                bool asked = table->by == LOAD_BEST || (table->by == LOAD_KERNEL) == (by == MOVE_KERNEL);
                if (!asked || !plan_move_find(table->snap, table->place[from], table->place[to], (enum move_by)by, &ride->move))
                    continue;
                ride->known = known_of(&ride->move);
                ride->kind = kind_of(table->snap->graph, &ride->move);
            }
}

/* ---- resources ---- */

/* What the sets of its metric showed. */
static bool add_found(struct load_table *table, const struct resource_found *found)
{
    struct load_resource resource = {.step_count = found->step_count, .found = found};
    snprintf(resource.name, sizeof resource.name, "%s", found->name);
    for (size_t i = 0; i < found->step_count; i++)
        resource.step[i] = found->step[i];
    size_t index;
    return plan_load_table_add(table, &resource, 0, &index);
}

/* What both directions of a pair get together, where it was measured and is less than each alone. */
static bool add_both(struct load_table *table, enum move_by by, size_t a, size_t b, uint16_t *ret_index)
{
    const struct load_ride *there = plan_load_table_ride(table, by, a, b), *back = plan_load_table_ride(table, by, b, a);
    struct move move = there->move;
    if (there->known != LOAD_MEASURED || back->known != LOAD_MEASURED || !plan_move_both(table->snap, &move) ||
        move.both->value >= there->move.bytes_per_s + back->move.bytes_per_s)
        return true;
    struct load_resource resource = {.step_count = 1, .step = {{2, move.both->value, move.both->low, move.both->high}}, .value = move.both};
    const struct graph *graph = table->snap->graph;
    snprintf(resource.name, sizeof resource.name, "%s-%s:both", graph_place(graph, table->place[a])->name, graph_place(graph, table->place[b])->name);
    size_t index;
    if (!plan_load_table_add(table, &resource, 0, &index))
        return false;
    *ret_index = (uint16_t)index;
    return true;
}

static bool uses(const struct load_table *table, const struct load_ride *ride, const struct resource_found *found)
{
    enum metric metric;
    const char *axes = ride->move.rate != NULL ? values_axes(table->snap->values, ride->move.rate) : "";
    return plan_load_table_metric(ride->kind, &metric) && resource_model_uses(table->snap->graph, found, metric, ride->move.from, ride->move.to, axes);
}

static bool list_uses(struct load_table *table, size_t found_count, const uint16_t *both)
{
    for (size_t i = 0; i < 2 * table->place_count * table->place_count; i++) {
        struct load_ride *ride = &table->ride[i];
        ride->use = (uint32_t)table->use_count;
        if (ride->known == LOAD_NOTHING)
            continue;
        for (size_t r = 0; r < found_count; r++)
            if (uses(table, ride, table->resource[r].found) && !plan_load_table_use(table, ride, r))
                return false;
        if (both[i] != LOAD_NO_LIMIT && !plan_load_table_use(table, ride, both[i]))
            return false;
    }
    return true;
}

static bool find_resources(struct load_table *table, const struct resource_model *model)
{
    size_t places = table->place_count;
    uint16_t *both = calloc(2 * places * places + 1, sizeof *both);
    bool ok = true;
    if (both == NULL)
        return false;
    for (size_t i = 0; i < 2 * places * places; i++)
        both[i] = LOAD_NO_LIMIT;
    for (size_t i = 0; ok && i < model->found_count; i++)
        ok = add_found(table, &model->found[i]);
    for (size_t by = 0; by < 2; by++)
        for (size_t a = 0; a < places; a++)
            for (size_t b = a + 1; ok && b < places; b++) {
                uint16_t *there = &both[(by * places + a) * places + b];
                ok = add_both(table, (enum move_by)by, a, b, there);
                both[(by * places + b) * places + a] = *there;
            }
    ok = ok && list_uses(table, model->found_count, both);
    free(both);
    return ok;
}

static bool make_limits(struct load_table *table)
{
    table->limit = calloc(table->resource_count + 1, sizeof *table->limit);
    for (size_t i = 0; table->limit != NULL && i < table->resource_count; i++)
        table->limit[i] = (struct load_limit){.step = table->resource[i].step, .step_count = table->resource[i].step_count, .apart = table->resource[i].apart};
    return table->limit != NULL;
}

bool plan_load_table_fill(struct load_table *table, const place_id *places)
{
    const struct resource_model *model = snapshot_resources(table->snap);
    table->place = calloc(table->place_count + 1, sizeof *table->place);
    table->ride = calloc(2 * table->place_count * table->place_count + 1, sizeof *table->ride);
    if (model == NULL || table->place == NULL || table->ride == NULL)
        return false;
    for (size_t i = 0; i < table->place_count; i++)
        table->place[i] = places[i];
    find_rides(table);
    return find_resources(table, model) && make_limits(table);
}

void plan_load_table_empty(struct load_table *table)
{
    free(table->place);
    free(table->ride);
    free(table->resource);
    free(table->limit);
    free(table->use);
}

/* ---- one flow ---- */

double plan_load_table_alone_ns(const struct load_ride *ride, double bytes)
{
    const struct move *move = &ride->move;
    if (move->curve != NULL)
        return curve_time_ns(move->curve, bytes);
    return (isnan(move->t0_queue_ns) ? 0 : move->t0_queue_ns) + bytes / move->bytes_per_s * 1e9;
}

const struct load_ride *plan_load_table_choose(const struct load_table *table, size_t from, size_t to, double bytes)
{
    const struct load_ride *engine = plan_load_table_ride(table, MOVE_COPY_ENGINE, from, to), *kernel = plan_load_table_ride(table, MOVE_KERNEL, from, to);
    if (engine->known == LOAD_NOTHING || kernel->known == LOAD_NOTHING)
        return engine->known != LOAD_NOTHING ? engine : kernel->known != LOAD_NOTHING ? kernel : NULL;
    if (engine->known != kernel->known)
        return engine->known > kernel->known ? engine : kernel;
    bool knows = plan_move_knows(&engine->move, bytes);
    if (knows != plan_move_knows(&kernel->move, bytes))
        return knows ? engine : kernel;
    return plan_load_table_alone_ns(kernel, bytes) < plan_load_table_alone_ns(engine, bytes) ? kernel : engine;
}
