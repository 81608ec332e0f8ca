/**
 * How the daemon reads the machine's own files: below one root directory, so that tests and
 * recorded trees stand in for /sys, /proc and /dev.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

struct files {
    /* "" for the real machine, or a real path without links (realpath(3)); paths are appended:
     * root + "/sys/..." */
    const char *root;
};

/* Paths stay below the root: with a root other than "", a symbolic link or .. that leaves it is
 * BAD_DATA. */

/* The text of a regular file in a new string (caller frees), at most max bytes. ABSENT when it does
 * not exist, IO on anything else, BAD_DATA when longer, or no text (a NUL byte, a directory, a
 * device). Any thread; so are the others. */
enum berth_code files_read(const struct files *io, const char *path, size_t max, char **ret_text,
                           struct berth_err *err);

/* The lines of such a file, without their ends, of each of which a copy that ends with a NUL is
 * handed to take; its first failure ends it and is returned. Fails as files_read does, after the
 * lines before. */
typedef enum berth_code files_line_fn(void *arg, const char *line, size_t length,
                                      struct berth_err *err);
enum berth_code files_read_lines(const struct files *io, const char *path, size_t max,
                                 files_line_fn *take, void *arg, struct berth_err *err);

/* A directory's entries, sorted (numbers by value), without . and ..; NULL-terminated, free with
 * files_names_free. */
enum berth_code files_list(const struct files *io, const char *path, char ***ret_names,
                           struct berth_err *err);
void files_names_free(char **names);

/* Whose it is and who may use it, a device's as well; links are followed. ABSENT, IO. */
enum berth_code files_stat(const struct files *io, const char *path, struct stat *ret_status,
                           struct berth_err *err);

/* When this kernel came up, seconds since the epoch; 0 unknown. */
int64_t files_boot_time_s(const struct files *io);

bool files_exists(const struct files *io, const char *path);
