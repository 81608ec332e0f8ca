/* A node folder as a snapshot. */
#pragma once
#include "unit/node/built_nodes.h"

#include "discover/discover.h"

/* NULL when the folder is refused. */
static inline struct snapshot *folder_load(const char *folder)
{
    struct discovery found = {0};
    struct berth_err err = {0};
    if (discover_folder(folder, &found, &err) != BERTH_OK)
        return NULL;
    struct snapshot *snap = snapshot_new(found.graph, found.values, NULL, 0, 0, 1);
    assert_non_null(snap);
    snap->sets = found.sets;
    assert_true(derive_costs(snap));
    graph_unref(found.graph);
    free(found.shapes);
    return snap;
}

static inline struct snapshot *folder_snapshot(const char *folder)
{
    struct snapshot *snap = folder_load(folder);
    assert_non_null(snap);
    return snap;
}
