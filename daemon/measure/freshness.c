#include "measure/freshness.h"

#include <math.h>
#include <stdlib.h>

#include "health/assessment.h"
#include "measure/beside.h"
#include "measure/programs.h"

static size_t index_of(const struct freshness *freshness, enum metric metric, place_id place)
{
    return (size_t)metric * freshness->graph->place_count + place;
}

void freshness_done(struct freshness *freshness)
{
    graph_unref(freshness->graph);
    free(freshness->tried_s);
    free(freshness->tried_beside_s);
    free(freshness->wanted_s);
    free(freshness->used_s);
    *freshness = (struct freshness){0};
}

/* Begins anew with another graph, whose places may have other ids. */
static enum berth_code follow(struct freshness *freshness, const struct graph *graph,
                              struct berth_err *err)
{
    size_t count = graph->place_count;
    if (freshness->graph == graph)
        return BERTH_OK;
    freshness_done(freshness);
    freshness->graph = graph_ref(graph);
    freshness->tried_s = calloc(METRIC_COUNT * count, sizeof *freshness->tried_s);
    freshness->tried_beside_s = calloc(METRIC_COUNT * count, sizeof *freshness->tried_beside_s);
    freshness->wanted_s = calloc(METRIC_COUNT * count, sizeof *freshness->wanted_s);
    freshness->used_s = calloc(count, sizeof *freshness->used_s);
    if (freshness->tried_s != NULL && freshness->tried_beside_s != NULL &&
        freshness->wanted_s != NULL && freshness->used_s != NULL)
        return BERTH_OK;
    freshness_done(freshness);
    return err_set(err, BERTH_NO_MEMORY, "no memory for the age of values");
}

static bool is_gpu(const struct graph *graph, place_id place)
{
    return graph_place(graph, place)->kind == PLACE_GPU;
}

/* Returns the end at which a value is measured: a GPU's, because its probe takes longest to
 * start. */
static place_id place_of(const struct graph *graph, const struct value *value)
{
    return !is_gpu(graph, value->from) && is_gpu(graph, value->to) ? value->to : value->from;
}

/* Inputs of one choice. */
struct choice {
    struct freshness *freshness;
    const struct snapshot *snapshot;
    int64_t freshness_s, now_s;
    const struct gpu_use *used; /* GPUs in use, beside which it is; NULL none */
    bool is_meshed;
    const struct program *program[2][METRIC_COUNT]; /* of GPUs: [1]; NULL none */
};

/* A value that competes for being measured next. */
struct candidate {
    enum metric metric;
    place_id place; /* PLACE_NONE: none yet */
    const struct program *program;
    bool is_wanted, is_key;
    bool is_renewed; /* false: the latest attempt gave no value of it */
    int64_t used_s, due_s;
};

/* Returns the second look at the value's cell, for an unconfirmed finding; NULL none. */
static const struct second_look *look_at(const struct snapshot *snapshot, const struct value *value)
{
    for (size_t i = 0; i < snapshot->second_look_count; i++) {
        const struct second_look *look = &snapshot->second_look[i];
        if (look->metric == value->metric && look->from == value->from && look->to == value->to)
            return look;
    }
    return NULL;
}

/* Returns the time when the value is to be measured again because its finding is unconfirmed; 0
 * none. Of a first look beyond now, by a clock that was set back, it counts from the last one. */
static int64_t second_look_s(const struct choice *choice, const struct value *value, int64_t last_s)
{
    const struct second_look *look = look_at(choice->snapshot, value);
    if (look == NULL)
        return 0;
    return look->due_s <= choice->now_s + ASSESSMENT_SECOND_LOOK_S
               ? look->due_s
               : last_s + ASSESSMENT_SECOND_LOOK_S;
}

/* True when the value may be measured beside a job. */
static bool is_local(const struct choice *choice, const struct value *value,
                     const struct candidate *one, int64_t wanted_s)
{
    const struct graph *graph = choice->freshness->graph;
    return wanted_s == 0 && look_at(choice->snapshot, value) == NULL &&
           programs_is_local(one->program, one->metric) &&
           beside_is_free(choice->used, graph, value->from) &&
           beside_is_free(choice->used, graph, value->to) &&
           (value->from == value->to || choice->is_meshed);
}

/* Returns the later of two times up to now; 0 none. A time beyond now is of a clock that was set
 * back. */
