#include "plan/route/leads.h"

#include <stdlib.h>

#include "node/transfer.h"
#include "plan/route/order.h"

struct runs {
    struct route_run *item;
    size_t count, most;
};

static int by_ends(const void *a, const void *b)
{
    const place_id *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}

static bool is_same(const struct route_run *a, const struct route_run *b)
{
    bool same = a->metric == b->metric && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->flow[i].from == b->flow[i].from && a->flow[i].to == b->flow[i].to;
    return same;
}

static void add(const struct order_group *group, struct runs *runs)
{
    struct route_run run = {.metric = group->metric, .count = group->count};
    for (size_t i = 0; i < group->count; i++) {
        run.flow[i].from = group->hop[i]->from;
        run.flow[i].to = group->hop[i]->to;
    }
    qsort(run.flow, run.count, sizeof run.flow[0], by_ends);
    for (size_t i = 0; i < runs->count; i++)
        if (is_same(&runs->item[i], &run))
            return;
    if (runs->count < runs->most)
        runs->item[runs->count++] = run;
}

static enum berth_code add_leads(const struct snapshot *snap, const struct route_request *request,
                                 struct runs *runs, struct berth_err *err)
{
    struct route_answer *answer = malloc(sizeof *answer);
    if (answer == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for paths");
    enum berth_code code = plan_route(snap, request, answer, err);
    if (code == BERTH_OK) {
        const struct route_work work = {.snap = snap,
                                        .graph = snap->graph,
                                        .matrix = snap->derived.matrix,
                                        .request = *request};
        struct order_group group[TRANSFER_KINDS];
        size_t groups = order_missing(&work, &answer->option[0], group, TRANSFER_KINDS);
        for (size_t g = 0; g < groups; g++)
            add(&group[g], runs);
        plan_route_done(answer);
    }
    free(answer);
    return code == BERTH_NO_MEMORY ? code : BERTH_OK;
}

enum berth_code route_unmeasured_leads(const struct snapshot *snap, int64_t bytes,
                                       struct route_run *ret, size_t most, size_t *ret_count,
                                       struct berth_err *err)
{
    const struct allowed all = {.given = true};
    struct runs runs = {ret, 0, most};
    const place_id *memory;
    size_t count = matrix_memories(snap->derived.matrix, &memory);
    enum berth_code code = BERTH_OK;
    for (size_t f = 0; f < count; f++)
        for (size_t t = 0; t < count && code == BERTH_OK; t++) {
            const struct route_request request = {.from = memory[f],
                                                  .to = memory[t],
                                                  .bytes = bytes,
                                                  .allow_unmeasured = true,
                                                  .allowed = &all};
            code = add_leads(snap, &request, &runs, err);
        }
    *ret_count = runs.count;
    return code;
}
