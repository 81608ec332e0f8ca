#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_shown(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
#define HIDDEN(first, last) {first, last},
#include "hidden.def"
#undef HIDDEN
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (c >= hidden[i].first && c <= hidden[i].last)
            return false;
    return true;
}

/* Decodes the character at text. Returns its length; 0 when no UTF-8 begins there. */
static size_t decode(const unsigned char *text, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80                      ? 1
                    : text[0] >= 0xc0 && text[0] < 0xe0 ? 2
                    : (text[0] & 0xf0) == 0xe0          ? 3
                    : (text[0] & 0xf8) == 0xf0          ? 4
                                                        : 0;
    if (length == 0)
        return 0;
    uint32_t c = length == 1 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (text[i] & 0x3f);
    }
    *ret = c;
    return c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : length;
}

size_t log_escape(const char *text, char *ret, size_t size)
{
    size_t used = 0;
    while (*text != '\0') {
        uint32_t c = 0;
        char shown[12];
        size_t length = decode((const unsigned char *)text, &c);
        int wide = length == 0
                       ? snprintf(shown, sizeof shown, "\\x%02x", (unsigned)(unsigned char)*text)
                   : is_shown(c) ? snprintf(shown, sizeof shown, "%.*s", (int)length, text)
                                 : snprintf(shown, sizeof shown, "\\u%04x", (unsigned)c);
        if (used + (size_t)wide >= size)
            break;
        memcpy(ret + used, shown, (size_t)wide);
        used += (size_t)wide;
        text += length > 0 ? length : 1;
    }
    ret[used] = '\0';
    return used;
}

/* Writes a line with one write, so that lines of several writers do not mix. False when the line is
 * lost: a pipe without a reader is full, stderr is closed, or a disk is full. A full disk may take
 * a part of the line: the next one then begins a new line. A pipe that is writable takes PIPE_BUF
 * bytes at once. */
static bool put_line(enum log_level level, const char *text)
{
    static atomic_bool lost_end;
    char line[1100];
    const char *begin = atomic_load(&lost_end) ? "\n" : "";
    int used = getenv("JOURNAL_STREAM") != NULL
                   ? snprintf(line, sizeof line, "%s<%d>", begin, (int)level)
                   : snprintf(line, sizeof line, "%sberthd: ", begin);
    size_t total = (size_t)used + log_escape(text, line + used, sizeof line - (size_t)used - 1);
    line[total++] = '\n';
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&out, 1, 0) != 1 || (out.revents & POLLOUT) == 0)
        return false;
    ssize_t written = write(STDERR_FILENO, line, total);
    if (written > 0)
        atomic_store(&lost_end, written < (ssize_t)total);
    return written == (ssize_t)total;
}

void log_line(enum log_level level, const char *format, ...)
{
    static atomic_uint lost;
    char text[1024], note[64];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        return;
    unsigned before = atomic_exchange(&lost, 0);
    snprintf(note, sizeof note, "%u line%s before this one %s lost", before, before == 1 ? "" : "s",
             before == 1 ? "was" : "were");
    if (before > 0 && !put_line(LOG_LEVEL_WARNING, note))
        atomic_fetch_add(&lost, before + 1);
    else if (!put_line(level, text))
        atomic_fetch_add(&lost, 1);
}
