#include "cost/endpoints.h"

#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "node/allowed.h"
#include "node/gpu.h"

bool endpoints_is_lost(const struct snapshot *snap, place_id gpu)
{
    const struct place *place = graph_place(snap->graph, gpu);
    const char *state = place_detail(place, "state");
    if (state != NULL && strcmp(state, "lost") == 0)
        return true;
    for (size_t i = 0; i < snap->note_count; i++)
        if (strcmp(snap->notes[i].code, "gpu-lost") == 0 &&
            strcmp(snap->notes[i].place, place->name) == 0)
            return true;
    return false;
}

const char *endpoints_cut_text(const struct graph *graph, place_id gpu)
{
    return gpu_has_slices(graph, graph_place(graph, gpu))
               ? "is cut into slices, which are gpus of their own"
               : "is in MIG mode and has no slices";
}

place_id endpoints_gpu_of(const struct graph *graph, place_id numa)
{
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        place_id other = link->from == numa ? link->to : link->to == numa ? link->from : PLACE_NONE;
        if (link->kind == LINK_MEMBUS && graph_is(graph, other, PLACE_GPU) &&
            gpu_apu_at(graph, numa) != other)
            return other;
    }
    return PLACE_NONE;
}

bool endpoints_share_memory(const struct graph *graph, place_id a, place_id b)
{
    place_id numa = graph_place(graph, a)->kind == PLACE_NUMA ? a : b, gpu = numa == a ? b : a;
    return graph_place(graph, numa)->kind == PLACE_NUMA && graph_is(graph, gpu, PLACE_GPU) &&
           gpu_apu_at(graph, numa) == gpu;
}

/* Returns the number of links of a place to b, or to any switch where b is none, when all are down;
 * else 0. ret_other: the other end of the first. */
static size_t all_down(const struct graph *graph, place_id a, place_id b, place_id *ret_other)
{
    size_t down = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        place_id other = link->from == a ? link->to : link->to == a ? link->from : PLACE_NONE;
        if (other == PLACE_NONE ||
            (b == PLACE_NONE ? graph_place(graph, other)->kind != PLACE_SWITCH : other != b))
            continue;
        if (link->state != LINK_DOWN)
            return 0;
        *ret_other = down++ == 0 ? other : *ret_other;
    }
    return down;
}

bool endpoints_is_off_switches(const struct graph *graph, place_id gpu)
{
    place_id other;
    return graph_is(graph, gpu, PLACE_GPU) && all_down(graph, gpu, PLACE_NONE, &other) > 0;
}

static bool warn_down(const struct graph *graph, place_id a, place_id b, struct reasons *warnings)
{
    place_id other = PLACE_NONE;
    size_t count = all_down(graph, a, b, &other);
    char text[96];
    const char *subject = text, *name = graph_place(graph, a)->name;
    if (count > 1 && b == PLACE_NONE)
        snprintf(text, sizeof text, "all %zu links of %.24s to switches are down", count, name);
    else if (count > 0)
        snprintf(text, sizeof text, "the link between %.24s and %.24s is down", name,
                 graph_place(graph, other)->name);
    if (count > 0)
        reasons_add(warnings, REASON_LINK_DOWN, SUBJECTS(subject), NO_NUMBERS);
    return count > 0;
}

void endpoints_warn_down(const struct graph *graph, place_id a, place_id b,
                         struct reasons *warnings)
{
    place_id end[] = {a < b ? a : b, a < b ? b : a};
    bool peers = graph_are_gpus(graph, a, b);
    bool is_down = warn_down(graph, end[0], end[1], warnings);
    for (size_t i = 0; i < 2 && peers && !is_down; i++)
        warn_down(graph, end[i], PLACE_NONE, warnings);
}

bool endpoints_vendors_differ(const struct graph *graph, place_id a, place_id b)
{
    enum gpu_vendor x = gpu_vendor(graph_place(graph, a)), y = gpu_vendor(graph_place(graph, b));
    return x != y && x != VENDOR_UNKNOWN && y != VENDOR_UNKNOWN;
}

