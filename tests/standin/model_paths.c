#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_parts.h"

size_t model_path_count(const struct model *model)
{
    size_t places = (size_t)model_places(model);
    return 2 * 2 * MODEL_KIND_COUNT * places * places;
}

size_t model_index(const struct model *model, enum model_mechanism mechanism, enum model_how how,
                   enum model_kind kind, int from, int to)
{
    size_t places = (size_t)model_places(model);
    return (((size_t)mechanism * 2 + (size_t)how) * MODEL_KIND_COUNT + (size_t)kind) * places *
               places +
           (size_t)from * places + (size_t)to;
}

static int numa_of(const struct model *model, int device)
{
    return model_numa_place(model, model->device[device].numa);
}

/* Whose memory a place is, also of an integrated device, whose memory is its NUMA node's; the place
 * itself if no device's. */
static int memory_of(const struct model *model, int place)
{
    int owner = model_owner(model, place);
    for (int i = 0; owner >= model->device_count && i < model->device_count; i++)
        if (model->device[i].integrated != 0 && numa_of(model, i) == place)
            owner = i;
    return owner;
}

bool model_fits(const struct model *model, const char *word, int place, int other)
{
    bool is_device = place < model->device_count, other_is = other < model->device_count;
    int low = 0, high = 0, used = 0;
    if (strcmp(word, "gpu") == 0)
        return is_device;
    if (strcmp(word, "host") == 0)
        return !is_device;
    if (strcmp(word, "own") == 0)
        return place == other;
    if (strcmp(word, "peer") == 0)
        return is_device && place != other;
    if (strcmp(word, "pair") == 0)
        return is_device && other_is && place != other &&
               model->device[place].module == model->device[other].module;
    if (strcmp(word, "near") == 0 || strcmp(word, "far") == 0)
        return !is_device && other_is && (numa_of(model, other) == place) == (word[0] == 'n');
    if (sscanf(word, "numa%d-%d", &low, &high) == 2)
        return !is_device && model->numa[place - model->device_count].number >= low &&
               model->numa[place - model->device_count].number <= high;
    if (sscanf(word, "numa%d", &low) == 1)
        return !is_device && place == model_numa_place(model, low);
    if (sscanf(word, "%d-%d%n", &low, &high, &used) == 2 && word[used] == '\0')
        return is_device && place >= low && place <= high;
    if (sscanf(word, "%d%n", &low, &used) == 1 && word[used] == '\0')
        return is_device && place == low;
    return false;
}

static bool is_word(const char *word)
{
    static const char *const known[] = {"gpu", "host", "own", "peer", "pair", "near", "far"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i]) == 0)
            return true;
    int number;
    return sscanf(word, "numa%d", &number) == 1 || sscanf(word, "%d", &number) == 1;
}

struct change {
    bool mechanism[2], how[2], kind[MODEL_KIND_COUNT];
    const char *from, *to;
    const char *rate, *share, *ns;
    char *uses;
    bool wrong;
};

static bool choose(bool *chosen, const char *word, const char *const *names, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= chosen[i] = strcmp(word, "*") == 0 || strcmp(word, names[i]) == 0;
    return any;
}

static bool read_change(struct model_reader *reader, char **words, size_t count,
                        struct change *ret_change)
{
    static const char *const mechanisms[] = {"engine", "kernel"}, *const hows[] = {"read", "write"};
    static const char *const kinds[MODEL_KIND_COUNT] = {"pinned", "coherent", "noncoherent",
                                                        "pageable", "managed"};
    struct change change = {.from = words[3], .to = words[4]};
    choose(change.kind, "*", kinds, MODEL_KIND_COUNT);
    if (!choose(change.mechanism, words[1], mechanisms, 2) ||
        !choose(change.how, words[2], hows, 2))
        return model_fail(reader, "'%s %s' is no way of moving bytes", words[1], words[2]);
    if (!is_word(change.from) || !is_word(change.to))
        return model_fail(reader, "'%s' or '%s' is no place", change.from, change.to);
    for (size_t i = 5; i < count; i++) {
        char *value = strchr(words[i], '=');
        if (strcmp(words[i], "wrong") == 0)
            change.wrong = true;
        else if (value == NULL)
            return model_fail(reader, "'%s' is not KEY=VALUE", words[i]);
        else if (*value++ = '\0', strcmp(words[i], "rate") == 0)
            change.rate = value;
        else if (strcmp(words[i], "share") == 0)
            change.share = value;
        else if (strcmp(words[i], "ns") == 0)
            change.ns = value;
        else if (strcmp(words[i], "uses") == 0)
            change.uses = value;
        else if (strcmp(words[i], "kind") != 0)
            return model_fail(reader, "a path has no '%s'", words[i]);
        else if (!choose(change.kind, value, kinds, MODEL_KIND_COUNT))
            return model_fail(reader, "'%s' is no kind of memory", value);
    }
    *ret_change = change;
    return true;
}

