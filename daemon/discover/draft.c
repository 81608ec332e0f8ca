#include "discover/draft.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB 1073741824.0

static const struct draft_extra new_extra = {
    .pci = PCI_NONE, .kfd_node = -1, .reported_numa = PLACE_NONE, .pcie_bytes_per_s = (double)NAN};

const char *draft_source_name(enum draft_source source)
{
    static const char *const names[DRAFT_COUNT] = {"hwloc", "kfd", "facts"};
    return names[source];
}

static bool is_cpu_side(enum place_kind kind) { return kind < PLACE_MODULE; }

/* Returns the trust in a source for a kind of place. For the CPU side hwloc reads the original
 * tables; for gpus the driver has more facts. */
static int trust(enum draft_source source, enum place_kind kind)
{
    return is_cpu_side(kind) && source == DRAFT_HWLOC ? DRAFT_COUNT : (int)source;
}

bool draft_init(struct draft *draft)
{
    *draft =
        (struct draft){.graph = graph_new(), .nowhere = graph_new(), .nowhere_extra = new_extra};
    if (draft->graph != NULL && draft->nowhere != NULL &&
        graph_add_place(draft->nowhere, PLACE_MACHINE, 0) == 0 &&
        draft_add(draft, PLACE_MACHINE, 0, DRAFT_HWLOC) == 0)
        return true;
    draft_done(draft);
    return false;
}

void draft_done(struct draft *draft)
{
    graph_unref(draft->graph);
    graph_unref(draft->nowhere);
    free(draft->extra);
    free(draft->values);
    *draft = (struct draft){0};
}

place_id draft_add(struct draft *draft, enum place_kind kind, int32_t number,
                   enum draft_source source)
{
    size_t count = draft->graph->place_count;
    if ((count & (count - 1)) == 0) { /* room grows at powers of two */
        struct draft_extra *more =
            realloc(draft->extra, (count == 0 ? 1 : 2 * count) * sizeof *more);
        if (more == NULL) {
            draft->out_of_memory = true;
            return PLACE_NONE;
        }
        draft->extra = more;
    }
    place_id id = graph_add_place(draft->graph, kind, number);
    if (id == PLACE_NONE) {
        draft->out_of_memory = true;
        return PLACE_NONE;
    }
    draft->extra[id] = new_extra;
    draft->extra[id].source = source;
    return id;
}

struct place *draft_place(struct draft *draft, place_id id)
{
    return id == PLACE_NONE ? &draft->nowhere->places[0] : &draft->graph->places[id];
}

struct draft_extra *draft_extra(struct draft *draft, place_id id)
{
    return id == PLACE_NONE ? &draft->nowhere_extra : &draft->extra[id];
}

void draft_text(struct draft *draft, char **field, const char *value)
{
    if (value != NULL && value[0] != '\0' && !place_set_text(field, value))
        draft->out_of_memory = true;
}

void draft_detail(struct draft *draft, place_id id, const char *key, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (text[0] != '\0' && !place_set_detail(draft_place(draft, id), key, text))
        draft->out_of_memory = true;
}

void draft_cpus(struct draft *draft, place_id id, const struct cpuset *cpus)
{
    if (!place_set_cpus(draft_place(draft, id), cpus))
        draft->out_of_memory = true;
}

void draft_software(struct draft *draft, const char *key, const char *value)
{
    if (value != NULL && value[0] != '\0' && !graph_set_software(draft->graph, key, value))
        draft->out_of_memory = true;
}

void draft_pci(struct draft *draft, place_id id, uint64_t pci)
{
    if (pci == PCI_NONE)
        return;
    char text[24];
    pci_format(pci, text);
    draft_extra(draft, id)->pci = pci;
    draft_text(draft, &draft_place(draft, id)->pci, text);
}

void draft_disagree(struct draft *draft, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!graph_add_disagreement(draft->graph, "%s", text))
        draft->out_of_memory = true;
}

const char *draft_label(struct draft *draft, place_id id, char buffer[64])
{
    const struct place *place = draft_place(draft, id);
    const struct draft_extra *extra = draft_extra(draft, id);
    const char *kind = place_kind_name(place->kind);
    if (place->kind == PLACE_NUMA || place->kind == PLACE_PU)
        snprintf(buffer, 64, "%s", place->name);
    else if (place->pci != NULL)
        snprintf(buffer, 64, "the %s at %s", kind, place->pci);
    else if (extra->kfd_node >= 0)
        snprintf(buffer, 64, "the %s with kfd node %d", kind, extra->kfd_node);
    else if (place->cpus != NULL)
        snprintf(buffer, 64, "the %s of cpu %d", kind, cpuset_next(place->cpus, 0));
    else
        snprintf(buffer, 64, "a %s", kind);
    return buffer;
}

void draft_report_memory(struct draft *draft, place_id id, int64_t bytes, enum draft_source source)
{
    struct place *place = draft_place(draft, id);
    struct draft_extra *extra = draft_extra(draft, id);
    if (bytes < 0)
        return;
    if (place->capacity_bytes < 0) {
        place->capacity_bytes = bytes;
        extra->memory_source = source;
        return;
    }
    enum draft_source old = extra->memory_source,
                      kept = trust(source, place->kind) > trust(old, place->kind) ? source : old;
    double tolerance = is_cpu_side(place->kind) ? 0.10 : 0.02;
    if (fabs((double)bytes - (double)place->capacity_bytes) >
        tolerance * (double)place->capacity_bytes) {
        char label[64];
        draft_disagree(
            draft, "%s says that %s has %.1f GiB of memory, %s says %.1f; kept is what %s says.",
            draft_source_name(old), draft_label(draft, id, label),
            (double)place->capacity_bytes / GIB, draft_source_name(source), (double)bytes / GIB,
            draft_source_name(kept));
    }
    if (kept == source && source != old) {
        place->capacity_bytes = bytes;
        extra->memory_source = source;
    }
}

