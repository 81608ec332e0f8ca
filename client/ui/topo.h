/**
 * A node as text for a person, from GetNode's reply: a sentence about it, its identity, a tree of
 * its places, its links, and contradictions between its sources.
 */
#pragma once
#include <jansson.h>

#include "ui/node.h"
#include "ui/ui.h"

enum { UI_TOPO_TREE = 1, UI_TOPO_LINKS = 2 };

/* parts: bits of those. free_bytes: an object of the free memory by place; NULL unknown. */
void ui_topo(struct ui *ui, const json_t *reply, unsigned parts, const json_t *free_bytes);

/* ui/topo_header.c: prints the sentence, name, counts and software. */
void ui_topo_header(struct ui *ui, const struct ui_node *node, const json_t *reply);
/* Model of all gpus, which the header has; NULL where they differ or have none. */
const char *ui_common_model(const struct ui_node *node);
/* The only package of a node, which the header has; -1 where there are none or several. */
int ui_only_package(const struct ui_node *node);

/* ui/links.c: prints a table of gpus against gpus, then every kind of link. */
void ui_links(struct ui *ui, const struct ui_node *node);

/* Name of the L3 to which a device is attached: that with just its cpus. NULL: none of several
 * in its NUMA node, or unknown. */
const char *ui_device_cache(const struct ui_node *node, int device);

/* Writes "xgmi x2" and its rate, measured or said to be nominal; "" when the place has no link to
 * the cpu side. size: bytes of text. */
void ui_host_link(const struct ui *ui, const struct ui_node *node, int place, char *text,
                  size_t size);
