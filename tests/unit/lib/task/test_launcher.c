/* Which task of a step a process is, by the variables of its launcher; and how srun deals ranks
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/berth.h"
#include "lib/task/rank_distribution.h"

/* Variables as "NAME=value", the last one NULL. */
static const char *find(const char *name, void *arg)
{
    for (const char *const *variable = arg; *variable != NULL; variable++)
        if (strncmp(*variable, name, strlen(name)) == 0 && (*variable)[strlen(name)] == '=')
            return *variable + strlen(name) + 1;
    return NULL;
}

static struct berth_launcher *look(const char *const *variables)
{
    struct berth *berth = berth_new();
    struct berth_launcher *launcher = NULL;
    assert_int_equal(berth_launcher_here(berth, find, (void *)variables, &launcher), BERTH_DONE);
    berth_free(berth);
    return launcher;
}

#define LOOK(...) look((const char *const[]){__VA_ARGS__, NULL})

static void expect(struct berth_launcher *launcher, const char *name, int task, int tasks, int rank,
                   int world, const char *key)
{
    if (name == NULL)
        assert_null(launcher->name);
    else
        assert_string_equal(launcher->name, name);
    assert_int_equal(launcher->task, task);
    assert_int_equal(launcher->tasks, tasks);
    assert_int_equal(launcher->rank, rank);
    assert_int_equal(launcher->world, world);
    if (key == NULL)
        assert_null(launcher->key);
    else
        assert_string_equal(launcher->key, key);
    assert_int_equal(launcher->missing == NULL, task >= 0 && tasks >= 0);
    berth_launcher_free(launcher);
}

