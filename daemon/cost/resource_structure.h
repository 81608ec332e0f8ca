/**
 * What transfers share by structure, with the capacities that structure states: each direction of
 * each link on their way, of all that a gpu has to several switches together, the port to the host
 * of a module of several gpus, and reading and writing each memory. These stand where nothing was
 * measured together.
 *
 * Made from a graph, the values and the sets on it; constant from then on. The graph and the values
 * outlive it.
 *
 * Capacities, bytes per second:
 * - a link's is what it is said to carry; of one between packages that does not say it, the most
 * that cores of the one are known to get of the other's memory over it;
 * - what a gpu has to several switches is the sum, and bytes go over all that both have at once
 * (cost/link_switches.h);
 * - a module's port carries what one transfer through it gets; where none is known, what one of its
 * links to the host is said to carry;
 * - a PCIe port of several gpus carries what its link is said to carry, at least as much as the
 * widest of theirs: that of a link that is idle may be said to be less; where it is no wider than
 * these, what one transfer through it gets;
 * - a memory's is the highest rate known for it, by firmware or measured, at which anybody reads or
 * writes it;
 * - where a gpu has one memory with a processor, a copy between the two reads and writes that: both
 * directions of it carry half of what that gpu streams at most, or of what firmware says of that
 * memory;
 * - a gpu's host link carries, of transfers with gpus through the host, what sets showed of it or
 * of other gpus' host links, else what a copy with host memory gets over it; 0 not known;
 * - a link between packages that does not say it, and of which nothing is known, is listed with 0:
 * that transfers share it is for measurements to say;
 * - both directions of a link between packages: cost/resource_between.h;
 * - both directions of a port and of a memory together carry what sets of some kind of transfers
 * showed; else nothing is known of it;
 * - each is at least what was seen to go through it, alone or together;
 * - links that a transfer cannot have gone over (cost/resource_elsewhere.h) are not raised by it.
 *
 * Gpus without a way over links of gpus reach each other through the host: over their host links,
 * and what joins their packages, whether or not it is said what these carry.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cost/resource_role.h"
#include "node/link_path.h"
#include "node/sets.h"
#include "node/transfer.h"
#include "node/values.h"

#define RESOURCE_NAME_SIZE      64
#define RESOURCE_STRUCTURE_USES (LINK_PATH_STEPS + 14)
#define RESOURCE_PLACES_MAX     256

struct resource_nominal {
    char name[RESOURCE_NAME_SIZE];
    struct resource_role role; /* a link's: out from the link's from to its to, in the other way */
    double bytes_per_s;        /* 0 not known */
    /* by kind: the most of it that use this in one set, if two do; 0 none: what so many share is
     * what sets showed, and of more they say nothing */
    unsigned together[TRANSFER_KINDS];
    /* the most that transfers of one set got through it together; 0 none */
    double carried;
    bool is_measured; /* the capacity is one that sets of another kind showed */
    /* transfers that were seen to get that together, which is more than is stated; 0: nothing
     * else says it */
    unsigned seen;
    place_id seen_from, seen_to; /* of one transfer */
    /* of a link between a gpu and its processor: it is what their one memory carries, which is
     * more than the link is said to */
    bool is_memory;
    /* of a link between packages that does not say how wide it is: what cores get over it, which
     * stands for that; else NULL */
    const struct value *cores;
};

struct resource_structure {
    struct resource_nominal *item;
    size_t count;
    const struct graph *graph;
    struct link_paths *paths;
    place_id *hive;             /* private: by place (cost/resource_hive.h) */
    struct resource_pair *pair; /* private: by places */
    uint16_t *slot;             /* private: by place; UINT16_MAX none */
    size_t slot_count;
};

void resource_structure_free(struct resource_structure *structure); /* NULL is fine */

/* What a transfer uses: indices of item into ret_use, whose number it gives. */
size_t resource_structure_uses(const struct resource_structure *structure, place_id from,
                               place_id to, uint16_t ret_use[RESOURCE_STRUCTURE_USES]);

/* Whether the links that a transfer uses are those of one of several ways over gpus, of which
 * nobody knows that it is the one. */
bool resource_structure_is_guess(const struct resource_structure *structure, place_id from,
                                 place_id to);

/* Whether a transfer uses what plays the role: resource_role_has, and for one direction of a link,
 * or one between packages, whether it is on the way. */
bool resource_structure_has(const struct resource_structure *structure, const struct graph *graph,
                            const struct resource_role *role, place_id from, place_id to);

/* Whether a transfer between gpus goes through the host, or nothing tells how: no way over links of
 * gpus is known. */
bool resource_structure_is_over_host(const struct resource_structure *structure, place_id from,
                                     place_id to);

/* What the links on the way are said to carry; 0 nothing is known, or of one of them (between
 * packages) nothing is stated or known: a part says nothing of the whole. ret_several: others are
 * as wide and as short; NULL fine. */
double resource_structure_width(const struct resource_structure *structure, place_id from,
                                place_id to, bool *ret_several);

/* Of what kind the narrowest link on the way is. False where resource_structure_width says nothing.
 */
bool resource_structure_kind(const struct resource_structure *structure, place_id from, place_id to,
                             enum link_kind *ret);

/* What cores get over the narrowest link on the way where that is what its width is from; NULL:
 * links' own figures say it. */
const struct value *resource_structure_cores(const struct resource_structure *structure,
                                             place_id from, place_id to);

/* The link on the way, between packages, of which nobody states how wide it is or has seen what
 * cores get over it, and whose width is therefore 0; LINK_PATH_STATED: none. */
uint32_t resource_structure_unstated(const struct resource_structure *structure, place_id from,
                                     place_id to);

/* NULL when there is none. */
struct resource_nominal *resource_structure_find(const struct resource_structure *structure,
                                                 const struct resource_role *role);
