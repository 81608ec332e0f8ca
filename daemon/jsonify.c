#include "jsonify.h"

#include <math.h>
#include <string.h>

#include "metric.h"

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

/* All of it or nothing: half an object would be a wrong answer. */
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

json_t *jsonify_basis(const struct snapshot *snap)
{
    return json_pack("{s:s,s:s,s:s}", "snapshot", snap->id, "claims", "0", "origin", origin_name(snap->graph->origin));
}

json_t *jsonify_axes(enum metric metric, const char *axes)
{
    json_t *object = json_object();
    bool ok = object != NULL;
    const char *c = metric_info(metric)->axes;
    while (ok && *c != '\0') {
        char key[48], value[64];
        size_t length = strcspn(c, "=,");
        if (length >= sizeof key)
            break;
        memcpy(key, c, length);
        key[length] = '\0';
        const char *text = axes_get(metric, axes, key, value, sizeof value);
        if (text != NULL)
            ok = json_object_set_new_nocheck(object, key, json_string_nocheck(text)) == 0;
        c += strcspn(c, ",");
        c += *c == ',';
    }
    return whole(object, ok);
}
