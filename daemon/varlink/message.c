#include "varlink/message.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the position behind the string that begins at text, or end. */
static const char *skip_string(const char *text, const char *end)
{
    for (text++; text < end && *text != '"'; text++)
        text += *text == '\\';
    return text < end ? text + 1 : end;
}

size_t message_items(const char *text, size_t length)
{
    size_t items = 0;
    for (const char *at = text, *end = text + length; at < end;) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        items += *at == ',' ? 1 : *at == '{' || *at == '[' ? MESSAGE_ITEMS_NEST : 0;
        at++;
    }
    return items;
}

#define BEYOND "1e308" /* has the length of the shortest numeral beyond a double, 1e309 */

static char *string_end(char *at, const char *end)
{
    while (at < end && *at != '"')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at < end ? at + 1 : at;
}

/* Returns the length of the JSON numeral at text; 0 when there is none. */
static size_t numeral_length(const char *text)
{
    static const char digits[] = "0123456789";
    size_t length = *text == '-', count = strspn(text + length, digits);
    if (count == 0 || (count > 1 && text[length] == '0'))
        return 0;
    length += count;
    if (text[length] == '.') {
        count = strspn(text + length + 1, digits);
        length += count > 0 ? 1 + count : 0;
    }
    if (text[length] == 'e' || text[length] == 'E') {
        size_t sign = text[length + 1] == '-' || text[length + 1] == '+';
        count = strspn(text + length + 1 + sign, digits);
        length += count > 0 ? 1 + sign + count : 0;
    }
    return length;
}

static void fit(char *numeral, size_t length)
{
    char saved = numeral[length];
    size_t sign = *numeral == '-';
    numeral[length] = '\0';
    if (isinf(strtod(numeral, NULL))) {
        memset(numeral + sign, ' ', length - sign);
        memcpy(numeral + sign, BEYOND, strlen(BEYOND));
    } else if (strspn(numeral + sign, "0123456789") == length - sign) {
        errno = 0;
        strtoll(numeral, NULL, 10);
        if (errno == ERANGE)
            memcpy(numeral + length - 2, "e2", 2);
    }
    numeral[length] = saved;
}

void message_fit_numerals(char *text, size_t length)
{
    char *end = text + length;
    for (char *at = text; at < end;) {
        if (*at == '"') {
            at = string_end(at + 1, end);
        } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
            size_t digits = strspn(at, "-+.0123456789eE");
            if (digits >= strlen(BEYOND) && numeral_length(at) == digits)
                fit(at, digits);
            at += digits;
        } else {
            at++;
        }
    }
}
