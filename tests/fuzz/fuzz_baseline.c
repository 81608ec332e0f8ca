/* libFuzzer target: any bytes as a baseline file of a small node. What is taken from it can be
 * compared with. */
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/baseline_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct graph *small_node(void)
{
    struct graph *graph = graph_new();
    struct berth_err err = {0};
    if (graph == NULL || graph_add_place(graph, PLACE_MACHINE, 0) == PLACE_NONE)
        abort();
    for (int i = 0; i < 2; i++) {
        place_id core = graph_add_place(graph, PLACE_CORE, i);
        if (core == PLACE_NONE)
            abort();
        graph->places[core].parent = 0;
    }
    snprintf(graph->fingerprint, sizeof graph->fingerprint, "0123456789abcdef0123456789abcdef");
    if (graph_finish(graph, &err) != BERTH_OK)
        abort();
    return graph;
}

/* A folder of its own for each process; it is removed again each time. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[64], path[96];
    snprintf(folder, sizeof folder, "/dev/shm/berth-fuzz-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/unnamed.baseline", folder);
    mkdir(folder, 0700);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
        abort();
    struct graph *graph = small_node();
    struct baseline_set set;
    struct berth_err err = {0};
    bool same = false;
    if (!baseline_set_init(&set))
        abort();
    if (baseline_file_read(folder, graph, &set, &same, &err) == BERTH_OK)
        for (size_t i = 0; i < set.values->count; i++)
            if (!(set.baseline[i].median > 0) || !(set.baseline[i].deviation >= 0) ||
                set.baseline[i].count == 0 || !same)
                abort();
    baseline_set_done(&set);
    graph_unref(graph);
    unlink(path);
    rmdir(folder);
    return 0;
}
