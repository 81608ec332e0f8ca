#include "varlink/message_weight.h"

/* Returns the position behind the string that begins at text, or end. */
static const char *skip_string(const char *text, const char *end)
{
    for (text++; text < end && *text != '"'; text++)
        text += *text == '\\';
    return text < end ? text + 1 : end;
}

size_t message_weight(const char *text, size_t length)
{
    size_t weight = 0;
    for (const char *at = text, *end = text + length; at < end;) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        weight += *at == ',' ? 1 : *at == '{' || *at == '[' ? MESSAGE_WEIGHT_NEST : 0;
        at++;
    }
    return weight;
}
