/**
 * A node folder, read: node.json and the files that it names. Nothing outside the folder is read,
 * whatever node.json or a symbolic link says.
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
    char *measurements; /* path below root: as large as RECORD_FILE_MAX, it is read line by line */
    json_t *software;   /* an object of texts; NULL none */
    enum origin origin; /* the worst that node.json gives; recorded when it gives none */
};

/* Fails with ABSENT when there is no such folder, BAD_DATA when it is no node folder or names what
 * is not there. */
enum berth_code backend_replay_open(const char *folder, struct replay *ret_replay,
                                    struct berth_err *err);
void backend_replay_done(struct replay *replay);
