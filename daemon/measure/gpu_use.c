#include "measure/gpu_use.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/path_inference.h"
#include "node/record.h"

bool gpu_use_has(const struct gpu_use *use, place_id gpu)
{
    bool found = false;
    for (size_t i = 0; i < use->count && !found; i++)
        found = use->item[i].gpu == gpu;
    return found;
}

bool gpu_use_counts(const struct gpu_use *use, const struct graph *graph, place_id gpu)
{
    if (gpu == PLACE_NONE || graph_place(graph, gpu)->kind != PLACE_GPU)
        return false;
    const char *vendor = place_detail(graph_place(graph, gpu), "vendor");
    return use->vendor == NULL || (vendor != NULL && strcmp(vendor, use->vendor) == 0);
}

void gpu_use_add(struct gpu_use *use, place_id gpu, int64_t processes)
{
    if (!gpu_use_has(use, gpu) && use->count < GPU_USE_MAX) {
        use->item[use->count].gpu = gpu;
        use->item[use->count++].processes = processes;
    }
}

void gpu_use_line(struct gpu_use *use, const struct graph *graph, const char *line, size_t length)
{
    struct record record;
    if (record_parse(line, length, &record, NULL) != BERTH_OK)
        return;
    if (record.kind == RECORD_DEVICE) {
        /* slices of one device share its address */
        static const char *const keys[] = {"uuid", "pci"};
        json_int_t processes = json_integer_value(json_object_get(record.object, "processes"));
        place_id gpu = PLACE_NONE;
        for (size_t i = 0; i < 2 && gpu == PLACE_NONE; i++) {
            const char *name = json_string_value(json_object_get(record.object, keys[i]));
            gpu = name == NULL ? PLACE_NONE : graph_find(graph, name);
        }
        if (processes > 0 && gpu_use_counts(use, graph, gpu))
            gpu_use_add(use, gpu, processes);
    }
    record_done(&record);
}

bool gpu_use_has_all(const struct gpu_use *use, const struct graph *graph)
{
    bool all = true;
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE && all;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        all = !gpu_use_counts(use, graph, gpu) || gpu_use_has(use, gpu);
    return all;
}

bool gpu_use_has_places(const struct gpu_use *use, const struct graph *graph, const char *places)
{
    bool all = true;
    for (const char *c = places; *c != '\0' && all;) {
        char name[72];
        size_t length = strcspn(c, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, c);
        place_id gpu = graph_find(graph, name);
        all = !gpu_use_counts(use, graph, gpu) || gpu_use_has(use, gpu);
        c += length + (c[length] == ',');
    }
    return all;
}

static const char *probe_name(const struct graph *graph, place_id gpu)
{
    const struct place *place = graph_place(graph, gpu);
    bool alone = place->pci != NULL;
    for (place_id other = graph_next(graph, PLACE_GPU, 0); other != PLACE_NONE && alone;
         other = graph_next(graph, PLACE_GPU, other + 1)) {
        const char *pci = graph_place(graph, other)->pci;
        alone = other == gpu || pci == NULL || strcmp(pci, place->pci) != 0;
    }
    return alone ? place->pci : place->uuid != NULL ? place->uuid : place->name;
}

/* Appends a name to a comma separated list. Frees the list and returns NULL when out of memory. */
static char *append(char *list, const char *name, size_t length)
{
    size_t used = list != NULL ? strlen(list) : 0;
    char *longer = realloc(list, used + length + 2);
    if (longer == NULL) {
        free(list);
        return NULL;
    }
    snprintf(longer + used, length + 2, "%s%.*s", used > 0 ? "," : "", (int)length, name);
    return longer;
}

static char *append_gpu(char *list, const struct graph *graph, place_id gpu)
{
    const char *name = probe_name(graph, gpu);
    return list == NULL ? NULL : append(list, name, strlen(name));
}

char *gpu_use_names(const struct gpu_use *use, const struct graph *graph)
{
    char *list = strdup("");
    for (size_t i = 0; i < use->count; i++)
        list = append_gpu(list, graph, use->item[i].gpu);
    return list;
}

