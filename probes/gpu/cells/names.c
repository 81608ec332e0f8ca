#include "gpu/cells/names.h"

#include <stdio.h>
#include <string.h>

static bool is_gpu(const struct gpu_node *node, const char *name)
{
    bool found = false;
    for (int i = 0; i < node->device_count && !found; i++)
        found = gpu_node_is(node->device[i].name, node->device[i].uuid, name);
    for (int i = 0; i < node->left_out_count && !found; i++)
        found = gpu_node_is(node->left_out[i].name, node->left_out[i].uuid, name);
    return found;
}

static bool is_numa(const struct gpu_node *node, const char *name)
{
    char own[24];
    bool found = false;
    for (int i = 0; i < node->numa_count && !found; i++) {
        gpu_report_place(node, GPU_PLACE_NUMA(i), own, sizeof own);
        found = strcmp(own, name) == 0;
    }
    return found;
}

/* True for a name in the form of records: a GPU by its address in the kernel's form. */
static bool is_recorded(const struct gpu_node *node, const char *name)
{
    bool found = strcmp(name, "machine0") == 0 || is_numa(node, name);
    for (int i = 0; i < node->device_count && !found; i++)
        found = strcmp(node->device[i].name, name) == 0;
    for (int i = 0; i < node->left_out_count && !found; i++)
        found = strcmp(node->left_out[i].name, name) == 0;
    return found;
}

static bool is_metric(const char *name)
{
    bool found = false;
    for (int i = 0; i < PROBE_METRIC_COUNT && !found; i++)
        found = strcmp(probe_metric_name((enum probe_metric)i), name) == 0;
    return found;
}

static bool is_cell(const struct gpu_node *node, const char *cell)
{
    char metric[64], from[72], to[72];
    int end = 0;
    if (sscanf(cell, "%63s %71s %71s%n", metric, from, to, &end) != 3 || !is_metric(metric) ||
        !is_recorded(node, from) || !is_recorded(node, to))
        return false;
    /* A set has no places of its own; a word names it. */
    bool is_set = cell[end] == ' ' && strcmp(from, "machine0") == 0 && strcmp(to, "machine0") == 0;
    return cell[end] == '\0' || (is_set && strlen(cell + end + 1) == strcspn(cell + end + 1, " "));
}

static int device_of(const struct gpu_node *node, const char *name)
{
    for (int i = 0; i < node->device_count; i++)
        if (gpu_node_is(node->device[i].name, node->device[i].uuid, name))
            return i;
    return -1;
}

static bool is_gpu_at(const struct gpu_node *node, const char *name, int *ret_device)
{
    *ret_device = device_of(node, name);
    return is_gpu(node, name);
}

/* Reads "FROM>TO" into the set. Returns the text behind it; NULL when it is no flow. */
static const char *read_flow(const struct gpu_node *node, const char *text,
                             struct gpu_names_set *set)
{
    char from[72], to[72];
    int end = 0;
    if (set->count == GPU_NAMES_SET_FLOWS ||
        sscanf(text, "%71[^>+]>%71[^>+]%n", from, to, &end) != 2 || strcmp(from, to) == 0)
        return NULL;
    int *flow = set->flow[set->count++];
    bool ok = is_gpu_at(node, from, &flow[0]);
    return is_gpu_at(node, to, &flow[1]) && ok ? text + end : NULL;
}

bool gpu_names_set(const struct gpu_node *node, const char *text, struct gpu_names_set *ret)
{
    static const char kernel[] = "kernel/";
    struct gpu_names_set set = {.by_kernel = strncmp(text, kernel, sizeof kernel - 1) == 0};
    text += set.by_kernel ? sizeof kernel - 1 : 0;
    while ((text = read_flow(node, text, &set)) != NULL && *text == '+')
        text++;
    *ret = set;
    return text != NULL && *text == '\0' && set.count > 1;
}

/* Appends the valid names to the error message. */
static bool refuse(const struct gpu_node *node, const char *what, const char *name, bool with_numas,
                   char *ret_text, size_t size)
{
    size_t used = (size_t)snprintf(ret_text, size, "%s: %.200s; there are", what, name);
    const char *comma = "";
    for (int i = 0; i < node->device_count && used < size; i++, comma = ",")
        used +=
            (size_t)snprintf(ret_text + used, size - used, "%s %s", comma, node->device[i].name);
    for (int i = 0; i < node->left_out_count && used < size; i++, comma = ",")
        used +=
            (size_t)snprintf(ret_text + used, size - used, "%s %s", comma, node->left_out[i].name);
    for (int i = 0; with_numas && i < node->numa_count && used < size; i++, comma = ",")
        used += (size_t)snprintf(ret_text + used, size - used, "%s numa%d", comma, node->numa[i]);
    return false;
}

bool gpu_names_check(const struct gpu_node *node, const struct gpu_selection *selection,
                     const char *const *without, char *ret_text, size_t size)
{
    struct gpu_names_set set;
    for (const char *const *name = without; *name != NULL; name++)
        if (!is_gpu(node, *name))
            return refuse(node, "--without: no such GPU", *name, false, ret_text, size);
    for (size_t i = 0; i < selection->place_count; i++)
        if (!is_gpu(node, selection->places[i]) && !is_numa(node, selection->places[i]))
            return refuse(node, "--places: no such GPU or NUMA node", selection->places[i], true,
                          ret_text, size);
    for (size_t i = 0; i < selection->set_count; i++)
        if (!gpu_names_set(node, selection->sets[i], &set))
            return refuse(node,
                          "--sets: not \"[kernel/]FROM>TO+FROM>TO\" with GPUs of this machine",
                          selection->sets[i], false, ret_text, size);
    for (size_t i = 0; i < selection->skipped_count; i++)
        if (!is_cell(node, selection->skipped[i]))
            return refuse(
                node, "--skip: not \"METRIC FROM TO\" with a metric and two places of this machine",
                selection->skipped[i], true, ret_text, size);
    return true;
}
