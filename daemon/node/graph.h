/**
 * The node as a graph: places, links between them, resources that transfers share, and
 * disagreements between the sources of discovery.
 *
 * Built by discover/discover.c (discover/draft.h adds to it) and constant from then on. A finished
 * graph is shared between snapshots by reference count and may be read from any thread.
 *
 * Names and numbers: a name is kind and number, "numa3". The numbers of numas and pus are the
 * operating system's. A core has the number of its lowest pu, because the operating system's core
 * ids repeat from package to package. The llcs, packages and modules are numbered from 0 in
 * ascending order of their lowest pu (modules: of their first gpu). The gpus follow PCI address
 * order, ties by KFD node; nics follow PCI address order. There is one machine, "machine0".
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"

typedef int32_t place_id; /* index into graph.places */
#define PLACE_NONE ((place_id)-1)

enum place_kind {
    PLACE_MACHINE,
    PLACE_PACKAGE,
    PLACE_NUMA,
    PLACE_LLC, /* cores that share a last-level cache; a CCX on AMD */
    PLACE_CORE,
    PLACE_PU,
    PLACE_MODULE, /* a gpu card or OAM with several gpus */
    PLACE_GPU,    /* a device or partition listed by the runtime */
    PLACE_NIC,
    PLACE_SWITCH,
    PLACE_KIND_COUNT
};

enum link_kind {
    LINK_XGMI,
    LINK_NVLINK,
    LINK_C2C,
    LINK_PCIE,
    LINK_SMP,
    LINK_MEMBUS,
    LINK_NETWORK,
    LINK_KIND_COUNT
};
enum link_state { LINK_UP, LINK_DEGRADED, LINK_DOWN, LINK_UNKNOWN, LINK_STATE_COUNT };

/* Origin of the facts of a node: the worst of its sources counts, in the order standin,
 * reconstructed, recorded, live. */
enum origin { ORIGIN_LIVE, ORIGIN_RECORDED, ORIGIN_RECONSTRUCTED, ORIGIN_STANDIN, ORIGIN_COUNT };

struct detail {
    char *key;
    char *value;
};

struct place {
    enum place_kind kind;
    int32_t number;
    char name[20];
    /* PLACE_NONE for the machine. numa, llc: package; core: llc, else numa, else package; pu:
     * core; gpu: its module, else its numa, else package or machine; module, nic: numa, package
     * or machine */
    place_id parent;
    /* llc, core, pu, module, gpu, nic: nearest NUMA node by structure, PLACE_NONE when unknown or
     * ambiguous */
    place_id numa;
    /* owned; the contained (cpu side) or local (gpu, nic) cpus; NULL when none or unknown */
    struct cpuset *cpus;
    int64_t capacity_bytes; /* memory of a numa or gpu, size of an llc; -1 unknown */
    char *model;            /* owned; NULL unknown; so are the next three */
    char *pci;              /* "0000:c1:00.0", lower case */
    char *uuid;
    char *render_node; /* "/dev/dri/renderD128" */
    int32_t minor;     /* the vendor's device minor, -1 unknown */
    struct detail *details;
    size_t detail_count;
};

/* One physical connection (a bundle of width equal ones), named once for both directions. */
struct link {
    place_id from, to;
    enum link_kind kind;
    int32_t width;              /* number of links or lanes bundled; 0 unknown */
    double nominal_bytes_per_s; /* each way, the whole bundle; NAN unknown */
    enum link_state state;
    const char *source; /* the backend that reported it, static string: "hwloc", "kfd", "facts" */
};

struct resource {
    char *name;
    double capacity_bytes_per_s, low, high; /* NAN unknown */
    bool inferred;
    char **users; /* place names */
    size_t user_count;
};

struct graph {
    char *name;           /* host name, or the name of the node folder */
    char fingerprint[33]; /* 32 hex digits over the hardware facts, stable across boots */
    enum origin origin;
    struct place *places; /* places[0] is the machine; parents may stand anywhere */
    size_t place_count;
    struct link *links;
    size_t link_count;
    struct resource *resources;
    size_t resource_count;
    struct detail *software; /* "kernel", "amdgpu", "hwloc", ... */
    size_t software_count;
    char *facts;          /* device and link records of the drivers, unchanged; NULL none */
    char **disagreements; /* one sentence each: the claims of two sources, and the one kept */
    size_t disagreement_count;
    struct graph_index *index; /* private to node/graph.c: name -> place */
    unsigned refs;             /* atomic, private to node/graph.c */
};

/* An empty graph with one reference and no places; NULL when out of memory. */
struct graph *graph_new(void);
const struct graph *graph_ref(const struct graph *graph);
/* frees everything it owns with the last reference; NULL is fine */
void graph_unref(const struct graph *graph);

/* Add to a graph before it is shared. Names are made from kind and number. The returned pointers
 * are valid until the next add. All return NULL, PLACE_NONE or false only when out of memory.
 * Strings are copied. */
place_id graph_add_place(struct graph *graph, enum place_kind kind, int32_t number);
struct link *graph_add_link(struct graph *graph, place_id from, place_id to, enum link_kind kind);
struct resource *graph_add_resource(struct graph *graph, const char *name);
bool graph_add_user(struct resource *resource, const char *place_name);
bool graph_add_disagreement(struct graph *graph, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool graph_set_software(struct graph *graph, const char *key, const char *value);
bool place_set_detail(struct place *place, const char *key, const char *value);
bool place_set_text(char **field, const char *value); /* replaces an owned string */
bool place_set_cpus(struct place *place, const struct cpuset *cpus);

/* Builds the name index and checks the invariants below; call once, after the last add. Fails with
 * BAD_DATA, which names the first violation.
 *  1. places[0] is the only machine.
 *  2. Names are unique.
 *  3. parent and numa are places of the graph, and following parent ends at the machine.
 *  4. Link ends are places.
 *  5. The cpusets of pus and of cores are disjoint within their kind. */
enum berth_code graph_finish(struct graph *graph, struct berth_err *err);

/* Returns the place of a name, PCI address (gpus and nics) or uuid; PLACE_NONE when there is
 * none. */
place_id graph_find(const struct graph *graph, const char *name);

static inline const struct place *graph_place(const struct graph *graph, place_id id)
{
    return &graph->places[id];
}

/* False for PLACE_NONE. */
static inline bool graph_is(const struct graph *graph, place_id id, enum place_kind kind)
{
    return id != PLACE_NONE && graph->places[id].kind == kind;
}

static inline bool graph_are_gpus(const struct graph *graph, place_id a, place_id b)
{
    return graph_is(graph, a, PLACE_GPU) && graph_is(graph, b, PLACE_GPU);
}

/* Returns the next place of a kind at or after start in the array, or PLACE_NONE. Iteration: for
 * (place_id p = graph_next(g, PLACE_GPU, 0); p != PLACE_NONE; p = graph_next(g, PLACE_GPU, p +
 * 1)) */
place_id graph_next(const struct graph *graph, enum place_kind kind, place_id start);
size_t graph_count(const struct graph *graph, enum place_kind kind);

const char *place_detail(const struct place *place, const char *key); /* NULL when it has none */

const char *place_kind_name(enum place_kind kind);
const char *link_kind_name(enum link_kind kind);
const char *link_state_name(enum link_state state);
const char *origin_name(enum origin origin);
bool place_kind_parse(const char *name, enum place_kind *ret_kind);
bool link_kind_parse(const char *name, enum link_kind *ret_kind);
bool link_state_parse(const char *name, enum link_state *ret_state);
bool origin_parse(const char *name, enum origin *ret_origin);
