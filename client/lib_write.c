#include "lib_write.h"

bool lib_write_text(json_t *object, const char *key, const char *text)
{
    return text == NULL || json_object_set_new(object, key, json_string(text)) == 0;
}

bool lib_write_integer(json_t *object, const char *key, int64_t number)
{
    return number < 0 || json_object_set_new(object, key, json_integer(number)) == 0;
}

bool lib_write_texts(json_t *object, const char *key, const struct berth_texts *texts)
{
    if (texts->item == NULL)
        return true;
    json_t *array = json_array();
    bool fine = json_object_set_new(object, key, array) == 0;
    for (size_t i = 0; fine && i < texts->count; i++)
        fine = json_array_append_new(array, json_string(texts->item[i])) == 0;
    return fine;
}

bool lib_write_pairs(json_t *object, const char *key, const struct berth_pairs *pairs)
{
    if (pairs->item == NULL)
        return true;
    json_t *map = json_object();
    bool fine = json_object_set_new(object, key, map) == 0;
    for (size_t i = 0; fine && i < pairs->count; i++)
        fine = json_object_set_new(map, pairs->item[i].name, json_string(pairs->item[i].value)) == 0;
    return fine;
}

bool lib_write_enum(json_t *object, const char *key, int value, const char *const *names, int count)
{
    return value <= 0 || value >= count || json_object_set_new(object, key, json_string(names[value])) == 0;
}

int lib_fail_request(struct berth *berth)
{
    return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "the request cannot be written: a text is NULL or not UTF-8, or memory is short");
}

int lib_write_allowed(struct berth *berth, json_t *object, int whole_node, const struct berth_allowed *given)
{
    if (whole_node && given == NULL)
        return BERTH_DONE;
    struct berth_allowed *here = NULL;
    if (given == NULL) {
        int status = berth_allowed_here(berth, &here);
        if (status < 0)
            return status;
        given = here;
    }
    json_t *allowed = json_object();
    bool fine = json_object_set_new(object, "allowed", allowed) == 0 && lib_write_text(allowed, "cpus", given->cpus) &&
                lib_write_texts(allowed, "memory", &given->memory) && lib_write_texts(allowed, "gpus", &given->gpus);
    berth_allowed_free(here);
    return fine ? BERTH_DONE : lib_fail_request(berth);
}
