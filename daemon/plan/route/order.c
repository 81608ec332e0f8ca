#include "plan/route/order.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/policy.h"
#include "node/transfer.h"
#include "plan/route/price.h"

/* ---- sources ---- */

static bool has_flow(const struct set *set, place_id from, place_id to, const char *axes,
                     double *ret_rate)
{
    for (size_t f = 0; f < set->flow_count; f++)
        if (set->flow[f].from == from && set->flow[f].to == to &&
            strcmp(set->flow[f].axes, axes) == 0) {
            *ret_rate = set->flow[f].bytes_per_s;
            return true;
        }
    return false;
}

/* True for more than two transfers with the host, while as many bytes come back. */
static bool needs_back(const struct route_work *work, const struct order_group *group)
{
    return work->request.both && group->count > 2 &&
           (group->metric == METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT ||
            group->metric == METRIC_HOST_GPU_KERNEL_CONCURRENT);
}

static bool has_all(const struct route_work *work, const struct set *set,
                    const struct order_group *group, double *ret_rate)
{
    double back;
    for (size_t i = 0; i < group->count; i++) {
        const struct transfer *hop = group->hop[i];
        const char *axes =
            hop->basis == BASIS_OWN ? values_axes(work->snap->values, hop->value) : NULL;
        if (axes == NULL || !has_flow(set, hop->from, hop->to, axes, &ret_rate[i]) ||
            (needs_back(work, group) && !has_flow(set, hop->to, hop->from, axes, &back)))
            return false;
    }
    return true;
}

/* The smallest run with all of them; both directions of more than two where these are asked for.
 * NULL none. */
static const struct set *find_run(const struct route_work *work, const struct order_group *group,
                                  double *ret_rate)
{
    const struct sets *sets = work->snap->sets;
    for (size_t s = 0; sets != NULL && s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        if (set->metric == group->metric && set->source == VALUE_MEASURED &&
            set->flow_count >= group->count && has_all(work, set, group, ret_rate))
            return set;
    }
    return NULL;
}

static enum metric run_metric(unsigned kind)
{
    return kind == TRANSFER_HOST_ENGINE   ? METRIC_HOST_GPU_COPY_ENGINE_CONCURRENT
           : kind == TRANSFER_HOST_KERNEL ? METRIC_HOST_GPU_KERNEL_CONCURRENT
           : kind == TRANSFER_PEER_ENGINE ? METRIC_GPU_GPU_COPY_ENGINE_CONCURRENT
                                          : METRIC_GPU_GPU_KERNEL_CONCURRENT;
}

/* True when both go from one gpu to the host, or from the host to one gpu. */
static bool share_host_link(const struct graph *graph, const struct transfer *a,
                            const struct transfer *b)
{
    bool a_in = graph_place(graph, a->from)->kind != PLACE_GPU,
         b_in = graph_place(graph, b->from)->kind != PLACE_GPU,
         a_out = graph_place(graph, a->to)->kind != PLACE_GPU,
         b_out = graph_place(graph, b->to)->kind != PLACE_GPU;
    return (a_in && b_in && a->to == b->to) || (a_out && b_out && a->from == b->from);
}

static void add_hop(struct order_group *group, const struct transfer *hop, double busy)
{
    group->hop[group->count++] = hop;
    group->busy += busy;
}

/* Groups hops by kind, with the concurrent transfers over the same links to the host. Returns the
 * number of groups. */
static size_t group_hops(const struct route_work *work, const struct route_option *option,
                         struct order_group *ret)
{
    size_t groups = 0;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++) {
            const struct transfer *hop = &option->part[p].hop[i];
            enum metric metric = run_metric(hop->kind);
            size_t g = 0;
            while (g < groups && ret[g].metric != metric)
                g++;
            if (g == groups)
                ret[groups++] = (struct order_group){.metric = metric};
            add_hop(&ret[g], hop, price_part_rate(&option->part[p]) / price_hop_rate(hop));
        }
    for (size_t g = 0; g < groups; g++)
        for (size_t k = 0, hops = ret[g].count; k < work->request.concurrent_count; k++)
            for (size_t i = 0; i < hops; i++)
                if (share_host_link(work->graph, ret[g].hop[i], &work->concurrent[k])) {
                    add_hop(&ret[g], &work->concurrent[k], 1);
                    break;
                }
    return groups;
}

size_t order_missing(const struct route_work *work, const struct route_option *option,
                     struct order_group *ret, size_t most)
{
    struct order_group group[TRANSFER_KINDS];
    size_t groups = route_is_direct(option) ? 0 : group_hops(work, option, group), missing = 0;
    for (size_t g = 0; g < groups; g++) {
        double rate[ORDER_GROUP_MAX];
        if (missing < most && group[g].count > 1 && group[g].busy > 1 + POLICY_SAME &&
            find_run(work, &group[g], rate) == NULL)
            ret[missing++] = group[g];
    }
    return missing;
}

