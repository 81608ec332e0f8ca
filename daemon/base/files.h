/**
 * Reads the machine's own files below one root directory, so that tests and recorded trees stand in
 * for /sys, /proc and /dev. Replaces files at once.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/err.h"

struct files {
    /* "" for the real machine, or a real path without links (realpath(3)); paths are appended:
     * root + "/sys/..." */
    const char *root;
};

/* Paths stay below the root: with a root other than "", a symbolic link or .. that leaves it is
 * BAD_DATA. */

/* Reads a regular file of at most max bytes into a new string, which the caller frees. Fails with
 * ABSENT when the file does not exist, and with IO. Fails with BAD_DATA when it is longer or no
 * text (a NUL byte, a directory, a device). Any thread; so are the other functions. */
enum berth_code files_read(const struct files *io, const char *path, size_t max, char **ret_text,
                           struct berth_err *err);

/* Calls visit with a copy of each line of such a file, without its end of line and with a NUL. A
 * failure of visit ends the reading and is returned. Fails like files_read, after the lines before
 * the failure. */
typedef enum berth_code files_line_fn(void *arg, const char *line, size_t length,
                                      struct berth_err *err);
enum berth_code files_read_lines(const struct files *io, const char *path, size_t max,
                                 files_line_fn *visit, void *arg, struct berth_err *err);

/* Lists the entries of a directory, sorted (numbers by value), without . and .. The list is
 * NULL-terminated; free it with files_names_free. */
enum berth_code files_list(const struct files *io, const char *path, char ***ret_names,
                           struct berth_err *err);
void files_names_free(char **names);

/* Returns the owner and the permissions of a file or a device; links are followed. Fails with
 * ABSENT and IO. */
enum berth_code files_stat(const struct files *io, const char *path, struct stat *ret_status,
                           struct berth_err *err);

/* Returns the boot time of this kernel, seconds since the epoch; 0 unknown. */
int64_t files_boot_time_s(const struct files *io);

bool files_exists(const struct files *io, const char *path);

/* Replaces the file at a path of this machine by the text that write puts, at once or not at all;
 * it is on the disk then. write returns false with errno set. Fails with IO and NO_MEMORY. */
typedef bool files_write_fn(FILE *file, const void *arg);
enum berth_code files_replace(const char *path, files_write_fn *write, const void *arg,
                              struct berth_err *err);