static int64_t latest_of(int64_t a, int64_t b, int64_t now_s)
{
    a = a <= now_s ? a : 0;
    b = b <= now_s ? b : 0;
    return a > b ? a : b;
}

/* Returns the candidate of a value that background measuring renews; false for another value. */
static bool candidate_of(const struct choice *choice, const struct value *value,
                         struct candidate *ret)
{
    const struct freshness *freshness = choice->freshness;
    const struct graph *graph = freshness->graph;
    if (value->source != VALUE_MEASURED || isnan(value->value))
        return false;
    struct candidate one = {.metric = value->metric, .place = place_of(graph, value)};
    int64_t wanted_s = freshness->wanted_s[index_of(freshness, one.metric, one.place)],
            target_s = freshness->wanted_s[index_of(freshness, one.metric, value->to)];
    /* a place that is only a target */
    if (is_gpu(graph, value->to) == is_gpu(graph, one.place) && target_s > 0 &&
        (wanted_s == 0 || target_s < wanted_s)) {
        one.place = value->to;
        wanted_s = target_s;
    }
    one.program = choice->program[is_gpu(graph, one.place)][one.metric];
    if (one.program == NULL)
        return false;
    if (choice->used != NULL && !is_local(choice, value, &one, wanted_s))
        return false;
    size_t index = index_of(freshness, one.metric, one.place);
    int64_t tried_s =
                choice->used != NULL ? freshness->tried_beside_s[index] : freshness->tried_s[index],
            last_s = latest_of(value->measured_at_s, tried_s, choice->now_s),
            look_s = second_look_s(choice, value, last_s);
    if (look_s > last_s && (wanted_s == 0 || look_s < wanted_s))
        wanted_s = look_s;
    one.is_wanted = wanted_s > 0 && wanted_s <= choice->now_s;
    one.due_s = last_s + choice->freshness_s;
    if (wanted_s > 0 && wanted_s < one.due_s)
        one.due_s = wanted_s;
    one.is_renewed = value->measured_at_s >= freshness->tried_s[index];
    one.used_s = freshness->used_s[one.place];
    one.is_key = programs_is_key(one.program, one.metric);
    *ret = one;
    return true;
}

/* True when a goes before b. Those that are due go by importance, others by time. */
static bool goes_before(const struct candidate *a, const struct candidate *b, int64_t now_s)
{
    if (b->place == PLACE_NONE)
        return true;
    if (a->due_s > now_s || b->due_s > now_s)
        return a->due_s < b->due_s;
    if (a->is_wanted != b->is_wanted)
        return a->is_wanted;
    if (a->is_key != b->is_key)
        return a->is_key;
    return a->used_s != b->used_s ? a->used_s < b->used_s : a->due_s < b->due_s;
}

static struct freshness_unit unit_of(const struct choice *choice, const struct candidate *best,
                                     unsigned most)
{
    const struct values *values = choice->snapshot->values;
    struct freshness_unit unit = {.place = best->place,
                                  .first = best->metric,
                                  .is_wanted = best->is_wanted,
                                  .is_beside = choice->used != NULL,
                                  .due_s = best->due_s};
    struct candidate one;
    if (best->place == PLACE_NONE)
        return unit;
    unit.metric[best->metric] = true;
    unsigned count = 1;
    for (size_t i = 0; i < values->count && count < most && best->due_s <= choice->now_s; i++)
        if (candidate_of(choice, &values->item[i], &one) && one.place == best->place &&
            one.program == best->program && one.due_s <= choice->now_s) {
            count += !unit.metric[one.metric];
            unit.metric[one.metric] = true;
        }
    return unit;
}