static void apply(struct model_draft *draft, const struct change *change)
{
    draft->rate = change->rate != NULL ? strtod(change->rate, NULL) : draft->rate;
    draft->share = change->share != NULL ? strtod(change->share, NULL) : draft->share;
    draft->ns = change->ns != NULL ? strtod(change->ns, NULL) : draft->ns;
    draft->uses = change->uses != NULL ? change->uses : draft->uses;
    draft->wrong |= change->wrong;
}

bool model_paths_line(struct model_reader *reader, char **words, size_t count)
{
    const struct model *model = reader->model;
    struct change change = {.from = "", .to = ""};
    if (count < 5)
        return model_fail(reader, "path MECHANISM HOW FROM TO KEY=VALUE...");
    if (reader->drafts == NULL &&
        (reader->drafts = calloc(model_path_count(model), sizeof *reader->drafts)) == NULL)
        return model_fail(reader, "out of memory");
    if (!read_change(reader, words, count, &change))
        return false;
    int places = model_places(model);
    size_t fitting = 0;
    for (int from = 0; from < places; from++)
        for (int to = 0; to < places; to++) {
            if (!model_fits(model, change.from, from, to) ||
                !model_fits(model, change.to, to, from))
                continue;
            fitting++;
            for (int i = 0; i < 2 * 2 * MODEL_KIND_COUNT; i++) {
                enum model_mechanism mechanism = i / MODEL_KIND_COUNT / 2;
                enum model_how how = i / MODEL_KIND_COUNT % 2;
                enum model_kind kind = i % MODEL_KIND_COUNT;
                if (change.mechanism[mechanism] && change.how[how] && change.kind[kind])
                    apply(&reader->drafts[model_index(model, mechanism, how, kind, from, to)],
                          &change);
            }
        }
    return fitting > 0 || model_fail(reader, "no place fits '%s %s'", change.from, change.to);
}

/* Where the links of a way begin or end: at the device whose memory a place is, else at the first
 * one next to it. */
static int linked_at(const struct model *model, int place)
{
    int at = memory_of(model, place);
    for (int i = 0; at >= model->device_count && i < model->device_count; i++)
        if (numa_of(model, i) == place)
            at = i;
    return at;
}

/* Who takes part in a cell: the device that does it, and where bytes come from and go to. */
struct parts {
    int device, source, target;
};

static bool put_use(struct model_reader *reader, struct model_path *path, const char *name,
                    double weight)
{
    int resource = model_resource(reader->model, name);
    if (resource < 0)
        return model_fail(reader, "there is no resource '%s'", name);
    for (size_t i = 0; i < path->use_count; i++)
        if (path->use[i].resource == (unsigned)resource) {
            path->use[i].weight += weight;
            return true;
        }
    if (path->use_count == SHARE_USES_MAX / 2)
        return model_fail(reader, "a path uses more than %d resources", SHARE_USES_MAX / 2);
    path->use[path->use_count].resource = (unsigned)resource;
    path->use[path->use_count++].weight = weight;
    return true;
}

/* The links of the route, and the capacity of the narrowest. */
static bool put_links(struct model_reader *reader, struct model_path *path,
                      const struct parts *parts, bool used, double *ret_narrowest)
{
    const struct model *model = reader->model;
    double narrowest = INFINITY;
    int source = linked_at(model, parts->source), target = linked_at(model, parts->target);
    if (source < model->device_count && target < model->device_count && source != target) {
        const int *route = reader->route[source][target];
        for (int i = 0; i + 1 < MODEL_HOPS_MAX && route[i + 1] >= 0; i++) {
            char name[32];
            snprintf(name, sizeof name, "link.%d.%d", route[i], route[i + 1]);
            int link = model_resource(model, name);
            if (link < 0)
                return model_fail(
                    reader, "the way from %d to %d goes from %d to %d, where there is no link",
                    source, target, route[i], route[i + 1]);
            narrowest = fmin(narrowest, model->resources[link].capacity);
            if (used && !put_use(reader, path, name, 1))
                return false;
        }
    }
    *ret_narrowest = narrowest;
    return true;
}

