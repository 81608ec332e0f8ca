/**
 * The GPU probe's names of places, and lists of them for its options. Pure.
 */
#pragma once
#include <stdio.h>

#include "node/graph.h"

/* Returns the probe's name of a GPU: its PCI address, or its UUID if several GPUs (slices,
 * partitions) share one. */
const char *probe_names_gpu(const struct graph *graph, place_id gpu);

/* A list whose items are apart by commas. */
struct probe_names {
    FILE *file; /* NULL out of memory */
    char *text;
    size_t size;
    size_t count, bytes; /* of items, of all of them */
};

void probe_names_begin(struct probe_names *names);

/* Adds an item, or with another separator than a comma a part of the last one. */
void probe_names_add(struct probe_names *names, char separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the list, which the caller frees; NULL when out of memory. */
char *probe_names_end(struct probe_names *names);

/* Translates comma separated places: GPUs and modules get the probe's names. The caller frees it;
 * NULL when out of memory. */
char *probe_names_translate(const struct graph *graph, const char *places);
