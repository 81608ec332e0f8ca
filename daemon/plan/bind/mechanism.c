#include "plan/bind/mechanism.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/matrix.h"
#include "cost/policy.h"

bool plan_bind_mechanism_is_copy(const struct graph *graph, const struct transfer *transfer)
{
    return transfer != NULL && graph_place(graph, transfer->from)->kind != PLACE_NIC &&
           graph_place(graph, transfer->to)->kind != PLACE_NIC;
}

const char *plan_bind_mechanism_name(const struct graph *graph, const struct transfer *transfer)
{
    return !plan_bind_mechanism_is_copy(graph, transfer) ? "nic"
           : transfer->by == MECHANISM_KERNEL            ? "kernel"
                                                         : "copy engine";
}

/* The transfer of a flow of the choice that is a copy by that mechanism; else NULL. */
static const struct transfer *copy_of(const struct bind_traffic *traffic, const struct graph *graph,
                                      size_t flow, enum mechanism by)
{
    const struct transfer *transfer = traffic->ours.flow[flow].transfer;
    return plan_bind_mechanism_is_copy(graph, transfer) && transfer->by == by ? transfer : NULL;
}

/* A transfer belongs to the processes at both ends. */
static bool set_variables(const struct bind_traffic *traffic, const struct snapshot *snap,
                          struct bind_answer *answer)
{
    const struct bind_price *price = traffic->price;
    const struct transfer **mine = calloc(price->flow_count + 1, sizeof *mine);
    for (size_t t = 0; mine != NULL && t < answer->task_count; t++) {
        size_t count = 0;
        for (size_t f = 0; f < price->flow_count; f++)
            if (plan_bind_mechanism_is_copy(snap->graph, traffic->ours.flow[f].transfer) &&
                (plan_bind_price_task(price, f) == t || plan_bind_price_peer(price, f) == t))
                mine[count++] = traffic->ours.flow[f].transfer;
        answer->task[t].variables = runtime_variables_of(snap->graph, mine, count, false);
    }
    bool ok = mine != NULL;
    free(mine);
    return ok;
}

/* ---- reasons ---- */

/* Finds a variable that makes the runtime copy by kernel; NULL: there is none. */
static const char *kernel_variable(const struct bind_answer *answer, bool between_gpus)
{
    const char *found = NULL;
    for (size_t t = 0; t < answer->task_count; t++)
        for (size_t i = 0; i < answer->task[t].variables.count; i++) {
            const char *name = answer->task[t].variables.variable[i].name;
            if (strcmp(answer->task[t].variables.variable[i].value, "0") == 0 &&
                (strcmp(name, "HSA_ENABLE_SDMA") == 0 ||
                 (between_gpus && strcmp(name, "HSA_ENABLE_PEER_SDMA") == 0)))
                found = found == NULL || strcmp(name, found) > 0 ? name : found;
        }
    return found;
}

/* Adds how many copies there are by that mechanism; returns the first between GPUs, NULL none. */
static const struct transfer *explain_copies(const struct bind_traffic *traffic,
                                             const struct graph *graph, enum mechanism by,
                                             struct reasons *reasons, size_t *ret_count)
{
    const struct transfer *first = NULL;
    size_t between = 0, with_host = 0;
    for (size_t f = 0; f < traffic->price->flow_count; f++) {
        const struct transfer *transfer = copy_of(traffic, graph, f, by);
        bool is_peer = transfer != NULL && transfer_is_peer(transfer);
        between += is_peer;
        with_host += transfer != NULL && !is_peer;
        first = first == NULL && is_peer ? transfer : first;
    }
    *ret_count = between + with_host;
    if (*ret_count > 0)
        reasons_add(reasons,
                    by == MECHANISM_KERNEL ? REASON_COPIES_BY_KERNEL : REASON_COPIES_BY_ENGINE,
                    NO_SUBJECTS, NUMBERS((double)between, (double)with_host));
    return first;
}

/* Names the pairs of GPUs that copy by kernel where others do not; else the time by the other
 * mechanism. */
static void explain_pairs(const struct bind_traffic *traffic, const struct graph *graph,
                          bool is_mixed, bool is_kernel, struct bind_answer *answer)
{
    char pair[REASON_SUBJECT_SIZE];
    for (size_t f = 0; f < traffic->price->flow_count && is_mixed; f++) {
        const struct transfer *transfer = copy_of(traffic, graph, f, MECHANISM_KERNEL);
        if (transfer == NULL || !transfer_is_peer(transfer))
            continue;
        snprintf(pair, sizeof pair, "%.20s to %.20s", graph_place(graph, transfer->from)->name,
                 graph_place(graph, transfer->to)->name);
        reasons_add_about(&answer->reasons, REASON_PAIRS_BY_KERNEL, pair, NO_NUMBERS);
    }
    const struct bind_how *other = &traffic->how[is_kernel ? COPY_BY_ENGINE : COPY_BY_KERNEL];
    const char *name = is_kernel ? "copy engine" : "kernel",
               *rates = other->rates >= SOURCE_NOMINAL ? "nominal" : "published";
    double ours_ns = traffic->ours.time.time_ns;
    bool is_of_library = traffic->collective.value != NULL; /* which copies as it likes */
    if (is_mixed || is_of_library || !(fabs(other->time_ns - ours_ns) > POLICY_SAME * ours_ns))
        return;
    if (other->time_ns < ours_ns && other->rates > traffic->ours.rates)
        reasons_add(&answer->reasons, REASON_OTHER_MECHANISM_BEHIND, SUBJECTS(name, rates),
                    NUMBERS(other->time_ns));
    else
        reasons_add(&answer->reasons, REASON_OTHER_MECHANISM, SUBJECTS(name),
                    NUMBERS(other->time_ns));
}

