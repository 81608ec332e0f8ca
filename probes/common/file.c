#include "common/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 2, 0))) static bool
read_text(const char *root, const char *format, va_list args, char *ret_text, size_t size)
{
    char path[512];
    int root_length = snprintf(path, sizeof path, "%s", root);
    if (root_length < 0 || (size_t)root_length >= sizeof path)
        return false;
    int length = vsnprintf(path + root_length, sizeof path - (size_t)root_length, format, args);
    if (length < 0 || (size_t)length >= sizeof path - (size_t)root_length)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t got = 0;
    while (used < size - 1 &&
           ((got = read(fd, ret_text + used, size - 1 - used)) > 0 || (got < 0 && errno == EINTR)))
        used += got > 0 ? (size_t)got : 0;
    close(fd);
    if (got < 0)
        return false;
    while (used > 0 && isspace((unsigned char)ret_text[used - 1]))
        used--;
    ret_text[used] = '\0';
    return true;
}

bool probe_file_text(const char *root, char *ret_text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool ok = read_text(root, format, args, ret_text, size);
    va_end(args);
    return ok;
}

int64_t probe_file_number(const char *root, const char *format, ...)
{
    char text[64];
    va_list args;
    va_start(args, format);
    bool ok = read_text(root, format, args, text, sizeof text);
    va_end(args);
    if (!ok || !isdigit((unsigned char)text[0]))
        return -1;
    errno = 0;
    long long number = strtoll(text, NULL, 10);
    return errno == 0 ? number : -1;
}

int64_t probe_file_kilobytes(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *found = strstr(text, key); found != NULL; found = strstr(found + 1, key)) {
        bool starts = found == text || found[-1] == '\n' || found[-1] == ' ';
        if (!starts || found[length] != ':')
            continue;
        long long kilobytes = strtoll(found + length + 1, NULL, 10);
        return kilobytes >= 0 && kilobytes <= INT64_MAX / 1024 ? kilobytes * 1024 : -1;
    }
    return -1;
}
