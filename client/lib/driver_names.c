#include "lib/driver_names.h"

#include <string.h>

static void keep(char to[24], const char *name)
{
    size_t length = name == NULL ? 24 : strlen(name);
    if (length < 24)
        memcpy(to, name, length + 1);
}

int lib_driver_names_ask(struct berth *berth, const struct lib_driver *driver,
                         struct lib_driver_names *ret_names)
{
    struct berth_node *node = NULL;
    struct lib_driver_names names = {0};
    int status = berth_get_node(berth, &node);
    for (size_t i = 0; status == BERTH_DONE && i < node->place_count; i++) {
        const struct berth_place *place = &node->places[i];
        struct lib_pci pci;
        if (place->kind != BERTH_PLACE_GPU || !lib_driver_pci(place->pci, &pci))
            continue;
        for (int d = 0; d < driver->count; d++)
            if (memcmp(&driver->place[d], &pci, sizeof pci) == 0) {
                keep(names.gpu[d], place->name);
                keep(names.numa[d], place->numa);
            }
    }
    berth_node_free(node);
    if (status == BERTH_DONE)
        *ret_names = names;
    return status;
}

int lib_driver_names_find(const struct lib_driver_names *names, const char *place)
{
    for (int d = 0; *place != '\0' && d < LIB_DEVICES_MAX; d++)
        if (strcmp(names->gpu[d], place) == 0)
            return d;
    for (int d = 0; *place != '\0' && d < LIB_DEVICES_MAX; d++)
        if (strcmp(names->numa[d], place) == 0)
            return d;
    return -1;
}