void draft_report_model(struct draft *draft, place_id id, const char *model,
                        enum draft_source source)
{
    struct place *place = draft_place(draft, id);
    struct draft_extra *extra = draft_extra(draft, id);
    if (model == NULL || model[0] == '\0')
        return;
    if (place->model == NULL) {
        draft_text(draft, &place->model, model);
        extra->model_source = source;
        return;
    }
    enum draft_source old = extra->model_source,
                      kept = trust(source, place->kind) > trust(old, place->kind) ? source : old;
    bool is_chip = extra->model_is_chip && old == DRAFT_HWLOC && source == DRAFT_FACTS;
    if (!is_chip && strcasestr(place->model, model) == NULL &&
        strcasestr(model, place->model) == NULL) {
        char label[64];
        if (old == source)
            draft_disagree(draft, "%s calls %s both \"%s\" and \"%s\"; kept is the first.",
                           draft_source_name(old), draft_label(draft, id, label), place->model,
                           model);
        else
            draft_disagree(draft, "%s calls %s \"%s\", %s \"%s\"; kept is the name from %s.",
                           draft_source_name(old), draft_label(draft, id, label), place->model,
                           draft_source_name(source), model, draft_source_name(kept));
    }
    if (kept == source && source != old) {
        draft_text(draft, &place->model, model);
        extra->model_source = source;
    }
}

static struct link *find_link(const struct draft *draft, place_id from, place_id to,
                              enum link_kind kind)
{
    for (size_t i = 0; i < draft->graph->link_count; i++) {
        struct link *link = &draft->graph->links[i];
        if (link->kind == kind &&
            ((link->from == from && link->to == to) || (link->from == to && link->to == from)))
            return link;
    }
    return NULL;
}

static enum draft_source link_source(const struct link *link)
{
    for (int i = 0; i < DRAFT_COUNT; i++)
        if (link->source == draft_source_name((enum draft_source)i))
            return (enum draft_source)i;
    return DRAFT_HWLOC;
}

void draft_link(struct draft *draft, place_id from, place_id to, enum link_kind kind, int32_t width,
                double bytes_per_s, enum link_state state, enum draft_source source)
{
    if (from == PLACE_NONE || to == PLACE_NONE || from == to)
        return;
    struct link *link = find_link(draft, from, to, kind);
    if (link == NULL) {
        link = graph_add_link(draft->graph, from, to, kind);
        if (link == NULL) {
            draft->out_of_memory = true;
            return;
        }
        link->width = width;
        link->nominal_bytes_per_s = bytes_per_s;
        link->state = state;
        link->source = draft_source_name(source);
        return;
    }
    bool better = source > link_source(link);
    if (width > 0 && link->width > 0 && width != link->width) {
        char a[64], b[64];
        draft_disagree(draft,
                       "%s says that the %s link between %s and %s is %d wide, %s says %d; kept is "
                       "what %s says%s.",
                       link->source, link_kind_name(kind), draft_label(draft, from, a),
                       draft_label(draft, to, b), link->width, draft_source_name(source), width,
                       better ? draft_source_name(source) : link->source,
                       draft_source_name(source) == link->source ? " first" : "");
    }
    if (better)
        link->source = draft_source_name(source);
    if (width > 0 && (better || link->width <= 0))
        link->width = width;
    if (!isnan(bytes_per_s) && (better || isnan(link->nominal_bytes_per_s)))
        link->nominal_bytes_per_s = bytes_per_s;
    if (state != LINK_UNKNOWN && (better || link->state == LINK_UNKNOWN))
        link->state = state;
}

place_id draft_module(struct draft *draft, const place_id *gpus, size_t count,
                      enum draft_source source)
{
    if (count < 2)
        return PLACE_NONE;
    place_id module = PLACE_NONE;
    for (size_t i = 0; i < count && module == PLACE_NONE; i++)
        module = draft_place(draft, gpus[i])->parent;
    if (module == PLACE_NONE)
        module = draft_add(draft, PLACE_MODULE, 0, source);
    for (size_t i = 0; i < count; i++)
        draft_place(draft, gpus[i])->parent = module;
    return module;
}

void draft_value(struct draft *draft, enum metric metric, place_id from, place_id to,
                 const char *axes, double value)
{
    draft_value_from(draft, VALUE_NOMINAL, metric, from, to, axes, value);
}

void draft_value_from(struct draft *draft, enum value_source source, enum metric metric,
                      place_id from, place_id to, const char *axes, double value)
{
    size_t count = draft->value_count;
    if (from == PLACE_NONE || to == PLACE_NONE)
        return;
    if ((count & (count - 1)) == 0) {
        struct draft_value *more =
            realloc(draft->values, (count == 0 ? 1 : 2 * count) * sizeof *more);
        if (more == NULL) {
            draft->out_of_memory = true;
            return;
        }
        draft->values = more;
    }
    draft->values[draft->value_count++] =
        (struct draft_value){metric, from, to, axes, value, source};
}

place_id draft_nth(const struct draft *draft, enum place_kind kind, size_t n)
{
    place_id id = graph_next(draft->graph, kind, 0);
    while (id != PLACE_NONE && n-- > 0)
        id = graph_next(draft->graph, kind, id + 1);
    return id;
}

place_id draft_numbered(const struct draft *draft, enum place_kind kind, int32_t number)
{
    place_id id = graph_next(draft->graph, kind, 0);
    while (id != PLACE_NONE && draft->graph->places[id].number != number)
        id = graph_next(draft->graph, kind, id + 1);
    return id;
}
