/* Jobs, load and processes on GPUs, by the files of a machine in a folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/base/tree.h"

#include "measure/node_use.h"

static char root[TREE_SIZE];
static struct files io = {root};

static int setup(void **state)
{
    (void)state;
    tree_make(root);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

static void assert_use(size_t cpus, const char *expected)
{
    char why[128] = "";
    bool is_used = node_use_has_job(&io, why, sizeof why) ||
                   node_use_is_loaded(&io, cpus, NODE_USE_LOAD, why, sizeof why);
    assert_int_equal(is_used, expected[0] != '\0');
    assert_string_equal(why, expected);
}

static void a_folder_without_files_is_not_used(void **state)
{
    (void)state;
    assert_use(2, "");
    struct node_use_gpus gpus = node_use_gpus(&io);
    assert_true(gpus.processes == 0 && gpus.openings == 0);
}

static void load_counts_for_each_cpu(void **state)
{
    (void)state;
    tree_put(root, "/proc/loadavg", "1.00 9.00 9.00 1/200 3\n");
    assert_use(2, "");
    tree_put(root, "/proc/loadavg", "1.01 0.00 0.00 1/200 3\n");
    assert_use(2, "the node has a load of 1.01");
    assert_use(128, "");
    tree_put(root, "/proc/loadavg", "12.90 0.00 0.00 1/200 3\n");
    assert_use(128, "the node has a load of 12.90");
    char why[128];
    assert_false(node_use_is_loaded(&io, 128, NODE_USE_LOAD_BESIDE, why, sizeof why));
    assert_true(node_use_is_loaded(&io, 25, NODE_USE_LOAD_BESIDE, why, sizeof why));
    tree_put(root, "/proc/loadavg", "nan\n");
    assert_use(128, "");
}

static void jobs_have_cgroups(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_12",
        "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_12",
        "/sys/fs/cgroup/system.slice/slurmstepd.scope/sD01M8FJCQB300",
        "/sys/fs/cgroup/cpuset/slurm/uid_1000/job_12",
        "/sys/fs/cgroup/memory/slurm_n1/uid_1000/job_12",
        "/sys/fs/cgroup/pbs_jobs.service/jobid/job_12",
        "/sys/fs/cgroup/cpuset/pbs_jobs.service/jobid/job_12",
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char file[128], why[64];
        snprintf(file, sizeof file, "%s/cgroup.procs", paths[i]);
        snprintf(why, sizeof why, "%s is on the node", strrchr(paths[i], '/') + 1);
        tree_put(root, file, "");
        assert_use(2, why);
        tree_remove(root);
        assert_int_equal(mkdir(root, 0755), 0);
    }
    /* Slurm's daemon alone, and the folder of no job */
    tree_put(root, "/sys/fs/cgroup/system.slice/slurmstepd.scope/system/cgroup.procs", "1\n");
    tree_put(root, "/sys/fs/cgroup/cpuset/slurm/uid_1000/tasks", "");
    assert_use(2, "");
}

static void openings_of_gpus_are_counted(void **state)
{
    (void)state;
    tree_put(root, "/sys/class/kfd/kfd/proc/4711/pasid", "1\n");
    tree_put(root, "/sys/class/kfd/kfd/proc/12/pasid", "1\n");
    tree_put(root, "/sys/class/kfd/kfd/proc/other", "");
    tree_put(root, "/sys/module/nvidia_uvm/refcnt", "4\n");
    struct node_use_gpus gpus = node_use_gpus(&io);
    assert_int_equal(gpus.processes, 2);
    assert_int_equal(gpus.openings, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_folder_without_files_is_not_used),
        TEST(load_counts_for_each_cpu),
        TEST(jobs_have_cgroups),
        TEST(openings_of_gpus_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
