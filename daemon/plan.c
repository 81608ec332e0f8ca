#include "plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define ALIKE 0.05 /* values of which one stands for the other */

void plan_allowed_done(struct allowed *allowed)
{
    free(allowed->memory);
    free(allowed->gpus);
    allowed->memory = allowed->gpus = NULL;
}

void plan_warn(struct plan_warnings *warnings, const char *format, ...)
{
    char line[PLAN_WARNING_LENGTH];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_clean(line); /* cut, it may end in half a character */
    for (size_t i = 0; i < warnings->count; i++)
        if (strcmp(warnings->line[i], line) == 0)
            return;
    if (warnings->count < PLAN_WARNINGS)
        memcpy(warnings->line[warnings->count++], line, sizeof line);
    else
        snprintf(warnings->line[PLAN_WARNINGS - 1], PLAN_WARNING_LENGTH, "there are more warnings than fit here");
}

void plan_warn_task(struct plan_warnings *warnings, size_t task, const char *text)
{
    for (size_t i = 0; i < warnings->count; i++) {
        size_t first, more = 0;
        const char *said = strstr(warnings->line[i], ": ");
        if (said == NULL || strcmp(said + 2, text) != 0 || sscanf(warnings->line[i], "task %zu and %zu more", &first, &more) < 1)
            continue;
        snprintf(warnings->line[i], PLAN_WARNING_LENGTH, "task %zu and %zu more: %s", first, more + 1, text);
        return;
    }
    plan_warn(warnings, "task %zu: %s", task, text);
}

static bool add_fact(struct plan_evidence *evidence, size_t start, const struct value *value, const struct set *set)
{
    for (size_t i = start; i < evidence->count; i++)
        if (evidence->item[i] == value && evidence->set[i] == set)
            return true;
    if (evidence->count == evidence->room) {
        size_t room = evidence->room == 0 ? 16 : 2 * evidence->room;
        const struct value **item = realloc(evidence->item, room * sizeof *item);
        if (item == NULL)
            return false;
        evidence->item = item;
        const struct set **sets = realloc(evidence->set, room * sizeof *sets);
        if (sets == NULL)
            return false;
        evidence->set = sets;
        evidence->room = room;
    }
    evidence->item[evidence->count] = value;
    evidence->set[evidence->count++] = set;
    return true;
}

bool plan_evidence_add(struct plan_evidence *evidence, size_t start, const struct value *value) { return add_fact(evidence, start, value, NULL); }
bool plan_evidence_add_set(struct plan_evidence *evidence, size_t start, const struct set *set) { return add_fact(evidence, start, NULL, set); }

struct plan_stated {
    struct value value;
    struct plan_stated *next;
};

bool plan_evidence_add_stated(struct plan_evidence *evidence, size_t start, enum metric metric, enum value_source source, place_id from, place_id to, double bytes_per_s)
{
    struct plan_stated *stated = evidence->stated;
    while (stated != NULL && !(stated->value.metric == metric && stated->value.source == source && stated->value.from == from && stated->value.to == to && stated->value.value == bytes_per_s))
        stated = stated->next;
    if (stated != NULL)
        return plan_evidence_add(evidence, start, &stated->value);
    stated = malloc(sizeof *stated);
    if (stated == NULL)
        return false;
    /* Axes of number 0 are none: all defaults. */
    stated->value = (struct value){.metric = metric, .source = source, .from = from, .to = to, .value = bytes_per_s, .low = NAN, .high = NAN};
    stated->next = evidence->stated;
    evidence->stated = stated;
    return plan_evidence_add(evidence, start, &stated->value);
}

bool plan_evidence_add_same(struct plan_evidence *evidence, size_t start, const struct plan_evidence *other, size_t index)
{
    const struct value *value = other->item[index];
    for (const struct plan_stated *stated = other->stated; stated != NULL; stated = stated->next)
        if (&stated->value == value)
            return plan_evidence_add_stated(evidence, start, value->metric, value->source, value->from, value->to, value->value);
    return add_fact(evidence, start, value, other->set[index]);
}

static void swap_facts(struct plan_evidence *evidence, size_t a, size_t b)
{
    const struct value *item = evidence->item[a];
    const struct set *set = evidence->set[a];
    evidence->item[a] = evidence->item[b];
    evidence->set[a] = evidence->set[b];
    evidence->item[b] = item;
    evidence->set[b] = set;
}

static void reverse_facts(struct plan_evidence *evidence, size_t begin, size_t end)
{
    while (begin + 1 < end)
        swap_facts(evidence, begin++, --end);
}

