/**
 * A backend reads one source of facts about the node and adds them to the draft.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/files.h"
#include "discover/draft.h"

/* Sources of a discovery; NULL or "" means that a source is absent. */
struct backend_input {
    bool live;            /* hwloc reads the running machine */
    const char *xml;      /* otherwise: text of an hwloc XML file to read */
    const char *xml_name; /* the file's name, for errors */
    const struct files *io;
    const char *kfd;   /* path below io of the directory with topology/nodes */
    const char *facts; /* output of a gpu probe */
};

struct backend {
    const char *name;
    /* ABSENT when its source or hardware is absent: no error, nothing was added. Other codes are
     * failures. The draft reports that memory ran out. */
    enum berth_code (*discover)(const struct backend_input *input, struct draft *draft,
                                struct berth_err *err);
};

/* cpus, caches, memory; PCI devices; distances and memory attributes of the firmware */
extern const struct backend backend_hwloc;
extern const struct backend backend_kfd;   /* the AMD driver's sysfs tree */
extern const struct backend backend_facts; /* device and link records of a gpu probe */

/* Returns hwloc's view of the running machine as XML of format 2, with the MemTotal of
 * /proc/meminfo below io; new text that the caller frees. */
enum berth_code backend_hwloc_export(const struct files *io, char **ret_xml, struct berth_err *err);
