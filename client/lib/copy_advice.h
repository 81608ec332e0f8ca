/**
 * Advice of Route for one copy, as far as a program carries it out: parts by copy engines.
 */
#pragma once
#include "lib/driver_names.h"

#define LIB_PARTS_MAX 4
#define LIB_HOPS_MAX  3
#define LIB_PIECE_MAX ((size_t)16 << 20) /* bytes; larger pieces gain nothing */

/* Device number, or -1 - N for NUMA node N. */
typedef int lib_copy_place;
static inline bool lib_copy_is_device(lib_copy_place place) { return place >= 0; }

struct lib_copy_part {
    lib_copy_place place[LIB_HOPS_MAX + 1]; /* from end to end */
    int hops;
    double share;
    size_t piece; /* bytes of the pieces in which hops follow each other; 0 for one hop */
};

/* One copy where there are no parts. */
struct lib_copy_advice {
    lib_copy_place from, to;
    int size_class; /* for sizes from 1 << size_class on, below twice that */
    int parts;
    struct lib_copy_part part[LIB_PARTS_MAX];
    char how[160]; /* what it is, or why it is one copy */
};

/* Asks the daemon for a copy from one place to another of this class. The advice is one copy where
 * that is the answer, or where nothing else can be carried out. Fails as a call does. */
int lib_copy_ask(struct berth *berth, const struct lib_driver *driver,
                 const struct lib_driver_names *names, struct lib_copy_advice *advice);
