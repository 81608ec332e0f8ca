#include "node/record_plain.h"

#include <stdlib.h>
#include <string.h>

#define AXES_MAX 8
#define WORD_MAX 40 /* of an axis: longer ones are refused */

struct reader {
    const char *at, *end;
    bool failed;
};

static void expect(struct reader *reader, const char *text)
{
    size_t length = strlen(text);
    reader->failed = reader->failed || (size_t)(reader->end - reader->at) < length ||
                     memcmp(reader->at, text, length) != 0;
    if (!reader->failed)
        reader->at += length;
}

/* Reads from behind a quotation mark to behind the next: 1 to max characters of printable ASCII
 * without blanks and escapes. */
static void read_word(struct reader *reader, char *word, size_t max)
{
    size_t length = 0;
    word[0] = '\0';
    while (!reader->failed && reader->at + length < reader->end && length <= max &&
           reader->at[length] > ' ' && reader->at[length] <= '~' && reader->at[length] != '"' &&
           reader->at[length] != '\\')
        length++;
    reader->failed = reader->failed || length == 0 || length > max ||
                     reader->at + length >= reader->end || reader->at[length] != '"';
    if (reader->failed)
        return;
    memcpy(word, reader->at, length);
    word[length] = '\0';
    reader->at += length + 1;
}

static const char *skip_digits(const char *c) { return c + strspn(c, "0123456789"); }

/* Returns the position behind a number of JSON's grammar that is not negative; NULL where there is
 * none. */
static const char *skip_number(const char *c)
{
    const char *digits = skip_digits(c);
    if (digits == c || (*c == '0' && digits > c + 1))
        return NULL;
    if (*digits == '.') {
        const char *fraction = skip_digits(digits + 1);
        if (fraction == digits + 1)
            return NULL;
        digits = fraction;
    }
    if (*digits == 'e' || *digits == 'E') {
        const char *exponent = digits + 1 + (digits[1] == '+' || digits[1] == '-'),
                   *last = skip_digits(exponent);
        return last == exponent ? NULL : last;
    }
    return digits;
}

static double read_number(struct reader *reader)
{
    const char *last = reader->failed ? NULL : skip_number(reader->at);
    reader->failed = last == NULL || last >= reader->end;
    if (reader->failed)
        return 0;
    double number = strtod(reader->at, NULL);
    reader->at = last;
    return number;
}

static uint32_t read_count(struct reader *reader)
{
    const char *begin = reader->at;
    double number = read_number(reader);
    bool is_whole = !reader->failed && skip_digits(begin) == reader->at && number >= 1 &&
                    number <= RECORD_REPETITIONS_MAX;
    reader->failed = reader->failed || !is_whole;
    return is_whole ? (uint32_t)number : 0;
}

static void read_axes(struct reader *reader, enum metric metric, char *axes, size_t size)
{
    char word[2 * AXES_MAX][WORD_MAX + 1];
    const char *text[2 * AXES_MAX];
    size_t count = 0;
    while (!reader->failed && reader->at < reader->end && *reader->at != '}' && count < AXES_MAX) {
        expect(reader, count > 0 ? ",\"" : "\"");
        read_word(reader, word[2 * count], WORD_MAX);
        expect(reader, ":\"");
        read_word(reader, word[2 * count + 1], WORD_MAX);
        for (size_t i = 0; i < count; i++)
            reader->failed = reader->failed || strcmp(word[2 * i], word[2 * count]) == 0;
        text[2 * count] = word[2 * count];
        text[2 * count + 1] = word[2 * count + 1];
        count++;
    }
    expect(reader, "}");
    struct berth_err err = {0};
    reader->failed =
        reader->failed || axes_canonical(metric, text, count, axes, size, &err) != BERTH_OK;
}

static bool is_allowed(double number)
{
    return number >= RECORD_NUMBER_MIN && number <= RECORD_NUMBER_MAX;
}

static void read_cell(struct reader *reader, struct record_plain *ret)
{
    static const char axes[] = ",\"axes\":{";
    char metric[RECORD_PLACE_MAX + 1];
    expect(reader, "{\"record\":\"value\",\"metric\":\"");
    read_word(reader, metric, RECORD_PLACE_MAX);
    expect(reader, ",\"from\":\"");
    read_word(reader, ret->from, RECORD_PLACE_MAX);
    expect(reader, ",\"to\":\"");
    read_word(reader, ret->to, RECORD_PLACE_MAX);
    ret->axes[0] = '\0';
    reader->failed = reader->failed || !metric_parse(metric, &ret->metric);
    if (reader->failed || (size_t)(reader->end - reader->at) < sizeof axes ||
        memcmp(reader->at, axes, sizeof axes - 1) != 0)
        return;
    expect(reader, axes);
    read_axes(reader, ret->metric, ret->axes, sizeof ret->axes);
}

bool record_plain_cell(const char *line, size_t length, struct record_plain *ret)
{
    struct reader reader = {line, line + length, false};
    read_cell(&reader, ret);
    expect(&reader, ",\"value\":");
    /* Axes may stand behind the value; the cell is then not the one without axes. */
    return !reader.failed &&
           memmem(reader.at, (size_t)(reader.end - reader.at), "\"axes\"", 6) == NULL;
}

bool record_plain(const char *line, size_t length, struct record_plain *ret)
{
    struct reader reader = {line, line + length, length > RECORD_LINE_MAX};
    read_cell(&reader, ret);
    expect(&reader, ",\"value\":");
    ret->value = read_number(&reader);
    expect(&reader, ",\"low\":");
    ret->low = read_number(&reader);
    expect(&reader, ",\"high\":");
    ret->high = read_number(&reader);
    expect(&reader, ",\"n\":");
    ret->n = read_count(&reader);
    expect(&reader, "}");
    bool is_whole = !reader.failed && reader.at == reader.end;
    return is_whole && is_allowed(ret->value) && (is_allowed(ret->low) || ret->low == 0) &&
           is_allowed(ret->high) && ret->low <= ret->value && ret->high >= ret->value;
}
