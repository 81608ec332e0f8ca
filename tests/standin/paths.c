/*
 * paths NODE: what a description of a virtual node says, for tests that compare measurements with
 * it. Reads sets of flows from standard input, one a line, each "MECHANISM HOW KIND FROM TO"
 * (places by PCI address or "numa3"), separated by ";". Writes for each set a line with the bytes/s
 * that each flow gets while all move, and the ns before the first byte of each: "2.83e10
 * 9000;2.83e10 9000". A copy within a kernel, of what it reads to where it writes, is "MECHANISM
 * copy KIND FROM TO": from its own or the host's memory, by FROM, or by TO when FROM is the host's.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static int place_of(const struct model *model, const char *name)
{
    int number;
    for (int i = 0; i < model->device_count; i++)
        if (strcmp(model->device[i].pci, name) == 0)
            return i;
    return sscanf(name, "numa%d", &number) == 1 ? model_numa_place(model, number) : -1;
}

static void add(struct share_flow *flow, double *ns, const struct model_path *path)
{
    flow->limit = fmin(flow->limit, path->limit);
    *ns = fmax(*ns, path->ns);
    for (size_t i = 0; i < path->use_count; i++) {
        size_t k = 0;
        while (k < flow->use_count && flow->use[k].resource != path->use[i].resource)
            k++;
        flow->use_count += k == flow->use_count;
        flow->use[k].resource = path->use[i].resource;
        flow->use[k].weight += path->use[i].weight;
    }
}

static bool read_flow(const struct model *model, const char *text, struct share_flow *ret_flow,
                      double *ret_ns)
{
    static const char *const kinds[MODEL_KIND_COUNT] = {"pinned", "coherent", "noncoherent",
                                                        "pageable", "managed"};
    char mechanism[16], how[16], kind_name[16], from_name[32], to_name[32];
    enum model_kind kind = 0;
    if (sscanf(text, "%15s %15s %15s %31s %31s", mechanism, how, kind_name, from_name, to_name) !=
        5)
        return false;
    int from = place_of(model, from_name), to = place_of(model, to_name);
    while (kind < MODEL_KIND_COUNT && strcmp(kinds[kind], kind_name) != 0)
        kind++;
    if (from < 0 || to < 0 || kind == MODEL_KIND_COUNT)
        return false;
    *ret_flow = (struct share_flow){
        .limit = INFINITY,
        .rank = (unsigned)(from < model->device_count &&
                                   (strcmp(how, "read") != 0 || to >= model->device_count ||
                                    strcmp(mechanism, "kernel") == 0)
                               ? from
                               : to)};
    *ret_ns = 0;
    if (strcmp(mechanism, "engine") == 0)
        add(ret_flow, ret_ns,
            model_path(model, MODEL_ENGINE, strcmp(how, "read") == 0 ? MODEL_READ : MODEL_WRITE,
                       kind, from, to));
    else if (strcmp(how, "copy") == 0) {
        int device = from < model->device_count ? from : to;
        add(ret_flow, ret_ns, model_path(model, MODEL_KERNEL, MODEL_READ, kind, device, from));
        add(ret_flow, ret_ns, model_path(model, MODEL_KERNEL, MODEL_WRITE, kind, device, to));
    } else
        add(ret_flow, ret_ns,
            model_path(model, MODEL_KERNEL, strcmp(how, "read") == 0 ? MODEL_READ : MODEL_WRITE,
                       kind, from, to));
    return true;
}

int main(int argc, char **argv)
{
    enum { FLOWS = 128 };
    struct model *model = NULL;
    char why[256] = "which description?";
    if (argc != 2 || !model_read(argv[1], &model, why, sizeof why)) {
        fprintf(stderr, "paths: %s\n", why);
        return 64;
    }
    struct share_room *room = calloc(model->resource_count, sizeof *room);
    char *line = NULL;
    size_t size = 0;
    while (room != NULL && getline(&line, &size, stdin) > 0) {
        struct share_flow flows[FLOWS], *list[FLOWS];
        double ns[FLOWS];
        size_t count = 0;
        char *save = NULL;
        for (char *text = strtok_r(line, ";\n", &save); text != NULL && count < FLOWS;
             text = strtok_r(NULL, ";\n", &save), count++) {
            list[count] = &flows[count];
            if (!read_flow(model, text, &flows[count], &ns[count])) {
                fprintf(stderr, "paths: '%s' is no flow here\n", text);
                free(line);
                free(room);
                model_free(model);
                return 64;
            }
        }
        share_rates(model->discipline, model->resources, model->resource_count, room, list, count);
        for (size_t i = 0; i < count; i++)
            printf("%s%.9g %.9g", i == 0 ? "" : ";", flows[i].rate, ns[i]);
        printf("\n");
    }
    free(line);
    free(room);
    model_free(model);
    return 0;
}
