/* Asks the daemon: what the view shows. */
#include "top/top.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"

const char *top_error(const struct berth *berth)
{
    const char *detail = berth_error_detail(berth), *name = berth_error_name(berth);
    return detail != NULL && *detail != '\0' ? detail
           : name != NULL && *name != '\0'   ? name
                                             : "no daemon answers (berth status says more)";
}

/* Returns a new reply; NULL where the daemon refuses, or is not there: problem says which. */
static json_t *ask(struct top *top, const char *method, json_t *take_parameters)
{
    char *parameters = take_parameters != NULL ? json_dumps(take_parameters, JSON_COMPACT) : NULL,
         *text = NULL;
    json_t *reply = NULL;
    json_decref(take_parameters);
    int status = parameters != NULL ? berth_call(top->berth, method, parameters, &text)
                                    : BERTH_ERROR_OUT_OF_MEMORY;
    if (status >= 0)
        reply = json_loads(text, 0, NULL);
    else
        ui_clean(top->problem, sizeof top->problem, top_error(top->berth));
    free(parameters);
    free(text);
    return reply;
}

static bool replace(struct top *top, json_t **reply, const char *method, json_t *take_parameters)
{
    json_t *now = ask(top, method, take_parameters);
    if (now == NULL)
        return false;
    json_decref(*reply);
    *reply = now;
    return true;
}

static const json_t *find_worst(const json_t *matrix, bool is_higher_better)
{
    const json_t *cell, *worst = NULL;
    size_t i;
    json_array_foreach(json_object_get(matrix, "cells"), i, cell)
    {
        double value = ui_member_number(cell, "value"),
               least = worst != NULL ? ui_member_number(worst, "value") : NAN;
        if (!isnan(value) && strcmp(ui_member(cell, "source"), "measured") == 0 &&
            (isnan(least) || (is_higher_better ? value < least : value > least)))
            worst = cell;
    }
    return worst;
}

static void take_points(struct top_value *value, const json_t *history)
{
    const json_t *points = json_object_get(history, "points"), *point;
    size_t count = json_array_size(points), i;
    json_array_foreach(points, i, point)
    {
        double at_s = ui_member_number(point, "measured_at_s"),
               its = ui_member_number(point, "value");
        if (i + TOP_POINTS < count || isnan(its) || value->points == TOP_POINTS)
            continue;
        value->first_s = value->points == 0 ? at_s : value->first_s;
        value->last_s = at_s;
        value->point[value->points++] = its;
    }
}

static json_t *cell_of(const struct top_value *value, const json_t *axes)
{
    return json_pack("{s:s,s:s,s:s,s:O}", "metric", value->metric, "from", value->from, "to",
                     value->to, "where", axes);
}

/* Adds the worst measured cell of a metric at its default axes; none where nothing is measured. */
static void add_value(struct top *top, const json_t *metric)
{
    const json_t *defaults = json_object_get(metric, "defaults"), *worst, *axes, *judgement;
    struct top_value *value = &top->value[top->values];
    json_t *request = json_pack("{s:s}", "metric", ui_member(metric, "name")), *matrix, *baseline,
           *history;
    if (json_object_size(defaults) > 0)
        json_object_set(request, "where", (json_t *)(uintptr_t)defaults);
    *value = (struct top_value){
        .expected = NAN, .is_higher_better = strcmp(ui_member(metric, "better"), "higher") == 0};
    matrix = ask(top, "io.berth.Fabric.GetMatrix", request);
    worst = find_worst(matrix, value->is_higher_better);
    if (worst != NULL) {
        axes = json_object_get(worst, "axes");
        snprintf(value->metric, sizeof value->metric, "%s", ui_member(metric, "name"));
        snprintf(value->unit, sizeof value->unit, "%s", ui_member(matrix, "unit"));
        snprintf(value->from, sizeof value->from, "%s", ui_member(worst, "from"));
        snprintf(value->to, sizeof value->to, "%s", ui_member(worst, "to"));
        value->now = ui_member_number(worst, "value");
        baseline = ask(top, "io.berth.Health.GetBaseline", cell_of(value, axes));
        judgement = json_object_get(baseline, "judgement");
        value->expected = ui_member_number(
            json_is_object(judgement) ? judgement : json_object_get(baseline, "baseline"),
            "expected");
        snprintf(value->code, sizeof value->code, "%s", ui_member(judgement, "code"));
        snprintf(value->severity, sizeof value->severity, "%s", ui_member(judgement, "severity"));
        value->is_unconfirmed = json_is_true(json_object_get(judgement, "unconfirmed"));
        history = ask(top, "io.berth.Fabric.History", cell_of(value, axes));
        take_points(value, history);
        json_decref(baseline);
        json_decref(history);
        top->values++;
    }
    json_decref(matrix);
}

static void take_values(struct top *top)
{
    json_t *reply = ask(top, "io.berth.Fabric.ListMetrics", json_object());
    const json_t *metric;
    size_t i;
    top->values = 0;
    json_array_foreach(json_object_get(reply, "metrics"), i, metric)
    {
        if (json_integer_value(json_object_get(metric, "measured")) > 0 && top->values < TOP_VALUES)
            add_value(top, metric);
    }
    json_decref(reply);
}

bool top_refresh(struct top *top)
{
    top->problem[0] = '\0';
    if (!replace(top, &top->status, "io.berth.Fabric.GetStatus", json_object()))
        return false;
    replace(top, &top->claims, "io.berth.Placement.ListClaims", json_object());
    /* free memory of all places; a node without any refuses */
    replace(top, &top->memory, "io.berth.Placement.Allocate", json_pack("{s:i}", "bytes", 4096));
    const char *snapshot = ui_member(json_object_get(top->status, "basis"), "snapshot");
    if (strcmp(snapshot, top->snapshot) != 0 &&
        replace(top, &top->node, "io.berth.Fabric.GetNode", json_object()) &&
        replace(top, &top->check, "io.berth.Health.Check", json_object())) {
        take_values(top);
        snprintf(top->snapshot, sizeof top->snapshot, "%s", snapshot);
    }
    top->problem[0] = '\0';
    return true;
}

void top_done(struct top *top)
{
    json_decref(top->node);
    json_decref(top->status);
    json_decref(top->check);
    json_decref(top->claims);
    json_decref(top->memory);
}
