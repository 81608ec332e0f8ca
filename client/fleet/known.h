/**
 * Beginnings of lines of records and baselines, kept from node to node: equal nodes have equal
 * lines but for the numbers, so most lines need no JSON parser. Each thread has its own.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLEET_KNOWN_SAMPLES 16 /* measure/baseline_file.c takes no more */

struct fleet_known;

struct fleet_known_value {
    uint32_t series;
    bool higher_is_better;
    double value, low, high;            /* of a record, which has no samples */
    double sample[FLEET_KNOWN_SAMPLES]; /* of a baseline */
    size_t samples;
};

struct fleet_known *fleet_known_new(void);        /* NULL when out of memory */
void fleet_known_free(struct fleet_known *known); /* accepts NULL */

/* Begins a node: its first line is expected to be the first one of the last node. */
void fleet_known_rewind(struct fleet_known *known);

/* Reads a line whose beginning is known. False for any other line. */
bool fleet_known_read(struct fleet_known *known, const char *line, size_t length,
                      struct fleet_known_value *ret_value);

/* Learns a line that the JSON parser has accepted as a value of the series. Lines of another form
 * are passed over. */
void fleet_known_learn(struct fleet_known *known, const char *line, size_t length, uint32_t series,
                       bool higher_is_better);
