#include "measure/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPU_QUICK "cpu_pingpong,cpu_copy,cpu_queue,memory_bandwidth,memory_latency"
#define GPU_QUICK "host_gpu_copy_engine,host_gpu_kernel,gpu_stream"
#define GPU_LOCAL "gpu_stream,memory_bandwidth,gpu_gpu_copy_engine,gpu_gpu_kernel"
#define GPU_SETS                                                                                   \
    "host_gpu_copy_engine_concurrent,host_gpu_kernel_concurrent,gpu_gpu_copy_engine_concurrent,"   \
    "gpu_gpu_kernel_concurrent,memory_bandwidth_concurrent"

#define GPU_METRICS                                                                                \
    "host_gpu_copy_engine,host_gpu_kernel,gpu_gpu_copy_engine,gpu_gpu_kernel,copy_latency,gpu_"    \
    "pingpong,gpu_stream,memory_latency,"                                                          \
    "memory_bandwidth,memory_noise,kind_copy,copy_streams,shared_write,gpu_touch,allocation,"      \
    "collective_"                                                                                  \
    "bandwidth,"                                                                                   \
    "collective_latency,matrix_product,transfer_overhead," GPU_SETS

/* Interface over which NCCL and RCCL bootstrap: the service may use no other. */
#define LOOPBACK "NCCL_SOCKET_IFNAME=lo"

/* Variants. AMD's runtime reads these variables when it starts. */
static const char *const no_variant[] = {LOOPBACK, NULL};
static const char *const without_sdma[] = {LOOPBACK, "HSA_ENABLE_SDMA=0", NULL};
static const char *const with_xnack[] = {LOOPBACK, "HSA_XNACK=1", NULL};

static const struct program programs[] = {
    {.name = "cpu",
     .file = "berth-probe-cpu",
     .metrics = CPU_QUICK ",memory_noise",
     .quick = CPU_QUICK,
     .key = CPU_QUICK},
    {.name = "gpu",
     .file = "berth-probe-gpu",
     .metrics = GPU_METRICS,
     .quick = GPU_QUICK,
     .key = GPU_QUICK ",gpu_gpu_copy_engine,gpu_gpu_kernel",
     .local = GPU_LOCAL,
     .is_gpu = true,
     .environment = no_variant,
     .start_ms = 60000},
    /* A process uses one driver's GPUs only. */
    {.name = "gpu-hip",
     .file = "berth-probe-gpu",
     .metrics = GPU_METRICS,
     .local = GPU_LOCAL,
     .is_gpu = true,
     .vendor = "amd",
     .beside = "nvidia",
     .backend = "hip",
     .environment = no_variant,
     .start_ms = 60000},
    {.name = "gpu-no-sdma",
     .file = "berth-probe-gpu",
     .metrics = "host_gpu_copy_engine,gpu_gpu_copy_engine,copy_latency",
     .is_gpu = true,
     .vendor = "amd",
     .backend = "hip",
     .full_only = true,
     .variant = "no-sdma",
     .environment = without_sdma,
     .start_ms = 60000},
    {.name = "gpu-xnack",
     .file = "berth-probe-gpu",
     .metrics = "host_gpu_copy_engine,host_gpu_kernel,kind_copy,shared_write,gpu_touch",
     .is_gpu = true,
     .vendor = "amd",
     .backend = "hip",
     .full_only = true,
     .variant = "xnack",
     .environment = with_xnack,
     .start_ms = 60000},
    {.name = "mpi",
     .file = "berth-probe-mpi",
     .metrics = "mpi_latency,mpi_bandwidth,mpi_collective_latency,mpi_collective_bandwidth,"
                "mpi_internode_bandwidth",
     .is_given = true},
};

const struct program *programs_all(size_t *ret_count)
{
    *ret_count = sizeof programs / sizeof programs[0];
    return programs;
}

/* True when the comma separated lists share a name. */
static bool lists_meet(const char *a, const char *b)
{
    while (*a != '\0') {
        size_t length = strcspn(a, ",");
        for (const char *c = b; *c != '\0';) {
            size_t other = strcspn(c, ",");
            if (other == length && strncmp(a, c, length) == 0)
                return true;
            c += other + (c[other] == ',');
        }
        a += length + (a[length] == ',');
    }
    return false;
}

