/* io.berth.Fabric.GetContention: concurrent transfers, with measured and predicted rates and shared
 * limits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cost/limits.h"
#include "node/jsonify.h"
#include "node/sets.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/serve.h"

/* Largest number of sets that the loop prints. More sets, or limits not derived yet, are for the
 * thread pool. */
#define SETS_AT_ONCE 25

/* A GetContention in progress. */
struct listing {
    const struct snapshot *snap;
    uint64_t claims; /* generation at the time of the request */
    bool all;
    enum metric metric; /* unless all */
};

static void listing_free(void *state)
{
    struct listing *listing = state;
    snapshot_unref(listing->snap);
    free(listing);
}

/* explained: predicted bytes/s; NAN unknown. */
static void print_flow(struct print *reply, const struct graph *graph, enum metric metric,
                       const struct set_flow *flow, double explained)
{
    print_open(reply, '{');
    print_key(reply, "from");
    print_string(reply, graph->places[flow->from].name);
    print_key(reply, "to");
    print_string(reply, graph->places[flow->to].name);
    print_key(reply, "axes");
    jsonify_print_axes(reply, metric, flow->axes);
    print_key(reply, "bytes_per_s");
    print_real(reply, flow->bytes_per_s);
    print_key(reply, "low");
    print_real(reply, flow->low);
    print_key(reply, "high");
    print_real(reply, flow->high);
    print_key(reply, "predicted_bytes_per_s");
    print_real(reply, explained);
    print_close(reply, '}');
}

static void print_set(struct print *reply, const struct graph *graph, const struct set *set,
                      const struct limits_run *explained)
{
    print_open(reply, '{');
    print_key(reply, "metric");
    print_string(reply, metric_info(set->metric)->name);
    print_key(reply, "flows");
    print_open(reply, '[');
    for (size_t i = 0; i < set->flow_count; i++)
        print_flow(reply, graph, set->metric, &set->flow[i],
                   explained->predicted != NULL ? explained->predicted[i] : (double)NAN);
    print_close(reply, ']');
    print_key(reply, "source");
    print_string(reply, value_source_name(set->source));
    print_key(reply, "measured_at_s");
    print_count(reply, set->measured_at_s > 0 ? set->measured_at_s : -1);
    print_key(reply, "reproduced");
    if (explained->predicted == NULL)
        print_null(reply);
    else
        print_json(reply, explained->is_reproduced ? json_true() : json_false());
    print_close(reply, '}');
}

static void print_shared(struct print *reply, const struct limits *limits,
                         const struct limit *found)
{
    print_open(reply, '{');
    print_key(reply, "name");
    print_string(reply, found->name);
    print_key(reply, "metric");
    print_string(reply, metric_info(found->metric)->name);
    print_key(reply, "users");
    print_open(reply, '[');
    for (size_t i = 0; i < found->user_count; i++) {
        char user[48];
        snprintf(user, sizeof user, "%s>%s", graph_place(limits->graph, found->user[i].from)->name,
                 graph_place(limits->graph, found->user[i].to)->name);
        print_string(reply, user);
    }
    print_close(reply, ']');
    print_key(reply, "capacities");
    print_open(reply, '[');
    for (size_t i = 0; i < found->step_count; i++) {
        print_open(reply, '{');
        print_key(reply, "transfers");
        print_integer(reply, found->step[i].flows);
        print_key(reply, "bytes_per_s");
        print_real(reply, found->step[i].bytes_per_s);
        print_key(reply, "low");
        print_real(reply, found->step[i].low);
        print_key(reply, "high");
        print_real(reply, found->step[i].high);
        print_close(reply, '}');
    }
    print_close(reply, ']');
    print_key(reply, "alternatives");
    print_open(reply, '[');
    for (size_t i = 0; i < found->twin_count; i++)
        print_string(reply, limits->item[found->twin[i]].name);
    print_close(reply, ']');
    print_close(reply, '}');
}

static enum berth_code print_sets(void *state, struct print *reply, struct berth_err *err)
{
    (void)err;
    const struct listing *listing = state;
    const struct sets *sets = listing->snap->sets;
    const struct limits *limits = listing->snap->derived.limits;
    print_open(reply, '{');
    print_key(reply, "runs");
    print_open(reply, '[');
    for (size_t i = 0; sets != NULL && i < sets->count; i++)
        if (listing->all || sets->item[i].metric == listing->metric)
            print_set(reply, listing->snap->graph, &sets->item[i], &limits->run[i]);
    print_close(reply, ']');
    print_key(reply, "shared");
    print_open(reply, '[');
    for (size_t i = 0; i < limits->count; i++)
        if (limits->item[i].source == LIMIT_RUNS &&
            (listing->all || limits->item[i].metric == listing->metric))
            print_shared(reply, limits, &limits->item[i]);
    print_close(reply, ']');
    print_key(reply, "basis");
    jsonify_print_basis(reply, listing->snap, listing->claims);
    print_close(reply, '}');
    return BERTH_OK;
}

enum berth_code query_get_contention(const struct call *call, struct outcome *ret,
                                     struct berth_err *err)
{
    const char *name = json_string_value(json_object_get(call->params, "metric"));
    enum metric metric = 0;
    if (name != NULL && !metric_parse(name, &metric)) {
        err_set(err, BERTH_NO_SUCH_METRIC, "there is no metric %.60s (berth matrix lists them)",
                name);
        err_text(err, 0, name);
        return err->code;
    }
    struct listing *listing = calloc(1, sizeof *listing);
    if (listing == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    *listing = (struct listing){snapshot_ref(call->snap),
                                claim_keep_generation(call->daemon->claims), name == NULL, metric};
    bool many = call->snap->sets != NULL && call->snap->sets->count > SETS_AT_ONCE;
    *ret = (struct outcome){.kind = many ? OUTCOME_WORK : OUTCOME_RESULT,
                            .state = listing,
                            .write = print_sets,
                            .free_state = listing_free};
    return BERTH_OK;
}
