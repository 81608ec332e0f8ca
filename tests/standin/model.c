#include "model.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_parts.h"

#define WORDS_MAX 24

bool model_fail(struct model_reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reader->why, sizeof reader->why, format, args);
    va_end(args);
    return false;
}

int model_places(const struct model *model) { return model->device_count + model->numa_count; }

int model_numa_place(const struct model *model, int number)
{
    for (int i = 0; i < model->numa_count; i++)
        if (model->numa[i].number == number)
            return model->device_count + i;
    return -1;
}

int model_owner(const struct model *model, int place)
{
    for (int i = 0; place >= model->device_count && i < model->device_count; i++)
        if (model->device[i].memory_numa == model->numa[place - model->device_count].number)
            return i;
    return place;
}

const struct model_path *model_path(const struct model *model, enum model_mechanism mechanism,
                                    enum model_how how, enum model_kind kind, int from, int to)
{
    return &model->paths[model_index(model, mechanism, how, kind, from, to)];
}

double model_chase_ns(const struct model *model, int device, int place, uint64_t bytes)
{
    const struct model_level *level = model->chase[device][place];
    while (level->bytes != 0 && level->bytes < bytes)
        level++;
    return level->ns;
}

int model_resource(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->resource_count; i++)
        if (strcmp(model->resource_names[i], name) == 0)
            return (int)i;
    return -1;
}

bool model_resource_add(struct model_reader *reader, const char *name, double capacity,
                        struct share_resource **ret_resource)
{
    struct model *model = reader->model;
    size_t count = model->resource_count + 1;
    void *resources = realloc(model->resources, count * sizeof *model->resources);
    if (resources != NULL)
        model->resources = resources;
    void *names = realloc(model->resource_names, count * sizeof *model->resource_names);
    if (names != NULL)
        model->resource_names = names;
    if (resources == NULL || names == NULL)
        return model_fail(reader, "out of memory");
    if (model_resource(model, name) >= 0)
        return model_fail(reader, "there are two resources '%s'", name);
    if (!(capacity > 0))
        return model_fail(reader, "resource '%s' has no capacity", name);
    snprintf(model->resource_names[count - 1], sizeof *model->resource_names, "%.31s", name);
    model->resources[count - 1] = (struct share_resource){.capacity = capacity};
    model->resource_count = count;
    if (ret_resource != NULL)
        *ret_resource = &model->resources[count - 1];
    return true;
}

/* "resource port{0-3}.up 28.3e9 2:50e9": several alike. */
static bool read_resource(struct model_reader *reader, char **words, size_t count)
{
    int low = 0, high = 0, length = 0;
    char *brace = count < 3 ? NULL : strchr(words[1], '{');
    if (count < 3)
        return model_fail(reader, "resource NAME BYTES_PER_S [FLOWS:BYTES_PER_S]...");
    if (brace != NULL && (sscanf(brace, "{%d-%d}%n", &low, &high, &length) != 2 || length == 0))
        return model_fail(reader, "'%s' is not NAME{0-3}", words[1]);
    for (int i = low; i <= high; i++) {
        char name[80];
        struct share_resource *resource;
        if (brace == NULL)
            snprintf(name, sizeof name, "%.60s", words[1]);
        else
            snprintf(name, sizeof name, "%.*s%d%.20s",
                     (int)(brace - words[1] < 30 ? brace - words[1] : 30), words[1], i,
                     brace + length);
        if (!model_resource_add(reader, name, strtod(words[2], NULL), &resource))
            return false;
        for (size_t k = 3; k < count; k++) {
            char *rate;
            unsigned flows = (unsigned)strtoul(words[k], &rate, 10);
            if (*rate != ':' || resource->step_count == SHARE_STEPS_MAX)
                return model_fail(reader, "'%s' is not FLOWS:BYTES_PER_S, or one too many",
                                  words[k]);
            resource->step[resource->step_count].flows = flows;
            resource->step[resource->step_count++].capacity = strtod(rate + 1, NULL);
        }
    }
    return true;
}

