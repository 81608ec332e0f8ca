/* Application of a berth to this process. */
#include "lib/task/apply.h"
#include "lib/cpus.h"
#include "lib/lib.h"

#include <errno.h>
#include <numaif.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 1024
#define NODE_BITS (CHAR_BIT * sizeof(unsigned long))
#define MPOL_MANY 5 /* MPOL_PREFERRED_MANY, Linux 5.15; libnuma of Debian 12 does not name it */

struct policy {
    int mode;
    unsigned long nodes[NODES_MAX / NODE_BITS];
};

/* maxnode is one more than the number of bits: the kernel subtracts one. */
static int set_policy(const struct policy *policy)
{
    return (int)set_mempolicy(policy->mode, (unsigned long *)policy->nodes, NODES_MAX + 1);
}

static int make_policy(struct berth *berth, const struct berth_task *task,
                       struct policy *ret_policy)
{
    struct policy policy = {0};
    for (size_t i = 0; i < task->memory.count; i++) {
        char *end;
        const char *name = task->memory.item[i];
        unsigned long node =
            strncmp(name, "numa", 4) == 0 ? strtoul(name + 4, &end, 10) : NODES_MAX;
        if (node >= NODES_MAX || end == name + 4 || *end != '\0')
            return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                            "%.40s is no NUMA node, and a memory policy names such", name);
        policy.nodes[node / NODE_BITS] |= 1ul << node % NODE_BITS;
    }
    switch (task->memory_policy) {
    case BERTH_POLICY_BIND:
        policy.mode = MPOL_BIND;
        break;
    case BERTH_POLICY_INTERLEAVE:
        policy.mode = MPOL_INTERLEAVE;
        break;
    case BERTH_POLICY_PREFERRED:
        policy.mode = task->memory.count > 1 ? MPOL_MANY : MPOL_PREFERRED;
        break;
    default:
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a memory policy that this version does not know");
    }
    *ret_policy = policy;
    return BERTH_DONE;
}

static int apply_memory(struct berth *berth, const struct berth_task *task,
                        struct policy *ret_before)
{
    struct policy policy = {.mode = MPOL_DEFAULT}, before = {.mode = MPOL_DEFAULT};
    int status = make_policy(berth, task, &policy);
    if (status < 0)
        return status;
    if (get_mempolicy(&before.mode, before.nodes, NODES_MAX, NULL, 0) != 0)
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "the kernel has no memory policies here: %s",
                        strerror(errno));
    if (set_policy(&policy) != 0)
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "the kernel refuses the memory policy: %s",
                        strerror(errno));
    *ret_before = before;
    return BERTH_DONE;
}

/* True for the variables that choose the visible gpus or the order in which runtimes count them. */
static bool is_of_gpus(const char *name)
{
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                        "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                        "GPU_DEVICE_ORDINAL"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool lib_apply_includes(const char *name, unsigned parts)
{
    return parts & (is_of_gpus(name) ? BERTH_PART_GPUS : BERTH_PART_ENVIRONMENT);
}

bool lib_apply_is_name(const char *name)
{
    size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && name[length] == '\0' && strspn(name, "0123456789") == 0;
}

static int check_environment(struct berth *berth, const struct berth_task *task)
{
    for (size_t i = 0; i < task->environment.count; i++)
        if (!lib_apply_is_name(task->environment.item[i].name))
            return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                            "a variable cannot be called \"%.40s\"",
                            task->environment.item[i].name);
    for (size_t i = 0; i < task->unset.count; i++)
        if (!lib_apply_is_name(task->unset.item[i]))
            return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                            "a variable cannot be called \"%.40s\"", task->unset.item[i]);
    return BERTH_DONE;
}

const char *lib_apply_mark(const char *name, char mark[LIB_APPLY_MARK_SIZE])
{
    static const char *const names[] = {"UCX_NET_DEVICES", "NCCL_IB_HCA"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) {
            snprintf(mark, LIB_APPLY_MARK_SIZE, "BERTH_%s", name);
            return mark;
        }
    return NULL;
}

bool lib_apply_is_free(const char *value, const char *marked)
{
    return value == NULL || (marked != NULL && strcmp(value, marked) == 0);
}

/* One variable: its new value and the one before. */
struct change {
    char mark[LIB_APPLY_MARK_SIZE];
    const char *name, *value; /* name: the task's variable, or mark */
    char *before;             /* owned; NULL when it was not set */
};

