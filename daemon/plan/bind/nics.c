#include "plan/bind/nics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/locality.h"

#define NAME_MOST 64 /* of a device, the kernel's IB_DEVICE_NAME_MAX */

static double distance_of(const struct snapshot *snap, const struct nics_of *who, place_id nic)
{
    double least = INFINITY;
    for (size_t i = 0; i < who->gpu_count; i++)
        least = fmin(least, locality_distance(snap, who->gpu[i], nic));
    if (who->gpu_count > 0)
        return least;
    const struct cpuset *next_to = graph_place(snap->graph, nic)->cpus;
    if ((next_to != NULL && cpuset_intersects(next_to, who->cpus)) || who->memory == PLACE_NONE)
        return 0;
    return locality_distance(snap, who->memory, nic);
}

static bool is_of(const struct place *nic, const char *fabric)
{
    const char *its = place_detail(nic, "fabric");
    return its != NULL && strcmp(its, fabric) == 0;
}

static bool is_fabric(const struct place *nic)
{
    return place_detail(nic, "fabric") != NULL && !is_of(nic, "ethernet");
}

size_t plan_bind_nics(const struct snapshot *snap, const struct nics_of *who, place_id *ret)
{
    const struct graph *graph = snap->graph;
    bool has_fabric = false;
    double least = INFINITY;
    size_t count = 0;
    for (place_id n = graph_next(graph, PLACE_NIC, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NIC, n + 1))
        has_fabric |= is_fabric(graph_place(graph, n));
    for (place_id n = graph_next(graph, PLACE_NIC, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NIC, n + 1)) {
        double distance = distance_of(snap, who, n);
        if (has_fabric && !is_fabric(graph_place(graph, n)))
            continue;
        if (distance < least)
            count = 0;
        least = fmin(least, distance);
        if (distance == least)
            ret[count++] = n;
    }
    return count;
}

/* ---- variables ---- */

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Returns the name of an InfiniBand or RoCE device: those of Mellanox's drivers, and what
 * rdma-core renames such to. Else NULL. */
static const char *device_of(const struct place *nic)
{
    const char *name = place_detail(nic, "verbs");
    if (name == NULL || *name == '\0' || strlen(name) >= NAME_MOST ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] !=
            '\0')
        return NULL;
    bool is_roce = !is_of(nic, "omnipath") &&
                   (begins(name, "mlx4_") || begins(name, "mlx5_") || begins(name, "roce"));
    return is_of(nic, "infiniband") || is_roce ? name : NULL;
}

static bool is_active(const struct place *nic)
{
    const char *state = place_detail(nic, "port_state");
    return state != NULL && strcmp(state, "active") == 0;
}

enum berth_code nics_ucx(const struct graph *graph, const place_id *nic, size_t count,
                         struct reasons *warnings, char **ret, struct berth_err *err)
{
    char *text = malloc(count * (NAME_MOST + 3) + 1);
    size_t used = 0;
    if (text == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the nics' variables");
    for (size_t i = 0; i < count; i++) {
        const struct place *place = graph_place(graph, nic[i]);
        const char *name = device_of(place);
        if (name != NULL && is_active(place) && place_detail(place, "ports") == NULL)
            used += (size_t)sprintf(text + used, "%s%s:1", used > 0 ? "," : "", name);
    }
    for (size_t i = 0; used == 0 && i < count; i++)
        if (device_of(graph_place(graph, nic[i])) != NULL)
            reasons_add_about(warnings, REASON_NIC_NO_PORT, graph_place(graph, nic[i])->name,
                              NO_NUMBERS);
    if (used == 0) {
        free(text);
        text = NULL;
    }
    *ret = text;
    return BERTH_OK;
}

/* Marks the devices next to a GPU; false where there are none. */
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

enum berth_code nics_nccl(const struct snapshot *snap, char **ret, struct berth_err *err)
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
