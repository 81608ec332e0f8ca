#include "plan/bind/launcher_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/ends.h"
#include "node/allowed.h"
#include "node/gpu.h"
#include "node/locality.h"
#include "node/reasons.h"
#include "plan/bind/gpus.h"

/* A string that grows. */
struct text {
    FILE *file;
    char *start;
    size_t length;
};

static bool text_init(struct text *text)
{
    text->file = open_memstream(&text->start, &text->length);
    return text->file != NULL;
}

static enum berth_code text_finish(struct text *text, char **ret, struct berth_err *err)
{
    bool ok = !ferror(text->file);
    if (fclose(text->file) != 0 || !ok) {
        free(text->start);
        return err_set(err, BERTH_NO_MEMORY, "no memory for launcher strings");
    }
    *ret = text->start;
    return BERTH_OK;
}

static enum berth_code no_memory(struct berth_err *err)
{
    return err_set(err, BERTH_NO_MEMORY, "no memory for launcher strings");
}

static bool has_core(const struct place *core, const struct cpuset *cpus)
{
    return core->cpus != NULL && cpuset_intersects(core->cpus, cpus);
}

/* Sites keep the same few cores of llcs for the system; a job that has all others has the node. */
static enum berth_code has_whole_node(const struct graph *graph, const struct allowed *allowed,
                                      bool *ret, struct berth_err *err)
{
    unsigned *all = calloc(graph->place_count, 2 * sizeof *all);
    if (all == NULL)
        return no_memory(err);
    unsigned *mine = all + graph->place_count, reserved = 0;
    bool whole = true;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        whole = whole && (allowed_has_gpu(allowed, g) || gpu_is_cut(graph, g));
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1)) {
        place_id llc = locality_above(graph, c, PLACE_LLC);
        all[llc != PLACE_NONE ? llc : 0]++;
        mine[llc != PLACE_NONE ? llc : 0] += has_core(graph_place(graph, c), &allowed->cpus);
    }
    for (size_t p = 0; p < graph->place_count; p++) {
        if (mine[p] == all[p])
            continue;
        whole = whole && 2 * mine[p] > all[p] && (reserved == 0 || reserved == all[p] - mine[p]);
        reserved = all[p] - mine[p];
    }
    free(all);
    *ret = whole;
    return BERTH_OK;
}

/* Slurm numbers gpus by their device files where all have minors of their own; else they count as
 * the node's do. */
static unsigned gres_index(const struct graph *graph, place_id gpu)
{
    bool by_minor = true;
    unsigned lower_minor = 0, lower_number = 0;
    const struct place *mine = graph_place(graph, gpu);
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const struct place *other = graph_place(graph, g);
        if (gpu_is_cut(graph, g)) /* its slices are counted in its place */
            continue;
        by_minor = by_minor && other->minor >= 0 && (g == gpu || other->minor != mine->minor);
        lower_minor += other->minor < mine->minor;
        lower_number += other->number < mine->number;
    }
    return by_minor ? lower_minor : lower_number;
}

static void put_gpu_bind(FILE *file, const struct graph *graph, const struct bind_answer *answer)
{
    size_t each = (size_t)answer->gpus_per_task;
    fputs(each == 1 ? " --gpu-bind=map_gpu:" : " --gpu-bind=mask_gpu:", file);
    for (size_t t = 0; t < answer->task_count; t++) {
        struct cpuset mask = {0};
        char text[CPUSET_MAX / 4 + 4];
        for (size_t i = 0; i < each; i++)
            cpuset_add(&mask, gres_index(graph, answer->task[t].gpus[i]));
        cpuset_format_mask(&mask, text, sizeof text);
        if (each == 1)
            fprintf(file, "%s%d", t > 0 ? "," : "", cpuset_next(&mask, 0));
        else
            fprintf(file, "%s%s", t > 0 ? "," : "", text);
    }
}

enum berth_code launcher_slurm(const struct snapshot *snap, const struct allowed *allowed,
                               const struct bind_answer *answer, struct reasons *warnings,
                               char **ret, struct berth_err *err)
{
    struct text text;
    bool is_whole = false;
    enum berth_code code = has_whole_node(snap->graph, allowed, &is_whole, err);
    if (code != BERTH_OK)
        return code;
    if (!is_whole) {
        reasons_note(
            warnings,
            "no options for srun: its masks count the whole node, of which only a part is allowed");
        *ret = NULL;
        return BERTH_OK;
    }
    if (!text_init(&text))
        return no_memory(err);
    fputs("--cpu-bind=mask_cpu:", text.file);
    for (size_t t = 0; t < answer->task_count; t++) {
        char mask[CPUSET_MAX / 4 + 4];
        cpuset_format_mask(&answer->task[t].cpus, mask, sizeof mask);
        fprintf(text.file, "%s%s", t > 0 ? "," : "", mask);
    }
    if (answer->gpus_per_task > 0)
        put_gpu_bind(text.file, snap->graph, answer);
    return text_finish(&text, ret, err);
}

