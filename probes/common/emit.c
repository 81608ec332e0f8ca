#include "common/emit.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void put(struct probe_line *line, const char *text, size_t length)
{
    if (line->overflow || length > sizeof line->text - line->used) {
        line->overflow = true;
        return;
    }
    memcpy(line->text + line->used, text, length);
    line->used += length;
}

static void put_string(struct probe_line *line, const char *text) { put(line, text, strlen(text)); }

/* The length of the UTF-8 sequence at s, 0 when it is not one: overlong forms, surrogates and
 * numbers above U+10FFFF are not. */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xf0 && s[0] <= 0xf4  ? 4
                    : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                    : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                                                  : 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

static void put_quoted(struct probe_line *line, const char *text)
{
    put_string(line, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0';) {
        size_t length = utf8_length(c);
        char escape[8];
        if (length == 0) {
            put_string(line, "\xef\xbf\xbd");
            c++;
            continue;
        }
        if (*c == '"' || *c == '\\') {
            put_string(line, "\\");
            put(line, (const char *)c, 1);
        } else if (*c < 0x20 || *c == 0x7f) {
            snprintf(escape, sizeof escape, "\\u%04x", *c);
            put_string(line, escape);
        } else {
            put(line, (const char *)c, length);
        }
        c += length;
    }
    put_string(line, "\"");
}

static void put_key(struct probe_line *line, const char *key)
{
    if (line->comma)
        put_string(line, ",");
    line->comma = true;
    if (key == NULL)
        return;
    put_quoted(line, key);
    put_string(line, ":");
}

void probe_line_begin(struct probe_line *line, const char *record)
{
    line->used = 0;
    line->comma = line->overflow = false;
    put_string(line, "{");
    probe_line_text(line, "record", record);
}

void probe_line_text(struct probe_line *line, const char *key, const char *value)
{
    put_key(line, key);
    put_quoted(line, value);
}

void probe_line_number(struct probe_line *line, const char *key, double value)
{
    char digits[32] = "null";
    if (isfinite(value))
        snprintf(digits, sizeof digits, "%.6g", value);
    put_key(line, key);
    put_string(line, digits);
}

void probe_line_integer(struct probe_line *line, const char *key, int64_t value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    put_key(line, key);
    put_string(line, digits);
}

void probe_line_open(struct probe_line *line, const char *key)
{
    put_key(line, key);
    put_string(line, "{");
    line->comma = false;
}

void probe_line_close(struct probe_line *line)
{
    put_string(line, "}");
    line->comma = true;
}

void probe_line_open_list(struct probe_line *line, const char *key)
{
    put_key(line, key);
    put_string(line, "[");
    line->comma = false;
}

void probe_line_close_list(struct probe_line *line)
{
    put_string(line, "]");
    line->comma = true;
}

static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        text += written;
        length -= (size_t)written;
    }
    return true;
}

bool probe_line_write(struct probe_line *line, struct probe_out *out)
{
    put_string(line, "}\n");
    if (line->overflow)
        return false;
    pthread_mutex_lock(&out->gate);
    bool ok = write_all(out->fd, line->text, line->used);
    pthread_mutex_unlock(&out->gate);
    return ok;
}

bool probe_line_write_last(struct probe_line *line, struct probe_out *out, int64_t wait_ns)
{
    put_string(line, "}\n");
    if (line->overflow)
        return false;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + wait_ns;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    if (pthread_mutex_timedlock(&out->gate, &until) != 0)
        return false;
    struct pollfd ready = {.fd = out->fd, .events = POLLOUT};
    return poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) &&
           write_all(out->fd, line->text, line->used);
}
