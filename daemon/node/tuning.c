#include "node/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "NVIDIA H200/13000@1790000000,700W,1980MHz,580.95.05,0000:c1:00.0>numa0: host-read ..." */
struct section {
    const char *text, *shapes; /* shapes: from the blank before the first one */
    size_t length, model_length;
    size_t memory_length; /* of "peer-" or "host-" before its first use; 0 own */
};

/* Reads the section at text; false when it is none. Its end is the length's in any case. */
static bool read_section(const char *text, struct section *ret)
{
    const char *end = strstr(text, "; "), *shapes, *slash = NULL;
    *ret =
        (struct section){.text = text, .length = end != NULL ? (size_t)(end - text) : strlen(text)};
    shapes = memmem(text, ret->length, ": ", 2);
    for (const char *at = text; shapes != NULL && at < shapes; at++)
        slash = *at == '/' ? at : slash;
    if (slash == NULL || slash == text)
        return false;
    ret->model_length = (size_t)(slash - text);
    ret->shapes = shapes + 1;
    const char *first = shapes + 2, *dash = memchr(first, '-', strcspn(first, " ;"));
    ret->memory_length = dash != NULL ? (size_t)(dash - first) + 1 : 0;
    return true;
}

/* Returns the next section; NULL at the end. */
static const char *next_section(const struct section *section)
{
    const char *end = section->text + section->length;
    return *end == '\0' ? NULL : end + 2;
}

static const char *usable(const char *shapes)
{
    return shapes != NULL && shapes[0] != '\0' &&
                   strnlen(shapes, TUNING_TEXT_SIZE) < TUNING_TEXT_SIZE
               ? shapes
               : NULL;
}

/* Reads the time and the limits between the driver's number and the shapes. */
static void read_head(const struct section *section, struct tuning *tuning)
{
    char head[192];
    const char *slash = section->text + section->model_length;
    snprintf(head, sizeof head, "%.*s", (int)(section->shapes - 1 - slash), slash);
    char *rest = NULL, *part = strchr(head, '@');
    long long number;
    char unit[4];
    if (part == NULL || sscanf(part, "@%18lld", &number) != 1 || number <= 0)
        return;
    tuning->tuned_at_s = number;
    strtok_r(part, ",", &rest); /* the time */
    while ((part = strtok_r(NULL, ",", &rest)) != NULL)
        if (sscanf(part, "%9lld%3[A-Za-z]", &number, unit) == 2 && strcmp(unit, "W") == 0)
            tuning->power_cap_w = number;
        else if (sscanf(part, "%9lld%3[A-Za-z]", &number, unit) == 2 && strcmp(unit, "MHz") == 0)
            tuning->clock_max_mhz = number;
        else if (strchr(part, '>') == NULL)
            snprintf(tuning->version, sizeof tuning->version, "%.31s", part);
        else
            sscanf(part, "%23[^>]>%23s", tuning->timed[0], tuning->timed[1]);
}

static bool read_shape(const struct section *section, const char *use, struct tuning *ret)
{
    char key[32];
    int width = snprintf(key, sizeof key, " %s ", use);
    const char *end = section->text + section->length,
               *found =
                   memmem(section->shapes, (size_t)(end - section->shapes), key, (size_t)width);
    struct tuning tuning = {.power_cap_w = -1, .clock_max_mhz = -1};
    double rate, low, high, next;
    if (found == NULL || width >= (int)sizeof key)
        return false;
    int count = sscanf(found + width, "%5ux%7uu%2u %12lf %12lf %12lf %12lf", &tuning.block,
                       &tuning.grid, &tuning.unroll, &rate, &low, &high, &next);
    if (count < 3 || tuning.block < 1 || tuning.unroll < 1)
        return false;
    bool has_rates = count == 7 && low > 0 && low <= rate && rate <= high && isfinite(high);
    tuning.bytes_per_s = has_rates ? rate : NAN;
    tuning.low = has_rates ? low : NAN;
    tuning.high = has_rates ? high : NAN;
    tuning.next_bytes_per_s = has_rates && next > 0 && isfinite(next) ? next : NAN;
    read_head(section, &tuning);
    *ret = tuning;
    return true;
}

bool tuning_find(const char *shapes, const char *model, const char *use, struct tuning *ret)
{
    struct section section;
    size_t length = model != NULL ? strlen(model) : 0;
    for (const char *at = usable(shapes); at != NULL && length > 0; at = next_section(&section))
        if (read_section(at, &section) && section.model_length == length &&
            memcmp(section.text, model, length) == 0 && read_shape(&section, use, ret))
            return true;
    return false;
}

static bool is_about(const struct section *a, const struct section *b)
{
    return a->model_length == b->model_length && memcmp(a->text, b->text, a->model_length) == 0 &&
           a->memory_length == b->memory_length &&
           memcmp(a->shapes + 1, b->shapes + 1, a->memory_length) == 0;
}

static bool has_section(const char *shapes, const struct section *requested)
{
    struct section section;
    for (const char *at = usable(shapes); at != NULL; at = next_section(&section))
        if (read_section(at, &section) && is_about(&section, requested))
            return true;
    return false;
}

