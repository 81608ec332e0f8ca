#include "lib/write.h"

#include "lib/lib.h"

struct lib_write lib_write_begin(void)
{
    json_t *parameters = json_object();
    return (struct lib_write){.parameters = parameters,
                              .status =
                                  parameters == NULL ? BERTH_ERROR_OUT_OF_MEMORY : BERTH_DONE};
}

int lib_write_end(struct berth *berth, struct lib_write *write, json_t **ret_parameters)
{
    if (write->status == BERTH_DONE) {
        *ret_parameters = write->parameters;
        return BERTH_DONE;
    }
    json_decref(write->parameters);
    if (write->status == BERTH_ERROR_OUT_OF_MEMORY)
        return lib_fail_memory(berth);
    return lib_fail(berth, write->status, "a text of the request is NULL or not UTF-8");
}

static void note(struct lib_write *write, int status)
{
    if (write->status == BERTH_DONE)
        write->status = status;
}

static json_t *make_text(struct lib_write *write, const char *text)
{
    if (text == NULL || !lib_utf8_is_valid(text)) {
        note(write, BERTH_ERROR_BAD_ARGUMENT);
        return NULL;
    }
    return json_string(text);
}

static void put(struct lib_write *write, json_t *object, const char *key, json_t *take_value)
{
    if (key == NULL || !lib_utf8_is_valid(key))
        note(write, BERTH_ERROR_BAD_ARGUMENT);
    if (json_object_set_new(object, key, take_value) != 0)
        note(write, BERTH_ERROR_OUT_OF_MEMORY);
}

void lib_write_text(struct lib_write *write, json_t *object, const char *key, const char *text)
{
    if (text != NULL)
        put(write, object, key, make_text(write, text));
}

void lib_write_integer(struct lib_write *write, json_t *object, const char *key, int64_t number)
{
    if (number >= 0)
        put(write, object, key, json_integer(number));
}

void lib_write_flag(struct lib_write *write, json_t *object, const char *key, int set)
{
    if (set)
        put(write, object, key, json_true());
}

json_t *lib_write_array(struct lib_write *write, json_t *object, const char *key)
{
    json_t *array = json_array();
    put(write, object, key, array);
    return json_object_get(object, key);
}

json_t *lib_write_element(struct lib_write *write, json_t *array, json_t *take_element)
{
    if (json_array_append_new(array, take_element) != 0) {
        note(write, BERTH_ERROR_OUT_OF_MEMORY);
        return NULL;
    }
    return take_element;
}

void lib_write_texts(struct lib_write *write, json_t *object, const char *key,
                     const struct berth_texts *texts)
{
    if (texts->item == NULL)
        return;
    json_t *array = lib_write_array(write, object, key);
    for (size_t i = 0; i < texts->count; i++)
        lib_write_element(write, array, make_text(write, texts->item[i]));
}

void lib_write_pairs(struct lib_write *write, json_t *object, const char *key,
                     const struct berth_pairs *pairs)
{
    if (pairs->item == NULL)
        return;
    put(write, object, key, json_object());
    json_t *map = json_object_get(object, key);
    for (size_t i = 0; i < pairs->count; i++)
        put(write, map, pairs->item[i].name, make_text(write, pairs->item[i].value));
}

void lib_write_enum(struct lib_write *write, json_t *object, const char *key, int value,
                    const char *const *names, int count)
{
    if (value > 0 && value < count)
        put(write, object, key, make_text(write, names[value]));
}

int lib_write_allowed(struct berth *berth, json_t *parameters, int whole_node, int with_gpus,
                      const struct berth_allowed *given)
{
    if (whole_node && given == NULL)
        return BERTH_DONE;
    struct berth_allowed *here = NULL;
    if (given == NULL) {
        int status = berth_allowed_here(berth, with_gpus, &here);
        if (status < 0)
            return status;
        given = here;
    }
    struct lib_write write = lib_write_begin();
    lib_write_text(&write, write.parameters, "cpus", given->cpus);
    lib_write_texts(&write, write.parameters, "memory", &given->memory);
    lib_write_texts(&write, write.parameters, "gpus", &given->gpus);
    berth_allowed_free(here);
    json_t *allowed = NULL;
    int status = lib_write_end(berth, &write, &allowed);
    if (status == BERTH_DONE && json_object_set_new(parameters, "allowed", allowed) != 0)
        status = lib_fail_memory(berth);
    return status;
}

int lib_write_end_allowed(struct berth *berth, struct lib_write *write, int whole_node,
                          const struct berth_allowed *given, json_t **ret_parameters)
{
    json_t *parameters = NULL;
    int status = lib_write_end(berth, write, &parameters);
    if (status != BERTH_DONE)
        return status;
    status = lib_write_allowed(berth, parameters, whole_node, 1, given);
    if (status == BERTH_DONE)
        *ret_parameters = parameters;
    else
        json_decref(parameters);
    return status;
}