/* A core's place in hwloc's order, which goes down the tree and at each level by lowest cpu. */
struct rank_key {
    int first[4]; /* lowest cpu of package, NUMA node, llc, core */
    place_id core;
};

static int lowest_cpu(const struct graph *graph, place_id id)
{
    return id != PLACE_NONE && graph_place(graph, id)->cpus != NULL
               ? cpuset_next(graph_place(graph, id)->cpus, 0)
               : 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct rank_key *x = a, *y = b;
    for (int i = 0; i < 4; i++)
        if (x->first[i] != y->first[i])
            return x->first[i] < y->first[i] ? -1 : 1;
    return 0;
}

static size_t logical_order(const struct graph *graph, struct rank_key *key)
{
    size_t count = 0;
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1)) {
        int package = lowest_cpu(graph, locality_above(graph, c, PLACE_PACKAGE)),
            numa = lowest_cpu(graph, locality_numa(graph, c));
        int llc = lowest_cpu(graph, locality_above(graph, c, PLACE_LLC));
        /* Of NUMA node and llc the larger one, with the lower first cpu, stands above the other. */
        key[count++] = (struct rank_key){
            {package, numa < llc ? numa : llc, numa < llc ? llc : numa, lowest_cpu(graph, c)}, c};
    }
    qsort(key, count, sizeof *key, compare_keys);
    return count;
}

enum berth_code launcher_rankfile(const struct snapshot *snap, const struct bind_answer *answer,
                                  const int64_t *ranks, char **ret, struct berth_err *err)
{
    struct rank_key *key = calloc(graph_count(snap->graph, PLACE_CORE) + 1, sizeof *key);
    struct text text;
    if (key == NULL || !text_init(&text)) {
        free(key);
        return no_memory(err);
    }
    size_t cores = logical_order(snap->graph, key);
    for (size_t t = 0; t < answer->task_count; t++) {
        struct cpuset slots = {0};
        char list[CPUSET_MAX * 5];
        for (size_t i = 0; i < cores; i++)
            if (has_core(graph_place(snap->graph, key[i].core), &answer->task[t].cpus))
                cpuset_add(&slots, (unsigned)i);
        cpuset_format_list(&slots, list, sizeof list);
        fprintf(text.file, "rank %" PRId64 "=localhost slot=%s\n",
                ranks != NULL ? ranks[t] : (int64_t)t, list);
    }
    free(key);
    return text_finish(&text, ret, err);
}

enum berth_code launcher_omp_places(const struct snapshot *snap, const struct bind_answer *answer,
                                    char **ret, struct berth_err *err)
{
    const struct graph *graph = snap->graph;
    struct text text;
    if (!text_init(&text))
        return no_memory(err);
    for (size_t t = 0; t < answer->task_count; t++) {
        const char *separator = "";
        for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
             c = graph_next(graph, PLACE_CORE, c + 1)) {
            if (!has_core(graph_place(graph, c), &answer->task[t].cpus))
                continue;
            struct cpuset cpus = *graph_place(graph, c)->cpus;
            cpuset_and(&cpus, &answer->task[t].cpus);
            fprintf(text.file, "%s{", separator);
            const char *comma = "";
            for (int cpu = cpuset_next(&cpus, 0); cpu >= 0;
                 cpu = cpuset_next(&cpus, (unsigned)cpu + 1), comma = ",")
                fprintf(text.file, "%s%d", comma, cpu);
            fputs("}", text.file);
            separator = ",";
        }
        fputs("\n", text.file);
    }
    return text_finish(&text, ret, err);
}

enum berth_code launcher_numactl(const struct snapshot *snap, const struct bind_answer *answer,
                                 char **ret, struct berth_err *err)
{
    struct text text;
    if (!text_init(&text))
        return no_memory(err);
    for (size_t t = 0; t < answer->task_count; t++) {
        char list[CPUSET_MAX * 5];
        cpuset_format_list(&answer->task[t].cpus, list, sizeof list);
        fprintf(text.file, "numactl --physcpubind=%s", list);
        if (answer->task[t].memory != PLACE_NONE)
            fprintf(text.file, " --preferred=%" PRId32,
                    graph_place(snap->graph, answer->task[t].memory)->number);
        fputs("\n", text.file);
    }
    return text_finish(&text, ret, err);
}
