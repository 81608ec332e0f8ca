/* Flows between places of a fixture, by their index in its list of places. */
#pragma once
#include "unit/node/built_nodes.h"

#include "cost/iteration.h"
#include "cost/iteration_why.h"

#define TOGETHER_MAX 64

struct together {
    const struct snapshot *snap;
    place_id place[TOGETHER_MAX];
    enum copy_by by;
    struct iteration *iteration;
    struct flow flow[TOGETHER_MAX]; /* as they ran last */
};

struct asked {
    size_t from, to;
    double bytes;
    unsigned turn; /* how many its caller launches before it */
};

static inline struct together together_begin(const struct snapshot *snap, const place_id *place,
                                             size_t count, enum copy_by by)
{
    struct together together = {
        .snap = snap, .by = by, .iteration = iteration_new(snap->derived.usage, TOGETHER_MAX)};
    assert_non_null(together.iteration);
    for (size_t i = 0; i < count && i < TOGETHER_MAX; i++)
        together.place[i] = place[i];
    return together;
}

static inline void together_end(struct together *together) { iteration_free(together->iteration); }

static inline const struct user *together_user(const struct together *together, size_t from,
                                               size_t to, double bytes)
{
    return usage_choose(together->snap->derived.usage, together->place[from], together->place[to],
                        bytes, together->by);
}

static inline void together_flows(struct together *together, const struct asked *asked,
                                  size_t count)
{
    assert_true(count <= TOGETHER_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct user *user =
            together_user(together, asked[i].from, asked[i].to, asked[i].bytes);
        together->flow[i] = iteration_flow(user, asked[i].bytes);
        if (user != NULL)
            together->flow[i].begin_ns = asked[i].turn * transfer_launch_ns(&user->alone);
    }
}

static inline double together_ns(struct together *together, const struct asked *asked, size_t count)
{
    together_flows(together, asked, count);
    return iteration_run(together->iteration, together->flow, count, ITERATION_EXPECTED);
}

static inline double together_alone_ns(struct together *together, size_t from, size_t to,
                                       double bytes)
{
    return together_ns(together, &(struct asked){from, to, bytes, 0}, 1);
}

static inline struct prediction together_predict(struct together *together,
                                                 const struct asked *asked, size_t count)
{
    together_flows(together, asked, count);
    return iteration_predict(together->iteration, together->flow, count);
}

/* What slowed the one that ended last; NULL nothing. */
static inline const struct limit *together_shared(const struct together *together,
                                                  const struct prediction *whole)
{
    return together->flow[whole->last].shared;
}

/* What is warned of the flows; ret_evidence: what the one that ends last rests on. */
static inline struct reasons together_why(struct together *together, const struct asked *asked,
                                          size_t count, struct evidence *ret_evidence)
{
    struct reasons warnings = {0};
    struct prediction whole = together_predict(together, asked, count);
    iteration_warn_of_transfers(together->snap, together->flow, count, "", &warnings);
    iteration_warn(together->snap, together->flow, count, &warnings);
    iteration_cite(together->snap, together->flow, count, whole.last, ret_evidence, 0);
    return warnings;
}
