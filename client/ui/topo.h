/**
 * A node drawn for a person, from GetNode's reply: who it is, a tree of its places, its links, and
 * what its sources disagree about.
 */
#pragma once
#include <jansson.h>

#include "ui/node.h"
#include "ui/ui.h"

void ui_topo(struct ui *ui, const json_t *reply);

/* ui/links.c: the gpus against each other as a table, then every kind of link. */
void ui_links(struct ui *ui, const struct ui_node *node);

/* "xgmi x2" and its rate; "" when there is no link from the place to the cpu side. size bytes. */
void ui_host_link(const struct ui *ui, const struct ui_node *node, int place, char *text,
                  size_t size);
