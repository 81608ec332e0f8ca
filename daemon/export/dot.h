/**
 * Writes the node as a graph for Graphviz: memory and devices in their packages, an edge for each
 * link with its width and rate. Source: the DOT language.
 */
#pragma once
#include "export/export.h"

void export_dot(const struct export_input *input, struct print *text);
