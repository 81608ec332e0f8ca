/**
 * GetNode's reply as a tree and a list of links, for drawing. Everything is borrowed from the
 * reply, which must stay. Replies are not trusted: unknown parents and ends are dropped, what hangs
 * in a circle is not reached from the root.
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

bool ui_cpus_parse(const char *list, struct ui_cpus *ret_cpus); /* the kernel's list format */
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
    const char *name, *kind_name, *model, *pci, *cpu_list; /* NULL unknown, but for the first two */
    enum ui_kind kind;
    int number;                                /* behind the name; -1 none */
    int64_t capacity_bytes;                    /* -1 unknown */
    struct ui_cpus *cpus;                      /* NULL unknown */
    size_t cores;                              /* of its cpus */
    int parent, first_child, last_child, next; /* as drawn: an llc hangs below its numa; -1 none */
};

struct ui_link {
    int from, to;
    const char *kind, *state;
    int64_t width;
    double nominal, measured; /* bytes per second; NAN unknown */
};

struct ui_node {
    struct ui_place *place;
    size_t place_count;
    struct ui_link *link;
    size_t link_count;
    int root; /* -1: there is none */
};

/* NULL when out of memory. */
struct ui_node *ui_node_new(const json_t *reply);
void ui_node_free(struct ui_node *node);

/* The text of a place's detail, or NULL. */
const char *ui_place_detail(const struct ui_place *place, const char *key);

/* How many places of a kind there are, and their indices in ascending order of number. index has
 * room for most. */
size_t ui_node_kind(const struct ui_node *node, enum ui_kind kind, int *index, size_t most);
