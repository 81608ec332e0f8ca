#include "gpu/cells/run.h"

#include <stdlib.h>
#include <string.h>

bool gpu_cells_add(const struct gpu_run *run, struct gpu_cells *cells, const struct gpu_cell *cell)
{
    if (!gpu_run_selects(run, cell->metric, cell->from, cell->to))
        return true;
    if (cells->count == cells->capacity) {
        size_t capacity = cells->capacity == 0 ? 64 : 2 * cells->capacity;
        struct gpu_cell *item = realloc(cells->item, capacity * sizeof *item);
        if (item == NULL)
            return false;
        cells->item = item;
        cells->capacity = capacity;
    }
    cells->item[cells->count++] = *cell;
    return true;
}

void gpu_cells_done(struct gpu_cells *cells)
{
    free(cells->item);
    *cells = (struct gpu_cells){0};
}

static bool is_called(const struct gpu_node *node, int place, const char *name)
{
    char own[24];
    if (place >= 0)
        return gpu_node_is(node->device[place].name, node->device[place].uuid, name);
    gpu_report_place(node, place, own, sizeof own);
    return strcmp(own, name) == 0;
}

bool gpu_run_selects(const struct gpu_run *run, enum probe_metric metric, int from, int to)
{
    const struct gpu_selection *selection = &run->selection;
    bool found = selection->place_count == 0;
    for (size_t i = 0; i < selection->place_count && !found; i++)
        found = is_called(run->node, from, selection->places[i]) ||
                is_called(run->node, to, selection->places[i]);
    return found && selection->metrics[metric];
}

/* CPUs of the NUMA node next to the device, from which the device is called. Found once for each
 * node. */
static const struct gpu_caller_cpus *caller_cpus_of(struct gpu_run *run, int device)
{
    int near = gpu_node_near(run->node, device);
    if (near >= run->node->numa_count)
        return NULL;
    if (!run->seated[near])
        gpu_caller_cpus_choose("", run->node->numa[near], &run->caller_cpus[near]);
    run->seated[near] = true;
    return &run->caller_cpus[near];
}

struct gpu_timing gpu_run_timing(struct gpu_run *run, int device, int64_t budget_ns)
{
    return (struct gpu_timing){run->trial, caller_cpus_of(run, device), &run->random, budget_ns};
}

/* Joins flows and axes; false: there is no room. */
static bool join_set(const struct gpu_run *run, const struct gpu_cell *cell, const int (*ends)[2],
                     size_t count, char *text, size_t size)
{
    struct probe_axes axes = cell->axes != NULL ? cell->axes(cell) : (struct probe_axes){0};
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        char names[2][24];
        gpu_report_place(run->node, ends[i][0], names[0], sizeof names[0]);
        gpu_report_place(run->node, ends[i][1], names[1], sizeof names[1]);
        used += (size_t)snprintf(text + used, size - used, "%s%s>%s", i > 0 ? "+" : "", names[0],
                                 names[1]);
    }
    for (size_t i = 0; i < axes.count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, ":%s=%s", axes.text[2 * i],
                                 axes.text[2 * i + 1]);
    return used < size;
}

/* FNV-1a. */
static uint64_t digest(const char *text)
{
    uint64_t value = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return value;
}

void gpu_run_cell(const struct gpu_run *run, const struct gpu_cell *cell, char *ret_text,
                  size_t size)
{
    char names[2][24], set[GPU_CELL_FLOWS_MAX * 52];
    gpu_report_place(run->node, cell->from, names[0], sizeof names[0]);
    gpu_report_place(run->node, cell->to, names[1], sizeof names[1]);
    size_t used = (size_t)snprintf(ret_text, size, "%s %s %s", probe_metric_name(cell->metric),
                                   names[0], names[1]);
    if (cell->flows == NULL || used + 1 >= size)
        return;
    int ends[GPU_CELL_FLOWS_MAX][2];
    size_t count = cell->flows(run, cell, ends);
    if (join_set(run, cell, ends, count, set, sizeof set) && strlen(set) < size - used - 1)
        snprintf(ret_text + used, size - used, " %s", set);
    else
        snprintf(ret_text + used, size - used, " %zu-flows-%016llx", count,
                 (unsigned long long)digest(set));
}

bool gpu_run_failed(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                    const struct gpu_err *err)
{
    struct probe_axes own = {0};
    if (axes == NULL && cell->axes != NULL)
        own = cell->axes(cell);
    const bool is_set = cell->flows != NULL;
    const struct gpu_report_series series = {cell->metric, is_set ? GPU_PLACE_NONE : cell->from,
                                             is_set ? GPU_PLACE_NONE : cell->to,
                                             axes == NULL ? &own : axes};
    int ends[GPU_CELL_FLOWS_MAX][2];
    bool ok = true;
    if (is_set)
        ok = gpu_report_skip_set(run->report, run->node, &series, ends,
                                 cell->flows(run, cell, ends), err->why.text);
    else if (!cell->is_more)
        ok = gpu_report_skip(run->report, run->node, &series, err->why.text);
    if (err->fault == GPU_FAULT_LOST)
        run->lost = err->why;
    return ok && err->fault != GPU_FAULT_LOST;
}

bool gpu_run_value(struct gpu_run *run, const struct gpu_cell *cell, const struct probe_axes *axes,
                   const struct probe_summary *value)
{
    return gpu_report_value(run->report, run->node,
                            &(struct gpu_report_series){cell->metric, cell->from, cell->to, axes},
                            value);
}
