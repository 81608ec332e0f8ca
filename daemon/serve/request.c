#include "serve/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "node/allowed.h"
#include "node/locality.h"
#include "node/values.h"

#define CPUS_TEXT_MAX (6 * CPUSET_MAX) /* bytes; room for every cpu by itself */

#define KIND_SIZE 80 /* bytes for some names and separators */

static const json_t *member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

enum berth_code request_int(const json_t *params, const char *name, int64_t min, int64_t max,
                            int64_t fallback, int64_t *ret, struct berth_err *err)
{
    const json_t *value = member(params, name);
    *ret = fallback;
    if (value != NULL && !json_is_integer(value))
        return err_invalid(err, name, "it is no integer");
    int64_t number = value != NULL ? json_integer_value(value) : fallback;
    if (value != NULL && (number < min || number > max))
        return err_invalid(err, name, "%" PRId64 " is not from %" PRId64 " to %" PRId64, number,
                           min, max);
    *ret = number;
    return BERTH_OK;
}

enum berth_code request_text(const json_t *params, const char *name, size_t max, const char **ret,
                             struct berth_err *err)
{
    const json_t *value = member(params, name);
    const char *text = json_string_value(value);
    *ret = NULL;
    if (value != NULL && (text == NULL || *text == '\0' || strlen(text) > max))
        return err_invalid(err, name, "it has 1 to %zu bytes", max);
    for (const char *c = text; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return err_invalid(err, name, "it has a control character, such as the end of a line");
    *ret = text;
    return BERTH_OK;
}

enum berth_code request_word(const json_t *params, const char *name, const char *const *words,
                             int fallback, int *ret, struct berth_err *err)
{
    const json_t *value = member(params, name);
    *ret = fallback;
    if (value == NULL)
        return BERTH_OK;
    const char *text = json_string_value(value);
    for (int i = 0; text != NULL && words[i] != NULL; i++)
        if (strcmp(words[i], text) == 0) {
            *ret = i;
            return BERTH_OK;
        }
    return err_invalid(err, name, "%.40s is not one of its words",
                       text != NULL ? text : "what is no string");
}

enum berth_code request_array(const json_t *params, const char *name, size_t max,
                              const json_t **ret, struct berth_err *err)
{
    const json_t *value = member(params, name);
    *ret = NULL;
    if (value != NULL && !json_is_array(value))
        return err_invalid(err, name, "it is no array");
    if (json_array_size(value) > max)
        return err_invalid(err, name, "more than %zu items", max);
    *ret = value;
    return BERTH_OK;
}

/* True for a number after the first letters of text: "core7" for "core9" and 4. */
static bool is_kind(const char *name, const char *text, size_t letters)
{
    return strncmp(name, text, letters) == 0 && strspn(name + letters, "0123456789") > 0;
}

/* Lists the places whose names begin with the first letters of text. Examples: "gpu0 to gpu7",
 * "core0 to core1, core24 to core25". "" none; ends in "..." when cut. */
static void list_kind(const struct graph *graph, const char *text, size_t letters, char *ret,
                      size_t size)
{
    size_t used = 0, i = 0;
    ret[0] = '\0';
    while (i < graph->place_count && letters > 0) {
        const char *first = graph->places[i].name, *last = first;
        if (!is_kind(first, text, letters)) {
            i++;
            continue;
        }
        for (i++; i < graph->place_count && is_kind(graph->places[i].name, text, letters) &&
                  atol(graph->places[i].name + letters) == atol(last + letters) + 1;
             i++)
            last = graph->places[i].name;
        char run[64];
        snprintf(run, sizeof run, "%s%s%s%s", used > 0 ? ", " : "", first,
                 last != first ? " to " : "", last != first ? last : "");
        if (used + strlen(run) + sizeof ", ..." > size) {
            snprintf(ret + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(ret + used, size - used, "%s", run);
    }
}

/* Lists the places that requests may name, by kind: "numa0 to numa3, core0 to core63, gpu0". */
static void list_kinds(const struct graph *graph, char *ret, size_t size)
{
    static const enum place_kind named[] = {PLACE_NUMA, PLACE_CORE, PLACE_GPU, PLACE_NIC};
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        char there[KIND_SIZE];
        const char *name = place_kind_name(named[i]);
        list_kind(graph, name, strlen(name), there, sizeof there);
        if (there[0] != '\0' && used + strlen(there) + sizeof ", " <= size)
            used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? ", " : "", there);
    }
}

/* The kind comes from the letters of the name. A detail is "this node has no place gpu9; of that
 * kind it has gpu0 to gpu7". Or it is "this node has no gpu, and so no place gpu0; it has numa0 to
 * numa3". Otherwise as err_no_such_place. */
enum berth_code request_no_such_place(const struct graph *graph, const char *name,
                                      struct berth_err *err)
{
    char there[KIND_SIZE], others[2 * KIND_SIZE], text[ERR_TEXT_SIZE];
    snprintf(text, sizeof text, "%.*s", ERR_TEXT_SIZE - 1, *name != '\0' ? name : "\"\"");
    size_t letters = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    list_kind(graph, text, letters, there, sizeof there);
    if (there[0] == '\0') {
        list_kinds(graph, others, sizeof others);
        for (enum place_kind kind = 0; kind < PLACE_KIND_COUNT; kind++) {
            const char *word = place_kind_name(kind);
            if (strlen(word) != letters || strncmp(word, text, letters) != 0 || others[0] == '\0')
                continue;
            err_text(err, 0, text);
            err_text(err, 1, word);
            return err_set(err, BERTH_NO_SUCH_PLACE,
                           "this node has no %s, and so no place %.60s; it has %s (berth topo)",
                           word, text, others);
        }
        if (others[0] == '\0')
            return err_no_such_place(err, text);
        err_text(err, 0, text);
        return err_set(err, BERTH_NO_SUCH_PLACE,
                       "this node has no place %.60s; it has %s (berth topo)", text, others);
    }
    err_text(err, 0, text);
    snprintf(others, sizeof others, "%.*s", (int)letters, text);
    err_text(err, 1, others);
    return err_set(err, BERTH_NO_SUCH_PLACE,
                   "this node has no place %.60s; of that kind it has %s (berth topo)", text,
                   there);
}

/* Fails for a name in allowed.gpus. */
static enum berth_code no_such_gpu(const struct graph *graph, const char *text,
                                   struct berth_err *err)
{
    char there[KIND_SIZE];
    if (graph_find(graph, text) == PLACE_NONE)
        return request_no_such_place(graph, text, err);
    list_kind(graph, "gpu", 3, there, sizeof there);
    err_text(err, 0, text);
    return err_set(err, BERTH_NO_SUCH_PLACE, "%.60s is no gpu; there %s%s", text,
                   there[0] != '\0' ? "are " : "is none", there);
}

enum berth_code request_place(const struct graph *graph, const json_t *name, const char *parameter,
                              place_id *ret, struct berth_err *err)
{
    const char *text = json_string_value(name);
    *ret = PLACE_NONE;
    if (text == NULL)
        return err_invalid(err, parameter, "a place is named by a string");
    place_id id = graph_find(graph, text);
    if (id == PLACE_NONE)
        return request_no_such_place(graph, text, err);
    *ret = id;
    return BERTH_OK;
}

static bool is_called(const char *name, const char *text)
{
    return text != NULL && strcasecmp(name, text) == 0;
}

/* Marks a GPU by its name, or every GPU with that PCI address or uuid. Partitions of one device can
 * share both. */
static bool mark_gpus(const struct graph *graph, const char *name, bool *mark)
{
    bool found = false;
    for (place_id g = graph_next(graph, PLACE_GPU, 0); g != PLACE_NONE;
         g = graph_next(graph, PLACE_GPU, g + 1)) {
        const struct place *gpu = graph_place(graph, g);
        if (strcmp(gpu->name, name) == 0 || is_called(name, gpu->pci) || is_called(name, gpu->uuid))
            mark[g] = found = true;
    }
    return found;
}

static enum berth_code allowed_gpus(const struct graph *graph, const json_t *allowed,
                                    struct allowed *ret, struct berth_err *err)
{
    const json_t *names = NULL, *name;
    size_t i;
    enum berth_code code = request_array(allowed, "gpus", ALLOWED_NAMES_MAX, &names, err);
    if (code != BERTH_OK || names == NULL)
        return code;
    ret->gpus = calloc(graph->place_count, sizeof *ret->gpus);
    if (ret->gpus == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the allowed gpus");
    json_array_foreach(names, i, name)
    {
        if (!json_is_string(name))
            return err_invalid(err, "allowed.gpus", "a gpu is named by a string");
        if (!mark_gpus(graph, json_string_value(name), ret->gpus))
            return no_such_gpu(graph, json_string_value(name), err);
    }
    return BERTH_OK;
}

static enum berth_code allowed_memory(const struct graph *graph, const json_t *allowed,
                                      struct allowed *ret, struct berth_err *err)
{
    const json_t *names = NULL, *name;
    size_t i;
    enum berth_code code = request_array(allowed, "memory", ALLOWED_NAMES_MAX, &names, err);
    if (code != BERTH_OK || names == NULL)
        return code;
    if (json_array_size(names) == 0) {
        char there[KIND_SIZE], gpus[KIND_SIZE];
        list_kind(graph, "numa", 4, there, sizeof there);
        list_kind(graph, "gpu", 3, gpus, sizeof gpus);
        const char *and = there[0] != '\0' && gpus[0] != '\0' ? ", " : "";
        err_text(err, 0, "allowed.memory");
        return err_set(err, BERTH_NOTHING_ALLOWED,
                       "allowed.memory is empty: no memory may be used; there is that of %s%s%s",
                       there, and, gpus);
    }
    ret->memory = calloc(graph->place_count, sizeof *ret->memory);
    if (ret->memory == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for the allowed memory");
    json_array_foreach(names, i, name)
    {
        place_id id = PLACE_NONE;
        code = request_place(graph, name, "allowed.memory", &id, err);
        if (code != BERTH_OK)
            return code;
        enum place_kind kind = graph_place(graph, id)->kind;
        if (kind != PLACE_NUMA && kind != PLACE_GPU)
            return err_invalid(err, "allowed.memory",
                               "%s has no memory: NUMA nodes and gpus have (berth topo)",
                               graph_place(graph, id)->name);
        ret->memory[id] = true;
    }
    return BERTH_OK;
}

static enum berth_code allowed_cpus(const struct graph *graph, const json_t *allowed,
                                    struct allowed *ret, struct berth_err *err)
{
    const json_t *value = member(allowed, "cpus");
    locality_cpus(graph, &ret->cpus);
    if (value == NULL)
        return BERTH_OK;
    struct cpuset asked;
    struct berth_err why = {0};
    const char *text = json_string_value(value);
    if (text == NULL)
        return err_invalid(err, "allowed.cpus", "it is no string");
    if (strnlen(text, CPUS_TEXT_MAX + 1) > CPUS_TEXT_MAX)
        return err_invalid(err, "allowed.cpus", "it has at most %d bytes", CPUS_TEXT_MAX);
    if (cpuset_parse(text, &asked, &why) != BERTH_OK)
        return err_invalid(err, "allowed.cpus", "%s", why.detail);
    struct cpuset there = ret->cpus;
    cpuset_and(&ret->cpus, &asked);
    if (cpuset_is_empty(&there) || !cpuset_is_empty(&ret->cpus))
        return BERTH_OK;
    char *list = cpuset_list_new(&there);
    if (list == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for cpus");
    err_text(err, 0, "allowed.cpus");
    err_set(err, BERTH_NOTHING_ALLOWED,
            "allowed.cpus has no cpu of this node: \"%.60s\"; there are %.80s", text, list);
    free(list);
    return BERTH_NOTHING_ALLOWED;
}

enum berth_code request_allowed(const struct graph *graph, const json_t *params,
                                struct allowed *ret, struct berth_err *err)
{
    const json_t *given = member(params, "allowed");
    struct allowed allowed = {.given = given != NULL};
    *ret = (struct allowed){0};
    if (given != NULL && !json_is_object(given))
        return err_invalid(err, "allowed", "it is no object");
    enum berth_code code = allowed_cpus(graph, given, &allowed, err);
    if (code == BERTH_OK)
        code = allowed_memory(graph, given, &allowed, err);
    if (code == BERTH_OK)
        code = allowed_gpus(graph, given, &allowed, err);
    if (code == BERTH_OK)
        *ret = allowed;
    else
        allowed_done(&allowed);
    return code;
}

enum berth_code request_ends(const struct graph *graph, enum metric metric, place_id from,
                             place_id to, struct berth_err *err)
{
    const char *why = values_why_no_self(graph, metric, from, to);
    if (why == NULL)
        return BERTH_OK;
    return err_invalid(err, "to", "%s from %s to itself: %s", metric_info(metric)->name,
                       graph_place(graph, from)->name, why);
}

enum berth_code request_places(const struct graph *graph, const json_t *params, bool **ret,
                               struct berth_err *err)
{
    const json_t *array = NULL, *name;
    size_t i;
    enum berth_code code = request_array(params, "places", PLACES_MAX, &array, err);
    bool *selected = NULL;
    *ret = NULL;
    if (code == BERTH_OK && json_array_size(array) > 0) {
        selected = calloc(graph->place_count, sizeof *selected);
        if (selected == NULL)
            return err_set(err, BERTH_NO_MEMORY, "no memory for places");
        json_array_foreach(array, i, name)
        {
            place_id id = PLACE_NONE;
            code = request_place(graph, name, "places", &id, err);
            if (code != BERTH_OK) {
                free(selected);
                return code;
            }
            selected[id] = true;
        }
    }
    if (code == BERTH_OK)
        *ret = selected;
    return code;
}

enum berth_code request_axes(const json_t *params, enum metric metric, char *buffer, size_t size,
                             struct berth_err *err)
{
    json_t *where = (json_t *)member(params, "where"), *value;
    const char *key, *text[2 * WHERE_AXES_MAX];
    size_t count = 0;
    struct berth_err why = {0};
    buffer[0] = '\0';
    if (where != NULL && (!json_is_object(where) || json_object_size(where) > WHERE_AXES_MAX))
        return err_invalid(err, "where", "it is no object of at most %d axes", WHERE_AXES_MAX);
    json_object_foreach(where, key, value)
    {
        if (!json_is_string(value))
            return err_invalid(err, "where", "the value of %.40s is no string", key);
        text[2 * count] = key;
        text[2 * count++ + 1] = json_string_value(value);
    }
    if (axes_canonical(metric, text, count, buffer, size, &why) != BERTH_OK)
        return err_invalid(err, "where", "%s", why.detail);
    return BERTH_OK;
}
