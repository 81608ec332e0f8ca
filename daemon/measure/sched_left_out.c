#include "measure/sched_left_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/gpu.h"

place_id sched_left_out_gpu(const struct graph *graph, place_id place)
{
    const struct place *asked = graph_place(graph, place);
    const char *pci = asked->kind == PLACE_NUMA ? place_detail(asked, "gpu_pci") : NULL;
    if (asked->kind == PLACE_GPU)
        return place;
    if (pci != NULL)
        return graph_find(graph, pci);
    return asked->kind == PLACE_NUMA ? gpu_apu_at(graph, place) : PLACE_NONE;
}

static const struct claim *profiler(const struct sched_left_out *what, const struct graph *graph,
                                    place_id gpu)
{
    return what->set != NULL ? claim_set_profiling(what->set, graph, gpu, what->is_forced) : NULL;
}

/* Returns the first NUMA node from p on that is the GPU's own memory. */
static place_id next_memory(const struct graph *graph, place_id gpu, place_id p)
{
    place_id numa = graph_next(graph, PLACE_NUMA, p);
    while (numa != PLACE_NONE && sched_left_out_gpu(graph, numa) != gpu)
        numa = graph_next(graph, PLACE_NUMA, numa + 1);
    return numa;
}

/* Returns the first GPU from g on that a claim profiles and the probe would use. */
static place_id next_profiled(const struct gpu_use *use, const struct graph *graph,
                              const struct sched_left_out *what, place_id g)
{
    place_id gpu = graph_next(graph, PLACE_GPU, g);
    while (gpu != PLACE_NONE) {
        bool is_touched = what->is_gpu_probe ? gpu_use_counts(use, graph, gpu)
                                             : next_memory(graph, gpu, 0) != PLACE_NONE;
        if (is_touched && profiler(what, graph, gpu) != NULL)
            break;
        gpu = graph_next(graph, PLACE_GPU, gpu + 1);
    }
    return gpu;
}

bool sched_left_out_add(struct gpu_use *use, const struct graph *graph,
                        const struct sched_left_out *what)
{
    size_t before = use->count;
    for (place_id gpu = 0; (gpu = next_profiled(use, graph, what, gpu)) != PLACE_NONE; gpu++)
        gpu_use_add(use, gpu, GPU_USE_PROFILED);
    return use->count > before;
}

const struct claim *sched_left_out_missing(const struct gpu_use *use, const struct graph *graph,
                                           const struct sched_left_out *what)
{
    for (place_id gpu = 0; (gpu = next_profiled(use, graph, what, gpu)) != PLACE_NONE; gpu++)
        if (!gpu_use_has(use, gpu))
            return profiler(what, graph, gpu);
    return NULL;
}

char *sched_left_out_memory(const struct gpu_use *use, const struct graph *graph)
{
    char *list = calloc(graph->place_count + 1, sizeof graph->places[0].name + 1), *end = list;
    for (size_t i = 0; list != NULL && i < use->count; i++)
        for (place_id numa = 0; (numa = next_memory(graph, use->item[i].gpu, numa)) != PLACE_NONE;
             numa++)
            end += sprintf(end, "%s%s", end > list ? "," : "", graph_place(graph, numa)->name);
    return list;
}

bool sched_left_out_names(const struct graph *graph, const char *places, bool is_gpu_probe)
{
    char name[72];
    bool found = false;
    for (const char *c = places; *c != '\0' && !found;) {
        size_t length = strcspn(c, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, c);
        place_id place = graph_find(graph, name);
        found =
            place != PLACE_NONE && (graph_place(graph, place)->kind == PLACE_GPU) == is_gpu_probe;
        c += length + (c[length] == ',');
    }
    return found;
}

enum berth_code sched_left_out_check(const struct claim_set *claims, bool is_forced,
                                     struct berth_err *err)
{
    char by[96];
    const struct claim *of_admin = claims != NULL ? claim_set_computing(claims, true) : NULL;
    const struct claim *claim =
        claims != NULL && of_admin == NULL ? claim_set_computing(claims, false) : of_admin;
    if (claim == NULL || (of_admin == NULL && is_forced))
        return BERTH_OK;
    claim_describe(claim, by, sizeof by);
    err_text(err, 0, by);
    return err_set(err, BERTH_BUSY,
                   "nothing is measured beside claim %s (berth claims lists them%s)", by,
                   of_admin != NULL ? "" : "; --force measures beside those of ordinary users");
}

static void report(const char *code, const char *place, const char *text, struct run_parser *parser,
                   json_t *skipped)
{
    run_parser_note(parser, NOTE_INFO, code, place, text);
    if (skipped != NULL)
        run_parser_list_skip(skipped, NULL, place, text);
}

void sched_left_out_report(const struct gpu_use *use, const struct graph *graph,
                           const struct sched_left_out *what, struct run_parser *parser,
                           json_t *skipped)
{
    for (size_t i = 0; i < use->count; i++) {
        place_id gpu = use->item[i].gpu;
        const char *name = graph_place(graph, gpu)->name;
        const struct claim *claim = profiler(what, graph, gpu);
        long long processes = (long long)use->item[i].processes;
        char text[240], by[96] = "a claim that has ended";
        if (claim != NULL)
            claim_describe(claim, by, sizeof by);
        if (what->is_gpu_probe && (claim != NULL || processes == GPU_USE_PROFILED)) {
            snprintf(text, sizeof text, "claim %s profiles it: nothing was measured on it", by);
            report(SCHED_LEFT_OUT_PROFILED, name, text, parser, skipped);
        } else if (what->is_gpu_probe && processes > 0) {
            snprintf(text, sizeof text, "%lld process%s on it: nothing was measured on it",
                     processes, processes == 1 ? " is" : "es are");
            report(SCHED_LEFT_OUT_IN_USE, name, text, parser, skipped);
        }
        for (place_id numa = 0;
             !what->is_gpu_probe && (numa = next_memory(graph, gpu, numa)) != PLACE_NONE; numa++) {
            snprintf(text, sizeof text,
                     "it is the memory of %s, which claim %s profiles: nothing was measured on it",
                     name, by);
            report(SCHED_LEFT_OUT_PROFILED, graph_place(graph, numa)->name, text, parser, skipped);
        }
    }
}
