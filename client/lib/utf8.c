/* Check of a text for valid UTF-8. */
#include "lib/lib.h"

/* Every sequence in its shortest form, no surrogates, nothing above U+10FFFF. */
bool lib_utf8_is_valid(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
        unsigned length = *c < 0x80                 ? 1
                          : *c >= 0xc2 && *c < 0xe0 ? 2
                          : *c >= 0xe0 && *c < 0xf0 ? 3
                          : *c >= 0xf0 && *c < 0xf5 ? 4
                                                    : 0;
        unsigned long point = length == 0 ? 0 : length == 1 ? *c : *c & (0x7fu >> length);
        for (unsigned i = 1; i < length; i++) {
            if ((c[i] & 0xc0) != 0x80)
                return false;
            point = point << 6 | (c[i] & 0x3fu);
        }
        if (length == 0 ||
            (length == 3 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) ||
            (length == 4 && (point < 0x10000 || point > 0x10ffff)))
            return false;
        c += length;
    }
    return true;
}
