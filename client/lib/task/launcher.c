/* Position of this process in a parallel step, from the variables of its launcher. */
#include "lib/allowed.h"
#include "lib/lib.h"
#include "lib/task/rank_distribution.h"
#include "lib/task/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Variables of each launcher; the first variable that is a number counts. The order is inner
 * launcher first. torchrun, mpirun and mpiexec leave the variables of an outer launcher unchanged;
 * these variables then describe torchrun or mpirun itself. PBS numbers no tasks of its own. */
static const struct names {
    /* needed: without this variable the others belong to another launcher; NULL none */
    const char *launcher, *needed;
    const char *task, *tasks[3], *rank, *world[3], *key[2];
} launchers[] = {
    {"torchrun",
     "TORCHELASTIC_RUN_ID",
     "LOCAL_RANK",
     {"LOCAL_WORLD_SIZE"},
     "RANK",
     {"WORLD_SIZE"},
     {NULL}},
    {"deepspeed", "CROSS_RANK", "LOCAL_RANK", {"LOCAL_SIZE"}, "RANK", {"WORLD_SIZE"}, {NULL}},
    {"openmpi",
     NULL,
     "OMPI_COMM_WORLD_LOCAL_RANK",
     {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE"},
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"hydra",
     "MPI_LOCALRANKID",
     "MPI_LOCALRANKID",
     {"MPI_LOCALNRANKS"},
     "PMI_RANK",
     {"PMI_SIZE"},
     {NULL}},
    {"mvapich",
     NULL,
     "MV2_COMM_WORLD_LOCAL_RANK",
     {"MV2_COMM_WORLD_LOCAL_SIZE"},
     "MV2_COMM_WORLD_RANK",
     {"MV2_COMM_WORLD_SIZE"},
     {NULL}},
    {"jsrun",
     NULL,
     "JSM_NAMESPACE_LOCAL_RANK",
     {"JSM_NAMESPACE_LOCAL_SIZE"},
     "JSM_NAMESPACE_RANK",
     {"JSM_NAMESPACE_SIZE"},
     {"PMIX_NAMESPACE"}},
    {"pals",
     NULL,
     "PALS_LOCAL_RANKID",
     {"PALS_LOCAL_SIZE", "PMI_LOCAL_SIZE"},
     "PALS_RANKID",
     {"PALS_SIZE", "PMI_SIZE"},
     {"PALS_APID"}},
    {"flux",
     NULL,
     "FLUX_TASK_LOCAL_ID",
     {NULL},
     "FLUX_TASK_RANK",
     {"FLUX_JOB_SIZE"},
     {"FLUX_JOB_ID"}},
    /* A batch script is no task, although it has a rank. */
    {"slurm",
     "SLURM_STEP_ID",
     "SLURM_LOCALID",
     {NULL},
     "SLURM_PROCID",
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
     {NULL}},
    {"pmi", NULL, "PMI_LOCAL_RANK", {"PMI_LOCAL_SIZE"}, "PMI_RANK", {"PMI_SIZE"}, {"PMI_JOBID"}},
    {"pmix", NULL, NULL, {NULL}, "PMIX_RANK", {NULL}, {"PMIX_NAMESPACE"}},
};

#define LAUNCHERS (sizeof launchers / sizeof launchers[0])

/* Non-negative number in a variable, or -1. */
static int number(const struct lib_variables *variables, const char *name)
{
    const char *text = name == NULL ? NULL : lib_variable(variables, name);
    if (text == NULL || *text == '\0' || strspn(text, "0123456789") != strlen(text) ||
        strlen(text) > 9)
        return -1;
    return (int)strtol(text, NULL, 10);
}

static int first_number(const struct lib_variables *variables, const char *const *names,
                        size_t count)
{
    int found = -1;
    for (size_t i = 0; i < count && found < 0; i++)
        found = number(variables, names[i]);
    return found;
}

/* Slurm 26.05 numbers the steps of a job that srun has not started, such as its batch script, below
 * zero. */
static bool is_there(const struct lib_variables *variables, const struct names *names)
{
    const char *needed = names->needed == NULL ? "" : lib_variable(variables, names->needed);
    if (needed == NULL || (*needed == '-' && strcmp(names->launcher, "slurm") == 0))
        return false;
    return (names->task != NULL && lib_variable(variables, names->task) != NULL) ||
           lib_variable(variables, names->rank) != NULL;
}

/* ---- Slurm: how many tasks each node has, and how it distributes ranks over them ---- */

static int slurm_tasks(const struct lib_variables *variables,
                       struct lib_distribution *ret_distribution)
{
    const char *list = lib_variable(variables, "SLURM_STEP_TASKS_PER_NODE");
    if (list == NULL)
        list = lib_variable(variables, "SLURM_TASKS_PER_NODE");
    const char *how = lib_variable(variables, "SLURM_DISTRIBUTION");
    ret_distribution->tasks_per_node = list;
    ret_distribution->method =
        how != NULL ? how : "block"; /* srun states every other distribution */
    ret_distribution->plane = number(variables, "SLURM_DIST_PLANESIZE");
    ret_distribution->node = number(variables, "SLURM_NODEID");
    int tasks = lib_distribution_tasks(ret_distribution);
    return tasks > 0 ? tasks : number(variables, "SLURM_NTASKS_PER_NODE");
}

/* ---- Flux says how many nodes there are, and shares evenly ---- */

static int flux_tasks(const struct lib_variables *variables, int task, int world)
{
    int nodes = number(variables, "FLUX_JOB_NNODES");
    if (nodes < 1 || world < 1 || world % nodes != 0 || task >= world / nodes)
        return -1;
    return world / nodes;
}

/* ---- all of them ---- */

static const char *keep_text(struct lib_read *read, const char *text)
{
    char *kept = lib_result_block(read, strlen(text) + 1, 1);
    return kept != NULL ? strcpy(kept, text) : NULL;
}

static const char *variable_or(const struct lib_variables *variables, const char *name,
                               const char *other)
{
    const char *text = name != NULL ? lib_variable(variables, name) : NULL;
    return text != NULL && *text != '\0' ? text : other;
}

/* Makes the key of printable ASCII only, whatever the variables hold. */
static const char *make_key(struct lib_read *read, const struct lib_variables *variables,
                            const struct names *names)
{
    char key[200] = "";
    const char *job = variable_or(variables, "SLURM_JOB_ID", NULL),
               *step = variable_or(variables, "SLURM_STEP_ID", NULL);
    if (strcmp(names->launcher, "slurm") == 0 && job != NULL && step != NULL)
        snprintf(key, sizeof key, "slurm/%.80s.%.80s", job, step);
    if (strcmp(names->launcher, "torchrun") == 0) /* its workers' ranks may change at a restart */
        snprintf(key, sizeof key, "torchrun/%.60s.%.9s.%.9s.%.9s",
                 variable_or(variables, "TORCHELASTIC_RUN_ID", "none"),
                 variable_or(variables, "GROUP_RANK", "0"),
                 variable_or(variables, "WORLD_SIZE", "0"),
                 variable_or(variables, "TORCHELASTIC_RESTART_COUNT", "0"));
    for (size_t i = 0; i < 2 && *key == '\0'; i++) {
        const char *text = variable_or(variables, names->key[i], NULL);
        if (text != NULL)
            snprintf(key, sizeof key, "%s/%.140s", names->launcher, text);
    }
    for (char *c = key; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            *c = '_';
    return *key != '\0' ? keep_text(read, key) : NULL;
}

/* The variable among several that counts, else the one to be set. */
static const char *counting(const struct lib_variables *variables, const char *const *names)
{
    const char *found = NULL;
    for (size_t i = 0; i < 3 && names[i] != NULL && found == NULL; i++)
        if (number(variables, names[i]) >= 0)
            found = names[i];
    for (size_t i = 0; i < 3 && names[i] != NULL && found == NULL; i++)
        if (lib_variable(variables, names[i]) != NULL)
            found = names[i];
    return found != NULL ? found : names[0];
}

static void describe_missing(struct lib_read *read, const struct lib_variables *variables,
                             const struct names *names, struct berth_launcher *launcher)
{
    char line[160];
    const char *task = names->task, *tasks = counting(variables, names->tasks);
    int count = number(variables, tasks);
    if (task == NULL)
        snprintf(line, sizeof line, "%s is set, but %s does not tell a task's number on its node",
                 names->rank, names->launcher);
    else if (launcher->task < 0)
        snprintf(line, sizeof line, "%s is %s", task,
                 lib_variable(variables, task) == NULL ? "not set" : "no number");
    else if (strcmp(names->launcher, "slurm") == 0)
        snprintf(line, sizeof line,
                 "SLURM_STEP_TASKS_PER_NODE is not set, or says nothing of node SLURM_NODEID");
    else if (strcmp(names->launcher, "flux") == 0)
        snprintf(line, sizeof line,
                 "FLUX_JOB_SIZE and FLUX_JOB_NNODES do not give each node as many tasks");
    else if (count < 0)
        snprintf(line, sizeof line, "%s is %s", tasks,
                 lib_variable(variables, tasks) == NULL ? "not set" : "no number");
    else if (count <= launcher->task)
        snprintf(line, sizeof line, "%s is %d, which is not more than %s, %d", tasks, count, task,
                 launcher->task);
    else
        snprintf(line, sizeof line, "%s is %d, and %d is the most", tasks, count, LIB_TASKS_MAX);
    launcher->missing = keep_text(read, line);
}

/* Refuses numbers of the whole step that contradict each other. Those of a heterogeneous job of
 * Slurm do: its ranks count over all parts, its size is that of one. */
static void refuse_contradiction(struct lib_read *read, const struct lib_variables *variables,
                                 const struct names *names, struct berth_launcher *launcher)
{
    char line[160];
    const char *world = counting(variables, names->world);
    if (strcmp(names->launcher, "slurm") == 0 || launcher->world < 0)
        return;
    if (launcher->rank >= launcher->world)
        snprintf(line, sizeof line, "%s is %d, which is not less than %s, %d", names->rank,
                 launcher->rank, world, launcher->world);
    else if (launcher->tasks > launcher->world)
        snprintf(line, sizeof line, "%s is %d, which is more than %s, %d",
                 counting(variables, names->tasks), launcher->tasks, world, launcher->world);
    else
        return;
    launcher->tasks = -1;
    launcher->missing = keep_text(read, line);
}

bool lib_launcher_is_pytorchs(const struct berth_launcher *launcher)
{
    return launcher->name != NULL &&
           (strcmp(launcher->name, "torchrun") == 0 || strcmp(launcher->name, "deepspeed") == 0);
}

/* True when each node's ranks are consecutive. */
static bool has_consecutive_ranks(const struct berth_launcher *launcher)
{
    return lib_launcher_is_pytorchs(launcher) ||
           (launcher->world == launcher->tasks && launcher->rank == launcher->task);
}

/* Reads the ranks that the launcher's distribution gives, if they include this task's rank. Else
 * reads consecutive ranks, as where all tasks are here. */
static void read_ranks(struct lib_read *read, const struct lib_distribution *distribution,
                       struct berth_launcher *launcher)
{
    if (launcher->rank < 0 || launcher->world < launcher->tasks)
        return;
    int *ranks = lib_result_block(read, (size_t)launcher->tasks, sizeof *ranks);
    if (ranks == NULL)
        return;
    bool is_said = distribution != NULL &&
                   lib_distribution_ranks(distribution, launcher->world, ranks, launcher->tasks);
    if (is_said && ranks[launcher->task] == launcher->rank)
        launcher->ranks = ranks;
    else if (has_consecutive_ranks(launcher) && launcher->rank >= launcher->task &&
             launcher->rank - launcher->task <= launcher->world - launcher->tasks) {
        for (int i = 0; i < launcher->tasks; i++)
            ranks[i] = launcher->rank - launcher->task + i;
        launcher->ranks = ranks;
    }
}

static void read_launcher(struct lib_read *read, const struct lib_variables *variables,
                          const struct names *names, struct berth_launcher *launcher)
{
    struct lib_distribution distribution;
    bool is_slurm = strcmp(names->launcher, "slurm") == 0,
         is_flux = strcmp(names->launcher, "flux") == 0;
    launcher->name = names->launcher;
    launcher->task = number(variables, names->task);
    launcher->rank = number(variables, names->rank);
    launcher->world = first_number(variables, names->world, 3);
    launcher->tasks = is_slurm  ? slurm_tasks(variables, &distribution)
                      : is_flux ? flux_tasks(variables, launcher->task, launcher->world)
                                : first_number(variables, names->tasks, 3);
    launcher->key = make_key(read, variables, names);
    if (launcher->tasks < 1 || launcher->tasks <= launcher->task || launcher->tasks > LIB_TASKS_MAX)
        launcher->tasks = -1;
    if (launcher->task < 0 || launcher->tasks < 0)
        describe_missing(read, variables, names, launcher);
    else
        refuse_contradiction(read, variables, names, launcher);
    if (launcher->missing == NULL)
        read_ranks(read, is_slurm ? &distribution : NULL, launcher);
}

const char *lib_launcher_rank_name(const struct berth_launcher *launcher)
{
    /* a pod of Kubernetes may have a RANK of its own, which torchrun itself then has */
    if (launcher->name != NULL && strcmp(launcher->name, "torchrun") == 0)
        return "TORCHELASTIC_ERROR_FILE";
    for (size_t i = 0; launcher->name != NULL && i < LAUNCHERS; i++)
        if (strcmp(launchers[i].launcher, launcher->name) == 0)
            return launcher->rank < 0 && launchers[i].task != NULL ? launchers[i].task
                                                                   : launchers[i].rank;
    return NULL;
}

int berth_launcher_here(struct berth *berth, berth_variable_fn *variable, void *arg,
                        struct berth_launcher **ret_launcher)
{
    const struct lib_variables variables = {variable, arg};
    struct lib_read read;
    struct berth_launcher *launcher = lib_result_new(sizeof *launcher, NULL, &read);
    if (launcher == NULL)
        return lib_fail_memory(berth);
    launcher->task = launcher->tasks = launcher->rank = launcher->world = -1;
    const struct names *names = NULL;
    for (size_t i = 0; i < LAUNCHERS && names == NULL; i++)
        if (is_there(&variables, &launchers[i]))
            names = &launchers[i];
    if (names != NULL)
        read_launcher(&read, &variables, names, launcher);
    else
        launcher->missing = "no launcher's variables are set";
    int status = lib_result_end(berth, &read, "", launcher);
    if (status == BERTH_DONE)
        *ret_launcher = launcher;
    return status;
}

void berth_launcher_free(struct berth_launcher *launcher) { lib_result_free(launcher); }
