/* Types that several answers share. */
#include "lib/read.h"

#include <math.h>

const char *const lib_origin_names[] = {"", "live", "recorded", "reconstructed", "standin", NULL};
const char *const lib_source_names[] = {
    "",          "measured", "similar_pair", "reverse_direction",
    "published", "nominal",  "lower_bound",  NULL};
const char *const lib_mechanism_names[] = {"", "best", "copy_engine", "kernel", "host", NULL};
const char *const lib_kind_names[] = {"", "system", "pinned", "managed", "device", NULL};

struct berth_basis lib_read_basis(struct lib_read *read, const json_t *object)
{
    const json_t *basis = json_object_get(object, "basis");
    return (struct berth_basis){
        .snapshot = lib_read_text(read, basis, "snapshot"),
        .claims = lib_read_text(read, basis, "claims"),
        .origin = (enum berth_origin)lib_read_enum(read, basis, "origin", lib_origin_names),
    };
}

static void fill_factor(struct lib_read *read, const json_t *correction, void *ret)
{
    *(double *)ret = lib_read_number(read, correction, "factor");
}

double lib_read_factor(struct lib_read *read, const json_t *object)
{
    double factor = NAN;
    lib_read_maybe_object(read, object, "correction", fill_factor, &factor);
    return factor;
}

void lib_fill_prediction(struct lib_read *read, const json_t *prediction, void *ret)
{
    *(struct berth_prediction *)ret = (struct berth_prediction){
        .time_ns = lib_read_number(read, prediction, "time_ns"),
        .low_ns = lib_read_maybe_number(read, prediction, "low_ns"),
        .high_ns = lib_read_maybe_number(read, prediction, "high_ns"),
        .bottleneck = lib_read_maybe_text(read, prediction, "bottleneck"),
        .source = (enum berth_source)lib_read_enum(read, prediction, "source", lib_source_names),
        .factor = lib_read_factor(read, prediction),
        .id = lib_read_maybe_text(read, prediction, "id"),
    };
}

struct berth_prediction lib_read_prediction(struct lib_read *read, const json_t *object,
                                            const char *key)
{
    struct berth_prediction prediction = {
        .time_ns = NAN, .low_ns = NAN, .high_ns = NAN, .factor = NAN};
    lib_read_maybe_object(read, object, key, lib_fill_prediction, &prediction);
    return prediction;
}

static void fill_evidence(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_evidence *)ret = (struct berth_evidence){
        .metric = lib_read_text(read, item, "metric"),
        .from = lib_read_text(read, item, "from"),
        .to = lib_read_text(read, item, "to"),
        .unit = lib_read_text(read, item, "unit"),
        .axes = lib_read_pairs(read, item, "axes"),
        .flows = lib_read_texts(read, item, "flows"),
        .value = lib_read_number(read, item, "value"),
        .low = lib_read_maybe_number(read, item, "low"),
        .high = lib_read_maybe_number(read, item, "high"),
        .source = (enum berth_source)lib_read_enum(read, item, "source", lib_source_names),
        .measured_at_s = lib_read_maybe_integer(read, item, "measured_at_s"),
    };
}

const struct berth_evidence *lib_read_evidence(struct lib_read *read, const json_t *object,
                                               const char *key, size_t *ret_count)
{
    return lib_read_array(read, object, key, sizeof(struct berth_evidence), fill_evidence,
                          ret_count);
}
