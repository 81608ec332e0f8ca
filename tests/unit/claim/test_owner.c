/* Processes and cgroups in a tree of kernel files: owners, callers within owners, and permissions
 * to claim. */
#include "node/allowed.h"
#include "node/locality.h"
#include "unit/node/built_nodes.h"

#include <sys/stat.h>
#include <unistd.h>

#include "claim/around.h"
#include "claim/owner.h"
#include "claim/permission.h"
#include "claim/proc.h"
#include "node/reasons.h"

#include "unit/base/tree.h"

static char root[TREE_SIZE];
static struct files io;

static void put(const char *path, const char *text) { tree_put(root, path, text); }

static void put_status(int pid, int parent, const char *uids, const char *gids, const char *cpus)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    snprintf(text, sizeof text,
             "Name:\tUid:\t7\nPPid:\t%d\nTgid:\t%d\nUid:\t%s\nGid:\t%s\nGroups:\t44 109 "
             "\nCpus_allowed_list:\t%s\nMems_allowed_list:\t0-1\n",
             parent, pid == 15 ? 10 : pid, uids, gids, cpus);
    put(path, text);
}

static void put_process(int pid, int parent, const char *start, unsigned uid, const char *cpus,
                        const char *cgroup)
{
    char path[64], text[512], ids[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    /* A program may be called anything. */
    snprintf(text, sizeof text,
             "%d (a) Z 1) S) S %d 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 %s 12345 678\n", pid,
             parent, start);
    put(path, text);
    snprintf(ids, sizeof ids, "%u\t%u\t%u\t%u", uid, uid, uid, uid);
    put_status(pid, parent, ids, ids, cpus);
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    snprintf(text, sizeof text, "3:cpuset:/x\n0::%s\n", cgroup);
    put(path, text);
}

static int make_tree(void **state)
{
    (void)state;
    tree_make(root);
    io.root = root;
    put_process(10, 1, "100", 1000, "0-7,64-71", "/job/step");
    put_process(11, 10, "110", 1000, "0-3", "/job/step");
    put_process(12, 11, "120", 1000, "0-3", "/jobber");
    put_process(14, 1, "140", 1000, "0-127", "/");
    put_process(15, 1, "100", 1000, "0-7", "/job/step"); /* a thread of 10 */
    put("/sys/fs/cgroup/job/cgroup.events", "populated 1\nfrozen 0\n");
    put("/sys/fs/cgroup/done/cgroup.events", "frozen 0\npopulated 0\n");
    put("/sys/fs/cgroup/v1/tasks", "");
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

static void a_process_is_read_whatever_it_is_called(void **state)
{
    (void)state;
    uint64_t ticks = 0;
    struct claim_proc process;
    struct berth_err err = {0};
    assert_int_equal(claim_proc_start(&io, 10, &ticks, &err), BERTH_OK);
    assert_int_equal(ticks, 100);
    assert_int_equal(claim_proc_read(&io, 11, &process, &err), BERTH_OK);
    assert_int_equal(process.uid, 1000);
    assert_int_equal(process.parent, 10);
    assert_int_equal(process.group_count, 2);
    assert_int_equal(process.groups[1], 109);
    assert_int_equal(cpuset_count(&process.cpus), 4);
    assert_int_equal(cpuset_count(&process.memory), 2);
    assert_int_equal(claim_proc_start(&io, 99, &ticks, &err), BERTH_ABSENT);
    static const char *const broken[] = {"", "12 (x", "12 (x) S 1 2",
                                         "12 (x) Z 1 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 55 1 2\n"};
    for (size_t i = 0; i < 4; i++) {
        put("/proc/13/stat", broken[i]);
        assert_int_equal(claim_proc_start(&io, 13, &ticks, NULL),
                         i < 3 ? BERTH_BAD_DATA : BERTH_ABSENT);
    }
    put("/proc/13/status", "Uid:\tnobody\n");
    assert_int_equal(claim_proc_read(&io, 13, &process, NULL), BERTH_BAD_DATA);
    assert_int_equal(ticks, 100);
}

static void an_owner_is_the_callers_process(void **state)
{
    (void)state;
    struct peer user = {.uid = 1000, .pid = 10}, other = {.uid = 1001, .pid = 10, .is_admin = true},
                superuser = {.uid = 0, .is_admin = true};
    struct claim_owner owner = {0};
    assert_int_equal(claim_owner_process(&io, &user, 10, &owner, NULL), BERTH_OK);
    assert_int_equal(owner.pid, 10);
    assert_int_equal(owner.start_ticks, 100);
    assert_int_equal(claim_owner_process(&io, &other, 10, &owner, NULL), BERTH_PERMISSION_DENIED);
    assert_int_equal(claim_owner_process(&io, &superuser, 11, &owner, NULL), BERTH_OK);
    assert_int_equal(claim_owner_process(&io, &user, 99, &owner, NULL), BERTH_NO_SUCH_OWNER);
    assert_int_equal(claim_owner_process(&io, &user, 0, &owner, NULL), BERTH_INVALID_PARAMETER);
    struct berth_err err = {0};
    assert_int_equal(claim_owner_process(&io, &user, 15, &owner, &err), BERTH_NO_SUCH_OWNER);
    assert_string_equal(err.arg[0].text, "owner_pid");
    assert_string_equal(err.detail, "owner_pid: 15 is a thread of process 10");
    assert_true(claim_owner_lives(&io, &owner));
    put_process(11, 10, "111", 1000, "0-3", "/job/step"); /* the pid begins another life */
    assert_false(claim_owner_lives(&io, &owner));
    put_process(11, 10, "110", 1000, "0-3", "/job/step");
}

static void an_owner_is_a_populated_cgroup(void **state)
{
    (void)state;
    struct claim_owner owner = {0};
    struct peer user = {.uid = 1000, .pid = 10};
    assert_int_equal(claim_owner_cgroup(&io, &user, "/sys/fs/cgroup/job", &owner, NULL), BERTH_OK);
    assert_true(claim_owner_lives(&io, &owner));
    static const char *const wrong[] = {"/sys/fs/cgroup/done",
                                        "/sys/fs/cgroup/v1",
                                        "/sys/fs/cgroup/gone",
                                        "/sys/fs/cgroup/",
                                        "/sys/fs/cgroup",
                                        "",
                                        "job",
                                        "/sys/fs/cgroup/../cgroup/job",
                                        "/sys/fs/cgroup/./job",
                                        "/sys/fs/cgroup//job",
                                        "/sys/fs/cgroup/job/"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(claim_owner_cgroup(&io, &user, wrong[i], &owner, NULL),
                         i < 3 ? BERTH_NO_SUCH_OWNER : BERTH_INVALID_PARAMETER);
    put("/sys/fs/cgroup/job/cgroup.events", "populated 0\nfrozen 0\n");
    assert_false(claim_owner_lives(&io, &owner));
    put("/sys/fs/cgroup/job/cgroup.events", "populated 1\nfrozen 0\n");
}

static void a_cgroup_of_others_is_no_owner(void **state)
{
    (void)state;
    struct claim_owner owner = {0};
    struct peer inside = {.uid = 1000, .pid = 10}, stranger = {.uid = 1001, .pid = 16},
                outside = {.uid = 1000, .pid = 14},
                admin = {.uid = 1001, .pid = 16, .is_admin = true};
    put_process(16, 1, "160", 1001, "0-7", "/user");
    put("/sys/fs/cgroup/job/cgroup.procs", "");
    assert_int_equal(claim_owner_cgroup(&io, &inside, "/sys/fs/cgroup/job", &owner, NULL),
                     BERTH_OK);
    assert_int_equal(claim_owner_cgroup(&io, &admin, "/sys/fs/cgroup/job", &owner, NULL), BERTH_OK);
    struct claim_owner before = owner;
    assert_int_equal(claim_owner_cgroup(&io, &stranger, "/sys/fs/cgroup/job", &owner, NULL),
                     BERTH_PERMISSION_DENIED);
    assert_int_equal(claim_owner_cgroup(&io, &outside, "/sys/fs/cgroup/job", &owner, NULL),
                     BERTH_PERMISSION_DENIED);
    assert_ptr_equal(owner.cgroup, before.cgroup);
    put("/sys/fs/cgroup/job/cgroup.procs", "16\n");
    assert_int_equal(claim_owner_cgroup(&io, &outside, "/sys/fs/cgroup/job", &owner, NULL),
                     BERTH_PERMISSION_DENIED);
    /* a hook outside, for the job that is to begin there */
    put("/sys/fs/cgroup/job/cgroup.procs", "16\n99\n11\n");
    assert_int_equal(claim_owner_cgroup(&io, &outside, "/sys/fs/cgroup/job", &owner, NULL),
                     BERTH_OK);
    char procs[4000] = ""; /* behind as many of another as may be */
    for (int i = 0; i < 1000; i++)
        strcat(procs, "16\n");
    put("/sys/fs/cgroup/job/cgroup.procs", procs);
    assert_int_equal(claim_owner_cgroup(&io, &outside, "/sys/fs/cgroup/job", &owner, NULL),
                     BERTH_PERMISSION_DENIED);
    put("/sys/fs/cgroup/job/cgroup.procs", strcat(procs, "11\n"));
    assert_int_equal(claim_owner_cgroup(&io, &outside, "/sys/fs/cgroup/job", &owner, NULL),
                     BERTH_OK);
}

static void a_claim_is_for_its_own_user_and_roots_for_everybody(void **state)
{
    (void)state;
    struct claim claim = {.uid = 1000, .owner = {.cgroup = (char *)"/sys/fs/cgroup/job"}};
    assert_true(claim_owner_is_for(&io, &claim, 1000, &(struct claim_lineage){.pid = 10}));
    assert_false(claim_owner_is_for(&io, &claim, 1000, &(struct claim_lineage){.pid = 14}));
    assert_false(claim_owner_is_for(&io, &claim, 1000, &(struct claim_lineage){.pid = 0}));
    assert_false(claim_owner_is_for(&io, &claim, 1001, &(struct claim_lineage){.pid = 10}));
    assert_false(claim_owner_is_for(&io, &claim, 0, &(struct claim_lineage){.pid = 10}));
    claim.uid = 0;
    assert_true(claim_owner_is_for(&io, &claim, 1001, &(struct claim_lineage){.pid = 10}));
}

static bool holds(const struct claim_owner *owner, pid_t pid)
{
    return claim_owner_holds(&io, owner, &(struct claim_lineage){.pid = pid});
}

static void who_stands_within_an_owner(void **state)
{
    (void)state;
    struct claim_owner process = {.pid = 10, .start_ticks = 100},
                       reused = {.pid = 10, .start_ticks = 99},
                       cgroup = {.cgroup = (char *)"/sys/fs/cgroup/job"},
                       unified = {.cgroup = (char *)"/sys/fs/cgroup/unified/job/step"}, none = {0},
                       top = {.cgroup = (char *)"/sys/fs/cgroup"};
    assert_true(holds(&process, 10) && holds(&process, 12));
    assert_false(holds(&process, 1) || holds(&process, 99));
    assert_false(holds(&reused, 12));
    assert_true(holds(&cgroup, 11) && holds(&unified, 11));
    assert_false(holds(&cgroup, 12)); /* /jobber is not below /job */
    assert_false(holds(&none, 11) || holds(&top, 11));
}

/* The data of one process are read once for many claims. */
static void a_lineage_is_read_once(void **state)
{
    (void)state;
    struct claim_owner top = {.pid = 10, .start_ticks = 100},
                       job = {.cgroup = (char *)"/sys/fs/cgroup/job"}, none = {0};
    struct claim_lineage process = {.pid = 11}, other = process;
    assert_false(claim_owner_holds(&io, &none, &process));
    assert_true(claim_owner_holds(&io, &top, &process) && claim_owner_holds(&io, &job, &process));
    put_process(11, 1, "110", 1000, "0-3", "/jobber");
    assert_true(claim_owner_holds(&io, &top, &process) && claim_owner_holds(&io, &job, &process));
    assert_false(claim_owner_holds(&io, &top, &other) || claim_owner_holds(&io, &job, &other));
    put_process(11, 10, "110", 1000, "0-3", "/job/step");
    top.start_ticks = 99; /* but whether it lives is asked each time */
    assert_false(claim_owner_holds(&io, &top, &process));
}

static enum berth_code right(const struct graph *graph, const struct peer *peer,
                             enum claim_purpose purpose, const char *places)
{
    struct claim claim = {.places = (char *)places, .purpose = purpose};
    struct berth_err err = {0};
    return claim_permission(&io, graph, peer, &claim, &err);
}

static void users_have_a_right_to_what_they_may_use(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    for (int g = 0; g < 8; g++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/dri/renderD%d", 128 + g);
        assert_true(
            place_set_text(&graph->places[nodes_place(graph, PLACE_GPU, g)].render_node, path));
        if (g < 6)
            put(path, "");
        char full[128];
        snprintf(full, sizeof full, "%s%s", root, path);
        chmod(full, g == 4 ? 0666 : 0600);
    }
    char full[128];
    snprintf(full, sizeof full, "%s/dev/dri/renderD133", root);
    /* gpu5: a supplementary group */
    bool in_group = chown(full, 0, 109) == 0 && chmod(full, 0660) == 0;
    nodes_finish(graph);
    struct peer user = {.uid = 1000, .gid = 1000, .pid = 10}, admin = {.uid = 5, .is_admin = true},
                nowhere = {.uid = 1000, .gid = 1000},
                reused = {.uid = 1002, .gid = 1002, .pid = 10};
    static const struct {
        const char *places;
        enum berth_code compute;
    } cases[] = {
        {"llc0", BERTH_OK},
        {"core7", BERTH_OK},
        {"pu71", BERTH_OK},
        {"core8", BERTH_PERMISSION_DENIED},
        {"numa0", BERTH_PERMISSION_DENIED},
        {"machine0", BERTH_PERMISSION_DENIED},
        {"gpu4", BERTH_OK},
        {"gpu3", BERTH_PERMISSION_DENIED},
        {"gpu7", BERTH_PERMISSION_DENIED},
        {"core0,gpu4", BERTH_OK},
        {"core0,gpu3", BERTH_PERMISSION_DENIED},
        {"nic0", BERTH_PERMISSION_DENIED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (right(graph, &user, CLAIM_COMPUTE, cases[i].places) != cases[i].compute)
            fail_msg("%s", cases[i].places);
        assert_int_equal(right(graph, &admin, CLAIM_COMPUTE, cases[i].places), BERTH_OK);
        assert_int_equal(right(graph, &nowhere, CLAIM_COMPUTE, cases[i].places),
                         BERTH_PERMISSION_DENIED);
        assert_int_equal(right(graph, &reused, CLAIM_COMPUTE, cases[i].places),
                         BERTH_PERMISSION_DENIED);
    }
    if (in_group) {
        assert_int_equal(right(graph, &user, CLAIM_COMPUTE, "gpu5"), BERTH_OK);
        assert_int_equal(right(graph, &user, CLAIM_PROFILING, "module2"), BERTH_OK);
    }
    assert_int_equal(right(graph, &user, CLAIM_PROFILING, "gpu3"), BERTH_PERMISSION_DENIED);
    /* All cpus and gpus, but the memory of two NUMA nodes. */
    struct peer narrow = {.uid = 1000, .gid = 1000, .pid = 14};
    for (int g = 0; g < 8; g++) {
        snprintf(full, sizeof full, "/dev/dri/renderD%d", 128 + g);
        put(full, "");
        snprintf(full, sizeof full, "%s/dev/dri/renderD%d", root, 128 + g);
        chmod(full, 0666);
    }
    assert_int_equal(right(graph, &narrow, CLAIM_COMPUTE, "numa0,numa1"), BERTH_OK);
    assert_int_equal(right(graph, &narrow, CLAIM_COMPUTE, "numa2"), BERTH_PERMISSION_DENIED);
    assert_int_equal(right(graph, &narrow, CLAIM_COMPUTE, "package0"), BERTH_PERMISSION_DENIED);
    assert_int_equal(right(graph, &narrow, CLAIM_PROFILING, "numa2"), BERTH_OK);
    graph_unref(graph);
}

/* A program with ids of others, begun by the user or beside a connection that another program made,
 * has rights that the user has not. */
static void a_setuid_program_gives_no_rights(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    nodes_finish(graph);
    static const char own[] = "1000\t1000\t1000\t1000";
    static const struct {
        const char *uids, *gids;
        enum berth_code code;
    } cases[] = {
        {own, own, BERTH_OK},
        {"1000\t0\t0\t0", own, BERTH_PERMISSION_DENIED},
        {"1000\t1000\t0\t1000", own, BERTH_PERMISSION_DENIED},
        {"0\t1000\t0\t1000", own, BERTH_PERMISSION_DENIED},
        {"0\t0\t0\t0", own, BERTH_PERMISSION_DENIED},
        {own, "1000\t44\t44\t44", BERTH_PERMISSION_DENIED},
        {own, "1000\t1000\t44\t1000", BERTH_PERMISSION_DENIED},
        {own, "44\t44\t44\t44", BERTH_PERMISSION_DENIED},
    };
    struct peer user = {.uid = 1000, .gid = 1000, .pid = 17};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_status(17, 1, cases[i].uids, cases[i].gids, "0-7,64-71");
        if (right(graph, &user, CLAIM_COMPUTE, "core0") != cases[i].code)
            fail_msg("%s %s", cases[i].uids, cases[i].gids);
    }
    graph_unref(graph);
}

static void plans_get_what_others_have_not_claimed(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    nodes_finish(graph);
    struct claim_set set = {0};
    struct claim_limits limits = {100, 100, false};
    const struct claim *claim;
    struct berth_err err = {0};
    struct claim job = {.id = "c1",
                        .uid = 0,
                        .is_admins = true,
                        .places = (char *)"numa0",
                        .owner = {.cgroup = (char *)"/sys/fs/cgroup/job"}};
    struct claim mine = {
        .id = "c2", .uid = 1000, .key = (char *)"k", .places = (char *)"core16,gpu2"};
    struct claim profiling = {.id = "c3",
                              .uid = 1,
                              .is_admins = true,
                              .places = (char *)"machine0",
                              .purpose = CLAIM_PROFILING};
    assert_int_equal(claim_set_add(&set, graph, &job, &limits, &claim, &err), BERTH_OK);
    assert_int_equal(claim_set_add(&set, graph, &mine, &limits, &claim, &err), BERTH_OK);
    assert_int_equal(claim_set_add(&set, graph, &profiling, &limits, &claim, &err), BERTH_OK);
    static const struct {
        pid_t pid;
        const char *key;
        size_t cpus, gpus, warnings;
    } cases[] = {
        {12, "k", 128 - 32, 6, 1},                        /* its own key, outside of the job */
        {12, NULL, 128 - 34, 5, 2}, {11, "k", 128, 8, 0}, /* within the job, and its own */
        {11, NULL, 126, 7, 1},      {0, "other", 128 - 34, 5, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct claim_lineage process = {.pid = cases[i].pid};
        struct claim_caller caller = {1000, &process, cases[i].key};
        struct allowed allowed = {0};
        struct reasons warnings = {0};
        bool left_out = false;
        locality_cpus(graph, &allowed.cpus);
        assert_int_equal(
            claim_around(&set, &io, graph, &caller, &allowed, &warnings, &left_out, &err),
            BERTH_OK);
        size_t gpus = 0;
        for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
             g = graph_next(graph, PLACE_GPU, g + 1))
            gpus += allowed_has_gpu(&allowed, g);
        assert_int_equal(cpuset_count(&allowed.cpus), cases[i].cpus);
        assert_int_equal(gpus, cases[i].gpus);
        assert_int_equal(warnings.count, cases[i].warnings);
        assert_int_equal(left_out, warnings.count > 0);
        assert_false(allowed.gpus_claimed);
        assert_int_equal(allowed_has_memory(&allowed, graph_find(graph, "numa0")),
                         cases[i].pid == 11);
        if (i == 0)
            assert_string_equal(
                warnings.item[0].text,
                "left out: numa0, gpu4, gpu5, cpus 0-15,64-79, by claim c1 of uid 0");
        allowed_done(&allowed);
    }
    struct claim_caller stranger = {7, NULL, NULL};
    struct reasons warnings = {0};
    bool left_out = false;
    /* gpu4 is, by numa0; an absence of gpus is not caused by claims */
    for (int is_claimed = 0; is_claimed < 2; is_claimed++) {
        struct allowed some = {.gpus = calloc(graph->place_count, sizeof(bool))};
        assert_non_null(some.gpus);
        locality_cpus(graph, &some.cpus);
        some.gpus[graph_find(graph, "gpu4")] = is_claimed;
        assert_int_equal(
            claim_around(&set, &io, graph, &stranger, &some, &warnings, &left_out, &err), BERTH_OK);
        assert_int_equal(some.gpus_claimed, is_claimed);
        allowed_done(&some);
    }
    struct allowed narrow = {0};
    cpuset_add(&narrow.cpus, 3);
    assert_int_equal(claim_around(&set, &io, graph, &stranger, &narrow, &warnings, &left_out, &err),
                     BERTH_NOTHING_ALLOWED);
    allowed_done(&narrow);
    claim_set_done(&set);
    graph_unref(graph);
}

static void a_claim_without_an_owner_lasts_an_hour(void **state)
{
    (void)state;
    struct config config = {.claim_ttl_max_s = 86400, .claim_ttl_user_max_s = 3600};
    struct claim users = {.uid = 1000}, admins = {.is_admins = true}, owned = {.owner.pid = 7},
                 in_job = {.owner.cgroup = (char *)"/job"};
    struct berth_err err = {0};
    assert_int_equal(claim_check_ttl(&config, &users, NULL, 3600, &err), BERTH_OK);
    assert_int_equal(claim_check_ttl(&config, &users, &users, 3601, &err), BERTH_INVALID_PARAMETER);
    assert_non_null(strstr(err.detail, " 3600 s at most"));
    assert_int_equal(claim_check_ttl(&config, &users, &owned, 86400, &err), BERTH_OK);
    struct claim *longer[] = {&admins, &owned, &in_job};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(claim_check_ttl(&config, longer[i], NULL, 86400, &err), BERTH_OK);
        longer[i]->deadline_ns = UINT64_MAX;
        claim_cut_deadline(&config, longer[i], 5);
        assert_int_equal(longer[i]->deadline_ns, 86400000000005);
    }
    users.deadline_ns = UINT64_MAX;
    claim_cut_deadline(&config, &users, 5);
    assert_int_equal(users.deadline_ns, 3600000000005);
    claim_cut_deadline(&config, &users, 6); /* never later */
    assert_int_equal(users.deadline_ns, 3600000000005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_read_whatever_it_is_called),
        cmocka_unit_test(an_owner_is_the_callers_process),
        cmocka_unit_test(an_owner_is_a_populated_cgroup),
        cmocka_unit_test(a_cgroup_of_others_is_no_owner),
        cmocka_unit_test(a_claim_is_for_its_own_user_and_roots_for_everybody),
        cmocka_unit_test(who_stands_within_an_owner),
        cmocka_unit_test(a_lineage_is_read_once),
        cmocka_unit_test(users_have_a_right_to_what_they_may_use),
        cmocka_unit_test(a_setuid_program_gives_no_rights),
        cmocka_unit_test(plans_get_what_others_have_not_claimed),
        cmocka_unit_test(a_claim_without_an_owner_lasts_an_hour),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
