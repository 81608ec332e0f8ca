/**
 * Shared limits: parts of a node that transfers share, with the capacity of each by its number of
 * users. Three sources, from the best on:
 * - concurrent runs of the same kind of transfers (LIMIT_RUNS), by a fit over all runs;
 * - concurrent runs of other kinds (LIMIT_OTHER_RUNS), or the rate that transfers carried
 *   (LIMIT_CARRIED);
 * - stated rates of links and memories, and rates of cores in these.
 *
 * limits_new derives them in this order: the parts, and those on the path of each pair of places
 * (limits_parts.c, limits_pairs.c); their capacities (limits_capacity.c); limits that runs show
 * (limits_fit.c), and how these bear on other kinds. They are constant then. Graph, values and runs
 * outlive them. Rates are in bytes per second.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cost/agreement.h"
#include "node/graph.h"
#include "node/link_path.h"
#include "node/sets.h"
#include "node/transfer.h"
#include "node/values.h"

#define LIMIT_NAME_SIZE   64
#define LIMIT_STEPS_MAX   8
#define LIMIT_TWINS_MAX   4
#define LIMITS_USES_MAX   128 /* limits of one transfer */
#define LIMITS_OTHERS_MAX 48  /* links of its other paths */
#define LIMITS_PLACES_MAX 256
#define LIMITS_NO_LINK    UINT32_MAX

/* Links and ports, then memories, then those that only runs show. */
enum limit_part {
    LIMIT_LINK,       /* out from place to other, in from other to place */
    LIMIT_HOST_LINK,  /* of a GPU to the host, also for its transfers through the host */
    LIMIT_HOST_PORT,  /* port of a module of several GPUs to the host */
    LIMIT_PCIE_PORT,  /* PCIe port of several GPUs next to the host; place is the lowest of these */
    LIMIT_PCIE_PORT2, /* the next one towards them */
    LIMIT_PCIE_PORT3,
    LIMIT_SWITCH_PORT, /* all links of a GPU to several switches */
    LIMIT_MEMORY,      /* memory of a NUMA node: out reads, in writes */
    LIMIT_GPU,         /* all transfers of a GPU */
    LIMIT_GPU_PORT,    /* port of several GPUs at a NUMA node */
    LIMIT_HIVE         /* one of several hives to the host; place is its lowest GPU */
};
#define LIMIT_PARTS (LIMIT_HIVE + 1)

enum limit_direction { LIMIT_OUT, LIMIT_IN, LIMIT_BOTH };

struct limit_role {
    enum limit_part part;
    enum limit_direction direction;
    place_id place, other; /* other: second end of a link, else PLACE_NONE */
};

/* Source of a capacity. */
enum limit_source {
    LIMIT_RUNS,
    LIMIT_PAIR, /* rate of both directions of a pair at once; of cost/usage.h alone */
    LIMIT_OTHER_RUNS,
    LIMIT_CARRIED,
    LIMIT_MEMBER, /* the widest link of a GPU behind a PCIe port */
    LIMIT_STATED  /* also the rate of cores in a memory */
};

/* Capacity from so many users on. */
struct limit_step {
    unsigned flows;
    double bytes_per_s;
    double low, high; /* as the runs allow; NAN: one run without an interval */
    double spread;    /* half the 95 % interval of one more run, relative; NAN unknown */
};

struct limit {
    char name[LIMIT_NAME_SIZE]; /* "numa0:memory:write", "gpu0-gpu1:link:out", "gpu4:hive:out" */
    enum limit_source source;
    bool has_role; /* else its users are only those of the runs */
    struct limit_role role;
    /* ascending by flows; none below the first; step_count 0: capacity unknown */
    struct limit_step step[LIMIT_STEPS_MAX];
    size_t step_count;

    /* LIMIT_RUNS: */
    enum metric metric;
    struct set_flow *user; /* owned: measured users */
    size_t user_count;
    uint16_t twin[LIMIT_TWINS_MAX]; /* items whose parts explain the runs as well */
    size_t twin_count;
    bool is_uneven; /* some run has unfair shares of it */

    /* other sources: */
    /* by kind: as many users, all of this kind, as a run had: it does not limit them. Of a memory
     * runs count in which each got what it gets alone */
    unsigned apart[TRANSFER_KINDS];
    unsigned kinds;            /* bits: the kinds that share it; 0 all */
    double carried;            /* highest total of several users in one run; 0 none */
    const struct value *value; /* LIMIT_PAIR */
};