/* Finds the rates of hops in the run of all of their kind. */
static void find_run_rates(const struct route_work *work, struct route_option *option)
{
    struct order_group group[TRANSFER_KINDS];
    size_t groups = group_hops(work, option, group);
    for (size_t g = 0; g < groups; g++) {
        double rate[ORDER_GROUP_MAX];
        size_t count = group[g].count, its = needs_back(work, &group[g]) ? 2 * count : count;
        const struct set *run = count > 1 ? find_run(work, &group[g], rate) : NULL;
        for (size_t p = 0, k = 0; run != NULL && p < option->part_count; p++)
            for (size_t i = 0; i < option->part[p].hop_count && k < count; i++)
                if (group[g].hop[k] == &option->part[p].hop[i]) {
                    option->part[p].run_rate[i] = rate[k++];
                    option->part[p].is_larger_run[i] = run->flow_count > its;
                }
    }
}

void order_begin(const struct route_work *work, struct route_option *option)
{
    struct order_group missing;
    option->source = SOURCE_MEASURED;
    option->knows_size = option->knows_both = true;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++) {
            const struct transfer *hop = &option->part[p].hop[i];
            option->source = estimate_worse(option->source, hop->source);
            option->part[p].run_rate[i] = INFINITY;
            option->part[p].is_larger_run[i] = false;
            option->knows_both = option->knows_both && (!work->request.both || hop->both != NULL ||
                                                        hop->both_set != NULL);
            option->knows_size = option->knows_size && hop->basis == BASIS_OWN &&
                                 (!route_is_direct(option) || work->bytes >= hop->least_bytes);
        }
    option->is_together = order_missing(work, option, &missing, 1) == 0;
    if (option->is_together && option->source == SOURCE_MEASURED)
        find_run_rates(work, option);
}

enum source route_source(const struct route_option *option, double bytes)
{
    enum source source =
        option->knows_both && option->is_together ? SOURCE_MEASURED : SOURCE_SIMILAR_PAIR;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            source = estimate_worse(source, transfer_source(&option->part[p].hop[i],
                                                            option->part[p].share * bytes,
                                                            price_piece(&option->part[p], bytes)));
    /* a hop of several counts as its least measured size where its start-up is unknown */
    return source == SOURCE_LOWER_BOUND && !option->is_at_least ? SOURCE_SIMILAR_PAIR : source;
}

/* ---- which leads ---- */

/* Compares direct options. */
static bool is_better_known(const struct route_option *a, const struct route_option *b)
{
    if (a->knows_size != b->knows_size)
        return a->knows_size;
    if (a->source != b->source)
        return a->source < b->source;
    return a->part[0].hop[0].by < b->part[0].hop[0].by;
}

const struct route_option *order_reference(const struct route_answer *answer)
{
    const struct route_option *found = NULL;
    for (size_t i = 0; i < answer->count; i++)
        if (route_is_direct(&answer->option[i]) &&
            (found == NULL || is_better_known(&answer->option[i], found)))
            found = &answer->option[i];
    return found;
}

/* True when links alone give the rate, and such engines may not fill these. */
static bool is_doubtful_engine(const struct route_option *option)
{
    return option->part[0].hop[0].engine != NULL && option->part[0].hop[0].basis != BASIS_OWN;
}

/* True for a kernel with a doubtful time: engines leave the gpus free. */
static bool is_doubtful_kernel(const struct route_option *option)
{
    const struct transfer *hop = &option->part[0].hop[0];
    return hop->by == MECHANISM_KERNEL &&
           (hop->sizes == SOURCE_SIMILAR_PAIR || hop->slowdown_source != SOURCE_MEASURED ||
            !option->knows_both);
}

bool order_gains(const struct route_option *option, const struct route_option *reference,
                 double time_ns, double reference_ns)
{
    bool must = reference != NULL && option != reference &&
                (!route_is_direct(option) ||
                 (is_doubtful_kernel(option) && !is_doubtful_engine(reference) &&
                  reference->part[0].hop[0].by == MECHANISM_COPY_ENGINE));
    return !must || time_ns < reference_ns * (1 - POLICY_SIMILAR);
}

/* The option at the rates of the larger runs that have its transfers. */
static void take_least(const struct route_work *work, struct route_option *least)
{
    bool is_slower = false;
    for (size_t p = 0; p < least->part_count; p++)
        for (size_t i = 0; i < least->part[p].hop_count; i++) {
            struct transfer *hop = &least->part[p].hop[i];
            double slower = least->part[p].is_larger_run[i]
                                ? price_hop_rate(hop) / least->part[p].run_rate[i]
                                : 1;
            is_slower = is_slower || slower > 1;
            hop->slowdown *= fmax(slower, 1);
        }
    if (is_slower)
        price_shares(least, work->bytes);
}

