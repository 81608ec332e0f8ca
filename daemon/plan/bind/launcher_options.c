#include "plan/bind/launcher_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/gpu.h"
#include "node/locality.h"
#include "plan/bind/visible.h"

struct work {
    const struct graph *graph;
    const struct allowed *allowed;
    const struct bind_answer *answer;
    const int64_t *ranks;
    struct reasons *warnings;
    FILE *file;
    bool is_right;
};

static bool has_core(const struct place *core, const struct cpuset *cpus)
{
    return core->cpus != NULL && cpuset_intersects(core->cpus, cpus);
}

/* ---- srun ---- */

/* Sites keep the same few cores of each L3, less than half, for the system; a job that has all
 * others and every GPU has the node. */
static bool has_whole_node(const struct work *work)
{
    const struct graph *graph = work->graph;
    unsigned of_all = 0;
    bool whole = true;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        whole = whole && (allowed_has_gpu(work->allowed, g) || gpu_is_cut(graph, g));
    place_id l3 = PLACE_NONE; /* first cores without one */
    do {
        unsigned all = 0, mine = 0;
        for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
             c = graph_next(graph, PLACE_CORE, c + 1)) {
            bool is_here = locality_above(graph, c, PLACE_LLC) == l3;
            all += is_here;
            mine += is_here && has_core(graph_place(graph, c), &work->allowed->cpus);
        }
        whole = whole && (mine == all || (2 * mine > all && (of_all == 0 || of_all == all - mine)));
        of_all = mine < all ? all - mine : of_all;
        l3 = graph_next(graph, PLACE_LLC, l3 + 1);
    } while (l3 != PLACE_NONE);
    return whole;
}

/* Slurm numbers GPUs by their device files where all have minors of their own; else they count as
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

/* Puts the number of one gpu, or the mask of several. */
static void put_gpus(struct work *work, const unsigned *number, size_t count)
{
    char text[CPUSET_MAX / 4 + 4];
    struct cpuset gpus = {0};
    for (size_t i = 0; i < count; i++)
        cpuset_add(&gpus, number[i]);
    if (count == 1)
        cpuset_format_list(&gpus, text, sizeof text);
    else
        cpuset_format_mask(&gpus, text, sizeof text);
    fputs(text, work->file);
}

static void put_slurm(struct work *work)
{
    const struct bind_answer *answer = work->answer;
    char text[CPUSET_MAX / 4 + 4];
    size_t each = (size_t)answer->gpus_per_task;
    work->is_right = has_whole_node(work);
    if (!work->is_right) {
        reasons_add(work->warnings, REASON_SRUN_PART_OF_NODE, NO_SUBJECTS, NO_NUMBERS);
        return;
    }
    for (size_t t = 0; t < answer->task_count; t++) {
        cpuset_format_mask(&answer->task[t].cpus, text, sizeof text);
        fprintf(work->file, "%s%s", t == 0 ? "--cpu-bind=mask_cpu:" : ",", text);
    }
    for (size_t t = 0; each > 0 && t < answer->task_count; t++) {
        unsigned number[CPUSET_MAX];
        for (size_t i = 0; i < each; i++)
            number[i] = gres_index(work->graph, answer->task[t].gpus[i]);
        fprintf(work->file, "%s",
                t > 0       ? ","
                : each == 1 ? " --gpu-bind=map_gpu:"
                            : " --gpu-bind=mask_gpu:");
        put_gpus(work, number, each);
    }
}

/* ---- flux run ---- */

static bool has_one_vendor(const struct graph *graph)
{
    place_id first = graph_next(graph, PLACE_GPU, 0);
    for (place_id g = first; g != PLACE_NONE; g = graph_next(graph, PLACE_GPU, g + 1))
        if (gpu_vendor(graph_place(graph, g)) != gpu_vendor(graph_place(graph, first)))
            return false;
    return true;
}

