/**
 * A backend reads one source of facts about the node and adds what it finds to the draft.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/files.h"
#include "discover/draft.h"

/* Where the sources are; NULL or "" means that there is none of that kind. */
struct backend_input {
    bool live;            /* hwloc looks at the running machine */
    const char *xml;      /* else at this text of an hwloc XML file */
    const char *xml_name; /* the file's name, for errors */
    const struct files *io;
    const char *kfd;   /* the path below io of the directory that holds topology/nodes */
    const char *facts; /* what a gpu probe printed */
};

struct backend {
    const char *name;
    /* BERTH_ABSENT when its source or hardware is not there: that is fine, nothing was added. Other
     * codes are failures. Out of memory is the draft's to report. */
    enum berth_code (*discover)(const struct backend_input *input, struct draft *draft,
                                struct berth_err *err);
};

/* cpus, caches, memory; PCI devices; what firmware says of distances */
extern const struct backend backend_hwloc;
extern const struct backend backend_kfd;   /* the AMD driver's sysfs tree */
extern const struct backend backend_facts; /* device and link records of a gpu probe */

/* hwloc's view of the running machine as XML of format 2, with what /proc/meminfo below io adds;
 * new text that the caller frees. */
enum berth_code backend_hwloc_export(const struct files *io, char **ret_xml, struct berth_err *err);
