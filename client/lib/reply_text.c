/* Finds the parameters in a message's own text, so that every digit of a reply stays as the daemon
 * wrote it. */
#include "lib/lib.h"

#include <string.h>

static const char *skip_space(const char *c) { return c + strspn(c, " \t\r\n"); }

/* First byte after a string that begins at c. */
static const char *skip_string(const char *c)
{
    for (c++; *c != '"'; c++)
        if (*c == '\\')
            c++;
    return c + 1;
}

/* First byte after a value that begins at c. */
static const char *skip_value(const char *c)
{
    size_t depth = 0;
    do {
        if (*c == '"') {
            c = skip_string(c);
            continue;
        }
        if (*c == '{' || *c == '[')
            depth++;
        else if (*c == '}' || *c == ']')
            depth--;
        c++;
    } while (depth > 0);
    /* A number or a word ends before the next character. */
    if (c[-1] != '"' && c[-1] != '}' && c[-1] != ']')
        c += strcspn(c, ",}] \t\r\n");
    return c;
}

bool lib_parameters_span(const char *message, const char **ret_text, size_t *ret_length)
{
    static const char key[] = "\"parameters\"";
    const char *c = skip_space(message);
    c = skip_space(c + 1);
    while (*c == '"') {
        bool found = strncmp(c, key, sizeof key - 1) == 0;
        c = skip_space(skip_string(c));
        c = skip_space(c + 1);
        const char *end = skip_value(c);
        if (found) {
            *ret_text = c;
            *ret_length = (size_t)(end - c);
            return true;
        }
        c = skip_space(end);
        if (*c == ',')
            c = skip_space(c + 1);
    }
    return false;
}