/* Separates tasks by semicolons, so masks without commas stand for sets. */
static void put_flux(struct work *work)
{
    const struct bind_answer *answer = work->answer;
    char text[CPUSET_MAX / 4 + 4];
    size_t each = (size_t)answer->gpus_per_task;
    work->is_right = has_one_vendor(work->graph);
    for (size_t t = 0; t < answer->task_count; t++) {
        cpuset_format_mask(&answer->task[t].cpus, text, sizeof text);
        fprintf(work->file, "%s%s", t == 0 ? "-o cpu-affinity=map:" : ";", text);
    }
    for (size_t t = 0; each > 0 && t < answer->task_count; t++) {
        unsigned number[CPUSET_MAX] = {0};
        for (size_t i = 0; i < each; i++)
            work->is_right =
                visible_index(work->graph, answer->task[t].gpus[i], &number[i]) && work->is_right;
        fputs(t == 0 ? " -o gpu-affinity=map:" : ";", work->file);
        put_gpus(work, number, each);
    }
}

/* ---- rank file ---- */

static int lowest_cpu(const struct graph *graph, place_id id)
{
    return id != PLACE_NONE && graph_place(graph, id)->cpus != NULL
               ? cpuset_next(graph_place(graph, id)->cpus, 0)
               : 0;
}

/* Compares cores in hwloc's order, which goes down the tree and at each level by lowest cpu. Of
 * NUMA node and L3 the larger one, with the lower first cpu, stands above the other. */
static int compare_cores(const void *a, const void *b, void *arg)
{
    const struct graph *graph = arg;
    int key[2][4];
    for (int i = 0; i < 2; i++) {
        place_id core = *(const place_id *)(i == 0 ? a : b);
        int numa = lowest_cpu(graph, locality_numa(graph, core)),
            l3 = lowest_cpu(graph, locality_above(graph, core, PLACE_LLC));
        key[i][0] = lowest_cpu(graph, locality_above(graph, core, PLACE_PACKAGE));
        key[i][1] = numa < l3 ? numa : l3;
        key[i][2] = numa < l3 ? l3 : numa;
        key[i][3] = lowest_cpu(graph, core);
    }
    int i = 0;
    while (i < 3 && key[0][i] == key[1][i])
        i++;
    return key[0][i] - key[1][i];
}

static void put_rankfile(struct work *work)
{
    char list[CPUSET_MAX * 5];
    place_id core[CPUSET_MAX];
    size_t cores = 0;
    for (place_id c = graph_next(work->graph, PLACE_CORE, 0); c != PLACE_NONE && cores < CPUSET_MAX;
         c = graph_next(work->graph, PLACE_CORE, c + 1))
        core[cores++] = c;
    qsort_r(core, cores, sizeof *core, compare_cores, (void *)work->graph);
    for (size_t t = 0; t < work->answer->task_count; t++) {
        struct cpuset slots = {0};
        for (size_t i = 0; i < cores; i++)
            if (has_core(graph_place(work->graph, core[i]), &work->answer->task[t].cpus))
                cpuset_add(&slots, (unsigned)i);
        cpuset_format_list(&slots, list, sizeof list);
        fprintf(work->file, "rank %" PRId64 "=localhost slot=%s\n",
                work->ranks != NULL ? work->ranks[t] : (int64_t)t, list);
    }
}

/* ---- the others ---- */

static void put_omp_places(struct work *work)
{
    for (size_t t = 0; t < work->answer->task_count; t++) {
        const struct cpuset *its = &work->answer->task[t].cpus;
        const char *separator = "{";
        for (place_id c = graph_next(work->graph, PLACE_CORE, 0); c != PLACE_NONE;
             c = graph_next(work->graph, PLACE_CORE, c + 1)) {
            if (!has_core(graph_place(work->graph, c), its))
                continue;
            struct cpuset cpus = *graph_place(work->graph, c)->cpus;
            cpuset_and(&cpus, its);
            for (int cpu = cpuset_next(&cpus, 0); cpu >= 0;
                 separator = ",", cpu = cpuset_next(&cpus, (unsigned)cpu + 1))
                fprintf(work->file, "%s%d", separator, cpu);
            separator = "},{";
        }
        fputs("}\n", work->file);
    }
}

