/* Nodes of numbers for the tests of the search: the time of each arc alone and its load on
 * resources, and the cost of a choice. */
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "search/search.h"
#include "unit/base/random.h"

#define SLOTS     72
#define KINDS     3
#define RESOURCES 40
#define FLOWS     4096
#define USES      4

/* A node of numbers: the time of each arc alone and its load on resources. An iteration takes as
 * long as its slowest flow, after those before it, or its fullest resource, which starts late. */
struct node {
    struct search_problem problem;
    struct search_arc arc[KINDS * SLOTS * SLOTS];
    struct search_use use[KINDS * SLOTS * SLOTS * USES];
    struct search_flow flow[FLOWS];
    double start[RESOURCES];
    double far[SLOTS], apart[SLOTS * SLOTS], meet[SLOTS * SLOTS];
    size_t uses, priced;
};

static struct search_cost price(void *context, const uint16_t *slot)
{
    struct node *node = context;
    const struct search_problem *problem = &node->problem;
    double load[RESOURCES];
    struct search_cost cost = {0};
    node->priced++;
    memcpy(load, node->start, sizeof load);
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        size_t from = slot[flow->from], to = flow->to < 0 ? from : slot[flow->to];
        const struct search_arc *arc =
            &problem->arc[(flow->kind * problem->slots + from) * problem->slots + to];
        double own = arc->alone_ns + flow->turn * arc->launch_ns;
        cost.sum_ns += own;
        for (uint32_t u = 0; u < arc->use_count; u++) {
            const struct search_use *use = &problem->use[arc->use + u];
            load[use->resource] += use->ns;
            own = fmax(own, load[use->resource]);
        }
        cost.time_ns = fmax(cost.time_ns, own);
    }
    return cost;
}

static struct node *begin(size_t slots, size_t tasks, size_t each, size_t kinds)
{
    struct node *node = calloc(1, sizeof *node);
    assert_non_null(node);
    node->problem = (struct search_problem){.slots = slots,
                                            .tasks = tasks,
                                            .each = each,
                                            .flow = node->flow,
                                            .kinds = kinds,
                                            .arc = node->arc,
                                            .use = node->use,
                                            .start_ns = node->start,
                                            .far = node->far,
                                            .apart = node->apart,
                                            .price = price,
                                            .context = node};
    return node;
}

static struct search_arc *arc_of(struct node *node, size_t kind, size_t from, size_t to)
{
    return &node->arc[(kind * node->problem.slots + from) * node->problem.slots + to];
}

/* Adds a use of an arc; the uses of an arc are consecutive. */
static void use(struct node *node, struct search_arc *arc, size_t resource, double ns)
{
    if (arc->use_count == 0)
        arc->use = (uint32_t)node->uses;
    assert_int_equal(arc->use + arc->use_count, node->uses);
    node->use[node->uses++] = (struct search_use){(uint16_t)resource, ns};
    arc->use_count++;
    node->problem.resources =
        resource + 1 > node->problem.resources ? resource + 1 : node->problem.resources;
}

static void flow(struct node *node, size_t kind, int from, int to)
{
    node->flow[node->problem.flow_count++] =
        (struct search_flow){.kind = (uint16_t)kind, .from = from, .to = to};
}

/* Makes modules of two slots: the arc within one takes 1, else 4. The second kind of arc goes
 * outside through the module's port. */
static inline struct node *modules(size_t slots, size_t tasks)
{
    struct node *node = begin(slots, tasks, 1, 2);
    for (size_t i = 0; i < slots; i++)
        for (size_t j = 0; j < slots; j++)
            if (i != j)
                arc_of(node, 0, i, j)->alone_ns = i / 2 == j / 2 ? 1 : 4;
    for (size_t i = 0; i < slots; i++) {
        arc_of(node, 1, i, i)->alone_ns = 3;
        use(node, arc_of(node, 1, i, i), i / 2, 3);
    }
    return node;
}
