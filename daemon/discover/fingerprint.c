/* Fingerprint of a node: a hash of its hardware, under which the store keeps its measurements. */
#include "discover/draft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef unsigned __int128 hash128;

static hash128 add_bytes(hash128 hash, const void *bytes, size_t count)
{
    const hash128 prime = ((hash128)1 << 88) + 0x13b; /* the FNV prime of 128 bits */
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * prime;
    return hash;
}

/* Adds a text with its end mark, so that "ab","c" and "a","bc" differ. */
static hash128 add_text(hash128 hash, const char *text)
{
    return text == NULL ? add_bytes(hash, "\1", 1) : add_bytes(hash, text, strlen(text) + 1);
}

static int size_step(int64_t bytes)
{
    return bytes <= 0 ? (int)bytes : (int)lround(8 * log2((double)bytes));
}

static bool does_memory_move(const struct graph *graph)
{
    size_t nodes = 0;
    for (place_id id = graph_next(graph, PLACE_NUMA, 0); id != PLACE_NONE;
         id = graph_next(graph, PLACE_NUMA, id + 1))
        nodes += graph_place(graph, id)->capacity_bytes > 0;
    return nodes == 1 || place_detail(&graph->places[0], "kernel_memory_bytes") != NULL;
}

void fingerprint(const struct graph *graph, char ret_text[33])
{
    /* the FNV offset basis */
    hash128 hash = ((hash128)0x6c62272e07bb0142 << 64) + 0x62b821756295c58d;
    bool moves = does_memory_move(graph);
    for (size_t i = 0; i < graph->place_count; i++) {
        const struct place *place = &graph->places[i];
        char size[16];
        bool is_device = place->kind == PLACE_GPU && place->pci != NULL,
             has_own_uuid = is_device || (place->kind == PLACE_NIC && place->pci != NULL);
        if (place->kind == PLACE_SWITCH && place->pci == NULL)
            continue;
        snprintf(size, sizeof size, "%d",
                 is_device                            ? 0
                 : place->kind == PLACE_NUMA && moves ? place->capacity_bytes > 0
                                                      : size_step(place->capacity_bytes));
        hash = add_text(hash, place->name);
        hash =
            add_text(hash, place->parent == PLACE_NONE ? NULL : graph->places[place->parent].name);
        hash = add_text(hash, size);
        hash = add_text(hash, place->model);
        hash = add_text(hash, place->pci);
        hash = add_text(hash, has_own_uuid ? NULL : place->uuid);
        /* cpus of a device are an estimate that new firmware may improve */
        if (place->kind < PLACE_MODULE && place->cpus != NULL) {
            char list[4096];
            cpuset_format_list(place->cpus, list, sizeof list);
            hash = add_text(hash, list);
        }
    }
    snprintf(ret_text, 33, "%016llx%016llx", (unsigned long long)(hash >> 64),
             (unsigned long long)hash);
}