static bool read_device(struct model_reader *reader, char **words, size_t count)
{
    struct model *model = reader->model;
    /* what "devices" said, until the last one is filled */
    struct model_device *all = &model->device[MODEL_DEVICES_MAX - 1];
    bool is_one = strcmp(words[0], "device") == 0;
    if (reader->drafts != NULL)
        return model_fail(reader, "devices come before paths");
    if (is_one && (count < 2 || atoi(words[1]) != model->device_count ||
                   model->device_count == MODEL_DEVICES_MAX - 1))
        return model_fail(reader, "devices are numbered from 0, at most %d", MODEL_DEVICES_MAX - 1);
    struct model_device device = *all;
    for (size_t i = is_one ? 2 : 1; i < count; i++) {
        static const struct {
            const char *name;
            size_t offset;
        } numbers[] = {
            {"numa", offsetof(struct model_device, numa)},
            {"memory_numa", offsetof(struct model_device, memory_numa)},
            {"module", offsetof(struct model_device, module)},
            {"major", offsetof(struct model_device, major)},
            {"minor", offsetof(struct model_device, minor)},
            {"multiprocessors", offsetof(struct model_device, multiprocessors)},
            {"threads", offsetof(struct model_device, threads)},
            {"khz", offsetof(struct model_device, khz)},
            {"l2", offsetof(struct model_device, l2)},
            {"engines", offsetof(struct model_device, engines)},
            {"integrated", offsetof(struct model_device, integrated)},
            {"managed", offsetof(struct model_device, managed)},
            {"pageable", offsetof(struct model_device, pageable)},
            {"ats", offsetof(struct model_device, ats)},
        };
        char *value = strchr(words[i], '=');
        bool known = value != NULL;
        if (value == NULL)
            return model_fail(reader, "'%s' is not KEY=VALUE", words[i]);
        *value++ = '\0';
        if (strcmp(words[i], "pci") == 0)
            snprintf(device.pci, sizeof device.pci, "%.15s", value);
        else if (strcmp(words[i], "uuid") == 0)
            snprintf(device.uuid, sizeof device.uuid, "%.47s", value);
        else if (strcmp(words[i], "model") == 0) {
            snprintf(device.model, sizeof device.model, "%.63s", value);
            for (char *c = device.model; *c != '\0'; c++)
                *c = *c == '_' ? ' ' : *c;
        } else if (strcmp(words[i], "bytes") == 0)
            device.bytes = strtoull(value, NULL, 10);
        else {
            known = false;
            for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
                if (strcmp(words[i], numbers[k].name) == 0) {
                    *(int *)((char *)&device + numbers[k].offset) = atoi(value);
                    known = true;
                }
        }
        if (!known)
            return model_fail(reader, "a device has no '%s'", words[i]);
    }
    if (is_one)
        model->device[model->device_count++] = device;
    else
        *all = device;
    return true;
}

static bool read_link(struct model_reader *reader, char **words, size_t count)
{
    char name[32];
    if (count != 4)
        return model_fail(reader, "link FROM TO BYTES_PER_S");
    snprintf(name, sizeof name, "link.%d.%d", atoi(words[1]), atoi(words[2]));
    if (!model_resource_add(reader, name, strtod(words[3], NULL), NULL))
        return false;
    snprintf(name, sizeof name, "link.%d.%d", atoi(words[2]), atoi(words[1]));
    return model_resource_add(reader, name, strtod(words[3], NULL), NULL);
}

/* "route 1 0 6 7": from 1 to 7 over 0 and 6, and back. */
static bool read_route(struct model_reader *reader, char **words, size_t count)
{
    int hop[MODEL_HOPS_MAX];
    size_t hops = count - 1;
    if (hops < 2 || hops > MODEL_HOPS_MAX)
        return model_fail(reader, "route DEVICE DEVICE..., at most %d", MODEL_HOPS_MAX);
    for (size_t i = 0; i < hops; i++)
        if ((hop[i] = atoi(words[i + 1])) < 0 || hop[i] >= reader->model->device_count)
            return model_fail(reader, "there is no device %s", words[i + 1]);
    int *there = reader->route[hop[0]][hop[hops - 1]], *back = reader->route[hop[hops - 1]][hop[0]];
    for (size_t i = 0; i < MODEL_HOPS_MAX; i++) {
        there[i] = i < hops ? hop[i] : -1;
        back[i] = i < hops ? hop[hops - 1 - i] : -1;
    }
    return true;
}

/* "chase gpu own 4194304:200 700": dependent loads of each device in each memory that fits. */
static bool read_chase(struct model_reader *reader, char **words, size_t count)
{
    struct model *model = reader->model;
    if (count < 4 || count - 3 > MODEL_LEVELS_MAX)
        return model_fail(reader, "chase FROM TO [BYTES:NS]... NS");
    for (int from = 0; from < model->device_count; from++)
        for (int to = 0; to < model_places(model); to++) {
            if (!model_fits(model, words[1], from, to) || !model_fits(model, words[2], to, from))
                continue;
            for (size_t i = 3; i < count; i++) {
                char *colon = strchr(words[i], ':');
                struct model_level *level = &model->chase[from][to][i - 3];
                level->bytes = colon == NULL ? 0 : strtoull(words[i], NULL, 10);
                level->ns = strtod(colon == NULL ? words[i] : colon + 1, NULL);
            }
        }
    return true;
}

