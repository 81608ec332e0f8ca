#include "node/reasons.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/text.h"

static const struct {
    const char *code, *text;
} rows[REASON_CODES] = {
#define REASON(id, name, sentence, about) {name, sentence},
#include "reasons.def"
#undef REASON
};

const char *reasons_code_name(enum reason_code code) { return rows[code].code; }

#define NAME_SIZE 32

/* Reads the word in braces at or after text; NULL: there is none. Returns the text behind it. */
static const char *next_word(const char *text, char word[NAME_SIZE])
{
    const char *open = strchr(text, '{'), *close = open != NULL ? strchr(open, '}') : NULL;
    if (close == NULL)
        return NULL;
    size_t length = (size_t)(close - open - 1);
    length = length < NAME_SIZE ? length : NAME_SIZE - 1;
    memcpy(word, open + 1, length);
    word[length] = '\0';
    return close + 1;
}

static bool is_subject(const char *word)
{
    return isdigit((unsigned char)*word) || strcmp(word, "all") == 0;
}

const char *reasons_number_name(enum reason_code code, size_t index, char name[NAME_SIZE])
{
    size_t found = 0;
    for (const char *at = rows[code].text; (at = next_word(at, name)) != NULL;)
        if (!is_subject(name) && found++ == index)
            return name;
    return NULL;
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

static void print_number(const char *name, double number, char text[QUANTITY_SIZE])
{
    if (ends_in(name, "_ns"))
        quantity_time(number, text);
    else if (ends_in(name, "_bytes_per_s"))
        quantity_rate(number, text);
    else if (ends_in(name, "bytes"))
        quantity_size(number, text);
    else if (ends_in(name, "_percent"))
        snprintf(text, QUANTITY_SIZE, "%.*f %%", 100 * fabs(number) < 9.95 ? 1 : 0, 100 * number);
    else
        snprintf(text, QUANTITY_SIZE, "%.6g", number);
}

/* "a", "a and b", "a, b and 3 more". */
static void print_all(const struct reason *reason, char *text, size_t size)
{
    size_t shown = reason->subject_count, more = reason->more;
    if (more > 0 || shown > 4) {
        more += shown > 3 ? shown - 3 : 0;
        shown = shown > 3 ? 3 : shown;
    }
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < shown && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0                        ? ""
                                 : i + 1 == shown && more == 0 ? " and "
                                                               : ", ",
                                 reason->subject[i]);
    if (more > 0 && used < size)
        snprintf(text + used, size - used, " and %zu more", more);
}

static void print_word(const struct reason *reason, const char *word, size_t *number, char *text,
                       size_t size)
{
    char quantity[QUANTITY_SIZE];
    size_t index = (size_t)strtoul(word, NULL, 10);
    if (strcmp(word, "all") == 0) {
        print_all(reason, text, size);
    } else if (is_subject(word)) {
        snprintf(text, size, "%s", index < reason->subject_count ? reason->subject[index] : "");
    } else {
        print_number(word, *number < reason->number_count ? reason->number[*number] : 0, quantity);
        ++*number;
        snprintf(text, size, "%s", quantity);
    }
}

static void print_text(struct reason *reason)
{
    const char *at = rows[reason->code].text;
    char word[NAME_SIZE];
    size_t used = 0, number = 0;
    while (*at != '\0' && used + 1 < REASON_TEXT_SIZE) {
        size_t plain = strcspn(at, "{");
        used +=
            (size_t)snprintf(reason->text + used, REASON_TEXT_SIZE - used, "%.*s", (int)plain, at);
        at += plain;
        if (*at != '{' || used + 1 >= REASON_TEXT_SIZE)
            continue;
        at = next_word(at, word);
        if (at == NULL)
            break;
        print_word(reason, word, &number, reason->text + used, REASON_TEXT_SIZE - used);
        used += strlen(reason->text + used);
    }
    text_clean(reason->text); /* after truncation it may end in half a character */
}

static bool is_same(const struct reason *a, const struct reason *b)
{
    bool same = a->code == b->code && a->subject_count == b->subject_count && a->more == b->more &&
                strcmp(a->text, b->text) == 0;
    for (size_t i = 0; same && i < a->subject_count; i++)
        same = strcmp(a->subject[i], b->subject[i]) == 0;
    return same;
}

static void put(struct reasons *reasons, const struct reason *reason)
{
    for (size_t i = 0; i < reasons->count; i++)
        if (is_same(&reasons->item[i], reason))
            return;
    if (reasons->count < REASONS_MAX) {
        reasons->item[reasons->count++] = *reason;
    } else {
        reasons->item[REASONS_MAX - 1] = (struct reason){.code = REASON_MORE};
        print_text(&reasons->item[REASONS_MAX - 1]);
    }
}

void reasons_append(struct reasons *reasons, const struct reasons *other)
{
    for (size_t i = 0; i < other->count; i++)
        put(reasons, &other->item[i]);
}

static void add_subject(struct reason *reason, const char *subject)
{
    if (reason->subject_count < REASON_SUBJECTS_MAX) {
        char *copy = reason->subject[reason->subject_count++];
        snprintf(copy, REASON_SUBJECT_SIZE, "%s", subject);
        text_clean(copy);
    } else {
        reason->more++;
    }
}

void reasons_add(struct reasons *reasons, enum reason_code code, struct reason_subjects subjects,
                 struct reason_numbers numbers)
{
    struct reason reason = {.code = code};
    char name[NAME_SIZE];
    assert(numbers.count <= REASON_NUMBERS_MAX &&
           reasons_number_name(code, numbers.count, name) == NULL &&
           (numbers.count == 0 || reasons_number_name(code, numbers.count - 1, name) != NULL));
    for (size_t i = 0; i < subjects.count; i++)
        add_subject(&reason, subjects.text[i]);
    for (size_t i = 0; i < numbers.count; i++)
        reason.number[reason.number_count++] = numbers.number[i];
    print_text(&reason);
    put(reasons, &reason);
}

void reasons_add_about(struct reasons *reasons, enum reason_code code, const char *subject,
                       struct reason_numbers numbers)
{
    for (size_t i = 0; i < reasons->count; i++) {
        struct reason *reason = &reasons->item[i];
        bool same = reason->code == code && reason->number_count == numbers.count;
        for (size_t n = 0; same && n < numbers.count; n++)
            same = reason->number[n] == numbers.number[n];
        for (size_t s = 0; same && s < reason->subject_count; s++)
            if (strcmp(reason->subject[s], subject) == 0)
                return;
        if (!same)
            continue;
        add_subject(reason, subject);
        print_text(reason);
        return;
    }
    reasons_add(reasons, code, SUBJECTS(subject), numbers);
}
