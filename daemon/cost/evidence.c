#include "cost/evidence.h"

#include <math.h>
#include <stdlib.h>

#include "cost/policy.h"

static bool has_room(struct evidence *evidence)
{
    size_t room = evidence->room == 0 ? 16 : 2 * evidence->room;
    if (evidence->count < evidence->room)
        return true;
    const struct value **item = realloc(evidence->item, room * sizeof *item);
    if (item != NULL)
        evidence->item = item;
    const struct set **set = realloc(evidence->set, room * sizeof *set);
    if (set != NULL)
        evidence->set = set;
    evidence->no_memory |= item == NULL || set == NULL;
    if (item != NULL && set != NULL)
        evidence->room = room;
    return item != NULL && set != NULL;
}

static void add_fact(struct evidence *evidence, size_t start, const struct value *value,
                     const struct set *set)
{
    for (size_t i = start; i < evidence->count; i++)
        if (evidence->item[i] == value && evidence->set[i] == set)
            return;
    if (!has_room(evidence))
        return;
    evidence->item[evidence->count] = value;
    evidence->set[evidence->count++] = set;
}

void evidence_add(struct evidence *evidence, size_t start, const struct value *value)
{
    add_fact(evidence, start, value, NULL);
}

void evidence_add_set(struct evidence *evidence, size_t start, const struct set *set)
{
    add_fact(evidence, start, NULL, set);
}

enum berth_code evidence_code(const struct evidence *evidence, struct berth_err *err)
{
    return evidence->no_memory ? err_set(err, BERTH_NO_MEMORY, "no memory for evidence") : BERTH_OK;
}

static void swap_facts(struct evidence *evidence, size_t a, size_t b)
{
    const struct value *item = evidence->item[a];
    const struct set *set = evidence->set[a];
    evidence->item[a] = evidence->item[b];
    evidence->set[a] = evidence->set[b];
    evidence->item[b] = item;
    evidence->set[b] = set;
}

static void reverse_facts(struct evidence *evidence, size_t begin, size_t end)
{
    while (begin + 1 < end)
        swap_facts(evidence, begin++, --end);
}

static bool is_said(const struct evidence *evidence, size_t count, const struct value *value)
{
    for (size_t i = 0; i < count; i++) {
        const struct value *said = evidence->item[i];
        if (said != NULL && value != NULL && said->metric == value->metric &&
            said->axes == value->axes && said->source == value->source &&
            fabs(said->value - value->value) <= POLICY_SIMILAR * fabs(said->value))
            return true;
    }
    return false;
}

void evidence_few(struct evidence *evidence, size_t first, size_t most)
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

void evidence_done(struct evidence *evidence)
{
    free(evidence->item);
    free(evidence->set);
    *evidence = (struct evidence){0};
}
