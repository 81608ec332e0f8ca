/**
 * The draft: the results of the backends so far. Each adds places, links and values, and facts
 * about places that exist already. The last step, draft_finish, numbers everything, attaches each
 * place to its parent, and makes the graph.
 *
 * Until then a place is identified by its draft id. If two sources contradict each other the draft
 * keeps the more trusted one and writes a sentence for graph.disagreements. For gpus and links the
 * order of trust is the driver (facts), kfd, hwloc; for the CPU side hwloc is first.
 *
 * Running out of memory is noted and reported by draft_finish, so that adding needs no checks. A
 * place that could not be added is PLACE_NONE, and facts about PLACE_NONE are dropped. One thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/graph.h"
#include "node/metric.h"
#include "node/pci.h"
#include "node/values.h"

/* Sources of facts about places, in ascending trust for gpus. */
enum draft_source { DRAFT_HWLOC, DRAFT_KFD, DRAFT_FACTS, DRAFT_COUNT };
/* Returns a static string, for link.source. */
const char *draft_source_name(enum draft_source source);

/* Facts about a place beyond struct place. */
struct draft_extra {
    enum draft_source source;        /* source that added the place */
    enum draft_source memory_source; /* source of capacity_bytes */
    enum draft_source model_source;
    /* the model is only the chip's name in the list of PCI names; a driver's name replaces it */
    bool model_is_chip;
    uint64_t pci;            /* PCI_NONE when it has none */
    int32_t kfd_node;        /* -1 when kfd has no such node */
    place_id reported_numa;  /* NUMA node from a source other than locality; PLACE_NONE */
    int32_t pcie_width;      /* lanes; 0 unknown */
    double pcie_bytes_per_s; /* NAN unknown */
};

struct draft_value {
    enum metric metric;
    place_id from, to;
    const char *axes; /* static string */
    double value;
    enum value_source source;
};

struct draft {
    /* places with draft ids; their numbers are provisional except for numas and pus */
    struct graph *graph;
    struct draft_extra *extra; /* parallel to graph->places */
    struct draft_value *values;
    size_t value_count;
    bool out_of_memory;
    struct graph *nowhere; /* one place that receives facts about PLACE_NONE */
    struct draft_extra nowhere_extra;
};

/* Makes a draft with the machine as place 0. False when out of memory, with nothing to free. */
bool draft_init(struct draft *draft);
void draft_done(struct draft *draft);

/* Adds a place. number is the operating system's for numas and pus and ignored otherwise. */
place_id draft_add(struct draft *draft, enum place_kind kind, int32_t number,
                   enum draft_source source);

/* Return a place; never NULL; valid until the next draft_add. */
struct place *draft_place(struct draft *draft, place_id id);
struct draft_extra *draft_extra(struct draft *draft, place_id id);

/* Set text fields of a place (&place->uuid), details, cpus, software. value NULL or "" changes
 * nothing. */
void draft_text(struct draft *draft, char **field, const char *value);
void draft_detail(struct draft *draft, place_id id, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void draft_cpus(struct draft *draft, place_id id, const struct cpuset *cpus);
void draft_software(struct draft *draft, const char *key, const char *value);
void draft_pci(struct draft *draft, place_id id, uint64_t pci);

/* Add a source's memory size or model name. A value that differs from another source's is a
 * disagreement. Memory within 2 % (CPU side: 10 %) and models of which one contains the other are
 * equal. bytes -1 and text NULL or "" add nothing. */
void draft_report_memory(struct draft *draft, place_id id, int64_t bytes, enum draft_source source);
void draft_report_model(struct draft *draft, place_id id, const char *model,
                        enum draft_source source);

/* Adds a link or, where the two places have one of that kind, more facts about it. width 0 and
 * bytes_per_s NAN are unknown. */
void draft_link(struct draft *draft, place_id from, place_id to, enum link_kind kind, int32_t width,
                double bytes_per_s, enum link_state state, enum draft_source source);

/* Makes the gpus one module: a new one, or the present module of one of them. PLACE_NONE for fewer
 * than two. */
place_id draft_module(struct draft *draft, const place_id *gpus, size_t count,
                      enum draft_source source);

/* Add a stated value, or one with another source. PLACE_NONE as an end adds nothing. */
void draft_value(struct draft *draft, enum metric metric, place_id from, place_id to,
                 const char *axes, double value);
void draft_value_from(struct draft *draft, enum value_source source, enum metric metric,
                      place_id from, place_id to, const char *axes, double value);
void draft_disagree(struct draft *draft, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes a name for a place without a number yet to buffer: "the gpu at 0000:c1:00.0", "numa3".
 * Returns buffer. */
const char *draft_label(struct draft *draft, place_id id, char buffer[64]);

/* Return the n-th (from 0) place of a kind in order of draft ids, or the one with this operating
 * system's number; PLACE_NONE. */
place_id draft_nth(const struct draft *draft, enum place_kind kind, size_t n);
place_id draft_numbered(const struct draft *draft, enum place_kind kind, int32_t number);

/* Makes the graph: numbers, parents, nearest numas, the links implied by structure (membus, pcie,
 * smp), resources, the fingerprint. Also returns its nominal values, which the caller finishes.
 * Consumes the draft. Fails with BAD_DATA (graph_finish gives the reason) and NO_MEMORY. name is
 * copied. */
enum berth_code draft_finish(struct draft *draft, const char *name, enum origin origin,
                             struct graph **ret_graph, struct values **ret_values,
                             struct berth_err *err);

/* discover/fingerprint.c: the fingerprint of a node, the same text for the same hardware at every
 * boot, a different text for different hardware.
 *
 * Writes 32 hex digits (FNV-1a, 128 bits) over all places: their kinds, parents, models, addresses
 * and uuids. Sizes are counted in steps of 9 %, because the firmware keeps a little more or less
 * memory for itself from boot to boot. Links, which may be down today, and software are left out.
 * Other facts that come and go are left out, too:
 *  - The size of a NUMA node's memory where it is the only one with memory, or where the nodes and
 *    the kernel disagree about the total. In a virtual machine the host changes it at any time.
 *  - The uuid and the memory of a gpu that has an address. The driver may not report them before
 *    the gpu's first use, and berthd serves earlier than that.
 *  - The uuid of a NIC that has an address: it is another in each node of equal hardware.
 *  - A switch without an address: only links reported by a driver lead to it. */
void fingerprint(const struct graph *graph, char ret_text[33]);