enum berth_code freshness_next(struct freshness *freshness, const struct snapshot *snapshot,
                               int64_t freshness_s, int64_t now_s, unsigned most,
                               const struct gpu_use *used, struct freshness_unit *ret_unit,
                               int64_t *ret_oldest_s, struct berth_err *err)
{
    const struct values *values = snapshot->values;
    struct choice choice = {.freshness = freshness,
                            .snapshot = snapshot,
                            .freshness_s = freshness_s,
                            .now_s = now_s,
                            .used = used,
                            .is_meshed = used != NULL && beside_is_meshed(snapshot->graph)};
    struct candidate best = {.place = PLACE_NONE}, one;
    int64_t oldest_s = 0;
    enum berth_code code = follow(freshness, snapshot->graph, err);
    if (code != BERTH_OK)
        return code;
    for (int m = 0; m < METRIC_COUNT; m++)
        for (int gpu = 0; gpu < 2; gpu++)
            choice.program[gpu][m] = programs_find((enum metric)m, gpu);
    for (size_t i = 0; i < values->count; i++) {
        if (!candidate_of(&choice, &values->item[i], &one))
            continue;
        if (one.is_renewed && (oldest_s == 0 || values->item[i].measured_at_s < oldest_s))
            oldest_s = values->item[i].measured_at_s;
        if (goes_before(&one, &best, now_s))
            best = one;
    }
    *ret_unit = unit_of(&choice, &best, most);
    *ret_oldest_s = oldest_s;
    return BERTH_OK;
}

void freshness_try(struct freshness *freshness, const struct freshness_unit *unit, int64_t begun_s)
{
    if (freshness->graph == NULL || (size_t)unit->place >= freshness->graph->place_count)
        return;
    freshness->used_s[unit->place] = begun_s;
    for (int m = 0; m < METRIC_COUNT; m++)
        if (unit->metric[m]) {
            size_t index = index_of(freshness, (enum metric)m, unit->place);
            if (unit->is_beside) {
                freshness->tried_beside_s[index] = begun_s;
            } else {
                freshness->tried_s[index] = begun_s;
                freshness->wanted_s[index] = 0;
            }
        }
}

struct values *freshness_renewed(struct freshness *freshness, const struct snapshot *before,
                                 const struct values *measured, int64_t now_s)
{
    struct values *renewed = values_new();
    bool ok = renewed != NULL, is_same = freshness->graph == before->graph;
    for (size_t i = 0; ok && is_same && measured != NULL && i < measured->count; i++) {
        const struct value *now = &measured->item[i];
        const char *axes = values_axes(measured, now);
        int64_t *wanted_s =
            &freshness->wanted_s[index_of(freshness, now->metric, place_of(before->graph, now))];
        bool is_in_doubt = (*wanted_s > 0 && *wanted_s != now_s) || look_at(before, now) != NULL;
        const struct value *old =
            isnan(now->value) || is_in_doubt
                ? NULL
                : values_find(before->values, now->metric, now->from, now->to, axes);
        if (old == NULL)
            continue;
        if (snapshot_value_differs(old, now))
            *wanted_s = now_s;
        else
            ok = values_add(renewed, now, axes, NULL);
    }
    if (!ok)
        values_free(renewed);
    return ok ? renewed : NULL;
}

/* Returns the place to measure a changed value's metric at: its other end, or else the first GPU
 * with the same other end; PLACE_NONE none. */
static place_id neighbour_of(const struct snapshot *snapshot, const struct value *changed,
                             place_id place)
{
    const struct graph *graph = snapshot->graph;
    place_id other = changed->from == place ? changed->to : changed->from;
    const struct value *item = NULL;
    size_t count = values_range(snapshot->values, changed->metric, PLACE_NONE, &item);
    if (other == place)
        return PLACE_NONE;
    if (is_gpu(graph, other) == is_gpu(graph, place))
        return other;
    for (size_t i = 0; i < count; i++) {
        place_id its = place_of(graph, &item[i]);
        if (its != place && is_gpu(graph, its) && (item[i].from == other || item[i].to == other))
            return its;
    }
    return PLACE_NONE;
}

void freshness_compare(struct freshness *freshness, const struct freshness_unit *unit,
                       const struct snapshot *before, const struct snapshot *after, int64_t now_s)
{
    const struct values *values = after->values;
    if (unit->is_wanted || freshness->graph != after->graph || before->graph != after->graph)
        return;
    for (size_t i = 0; i < values->count; i++) {
        const struct value *now = &values->item[i], *old;
        if (!unit->metric[now->metric] || (now->from != unit->place && now->to != unit->place))
            continue;
        old =
            values_find(before->values, now->metric, now->from, now->to, values_axes(values, now));
        if (old == NULL || !snapshot_value_differs(old, now))
            continue;
        place_id at = neighbour_of(after, now, unit->place);
        if (at != PLACE_NONE)
            freshness->wanted_s[index_of(freshness, now->metric, at)] = now_s;
        freshness->wanted_s[index_of(freshness, now->metric, unit->place)] =
            now_s + FRESHNESS_AGAIN_S;
    }
}
