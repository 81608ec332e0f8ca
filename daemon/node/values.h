/**
 * Values: numbers of a metric from one place to another under some axes. A values object is a set
 * of them with the axes interned; it is filled, sorted once, and constant from then on.
 *
 * Axes are kept as canonical text, so equal axes are equal strings. Keys are in ascending order,
 * "bytes=4096;operation=cas"; axes at their metric's default are left out. The empty text is all
 * defaults.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/graph.h"
#include "node/metric.h"

enum value_source { VALUE_MEASURED, VALUE_NOMINAL, VALUE_PUBLISHED };

struct value {
    enum metric metric : 16;
    enum value_source source : 8;
    bool is_never : 1; /* why_not holds whatever is tried (schema/nevers.def) */
    place_id from, to;
    uint32_t axes; /* for values_axes() */
    uint32_t n;    /* number of repetitions; 0 for nominal */
    /* value stated by firmware or driver before the measurement; 0 none. float fills a gap */
    float nominal;
    /* in the metric's unit; NAN when not measurable, with the reason in why_not */
    double value;
    double low, high;      /* 95 % interval; NAN unknown */
    int64_t measured_at_s; /* 0 unknown */
    int64_t run;           /* the store's run id; 0 when not stored */
    const char *why_not;   /* interned in the set; NULL when value is a number */
};

struct values {
    struct value *item; /* after values_finish: ascending by metric, from, to, axes text */
    size_t count;
    size_t first[METRIC_COUNT + 1]; /* private: the first item of each metric */
    struct values_pool *pool;       /* private: interned strings */
};

struct values *values_new(void); /* NULL when out of memory */
void values_free(struct values *values);

/* Writes the canonical text of axes given as keys and values in any order to buffer; n pairs in
 * text[2i], text[2i+1]. Fails with BAD_DATA when the metric has no such axis. A key or value that
 * is empty, over 40 characters, or contains ';' or '=' is BAD_DATA, too. */
enum berth_code axes_canonical(enum metric metric, const char *const *text, size_t n, char *buffer,
                               size_t size, struct berth_err *err);

/* Returns one axis of canonical text, the metric's default where it is left out; NULL when the
 * metric has no such axis. */
const char *axes_get(enum metric metric, const char *axes, const char *key, char *buffer,
                     size_t size);

/* Returns the reason why there is no value from a place to itself; NULL where there may be one, or
 * the places differ. */
const char *values_why_no_self(const struct graph *graph, enum metric metric, place_id from,
                               place_id to);

/* Adds a copy of v with these axes and why_not (copied; NULL fine). A later add with the same
 * metric, from, to and axes replaces the earlier one at values_finish, unless information would be
 * lost. A reason for a missing number (a probe run that ran out of time) does not replace a number.
 * A nominal or published number does not replace a measured one. False when out of memory. */
bool values_add(struct values *values, const struct value *v, const char *axes,
                const char *why_not);

/* Adds all of other, which is unchanged. Both must belong to the same graph. */
bool values_add_all(struct values *values, const struct values *other);

/* Returns the number of items with a number. */
size_t values_numbers(const struct values *values);

/* Sorts and removes replaced items; a number that replaces a nominal one keeps it in nominal. Call
 * once after the last add. */
void values_finish(struct values *values);

const char *values_axes(const struct values *values, const struct value *v);

/* Returns the value; NULL when there is none, or none with a number. Binary search; finished sets
 * only. */
const struct value *values_find(const struct values *values, enum metric metric, place_id from,
                                place_id to, const char *axes);

/* Returns all items of a metric, or of a metric and a from: a range of item; from PLACE_NONE means
 * any. */
size_t values_range(const struct values *values, enum metric metric, place_id from,
                    const struct value **ret_first);

/* Returns all items of a metric between two places. */
size_t values_range_to(const struct values *values, enum metric metric, place_id from, place_id to,
                       const struct value **ret_first);

const char *value_source_name(enum value_source source);
bool value_source_parse(const char *name, enum value_source *ret_source);

/* True for a transfer in one direction, measured or published; false for the sum of both
 * directions. */
bool values_is_one_way(const struct values *values, const struct value *value);

/* True for a value measured in one direction, with all axes at their defaults, without a value of
 * the opposite direction. It represents that one, too. */
bool values_stands_for_back(const struct values *values, const struct value *value);