/* Appends a section to text, which has room for it. */
static void append(char *text, const struct section *section)
{
    size_t used = strlen(text);
    sprintf(text + used, "%s%.*s", used > 0 ? "; " : "", (int)section->length, section->text);
}

/* Returns text, or NULL and frees it where it is empty. */
static char *unless_empty(char *text)
{
    if (text != NULL && text[0] != '\0')
        return text;
    free(text);
    return NULL;
}

char *tuning_merge(const char *before, const char *after)
{
    before = usable(before);
    after = usable(after);
    struct section section;
    char *text =
        calloc(1, (before != NULL ? strlen(before) : 0) + (after != NULL ? strlen(after) : 0) + 3);
    for (const char *at = after; at != NULL && text != NULL; at = next_section(&section))
        if (read_section(at, &section))
            append(text, &section);
    for (const char *at = before; at != NULL && text != NULL; at = next_section(&section))
        if (read_section(at, &section) && !has_section(after, &section))
            append(text, &section);
    text = unless_empty(text);
    if (text != NULL && usable(text) == NULL) {
        free(text);
        text = NULL;
    }
    return text;
}

/* The first GPU of a model, which tunes for all of it; PLACE_NONE none. */
static place_id first_of(const struct graph *graph, const char *model, size_t length)
{
    place_id gpu = graph_next(graph, PLACE_GPU, 0);
    while (gpu != PLACE_NONE && (graph_place(graph, gpu)->model == NULL ||
                                 strlen(graph_place(graph, gpu)->model) != length ||
                                 memcmp(graph_place(graph, gpu)->model, model, length) != 0))
        gpu = graph_next(graph, PLACE_GPU, gpu + 1);
    return gpu;
}

/* Returns a number of the driver's facts; below 0 unknown. */
static int64_t fact(const struct place *gpu, const char *key)
{
    const char *text = place_detail(gpu, key);
    long long number;
    return text != NULL && sscanf(text, "%12lld", &number) == 1 ? number : -1;
}

static const char *driver_of(const struct graph *graph)
{
    for (size_t i = 0; i < graph->software_count; i++)
        if (strcmp(graph->software[i].key, "driver") == 0)
            return graph->software[i].value;
    return "";
}

static bool differs(int64_t then, int64_t now) { return then >= 0 && now >= 0 && then != now; }

bool tuning_is_stale(const struct tuning *tuning, const struct graph *graph, place_id gpu,
                     int64_t now_s, char why[TUNING_WHY_SIZE])
{
    const char *driver = driver_of(graph), *model = graph_place(graph, gpu)->model;
    place_id tuner = model != NULL ? first_of(graph, model, strlen(model)) : gpu;
    const struct place *place = graph_place(graph, tuner);
    int64_t cap_w = fact(place, "power_cap_w"), clock_mhz = fact(place, "clock_max_mhz");
    if (tuning->version[0] != '\0' && driver[0] != '\0' && strcmp(tuning->version, driver) != 0)
        snprintf(why, TUNING_WHY_SIZE, "driver %.31s has replaced %s since it was tuned", driver,
                 tuning->version);
    else if (differs(tuning->power_cap_w, cap_w))
        snprintf(why, TUNING_WHY_SIZE, "%s may draw %lld W now, %lld W when it was tuned",
                 place->name, (long long)cap_w, (long long)tuning->power_cap_w);
    else if (differs(tuning->clock_max_mhz, clock_mhz))
        snprintf(why, TUNING_WHY_SIZE, "%s may clock to %lld MHz now, %lld MHz when it was tuned",
                 place->name, (long long)clock_mhz, (long long)tuning->clock_max_mhz);
    else if (now_s > 0 && tuning->tuned_at_s == 0)
        snprintf(why, TUNING_WHY_SIZE, "it is not known when it was tuned");
    else if (now_s > 0 && tuning->tuned_at_s - now_s > TUNING_FRESH_S)
        snprintf(why, TUNING_WHY_SIZE, "its time is more than %lld days ahead of the clock",
                 (long long)(TUNING_FRESH_S / 86400));
    else if (now_s > 0 && now_s - tuning->tuned_at_s > TUNING_FRESH_S)
        snprintf(why, TUNING_WHY_SIZE, "it was tuned more than %lld days ago",
                 (long long)(TUNING_FRESH_S / 86400));
    else
        return false;
    return true;
}

bool tuning_is_due(const char *shapes, const struct graph *graph, int64_t now_s)
{
    struct section section;
    for (const char *at = usable(shapes); at != NULL; at = next_section(&section)) {
        struct tuning tuning = {.power_cap_w = -1, .clock_max_mhz = -1};
        char why[TUNING_WHY_SIZE];
        if (!read_section(at, &section))
            continue;
        read_head(&section, &tuning);
        place_id gpu = first_of(graph, section.text, section.model_length);
        if (gpu != PLACE_NONE && tuning_is_stale(&tuning, graph, gpu, now_s, why))
            return true;
    }
    return false;
}
