#include "cost/resource_model.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/resource_between.h"
#include "cost/resource_candidates.h"
#include "cost/resource_covered.h"
#include "cost/resource_make.h"
#include "cost/resource_narrow.h"

#define FLOWS_LOOKED_AT 20000       /* in all sets of a metric: with more, nothing is looked for */
#define ROOM_MAX        (16u << 20) /* bytes of the table of who uses what */

/* The sets of one metric, first to end, as a problem of numbers. */
struct building {
    const struct graph *graph;
    const struct sets *sets;
    const struct values *values;
    const struct resource_set *model_set; /* by set */
    size_t first, end;
    const struct set_flow **flow; /* each different one */
    struct resource_problem problem;
    const struct resource_role *role;
    size_t role_count;
    const struct resource_structure *structure;
};

/* What contradicts newer or better known values says nothing of what is shared. */
static bool is_left_out(const struct building *building, size_t s)
{
    return building->model_set[s].contradiction.value != NULL;
}

static bool same_flow(const struct set_flow *a, const struct set_flow *b)
{
    return a->from == b->from && a->to == b->to && strcmp(a->axes, b->axes) == 0;
}

static int compare_flows(const void *a, const void *b)
{
    const struct set_flow *x = *(const struct set_flow *const *)a,
                          *y = *(const struct set_flow *const *)b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return strcmp(x->axes, y->axes);
}

static size_t find_flow(const struct building *building, const struct set_flow *flow)
{
    const struct set_flow *const *at = bsearch(&flow, building->flow, building->problem.flow_count,
                                               sizeof *building->flow, compare_flows);
    return (size_t)(at - (const struct set_flow *const *)building->flow);
}

static bool list_flows(struct building *building)
{
    size_t count = 0, kept = 0;
    for (size_t s = building->first; s < building->end; s++)
        count += building->sets->item[s].flow_count;
    building->flow = calloc(count + 1, sizeof *building->flow);
    if (building->flow == NULL)
        return false;
    count = 0;
    for (size_t s = building->first; s < building->end; s++)
        for (size_t i = 0; i < building->sets->item[s].flow_count && !is_left_out(building, s); i++)
            building->flow[count++] = &building->sets->item[s].flow[i];
    qsort(building->flow, count, sizeof *building->flow, compare_flows);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !same_flow(building->flow[kept - 1], building->flow[i]))
            building->flow[kept++] = building->flow[i];
    building->problem.flow_count = kept;
    return true;
}

static bool find_alone(struct building *building)
{
    const struct sets *sets = building->sets;
    struct resource_problem *problem = &building->problem;
    enum metric metric;
    bool has_metric = transfer_alone_metric(sets->item[building->first].metric, &metric);
    problem->alone = calloc(problem->flow_count + 1, sizeof *problem->alone);
    if (problem->alone == NULL)
        return false;
    for (size_t s = building->first; s < building->end; s++)
        if (sets->item[s].flow_count == 1 && !is_left_out(building, s))
            problem->alone[find_flow(building, &sets->item[s].flow[0])] =
                sets->item[s].flow[0].bytes_per_s;
    for (size_t i = 0; i < problem->flow_count; i++) {
        const struct set_flow *flow = building->flow[i];
        const struct value *value =
            has_metric ? values_find(building->values, metric, flow->from, flow->to, flow->axes)
                       : NULL;
        if (problem->alone[i] == 0 && value != NULL && value->source != VALUE_NOMINAL)
            problem->alone[i] = value->value;
    }
    for (size_t s = building->first; s < building->end; s++)
        for (size_t i = 0; i < sets->item[s].flow_count && !is_left_out(building, s); i++) {
            const struct set_flow *flow = &sets->item[s].flow[i];
            size_t at = find_flow(building, flow);
            if (problem->alone[at] < flow->bytes_per_s &&
                (problem->alone[at] == 0 || sets->item[s].flow_count > 1))
                problem->alone[at] = flow->bytes_per_s; /* what it got it can get */
        }
    return true;
}

/* Flows of all runs are one allocation, that of the first; so are rate, low, high and predicted. */
static void free_runs(struct resource_problem *problem)
{
    if (problem->run != NULL) {
        free(problem->run[0].flow);
        free(problem->run[0].rate);
    }
    free(problem->run);
}