/* "port{module}.up" with what the braces stand for. */
static bool expand(struct model_reader *reader, const char *text, const struct parts *parts,
                   char *ret_name, size_t size)
{
    const struct model *model = reader->model;
    int host = parts->source >= model->device_count ? parts->source : parts->target;
    size_t used = 0;
    while (*text != '\0' && used + 12 < size) {
        char word[16];
        int length = 0, value;
        if (sscanf(text, "{%15[a-z]}%n", word, &length) != 1 || length == 0) {
            ret_name[used++] = *text++;
            continue;
        }
        text += length;
        if (strcmp(word, "device") == 0)
            value = parts->device;
        else if (strcmp(word, "from") == 0)
            value = memory_of(model, parts->source);
        else if (strcmp(word, "to") == 0)
            value = memory_of(model, parts->target);
        else if (strcmp(word, "module") == 0)
            value = model->device[parts->device].module;
        else if (strcmp(word, "numa") == 0 && host >= model->device_count)
            value = model->numa[host - model->device_count].number;
        else
            return model_fail(reader, "{%s} stands for nothing here", word);
        used += (size_t)snprintf(ret_name + used, size - used, "%d", value);
    }
    ret_name[used] = '\0';
    return true;
}

static bool finish_path(struct model_reader *reader, const struct model_draft *draft,
                        const struct parts *parts, struct model_path *ret_path)
{
    struct model_path path = {
        .limit = draft->rate > 0 ? draft->rate : INFINITY, .ns = draft->ns, .wrong = draft->wrong};
    double narrowest = INFINITY;
    char uses[200];
    if (draft->rate == 0 && draft->share == 0)
        return true;
    snprintf(uses, sizeof uses, "%s", draft->uses == NULL ? "" : draft->uses);
    bool by_link = strncmp(uses, "links", 5) == 0;
    if ((by_link || draft->share > 0) && !put_links(reader, &path, parts, by_link, &narrowest))
        return false;
    if (draft->share > 0)
        path.limit = fmin(path.limit, draft->share * narrowest);
    char *save = NULL;
    for (char *use = strtok_r(uses, ",", &save); use != NULL; use = strtok_r(NULL, ",", &save)) {
        char name[32];
        char *star = strchr(use, '*');
        if (star != NULL)
            *star++ = '\0';
        if (strcmp(use, "links") == 0)
            continue;
        if (!expand(reader, use, parts, name, sizeof name) ||
            !put_use(reader, &path, name, star == NULL ? 1 : strtod(star, NULL)))
            return false;
    }
    *ret_path = path;
    return true;
}

bool model_paths_finish(struct model_reader *reader)
{
    struct model *model = reader->model;
    int places = model_places(model);
    model->paths = calloc(model_path_count(model), sizeof *model->paths);
    if (model->paths == NULL)
        return model_fail(reader, "out of memory");
    if (reader->drafts == NULL)
        return model_fail(reader, "it has no paths");
    for (int i = 0; i < 2 * 2 * MODEL_KIND_COUNT * places * places; i++) {
        enum model_how how = i / places / places / MODEL_KIND_COUNT % 2;
        bool kernel = i / places / places / MODEL_KIND_COUNT / 2 == MODEL_KERNEL;
        int from = i / places % places, to = i % places;
        struct parts parts = {.device = from, .source = from, .target = to};
        if (kernel && from >= model->device_count)
            continue;
        if (kernel && how == MODEL_READ)
            parts = (struct parts){.device = from, .source = to, .target = from};
        if (!kernel &&
            (from >= model->device_count || (how == MODEL_READ && to < model->device_count)))
            parts.device = to;
        if (parts.device >= model->device_count)
            parts.device = 0; /* from host to host: any may do it */
        if (!finish_path(reader, &reader->drafts[i], &parts, &model->paths[i]))
            return false;
    }
    return true;
}
