/* A folder of files below /tmp, in place of a machine's root or of a node folder. Include after
 * cmocka.h. */
#pragma once
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TREE_SIZE 32 /* bytes of its path */

static inline void tree_make(char root[TREE_SIZE])
{
    strcpy(root, "/tmp/berth-test-XXXXXX");
    assert_non_null(mkdtemp(root));
}

/* Makes the folders above a file ("/proc/stat"); full receives its whole path. */
static inline void tree_folders(const char *root, const char *path, char full[PATH_MAX])
{
    snprintf(full, PATH_MAX, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

/* Writes a file and makes the folders above it. */
static inline void tree_put_bytes(const char *root, const char *path, const char *text,
                                  size_t length)
{
    char full[PATH_MAX];
    tree_folders(root, path, full);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline void tree_put(const char *root, const char *path, const char *text)
{
    tree_put_bytes(root, path, text, strlen(text));
}

static inline int tree_remove_one(const char *path, const struct stat *status, int kind,
                                  struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static inline void tree_remove(const char *root)
{
    assert_int_equal(nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
