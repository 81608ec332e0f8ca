/* io.berth.Fabric.GetCurves: fitted curves of time over bytes. */
#include <stdlib.h>

#include "node/curve.h"
#include "node/jsonify.h"
#include "serve/cell_filter.h"
#include "serve/claim_keep.h"
#include "serve/daemon.h"
#include "serve/serve.h"

/* Largest number of curves that the loop prints. More curves, or curves not derived yet, are
 * printed on the thread pool. */
#define CURVES_AT_ONCE 50

/* A GetCurves in progress. */
struct drawing {
    const struct snapshot *snap;
    uint64_t claims; /* generation at the time of the request */
    struct cell_filter filter;
};

static void drawing_free(void *state)
{
    struct drawing *drawing = state;
    snapshot_unref(drawing->snap);
    cell_filter_done(&drawing->filter);
    free(drawing);
}

/* Prints all axes but bytes, which the curve spans. */
static void print_axes(struct print *reply, const struct curve *curve)
{
    json_t *axes = jsonify_axes(curve->metric, curve->axes);
    if (axes == NULL) {
        reply->failed = true;
        return;
    }
    json_object_del(axes, "bytes");
    print_json(reply, axes);
    json_decref(axes);
}

static void print_pieces(struct print *reply, const struct curve_fit *fit)
{
    print_open(reply, '[');
    for (size_t i = 0; i < fit->piece_count; i++) {
        print_open(reply, '{');
        print_key(reply, "from_bytes");
        print_integer(reply, fit->piece[i].from_bytes);
        print_key(reply, "t0_ns");
        print_real(reply, fit->piece[i].t0_ns);
        print_key(reply, "bytes_per_s");
        print_real(reply, 1e9 / fit->piece[i].ns_per_byte);
        print_close(reply, '}');
    }
    print_close(reply, ']');
}

static void print_curve(struct print *reply, const struct graph *graph, const struct curve *curve)
{
    print_open(reply, '{');
    print_key(reply, "from");
    print_string(reply, graph->places[curve->from].name);
    print_key(reply, "to");
    print_string(reply, graph->places[curve->to].name);
    print_key(reply, "axes");
    print_axes(reply, curve);
    print_key(reply, "t0_call_ns");
    print_real(reply, curve->t0_call_ns);
    print_key(reply, "t0_queue_ns");
    print_real(reply, curve->t0_queue_ns);
    print_key(reply, "wmax_bytes_per_s");
    print_real(reply, curve_wmax_bytes_per_s(curve));
    print_key(reply, "b80_bytes");
    print_real(reply, curve->b80_bytes);
    print_key(reply, "residual");
    print_real(reply, curve->fit.residual);
    print_key(reply, "sizes");
    print_integer(reply, (int64_t)curve->size_count);
    print_key(reply, "least_bytes");
    print_integer(reply, curve->least_bytes);
    print_key(reply, "most_bytes");
    print_integer(reply, curve->most_bytes);
    print_key(reply, "repetitions");
    print_count(reply, curve->n > 0 ? (int64_t)curve->n : -1);
    print_key(reply, "measured_at_s");
    print_count(reply, curve->measured_at_s > 0 ? curve->measured_at_s : -1);
    print_key(reply, "pieces");
    print_pieces(reply, &curve->fit);
    print_close(reply, '}');
}

static enum berth_code print_curves(void *state, struct print *reply, struct berth_err *err)
{
    (void)err;
    const struct drawing *drawing = state;
    const struct curves *curves = drawing->snap->derived.curves;
    const struct curve *first;
    size_t count = curve_range(curves, drawing->filter.metric, &first);
    print_open(reply, '{');
    print_key(reply, "metric");
    print_string(reply, metric_info(drawing->filter.metric)->name);
    print_key(reply, "curves");
    print_open(reply, '[');
    for (size_t i = 0; i < count; i++)
        if (cell_filter_matches(&drawing->filter, first[i].from, first[i].to, first[i].axes))
            print_curve(reply, drawing->snap->graph, &first[i]);
    print_close(reply, ']');
    print_key(reply, "basis");
    jsonify_print_basis(reply, drawing->snap, drawing->claims);
    print_close(reply, '}');
    return BERTH_OK;
}

enum berth_code query_get_curves(const struct call *call, struct outcome *ret,
                                 struct berth_err *err)
{
    struct cell_filter filter;
    enum berth_code code = cell_filter_init(&filter, call->params, call->snap->graph, err);
    if (code != BERTH_OK)
        return code;
    if (json_object_get(filter.where, "bytes") != NULL) {
        cell_filter_done(&filter);
        err_set(err, BERTH_INVALID_PARAMETER, "a curve goes over all sizes: it has no axis bytes");
        err_text(err, 0, "where.bytes");
        return err->code;
    }
    struct drawing *drawing = calloc(1, sizeof *drawing);
    if (drawing == NULL) {
        cell_filter_done(&filter);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    *drawing = (struct drawing){.snap = snapshot_ref(call->snap),
                                .claims = claim_keep_generation(call->daemon->claims),
                                .filter = filter};
    const struct curve *first;
    bool at_once = curve_range(call->snap->derived.curves, filter.metric, &first) <= CURVES_AT_ONCE;
    *ret = (struct outcome){.kind = at_once ? OUTCOME_RESULT : OUTCOME_WORK,
                            .state = drawing,
                            .write = print_curves,
                            .free_state = drawing_free};
    return BERTH_OK;
}
