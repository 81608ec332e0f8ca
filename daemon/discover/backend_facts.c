/* Device and link records of a gpu probe or of the driver's procfs files: the driver's own facts.
 * Broken lines are skipped and counted. */
#include "discover/backend.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/record.h"

#define NAMES_MAX   256 /* devices and switches; no node has as many */
#define DETAILS_MAX 64

/* Places by the probe's names; its gpu0 need not be ours. */
struct names {
    struct {
        char name[24];
        place_id place;
    } item[NAMES_MAX];
    size_t count;
    size_t added;    /* devices unknown to sources that could have reported them */
    size_t slices;   /* slices unknown to all other sources */
    char vendor[16]; /* vendor of devices whose records name none */
};

static place_id named(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->item[i].name, name) == 0)
            return names->item[i].place;
    return PLACE_NONE;
}

/* names has room. */
static void name_place(struct names *names, const char *name, place_id place)
{
    snprintf(names->item[names->count].name, sizeof names->item[0].name, "%s", name);
    names->item[names->count++].place = place;
}

static bool is_named(const struct names *names, place_id place)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->item[i].place == place)
            return true;
    return false;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

/* Returns the gpu that another source found: by address, else by uuid, else the next one without
 * either. */
static place_id find_gpu(struct draft *draft, const struct names *names, uint64_t pci,
                         const char *uuid)
{
    for (int criterion = 0; criterion < 3; criterion++)
        for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
             gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1)) {
            const struct place *place = draft_place(draft, gpu);
            if (is_named(names, gpu))
                continue;
            if (criterion == 0   ? pci != PCI_NONE && draft_extra(draft, gpu)->pci == pci
                : criterion == 1 ? place->uuid != NULL && strcmp(place->uuid, uuid) == 0
                                 : place->pci == NULL && place->uuid == NULL) {
                char label[64];
                if (criterion > 0 && pci != PCI_NONE && place->pci != NULL)
                    draft_disagree(draft,
                                   "The driver places %s elsewhere than hwloc does, at %s; kept is "
                                   "what the driver says.",
                                   uuid, draft_label(draft, gpu, label));
                return gpu;
            }
        }
    return PLACE_NONE;
}

/* Attaches a slice (MIG) to a device that exists already: same locality, and one module. */
static void join_sibling(struct draft *draft, place_id gpu, uint64_t pci)
{
    for (place_id other = graph_next(draft->graph, PLACE_GPU, 0); other != PLACE_NONE;
         other = graph_next(draft->graph, PLACE_GPU, other + 1)) {
        if (other == gpu || pci == PCI_NONE || draft_extra(draft, other)->pci != pci)
            continue;
        if (draft_place(draft, other)->cpus != NULL)
            draft_cpus(draft, gpu, draft_place(draft, other)->cpus);
        draft_extra(draft, gpu)->reported_numa = draft_extra(draft, other)->reported_numa;
        draft_extra(draft, gpu)->pcie_bytes_per_s = draft_extra(draft, other)->pcie_bytes_per_s;
        draft_module(draft, (place_id[]){other, gpu}, 2, DRAFT_FACTS);
        return;
    }
}

/* Adds all fields of a device record beyond those of a place. */
static void add_details(struct draft *draft, place_id gpu, json_t *object)
{
    static const char *const fields[] = {"record", "gpu",   "pci",   "uuid",
                                         "model",  "bytes", "minor", "render_node"};
    size_t count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        bool is_field = false;
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
            is_field = is_field || strcmp(key, fields[i]) == 0;
        if (is_field || strlen(key) > 40 || count++ >= DETAILS_MAX)
            continue;
        if (json_is_string(value))
            draft_detail(draft, gpu, key, "%s", json_string_value(value));
        else if (json_is_integer(value))
            draft_detail(draft, gpu, key, "%lld", (long long)json_integer_value(value));
    }
}

