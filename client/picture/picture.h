/**
 * Folder client/picture: a node, and a placement on it, as SVG.
 *
 * Main types: struct picture.
 * Uses: lib ui
 * Public headers: picture.h
 * Shown by: tests/system/picture.sh, `berth topo -o`, `berth bind -o`
 *
 * The host stands above: packages, NUMA nodes, L3s with their cores, and below each L3 the GPUs and
 * NICs that are attached to it. The fabric stands beside it or below: GPUs on a circle, lines
 * between them as wide as they are fast. Rates are measured, else nominal and marked so.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "ui/node.h"
#include "ui/ui.h"

/* Appends an SVG document. node: reply of GetNode; plan: reply of Bind, NULL none. */
void picture_node(struct ui *out, const json_t *node, const json_t *plan);

/* Rules of style for the pictures in a page while it is dark. A file of its own is on white. */
extern const char picture_dark[];

/* Appends text, escaped for XML; NULL nothing. Control characters become ?. */
void picture_text(struct ui *out, const char *text);
