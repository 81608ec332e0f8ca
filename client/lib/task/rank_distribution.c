#include "lib/task/rank_distribution.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX (1 << 20)
#define WORLD_MAX (1 << 22)

/* Reads the next "2" or "2(x3)" of a list and moves past the comma; false at the end or at an
 * invalid group. */
static bool next_group(const char **at, long *ret_tasks, long *ret_nodes)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    *ret_tasks = strtol(*at, &end, 10);
    *ret_nodes = 1;
    if (strncmp(end, "(x", 2) == 0) {
        *ret_nodes = strtol(end + 2, &end, 10);
        if (*end != ')')
            return false;
        end++;
    }
    if ((*end != ',' && *end != '\0') || *ret_tasks < 1 || *ret_tasks > NODES_MAX ||
        *ret_nodes < 1 || *ret_nodes > NODES_MAX)
        return false;
    *at = *end == ',' ? end + 1 : end;
    return true;
}

int lib_distribution_tasks(const struct lib_distribution *distribution)
{
    long node = distribution->node, tasks, nodes;
    const char *at = distribution->tasks_per_node;
    while (at != NULL && node >= 0 && next_group(&at, &tasks, &nodes)) {
        if (node < nodes)
            return (int)tasks;
        node -= nodes;
    }
    return -1;
}

/* Numbers of tasks per node, count of them. NULL when their sum is not world, or memory is short.
 * The caller frees it. */
static int *expand(const char *list, int world, int *ret_count)
{
    long tasks, nodes, sum = 0;
    int count = 0;
    int *each = calloc((size_t)world, sizeof *each); /* every node has a task */
    while (each != NULL && next_group(&list, &tasks, &nodes))
        for (long n = 0; n < nodes && sum <= world; n++, count++) {
            sum += tasks;
            if (sum <= world)
                each[count] = (int)tasks;
        }
    if (each == NULL || *list != '\0' || sum != world) {
        free(each);
        return NULL;
    }
    *ret_count = count;
    return each;
}

/* Gives ranks to the nodes in rounds of at most turn ranks each, as long as a node has room. */
static void distribute(const int *each, int count, int turn, int node, int *ret_ranks)
{
    int *given = calloc((size_t)count, sizeof *given);
    bool any = given != NULL;
    for (int rank = 0; any;) {
        any = false;
        for (int n = 0; n < count; n++)
            for (int i = 0; i < turn && given[n] < each[n]; i++, rank++) {
                if (n == node)
                    ret_ranks[given[n]] = rank;
                given[n]++;
                any = true;
            }
    }
    free(given);
}

bool lib_distribution_ranks(const struct lib_distribution *distribution, int world, int *ret_ranks,
                            int tasks)
{
    static const struct {
        const char *method;
        int turn;
    } known[] = {{"block", NODES_MAX}, {"cyclic", 1}, {"plane", 0}};
    size_t length = strcspn(distribution->method, ":,=");
    int turn = -1, count = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].method) == length &&
            strncmp(distribution->method, known[i].method, length) == 0)
            turn = known[i].turn > 0 ? known[i].turn : distribution->plane;
    if (turn < 1 || world < 1 || world > WORLD_MAX || distribution->tasks_per_node == NULL)
        return false;
    int *each = expand(distribution->tasks_per_node, world, &count);
    bool fits = each != NULL && distribution->node >= 0 && distribution->node < count &&
                each[distribution->node] == tasks;
    if (fits) {
        for (int i = 0; i < tasks; i++)
            ret_ranks[i] = -1;
        distribute(each, count, turn, distribution->node, ret_ranks);
        fits = ret_ranks[0] >= 0; /* memory sufficed */
    }
    free(each);
    return fits;
}
