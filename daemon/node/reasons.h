/**
 * Reasons and warnings of an answer, as data: a code, its subjects and its numbers, and the
 * sentence that schema/reasons.def makes of them. Pure; any thread.
 */
#pragma once
#include <stddef.h>

#define REASONS_MAX         24
#define REASON_SUBJECTS_MAX 8
#define REASON_SUBJECT_SIZE 64
#define REASON_NUMBERS_MAX  6
#define REASON_TEXT_SIZE    200

enum reason_code {
#define REASON(id, code, text, about) REASON_##id,
#include "reasons.def"
#undef REASON
    REASON_CODES
};

struct reason {
    enum reason_code code;
    size_t subject_count, number_count;
    size_t more; /* subjects beyond REASON_SUBJECTS_MAX */
    char subject[REASON_SUBJECTS_MAX][REASON_SUBJECT_SIZE];
    double number[REASON_NUMBERS_MAX];
    char text[REASON_TEXT_SIZE];
};

/* Zero-initialise. */
struct reasons {
    size_t count;
    struct reason item[REASONS_MAX];
};

struct reason_subjects {
    size_t count;
    const char *const *text;
};
struct reason_numbers {
    size_t count;
    const double *number;
};
#define SUBJECTS(...)                                                                              \
    (struct reason_subjects)                                                                       \
    {                                                                                              \
        sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *), (const char *const[])     \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define NUMBERS(...)                                                                               \
    (struct reason_numbers)                                                                        \
    {                                                                                              \
        sizeof(const double[]){__VA_ARGS__} / sizeof(double), (const double[]) { __VA_ARGS__ }     \
    }
#define NO_SUBJECTS ((struct reason_subjects){0, NULL})
#define NO_NUMBERS  ((struct reason_numbers){0, NULL})

/* Adds a reason, once. subjects and numbers: as many as the row of the code has, and more subjects
 * where it has {all}. When there is no room, the last one becomes REASON_MORE. */
void reasons_add(struct reasons *reasons, enum reason_code code, struct reason_subjects subjects,
                 struct reason_numbers numbers);

/* Adds a reason about one subject, of a row with {all}. Where the same is there about others, with
 * the same numbers, it is added to their subjects. */
void reasons_add_about(struct reasons *reasons, enum reason_code code, const char *subject,
                       struct reason_numbers numbers);

/* Adds all of other. */
void reasons_append(struct reasons *reasons, const struct reasons *other);

const char *reasons_code_name(enum reason_code code);

/* Returns the name of number index of a code's row, into name; NULL when it has no such. */
const char *reasons_number_name(enum reason_code code, size_t index, char name[32]);
