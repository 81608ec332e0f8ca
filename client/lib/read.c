#include "lib/read.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
    struct block *next;
    max_align_t data[];
};

struct lib_arena {
    json_t *reply;
    struct block *blocks;
    max_align_t result[];
};

void *lib_result_new(size_t size, json_t *take_reply, struct lib_read *ret_read)
{
    struct lib_arena *arena = calloc(1, sizeof *arena + size);
    if (arena == NULL) {
        json_decref(take_reply);
        return NULL;
    }
    arena->reply = take_reply;
    *ret_read = (struct lib_read){.arena = arena};
    return arena->result;
}

void lib_result_free(void *result)
{
    if (result == NULL)
        return;
    struct lib_arena *arena =
        (struct lib_arena *)(void *)((char *)result - offsetof(struct lib_arena, result));
    while (arena->blocks != NULL) {
        struct block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    json_decref(arena->reply);
    free(arena);
}

int lib_result_end(struct berth *berth, struct lib_read *read, const char *method,
                   void *take_result)
{
    int status = BERTH_DONE;
    if (read->out_of_memory)
        status = lib_fail_memory(berth);
    else if (read->wrong[0] != '\0')
        status = lib_fail(berth, BERTH_ERROR_PROTOCOL,
                          "the daemon's reply to %s is not as promised: %s", method, read->wrong);
    if (status != BERTH_DONE)
        lib_result_free(take_result);
    return status;
}

void *lib_result_block(struct lib_read *read, size_t count, size_t size)
{
    struct block *block = size > 0 && count > (SIZE_MAX - sizeof *block) / size
                              ? NULL
                              : calloc(1, sizeof *block + count * size);
    if (block == NULL) {
        read->out_of_memory = true;
        return NULL;
    }
    block->next = read->arena->blocks;
    read->arena->blocks = block;
    return block->data;
}

void lib_read_wrong(struct lib_read *read, const char *key, const char *what)
{
    if (read->wrong[0] == '\0')
        snprintf(read->wrong, sizeof read->wrong, "%s is %s", key, what);
}

static bool is_broken(const struct lib_read *read)
{
    return read->out_of_memory || read->wrong[0] != '\0';
}

/* Member of an object; NULL when it is absent or null. */
static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const char *lib_read_maybe_text(struct lib_read *read, const json_t *object, const char *key)
{
    const json_t *value = member(object, key);
    if (value != NULL && !json_is_string(value))
        lib_read_wrong(read, key, "not a text");
    return json_string_value(value);
}

const char *lib_read_text(struct lib_read *read, const json_t *object, const char *key)
{
    const char *text = lib_read_maybe_text(read, object, key);
    if (text == NULL)
        lib_read_wrong(read, key, "missing");
    return text == NULL ? "" : text;
}

int64_t lib_read_maybe_integer(struct lib_read *read, const json_t *object, const char *key)
{
    const json_t *value = member(object, key);
    if (value == NULL)
        return -1;
    if (!json_is_integer(value))
        lib_read_wrong(read, key, "not an integer");
    return json_integer_value(value);
}

int64_t lib_read_integer(struct lib_read *read, const json_t *object, const char *key)
{
    if (member(object, key) == NULL)
        lib_read_wrong(read, key, "missing");
    return lib_read_maybe_integer(read, object, key);
}

int lib_read_int(struct lib_read *read, const json_t *object, const char *key)
{
    int64_t value = lib_read_integer(read, object, key);
    if (value < INT_MIN || value > INT_MAX)
        lib_read_wrong(read, key, "out of range");
    return (int)value;
}

size_t lib_read_size(struct lib_read *read, const json_t *object, const char *key)
{
    int64_t value = lib_read_integer(read, object, key);
    if (value < 0)
        lib_read_wrong(read, key, "below 0");
    return (size_t)value;
}

double lib_read_maybe_number(struct lib_read *read, const json_t *object, const char *key)
{
    const json_t *value = member(object, key);
    if (value == NULL)
        return NAN;
    if (!json_is_number(value))
        lib_read_wrong(read, key, "not a number");
    return json_number_value(value);
}

double lib_read_number(struct lib_read *read, const json_t *object, const char *key)
{
    if (member(object, key) == NULL)
        lib_read_wrong(read, key, "missing");
    return lib_read_maybe_number(read, object, key);
}

int lib_read_maybe_bool(struct lib_read *read, const json_t *object, const char *key)
{
    return member(object, key) == NULL ? -1 : lib_read_bool(read, object, key);
}

int lib_read_bool(struct lib_read *read, const json_t *object, const char *key)
{
    const json_t *value = member(object, key);
    if (!json_is_boolean(value))
        lib_read_wrong(read, key, value == NULL ? "missing" : "not true or false");
    return json_is_true(value);
}

struct berth_texts lib_read_texts(struct lib_read *read, const json_t *object, const char *key)
{
    const json_t *array = member(object, key);
    size_t count = json_array_size(array);
    if (array != NULL && !json_is_array(array))
        lib_read_wrong(read, key, "not an array");
    const char **item = lib_result_block(read, count, sizeof *item);
    if (item == NULL)
        return (struct berth_texts){0};
    for (size_t i = 0; i < count; i++) {
        item[i] = json_string_value(json_array_get(array, i));
        if (item[i] == NULL) {
            lib_read_wrong(read, key, "not an array of texts");
            item[i] = "";
        }
    }
    return (struct berth_texts){.item = item, .count = count};
}

static void fill_reason(struct lib_read *read, const json_t *json, void *ret)
{
    struct berth_reason *reason = ret;
    json_t *numbers = json_object_get(json, "numbers"), *value;
    if (numbers != NULL && !json_is_null(numbers) && !json_is_object(numbers))
        lib_read_wrong(read, "numbers", "not a map");
    *reason = (struct berth_reason){.code = lib_read_text(read, json, "code"),
                                    .text = lib_read_text(read, json, "text"),
                                    .subjects = lib_read_texts(read, json, "subjects")};
    struct berth_number *item = lib_result_block(read, json_object_size(numbers), sizeof *item);
    if (item == NULL)
        return;
    const char *name;
    json_object_foreach(numbers, name, value)
    {
        if (!json_is_number(value))
            lib_read_wrong(read, "numbers", "not a map of numbers");
        item[reason->number_count++] = (struct berth_number){name, json_number_value(value)};
    }
    reason->numbers = item;
}

struct berth_reasons lib_read_reasons(struct lib_read *read, const json_t *object, const char *key)
{
    struct berth_reasons reasons = {0};
    if (member(object, key) != NULL)
        reasons.item =
            lib_read_array(read, object, key, sizeof *reasons.item, fill_reason, &reasons.count);
    return reasons;
}

struct berth_pairs lib_read_pairs(struct lib_read *read, const json_t *object, const char *key)
{
    json_t *map = json_object_get(object, key);
    if (map == NULL || json_is_null(map))
        return (struct berth_pairs){0};
    if (!json_is_object(map))
        lib_read_wrong(read, key, "not a map");
    struct berth_pair *item = lib_result_block(read, json_object_size(map), sizeof *item);
    if (item == NULL)
        return (struct berth_pairs){0};
    size_t count = 0;
    const char *name;
    const json_t *value;
    json_object_foreach(map, name, value)
    {
        if (!json_is_string(value))
            lib_read_wrong(read, key, "not a map of texts");
        else
            item[count++] = (struct berth_pair){.name = name, .value = json_string_value(value)};
    }
    return (struct berth_pairs){.item = item, .count = count};
}

int lib_read_maybe_enum(struct lib_read *read, const json_t *object, const char *key,
                        const char *const *names)
{
    const char *text = lib_read_maybe_text(read, object, key);
    for (int i = 1; text != NULL && names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return 0;
}

int lib_read_enum(struct lib_read *read, const json_t *object, const char *key,
                  const char *const *names)
{
    lib_read_text(read, object, key);
    return lib_read_maybe_enum(read, object, key, names);
}

/* Elements are objects, which are larger in jansson than in a result. So no reply, however many
 * elements it has, takes much more memory than its parser did. */
void *lib_read_array(struct lib_read *read, const json_t *object, const char *key, size_t size,
                     lib_fill_fn *fill, size_t *ret_count)
{
    const json_t *array = member(object, key), *item;
    size_t i;
    *ret_count = 0;
    if (!json_is_array(array))
        lib_read_wrong(read, key, array == NULL ? "missing" : "not an array");
    json_array_foreach(array, i, item)
    {
        if (!json_is_object(item))
            lib_read_wrong(read, key, "not an array of objects");
    }
    if (is_broken(read))
        return NULL;
    char *elements = lib_result_block(read, json_array_size(array), size);
    for (i = 0; i < json_array_size(array) && !is_broken(read); i++)
        fill(read, json_array_get(array, i), elements + i * size);
    *ret_count = elements == NULL ? 0 : i;
    return elements;
}

void lib_read_maybe_object(struct lib_read *read, const json_t *object, const char *key,
                           lib_fill_fn *fill, void *ret)
{
    const json_t *its = member(object, key);
    if (its != NULL && !json_is_object(its))
        lib_read_wrong(read, key, "not an object");
    else if (its != NULL)
        fill(read, its, ret);
}

void lib_read_object(struct lib_read *read, const json_t *object, const char *key,
                     lib_fill_fn *fill, void *ret)
{
    if (member(object, key) == NULL)
        lib_read_wrong(read, key, "missing");
    lib_read_maybe_object(read, object, key, fill, ret);
}

int lib_read_reply(struct berth *berth, const char *method, json_t *take_reply, size_t size,
                   lib_fill_fn *fill, void *ret_result)
{
    struct lib_read read;
    void *result = lib_result_new(size, take_reply, &read);
    if (result == NULL)
        return lib_fail_memory(berth);
    fill(&read, take_reply, result);
    int status = lib_result_end(berth, &read, method, result);
    if (status == BERTH_DONE)
        memcpy(ret_result, &result, sizeof result);
    return status;
}

int lib_ask(struct berth *berth, const char *method, json_t *take_parameters, size_t size,
            lib_fill_fn *fill, void *ret_result)
{
    json_t *reply;
    int status = lib_call(berth, method, take_parameters, &reply);
    return status != BERTH_DONE ? status
                                : lib_read_reply(berth, method, reply, size, fill, ret_result);
}