/* Restores the variables set so far, in reverse order. */
static void undo_environment(struct change *change, size_t count)
{
    for (size_t i = count; i > 0; i--) {
        if (change[i - 1].before != NULL)
            /* a failure here, with memory still short, has no remedy */
            setenv(change[i - 1].name, change[i - 1].before, 1);
        else
            unsetenv(change[i - 1].name);
    }
}

/* Lists the variables to set; change has room for two per variable of the task. */
static size_t list_changes(const struct berth_task *task, unsigned parts, struct change *change)
{
    size_t count = 0;
    for (size_t i = 0; i < task->environment.count; i++) {
        const struct berth_pair *pair = &task->environment.item[i];
        struct change *next = &change[count];
        const char *mark = lib_apply_mark(pair->name, next->mark);
        if (!lib_apply_includes(pair->name, parts) ||
            (mark != NULL && !lib_apply_is_free(getenv(pair->name), getenv(mark))))
            continue;
        if (mark != NULL) {
            next->name = next->mark;
            next->value = pair->value;
            next = &change[++count];
        }
        next->name = pair->name;
        next->value = pair->value;
        count++;
    }
    return count;
}

static bool make_change(struct change *change)
{
    const char *value = getenv(change->name);
    change->before = value != NULL ? strdup(value) : NULL;
    return (value == NULL || change->before != NULL) && setenv(change->name, change->value, 1) == 0;
}

/* Unsets variables last: that needs no memory and cannot fail. */
static int apply_environment(struct berth *berth, const struct berth_task *task, unsigned parts)
{
    struct change *change = calloc(2 * task->environment.count + 1, sizeof *change);
    bool fine = change != NULL;
    size_t done = 0, count = fine ? list_changes(task, parts, change) : 0;
    while (fine && done < count) {
        fine = make_change(&change[done]);
        done += fine;
    }
    if (!fine && change != NULL)
        undo_environment(change, done);
    for (size_t i = 0; fine && i < task->unset.count; i++)
        if (lib_apply_includes(task->unset.item[i], parts))
            unsetenv(task->unset.item[i]);
    for (size_t i = 0; i < count; i++)
        free(change[i].before);
    free(change);
    return fine ? BERTH_DONE : lib_fail_memory(berth);
}

/* The kernel silently cuts an affinity to the cpuset; a berth with fewer cpus is an error. */
static int apply_cpus(struct berth *berth, const struct berth_task *task,
                      const struct lib_cpus *before)
{
    struct lib_cpus cpus, got;
    if (!lib_cpus_parse(task->cpus, &cpus) || *task->cpus == '\0')
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "cpus \"%.60s\" are no list", task->cpus);
    if (sched_setaffinity(0, sizeof cpus.word, (const cpu_set_t *)(const void *)cpus.word) != 0)
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "the kernel refuses cpus %.60s: %s", task->cpus,
                        strerror(errno));
    if (lib_cpus_of(0, &got) && memcmp(&got, &cpus, sizeof got) == 0)
        return BERTH_DONE;
    sched_setaffinity(0, sizeof before->word, (const cpu_set_t *)(const void *)before->word);
    return lib_fail(berth, BERTH_ERROR_SYSTEM, "not all of cpus %.60s may be used here",
                    task->cpus);
}

int berth_apply(struct berth *berth, const struct berth_task *task, unsigned parts)
{
    struct policy policy_before = {.mode = MPOL_DEFAULT};
    struct lib_cpus cpus_before;
    bool sets_memory = parts & BERTH_PART_MEMORY && task->memory.count > 0;
    int status = check_environment(berth, task);
    if (status < 0)
        return status;
    if (!lib_cpus_of(0, &cpus_before))
        return lib_fail(berth, BERTH_ERROR_SYSTEM, "cannot read this thread's affinity: %s",
                        strerror(errno));
    if (sets_memory && (status = apply_memory(berth, task, &policy_before)) < 0)
        return status;
    if (parts & BERTH_PART_CPUS)
        status = apply_cpus(berth, task, &cpus_before);
    if (status == BERTH_DONE && parts & (BERTH_PART_GPUS | BERTH_PART_ENVIRONMENT)) {
        status = apply_environment(berth, task, parts);
        if (status < 0 && parts & BERTH_PART_CPUS)
            sched_setaffinity(0, sizeof cpus_before.word,
                              (const cpu_set_t *)(const void *)cpus_before.word);
    }
    if (status < 0 && sets_memory)
        set_policy(&policy_before);
    return status;
}
