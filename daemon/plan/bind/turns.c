#include "plan/bind/turns.h"

#include <stdlib.h>

#include "cost/load_table.h"
#include "cost/pairs.h"

static size_t task_of(const struct bind_price *price, size_t flow)
{
    return (size_t)price->flow[flow].from / price->request.each;
}

/* Each task sends to every other, so that it has copies for a copy engine to take one after the
 * other. */
static bool is_all_to_all(const struct bind_price *price)
{
    size_t tasks = price->request.tasks, each = price->request.each, all = 0;
    size_t *flows = calloc(tasks + 1, sizeof *flows);
    for (size_t f = 0; flows != NULL && f < price->flow_count; f++)
        all += price->flow[f].to >= 0 && ++flows[task_of(price, f)] == (tasks - 1) * each * each;
    free(flows);
    return tasks > 2 && all == tasks;
}

static bool is_by_engine(const struct bind_price *price)
{
    for (size_t f = 0; f < price->flow_count && price->request.gpu_count > 1; f++) {
        const struct load_ride *ride =
            price->flow[f].to >= 0 ? plan_load_table_choose(price->table, 0, 1, price->bytes[f])
                                   : NULL;
        if (ride != NULL)
            return ride->move.by == MOVE_COPY_ENGINE;
    }
    return false;
}

/* All that one gpu sends goes out by one lane, as to a switch. */
static bool has_one_port(const struct bind_price *price, const struct plan_pairs *pairs, size_t gpu)
{
    const place_id *place = price->request.gpu;
    size_t first = gpu == 0 ? 1 : 0;
    bool one = price->request.gpu_count > 2;
    for (size_t other = first + 1; one && other < price->request.gpu_count; other++)
        one = other == gpu || plan_lanes_meet(plan_pairs_lanes(pairs, place[gpu], place[first]),
                                              plan_pairs_lanes(pairs, place[gpu], place[other]));
    return one;
}

static bool is_round(const struct bind_price *price)
{
    bool round = is_all_to_all(price) && is_by_engine(price);
    for (size_t gpu = 0; round && gpu < price->request.gpu_count; gpu++)
        round = has_one_port(price, price->snap->derived.pairs, gpu);
    return round;
}

static int compare(const void *a, const void *b, void *data)
{
    const struct bind_price *price = data;
    size_t each = price->request.each, tasks = price->request.tasks, key[2], task[2];
    const size_t index[] = {*(const uint32_t *)a, *(const uint32_t *)b};
    for (int i = 0; i < 2; i++) {
        const struct search_flow *flow = &price->flow[index[i]];
        task[i] = task_of(price, index[i]);
        key[i] = flow->to < 0      ? tasks
                 : price->is_round ? ((size_t)flow->to / each + tasks - task[i]) % tasks
                                   : 0;
    }
    if (task[0] != task[1])
        return task[0] < task[1] ? -1 : 1;
    return key[0] != key[1] ? (key[0] < key[1] ? -1 : 1)
                            : (index[0] > index[1]) - (index[0] < index[1]);
}

bool plan_bind_turns_find(struct bind_price *price)
{
    price->order = calloc(price->flow_count + 1, sizeof *price->order);
    if (price->order == NULL)
        return false;
    price->is_round = is_round(price);
    for (size_t f = 0; f < price->flow_count; f++)
        price->order[f] = (uint32_t)f;
    qsort_r(price->order, price->flow_count, sizeof *price->order, compare, price);
    /* what tasks on one gpu send each other has no turn */
    bool is_shared = price->request.tasks * price->request.each > price->request.gpu_count;
    for (size_t i = 1; i < price->flow_count && !is_shared; i++)
        if (task_of(price, price->order[i]) == task_of(price, price->order[i - 1]))
            price->flow[price->order[i]].turn =
                (uint16_t)(price->flow[price->order[i - 1]].turn + 1);
    for (size_t k = 0; k < price->kind_count; k++)
        price->kind[k].least_turn = UINT16_MAX;
    for (size_t f = 0; f < price->flow_count; f++) {
        uint16_t *least = &price->kind[price->flow[f].kind].least_turn;
        *least = price->flow[f].turn < *least ? price->flow[f].turn : *least;
    }
    return true;
}

void plan_bind_turns_take(struct bind_price *price)
{
    unsigned turn = 0;
    for (size_t i = 0; i < price->flow_count; i++) {
        size_t f = price->order[i];
        struct load_flow *load = &price->load[f];
        if (i > 0 && task_of(price, f) != task_of(price, price->order[i - 1]))
            turn = 0;
        load->turn = turn;
        turn += load->from != load->to || !(load->bytes > 0);
    }
}
