#include "plan/route/contention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/endpoints.h"
#include "cost/step.h"
#include "plan/route/price.h"

#define HOPS   (ROUTE_PARTS_MAX * ROUTE_HOPS_MAX)
#define ROUNDS 8     /* until shares are those that the rates make */
#define ENOUGH 0.002 /* of all bytes: shares that differ by less are the same */
#define SAME   1e-9  /* times as long: such a difference is the numbers' */

_Static_assert(ROUTE_CONCURRENT_MAX + 2 * HOPS <= STEP_FLOWS_MAX, "no room for one option");

/* ---- the request's own transfers ---- */

static bool find_concurrent(const struct route_work *work, const struct route_transfer *transfer,
                            struct transfer *ret)
{
    double bytes = (double)transfer->bytes;
    place_id from = transfer->from, to = transfer->to;
    const struct matrix_item *engine = matrix_find(work->matrix, from, to, MECHANISM_COPY_ENGINE),
                             *kernel = matrix_find(work->matrix, from, to, MECHANISM_KERNEL);
    bool may = kernel != NULL && (engine == NULL || kernel->alone.source <= engine->alone.source ||
                                  kernel->alone.basis == BASIS_MEMORY);
    bool by_kernel = may && (engine == NULL || transfer_queued_ns(&kernel->alone, bytes) <
                                                   transfer_queued_ns(&engine->alone, bytes));
    if (by_kernel || engine != NULL)
        *ret = by_kernel ? kernel->alone : engine->alone;
    return by_kernel || engine != NULL;
}

enum berth_code contention_begin(struct route_work *work, struct berth_err *err)
{
    const struct route_request *request = &work->request;
    const struct allowed all = {.given = true}; /* they need not be the caller's */
    enum berth_code code = BERTH_OK;
    if (request->concurrent_count > ROUTE_CONCURRENT_MAX)
        return err_invalid(err, "concurrent", "at most %d transfers are weighed",
                           ROUTE_CONCURRENT_MAX);
    for (size_t i = 0; i < request->concurrent_count && code == BERTH_OK; i++) {
        const struct route_transfer *transfer = &request->concurrent[i];
        code =
            endpoints_check(work->snap, &all, transfer->from, transfer->to, transfer->bytes, err);
        if (code == BERTH_OK && !find_concurrent(work, transfer, &work->concurrent[i]))
            code = err_invalid(err, "concurrent", "nothing is known of a transfer from %s to %s",
                               graph_place(work->graph, transfer->from)->name,
                               graph_place(work->graph, transfer->to)->name);
        err_in_item(err, "concurrent", i);
    }
    return code;
}

/* ---- slowdown of an option ---- */

/* Flows: the hops of an option, the same hops back, the concurrent transfers. */
struct flows {
    struct step_flow flow[STEP_FLOWS_MAX];
    struct transfer alone[2 * HOPS]; /* no faster than the slowest hop of the part */
    size_t hops, count;
    double launch_ns; /* the concurrent transfers are there when the option is begun */
};

/* In one piece a hop begins when the one before has ended, but not where both directions move: the
 * last hop is the first one back. */
static void make_flows(const struct route_work *work, const struct route_option *option,
                       struct flows *ret)
{
    ret->hops = 0;
    ret->launch_ns =
        work->request.concurrent_count > 0 ? transfer_launch_ns(&option->part[0].hop[0]) : 0;
    for (size_t p = 0; p < option->part_count; p++) {
        const struct route_part *part = &option->part[p];
        double begin_ns = ret->launch_ns, bytes = part->share * work->bytes;
        bool at_once = part->chunk_bytes > 0 || work->request.both;
        for (size_t i = 0; i < part->hop_count; i++) {
            struct transfer *alone = &ret->alone[ret->hops];
            *alone = part->hop[i];
            if (at_once)
                alone->slowdown *= fmax(price_hop_rate(alone) / price_part_rate(part), 1);
            ret->flow[ret->hops++] =
                (struct step_flow){.transfer = alone, .bytes = bytes, .begin_ns = begin_ns};
            begin_ns += at_once ? 0 : transfer_queued_ns(alone, bytes);
        }
    }
    ret->count = ret->hops;
    for (size_t i = 0; i < ret->hops && work->request.both; i++) {
        struct transfer *back = &ret->alone[ret->count];
        *back = ret->alone[i];
        back->from = ret->alone[i].to;
        back->to = ret->alone[i].from;
        ret->flow[ret->count] = ret->flow[i];
        ret->flow[ret->count++].transfer = back;
    }
    for (size_t i = 0; i < work->request.concurrent_count; i++)
        ret->flow[ret->count++] = (struct step_flow){
            .transfer = &work->concurrent[i], .bytes = (double)work->request.concurrent[i].bytes};
}

