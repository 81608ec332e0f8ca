/* What model.c, which reads lines, and model_paths.c, which makes paths of them, share while a
 * description is read. */
#pragma once
#include "model.h"

/* A cell of the table of paths before its resources are known. */
struct model_draft {
    double rate, share, ns;
    char *uses; /* borrowed from a line */
    bool wrong;
};

struct model_reader {
    struct model *model;
    /* as model->paths; made when the first path is read: devices and NUMA nodes come before */
    struct model_draft *drafts;
    char *lines[512]; /* all text that drafts borrow from */
    size_t line_count;
    /* devices on the way, both ends included, -1 ends it */
    int route[MODEL_DEVICES_MAX][MODEL_DEVICES_MAX][MODEL_HOPS_MAX];
    char why[200];
};

/* All say in reader->why what is wrong. */
bool model_fail(struct model_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
size_t model_index(const struct model *model, enum model_mechanism mechanism, enum model_how how,
                   enum model_kind kind, int from, int to);
size_t model_path_count(const struct model *model);
int model_resource(const struct model *model, const char *name); /* -1 */
bool model_resource_add(struct model_reader *reader, const char *name, double capacity,
                        struct share_resource **ret_resource);

/* Whether place fits the word: "gpu", "host", "own", "peer", "pair" (the other on its module),
 * "near", "far", a device "3" or several "0-3", "numa2", "numa0-3". other is the place at the other
 * end. */
bool model_fits(const struct model *model, const char *word, int place, int other);
bool model_paths_line(struct model_reader *reader, char **words, size_t count);
bool model_paths_finish(struct model_reader *reader);
