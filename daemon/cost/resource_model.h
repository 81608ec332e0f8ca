/**
 * The resources of a node as its concurrent runs show them: for each metric of sets, which limits
 * (cost/resource_fit.h) of what (cost/resource_role.h), what each set should have got under them,
 * and which sets that does not reproduce.
 *
 * Made from a snapshot's graph, sets and values, measured and published alike, and constant from
 * then on. Sets that contradict the values of their own flows (cost/contradict.h) count for
 * nothing. A flow alone gets what it got in a set of one, else the value of the metric without
 * _concurrent between the same places, else the most that it got in any set.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cost/agree.h"
#include "cost/contradict.h"
#include "cost/resource_fit.h"
#include "cost/resource_role.h"
#include "cost/resource_structure.h"
#include "node/graph.h"
#include "node/sets.h"
#include "node/values.h"

/* One that limits. */
struct resource_found {
    enum metric metric;
    char name[RESOURCE_NAME_SIZE];
    bool has_role;
    /* if has_role: any transfer that uses it, measured or not; of a gpu, that its users cover
     * (cost/resource_covered.h) */
    struct resource_role role;
    /* of the model: for the links on a transfer's way */
    const struct resource_structure *structure;
    /* the measured flows that use it: places and axes; axes are those of the sets */
    struct set_flow *user;
    size_t user_count;
    struct resource_step step[RESOURCE_STEPS_MAX];
    size_t step_count;
    char twin[RESOURCE_TWINS_MAX][RESOURCE_NAME_SIZE]; /* what the runs cannot tell from it */
    size_t twin_count;
    bool is_uneven; /* in some set its users do not get what max-min fair shares of it would be */
};

/* Of one set, in the order of the sets. */
struct resource_set {
    /* by flow; NULL: there are too many sets to look into them, or it contradicts */
    double *predicted;
    bool is_reproduced;
    struct contradiction contradiction; /* value not NULL: it counts for nothing */
};

struct resource_model {
    struct resource_found *found;
    size_t found_count;
    struct resource_set *set;
    size_t set_count;
    /* transfers that sets of one measured, and nothing else did: as values of the metric without
     * _concurrent, ascending */
    struct value *alone;
    size_t alone_count;
    struct resource_structure *structure; /* what stands where nothing was measured together */
    struct agreement agree[AGREE_KINDS];  /* how well agrees what was measured twice */
    /* agree_own of kernels that read or write gpus' own memory, and of streaming copies */
    double own[2];
    /* for each of found: what stands where copies by engine and by kernel use it together, which
     * no set has; bytes_per_s 0 nothing */
    struct resource_nominal *mixed;
};

/* sets NULL: none. NULL when out of memory. sets and values must outlive the model, which points
 * into them. */
struct resource_model *resource_model_new(const struct graph *graph, const struct sets *sets,
                                          const struct values *values);
void resource_model_free(struct resource_model *model); /* NULL is fine */

/* What a set of one says of a transfer, all axes at their defaults, that has no number beside; NULL
 * nothing. Its axes are 0, the empty text. */
const struct value *resource_model_alone(const struct resource_model *model, enum metric metric,
                                         place_id from, place_id to);

/* Whether a transfer of this kind (enum transfer_kind) between these places uses it beside those of
 * the other mechanism. */
bool resource_model_mixes(const struct graph *graph, const struct resource_model *model,
                          size_t found, unsigned kind, place_id from, place_id to);

/* Whether a transfer between these places, of this metric of sets, uses it. */
bool resource_model_uses(const struct graph *graph, const struct resource_found *found,
                         enum metric metric, place_id from, place_id to, const char *axes);