static void take(const struct flows *flows, struct route_option *option)
{
    const struct step_flow *flow = flows->flow;
    double most = 1;
    option->shared = NULL;
    option->is_shared_stated = false;
    option->soonest = option->latest = 1;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++, flow++) {
            struct transfer *hop = &option->part[p].hop[i];
            double start_ns = transfer_start_ns(flow->transfer),
                   alone_ns = transfer_queued_ns(flow->transfer, flow->bytes) - start_ns,
                   slower = alone_ns > 0 ? (flow->time.time_ns - start_ns) / alone_ns : 1;
            option->soonest = fmin(option->soonest, flow->soonest_ns / flow->time.time_ns);
            option->latest = fmax(option->latest, flow->latest_ns / flow->time.time_ns);
            if (!(slower > 1 + SAME))
                continue;
            hop->slowdown = flow->transfer->slowdown * slower;
            hop->slowdown_source = flow->is_nominal ? SOURCE_NOMINAL : hop->slowdown_source;
            if (slower > most && flow->shared != NULL)
                option->shared = flow->shared;
            option->is_shared_stated = option->is_shared_stated || flow->is_nominal;
            most = fmax(most, slower);
        }
}

/* Applies the run of just these transfers of a kind: they get no more than there. */
static void take_run(const struct route_work *work, struct route_option *option)
{
    if (work->request.concurrent_count > 0 || work->request.both)
        return;
    for (int peer = 0; peer < 2; peer++) {
        double together = 0, got = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t p = 0; p < option->part_count; p++) {
                struct route_part *part = &option->part[p];
                double rate = price_part_rate(part);
                for (size_t i = 0; i < part->hop_count; i++) {
                    if (isinf(part->run_rate[i]) || part->is_larger_run[i] ||
                        transfer_is_peer(&part->hop[i]) != peer)
                        continue;
                    if (pass == 0) {
                        together += rate;
                        got += part->run_rate[i];
                    } else if (got < together) {
                        part->hop[i].slowdown *=
                            price_hop_rate(&part->hop[i]) / rate * together / got;
                    }
                    part->hop[i].slowdown_source = SOURCE_MEASURED;
                }
            }
    }
}

enum berth_code contention_apply(const struct route_work *work, struct route_option *option,
                                 struct berth_err *err)
{
    const struct route_option alone = *option;
    struct flows flows;
    double apart = 1;
    bool is_alone = route_is_direct(option) && work->request.concurrent_count == 0;
    price_shares(option, work->bytes);
    for (int round = 0; round < ROUNDS && apart > ENOUGH && !is_alone; round++) {
        double share[ROUTE_PARTS_MAX] = {0};
        for (size_t p = 0; p < option->part_count; p++) {
            share[p] = option->part[p].share;
            memcpy(option->part[p].hop, alone.part[p].hop, sizeof alone.part[p].hop);
        }
        make_flows(work, option, &flows);
        enum berth_code code = plan_step(work->snap, flows.flow, flows.count, err);
        if (code != BERTH_OK)
            return code;
        take(&flows, option);
        take_run(work, option);
        price_shares(option, work->bytes);
        apart = 0;
        for (size_t p = 0; p < option->part_count; p++)
            apart = fmax(apart, fabs(option->part[p].share - share[p]));
    }
    return BERTH_OK;
}
