/* Parameters of Bind that berth bind and berth exec share. */
#include "cmd/bind.h"

#include <string.h>

static const char *const patterns[] = {"none",   "pairs",    "ring",      "grid2d",
                                       "grid3d", "alltoall", "allreduce", NULL};
static const char *const visibles[] = {"own", "all", NULL};
static const char *const orders[] = {"free", "rank", NULL};
static const char *const mechanisms[] = {"best", "copy_engine", "kernel", NULL};
static const char *const formats[] = {"table",   "env",        "slurm",      "flux", "rankfile",
                                      "numactl", "omp_places", "cray_mpich", NULL};

/* Options of both commands. Those of berth bind alone stand first, those of berth exec alone last.
 */
const struct cmd_option cmd_bind_options[] = {
    [CMD_BIND_FORMAT] = {.name = "format",
                         .value = "FORMAT",
                         .help = "for a person, for a shell (env), or for a launcher",
                         .choices = formats},
    [CMD_BIND_TASK] = {.letter = 't',
                       .name = "task",
                       .value = "TASK",
                       .help = "the task that --format env is for, from 0"},
    [CMD_BIND_WHY] = CMD_WHY,
    [CMD_BIND_OUTPUT] = CMD_OUTPUT("the placement"),
    [CMD_BIND_TASKS] = {.letter = 'n',
                        .name = "tasks",
                        .value = "TASKS",
                        .help = "tasks on this node"},
    [CMD_BIND_GPUS_EACH] = {.letter = 'g',
                            .name = "gpus-per-task",
                            .value = "GPUS",
                            .help = "gpus of each task; default 1 where there are any; berth exec "
                                    "in a job of Slurm's shares out the job's"},
    [CMD_BIND_CORES] =
        {.letter = 'c',
         .name = "cores-per-task",
         .value = "CORES",
         .help = "whole cores of each task; default an even share of those next to its gpus; "
                 "without gpus, tasks that exchange bytes get the cores with which they share an "
                 "L3"},
    [CMD_BIND_THREADS] = {.name = "threads-per-core",
                          .value = "THREADS",
                          .help = "hardware threads used of each core; default all allowed ones"},
    [CMD_BIND_SHARE] = {.name = "tasks-per-gpu",
                        .value = "TASKS",
                        .help = "how many tasks may share a gpu; default 1, for where there are "
                                "fewer gpus than tasks"},
    [CMD_BIND_PATTERN] = {.name = "pattern",
                          .value = "PATTERN",
                          .help = "traffic between tasks",
                          .choices = patterns},
    [CMD_BIND_BYTES] =
        {.name = "bytes",
         .value = "SIZE",
         .help =
             "bytes of each flow of the pattern; as many as --host-bytes, or 64M, where not given"},
    [CMD_BIND_FLOW] = {.name = "flow",
                       .value = "FROM:TO:SIZE",
                       .help = "bytes between two ranks in an iteration; for example 0:1:64M, may "
                               "be repeated"},
    [CMD_BIND_FLOWS] =
        {.name = "flows",
         .value = "FILE",
         .help = "such flows from a file; one a line, - is standard input, # begins a comment"},
    [CMD_BIND_HOST_BYTES] = {.name = "host-bytes",
                             .value = "SIZE",
                             .help =
                                 "bytes each task moves to host memory and back; in an iteration"},
    [CMD_BIND_RANKS] =
        {.name = "ranks",
         .value = "LIST",
         .help = "the ranks of these tasks in the job; for example 8-11, default 0 and up"},
    [CMD_BIND_WORLD] = {.name = "world",
                        .value = "RANKS",
                        .help =
                            "how many ranks the job has on all nodes; default as many as tasks"},
    [CMD_BIND_CPUS] =
        {.name = "cpus",
         .value = "LIST",
         .help =
             "use only these cpus; for example 1-7,9-15, default those this command may run on"},
    [CMD_BIND_GPUS] =
        {.name = "gpus",
         .value = "LIST",
         .help = "use only these gpus; for example 0-3, default those this command may open"},
    [CMD_BIND_VISIBLE] = {.name = "visible",
                          .value = "VISIBLE",
                          .help = "each task sees its own gpus only, or all with its own first",
                          .choices = visibles},
    [CMD_BIND_ORDER] = {.name = "order",
                        .value = "ORDER",
                        .help = "gpus as is best, or in ascending order of task",
                        .choices = orders},
    [CMD_BIND_MECHANISM] = {.name = "mechanism",
                            .value = "MECHANISM",
                            .help = "how gpus copy to each other",
                            .choices = mechanisms},
    [CMD_BIND_KEY] = {.name = "key",
                      .value = "KEY",
                      .help = "the first plan under this key stands; until the claim under it "
                              "(berth claim) is released, else until nobody asks for 10 minutes, "
                              "default $BERTH_KEY, else the claim of this job of Slurm's"},
    [CMD_EXEC_TASK] =
        {.letter = 't',
         .name = "task",
         .value = "TASK",
         .help = "which of these tasks this is, from 0; default what the launcher's variables say"},
    [CMD_EXEC_STRICT] = {.name = "strict", .help = "do not run COMMAND without its berth"},
    [CMD_EXEC_TIMEOUT] = {.name = "timeout",
                          .value = "SECONDS",
                          .help = "how long to wait for the daemon; default 2"},
    [CMD_EXEC_VERBOSE] =
        {.letter = 'v',
         .name = "verbose",
         .help = "say which berth was taken; on standard error, with what the plan warns of"},
};

#define OPTION(name) (&cmd_bind_options[CMD_BIND_##name])

int cmd_bind_request(struct cmd *cmd, json_t *request)
{
    const char *pattern = cmd_value(cmd, OPTION(PATTERN));
    if (cmd_has(cmd, OPTION(BYTES)) && (pattern == NULL || strcmp(pattern, "none") == 0))
        return cmd_usage(cmd,
                         "--bytes is what each flow of a --pattern carries, and none is given");
    int status = cmd_set_count(cmd, request, "gpus_per_task", OPTION(GPUS_EACH), 0, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "cores_per_task", OPTION(CORES), 1, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "threads_per_core", OPTION(THREADS), 1, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "tasks_per_gpu", OPTION(SHARE), 1, 1 << 20);
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "pattern", OPTION(PATTERN));
    if (status == CMD_DONE)
        status = cmd_set_size(cmd, request, "bytes", OPTION(BYTES));
    if (status == CMD_DONE)
        status = cmd_bind_set_flows(cmd, request, OPTION(FLOW), OPTION(FLOWS));
    if (status == CMD_DONE)
        status = cmd_bind_set_ranks(cmd, request, OPTION(RANKS));
    if (status == CMD_DONE)
        status = cmd_set_count(cmd, request, "world", OPTION(WORLD), 1, INT32_MAX);
    if (status == CMD_DONE)
        status = cmd_set_size(cmd, request, "host_bytes", OPTION(HOST_BYTES));
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "visible", OPTION(VISIBLE));
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "order", OPTION(ORDER));
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "mechanism", OPTION(MECHANISM));
    return status;
}
