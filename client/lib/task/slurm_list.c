#include "lib/task/slurm_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_MOST 65536

typedef bool add_fn(void *arg, const char *name);

/* Reads a number of at most nine digits; NULL when there is none. */
static const char *read_number(const char *text, long *ret)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 9)
        return NULL;
    *ret = strtol(text, NULL, 10);
    return text + digits;
}

/* Reads "3" or "0-3"; NULL for any other text. */
static const char *read_range(const char *text, long *ret_first, long *ret_last)
{
    const char *end = read_number(text, ret_first);
    *ret_last = end != NULL ? *ret_first : 0;
    if (end != NULL && *end == '-')
        end = read_number(end + 1, ret_last);
    return end != NULL && *ret_first <= *ret_last && *ret_last - *ret_first < RANGE_MOST ? end
                                                                                         : NULL;
}

static bool add_names(const char *before, size_t before_length, const char *text, size_t length,
                      add_fn *add, void *arg);

/* Adds each number between the brackets, followed by the text behind them. */
static bool add_bracket(const char *before, size_t before_length, const char *inside,
                        const char *close, const char *after, size_t after_length, add_fn *add,
                        void *arg)
{
    for (;;) {
        long first, last;
        size_t width = strspn(inside, "0123456789");
        const char *end = read_range(inside, &first, &last);
        if (end == NULL || end > close || (end < close && *end != ','))
            return false;
        for (long n = first; n <= last; n++) {
            char name[SLURM_LIST_NAME];
            int used =
                snprintf(name, sizeof name, "%.*s%0*ld", (int)before_length, before, (int)width, n);
            if (used < 0 || (size_t)used >= sizeof name ||
                !add_names(name, (size_t)used, after, after_length, add, arg))
                return false;
        }
        if (end == close)
            return true;
        inside = end + 1;
    }
}

/* before is final; text may have brackets. */
static bool add_names(const char *before, size_t before_length, const char *text, size_t length,
                      add_fn *add, void *arg)
{
    char name[SLURM_LIST_NAME];
    const char *open = memchr(text, '[', length), *close = memchr(text, ']', length);
    if (open == NULL && close == NULL) {
        int used =
            snprintf(name, sizeof name, "%.*s%.*s", (int)before_length, before, (int)length, text);
        return used > 0 && (size_t)used < sizeof name && add(arg, name);
    }
    if (open == NULL || close == NULL || close < open)
        return false;
    int used = snprintf(name, sizeof name, "%.*s%.*s", (int)before_length, before,
                        (int)(open - text), text);
    return used >= 0 && (size_t)used < sizeof name &&
           add_bracket(name, (size_t)used, open + 1, close, close + 1,
                       length - (size_t)(close + 1 - text), add, arg);
}

bool slurm_list_names(const char *list, add_fn *add, void *arg)
{
    for (;;) {
        size_t length = 0;
        for (bool inside = false; list[length] != '\0' && (inside || list[length] != ','); length++)
            inside = list[length] == '[' || (inside && list[length] != ']');
        if (length == 0 || length >= SLURM_LIST_NAME || !add_names("", 0, list, length, add, arg))
            return false;
        if (list[length] == '\0')
            return true;
        list += length + 1;
    }
}

struct wanted {
    const char *name;
    bool is_there;
};

static bool find_item(void *arg, const char *name)
{
    struct wanted *wanted = arg;
    wanted->is_there |= strcmp(name, wanted->name) == 0;
    return true;
}

bool slurm_list_has(const char *list, const char *name, bool *ret_has)
{
    struct wanted wanted = {.name = name};
    bool is_list = slurm_list_names(list, find_item, &wanted);
    if (is_list)
        *ret_has = wanted.is_there;
    return is_list;
}

int slurm_list_numbers(const char *list, int most, int *ret_numbers)
{
    int count = 0;
    for (;;) {
        long first, last;
        const char *end = read_range(list, &first, &last);
        if (end == NULL || last - first >= most - count || (*end != ',' && *end != '\0'))
            return -1;
        for (long n = first; n <= last; n++)
            ret_numbers[count++] = (int)n;
        if (*end == '\0')
            return count;
        list = end + 1;
    }
}