/* False when there are more devices than any node has, which would take time for each other one. */
static bool add_device(struct draft *draft, struct names *names, const struct record *record)
{
    json_t *object = record->object;
    uint64_t pci = pci_parse(text_of(object, "pci"));
    const char *uuid = text_of(object, "uuid");
    if (named(names, record->device.gpu) != PLACE_NONE)
        return true;
    if (names->count == NAMES_MAX)
        return false;
    const char *vendor =
        text_of(object, "vendor")[0] != '\0' ? text_of(object, "vendor") : names->vendor;
    place_id gpu = find_gpu(draft, names, pci, uuid);
    if (gpu == PLACE_NONE) {
        gpu = draft_add(draft, PLACE_GPU, 0, DRAFT_FACTS);
        draft_detail(draft, gpu, "vendor", "%s", vendor);
        join_sibling(draft, gpu, pci);
        bool is_slice = strcmp(text_of(object, "partition"), "mig") == 0;
        names->added += !is_slice;
        names->slices += is_slice;
    }
    name_place(names, record->device.gpu, gpu);
    draft_pci(draft, gpu, pci);
    struct place *place = draft_place(draft, gpu);
    draft_text(draft, &place->uuid, uuid);
    draft_text(draft, &place->render_node, text_of(object, "render_node"));
    draft_report_model(draft, gpu, text_of(object, "model"), DRAFT_FACTS);
    json_int_t bytes = json_integer_value(json_object_get(object, "bytes"));
    draft_report_memory(draft, gpu, bytes > 0 ? (int64_t)bytes : -1, DRAFT_FACTS);
    json_t *minor = json_object_get(object, "minor");
    if (json_is_integer(minor) && json_integer_value(minor) >= 0 &&
        json_integer_value(minor) < 65536)
        place->minor = (int32_t)json_integer_value(minor);
    add_details(draft, gpu, object);
    return true;
}

/* Resolves a name of a record: "numa3" and "package1" are the node's; gpus and switches the probe's
 * own. */
static place_id end_of(struct draft *draft, struct names *names, const char *name)
{
    size_t letters = strcspn(name, "0123456789");
    char kind[16], *end;
    long number = strtol(name + letters, &end, 10);
    place_id place = named(names, name);
    if (place != PLACE_NONE || letters >= sizeof kind || name[letters] == '\0' || *end != '\0' ||
        number < 0 || number > 65535)
        return place;
    snprintf(kind, sizeof kind, "%.*s", (int)letters, name);
    if (strcmp(kind, "numa") == 0)
        return draft_numbered(draft, PLACE_NUMA, (int32_t)number);
    if (strcmp(kind, "package") == 0)
        return draft_nth(draft, PLACE_PACKAGE, (size_t)number);
    if (strcmp(kind, "switch") != 0 || names->count == NAMES_MAX)
        return PLACE_NONE;
    place = draft_add(draft, PLACE_SWITCH, 0, DRAFT_FACTS);
    /* the driver seldom names it: several switches may look like this one */
    draft_detail(draft, place, "known_to", "driver");
    name_place(names, name, place);
    return place;
}

static bool add_link(struct draft *draft, struct names *names, const struct record *record)
{
    enum link_kind kind;
    enum link_state state = LINK_UNKNOWN;
    json_t *object = record->object, *speed = json_object_get(object, "nominal_bytes_per_s");
    json_int_t width = json_integer_value(json_object_get(object, "width"));
    place_id from = end_of(draft, names, record->link.from),
             to = end_of(draft, names, record->link.to);
    if (from == PLACE_NONE || to == PLACE_NONE || !link_kind_parse(text_of(object, "kind"), &kind))
        return false;
    link_state_parse(text_of(object, "state"), &state);
    double bytes_per_s = json_number_value(speed);
    draft_link(draft, from, to, kind, width > 0 && width < 1000 ? (int32_t)width : 0,
               bytes_per_s > 0 ? bytes_per_s : (double)NAN, state, DRAFT_FACTS);
    return true;
}

static void add_run(struct draft *draft, struct names *names, const struct record *record)
{
    const char *backend = record->run.backend == NULL ? "" : record->run.backend;
    snprintf(names->vendor, sizeof names->vendor, "%s",
             strcmp(backend, "cuda") == 0  ? "nvidia"
             : strcmp(backend, "hip") == 0 ? "amd"
                                           : "");
    if (record->run.started_at > 0)
        draft_detail(draft, 0, "facts_at_s", "%lld", (long long)record->run.started_at);
    const char *key;
    json_t *value;
    json_object_foreach(record->run.conditions, key, value)
    {
        if (json_is_string(value) &&
            (strcmp(key, "driver") == 0 || strcmp(key, "cuda") == 0 || strcmp(key, "rocm") == 0))
            draft_software(draft, key, json_string_value(value));
        /* _why, _trouble */
        bool is_why = strncmp(key, "nvidia_", 7) == 0 || strncmp(key, "amd_", 4) == 0;
        if (json_is_string(value) && is_why)
            draft_detail(draft, 0, key, "%s", json_string_value(value));
    }
}