static bool is_said(const struct plan_evidence *evidence, size_t count, const struct value *value)
{
    for (size_t i = 0; i < count; i++) {
        const struct value *said = evidence->item[i];
        if (said != NULL && value != NULL && said->metric == value->metric && said->axes == value->axes && said->source == value->source &&
            fabs(said->value - value->value) <= ALIKE * fabs(said->value))
            return true;
    }
    return false;
}

void plan_evidence_few(struct plan_evidence *evidence, size_t first, size_t most)
{
    size_t count = evidence->count, begin = count - first, kept = begin;
    reverse_facts(evidence, 0, first);
    reverse_facts(evidence, first, count);
    reverse_facts(evidence, 0, count);
    for (size_t i = begin; i < count; i++)
        if (!is_said(evidence, kept, evidence->item[i]))
            swap_facts(evidence, kept++, i);
    evidence->count = kept < most ? kept : most;
}

void plan_evidence_done(struct plan_evidence *evidence)
{
    for (struct plan_stated *stated = evidence->stated, *next; stated != NULL; stated = next) {
        next = stated->next;
        free(stated);
    }
    free(evidence->item);
    free(evidence->set);
    *evidence = (struct plan_evidence){0};
}

enum berth_code plan_not_enough(struct berth_err *err, const char *what, int64_t wanted, int64_t available, const char *format, ...)
{
    char detail[200];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    err_text(err, 0, what);
    err_number(err, 1, wanted);
    err_number(err, 2, available);
    return err_set(err, BERTH_NOT_ENOUGH, "%s", detail);
}

void plan_node_cpus(const struct graph *graph, struct cpuset *ret_cpus)
{
    struct cpuset cpus = {0};
    if (graph->place_count > 0 && graph->places[0].cpus != NULL)
        cpus = *graph->places[0].cpus;
    else
        for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE; c = graph_next(graph, PLACE_CORE, c + 1))
            if (graph_place(graph, c)->cpus != NULL)
                cpuset_or(&cpus, graph_place(graph, c)->cpus);
    *ret_cpus = cpus;
}

place_id plan_above(const struct graph *graph, place_id id, enum place_kind kind)
{
    while (id != PLACE_NONE && graph_place(graph, id)->kind != kind)
        id = graph_place(graph, id)->parent;
    return id;
}

place_id plan_numa(const struct graph *graph, place_id id)
{
    const struct place *place = graph_place(graph, id);
    if (place->kind == PLACE_NUMA)
        return id;
    if (place->kind != PLACE_PACKAGE && place->kind != PLACE_MACHINE)
        return place->numa;
    place_id found = PLACE_NONE;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE; n = graph_next(graph, PLACE_NUMA, n + 1)) {
        if (place->kind == PLACE_PACKAGE && plan_above(graph, n, PLACE_PACKAGE) != id)
            continue;
        if (found != PLACE_NONE)
            return PLACE_NONE;
        found = n;
    }
    return found;
}

const struct value *plan_numa_distance(const struct snapshot *snap, place_id a, place_id b)
{
    const struct value *value = values_find(snap->values, METRIC_NUMA_DISTANCE, a, b, "");
    return value != NULL ? value : values_find(snap->values, METRIC_NUMA_DISTANCE, b, a, "");
}

/* Cpus that say more about where a place is than its NUMA node does. */
static const struct cpuset *fine_cpus(const struct place *place)
{
    return place->kind == PLACE_NUMA || place->kind == PLACE_PACKAGE || place->kind == PLACE_MACHINE ? NULL : place->cpus;
}

double plan_distance(const struct snapshot *snap, place_id a, place_id b)
{
    const struct graph *graph = snap->graph;
    const struct cpuset *x = fine_cpus(graph_place(graph, a)), *y = fine_cpus(graph_place(graph, b));
    if (a == b || (x != NULL && y != NULL && cpuset_intersects(x, y)))
        return 0;
    place_id m = plan_numa(graph, a), n = plan_numa(graph, b);
    if (m != PLACE_NONE && n != PLACE_NONE) {
        if (m == n)
            return 10;
        const struct value *stated = plan_numa_distance(snap, m, n);
        if (stated != NULL)
            return stated->value;
    }
    place_id p = plan_above(graph, m != PLACE_NONE ? m : a, PLACE_PACKAGE), q = plan_above(graph, n != PLACE_NONE ? n : b, PLACE_PACKAGE);
    return p != PLACE_NONE && p == q ? 20 : 30;
}