static bool list_runs(struct building *building)
{
    struct resource_problem *problem = &building->problem;
    size_t flows = 0, taken = 0;
    for (size_t s = building->first; s < building->end; s++)
        flows += building->sets->item[s].flow_count;
    problem->run = calloc(building->end - building->first + 1, sizeof *problem->run);
    if (problem->run == NULL)
        return false;
    size_t *flow = problem->run[0].flow = calloc(flows + 1, sizeof *flow);
    double *rate = problem->run[0].rate = calloc(4 * flows + 1, sizeof *rate);
    for (size_t s = building->first; flow != NULL && rate != NULL && s < building->end; s++) {
        const struct set *set = &building->sets->item[s];
        if (is_left_out(building, s))
            continue;
        struct resource_run *run = &problem->run[problem->run_count++];
        run->count = set->flow_count;
        run->flow = flow + taken;
        run->rate = rate + 4 * taken;
        run->low = run->rate + run->count;
        run->high = run->low + run->count;
        run->predicted = run->high + run->count;
        taken += run->count;
        for (size_t i = 0; i < run->count; i++) {
            run->flow[i] = find_flow(building, &set->flow[i]);
            run->rate[i] = set->flow[i].bytes_per_s;
            run->low[i] = set->flow[i].low;
            run->high[i] = set->flow[i].high;
        }
    }
    return flow != NULL && rate != NULL;
}

/* "gpu1+gpu2 to numa0": by who shares it, where all have an end in common; else the first of its
 * users and how many more. */
static void name_by_users(const struct graph *graph, const struct resource_found *found, char *name,
                          size_t size)
{
    const struct set_flow *user = found->user;
    bool same_from = true, same_to = true;
    size_t length = 0;
    for (size_t i = 1; i < found->user_count; i++) {
        same_from = same_from && user[i].from == user[0].from;
        same_to = same_to && user[i].to == user[0].to;
    }
    const char *common = graph_place(graph, same_to ? user[0].to : user[0].from)->name;
    if (same_from && !same_to)
        length = (size_t)snprintf(name, size, "%s to ", common);
    for (size_t i = 0; i < found->user_count && length < size && (same_from || same_to); i++)
        length += (size_t)snprintf(name + length, size - length, "%s%s", i > 0 ? "+" : "",
                                   graph_place(graph, same_to ? user[i].from : user[i].to)->name);
    if (same_to && length < size)
        length += (size_t)snprintf(name + length, size - length, " to %s", common);
    if (length == 0 || length >= size)
        snprintf(name, size, "%s to %s and %zu more", graph_place(graph, user[0].from)->name,
                 graph_place(graph, user[0].to)->name, found->user_count - 1);
}

static bool take_limit(struct resource_model *model, const struct building *building,
                       const struct resource_limit *limit, const struct resource_role *kept)
{
    struct resource_found *more = realloc(model->found, (model->found_count + 1) * sizeof *more);
    if (more == NULL)
        return false;
    model->found = more;
    struct resource_found *found = &more[model->found_count];
    *found = (struct resource_found){.metric = building->sets->item[building->first].metric,
                                     .has_role = limit->candidate != RESOURCE_NO_CANDIDATE,
                                     .structure = building->structure,
                                     .step_count = limit->step_count,
                                     .twin_count = limit->twin_count};
    found->user = calloc(building->problem.flow_count, sizeof *found->user);
    if (found->user == NULL)
        return false;
    model->found_count++;
    for (size_t i = 0; i < building->problem.flow_count; i++)
        if (limit->users[i])
            found->user[found->user_count++] = *building->flow[i];
    memcpy(found->step, limit->step, sizeof found->step);
    if (found->has_role) {
        found->role = kept[limit->candidate];
        resource_role_name(building->graph, &found->role, found->name, sizeof found->name);
    } else {
        name_by_users(building->graph, found, found->name, sizeof found->name);
    }
    for (size_t i = 0; i < limit->twin_count; i++)
        resource_role_name(building->graph, &kept[limit->twin[i]], found->twin[i],
                           sizeof found->twin[i]);
    return true;
}

