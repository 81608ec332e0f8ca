/**
 * Types that the files of client/fleet share.
 *
 * Values are compared as logarithms with a sign, so that more is worse for every metric: a loss of
 * 10 % is -log(0.9) of a rate and of a time.
 */
#pragma once
#include <math.h>
#include <pthread.h>

#include "fleet/fleet.h"
#include "fleet/known.h"
#include "fleet/series.h"

#define FLEET_CONDITIONS 24
#define FLEET_NAME_MAX   64
#define FLEET_TEXT_MAX   120 /* of a condition or a model */
#define FLEET_LEAST      5   /* fewest nodes that are compared */
#define FLEET_QUANTILES  FLEET_KNOWN_SAMPLES
#define FLEET_NODES_MAX  100000
#define FLEET_VALUES_MAX 65536 /* of a node */
#define FLEET_NONE       UINT32_MAX

struct fleet_value {
    uint32_t series;
    float x;   /* logarithm, more is worse */
    float own; /* its standard deviation by the node's own measurement; 0 unknown */
};

/* A comparison of the nodes: in a series, or in the mean of all series of a place, a pair, a
 * metric, a metric at a place, the node. */
struct fleet_test {
    const struct fleet_series *series; /* of a mean: metric NULL all, from and to "" all */
    uint32_t nodes, members;           /* members: series of the mean, 1 for a series itself */
    uint32_t pool, tail; /* tests alike: their deviations, and their tails, support each other */
    float median, deviation; /* between nodes, robust */
    float freedom;           /* of Student's t whose tail the nodes have */
    float *quantile;         /* FLEET_QUANTILES of x; NULL not kept */
};

/* A test in which a node is worse than its class. */
struct fleet_item {
    uint32_t test;              /* FLEET_NONE: in none */
    float excess, deviation, t; /* t: excess without outliers, in deviations */
    double log_p;               /* of this test alone */
};

struct fleet_condition {
    char *name, *value;
};

struct fleet_node {
    char *name, *models;
    char *path;           /* of its record, clean */
    char fingerprint[33]; /* "" unknown */
    struct fleet_condition condition[FLEET_CONDITIONS];
    size_t condition_count;
    int64_t at_s; /* when measured; 0 unknown */
    struct fleet_value *value;
    size_t count, room;
    size_t class;
    /* means, one for each group of the class, NAN none: without outliers, which decides; with them
     */
    float *mean, *whole;
    struct fleet_item item, worst; /* the most certain test, and the most certain series */
    double log_p;                  /* for all tests of the node together, at most 0 */
    bool is_slow;
};

struct fleet_class {
    const char *fingerprint, *models; /* of its first node */
    struct fleet_node **node;         /* part of fleet.node */
    size_t count, slow;
    struct fleet_test *test; /* series, then means */
    size_t series, tests;    /* tests: 0 for a class that is not compared */
    /* condition that divided the class: its nodes have it, or have it not; NULL undivided */
    const char *name, *value;
    bool is_without;
};

/* A condition of nodes that are slow more often than chance allows, or slower altogether. */
struct fleet_shared {
    const char *fingerprint, *name, *value;
    size_t slow_with, with, slow, nodes;
    double p; /* for all conditions of the class together; 1: the slow nodes do not share it */
    /* loss of nodes with it beside the others, in all (metric NULL) or in one metric */
    bool is_slower;
    const struct fleet_metric *metric;
    double loss, loss_p;
};

struct fleet_left_out {
    char *file, *why;
};

struct fleet {
    struct fleet_settings settings;
    struct fleet_series_table *series, *groups, *pools;
    struct fleet_node **node;
    size_t count, room, values;
    struct fleet_left_out *left_out; /* the first few */
    size_t left_out_count;           /* all */
    pthread_mutex_t lock;            /* of all above while reading */
    bool failed;                     /* out of memory */
    struct fleet_class *class;
    size_t class_count, slow_count;
    struct fleet_shared *shared;
    size_t shared_count;
};

#define FLEET_LEFT_OUT_MAX 100 /* kept with their reason */

/* Notes a file that cannot be used, wholly or in part. Any thread. */
void fleet_leave_out(struct fleet *fleet, const char *file, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a node, or drops it when it has no values. Takes it. Any thread. */
void fleet_add(struct fleet *fleet, struct fleet_node *take_node, const char *file);
void fleet_node_free(struct fleet_node *node);

/* Frees the tests of a class. */
void fleet_class_done(struct fleet_class *class);

/* A file, or a part of an archive. */
struct fleet_part {
    int fd;
    int64_t at, size;
};

enum fleet_file { FLEET_NODE, FLEET_MEASUREMENTS, FLEET_FACTS, FLEET_TOPOLOGY, FLEET_FILES };

/* fleet/node.c: parses a node and adds it. A part without a file has fd -1. name: the node's where
 * its files name none. path is for errors. */
void fleet_parse_node(struct fleet *fleet, struct fleet_known *known,
                      const struct fleet_part part[FLEET_FILES], const char *name,
                      const char *path);
void fleet_parse_baseline(struct fleet *fleet, struct fleet_known *known,
                          const struct fleet_part *part, const char *path);

/* fleet/conditions.c: adds shared conditions of each class. False when out of memory. */
bool fleet_conditions(struct fleet *fleet);

/* Adds the condition that divides a class: a fifth of its nodes at least have it and are slower,
 * and as many have it not. One median then stands for neither. ret_shared: it, name NULL where
 * there is none. False when out of memory. */
bool fleet_find_division(struct fleet *fleet, const struct fleet_class *class,
                         struct fleet_shared *ret_shared);
bool fleet_has(const struct fleet_node *node, const struct fleet_shared *shared);
const char *fleet_condition_of(const struct fleet_node *node, const char *name); /* or NULL */

/* Returns a loss as a share: 0.1 is 10 % slower, or 1/9 longer. */
static inline double fleet_loss(double excess) { return -expm1(-excess); }
