/* io.berth.Health.Load: starts a load, follows it, and judges it at its end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/request_limits.h"
#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/answer.h"
#include "serve/daemon.h"
#include "serve/health.h"
#include "serve/request.h"
#include "serve/serve.h"

#define DEFAULT_S 180

/* The caller of one load, which ends with it. */
struct load_stream {
    const struct daemon *daemon;
    uint64_t number;
    int64_t sent_s; /* -1: nothing yet */
};

/* Lists the known numbers: arrays of Varlink have no null. */
static json_t *numbers_json(const double *numbers, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; array != NULL && i < count; i++)
        if (!isnan(numbers[i]) && !answer_append(array, jsonify_number(numbers[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *throttle_json(const struct load_place *at)
{
    json_t *object = json_object();
    for (size_t i = 0; object != NULL && i < at->reason_count; i++)
        if (json_object_set_new(object, at->reason[i].name,
                                json_real((double)at->reason[i].intervals / (double)at->count)) !=
            0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *work_json(enum load_work work, const struct load_series *series)
{
    json_t *json = json_object();
    bool ok = answer_set(json, "work", json_string_nocheck(load_work_name(work))) &&
              answer_set(json, "unit", json_string_nocheck(load_work_unit(work))) &&
              answer_set(json, "rate", jsonify_number(series->median)) &&
              answer_set(json, "deviation", jsonify_number(series->spread)) &&
              answer_set(json, "others", jsonify_number(series->others)) &&
              answer_set(json, "rates", numbers_json(series->rate, LOAD_PARTS));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* Lists what the place did. */
static json_t *works_json(const struct load_figures *figures)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (int work = 0; ok && work < LOAD_WORKS; work++)
        ok = isnan(figures->work[work].median) ||
             answer_append(array, work_json((enum load_work)work, &figures->work[work]));
    if (!ok) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static json_t *place_json(const struct graph *graph, const struct load_place *at,
                          const struct load_figures *figures)
{
    json_t *json = json_object();
    bool ok = answer_set(json, "place", jsonify_text(graph_place(graph, at->place)->name)) &&
              answer_set(json, "intervals", json_integer((json_int_t)at->count)) &&
              answer_set(json, "works", works_json(figures)) &&
              answer_set(json, "clocks_mhz", numbers_json(figures->clock_mhz, LOAD_PARTS)) &&
              answer_set(json, "power_w", jsonify_number(figures->power_w)) &&
              answer_set(json, "temperature_c", jsonify_number(figures->temperature_c)) &&
              answer_set(json, "throttle", throttle_json(at));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* GPUs first, each kind by number. */
static int compare_places(const void *a, const void *b, void *arg)
{
    const struct load_view *view = arg;
    const size_t *one = a, *other = b;
    const struct place *x = graph_place(view->graph, view->load->item[*one].place),
                       *y = graph_place(view->graph, view->load->item[*other].place);
    return x->kind != y->kind ? (y->kind > x->kind) - (y->kind < x->kind)
                              : (x->number > y->number) - (x->number < y->number);
}

static json_t *places_json(struct load_view *view)
{
    json_t *places = json_array();
    size_t *order = calloc(view->load->count + 1, sizeof *order);
    struct load_figures *figures = load_figures(view->load, view->graph);
    bool ok = places != NULL && order != NULL && figures != NULL;
    for (size_t i = 0; ok && i < view->load->count; i++)
        order[i] = i;
    if (ok)
        qsort_r(order, view->load->count, sizeof *order, compare_places, view);
    for (size_t i = 0; ok && i < view->load->count; i++)
        ok = answer_append(
            places, place_json(view->graph, &view->load->item[order[i]], &figures[order[i]]));
    free(figures);
    free(order);
    if (!ok) {
        json_decref(places);
        return NULL;
    }
    return places;
}

/* assessment NULL: it goes on. */
static json_t *reply_json(struct load_view *view, const struct assessment *assessment)
{
    bool over = assessment != NULL;
    enum origin origin = view->is_standin ? ORIGIN_STANDIN : view->graph->origin;
    json_t *json = json_object();
    bool ok = answer_set(json, "elapsed_s", json_integer((json_int_t)view->elapsed_s)) &&
              answer_set(json, "duration_s", json_integer((json_int_t)view->duration_s)) &&
              answer_set(json, "verdict",
                         over ? json_string_nocheck(assessment_verdict_name(assessment->verdict))
                              : json_null()) &&
              answer_set(json, "drain", json_boolean(over && assessment->drain)) &&
              answer_set(json, "reason", over ? jsonify_text(assessment->reason) : json_null()) &&
              answer_set(json, "findings",
                         over ? health_findings_json(view->graph, NULL, assessment, false)
                              : json_array()) &&
              answer_set(json, "places", over ? places_json(view) : json_array()) &&
              answer_set(json, "left_out", over ? json_deep_copy(view->left_out) : json_array()) &&
              answer_set(json, "origin", json_string_nocheck(origin_name(origin)));
    if (!ok) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static enum stream_step end_load(struct load_view *view, json_t **ret_reply, struct berth_err *err)
{
    struct assessment assessment;
    if (view->yielded_to != NULL) {
        err_text(err, 0, view->yielded_to);
        err_set(err, BERTH_BUSY, "ended for claim %s", view->yielded_to);
        return STREAM_ERROR;
    }
    if (view->cancelled) {
        err_set(err, BERTH_UNAVAILABLE, "the load was cancelled");
        return STREAM_ERROR;
    }
    if (load_assess(view->load, view->graph, view->notes, view->note_count, &assessment, err) !=
        BERTH_OK)
        return STREAM_ERROR;
    *ret_reply = reply_json(view, &assessment);
    assessment_done(&assessment);
    return STREAM_LAST;
}

static enum stream_step next_reply(void *state, json_t **ret_reply, struct berth_err *err)
{
    struct load_stream *stream = state;
    struct load_view view;
    sched_load_view(stream->daemon->sched, &view);
    if (view.number != stream->number) {
        err_set(err, BERTH_UNAVAILABLE, "another load has begun");
        return STREAM_ERROR;
    }
    enum stream_step step = STREAM_REPLY;
    if (!view.running)
        step = end_load(&view, ret_reply, err);
    else if (view.elapsed_s == stream->sent_s)
        return STREAM_WAIT;
    else
        *ret_reply = reply_json(&view, NULL);
    stream->sent_s = view.elapsed_s;
    if (step != STREAM_ERROR && *ret_reply == NULL) {
        err_set(err, BERTH_NO_MEMORY, "out of memory");
        return STREAM_ERROR;
    }
    return step;
}

/* The caller has its answer, or has left. */
static void free_stream(void *state)
{
    struct load_stream *stream = state;
    sched_end_load(stream->daemon->sched, stream->number);
    free(stream);
}

enum berth_code query_load(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    int64_t duration_s;
    enum berth_code code = request_int(call->params, "duration_s", LOAD_DURATION_S_MIN,
                                       LOAD_DURATION_S_MAX, DEFAULT_S, &duration_s, err);
    if (code != BERTH_OK)
        return code;
    struct load_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    code = sched_begin_load(call->daemon->sched, duration_s, &stream->number, err);
    if (code != BERTH_OK) {
        free(stream);
        return code;
    }
    stream->daemon = call->daemon;
    stream->sent_s = -1;
    *ret = (struct outcome){
        .kind = OUTCOME_STREAM, .state = stream, .next = next_reply, .free_state = free_stream};
    return BERTH_OK;
}
