/* Call berth_get_curves: request, reply and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Fabric.GetCurves"

static void fill_piece(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_piece *)ret = (struct berth_piece){
        .from_bytes = lib_read_integer(read, item, "from_bytes"),
        .t0_ns = lib_read_number(read, item, "t0_ns"),
        .bytes_per_s = lib_read_maybe_number(read, item, "bytes_per_s"),
    };
}

static void fill_curve(struct lib_read *read, const json_t *item, void *ret)
{
    struct berth_curve *curve = ret;
    *curve = (struct berth_curve){
        .from = lib_read_text(read, item, "from"),
        .to = lib_read_text(read, item, "to"),
        .axes = lib_read_pairs(read, item, "axes"),
        .t0_call_ns = lib_read_maybe_number(read, item, "t0_call_ns"),
        .t0_queue_ns = lib_read_maybe_number(read, item, "t0_queue_ns"),
        .wmax_bytes_per_s = lib_read_number(read, item, "wmax_bytes_per_s"),
        .b80_bytes = lib_read_maybe_number(read, item, "b80_bytes"),
        .residual = lib_read_number(read, item, "residual"),
        .sizes = lib_read_integer(read, item, "sizes"),
        .least_bytes = lib_read_integer(read, item, "least_bytes"),
        .most_bytes = lib_read_integer(read, item, "most_bytes"),
        .repetitions = lib_read_maybe_integer(read, item, "repetitions"),
        .measured_at_s = lib_read_maybe_integer(read, item, "measured_at_s"),
    };
    curve->pieces = lib_read_array(read, item, "pieces", sizeof *curve->pieces, fill_piece,
                                   &curve->piece_count);
}

static void fill_curves(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_curves *curves = ret;
    curves->metric = lib_read_text(read, reply, "metric");
    curves->curves = lib_read_array(read, reply, "curves", sizeof *curves->curves, fill_curve,
                                    &curves->curve_count);
    curves->basis = lib_read_basis(read, reply);
}

int berth_get_curves(struct berth *berth, const struct berth_curves_request *request,
                     struct berth_curves **ret_curves)
{
    if (request->metric == NULL)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "curves are asked for by their metric's name");
    struct lib_write write = lib_write_begin();
    lib_write_text(&write, write.parameters, "metric", request->metric);
    lib_write_texts(&write, write.parameters, "from", &request->from);
    lib_write_texts(&write, write.parameters, "to", &request->to);
    lib_write_pairs(&write, write.parameters, "where", &request->where);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    return status != BERTH_DONE
               ? status
               : lib_ask(berth, METHOD, parameters, sizeof **ret_curves, fill_curves, ret_curves);
}

void berth_curves_free(struct berth_curves *curves) { lib_result_free(curves); }
