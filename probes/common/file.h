/* Readers of small kernel files below one root directory, so that tests and recorded trees can
 * replace /sys and /proc. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the first size - 1 bytes of root + path, trailing white space removed. The path is
 * formatted. False when it cannot be read. */
bool probe_file_text(const char *root, char *ret_text, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Reads a file that starts with a decimal number that is not negative. -1 when it cannot be read or
 * is none ("max"). */
int64_t probe_file_number(const char *root, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Bytes of the line "key 12 kB" in a text like /proc/meminfo; -1 when key is not there. Node files
 * put "Node 0 " before the key. */
int64_t probe_file_kilobytes(const char *text, const char *key);
