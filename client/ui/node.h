/**
 * GetNode's reply as a tree and a list of links, for drawing. Everything is borrowed from the
 * reply, which must outlive it. Replies are not trusted: unknown parents and link ends are dropped.
 * Places in a circle are unreachable from the root.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UI_CPUS_MAX 4096

struct ui_cpus {
    uint64_t word[UI_CPUS_MAX / 64];
};

/* parses the kernel's list format */
bool ui_cpus_parse(const char *list, struct ui_cpus *ret_cpus);
size_t ui_cpus_count(const struct ui_cpus *cpus);

enum ui_kind {
    UI_MACHINE,
    UI_PACKAGE,
    UI_NUMA,
    UI_LLC,
    UI_CORE,
    UI_PU,
    UI_MODULE,
    UI_GPU,
    UI_NIC,
    UI_SWITCH,
    UI_OTHER
};

struct ui_place {
    const json_t *json;
    /* NULL unknown, except name and kind_name */
    const char *name, *kind_name, *model, *pci, *cpu_list;
    enum ui_kind kind;
    int number;             /* number behind the name; -1 none */
    int64_t capacity_bytes; /* -1 unknown */
    struct ui_cpus *cpus;   /* NULL unknown */
    size_t cores;           /* cores of its cpus */
    /* positions in the drawing, with an L3 below its NUMA node; -1 none */
    int parent, first_child, last_child, next;
};

struct ui_link {
    int from, to;
    const char *kind, *state;
    int64_t width;
    double nominal, measured, engine; /* bytes per second; NAN unknown */
    double pair; /* of a link to a switch: its gpu's slowest measured pair; NAN unknown */
};

/* Sets pair_bytes_per_s in the links of GetNode's reply between a gpu and a switch, over which no
 * measurement goes alone; and slowest_pair in the reply, with the rate of the slowest pair of gpus
 * and its source. matrix: reply of GetMatrix, gpus to gpus; NULL none. */
void ui_node_add_pairs(json_t *node, const json_t *matrix);

struct ui_node {
    struct ui_place *place;
    size_t place_count;
    struct ui_link *link;
    size_t link_count;
    int root; /* -1: no root */
};

/* Builds the tree; NULL when out of memory. */
struct ui_node *ui_node_new(const json_t *reply);
void ui_node_free(struct ui_node *node);

/* Rate of a link that is much slower than another between such places and models, as measured; of
 * its copy engine where that alone is slow; NAN for all other links. Links with the host are to be
 * alike; those between gpus only where they have one width. */
double ui_link_slow_rate(const struct ui_node *node, const struct ui_link *link);

/* Text of a place's detail, or NULL. */
const char *ui_place_detail(const struct ui_place *place, const char *key);

/* The nearest place of that kind around a place, or itself; -1 none. */
int ui_place_around(const struct ui_node *node, int place, enum ui_kind kind);

/* Model of a place without the prefix of a gpu's vendor; NULL unknown. */
const char *ui_place_model(const struct ui_place *place);

/* Name of the gpu whose memory the kernel shows as that NUMA node without cpus, as their memory bus
 * says; NULL none. */
const char *ui_place_owner(const struct ui_node *node, int numa);

/* Number of places of a kind; index receives their indices by ascending number, at most `most`. */
size_t ui_node_kind(const struct ui_node *node, enum ui_kind kind, int *index, size_t most);
