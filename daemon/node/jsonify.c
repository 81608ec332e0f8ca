#include "node/jsonify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "node/metric.h"

json_t *jsonify_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *jsonify_count(int64_t value) { return value >= 0 ? json_integer(value) : json_null(); }

json_t *jsonify_text(const char *text)
{
    if (text == NULL)
        return json_null();
    json_t *string = json_string(text);
    if (string != NULL)
        return string;
    char clean[512];
    size_t length = strlen(text) < sizeof clean - 1 ? strlen(text) : sizeof clean - 1;
    for (size_t i = 0; i < length; i++)
        clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    return json_stringn(clean, length);
}

/* Returns the whole object or nothing: half an object would be a wrong answer. */
static json_t *whole(json_t *json, bool ok)
{
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

json_t *jsonify_strings(char *const *text, size_t count)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = json_array_append_new(array, jsonify_text(text[i])) == 0;
    return whole(array, ok);
}

json_t *jsonify_details(const struct detail *details, size_t count)
{
    json_t *object = json_object();
    bool ok = object != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = json_object_set_new(object, details[i].key, jsonify_text(details[i].value)) == 0;
    return whole(object, ok);
}

json_t *jsonify_basis(const struct snapshot *snap, uint64_t claims)
{
    char generation[24];
    snprintf(generation, sizeof generation, "%" PRIu64, claims);
    return json_pack("{s:s,s:s,s:s}", "snapshot", snap->id, "claims", generation, "origin",
                     origin_name(snapshot_origin(snap)));
}

void jsonify_print_basis(struct print *print, const struct snapshot *snap, uint64_t claims)
{
    print_open(print, '{');
    print_key(print, "snapshot");
    print_name(print, snap->id);
    print_key(print, "claims");
    char generation[24];
    snprintf(generation, sizeof generation, "%" PRIu64, claims);
    print_name(print, generation);
    print_key(print, "origin");
    print_name(print, origin_name(snapshot_origin(snap)));
    print_close(print, '}');
}

/* Reads the next axis of the metric, from the list at *list on, with its value; false at the
 * end. */
static bool next_axis(enum metric metric, const char *axes, const char **list, char key[48],
                      char value[64])
{
    const char *c = *list;
    size_t length = strcspn(c, "=,");
    if (*c == '\0' || length >= 48)
        return false;
    memcpy(key, c, length);
    key[length] = '\0';
    if (axes_get(metric, axes, key, value, 64) == NULL)
        return false;
    c += strcspn(c, ",");
    *list = c + (*c == ',');
    return true;
}

json_t *jsonify_axes(enum metric metric, const char *axes)
{
    char key[48], value[64];
    json_t *object = json_object();
    bool ok = object != NULL;
    for (const char *list = metric_info(metric)->axes;
         ok && next_axis(metric, axes, &list, key, value);)
        ok = json_object_set_new_nocheck(object, key, json_string_nocheck(value)) == 0;
    return whole(object, ok);
}

void jsonify_print_axes(struct print *print, enum metric metric, const char *axes)
{
    char key[48], value[64];
    print_open(print, '{');
    for (const char *list = metric_info(metric)->axes;
         next_axis(metric, axes, &list, key, value);) {
        print_key(print, key);
        print_string(print, value);
    }
    print_close(print, '}');
}
