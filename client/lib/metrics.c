/* Call berth_list_metrics: reply and its release. */
#include "lib/read.h"

static const char *const better_names[] = {"", "higher", "lower", NULL};

static void fill_metric(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_metric *)ret = (struct berth_metric){
        .name = lib_read_text(read, item, "name"),
        .unit = lib_read_text(read, item, "unit"),
        .about = lib_read_text(read, item, "about"),
        .better = (enum berth_better)lib_read_enum(read, item, "better", better_names),
        .axes = lib_read_texts(read, item, "axes"),
        .defaults = lib_read_pairs(read, item, "defaults"),
        .cells = lib_read_integer(read, item, "cells"),
        .measured = lib_read_integer(read, item, "measured"),
    };
}

static void fill_metrics(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_metrics *metrics = ret;
    metrics->metrics = lib_read_array(read, reply, "metrics", sizeof *metrics->metrics, fill_metric,
                                      &metrics->metric_count);
    metrics->basis = lib_read_basis(read, reply);
}

int berth_list_metrics(struct berth *berth, struct berth_metrics **ret_metrics)
{
    return lib_ask(berth, "io.berth.Fabric.ListMetrics", json_object(), sizeof **ret_metrics,
                   fill_metrics, ret_metrics);
}

void berth_metrics_free(struct berth_metrics *metrics) { lib_result_free(metrics); }