/* "pingpong gpu peer 1600 1500 1400": one round with the flags in from's memory, in to's, each in
 * its reader's. */
static bool read_pingpong(struct model_reader *reader, char **words, size_t count)
{
    struct model *model = reader->model;
    if (count != 3 + MODEL_FLAG_COUNT)
        return model_fail(reader, "pingpong FROM TO NS NS NS");
    for (int from = 0; from < model_places(model); from++)
        for (int to = 0; to < model->device_count; to++)
            for (int flag = 0; flag < MODEL_FLAG_COUNT; flag++)
                if (model_fits(model, words[1], from, to) && model_fits(model, words[2], to, from))
                    model->pingpong[from][to][flag] = strtod(words[3 + flag], NULL);
    return true;
}

static bool read_fault(struct model_reader *reader, char **words, size_t count)
{
    static const char *const names[] = {"none", "hang", "stuck",  "memory",
                                        "peer", "lost", "sticky", "unsupported"};
    struct model *model = reader->model;
    void *faults = realloc(model->faults, (model->fault_count + 1) * sizeof *model->faults);
    if (faults == NULL)
        return model_fail(reader, "out of memory");
    model->faults = faults;
    if (count != 5)
        return model_fail(reader, "fault CALL NTH DEVICE KIND");
    struct model_planned_fault *fault = &model->faults[model->fault_count];
    *fault =
        (struct model_planned_fault){.nth = (unsigned)strtoul(words[2], NULL, 10),
                                     .device = strcmp(words[3], "*") == 0 ? -1 : atoi(words[3])};
    snprintf(fault->call, sizeof fault->call, "%.39s", words[1]);
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (strcmp(words[4], names[i]) == 0)
            fault->fault = (enum model_fault)i;
    if (fault->fault == MODEL_FAULT_NONE)
        return model_fail(reader, "'%s' is no kind of fault", words[4]);
    model->fault_count++;
    return true;
}

static bool read_call(struct model_reader *reader, const char *name, const char *ns)
{
    static const char *const names[MODEL_CALL_COUNT] = {"init",   "open",   "alloc", "copy",
                                                        "launch", "event",  "sync",  "query",
                                                        "clock",  "device", "other"};
    for (int i = 0; i < MODEL_CALL_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            reader->model->call_ns[i] = strtod(ns, NULL);
            return true;
        }
    return model_fail(reader, "'%s' is no group of calls", name);
}

static bool read_setting(struct model_reader *reader, char **words, size_t count)
{
    static const char *const disciplines[] = {"maxmin", "proportional", "unfair"};
    struct model *model = reader->model;
    const char *key = words[0], *value = count > 1 ? words[1] : "";
    if (strcmp(key, "name") == 0 && count == 2)
        snprintf(model->name, sizeof model->name, "%.31s", value);
    else if (strcmp(key, "api") == 0 && (strcmp(value, "cuda") == 0 || strcmp(value, "hip") == 0))
        snprintf(model->api, sizeof model->api, "%.7s", value);
    else if (strcmp(key, "driver") == 0)
        model->driver = atoi(value);
    else if (strcmp(key, "numa") == 0 && count == 4 && model->numa_count < MODEL_NUMAS_MAX &&
             reader->drafts == NULL) {
        model->numa[model->numa_count].number = atoi(value);
        model->numa[model->numa_count].bytes = strtoull(words[2], NULL, 10);
        model->numa[model->numa_count++].free_bytes = strtoull(words[3], NULL, 10);
    } else if (strcmp(key, "noise") == 0 && count == 3) {
        model->noise = strtod(value, NULL);
        model->seed = strtoull(words[2], NULL, 10);
    } else if (strcmp(key, "flops") == 0)
        model->flops = strtod(value, NULL);
    else if (strcmp(key, "event") == 0)
        model->event_ns = strtod(value, NULL);
    else if (strcmp(key, "wait") == 0)
        model->wait_ns = strtod(value, NULL);
    else if (strcmp(key, "wake") == 0)
        model->wake_ns = strtod(value, NULL);
    else if (strcmp(key, "migrate") == 0)
        model->migrate = strtod(value, NULL);
    else if (strcmp(key, "bytes") == 0)
        model->bytes_max = strtoull(value, NULL, 10);
    else if (strcmp(key, "call") == 0 && count == 3)
        return read_call(reader, value, words[2]);
    else if (strcmp(key, "nopeer") == 0 && count == 3 && atoi(value) < MODEL_DEVICES_MAX &&
             atoi(words[2]) < MODEL_DEVICES_MAX)
        model->no_peer[atoi(value)][atoi(words[2])] = true;
    else if (strcmp(key, "discipline") == 0) {
        for (int i = 0; i < 3; i++)
            if (strcmp(value, disciplines[i]) == 0) {
                model->discipline = (enum share_discipline)i;
                return true;
            }
        return model_fail(reader, "'%s' is no way of sharing", value);
    } else
        return model_fail(reader, "'%s' is not understood", key);
    return true;
}

