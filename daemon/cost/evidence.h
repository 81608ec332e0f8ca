/**
 * The values and concurrent runs that an answer rests on. Pure; any thread.
 */
#pragma once
#include "node/snapshot.h"

/* The values an answer rests on, and the sets of transfers measured together, of the snapshot.
 * Zero-initialise. */
struct evidence {
    const struct value **item; /* NULL: it is set */
    const struct set **set;    /* beside item */
    size_t count, room;
    bool no_memory;                 /* one could not be added */
    struct evidence_stated *stated; /* private: items that are no values of the snapshot */
};

/* Adds value unless it stands at or after index start already. False when out of memory. */
bool evidence_add(struct evidence *evidence, size_t start, const struct value *value);
bool evidence_add_set(struct evidence *evidence, size_t start, const struct set *set);

/* What goes from one place to another by the mechanism of that metric, which the snapshot has no
 * value of: what links are said to carry (nominal), or what is published of such gpus. */
bool evidence_add_stated(struct evidence *evidence, size_t start, enum metric metric,
                         enum value_source source, place_id from, place_id to, double bytes_per_s);

/* One of another's, which need not last as long. */
bool evidence_add_same(struct evidence *evidence, size_t start, const struct evidence *other,
                       size_t index);

/* What stands from index first on comes before the rest, of which those that say the same as one
 * before (metric, axes, and a value within 5 %) are left out; then at most that many. */
void evidence_few(struct evidence *evidence, size_t first, size_t most);
void evidence_done(struct evidence *evidence);