char *gpu_use_translate(const struct graph *graph, const char *places)
{
    char *list = strdup("");
    for (const char *c = places; *c != '\0' && list != NULL;) {
        char name[72];
        size_t length = strcspn(c, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, c);
        place_id place = graph_find(graph, name);
        enum place_kind kind =
            place == PLACE_NONE ? PLACE_MACHINE : graph_place(graph, place)->kind;
        if (kind == PLACE_GPU)
            list = append_gpu(list, graph, place);
        else if (kind != PLACE_MODULE)
            list = append(list, c, length);
        for (place_id gpu = graph_next(graph, PLACE_GPU, 0);
             kind == PLACE_MODULE && gpu != PLACE_NONE; gpu = graph_next(graph, PLACE_GPU, gpu + 1))
            if (graph_place(graph, gpu)->parent == place)
                list = append_gpu(list, graph, gpu);
        c += length + (c[length] == ',');
    }
    return list;
}

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

/* Appends the copies of a transfer in parts between two gpus: directly, and through others. Rates
 * of all of them together decide whether Route splits it. */
static char *append_split(char *list, const struct graph *graph, place_id from, place_id to,
                          const char *mechanism)
{
    struct detour detour[DETOURS] = {0};
    char text[(3 * DETOURS + 1) * 2 * (NAME_MAX_LENGTH + 1) + 16];
    find_detours(graph, from, to, detour);
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1))
        if (strlen(probe_name(graph, gpu)) > NAME_MAX_LENGTH)
            return list; /* the probe knows no such name */
    int used = snprintf(text, sizeof text, "%s%s>%s", mechanism, probe_name(graph, from),
                        probe_name(graph, to));
    for (size_t i = 0; i < DETOURS && detour[i].width > 0; i++) {
        place_id hop[] = {from, detour[i].via[0], detour[i].via[1], to};
        for (size_t h = 1, last = 0; h < 4; h++) {
            if (hop[h] == PLACE_NONE)
                continue;
            used += snprintf(text + used, sizeof text - (size_t)used, "+%s>%s",
                             probe_name(graph, hop[last]), probe_name(graph, hop[h]));
            last = h;
        }
    }
    return detour[0].width > 0 ? append(list, text, (size_t)used) : list;
}

static char *append_splits(char *list, const struct gpu_use *use, const struct graph *graph,
                           size_t room)
{
    static const char *const mechanisms[] = {"kernel/", ""};
    for (place_id from = graph_next(graph, PLACE_GPU, 0); from != PLACE_NONE;
         from = graph_next(graph, PLACE_GPU, from + 1))
        for (place_id to = graph_next(graph, PLACE_GPU, 0); to != PLACE_NONE;
             to = graph_next(graph, PLACE_GPU, to + 1))
            for (size_t m = 0; m < 2; m++) {
                bool is_asked = from != to && list != NULL && room > 0 &&
                                gpu_use_counts(use, graph, from) &&
                                strlen(list) < GPU_USE_SETS_BYTES;
                size_t length = is_asked ? strlen(list) : 0;
                if (is_asked)
                    list = append_split(list, graph, from, to, mechanisms[m]);
                room -= is_asked && list != NULL && strlen(list) > length;
            }
    return list;
}

char *gpu_use_sets(const struct graph *graph, const char *vendor)
{
    struct gpu_use use = {.vendor = vendor};
    struct path_question asked[PATH_INFERENCE_MOST];
    struct link_paths *paths = link_paths_new(graph);
    char *list = paths != NULL ? strdup("") : NULL;
    size_t count = paths != NULL ? path_inference_ask(paths, graph, asked, PATH_INFERENCE_MOST) : 0;
    for (size_t i = 0; i < count && list != NULL; i++) {
        const struct path_question *one = &asked[i];
        char text[4 * 72];
        snprintf(text, sizeof text, "%s>%s+%s>%s", probe_name(graph, one->from),
                 probe_name(graph, one->to), probe_name(graph, one->beside_from),
                 probe_name(graph, one->beside_to));
        if (gpu_use_counts(&use, graph, one->from))
            list = append(list, text, strlen(text));
    }
    link_paths_free(paths);
    return list != NULL ? append_splits(list, &use, graph, GPU_USE_SETS_MAX - count) : NULL;
}
