#include "measure/probe_sets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/path_inference.h"
#include "measure/gpu_use.h"
#include "measure/probe_names.h"

/* Bytes per second that links between two gpus are said to carry. */
static double width_between(const struct graph *graph, place_id a, place_id b)
{
    double width = 0;
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct link *link = &graph->links[i];
        bool joins = (link->from == a && link->to == b) || (link->from == b && link->to == a);
        if (joins && link->state != LINK_DOWN && link->nominal_bytes_per_s > 0)
            width += link->nominal_bytes_per_s;
    }
    return width;
}

#define NAME_MAX_LENGTH 71 /* of a GPU, in the probe's sets */

#define DETOURS 2 /* of a transfer in parts, beside its direct path */

/* A path over one gpu or two between. */
struct detour {
    place_id via[2]; /* the second PLACE_NONE: there is one */
    double width;
};

/* Puts it among the widest found, of which each begins with another gpu; shorter ones come first.
 */
static void note_detour(struct detour detour[DETOURS], const struct detour *its)
{
    struct detour next = *its;
    for (size_t i = 0; i < DETOURS; i++) {
        bool same = detour[i].width > 0 && detour[i].via[0] == next.via[0];
        if (!(next.width > detour[i].width)) {
            if (same)
                return;
            continue;
        }
        struct detour moved = detour[i];
        detour[i] = next;
        if (same)
            return;
        next = moved;
    }
}

static void find_detours(const struct graph *graph, place_id from, place_id to,
                         struct detour detour[DETOURS])
{
    bool is_small = graph_count(graph, PLACE_GPU) <= 16; /* else one gpu between has to do */
    for (place_id a = graph_next(graph, PLACE_GPU, 0); a != PLACE_NONE;
         a = graph_next(graph, PLACE_GPU, a + 1)) {
        double first = width_between(graph, from, a);
        if (a == from || a == to || !(first > 0))
            continue;
        note_detour(detour,
                    &(struct detour){{a, PLACE_NONE}, fmin(first, width_between(graph, a, to))});
        for (place_id b = graph_next(graph, PLACE_GPU, 0); b != PLACE_NONE && is_small;
             b = graph_next(graph, PLACE_GPU, b + 1))
            if (b != a && b != from && b != to)
                note_detour(detour, &(struct detour){{a, b},
                                                     fmin(fmin(first, width_between(graph, a, b)),
                                                          width_between(graph, b, to))});
    }
}

/* Adds the copies of a transfer in parts between two gpus: directly, and through others. Rates of
 * all of them together decide whether Route splits it. */
static void add_split(struct probe_names *sets, const struct graph *graph, place_id from,
                      place_id to, const char *mechanism)
{
    struct detour detour[DETOURS] = {0};
    find_detours(graph, from, to, detour);
    if (!(detour[0].width > 0))
        return;
    probe_names_add(sets, ',', "%s%s>%s", mechanism, probe_names_gpu(graph, from),
                    probe_names_gpu(graph, to));
    for (size_t i = 0; i < DETOURS && detour[i].width > 0; i++) {
        place_id hop[] = {from, detour[i].via[0], detour[i].via[1], to};
        for (size_t h = 1, last = 0; h < 4; h++) {
            if (hop[h] == PLACE_NONE)
                continue;
            probe_names_add(sets, '+', "%s>%s", probe_names_gpu(graph, hop[last]),
                            probe_names_gpu(graph, hop[h]));
            last = h;
        }
    }
}

static void add_splits(struct probe_names *sets, const struct gpu_use *use,
                       const struct graph *graph)
{
    static const char *const mechanisms[] = {"kernel/", ""};
    for (place_id from = graph_next(graph, PLACE_GPU, 0); from != PLACE_NONE;
         from = graph_next(graph, PLACE_GPU, from + 1))
        for (place_id to = graph_next(graph, PLACE_GPU, 0); to != PLACE_NONE;
             to = graph_next(graph, PLACE_GPU, to + 1))
            for (size_t m = 0; m < 2; m++)
                if (from != to && sets->count < PROBE_SETS_MAX && sets->bytes < PROBE_SETS_BYTES &&
                    gpu_use_counts(use, graph, from))
                    add_split(sets, graph, from, to, mechanisms[m]);
}

/* False when the probe knows no name as long as some GPU's. */
static bool are_known(const struct graph *graph)
{
    bool are = true;
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE && are;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        are = strlen(probe_names_gpu(graph, gpu)) <= NAME_MAX_LENGTH;
    return are;
}

char *probe_sets(const struct graph *graph, const char *vendor)
{
    struct gpu_use use = {.vendor = vendor};
    struct probe_names sets;
    struct path_question asked[PATH_INFERENCE_MOST];
    struct link_paths *paths = link_paths_new(graph);
    if (paths == NULL)
        return NULL;
    size_t count = path_inference_ask(paths, graph, asked, PATH_INFERENCE_MOST);
    link_paths_free(paths);
    probe_names_begin(&sets);
    for (size_t i = 0; i < count; i++) {
        const struct path_question *one = &asked[i];
        if (gpu_use_counts(&use, graph, one->from))
            probe_names_add(&sets, ',', "%s>%s+%s>%s", probe_names_gpu(graph, one->from),
                            probe_names_gpu(graph, one->to),
                            probe_names_gpu(graph, one->beside_from),
                            probe_names_gpu(graph, one->beside_to));
    }
    if (are_known(graph))
        add_splits(&sets, &use, graph);
    return probe_names_end(&sets);
}
