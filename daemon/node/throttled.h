/**
 * GPUs whose clocks were held down at the end of measurements: the last runs of each, and why.
 * Records of counters.jsonl: docs/ERRORS.md.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THROTTLE_RUNS  8 /* the last ones that count */
#define THROTTLE_LEAST 3 /* throttled ones among them that are a finding */
#define THROTTLE_GPUS  64

struct throttle_gpu {
    char at[16];     /* PCI address */
    unsigned runs;   /* bit 0: the latest was throttled */
    int count;       /* known runs, at most THROTTLE_RUNS */
    int64_t since_s; /* the first throttled one among them; 0 none */
    char why[96];    /* of the latest throttled one */
};

struct throttles {
    struct throttle_gpu gpu[THROTTLE_GPUS];
    size_t count;
};

/* Enters a run. why NULL: the clocks were not held down. GPUs beyond THROTTLE_GPUS are left out. */
void throttled_enter(struct throttles *throttles, const char *at, const char *why, int64_t at_s);

/* Returns the number of throttled runs among the last ones. */
int throttled_count(const struct throttle_gpu *gpu);

/* Reads a record "throttle". */
bool throttled_parse(const json_t *object, struct throttles *throttles);

/* Returns its record; NULL when out of memory. */
json_t *throttled_json(const struct throttle_gpu *gpu);
