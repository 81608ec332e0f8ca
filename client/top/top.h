/**
 * Folder client/top: berth-top, the live view of a node in a terminal (`berth top` runs it).
 *
 * Main types: struct top.
 * Uses: lib ui
 * Public headers: top.h
 * Shown by: tests/system/top.sh, `berth top`
 *
 * A program of its own, because it is linked to ncurses and the start-up time of `berth exec`
 * counts. model.c asks the daemon, screen.c draws.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/berth.h"

#define TOP_VALUES 64 /* metrics with a line */
#define TOP_POINTS 64 /* latest points of a history */
#define TOP_NAME   64

/* The worst cell of a metric, as berth report chooses it. */
struct top_value {
    char metric[TOP_NAME], from[TOP_NAME], to[TOP_NAME], unit[TOP_NAME];
    bool is_higher_better;
    double now, expected; /* expected: of the finding, else of the baseline; NAN none */
    char code[TOP_NAME], severity[16]; /* of the value's finding; "" none */
    bool is_unconfirmed;               /* seen once */
    double point[TOP_POINTS];          /* ascending by time */
    double first_s, last_s;            /* of the points */
    size_t points;
};

struct top {
    struct berth *berth;
    /* Latest replies; NULL before the first. */
    json_t *node, *status, *check, *claims, *memory;
    struct top_value value[TOP_VALUES];
    size_t values;
    char snapshot[TOP_NAME]; /* of node, check and values */
    char problem[256];       /* "" none */
};

/* Asks what changes all the time; and the rest where the snapshot is new. False: problem says why
 * the daemon did not answer. */
bool top_refresh(struct top *top);
void top_done(struct top *top);

/* Text of the connection's last error. */
const char *top_error(const struct berth *berth);

enum top_view { TOP_NODE, TOP_HEALTH, TOP_VALUES_VIEW, TOP_HISTORY, TOP_VIEWS };

/* True where the terminal can move its cursor. */
bool top_can_draw(void);

/* Runs until q; needs a terminal that top_can_draw. */
void top_run(struct top *top);
