/**
 * A node folder, read: node.json and the files that it names. Nothing outside the folder is read,
 * regardless of node.json and symbolic links.
 */
#pragma once
#include <jansson.h>

#include "base/err.h"
#include "base/files.h"
#include "node/graph.h"

#define RECORD_FILE_MAX (256u << 20) /* bytes of measurements, and of facts */

struct replay {
    char *root;         /* the folder's real path */
    char *name;         /* node.json's, else the folder's own */
    char *xml;          /* text of the hwloc XML; NULL none; so are the next three */
    char *xml_name;     /* the file's name in the folder */
    char *kfd;          /* path below root, "/kfd" */
    char *facts;        /* text */
    char *counters;     /* text of the error counters; NULL none */
    char *measurements; /* path below root; up to RECORD_FILE_MAX, read line by line */
    json_t *software;   /* an object of texts; NULL none */
    enum origin origin; /* the worst one of node.json; recorded when it has none */
};

/* Opens a folder. Fails with ABSENT when it does not exist, and with BAD_DATA when it is no node
 * folder or names a missing file. */
enum berth_code backend_replay_open(const char *folder, struct replay *ret_replay,
                                    struct berth_err *err);
void backend_replay_done(struct replay *replay);
