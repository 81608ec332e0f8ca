/**
 * Folder daemon/export: the node in the formats of other tools.
 *
 * Main types: struct export_input.
 * Uses: base node discover health
 * Public headers: export.h
 * Shown by: tests/system/export.sh, docs/EXPORT.md
 *
 * Writes the node in the formats of other tools; docs/EXPORT.md names the tools and their commands.
 * The XML for hwloc is written by discover/backend_hwloc_measured.c, beside the code that reads it.
 * Pure, except that hwloc reads its XML; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/print.h"
#include "discover/backend_hwloc_view.h"
#include "health/assessment.h"
#include "node/snapshot.h"

enum export_format {
    EXPORT_HWLOC,
    EXPORT_NCCL,
    EXPORT_RCCL,
    EXPORT_GRES,
    EXPORT_DOT,
    EXPORT_PROMETHEUS,
    EXPORT_NFD,
    EXPORT_DRA,
    EXPORT_UCX
};

extern const char *const export_names[]; /* in that order, ends with NULL */

/* Input of a format. Arrays by place belong to the graph of snap. */
struct export_input {
    const struct snapshot *snap;
    const char *xml, *xml_name;          /* the node's hwloc XML; NULL if it has none */
    const struct hwloc_view *view;       /* view of that XML for NCCL, RCCL and GRES; NULL none */
    const struct assessment *assessment; /* for PROMETHEUS and NFD */
    /* by place: memory that the kernel can give now, -1 unknown; NULL: all unknown; for
     * PROMETHEUS */
    const int64_t *free_bytes;
    const bool *is_claimed; /* by place: claimed for computing; for PROMETHEUS */
    int64_t now_s;
};

bool export_needs_view(enum export_format format);
bool export_needs_assessment(enum export_format format);

/* Writes the text. Fails with InvalidParameter where the format does not apply to this node, ABSENT
 * without a required XML, BAD_DATA, NO_MEMORY. */
enum berth_code export_write(enum export_format format, const struct export_input *input,
                             struct print *text, struct berth_err *err);
