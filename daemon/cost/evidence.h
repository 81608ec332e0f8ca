/**
 * The values and concurrent runs that an answer rests on. Pure; any thread.
 */
#pragma once
#include "base/err.h"
#include "node/snapshot.h"

/* The values an answer rests on, and the sets of transfers measured together, of the snapshot.
 * Zero-initialise. */
struct evidence {
    const struct value **item; /* NULL: it is set */
    const struct set **set;    /* beside item */
    size_t count, room;
    bool no_memory; /* one could not be added */
};

/* Adds a value, or a set, unless it stands at or after index start already. */
void evidence_add(struct evidence *evidence, size_t start, const struct value *value);
void evidence_add_set(struct evidence *evidence, size_t start, const struct set *set);

/* Returns OK, or NO_MEMORY where one could not be added. */
enum berth_code evidence_code(const struct evidence *evidence, struct berth_err *err);

/* Puts the items from index first on before the rest, leaves out those of the rest that say the
 * same as one before (metric, axes, and a value within 5 %), and keeps at most that many. */
void evidence_few(struct evidence *evidence, size_t first, size_t most);
void evidence_done(struct evidence *evidence);
