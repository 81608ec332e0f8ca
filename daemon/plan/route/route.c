#include "plan/route/route.h"

#include <math.h>
#include <stdlib.h>

#include "cost/endpoints.h"
#include "node/gpu.h"
#include "plan/route/explain.h"
#include "plan/route/options.h"
#include "plan/route/order.h"
#include "plan/route/price.h"
#include "plan/route/sizes.h"

static enum berth_code not_measured(const struct route_work *work, struct berth_err *err)
{
    const struct graph *graph = work->graph;
    const place_id end[] = {work->request.from, work->request.to};
    const struct place *from = graph_place(graph, end[0]), *to = graph_place(graph, end[1]);
    char why[MATRIX_WHY_SIZE];
    /* the numbers of a gpu's memory have the gpu's name, which the caller may not use */
    for (size_t i = 0; i < 2; i++) {
        place_id gpu = graph_place(graph, end[i])->kind == PLACE_NUMA
                           ? endpoints_gpu_of(graph, end[i])
                           : PLACE_NONE;
        if (gpu != PLACE_NONE && !allowed_has_gpu(work->request.allowed, gpu))
            return endpoints_check(work->snap, work->request.allowed, gpu, end[1 - i],
                                   work->request.bytes, err);
    }
    matrix_why_not(work->snap, end[0], end[1], why);
    err_text(err, 0,
             metric_info(from->kind == to->kind ? METRIC_GPU_GPU_COPY_ENGINE
                                                : METRIC_HOST_GPU_COPY_ENGINE)
                 ->name);
    err_text(err, 1, from->name);
    err_text(err, 2, to->name);
    return err_set(err, BERTH_NOT_MEASURED,
                   "neither measurements nor links say what a transfer from %s to %s takes%s",
                   from->name, to->name, why);
}

/* The gpu that a NUMA node is the memory of, or shares it with its cores (MI300A), unless something
 * is known of that NUMA node itself, or the gpu is not allowed. */
static place_id resolved(struct route_work *work, place_id end, place_id other, bool is_known)
{
    const struct graph *graph = work->graph;
    bool is_numa = graph_place(graph, end)->kind == PLACE_NUMA;
    place_id gpu = !is_known && is_numa ? endpoints_gpu_of(graph, end) : PLACE_NONE;
    if (is_numa && gpu_apu_at(graph, end) == other)
        reasons_add(&work->answer->warnings, REASON_NEED_NOT_MOVE,
                    SUBJECTS(graph_place(graph, end)->name, graph_place(graph, other)->name),
                    NO_NUMBERS);
    else if (is_numa && !is_known && gpu == PLACE_NONE)
        gpu = gpu_apu_at(graph, end);
    if (gpu == PLACE_NONE || !allowed_has_gpu(work->request.allowed, gpu) ||
        !allowed_has_memory(work->request.allowed, end))
        return end;
    reasons_add(&work->answer->reasons, REASON_MEMORY_OF_GPU,
                SUBJECTS(graph_place(graph, end)->name, graph_place(graph, gpu)->name), NO_NUMBERS);
    return gpu;
}

static void resolve(struct route_work *work)
{
    place_id from = work->request.from, to = work->request.to;
    bool is_known = false;
    for (int by = 0; by < MECHANISMS; by++) {
        const struct matrix_item *item = matrix_find(work->matrix, from, to, (enum mechanism)by);
        is_known = is_known || (item != NULL && item->alone.basis == BASIS_OWN);
    }
    work->request.from = resolved(work, from, to, is_known);
    work->request.to = resolved(work, to, from, is_known);
}

/* ---- concurrent transfers ---- */

/* Finds the mechanism that is faster alone. */
static bool find_faster(const struct route_work *work, const struct route_transfer *transfer,
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

static enum berth_code find_concurrent(struct route_work *work, struct berth_err *err)
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
        if (code == BERTH_OK && !find_faster(work, transfer, &work->concurrent[i]))
            code = err_invalid(err, "concurrent", "nothing is known of a transfer from %s to %s",
                               graph_place(work->graph, transfer->from)->name,
                               graph_place(work->graph, transfer->to)->name);
        err_in_item(err, "concurrent", i);
    }
    return code;
}

static enum berth_code fill(struct route_work *work, struct berth_err *err)
{
    const struct route_request *request = &work->request;
    struct route_answer *answer = work->answer;
    enum berth_code code = endpoints_check(work->snap, request->allowed, request->from, request->to,
                                           request->bytes, err);
    answer->option = code == BERTH_OK ? malloc(ROUTE_OPTIONS_MAX * sizeof *answer->option) : NULL;
    if (code == BERTH_OK && answer->option == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for paths");
    if (code == BERTH_OK)
        code = find_concurrent(work, err);
    if (code == BERTH_OK)
        code = options_find(work, err);
    if (code == BERTH_OK && answer->count == 0)
        code = not_measured(work, err);
    if (code != BERTH_OK)
        return code;
    order_options(work);
    if (request->direct)
        return BERTH_OK;
    if (request->concurrent_count == 0 && !sizes_find(work))
        return err_set(err, BERTH_NO_MEMORY, "no memory for sizes");
    code = explain_cite(work, err);
    return code == BERTH_OK ? explain_answer(work, err) : code;
}

enum berth_code plan_route(const struct snapshot *snap, const struct route_request *request,
                           struct route_answer *ret, struct berth_err *err)
{
    struct route_answer answer = {.b80_bytes = NAN};
    struct route_work work = {.snap = snap,
                              .graph = snap->graph,
                              .matrix = snap->derived.matrix,
                              .request = *request,
                              .bytes = (double)request->bytes,
                              .iteration = iteration_new(snap->derived.usage, PRICE_FLOWS_MAX),
                              .answer = &answer};
    if (work.iteration == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
    resolve(&work);
    enum berth_code code = fill(&work, err);
    iteration_free(work.iteration);
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
    evidence_done(&answer->evidence);
}