/* Why kernels and not copy engines, where links are said to carry the same for both. */
static void explain_engines(const struct snapshot *snap, const struct transfer *kernel,
                            struct bind_answer *answer)
{
    const struct matrix_item *item =
        kernel == NULL || kernel->basis == BASIS_OWN
            ? NULL
            : matrix_find(snap->derived.matrix, kernel->from, kernel->to, MECHANISM_COPY_ENGINE);
    const struct engine_limit *engine = item != NULL ? item->alone.engine : NULL;
    if (engine == NULL || item->alone.basis == BASIS_OWN)
        return;
    if (engine->gfx != NULL)
        reasons_add(&answer->reasons, REASON_ENGINES_LIMITED, SUBJECTS(engine->gfx),
                    NUMBERS(engine->bytes_per_s));
    else
        reasons_add(&answer->reasons, REASON_ENGINES_UNKNOWN, NO_SUBJECTS, NO_NUMBERS);
}

/* A kernel that fills a GPU keeps the next one waiting, and both together take twice what is
 * predicted. */
static void explain_kernels(const struct bind_traffic *traffic, const struct graph *graph,
                            struct bind_answer *answer)
{
    for (size_t g = 0; g < traffic->price->request.gpu_count; g++) {
        place_id gpu = traffic->price->request.gpu[g];
        size_t kernels = 0;
        for (size_t f = 0; f < traffic->price->flow_count; f++) {
            const struct transfer *transfer = copy_of(traffic, graph, f, MECHANISM_KERNEL);
            kernels += transfer != NULL && transfer->driver == gpu;
        }
        if (kernels > 1)
            reasons_add_about(&answer->reasons, REASON_KERNELS_TOGETHER,
                              graph_place(graph, gpu)->name, NUMBERS((double)kernels));
    }
}

/* True when copies by one GPU's engines to several at once were measured. */
static bool knows_engines_apart(const struct snapshot *snap)
{
    bool knows = false;
    for (size_t i = 0; snap->sets != NULL && i < snap->sets->count && !knows; i++) {
        const struct set *set = &snap->sets->item[i];
        for (size_t f = 1; set->metric == METRIC_GPU_GPU_COPY_ENGINE && f < set->flow_count; f++)
            knows = knows || (set->flow[f].from == set->flow[f - 1].from &&
                              set->flow[f].to != set->flow[f - 1].to);
    }
    return knows;
}

/* Warns of copies that one GPU's engines make to several, over no limit that they share. */
static void warn_of_engines(const struct bind_traffic *traffic, const struct snapshot *snap,
                            struct bind_answer *answer)
{
    size_t flows = traffic->price->flow_count;
    for (size_t f = 0; f < flows && !knows_engines_apart(snap); f++)
        for (size_t other = f + 1; other < flows; other++) {
            const struct transfer *a = copy_of(traffic, snap->graph, f, MECHANISM_COPY_ENGINE),
                                  *b = copy_of(traffic, snap->graph, other, MECHANISM_COPY_ENGINE);
            if (a == NULL || b == NULL || a->driver != b->driver || a->to == b->to ||
                !transfer_is_peer(a) || !transfer_is_peer(b) ||
                limits_meet(snap->derived.limits, (struct limits_ends){a->from, a->to},
                            (struct limits_ends){b->from, b->to}))
                continue;
            reasons_add(&answer->warnings, REASON_ENGINES_APART, NO_SUBJECTS, NO_NUMBERS);
            return;
        }
}

enum berth_code plan_bind_mechanism(const struct bind_traffic *traffic, const struct snapshot *snap,
                                    struct bind_answer *answer, struct berth_err *err)
{
    struct reasons *reasons = &answer->reasons;
    size_t engines, kernels;
    if (!set_variables(traffic, snap, answer))
        return err_set(err, BERTH_NO_MEMORY, "no memory for transfers");
    const struct transfer *engine = explain_copies(traffic, snap->graph, MECHANISM_COPY_ENGINE,
                                                   reasons, &engines),
                          *kernel = explain_copies(traffic, snap->graph, MECHANISM_KERNEL, reasons,
                                                   &kernels);
    const char *variable = kernel_variable(answer, kernel != NULL);
    if (kernels > 0 && variable != NULL)
        reasons_add(reasons, REASON_KERNELS_OF_RUNTIME, SUBJECTS(variable), NO_NUMBERS);
    else if (kernels > 0)
        reasons_add(reasons, REASON_KERNELS_OF_PROGRAM, NO_SUBJECTS, NO_NUMBERS);
    if (engine != NULL || kernel != NULL)
        explain_pairs(traffic, snap->graph, engine != NULL && kernel != NULL, kernel != NULL,
                      answer);
    explain_engines(snap, kernel, answer);
    explain_kernels(traffic, snap->graph, answer);
    warn_of_engines(traffic, snap, answer);
    return BERTH_OK;
}