void order_judge(const struct route_work *work, const struct route_option *reference,
                 struct route_option *option)
{
    bool is_direct = route_is_direct(option);
    struct route_option least = *option;
    option->may_lead_at_all =
        work->request.allow_unmeasured ||
        (is_direct ? reference == NULL || option->source <= reference->source ||
                         option->source == SOURCE_REVERSE_DIRECTION
                   : option->source == SOURCE_MEASURED && option->is_together);
    if (option->may_lead_at_all && !is_direct && reference != NULL) {
        if (!work->request.allow_unmeasured)
            take_least(work, &least);
        option->may_lead_at_all = price_rate(reference) < price_rate(&least) * (1 - POLICY_SEVERAL);
    }
    option->may_lead = option->may_lead_at_all &&
                       (reference == NULL || order_gains(option, reference, least.predicted.time_ns,
                                                         reference->predicted.time_ns));
}

static size_t hops_of(const struct route_option *option)
{
    size_t hops = 0;
    for (size_t p = 0; p < option->part_count; p++)
        hops += option->part[p].hop_count;
    return hops;
}

/* Compares two options that may lead; negative: the first. least_ns: the least time of all. */
static int compare(const struct route_option *a, double a_ns, const struct route_option *b,
                   double b_ns, double least_ns)
{
    bool a_same = a_ns <= least_ns * (1 + POLICY_SAME),
         b_same = b_ns <= least_ns * (1 + POLICY_SAME);
    if (!a_same || !b_same)
        return a_ns < b_ns ? -1 : a_ns > b_ns;
    if (hops_of(a) != hops_of(b))
        return hops_of(a) < hops_of(b) ? -1 : 1;
    enum mechanism a_by = a->part[0].hop[0].by, b_by = b->part[0].hop[0].by;
    if (a_by == b_by)
        return a_ns < b_ns ? -1 : a_ns > b_ns;
    const struct route_option *engine = a_by == MECHANISM_COPY_ENGINE ? a : b;
    return (engine == a) != is_doubtful_engine(engine) ? -1 : 1;
}

static void add_name(enum metric metric, char text[ROUTE_COMMAND_SIZE])
{
    const char *name = metric_info(metric)->name;
    size_t used = strlen(text);
    if (strstr(text, name) == NULL)
        snprintf(text + used, ROUTE_COMMAND_SIZE - used, " %s", name);
}

static void write_command(const struct route_work *work, const struct route_option *option,
                          char text[ROUTE_COMMAND_SIZE])
{
    struct order_group missing[TRANSFER_KINDS];
    size_t groups = order_missing(work, option, missing, TRANSFER_KINDS);
    const char *begin = groups > 0 ? "berth probe --full" : "berth probe";
    snprintf(text, ROUTE_COMMAND_SIZE, "%s", begin);
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            if (option->part[p].hop[i].source >= SOURCE_PUBLISHED)
                add_name(transfer_metric(&option->part[p].hop[i]), text);
    for (size_t g = 0; g < groups; g++)
        add_name(missing[g].metric, text);
    if (strcmp(text, begin) == 0)
        text[0] = '\0';
}

static bool goes_before(const struct route_option *a, const struct route_option *b, bool leads,
                        double least_ns)
{
    if (leads && a->may_lead != b->may_lead)
        return a->may_lead;
    if (a->knows_size != b->knows_size)
        return a->knows_size;
    return compare(a, a->predicted.time_ns, b, b->predicted.time_ns, leads ? least_ns : 0) < 0;
}

void order_options(const struct route_work *work)
{
    struct route_answer *answer = work->answer;
    double least_ns = INFINITY;
    bool is_known = false;
    for (size_t i = 0; i < answer->count; i++)
        is_known = is_known || (answer->option[i].may_lead && answer->option[i].knows_size);
    for (size_t i = 0; i < answer->count; i++)
        if (answer->option[i].may_lead && answer->option[i].knows_size == is_known)
            least_ns = fmin(least_ns, answer->option[i].predicted.time_ns);
    /* there are few, and they are large: each is moved once at most */
    for (size_t i = 0; i + 1 < answer->count; i++) {
        size_t first = i;
        for (size_t k = i + 1; k < answer->count; k++)
            if (goes_before(&answer->option[k], &answer->option[first], i == 0, least_ns))
                first = k;
        if (first != i) {
            struct route_option option = answer->option[i];
            answer->option[i] = answer->option[first];
            answer->option[first] = option;
        }
    }
    for (size_t i = 1; i < answer->count; i++) {
        struct route_option *option = &answer->option[i];
        bool is_evident = option->source == SOURCE_MEASURED && option->is_together;
        if (option->predicted.time_ns < answer->option[0].predicted.time_ns)
            write_command(work, is_evident ? &answer->option[0] : option, option->worth_measuring);
    }
}
