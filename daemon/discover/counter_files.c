#include "discover/counter_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE     "/sys/bus/pci/devices/"
#define FILE_BYTES 4096
#define PATH_SIZE  768
#define UNKNOWN    (-1)
#define LANES_MAX  32

static void free_text(char **text) { free(*text); }
static void free_names(char ***names) { files_names_free(*names); }

struct reader {
    const struct files *io;
    struct counters *counters;
    int64_t now_s;
    bool is_out; /* of memory */
};

/* Returns UNKNOWN. */
static int64_t note_garbage(struct reader *reader, const char *path, const char *text)
{
    char shown[64];
    snprintf(shown, sizeof shown, "%.60s", text);
    shown[strcspn(shown, "\n")] = '\0';
    counters_note_garbage(reader->counters, "%.100s says \"%s\"", path, shown);
    return UNKNOWN;
}

/* Parses a decimal number at the end of its line; UNKNOWN when there is none in range. */
static int64_t parse(const char *text)
{
    char *end;
    text += strspn(text, " \t");
    if (text[0] < '0' || text[0] > '9')
        return UNKNOWN;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool ends = end[strspn(end, " \t")] == '\n' || end[strspn(end, " \t")] == '\0';
    return errno == 0 && ends && number <= COUNTERS_VALUE_MAX ? number : UNKNOWN;
}

/* Returns the number in a file, behind the key unless that is "". A file that is absent or cannot
 * be read has none: a switched off interface gives no carrier. */
static int64_t read_number(struct reader *reader, const char *path, const char *key)
{
    char *text __attribute__((cleanup(free_text))) = NULL;
    struct berth_err err = {0};
    enum berth_code code = files_read(reader->io, path, FILE_BYTES, &text, &err);
    reader->is_out = reader->is_out || code == BERTH_NO_MEMORY;
    if (code == BERTH_BAD_DATA)
        return note_garbage(reader, path, "no text");
    if (code != BERTH_OK)
        return UNKNOWN;
    const char *found = key[0] != '\0' ? strstr(text, key) : text;
    int64_t number = found != NULL ? parse(found + strlen(key)) : UNKNOWN;
    return number != UNKNOWN ? number : note_garbage(reader, path, text);
}

static int64_t add(int64_t sum, int64_t more)
{
    return more == UNKNOWN ? sum : sum == UNKNOWN ? more : sum + more;
}

static void enter(struct reader *reader, const char *at, enum counter counter, int64_t value)
{
    if (value != UNKNOWN && value <= COUNTERS_VALUE_MAX)
        reader->is_out =
            !counters_enter(reader->counters, at, counter, value, reader->now_s) || reader->is_out;
}

/* Reads what the device itself saw; its bridge may have other devices below it. */
static void read_aer(struct reader *reader, const char *pci)
{
    static const struct {
        enum counter counter;
        const char *file, *key;
    } files[] = {{COUNTER_AER_CORRECTABLE, "aer_dev_correctable", "TOTAL_ERR_COR "},
                 {COUNTER_AER_NONFATAL, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL "},
                 {COUNTER_AER_FATAL, "aer_dev_fatal", "TOTAL_ERR_FATAL "}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, DEVICE "%.16s/%s", pci, files[i].file);
        enter(reader, pci, files[i].counter, read_number(reader, path, files[i].key));
    }
}

/* Counters of a NIC, summed over its interfaces and ports. */
struct nic {
    int64_t errors, symbol_errors, losses, down;
};

static int64_t read_in(struct reader *reader, const char *folder, const char *file)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%.500s/%s", folder, file);
    return read_number(reader, path, "");
}

static void read_interface(struct reader *reader, const char *folder, struct nic *nic)
{
    nic->errors = add(nic->errors, read_in(reader, folder, "statistics/rx_errors"));
    nic->errors = add(nic->errors, read_in(reader, folder, "statistics/tx_errors"));
    int64_t losses = read_in(reader, folder, "carrier_down_count"),
            carrier = read_in(reader, folder, "carrier");
    bool was_up = read_in(reader, folder, "carrier_up_count") > 0;
    nic->losses = add(nic->losses, losses);
    if (carrier != UNKNOWN)
        nic->down = add(nic->down, carrier == 0 && was_up && losses > 0);
}

/* "4: ACTIVE" is a port's state that carries data; "3: Disabled" a physical state. Its number of
 * lost links tells that it had one. */
static void read_port(struct reader *reader, const char *folder, struct nic *nic)
{
    char path[PATH_SIZE];
    int64_t losses = read_in(reader, folder, "counters/link_downed");
    nic->errors = add(nic->errors, read_in(reader, folder, "counters/port_rcv_errors"));
    nic->errors = add(nic->errors, read_in(reader, folder, "counters/link_error_recovery"));
    nic->symbol_errors = add(nic->symbol_errors, read_in(reader, folder, "counters/symbol_error"));
    nic->losses = add(nic->losses, losses);
    char *state __attribute__((cleanup(free_text))) = NULL,
                *physical __attribute__((cleanup(free_text))) = NULL;
    snprintf(path, sizeof path, "%.500s/state", folder);
    enum berth_code code = files_read(reader->io, path, FILE_BYTES, &state, NULL);
    snprintf(path, sizeof path, "%.500s/phys_state", folder);
    if (code == BERTH_OK)
        code = files_read(reader->io, path, FILE_BYTES, &physical, NULL);
    reader->is_out = reader->is_out || code == BERTH_NO_MEMORY;
    if (code == BERTH_OK)
        nic->down = add(nic->down, losses > 0 && strncmp(state, "4:", 2) != 0 &&
                                       strncmp(physical, "3:", 2) != 0);
}

