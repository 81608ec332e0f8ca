#include "measure/probe_names.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *probe_names_gpu(const struct graph *graph, place_id gpu)
{
    const struct place *place = graph_place(graph, gpu);
    bool alone = place->pci != NULL;
    for (place_id other = graph_next(graph, PLACE_GPU, 0); other != PLACE_NONE && alone;
         other = graph_next(graph, PLACE_GPU, other + 1)) {
        const char *pci = graph_place(graph, other)->pci;
        alone = other == gpu || pci == NULL || strcmp(pci, place->pci) != 0;
    }
    return alone ? place->pci : place->uuid != NULL ? place->uuid : place->name;
}

void probe_names_begin(struct probe_names *names)
{
    *names = (struct probe_names){.text = NULL};
    names->file = open_memstream(&names->text, &names->size);
}

void probe_names_add(struct probe_names *names, char separator, const char *format, ...)
{
    va_list args;
    if (names->file == NULL)
        return;
    if (names->count > 0)
        fputc(separator, names->file);
    names->count += separator == ',';
    va_start(args, format);
    int bytes = vfprintf(names->file, format, args);
    va_end(args);
    names->bytes += bytes > 0 ? (size_t)bytes + 1 : 0;
}

char *probe_names_end(struct probe_names *names)
{
    bool is_whole = names->file != NULL && ferror(names->file) == 0;
    if (names->file != NULL && fclose(names->file) != 0)
        is_whole = false;
    if (is_whole)
        return names->text;
    free(names->text);
    return NULL;
}

char *probe_names_translate(const struct graph *graph, const char *places)
{
    struct probe_names names;
    probe_names_begin(&names);
    for (const char *c = places; *c != '\0';) {
        char name[72];
        size_t length = strcspn(c, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, c);
        place_id place = graph_find(graph, name);
        enum place_kind kind =
            place == PLACE_NONE ? PLACE_MACHINE : graph_place(graph, place)->kind;
        if (kind == PLACE_GPU)
            probe_names_add(&names, ',', "%s", probe_names_gpu(graph, place));
        else if (kind != PLACE_MODULE)
            probe_names_add(&names, ',', "%.*s", (int)length, c);
        for (place_id gpu = graph_next(graph, PLACE_GPU, 0);
             kind == PLACE_MODULE && gpu != PLACE_NONE; gpu = graph_next(graph, PLACE_GPU, gpu + 1))
            if (graph_place(graph, gpu)->parent == place)
                probe_names_add(&names, ',', "%s", probe_names_gpu(graph, gpu));
        c += length + (c[length] == ',');
    }
    return probe_names_end(&names);
}