static bool may_use(const struct snapshot *snap, const struct allowed *allowed, place_id id)
{
    if (graph_is(snap->graph, id, PLACE_GPU))
        return allowed_has_gpu(allowed, id) && !endpoints_is_lost(snap, id) &&
               !gpu_is_cut(snap->graph, id);
    return allowed_has_memory(allowed, id);
}

/* "gpu0, gpu1", cut where the text ends; "none". */
static void list_usable(const struct snapshot *snap, const struct allowed *allowed,
                        enum place_kind kind, char *text, size_t size)
{
    const struct graph *graph = snap->graph;
    size_t used = 0;
    snprintf(text, size, "none");
    for (place_id p = graph_next(graph, kind, 0); p != PLACE_NONE && used + 24 < size;
         p = graph_next(graph, kind, p + 1))
        if (may_use(snap, allowed, p))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     graph_place(graph, p)->name);
}

/* With what there is instead, between commas. */
static enum berth_code refuse(const struct snapshot *snap, const struct allowed *allowed,
                              const struct place *place, enum berth_code code, const char *why,
                              struct berth_err *err)
{
    char others[120];
    list_usable(snap, allowed, place->kind, others, sizeof others);
    return err_set(err, code, "%s %s: %s", place->name, why, others);
}

enum berth_code endpoints_check_end(const struct snapshot *snap, const struct allowed *allowed,
                                    place_id end, struct berth_err *err)
{
    const struct place *place = graph_place(snap->graph, end);
    bool is_gpu = place->kind == PLACE_GPU;
    char why[120];
    if (is_gpu && endpoints_is_lost(snap, end))
        return refuse(snap, allowed, place, BERTH_UNAVAILABLE,
                      "is lost: it must be reset, or the node started again; there are", err);
    if (is_gpu && gpu_is_cut(snap->graph, end)) {
        snprintf(why, sizeof why, "%s; there are", endpoints_cut_text(snap->graph, end));
        return refuse(snap, allowed, place, BERTH_UNAVAILABLE, why, err);
    }
    if (is_gpu ? allowed_has_gpu(allowed, end) : allowed_has_memory(allowed, end))
        return BERTH_OK;
    snprintf(why, sizeof why, "is not among the %s that are allowed", is_gpu ? "gpus" : "memories");
    err_text(err, 0, is_gpu ? "allowed.gpus" : "allowed.memory");
    return refuse(snap, allowed, place, BERTH_NOTHING_ALLOWED, why, err);
}

static enum berth_code check_end(const struct snapshot *snap, const struct allowed *allowed,
                                 place_id end, const char *name, int64_t bytes,
                                 struct berth_err *err)
{
    const struct place *place = graph_place(snap->graph, end);
    char asked[QUANTITY_SIZE], has[QUANTITY_SIZE];
    if (place->kind != PLACE_NUMA && place->kind != PLACE_GPU)
        return err_invalid(err, name, "%s is no memory: a gpu or a NUMA node is", place->name);
    enum berth_code code = endpoints_check_end(snap, allowed, end, err);
    if (code != BERTH_OK || place->capacity_bytes < 0 || bytes <= place->capacity_bytes)
        return code;
    quantity_sizes((double)bytes, (double)place->capacity_bytes, asked, has);
    return err_not_enough(err, "bytes", bytes, place->capacity_bytes,
                          "%s do not fit in the memory of %s, which has %s", asked, place->name,
                          has);
}

enum berth_code endpoints_check(const struct snapshot *snap, const struct allowed *allowed,
                                place_id from, place_id to, int64_t bytes, struct berth_err *err)
{
    const struct graph *graph = snap->graph;
    if (bytes < 1)
        return err_invalid(err, "bytes", "a transfer has at least one");
    enum berth_code code = check_end(snap, allowed, from, "from", bytes, err);
    if (code == BERTH_OK)
        code = check_end(snap, allowed, to, "to", bytes, err);
    if (code != BERTH_OK)
        return code;
    if (from == to)
        return err_invalid(err, "to", "the bytes are in %s already", graph_place(graph, to)->name);
    if (graph_place(graph, from)->kind != PLACE_GPU && graph_place(graph, to)->kind != PLACE_GPU)
        return err_invalid(
            err, "to",
            "between two NUMA nodes cores copy, of which nothing is measured: one end is a gpu");
    return BERTH_OK;
}
