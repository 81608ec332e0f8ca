/**
 * Builder of the next snapshot: from discovery and the store, or from the last snapshot and a
 * finished run. Blocks on the disk and on sysfs: on the thread pool, or before the loop runs.
 */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/files.h"
#include "measure/history.h"
#include "node/snapshot.h"
#include "store/store.h"

/* Latest facts from the drivers about GPUs. */
struct snapshot_builder_facts {
    char *text;       /* device and link records (docs/RECORD.md); NULL none */
    struct note note; /* reason why there are none; code "" none */
};

/* Inputs of every snapshot, all borrowed. */
struct snapshot_builder {
    struct store *store;
    const struct history_env *past;
    uint64_t generation;             /* of the next snapshot */
    const struct counters *counters; /* of the last snapshot; NULL none */
};

/* Discovers this machine (folder NULL; facts NULL: the drivers have not been asked yet) or a node
 * folder, and loads the store's data on it. A store that cannot be read becomes a note of the
 * snapshot, not a failure. */
enum berth_code snapshot_builder_discover(const struct snapshot_builder *builder,
                                          const struct files *io, const char *folder,
                                          const struct snapshot_builder_facts *facts,
                                          const struct snapshot **ret_snapshot,
                                          struct berth_err *err);

/* Reads the error counters of this machine. Makes a snapshot from base with them, unless health
 * says nothing of either reading: ret_snapshot stays as it is then. Fails with NO_MEMORY. */
enum berth_code snapshot_builder_with_counters(const struct snapshot_builder *builder,
                                               const struct files *io, const struct snapshot *base,
                                               const struct snapshot **ret_snapshot,
                                               struct berth_err *err);

/* Makes a snapshot from base. run NULL: copies base with the store's current notes. Otherwise
 * stores the run, including the sizes that curves complete (node/curve.h). Its values and sets
 * replace those of base. Notes come from the run, the store and the other probes' latest runs. A
 * partial run keeps critical notes, and warnings of cells that it did not measure. The daemon's own
 * keeps all notes of places that it did not measure. A run that cannot be stored
 * becomes a note. Fails with NO_MEMORY only. */
enum berth_code snapshot_builder_with_run(const struct snapshot_builder *builder,
                                          const struct snapshot *base, struct run *run,
                                          const struct snapshot **ret_snapshot,
                                          struct berth_err *err);
