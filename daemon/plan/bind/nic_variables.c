#include "plan/bind/nic_variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/locality.h"
#include "plan/bind/nics.h"

#define NAME_MOST 64 /* of a device, as the kernel's IB_DEVICE_NAME_MAX has it */

static bool is_fabric(const struct place *nic, const char *name)
{
    const char *fabric = place_detail(nic, "fabric");
    return fabric != NULL && strcmp(fabric, name) == 0;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* The device's name where it is InfiniBand's, or RoCE's: those of Mellanox's drivers, and what
 * rdma-core renames such to. Else NULL. */
static const char *device_of(const struct place *nic)
{
    const char *name = place_detail(nic, "verbs");
    if (name == NULL || *name == '\0' || strlen(name) >= NAME_MOST ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] !=
            '\0')
        return NULL;
    bool is_roce = !is_fabric(nic, "omnipath") &&
                   (begins(name, "mlx4_") || begins(name, "mlx5_") || begins(name, "roce"));
    return is_fabric(nic, "infiniband") || is_roce ? name : NULL;
}

static bool is_active(const struct place *nic)
{
    const char *state = place_detail(nic, "port_state");
    return state != NULL && strcmp(state, "active") == 0;
}

static bool has_one_port(const struct place *nic) { return place_detail(nic, "ports") == NULL; }

enum berth_code nic_variables_ucx(const struct graph *graph, const place_id *nic, size_t count,
                                  char **ret, place_id *ret_why, struct berth_err *err)
{
    char *text = malloc(count * (NAME_MOST + 3) + 1);
    size_t used = 0;
    place_id why = PLACE_NONE;
    if (text == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the nics' variables");
    for (size_t i = 0; i < count; i++) {
        const struct place *place = graph_place(graph, nic[i]);
        const char *name = device_of(place);
        if (name != NULL && is_active(place) && has_one_port(place))
            used += (size_t)sprintf(text + used, "%s%s:1", used > 0 ? "," : "", name);
        else if (name != NULL && why == PLACE_NONE)
            why = nic[i];
    }
    if (used == 0) {
        free(text);
        text = NULL;
    }
    *ret_why = used == 0 ? why : PLACE_NONE;
    *ret = text;
    return BERTH_OK;
}

const char *nic_variables_why(const struct graph *graph, place_id nic, char *text, size_t size)
{
    const struct place *place = graph_place(graph, nic);
    const char *name = place_detail(place, "verbs");
    if (has_one_port(place))
        snprintf(text, size, "%s (%s) has no port that is known to be active", place->name,
                 name != NULL ? name : "");
    else
        snprintf(text, size, "which of the %s ports of %s (%s) are to be used is not known",
                 place_detail(place, "ports"), place->name, name != NULL ? name : "");
    return text;
}

/* Marks what is next to a gpu; false where nothing of that has a name. */
static bool mark(const struct snapshot *snap, place_id gpu, place_id *near, bool *ret_marked)
{
    struct nics_of who = {.gpu = &gpu, .gpu_count = 1};
    size_t count = plan_bind_nics(snap, &who, near);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool is_named = device_of(graph_place(snap->graph, near[i])) != NULL;
        ret_marked[near[i]] = ret_marked[near[i]] || is_named;
        any = any || is_named;
    }
    return any;
}

enum berth_code nic_variables_nccl(const struct snapshot *snap, char **ret, struct berth_err *err)
{
    const struct graph *graph = snap->graph;
    size_t nics = graph_count(graph, PLACE_NIC), used = 0;
    char *text = malloc(nics * (NAME_MOST + 1) + 2);
    place_id *near = calloc(nics + 1, sizeof *near);
    bool *marked = calloc(graph->place_count + 1, sizeof *marked), are_named = nics > 0;
    bool has_room = text != NULL && near != NULL && marked != NULL;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); has_room && are_named && g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1))
        are_named = mark(snap, g, near, marked);
    for (place_id n = graph_next(graph, PLACE_NIC, 0); has_room && are_named && n != PLACE_NONE;
         n = graph_next(graph, PLACE_NIC, n + 1))
        if (marked[n] && is_active(graph_place(graph, n)))
            used += (size_t)sprintf(text + used, "%s%s", used > 0 ? "," : "=",
                                    device_of(graph_place(graph, n)));
    free(near);
    free(marked);
    if (used == 0) {
        free(text);
        text = NULL;
    }
    if (!has_room)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the nics' variables");
    *ret = text;
    return BERTH_OK;
}

/* The NUMA node that has all of a task's cpus; PLACE_NONE. */
static place_id home_of(const struct graph *graph, const struct bind_task *task)
{
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        const struct cpuset *cpus = graph_place(graph, n)->cpus;
        if (cpus != NULL && cpuset_contains(cpus, &task->cpus))
            return n;
    }
    return PLACE_NONE;
}

/* Whether the task's nics are those of the fabric that its NUMA node has, and it has any. */
static bool has_those_of_its_numa(const struct graph *graph, const struct bind_answer *answer,
                                  const struct bind_task *task)
{
    place_id home = home_of(graph, task);
    size_t there = 0;
    for (place_id n = graph_next(graph, PLACE_NIC, 0); home != PLACE_NONE && n != PLACE_NONE;
         n = graph_next(graph, PLACE_NIC, n + 1))
        there += is_fabric(graph_place(graph, n), "slingshot") && locality_numa(graph, n) == home;
    bool fits = there > 0 && there == task->nic_count;
    for (size_t i = 0; fits && i < task->nic_count; i++) {
        place_id nic = answer->nic[task->nics + i];
        fits = is_fabric(graph_place(graph, nic), "slingshot") && locality_numa(graph, nic) == home;
    }
    return fits;
}

enum berth_code nic_variables_cray(const struct graph *graph, const struct bind_answer *answer,
                                   char **ret, struct berth_err *err)
{
    bool fits = answer->task_count > 0;
    for (size_t t = 0; fits && t < answer->task_count; t++)
        fits = has_those_of_its_numa(graph, answer, &answer->task[t]);
    char *text = fits ? strdup("MPICH_OFI_NIC_POLICY=NUMA") : NULL;
    if (fits && text == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the nics' variables");
    *ret = text;
    return BERTH_OK;
}