static void put_numactl(struct work *work)
{
    char list[CPUSET_MAX * 5];
    for (size_t t = 0; t < work->answer->task_count; t++) {
        const struct bind_task *task = &work->answer->task[t];
        cpuset_format_list(&task->cpus, list, sizeof list);
        fprintf(work->file, "numactl --physcpubind=%s", list);
        if (task->memory != PLACE_NONE)
            fprintf(work->file, " --preferred=%" PRId32,
                    graph_place(work->graph, task->memory)->number);
        fputs("\n", work->file);
    }
}

static bool is_slingshot_of(const struct graph *graph, place_id nic, place_id numa)
{
    const char *fabric = place_detail(graph_place(graph, nic), "fabric");
    return fabric != NULL && strcmp(fabric, "slingshot") == 0 && locality_numa(graph, nic) == numa;
}

/* Whether a task's nics are the Slingshot ports of the NUMA node with all its cpus and its memory,
 * if any. */
static bool has_nics_of_numa(const struct work *work, const struct bind_task *task)
{
    const struct graph *graph = work->graph;
    const struct cpuset *home =
        task->memory != PLACE_NONE ? graph_place(graph, task->memory)->cpus : NULL;
    size_t there = 0, own = 0;
    for (place_id n = graph_next(graph, PLACE_NIC, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NIC, n + 1))
        there += is_slingshot_of(graph, n, task->memory);
    for (size_t i = 0; i < task->nic_count; i++)
        own += is_slingshot_of(graph, work->answer->nic[task->nics + i], task->memory);
    return home != NULL && cpuset_contains(home, &task->cpus) && there > 0 && own == there &&
           own == task->nic_count;
}

static void put_cray_mpich(struct work *work)
{
    work->is_right = work->answer->task_count > 0;
    for (size_t t = 0; t < work->answer->task_count; t++)
        work->is_right = work->is_right && has_nics_of_numa(work, &work->answer->task[t]);
    fputs("MPICH_OFI_NIC_POLICY=NUMA", work->file);
}

static const struct {
    const char *name;
    void (*put)(struct work *work);
} launchers[LAUNCHERS] = {
    [LAUNCHER_SLURM] = {"slurm", put_slurm},
    [LAUNCHER_FLUX] = {"flux", put_flux},
    [LAUNCHER_RANKFILE] = {"rankfile", put_rankfile},
    [LAUNCHER_OMP_PLACES] = {"omp_places", put_omp_places},
    [LAUNCHER_NUMACTL] = {"numactl", put_numactl},
    [LAUNCHER_CRAY_MPICH] = {"cray_mpich", put_cray_mpich},
};

const char *launcher_name(enum launcher launcher) { return launchers[launcher].name; }

enum berth_code launcher_options(enum launcher launcher, const struct snapshot *snap,
                                 const struct allowed *allowed, const struct bind_answer *answer,
                                 const int64_t *ranks, struct reasons *warnings, char **ret,
                                 struct berth_err *err)
{
    char *text = NULL;
    size_t length;
    struct work work = {
        snap->graph, allowed, answer, ranks, warnings, open_memstream(&text, &length), true};
    if (work.file == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for launcher options");
    launchers[launcher].put(&work);
    bool has_failed = ferror(work.file) != 0;
    has_failed = fclose(work.file) != 0 || has_failed;
    if (has_failed || !work.is_right) {
        free(text);
        text = NULL;
    }
    *ret = text;
    return has_failed ? err_set(err, BERTH_NO_MEMORY, "no memory for launcher options") : BERTH_OK;
}
