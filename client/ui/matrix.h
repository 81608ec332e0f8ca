/**
 * A matrix as text for a person, from GetMatrix's reply: one table for each combination of axes,
 * coloured from best to worst. With many combinations it prints only the chosen ones (ui/axes.h),
 * one axis down the rows (ui/pivot.c), or a list if the cells are few. Also prints ListMetrics'
 * reply as a table.
 */
#pragma once
#include <jansson.h>

#include "ui/axes.h"
#include "ui/ui.h"

struct ui_matrix_options {
    bool intervals;          /* both bounds of each cell instead of its value */
    bool picked;             /* true: the request named only some axes */
    struct ui_choice choice; /* choice of combinations, when there are many */
    bool all_sizes;          /* true: every size, not only the default of the axis bytes */
    bool all;                /* true: every combination of axes */
    int better;              /* 1 higher is better, -1 lower, 0 unknown: no colours */
    const char *why_none;    /* why there is no cell; NULL: none was measured */
};

void ui_matrix(struct ui *ui, const json_t *reply, const struct ui_matrix_options *options);

/* ui/fold.c: a copy of a matrix with more than `most` cores in which L3s, or blocks of cores where
 * all have one L3, stand for their cores: a cell is the median of its pairs, without interval. The
 * member "answer" has the spread of the pairs, "note" what a cell is. node: reply of GetNode. NULL:
 * there are not so many, or out of memory. */
json_t *ui_fold_cores(const struct ui *ui, const json_t *matrix, const json_t *node, size_t most);

/* ui/noise.c: a table behind the matrix of memory_noise: each initiator's rate or latency alone,
 * and under that noise. The members are replies of GetMatrix: memory_bandwidth, memory_latency, and
 * host_gpu_kernel, which has a gpu's rates without noise; NULL: unknown. */
struct ui_noise {
    const json_t *bandwidth, *latency, *kernels;
};
void ui_noise(struct ui *ui, const json_t *reply, const struct ui_noise *noise);

/* ui/iterations.c: a table behind the matrix of gpu_touch: the least iterations for which managed
 * memory is faster than that of malloc and than pinned memory. */
void ui_iterations(struct ui *ui, const json_t *reply);

/* Lists the metrics that have values, a line each; with all every one, with its whole meaning. */
void ui_metrics(struct ui *ui, const json_t *reply, bool all);
