#include "base/text.h"

#include <stdbool.h>

size_t text_utf8_length(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t length = c[0] >= 0xc2 && c[0] <= 0xdf   ? 2
                    : c[0] >= 0xe0 && c[0] <= 0xef ? 3
                    : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4
                                                   : 0;
    for (size_t i = 1; i < length; i++)
        if (c[i] < 0x80 || c[i] > 0xbf)
            return 0;
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    /* surrogates; past U+10FFFF */
    bool beyond = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

void text_clean(char *text)
{
    for (char *c = text; *c != '\0';) {
        size_t length = (unsigned char)*c < 0x80 ? 1 : text_utf8_length(c);
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
        else if (length == 0)
            *c = '?';
        c += length > 0 ? length : 1;
    }
}
