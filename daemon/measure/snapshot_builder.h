/**
 * How the next snapshot is made: from the world (discovery and what the store has), or from the
 * last one and a finished probe run. Blocks on the disk and on sysfs: the scheduler calls it on the
 * thread pool, or before the loop runs.
 */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/files.h"
#include "measure/history.h"
#include "node/snapshot.h"
#include "store/store.h"

/* What the drivers said of the gpus when they were asked last. */
struct snapshot_builder_facts {
    char *text;       /* device and link records (docs/RECORD.md); NULL nothing */
    struct note note; /* why there is nothing; code "" there is nothing wrong */
};

/* Discovers this machine (folder NULL; facts NULL: the drivers have not been asked) or a node
 * folder, and loads what the store has of it. A store that cannot be read becomes a note of the
 * snapshot, not a failure. */
enum berth_code snapshot_builder_discover(struct store *store, const struct files *io,
                                          const char *folder,
                                          const struct snapshot_builder_facts *facts,
                                          const struct history_env *past, uint64_t generation,
                                          struct snapshot **ret_snapshot, struct berth_err *err);

/* run NULL: base again, with what the store says of itself now. Else: stores the run, with what
 * curves make of its sizes (node/curve.h), and puts its values and sets over those of base. The
 * notes are the run's, the store's and those of the other probes' latest runs; a partial run gets
 * what the one before it found critical and it did not look at. A run that cannot be stored is a
 * note, not a failure; NO_MEMORY is the only one. */
enum berth_code snapshot_builder_with_run(struct store *store, const struct snapshot *base,
                                          struct run *run, const struct history_env *past,
                                          uint64_t generation, struct snapshot **ret_snapshot,
                                          struct berth_err *err);