/* The path of transfers between two places, and the limits on it. */
struct limits_pair {
    double bytes_per_s; /* stated rate; 0 unknown, of the whole or of one link between packages */
    uint32_t unstated;  /* that link; LIMITS_NO_LINK none */
    uint32_t narrowest; /* link; LIMITS_NO_LINK unknown */
    const struct value *cores; /* value behind bytes_per_s; NULL: links state it */
    bool several;   /* other paths are as wide and as short: the driver's choice is unknown */
    bool over_host; /* GPUs without a known path over links of GPUs */
    bool is_known;  /* the path: links and ports on it are among its limits */
    double alone;   /* private: highest measured or published rate of one transfer; 0 none */
    /* private: the parts, then the limits found from runs */
    uint8_t part_count, use_count;
    uint16_t use[LIMITS_USES_MAX];
    /* private: links of other paths that are as wide and as short */
    uint8_t other_count;
    uint16_t other[LIMITS_OTHERS_MAX];
};

/* The ends of a transfer. */
struct limits_ends {
    place_id from, to;
};

/* A concurrent-transfer run, in the order of the sets. */
struct limits_run {
    double *predicted; /* owned: by flow; NULL: too many runs, or a contradicting one */
    bool is_reproduced;
    struct contradiction contradiction; /* value not NULL: the run counts for nothing */
};

struct limits {
    struct limit *item;
    size_t count;
    struct limits_run *run;
    size_t run_count;
    /* transfers that only a run of one measured: as values of the metric alone, ascending */
    struct value *alone;
    size_t alone_count;
    struct agreement agree[AGREE_KINDS];
    /* deviation of repetitions of kernels in a GPU's own memory, and of streaming copies */
    double own[2];
    const struct graph *graph;
    struct limits_pair *pair; /* private: by slots */
    uint16_t *slot;           /* private: by place; UINT16_MAX none */
    size_t slot_count;
};

/* sets NULL: none. NULL when out of memory. */
struct limits *limits_new(const struct graph *graph, const struct sets *sets,
                          const struct values *values);
void limits_free(struct limits *limits); /* NULL is fine */

/* Returns one without links when a place is no end of transfers, or beyond LIMITS_PLACES_MAX. */
const struct limits_pair *limits_pair(const struct limits *limits, place_id from, place_id to);

/* Kind of the narrowest link. False when unknown. */
bool limits_link_kind(const struct limits *limits, const struct limits_pair *pair,
                      enum link_kind *ret);

/* Writes the limits of a transfer of one kind (one bit of enum transfer_kind): indices of item,
 * those from runs first. axes: of its rate. Returns their number. */
size_t limits_of(const struct limits *limits, unsigned kind, place_id from, place_id to,
                 const char *axes, uint16_t ret[LIMITS_USES_MAX]);

/* True when a transfer uses a limit: one found from runs, of the kind of these runs; or another's
 * part, whatever is known of it. */
bool limits_uses(const struct limits *limits, const struct limit *limit, place_id from, place_id to,
                 const char *axes);

/* True when two transfers may share a link or a port, in one direction: also one of several paths
 * of which the driver's choice is unknown, and where no path is known. Memories do not count. */
bool limits_meet(const struct limits *limits, struct limits_ends a, struct limits_ends b);

/* Returns what so many users get together by the steps of a limit; INFINITY unlimited. */
double limits_capacity(const struct limit_step *step, size_t count, size_t users);

/* Returns the limit of structure with that role; NULL none. */
struct limit *limits_find(const struct limits *limits, const struct limit_role *role);

/* Returns what a run of one shows of a transfer with default axes and without a value; NULL none.
 * Axes of the result are 0, the empty text. */
const struct value *limits_alone(const struct limits *limits, enum metric metric, place_id from,
                                 place_id to);

/* True where no run of such transfers shows the capacity. */
static inline bool limits_is_stated(const struct limit *limit)
{
    return limit->source != LIMIT_RUNS && limit->source != LIMIT_PAIR;
}

static inline bool limits_is_pcie_port(enum limit_part part)
{
    return part >= LIMIT_PCIE_PORT && part <= LIMIT_PCIE_PORT3;
}

/* The lowest GPU behind the same PCIe port of that level; PLACE_NONE where it is not shared. */
place_id limits_pcie_port(const struct graph *graph, place_id place, size_t level);
