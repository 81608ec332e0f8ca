/* Check of a JSON value against a type of an interface definition. */
#include "varlink/idl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Path from the root to the checked value, innermost last; lives on the stack and becomes text only
 * for an error. */
struct level {
    const struct level *outer;
    const char *name; /* NULL: an element of an array */
    size_t index;
};

struct path {
    char text[96];
    size_t length;
};

static void path_add(struct path *path, const struct level *level)
{
    if (level == NULL)
        return;
    path_add(path, level->outer);
    size_t room = sizeof path->text - path->length;
    int added = level->name == NULL
                    ? snprintf(path->text + path->length, room, "[%zu]", level->index)
                    : snprintf(path->text + path->length, room, "%s%.*s",
                               path->length > 0 ? "." : "", (int)sizeof path->text, level->name);
    if (added > 0)
        path->length += (size_t)added < room ? (size_t)added : room - 1;
}

static enum berth_code refuse(const struct level *at, const char *problem, struct berth_err *err)
{
    struct path path = {.length = 0};
    path_add(&path, at);
    enum berth_code code = err_set(err, BERTH_INVALID_PARAMETER, "%s: %s",
                                   path.length > 0 ? path.text : "parameters", problem);
    err_text(err, 0, path.text);
    return code;
}

static enum berth_code check(const struct idl_type *type, const json_t *value,
                             const struct level *at, struct berth_err *err);

static const struct idl_name *find_name(const struct idl_type *type, const char *name)
{
    for (const struct idl_name *n = type->names; n != NULL; n = n->next)
        if (strcmp(n->name, name) == 0)
            return n;
    return NULL;
}

static enum berth_code check_struct(const struct idl_type *type, const json_t *value,
                                    const struct level *at, struct berth_err *err)
{
    size_t present = 0;
    for (const struct idl_name *field = type->names; field != NULL; field = field->next) {
        const json_t *member = json_object_get(value, field->name);
        struct level level = {.outer = at, .name = field->name};
        present += member != NULL;
        enum berth_code code = check(field->type, member, &level, err);
        if (code != BERTH_OK)
            return code;
    }
    if (present == json_object_size(value))
        return BERTH_OK;
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member) if (find_name(type, name) == NULL)
    {
        struct level level = {.outer = at, .name = name};
        return refuse(&level, "there is no such parameter", err);
    }
    return BERTH_OK;
}

static enum berth_code check_elements(const struct idl_type *type, const json_t *value,
                                      const struct level *at, struct berth_err *err)
{
    enum berth_code code = BERTH_OK;
    if (type->kind == IDL_ARRAY) {
        for (size_t i = 0; i < json_array_size(value) && code == BERTH_OK; i++) {
            struct level level = {.outer = at, .index = i};
            code = check(type->element, json_array_get(value, i), &level, err);
        }
        return code;
    }
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)value, name, member)
    {
        struct level level = {.outer = at, .name = name};
        code = check(type->element, member, &level, err);
        if (code != BERTH_OK)
            break;
    }
    return code;
}

#define NAMES_SIZE 200

/* Lists the allowed names, as many as fit. */
static enum berth_code refuse_name(const struct idl_type *type, const struct level *at,
                                   struct berth_err *err)
{
    char text[NAMES_SIZE] = "it must be one of";
    for (const struct idl_name *name = type->names; name != NULL; name = name->next) {
        size_t used = strlen(text);
        const char *before = name == type->names ? " " : name->next == NULL ? " and " : ", ";
        if (used + strlen(before) + strlen(name->name) + sizeof ", ..." > sizeof text) {
            strcpy(text + used, ", ...");
            break;
        }
        sprintf(text + used, "%s%s", before, name->name);
    }
    return refuse(at, text, err);
}

/* value NULL: absent. */
static enum berth_code check(const struct idl_type *type, const json_t *value,
                             const struct level *at, struct berth_err *err)
{
    if (value == NULL || json_is_null(value))
        return type->nullable ? BERTH_OK : refuse(at, "it is missing", err);
    while (type->kind == IDL_NAMED)
        type = type->element;
    switch (type->kind) {
    case IDL_BOOL:
        return json_is_boolean(value) ? BERTH_OK : refuse(at, "it must be true or false", err);
    case IDL_INT:
        if (json_is_real(value) && fabs(json_real_value(value)) >= 0x1p63)
            return refuse(
                at, "it must be an integer from -9223372036854775808 to 9223372036854775807", err);
        return json_is_integer(value) ? BERTH_OK : refuse(at, "it must be an integer", err);
    case IDL_FLOAT:
        return json_is_number(value) ? BERTH_OK : refuse(at, "it must be a number", err);
    case IDL_STRING:
        return json_is_string(value) ? BERTH_OK : refuse(at, "it must be a string", err);
    case IDL_OBJECT:
        return json_is_object(value) ? BERTH_OK : refuse(at, "it must be an object", err);
    case IDL_ENUM:
        if (json_is_string(value) && find_name(type, json_string_value(value)) != NULL)
            return BERTH_OK;
        return refuse_name(type, at, err);
    case IDL_STRUCT:
        return json_is_object(value) ? check_struct(type, value, at, err)
                                     : refuse(at, "it must be an object", err);
    case IDL_ARRAY:
        return json_is_array(value) ? check_elements(type, value, at, err)
                                    : refuse(at, "it must be an array", err);
    case IDL_MAP:
        return json_is_object(value) ? check_elements(type, value, at, err)
                                     : refuse(at, "it must be an object", err);
    case IDL_NAMED:
        break;
    }
    return refuse(at, "it has no type", err);
}

enum berth_code idl_check(const struct idl_type *type, const json_t *value, struct berth_err *err)
{
    return check(type, value, NULL, err);
}
