/* Export as a ResourceSlice of Kubernetes' Dynamic Resource Allocation, resource.k8s.io/v1. */
#include "export/formats.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/pairs.h"
#include "export/text.h"

#define DRIVER       "gpu.berth.io"
#define MOST_DEVICES 128
#define TEXT_MOST    64
#define CLASSES      3

/* Makes a DNS label of a host's name: lower case, each other character a dash. "" becomes node. */
static void name_of(char name[64], const char *host)
{
    size_t length = 0;
    for (; *host != '\0' && length < 63; host++) {
        bool is_plain = isalnum((unsigned char)*host) && (unsigned char)*host < 0x80;
        bool is_dot = *host == '.' && length > 0 && isalnum((unsigned char)name[length - 1]) &&
                      isalnum((unsigned char)host[1]);
        if (is_plain || length > 0)
            name[length++] = (char)(is_plain ? tolower((unsigned char)*host) : is_dot ? '.' : '-');
    }
    while (length > 0 && !isalnum((unsigned char)name[length - 1]))
        length--;
    name[length] = '\0';
    if (length == 0)
        strcpy(name, "node");
}

static void put_attribute(struct print *text, const char *name, const char *value)
{
    char cut[TEXT_MOST + 1];
    if (value == NULL || *value == '\0')
        return;
    size_t length = strnlen(value, TEXT_MOST);
    while (value[length] != '\0' && length > 0 && ((unsigned char)value[length] & 0xc0) == 0x80)
        length--;
    snprintf(cut, sizeof cut, "%.*s", (int)length, value);
    print_key(text, name);
    print_open(text, '{');
    print_key(text, "string");
    print_string(text, cut);
    print_close(text, '}');
}

static void put_number(struct print *text, const char *name, int64_t value)
{
    print_key(text, name);
    print_open(text, '{');
    print_key(text, "int");
    print_integer(text, value);
    print_close(text, '}');
}

/* Writes the groups of the fastest classes in which this GPU has a peer. */
static void put_groups(const struct graph *graph, const struct export_pairs *pairs, size_t gpu,
                       size_t *leader, struct print *text)
{
    double least = (double)INFINITY;
    for (int class = 1; class <= CLASSES; class ++) {
        char name[32];
        size_t members = 0;
        least = export_pairs_class(pairs, least);
        if (!isfinite(least))
            return;
        if (!export_pairs_groups(pairs, least, leader))
            continue;
        for (size_t i = 0; i < pairs->count; i++)
            members += leader[i] == leader[gpu];
        if (members < 2)
            continue;
        snprintf(name, sizeof name, "berth.io/pairGroup%d", class);
        put_attribute(text, name, graph->places[pairs->gpu[leader[gpu]]].name);
        snprintf(name, sizeof name, "berth.io/pairGroup%dGBps", class);
        put_number(text, name, (int64_t)(least / 1e9));
    }
}

static void put_attributes(const struct snapshot *snap, const struct export_pairs *pairs,
                           size_t gpu, size_t *leader, struct print *text)
{
    const struct graph *graph = snap->graph;
    const struct place *place = &graph->places[pairs->gpu[gpu]];
    char hardware[9];
    size_t a, b;
    snprintf(hardware, sizeof hardware, "%.8s", graph->fingerprint);
    put_attribute(text, "resource.kubernetes.io/pciBusID", place->pci);
    put_attribute(text, "berth.io/place", place->name);
    put_attribute(text, "berth.io/uuid", place->uuid);
    put_attribute(text, "berth.io/model", place->model);
    put_attribute(text, "berth.io/hardware", hardware);
    put_attribute(text, "berth.io/origin", origin_name(snapshot_origin(snap)));
    if (place->numa != PLACE_NONE) {
        const struct value *host = export_text_rate(snap, place->numa, pairs->gpu[gpu]);
        put_number(text, "berth.io/numaNode", graph->places[place->numa].number);
        if (host != NULL)
            put_number(text, "berth.io/hostGBps", (int64_t)(host->value / 1e9));
    }
    if (!export_pairs_slowest(pairs, gpu, &a, &b))
        return;
    put_number(text, "berth.io/slowestPairGBps",
               (int64_t)(pairs->rate[a * pairs->count + b] / 1e9));
    put_attribute(text, "berth.io/pairSource", pairs->is_measured ? "measured" : "published");
    put_groups(graph, pairs, gpu, leader, text);
}

static void put_device(const struct snapshot *snap, const struct export_pairs *pairs, size_t gpu,
                       size_t *leader, struct print *text)
{
    const struct place *place = &snap->graph->places[pairs->gpu[gpu]];
    print_open(text, '{');
    print_key(text, "name");
    print_string(text, place->name);
    print_key(text, "attributes");
    print_open(text, '{');
    put_attributes(snap, pairs, gpu, leader, text);
    print_close(text, '}');
    if (place->capacity_bytes >= 0) {
        char bytes[24];
        snprintf(bytes, sizeof bytes, "%lld", (long long)place->capacity_bytes);
        print_key(text, "capacity");
        print_open(text, '{');
        print_key(text, "berth.io/memory");
        print_open(text, '{');
        print_key(text, "value");
        print_string(text, bytes);
        print_close(text, '}');
        print_close(text, '}');
    }
    print_close(text, '}');
}

static void put_slice(const struct snapshot *snap, const struct export_pairs *pairs, size_t *leader,
                      struct print *text)
{
    char node[64], name[64 + sizeof DRIVER];
    name_of(node, snap->graph->name);
    snprintf(name, sizeof name, "%s-" DRIVER, node);
    print_open(text, '{');
    print_key(text, "apiVersion");
    print_string(text, "resource.k8s.io/v1");
    print_key(text, "kind");
    print_string(text, "ResourceSlice");
    print_key(text, "metadata");
    print_open(text, '{');
    print_key(text, "name");
    print_string(text, name);
    print_close(text, '}');
    print_key(text, "spec");
    print_open(text, '{');
    print_key(text, "driver");
    print_string(text, DRIVER);
    print_key(text, "nodeName");
    print_string(text, node);
    print_key(text, "pool");
    print_open(text, '{');
    print_key(text, "name");
    print_string(text, node);
    print_key(text, "generation");
    print_integer(text, snap->last_probe_at_s > 0 ? snap->last_probe_at_s : 0);
    print_key(text, "resourceSliceCount");
    print_integer(text, 1);
    print_close(text, '}');
    print_key(text, "devices");
    print_open(text, '[');
    for (size_t i = 0; i < pairs->count; i++)
        put_device(snap, pairs, i, leader, text);
    print_close(text, ']');
    print_close(text, '}');
    print_close(text, '}');
    print_bytes(text, "\n", 1);
}

enum berth_code export_dra(const struct export_input *input, struct print *text,
                           struct berth_err *err)
{
    struct export_pairs pairs;
    bool ok = export_pairs_init(&pairs, input->snap);
    size_t *leader = calloc(pairs.count + 1, sizeof *leader);
    enum berth_code code = BERTH_OK;
    if (!ok || leader == NULL)
        code = err_set(err, BERTH_NO_MEMORY, "no memory for the export");
    else if (pairs.count > MOST_DEVICES)
        code = err_invalid(err, "format", "a ResourceSlice has at most %d devices", MOST_DEVICES);
    else
        put_slice(input->snap, &pairs, leader, text);
    free(leader);
    export_pairs_done(&pairs);
    return code;
}