static bool take_results(struct resource_model *model, const struct building *building,
                         const struct resource_role *kept)
{
    bool ok = true;
    for (size_t i = 0; i < building->problem.limit_count && ok; i++)
        ok = take_limit(model, building, &building->problem.limit[i], kept);
    const struct resource_run *run = building->problem.run;
    for (size_t s = building->first; s < building->end && ok; s++) {
        struct resource_set *set = &model->set[s];
        if (is_left_out(building, s))
            continue;
        set->predicted = calloc(run->count + 1, sizeof *set->predicted);
        ok = set->predicted != NULL;
        if (ok)
            memcpy(set->predicted, run->predicted, run->count * sizeof *set->predicted);
        set->is_reproduced = run->is_reproduced;
        run++;
    }
    return ok;
}

/* Far beyond what a probe measures, only a folder is: its sets are served without. */
static bool is_too_much(const struct building *building)
{
    size_t flows = 0;
    for (size_t s = building->first; s < building->end; s++)
        flows += building->sets->item[s].flow_count;
    return flows > FLOWS_LOOKED_AT || flows * building->role_count > ROOM_MAX;
}

static bool add_metric(struct resource_model *model, struct building *building)
{
    if (is_too_much(building))
        return true;
    struct resource_role *kept = calloc(building->role_count + 1, sizeof *kept);
    bool ok = kept != NULL && list_flows(building) && find_alone(building) && list_runs(building);
    bool *is_end = calloc(building->role_count + 1, sizeof *is_end);
    size_t *one_way = calloc(building->role_count + 1, sizeof *one_way);
    unsigned char *candidate = calloc(building->role_count + 1, building->problem.flow_count + 1);
    const struct resource_candidates all = {building->graph, building->structure, building->role,
                                            building->role_count, building->flow};
    ok = ok && is_end != NULL && one_way != NULL && candidate != NULL &&
         resource_candidates_list(&all, &building->problem, kept, candidate, is_end, one_way) &&
         resource_fit(&building->problem) && take_results(model, building, kept);
    resource_fit_done(&building->problem);
    free_runs(&building->problem);
    free(building->problem.alone);
    free(building->flow);
    free(candidate);
    free(is_end);
    free(one_way);
    free(kept);
    return ok;
}

/* Sets of one flow ascend by metric and flow; so do the values. */
static bool take_alone(struct resource_model *model, const struct values *values,
                       const struct sets *sets)
{
    model->alone = calloc((sets != NULL ? sets->count : 0) + 1, sizeof *model->alone);
    for (size_t s = 0; model->alone != NULL && sets != NULL && s < sets->count; s++) {
        const struct set *set = &sets->item[s];
        const struct set_flow *flow = set->flow;
        enum metric metric;
        if (set->flow_count != 1 || *flow->axes != '\0' || !(flow->bytes_per_s > 0) ||
            !transfer_alone_metric(set->metric, &metric))
            continue;
        const struct value *value = values_find(values, metric, flow->from, flow->to, "");
        if (value == NULL || value->source == VALUE_NOMINAL)
            model->alone[model->alone_count++] =
                (struct value){.metric = metric,
                               .source = set->source,
                               .from = flow->from,
                               .to = flow->to,
                               .value = flow->bytes_per_s,
                               .low = flow->low,
                               .high = flow->high,
                               .measured_at_s = set->measured_at_s};
    }
    return model->alone != NULL;
}