static bool read_file(struct model_reader *reader, const char *path, int depth);

static bool read_line(struct model_reader *reader, const char *path, char *line, int depth)
{
    static const struct {
        const char *name;
        bool (*read)(struct model_reader *reader, char **words, size_t count);
    } kinds[] = {{"device", read_device}, {"devices", read_device},    {"resource", read_resource},
                 {"link", read_link},     {"route", read_route},       {"path", model_paths_line},
                 {"chase", read_chase},   {"pingpong", read_pingpong}, {"fault", read_fault}};
    char *words[WORDS_MAX], *save = NULL;
    size_t count = 0;
    line[strcspn(line, "#\n")] = '\0';
    for (char *word = strtok_r(line, " \t", &save); word != NULL;
         word = strtok_r(NULL, " \t", &save)) {
        if (count == WORDS_MAX)
            return model_fail(reader, "more than %d words", WORDS_MAX);
        words[count++] = word;
    }
    if (count == 0)
        return true;
    if (strcmp(words[0], "include") == 0 && count == 2) {
        char other[512];
        const char *slash = words[1][0] == '/' ? NULL : strrchr(path, '/');
        snprintf(other, sizeof other, "%.*s%s", slash == NULL ? 0 : (int)(slash - path + 1), path,
                 words[1]);
        return read_file(reader, other, depth + 1);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(words[0], kinds[i].name) == 0)
            return kinds[i].read(reader, words, count);
    return read_setting(reader, words, count);
}

static bool read_file(struct model_reader *reader, const char *path, int depth)
{
    FILE *file = depth > 4 ? NULL : fopen(path, "re");
    if (file == NULL)
        return model_fail(reader, "%.100s: %s", path,
                          depth > 4 ? "included too deep" : strerror(errno));
    char *line = NULL;
    size_t size = 0, number = 0;
    bool ok = true;
    while (ok && getline(&line, &size, file) >= 0) {
        char *kept = strdup(line);
        number++;
        if (kept == NULL || reader->line_count == sizeof reader->lines / sizeof *reader->lines) {
            free(kept);
            ok = model_fail(reader, "out of memory, or too many lines");
            break;
        }
        reader->lines[reader->line_count++] = kept;
        ok = read_line(reader, path, kept, depth);
    }
    free(line);
    fclose(file);
    if (!ok && strstr(reader->why, "line ") == NULL) {
        char why[sizeof reader->why];
        snprintf(why, sizeof why, "%s", reader->why);
        model_fail(reader, "%.80s line %zu: %.90s", path, number, why);
    }
    return ok;
}

bool model_read(const char *path, struct model **ret_model, char *ret_why, size_t why_size)
{
    struct model_reader *reader = calloc(1, sizeof *reader);
    struct model *model = calloc(1, sizeof *model);
    bool ok = false;
    if (reader != NULL && model != NULL) {
        *model = (struct model){.bytes_max = 5 << 20};
        reader->model = model;
        model->device[MODEL_DEVICES_MAX - 1].memory_numa = -1;
        for (int i = 0; i < MODEL_DEVICES_MAX * MODEL_DEVICES_MAX; i++)
            for (int k = 0; k < MODEL_HOPS_MAX; k++)
                reader->route[i / MODEL_DEVICES_MAX][i % MODEL_DEVICES_MAX][k] =
                    k == 0   ? i / MODEL_DEVICES_MAX
                    : k == 1 ? i % MODEL_DEVICES_MAX
                             : -1;
        ok = read_file(reader, path, 0) && model_paths_finish(reader);
        snprintf(ret_why, why_size, "%s", reader->why);
        free(reader->drafts);
        for (size_t i = 0; i < reader->line_count; i++)
            free(reader->lines[i]);
    } else
        snprintf(ret_why, why_size, "out of memory");
    free(reader);
    if (ok)
        *ret_model = model;
    else
        model_free(model);
    return ok;
}

void model_free(struct model *model)
{
    if (model == NULL)
        return;
    free(model->resources);
    free(model->resource_names);
    free(model->faults);
    free(model->paths);
    free(model);
}