bool programs_measures(const struct program *program, const char *metrics)
{
    return metrics == NULL || lists_meet(metrics, program->metrics);
}

const struct program *programs_find(enum metric metric, bool is_gpu)
{
    const struct program *found = NULL;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0] && found == NULL; i++)
        if (programs[i].is_gpu == is_gpu && !programs[i].full_only && !programs[i].is_given &&
            programs_measures(&programs[i], metric_info(metric)->name))
            found = &programs[i];
    return found;
}

bool programs_is_given(enum metric metric)
{
    bool is = false;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        is |= programs[i].is_given && lists_meet(metric_info(metric)->name, programs[i].metrics);
    return is;
}

bool programs_is_key(const struct program *program, enum metric metric)
{
    return program->key != NULL && lists_meet(metric_info(metric)->name, program->key);
}

bool programs_is_local(const struct program *program, enum metric metric)
{
    return program->local != NULL && lists_meet(metric_info(metric)->name, program->local);
}

char *programs_common(const struct program *program, const char *metrics)
{
    char *common = calloc(1, strlen(metrics) + 1);
    for (const char *c = metrics; common != NULL && *c != '\0';) {
        char name[64];
        size_t length = strcspn(c, ","), used = strlen(common);
        snprintf(name, sizeof name, "%.*s", (int)length, c);
        if (lists_meet(name, program->metrics))
            sprintf(common + used, "%s%s", used > 0 ? "," : "", name);
        c += length + (c[length] == ',');
    }
    return common;
}

static void locate(const struct program *program, const struct config *config, char *ret_path,
                   size_t size)
{
    if (config->probe_dir != NULL) {
        snprintf(ret_path, size, "%s/%s", config->probe_dir, program->file);
        return;
    }
    char self[3072];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        snprintf(ret_path, size, "%.*s/%s", slash ? (int)(slash - self) : 0, self, program->file);
        if (access(ret_path, X_OK) == 0)
            return;
    }
    snprintf(ret_path, size, "%s/%s", BERTH_LIBEXECDIR, program->file);
}

static bool has_gpu_of(const struct graph *graph, const char *vendor)
{
    for (place_id gpu = graph_next(graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(graph, PLACE_GPU, gpu + 1)) {
        const char *its = place_detail(graph_place(graph, gpu), "vendor");
        if (vendor == NULL || (its != NULL && strcmp(its, vendor) == 0))
            return true;
    }
    return false;
}

bool programs_runs(const struct program *program, const struct config *config,
                   const struct graph *graph, char *ret_path, size_t size)
{
    locate(program, config, ret_path, size);
    if (program->is_given)
        return false;
    if (program->is_gpu && (!has_gpu_of(graph, program->vendor) ||
                            (program->beside != NULL && !has_gpu_of(graph, program->beside))))
        return false;
    /* the note on the program's first entry covers its variants */
    bool is_variant = program->full_only || program->beside != NULL;
    bool must_be_there = program->is_gpu ? !is_variant && graph->origin == ORIGIN_LIVE
                                         : graph->origin != ORIGIN_STANDIN;
    return must_be_there || access(ret_path, X_OK) == 0;
}

const char *programs_vendor(const struct program *program, const struct graph *graph)
{
    if (program->vendor != NULL)
        return program->vendor;
    return has_gpu_of(graph, "nvidia") && has_gpu_of(graph, "amd") ? "nvidia" : NULL;
}

const char *programs_backend(const struct program *program, const struct graph *graph)
{
    return program->backend != NULL || programs_vendor(program, graph) == NULL ? program->backend
                                                                               : "cuda";
}

bool programs_tried_all(const struct config *config, const struct graph *graph,
                        const struct values *values, int64_t since_s)
{
    bool tried[METRIC_COUNT] = {0};
    char path[4096];
    for (size_t i = 0; i < values->count; i++)
        if (values->item[i].source == VALUE_MEASURED && values->item[i].measured_at_s >= since_s)
            tried[values->item[i].metric] = true;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        if (programs[i].quick == NULL ||
            !programs_runs(&programs[i], config, graph, path, sizeof path) ||
            (programs[i].is_gpu && access(path, X_OK) != 0))
            continue;
        for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
            if (!tried[metric] && lists_meet(metric_info(metric)->name, programs[i].quick))
                return false;
    }
    return true;
}