static int compare_alone(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

const struct value *resource_model_alone(const struct resource_model *model, enum metric metric,
                                         place_id from, place_id to)
{
    const struct value key = {.metric = metric, .from = from, .to = to};
    return model->alone_count > 0
               ? bsearch(&key, model->alone, model->alone_count, sizeof key, compare_alone)
               : NULL;
}

/* Of sets with so many flows that nothing was looked for it is not known. */
static void find_uneven(struct resource_model *model, const struct graph *graph,
                        const struct sets *sets)
{
    for (size_t s = 0; sets != NULL && s < model->set_count; s++)
        for (size_t r = 0; r < model->found_count && model->set[s].predicted != NULL &&
                           !model->set[s].is_reproduced;
             r++) {
            const struct set *set = &sets->item[s];
            unsigned users = 0;
            for (size_t i = 0; i < set->flow_count; i++)
                users += resource_model_uses(graph, &model->found[r], set->metric,
                                             set->flow[i].from, set->flow[i].to, set->flow[i].axes);
            model->found[r].is_uneven = model->found[r].is_uneven || users > 1;
        }
}

/* Those of gpus that meet in a port that structure does not show say nothing of the memory behind
 * it. */
static void forget_memory(struct resource_structure *structure, const struct resource_found *port)
{
    for (size_t i = 0; i < structure->count; i++) {
        struct resource_nominal *item = &structure->item[i];
        unsigned *together = &item->together[transfer_kind_index(transfer_kind_of(port->metric))];
        if (item->role.part == RESOURCE_MEMORY && item->role.place == port->role.place &&
            *together != UINT_MAX)
            *together = 0;
    }
}

/* Parts that are alike all over a node: a gpu's way to the host, out, in and both, and both
 * directions between packages. NO_SORT: others. */
enum sort { SORT_OUT, SORT_IN, SORT_BOTH, SORT_CROSSING, NO_SORT };

static enum sort sort_of(const struct graph *graph, const struct resource_role *role)
{
    bool is_both = role->direction == RESOURCE_BOTH,
         is_crossing =
             role->part == RESOURCE_LINK && graph_place(graph, role->place)->kind == PLACE_PACKAGE;
    if (role->part == RESOURCE_HOST_LINK)
        return is_both ? SORT_BOTH : role->direction == RESOURCE_IN ? SORT_IN : SORT_OUT;
    return is_both && is_crossing && graph_place(graph, role->other)->kind == PLACE_PACKAGE
               ? SORT_CROSSING
               : NO_SORT;
}

/* Parts of which no set says what several get through them, as the widest of their sort, unless
 * they were seen to carry more. That some got less together, slowed by something else, says nothing
 * of them. */
static void tell_alike(struct resource_structure *structure, const struct graph *graph)
{
    double most[NO_SORT + 1] = {0};
    for (size_t i = 0; i < structure->count; i++) {
        double *its = &most[sort_of(graph, &structure->item[i].role)];
        *its = structure->item[i].is_measured ? fmax(*its, structure->item[i].bytes_per_s) : *its;
    }
    most[NO_SORT] = 0;
    for (size_t i = 0; i < structure->count; i++) {
        struct resource_nominal *item = &structure->item[i];
        double other = most[sort_of(graph, &item->role)];
        if (item->is_measured || !(other > 0) || item->carried > other * (1 + RESOURCE_TOLERANCE))
            continue;
        memset(item->together, 0, sizeof item->together);
        item->bytes_per_s = other;
        item->is_measured = true;
    }
}

/* What sets of one kind of transfers showed a structural resource to carry is the best that is
 * known of it for other kinds. */
static void tell_structure(struct resource_model *model, const struct graph *graph)
{
    for (size_t i = 0; i < model->found_count; i++) {
        const struct resource_found *found = &model->found[i];
        struct resource_nominal *item =
            found->has_role ? resource_structure_find(model->structure, &found->role) : NULL;
        double most = 0;
        for (size_t s = 0; s < found->step_count; s++)
            most = fmax(most, found->step[s].bytes_per_s);
        if (item != NULL)
            /* it is told by what was found, however many there are */
            item->together[transfer_kind_index(transfer_kind_of(found->metric))] = UINT_MAX;
        if (item == NULL || (item->is_measured && item->bytes_per_s >= most))
            continue;
        item->bytes_per_s = most;
        item->is_measured = true;
    }
    tell_alike(model->structure, graph);
    for (size_t i = 0; i < model->found_count; i++)
        if (model->found[i].has_role && resource_role_is_hidden(graph, &model->found[i].role))
            forget_memory(model->structure, &model->found[i]);
}

#define HOST (TRANSFER_HOST_ENGINE | TRANSFER_HOST_KERNEL)
#define PEER (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)

/* The kind and the one of the other mechanism. */
static unsigned both_of(unsigned kind)
{
    return (kind & HOST) != 0 ? HOST : (kind & PEER) != 0 ? PEER : 0;
}

/* What structure states of has the same by tell_structure. */
static bool mix(struct resource_model *model, const struct sets *sets)
{
    unsigned together[TRANSFER_KINDS] = {0};
    model->mixed = calloc(model->found_count + 1, sizeof *model->mixed);
    for (size_t s = 0; sets != NULL && s < sets->count; s++)
        if (sets->item[s].flow_count > 1 && transfer_kind_of(sets->item[s].metric) != 0)
            together[transfer_kind_index(transfer_kind_of(sets->item[s].metric))] = UINT_MAX;
    for (size_t i = 0; model->mixed != NULL && i < model->found_count; i++) {
        const struct resource_found *found = &model->found[i];
        struct resource_nominal *mixed = &model->mixed[i];
        if (!found->has_role || both_of(transfer_kind_of(found->metric)) == 0 ||
            resource_structure_find(model->structure, &found->role) != NULL)
            continue;
        *mixed = (struct resource_nominal){.role = found->role, .is_measured = true};
        memcpy(mixed->together, together, sizeof together);
        snprintf(mixed->name, sizeof mixed->name, "%s", found->name);
        for (size_t s = 0; s < found->step_count; s++)
            mixed->bytes_per_s = fmax(mixed->bytes_per_s, found->step[s].bytes_per_s);
    }
    return model->mixed != NULL;
}

static bool fill(struct resource_model *model, const struct graph *graph, const struct sets *sets,
                 const struct values *values)
{
    size_t role_count = 0, end;
    model->structure = resource_make(graph, values, sets);
    if (model->structure != NULL) {
        resource_narrow(model->structure, graph, values);
        resource_between(model->structure, graph, values);
    }
    struct resource_role *role =
        model->structure != NULL ? resource_candidates_roles(graph, model->structure, &role_count)
                                 : NULL;
    bool ok = role != NULL && take_alone(model, values, sets);
    struct contradiction *contradiction =
        calloc((sets != NULL ? sets->count : 0) + 1, sizeof *contradiction);
    ok = ok && contradiction != NULL;
    if (ok && sets != NULL) {
        model->set = calloc(sets->count + 1, sizeof *model->set);
        ok = model->set != NULL && contradict_find(values, sets, contradiction);
        model->set_count = ok ? sets->count : 0;
    }
    for (size_t s = 0; s < model->set_count; s++)
        model->set[s].contradiction = contradiction[s];
    for (size_t first = 0; ok && sets != NULL && first < sets->count; first = end) {
        for (end = first + 1;
             end < sets->count && sets->item[end].metric == sets->item[first].metric;)
            end++;
        ok = add_metric(model, &(struct building){.graph = graph,
                                                  .sets = sets,
                                                  .values = values,
                                                  .model_set = model->set,
                                                  .first = first,
                                                  .end = end,
                                                  .role = role,
                                                  .role_count = role_count,
                                                  .structure = model->structure});
    }
    free(role);
    if (ok) {
        tell_structure(model, graph);
        find_uneven(model, graph, sets);
    }
    agree_find(graph, values, sets, contradiction, model->agree);
    free(contradiction);
    model->own[0] = agree_own(graph, values, METRIC_MEMORY_BANDWIDTH);
    model->own[1] = agree_own(graph, values, METRIC_GPU_STREAM);
    return ok && mix(model, sets);
}

struct resource_model *resource_model_new(const struct graph *graph, const struct sets *sets,
                                          const struct values *values)
{
    struct resource_model *model = calloc(1, sizeof *model);
    if (model == NULL || fill(model, graph, sets, values))
        return model;
    resource_model_free(model);
    return NULL;
}

void resource_model_free(struct resource_model *model)
{
    if (model == NULL)
        return;
    for (size_t i = 0; i < model->found_count; i++)
        free(model->found[i].user);
    for (size_t i = 0; i < model->set_count; i++)
        free(model->set[i].predicted);
    free(model->found);
    free(model->set);
    free(model->alone);
    free(model->mixed);
    resource_structure_free(model->structure);
    free(model);
}

bool resource_model_mixes(const struct graph *graph, const struct resource_model *model,
                          size_t found, unsigned kind, place_id from, place_id to)
{
    const struct resource_found *its = &model->found[found];
    return model->mixed[found].bytes_per_s > 0 &&
           (both_of(transfer_kind_of(its->metric)) & kind) != 0 &&
           resource_structure_has(its->structure, graph, &its->role, from, to);
}

bool resource_model_uses(const struct graph *graph, const struct resource_found *found,
                         enum metric metric, place_id from, place_id to, const char *axes)
{
    if (found->metric != metric)
        return false;
    if (found->has_role)
        return resource_structure_has(found->structure, graph, &found->role, from, to) &&
               (found->role.part != RESOURCE_GPU ||
                resource_covered_has(found->structure, found->user, found->user_count, from, to));
    for (size_t i = 0; i < found->user_count; i++)
        if (found->user[i].from == from && found->user[i].to == to &&
            strcmp(found->user[i].axes, axes) == 0)
            return true;
    return false;
}