/* True when the records cover gpus of this one's vendor. */
static bool is_of_their_vendor(struct draft *draft, const struct names *names, place_id gpu)
{
    const char *vendor = place_detail(draft_place(draft, gpu), "vendor");
    bool is_theirs = vendor != NULL && strcmp(vendor, names->vendor) == 0;
    for (size_t i = 0; vendor != NULL && !is_theirs && i < names->count; i++) {
        const char *other = place_detail(draft_place(draft, names->item[i].place), "vendor");
        is_theirs = other != NULL && strcmp(vendor, other) == 0 &&
                    draft_place(draft, names->item[i].place)->kind == PLACE_GPU;
    }
    return is_theirs;
}

static void compare_counts(struct draft *draft, const struct names *names)
{
    size_t others = 0;
    for (place_id gpu = graph_next(draft->graph, PLACE_GPU, 0); gpu != PLACE_NONE;
         gpu = graph_next(draft->graph, PLACE_GPU, gpu + 1))
        others += !is_named(names, gpu) && is_of_their_vendor(draft, names, gpu);
    if (others > 0)
        draft_disagree(draft,
                       "The driver does not show %zu gpus that other sources do; kept are all.",
                       others);
    if (names->added > 0 && graph_count(draft->graph, PLACE_GPU) > names->added + names->slices)
        draft_disagree(draft, "The driver shows %zu gpus that other sources do not; kept are all.",
                       names->added);
}

/* Links name devices, so all devices come first. */
static enum berth_code pass(const char *facts, bool links, struct draft *draft, struct names *names,
                            size_t *broken, struct berth_err *first)
{
    for (const char *line = facts; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        struct record record;
        struct berth_err own = {0};
        enum berth_code code =
            length == 0 ? BERTH_ABSENT : record_parse(line, length, &record, &own);
        if (code == BERTH_NO_MEMORY)
            return code;
        if (code == BERTH_OK) {
            if (!links && record.kind == RECORD_RUN)
                add_run(draft, names, &record);
            else if (!links && record.kind == RECORD_DEVICE && !add_device(draft, names, &record))
                err_set(&own, BERTH_BAD_DATA, "there are more than %d devices", NAMES_MAX);
            else if (links && record.kind == RECORD_LINK && !add_link(draft, names, &record))
                err_set(
                    &own, BERTH_BAD_DATA,
                    "a link from %.24s to %.24s, of a kind or between places that there are not",
                    record.link.from, record.link.to);
            record_done(&record);
        }
        /* a line that cannot be parsed is counted in one pass only */
        if (own.code != BERTH_OK && (links || code == BERTH_OK)) {
            ++*broken;
            if (first->code == BERTH_OK)
                *first = own;
        }
        line += length + (line[length] == '\n');
    }
    return BERTH_OK;
}

static enum berth_code discover(const struct backend_input *input, struct draft *draft,
                                struct berth_err *err)
{
    if (input->facts == NULL || input->facts[0] == '\0')
        return BERTH_ABSENT;
    struct names *names = calloc(1, sizeof *names);
    struct berth_err first = {0};
    size_t broken = 0;
    if (names == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the facts");
    enum berth_code code = pass(input->facts, false, draft, names, &broken, &first);
    if (code == BERTH_OK)
        code = pass(input->facts, true, draft, names, &broken, &first);
    if (code == BERTH_OK && (draft->graph->facts = strdup(input->facts)) == NULL)
        code = BERTH_NO_MEMORY;
    if (code != BERTH_OK)
        err_set(err, code, "no memory for the facts");
    compare_counts(draft, names);
    if (broken > 0)
        draft_disagree(draft, "%zu lines of the gpu probe's facts are left out; the first: %s.",
                       broken, first.detail);
    free(names);
    return code;
}

const struct backend backend_facts = {.name = "facts", .discover = discover};