static void every_launcher_is_understood(void **state)
{
    (void)state;
    expect(LOOK("TORCHELASTIC_RUN_ID=a b", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "RANK=5",
                "WORLD_SIZE=8", "GROUP_RANK=2", "TORCHELASTIC_RESTART_COUNT=1"),
           "torchrun", 1, 2, 5, 8, "torchrun/a_b.2.8.1");
    expect(LOOK("CROSS_RANK=2", "LOCAL_RANK=1", "LOCAL_SIZE=2", "RANK=5", "WORLD_SIZE=8"),
           "deepspeed", 1, 2, 5, 8, NULL);
    expect(LOOK("JSM_NAMESPACE_LOCAL_RANK=1", "JSM_NAMESPACE_LOCAL_SIZE=2", "JSM_NAMESPACE_RANK=5",
                "JSM_NAMESPACE_SIZE=8", "PMIX_NAMESPACE=9"),
           "jsrun", 1, 2, 5, 8, "jsrun/9");
    expect(LOOK("MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_LOCAL_SIZE=2",
                "MV2_COMM_WORLD_RANK=5", "MV2_COMM_WORLD_SIZE=8"),
           "mvapich", 1, 2, 5, 8, NULL);
    expect(LOOK("OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
                "OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8", "PMIX_NAMESPACE=prte-n1@1"),
           "openmpi", 1, 2, 5, 8, "openmpi/prte-n1@1");
    expect(LOOK("MPI_LOCALRANKID=3", "MPI_LOCALNRANKS=4", "PMI_RANK=7", "PMI_SIZE=8"), "hydra", 3,
           4, 7, 8, NULL);
    expect(LOOK("PALS_LOCAL_RANKID=0", "PMI_LOCAL_SIZE=4", "PALS_RANKID=4", "PMI_SIZE=8",
                "PALS_APID=a-b"),
           "pals", 0, 4, 4, 8, "pals/a-b");
    expect(LOOK("FLUX_TASK_LOCAL_ID=1", "FLUX_TASK_RANK=3", "FLUX_JOB_SIZE=4", "FLUX_JOB_NNODES=2",
                "FLUX_JOB_ID=f12"),
           "flux", 1, 2, 3, 4, "flux/f12");
    expect(LOOK("SLURM_STEP_ID=2", "SLURM_JOB_ID=77", "SLURM_LOCALID=1", "SLURM_PROCID=5",
                "SLURM_NODEID=2", "SLURM_STEP_TASKS_PER_NODE=2(x3),1", "SLURM_NTASKS=7"),
           "slurm", 1, 2, 5, 7, "slurm/77.2");
    expect(LOOK("PMI_LOCAL_RANK=1", "PMI_LOCAL_SIZE=2", "PMI_RANK=1", "PMI_SIZE=2"), "pmi", 1, 2, 1,
           2, NULL);
    expect(LOOK("PMIX_RANK=3", "PMIX_NAMESPACE=ns"), "pmix", -1, -1, 3, -1, "pmix/ns");
    /* A rank that a script has set, as PyTorch wants it, is of no launcher. */
    expect(LOOK("LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "RANK=5", "WORLD_SIZE=8"), NULL, -1, -1, -1,
           -1, NULL);
    expect(LOOK("PATH=/bin"), NULL, -1, -1, -1, -1, NULL);
}

static void the_inner_launcher_counts(void **state)
{
    (void)state;
    expect(LOOK("SLURM_STEP_ID=0", "SLURM_JOB_ID=9", "SLURM_LOCALID=0", "SLURM_PROCID=0",
                "SLURM_NTASKS=1", "SLURM_NODEID=0", "SLURM_STEP_TASKS_PER_NODE=1",
                "MPI_LOCALRANKID=2", "MPI_LOCALNRANKS=4", "PMI_RANK=2", "PMI_SIZE=4"),
           "hydra", 2, 4, 2, 4, NULL);
    /* torchrun once on each node, in a step of Slurm's or under mpirun. */
    expect(LOOK("SLURM_STEP_ID=0", "SLURM_JOB_ID=9", "SLURM_LOCALID=0", "SLURM_PROCID=1",
                "SLURM_NTASKS=2", "SLURM_NODEID=1", "SLURM_STEP_TASKS_PER_NODE=1(x2)",
                "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1",
                "TORCHELASTIC_RUN_ID=9", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=4", "RANK=6",
                "WORLD_SIZE=8", "GROUP_RANK=1"),
           "torchrun", 2, 4, 6, 8, "torchrun/9.1.8.0");
    /* srun --mpi=pmi2 gives PMI's variables too, of the same step. */
    expect(LOOK("SLURM_STEP_ID=0", "SLURM_JOB_ID=9", "SLURM_LOCALID=1", "SLURM_PROCID=1",
                "SLURM_NTASKS=2", "SLURM_NODEID=0", "SLURM_STEP_TASKS_PER_NODE=2", "PMI_RANK=1",
                "PMI_SIZE=2"),
           "slurm", 1, 2, 1, 2, "slurm/9.0");
    /* A batch script is no task. */
    expect(LOOK("SLURM_JOB_ID=9", "SLURM_LOCALID=0", "SLURM_PROCID=0", "SLURM_NTASKS=2",
                "SLURM_NODEID=0", "SLURM_TASKS_PER_NODE=2"),
           NULL, -1, -1, -1, -1, NULL);
    expect(LOOK("SLURM_STEP_ID=-5", "SLURM_JOB_ID=9", "SLURM_LOCALID=0", "SLURM_PROCID=0",
                "SLURM_NTASKS=2", "SLURM_NODEID=0", "SLURM_TASKS_PER_NODE=2"),
           NULL, -1, -1, -1, -1, NULL);
}

static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    struct berth_launcher *launcher =
        LOOK("OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2",
             "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4");
    assert_string_equal(
        launcher->missing,
        "OMPI_COMM_WORLD_LOCAL_SIZE is 2, which is not more than OMPI_COMM_WORLD_LOCAL_RANK, 2");
    expect(launcher, "openmpi", 2, -1, 2, 4, NULL);
    launcher = LOOK("MPI_LOCALRANKID=-1", "MPI_LOCALNRANKS=2");
    assert_string_equal(launcher->missing, "MPI_LOCALRANKID is no number");
    berth_launcher_free(launcher);
    launcher = LOOK("OMPI_COMM_WORLD_LOCAL_RANK=x1", "OMPI_COMM_WORLD_LOCAL_SIZE=2");
    assert_string_equal(launcher->missing, "OMPI_COMM_WORLD_LOCAL_RANK is no number");
    expect(launcher, "openmpi", -1, 2, -1, -1, NULL);
    launcher = LOOK("SLURM_STEP_ID=0", "SLURM_JOB_ID=9", "SLURM_LOCALID=0", "SLURM_PROCID=3",
                    "SLURM_NODEID=3", "SLURM_STEP_TASKS_PER_NODE=1(x3)");
    assert_string_equal(
        launcher->missing,
        "SLURM_STEP_TASKS_PER_NODE is not set, or says nothing of node SLURM_NODEID");
    berth_launcher_free(launcher);
    launcher =
        LOOK("FLUX_TASK_LOCAL_ID=0", "FLUX_TASK_RANK=0", "FLUX_JOB_SIZE=5", "FLUX_JOB_NNODES=2");
    assert_string_equal(launcher->missing,
                        "FLUX_JOB_SIZE and FLUX_JOB_NNODES do not give each node as many tasks");
    berth_launcher_free(launcher);
    launcher = LOOK("MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "PMI_RANK=4", "PMI_SIZE=4");
    assert_string_equal(launcher->missing, "PMI_RANK is 4, which is not less than PMI_SIZE, 4");
    expect(launcher, "hydra", 1, -1, 4, 4, NULL);
    launcher = LOOK("MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=8", "PMI_RANK=1", "PMI_SIZE=4");
    assert_string_equal(launcher->missing, "MPI_LOCALNRANKS is 8, which is more than PMI_SIZE, 4");
    expect(launcher, "hydra", 1, -1, 1, 4, NULL);
    launcher = LOOK("PMIX_RANK=3");
    assert_string_equal(launcher->missing,
                        "PMIX_RANK is set, but pmix does not tell a task's number on its node");
    berth_launcher_free(launcher);
    launcher = LOOK("HOME=/");
    assert_string_equal(launcher->missing, "no launcher's variables are set");
    berth_launcher_free(launcher);
}

static void expect_ranks(struct berth_launcher *launcher, size_t count, const int *ranks)
{
    if (count == 0) {
        assert_null(launcher->ranks);
    } else {
        assert_non_null(launcher->ranks);
        assert_int_equal(launcher->tasks, (int)count);
        assert_memory_equal(launcher->ranks, ranks, count * sizeof *ranks);
    }
    berth_launcher_free(launcher);
}

#define SLURM(how, node, task, rank)                                                               \
    LOOK("SLURM_STEP_ID=0", "SLURM_JOB_ID=9", "SLURM_NTASKS=7",                                    \
         "SLURM_STEP_TASKS_PER_NODE=3,2(x2)", "SLURM_DISTRIBUTION=" how, "SLURM_NODEID=" #node,    \
         "SLURM_LOCALID=" #task, "SLURM_PROCID=" #rank, "SLURM_DIST_PLANESIZE=2")

static void ranks_are_mapped(void **state)
{
    (void)state;
    expect_ranks(SLURM("block:cyclic", 1, 1, 4), 2, (const int[]){3, 4});
    expect_ranks(SLURM("cyclic", 1, 0, 1), 2, (const int[]){1, 4});
    expect_ranks(SLURM("cyclic:block", 0, 2, 6), 3, (const int[]){0, 3, 6});
    expect_ranks(SLURM("plane", 0, 2, 6), 3, (const int[]){0, 1, 6});
    expect_ranks(SLURM("plane=2", 2, 0, 4), 2, (const int[]){4, 5});
    expect_ranks(SLURM("arbitrary", 0, 0, 0), 0, NULL);
    /* It says something else than this task's own rank does. */
    expect_ranks(SLURM("block", 1, 0, 1), 0, NULL);
    /* All are here. */
    expect_ranks(LOOK("MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "PMI_RANK=1", "PMI_SIZE=2"), 2,
                 (const int[]){0, 1});
    expect_ranks(LOOK("TORCHELASTIC_RUN_ID=9", "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=3", "RANK=5",
                      "WORLD_SIZE=9"),
                 3, (const int[]){3, 4, 5});
    /* The distribution over several nodes is unknown. */
    expect_ranks(LOOK("MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "PMI_RANK=1", "PMI_SIZE=4"), 0,
                 NULL);
    /* Without the word srun had nothing to distribute, or did it in blocks. */
    expect_ranks(LOOK("SLURM_STEP_ID=0", "SLURM_JOB_ID=9", "SLURM_NTASKS=4",
                      "SLURM_STEP_TASKS_PER_NODE=2(x2)", "SLURM_NODEID=1", "SLURM_LOCALID=0",
                      "SLURM_PROCID=2"),
                 2, (const int[]){2, 3});
}

static void a_broken_list_says_nothing(void **state)
{
    (void)state;
    static const char *const broken[] = {"",
                                         "x",
                                         "2(3",
                                         "2(x",
                                         "2(x3",
                                         "2(x0)",
                                         "0",
                                         "-1",
                                         "2;3",
                                         "2(x3)4",
                                         "99999999999999999999",
                                         "1,,2"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        const struct lib_distribution distribution = {
            .tasks_per_node = broken[i], .method = "block", .plane = -1, .node = 3};
        int ranks[4] = {0};
        assert_int_equal(lib_distribution_tasks(&distribution), -1);
        assert_false(lib_distribution_ranks(&distribution, 8, ranks, 2));
    }
    const struct lib_distribution fine = {
        .tasks_per_node = "2(x3),1", .method = "block", .plane = -1, .node = 3};
    assert_int_equal(lib_distribution_tasks(&fine), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_launcher_is_understood), cmocka_unit_test(the_inner_launcher_counts),
        cmocka_unit_test(what_does_not_fit_is_said),    cmocka_unit_test(ranks_are_mapped),
        cmocka_unit_test(a_broken_list_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
