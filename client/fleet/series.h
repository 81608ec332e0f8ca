/**
 * Names of series, each once for all nodes, and the metrics of schema/metrics.def.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLEET_SERIES_MAX  1000000
#define FLEET_SERIES_NONE UINT32_MAX
#define FLEET_PLACE_MAX   65 /* with its end */
#define FLEET_AXES_MAX    256

struct fleet_metric {
    const char *name, *unit, *axes;
    bool higher_is_better;
};

extern const struct fleet_metric fleet_metrics[];
extern const size_t fleet_metric_count;

/* NULL where there is none of this name. */
const struct fleet_metric *fleet_metric_find(const char *name);

/* Writes axes without defaults in the table's order, as "bytes=4096;direction=read". False for an
 * unknown axis, and for a value that is neither text of 1 to 40 bytes nor an integer. */
bool fleet_axes(const struct fleet_metric *metric, const json_t *axes, char ret[FLEET_AXES_MAX]);

struct fleet_series {
    const struct fleet_metric *metric; /* NULL: of all */
    char from[FLEET_PLACE_MAX], to[FLEET_PLACE_MAX];
    char axes[];
};

struct fleet_series_table;
struct fleet_series_table *fleet_series_table_new(void);
void fleet_series_table_free(struct fleet_series_table *table);

/* Finds or adds a series. FLEET_SERIES_NONE when there are too many, or memory is short. Any
 * thread. */
uint32_t fleet_series_add(struct fleet_series_table *table, const struct fleet_metric *metric,
                          const char *from, const char *to, const char *axes);

/* The series of a number that fleet_series_add returned to this thread, or before this thread
 * began. */
const struct fleet_series *fleet_series_at(const struct fleet_series_table *table, uint32_t number);
uint32_t fleet_series_count(const struct fleet_series_table *table);