static void read_ports(struct reader *reader, const char *folder, struct nic *nic)
{
    char ports[PATH_SIZE];
    char **names __attribute__((cleanup(free_names))) = NULL;
    snprintf(ports, sizeof ports, "%.600s/ports", folder);
    if (files_list(reader->io, ports, &names, NULL) != BERTH_OK)
        return;
    for (size_t i = 0; names[i] != NULL; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%.400s/%.255s", ports, names[i]);
        read_port(reader, path, nic);
    }
}

/* Enters the lanes that the device and the port above it both have and do not use. The kernel gives
 * 0 or 255 where it does not know a width. */
static void read_lanes(struct reader *reader, const char *pci)
{
    char folder[PATH_SIZE];
    snprintf(folder, sizeof folder, DEVICE "%.16s", pci);
    int64_t now = read_in(reader, folder, "current_link_width"),
            own = read_in(reader, folder, "max_link_width"),
            above = read_in(reader, folder, "../max_link_width"), most = own < above ? own : above;
    if (now > 0 && most > 0 && now <= LANES_MAX && most <= LANES_MAX)
        enter(reader, pci, COUNTER_NIC_LANES, now < most ? most - now : 0);
}

static void read_nic(struct reader *reader, const char *pci)
{
    static const struct {
        const char *folder;
        void (*read)(struct reader *reader, const char *folder, struct nic *nic);
    } kinds[] = {{"net", read_interface}, {"infiniband", read_ports}};
    struct nic nic = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};
    for (size_t kind = 0; kind < 2; kind++) {
        char folder[PATH_SIZE];
        char **names __attribute__((cleanup(free_names))) = NULL;
        snprintf(folder, sizeof folder, DEVICE "%.16s/%s", pci, kinds[kind].folder);
        if (files_list(reader->io, folder, &names, NULL) != BERTH_OK)
            continue;
        for (size_t i = 0; names[i] != NULL; i++) {
            char path[PATH_SIZE];
            snprintf(path, sizeof path, "%.100s/%.255s", folder, names[i]);
            kinds[kind].read(reader, path, &nic);
        }
    }
    enter(reader, pci, COUNTER_NIC_ERRORS, nic.errors);
    enter(reader, pci, COUNTER_NIC_SYMBOL_ERRORS, nic.symbol_errors);
    enter(reader, pci, COUNTER_NIC_LINK_LOSSES, nic.losses);
    enter(reader, pci, COUNTER_NIC_DOWN, nic.down);
    read_lanes(reader, pci);
}

/* Enters the facts of the GPU's driver that are counters, as of the time of the facts. */
static void enter_facts(struct reader *reader, const struct graph *graph, const struct place *gpu)
{
    const char *at = place_detail(&graph->places[0], "facts_at_s");
    int64_t at_s = at != NULL ? parse(at) : UNKNOWN;
    for (int i = 0; at_s > 0 && at_s <= reader->now_s && i < COUNTER_COUNT; i++) {
        const char *name = counters_info((enum counter)i)->name, *text = place_detail(gpu, name);
        if (text == NULL)
            continue;
        int64_t value = parse(text);
        if (value == UNKNOWN)
            note_garbage(reader, name, text);
        else
            reader->is_out =
                !counters_enter(reader->counters, gpu->pci, (enum counter)i, value, at_s) ||
                reader->is_out;
    }
}

/* Forgets the counters of another boot. */
static void follow_boot(struct reader *reader)
{
    char *text __attribute__((cleanup(free_text))) = NULL;
    struct counters *counters = reader->counters;
    if (files_read(reader->io, "/proc/sys/kernel/random/boot_id", 256, &text, NULL) != BERTH_OK)
        return;
    text[strcspn(text, "\n")] = '\0';
    if (strcmp(counters->boot_id, text) == 0)
        return;
    counters_done(counters);
    snprintf(counters->boot_id, sizeof counters->boot_id, "%.39s", text);
}

/* Forgets the counters of devices that are not there, so that they take nobody's room. */
static void drop_absent(struct counters *counters, const struct graph *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < counters->count; i++)
        if (graph_find(graph, counters->value[i].at) != PLACE_NONE)
            counters->value[kept++] = counters->value[i];
    counters->count = kept;
}

bool counter_files_read(const struct files *io, const struct graph *graph, int64_t now_s,
                        struct counters *counters)
{
    struct reader reader = {.io = io, .counters = counters, .now_s = now_s};
    follow_boot(&reader);
    drop_absent(counters, graph);
    counters->garbage = 0;
    counters->first_garbage[0] = '\0';
    for (size_t i = 0; i < graph->place_count; i++) {
        const struct place *place = &graph->places[i];
        if (place->pci == NULL || (place->kind != PLACE_GPU && place->kind != PLACE_NIC) ||
            place_detail(place, "partition") != NULL)
            continue;
        read_aer(&reader, place->pci);
        if (place->kind == PLACE_NIC)
            read_nic(&reader, place->pci);
        else
            enter_facts(&reader, graph, place);
    }
    return !reader.is_out;
}
