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

static bool set_names(const char *text, char name[4][72])
{
    int end = 0;
    return sscanf(text, "%71[^>+]>%71[^>+]+%71[^>+]>%71[^>+]%n", name[0], name[1], name[2], name[3],
                  &end) == 4 &&
           text[end] == '\0' && strcmp(name[0], name[1]) != 0 && strcmp(name[2], name[3]) != 0;
}

bool gpu_names_set(const struct gpu_node *node, const char *text, int ret_device[4])
{
    char name[4][72];
    if (!set_names(text, name))
        return false;
    for (int i = 0; i < 4; i++)
        ret_device[i] = device_of(node, name[i]);
    return true;
}

static bool is_set(const struct gpu_node *node, const char *text)
{
    char name[4][72];
    bool ok = set_names(text, name);
    for (int i = 0; i < 4 && ok; i++)
        ok = is_gpu(node, name[i]);
    return ok;
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
    for (const char *const *name = without; *name != NULL; name++)
        if (!is_gpu(node, *name))
            return refuse(node, "--without: no such GPU", *name, false, ret_text, size);
    for (size_t i = 0; i < selection->place_count; i++)
        if (!is_gpu(node, selection->places[i]) && !is_numa(node, selection->places[i]))
            return refuse(node, "--places: no such GPU or NUMA node", selection->places[i], true,
                          ret_text, size);
    for (size_t i = 0; i < selection->set_count; i++)
        if (!is_set(node, selection->sets[i]))
            return refuse(node, "--sets: not \"FROM>TO+FROM>TO\" with GPUs of this machine",
                          selection->sets[i], false, ret_text, size);
    for (size_t i = 0; i < selection->skipped_count; i++)
        if (!is_cell(node, selection->skipped[i]))
            return refuse(
                node, "--skip: not \"METRIC FROM TO\" with a metric and two places of this machine",
                selection->skipped[i], true, ret_text, size);
    return true;
}
