#include "lib/task/hwloc_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/lib.h"

#define FILE_NAME "hwloc.xml"

/* True when a variable chooses another topology, or how hwloc uses one. */
static bool is_chosen(berth_variable_fn *variable, void *arg)
{
    static const char *const names[] = {"HWLOC_XMLFILE",
                                        "HWLOC_SYNTHETIC",
                                        "HWLOC_FSROOT",
                                        "HWLOC_CPUID_PATH",
                                        "HWLOC_COMPONENTS",
                                        "HWLOC_THISSYSTEM",
                                        "HWLOC_THISSYSTEM_ALLOWED_RESOURCES"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((variable != NULL ? variable(names[i], arg) : getenv(names[i])) != NULL)
            return true;
    return false;
}

/* True for a regular file that only trusted users can write or replace. */
static bool is_trusted(const char *path, int folder_length)
{
    char folder[LIB_HWLOC_PATH_SIZE];
    struct stat file, above;
    snprintf(folder, sizeof folder, "%.*s/", folder_length, path);
    if (lstat(path, &file) != 0 || stat(folder, &above) != 0 || !S_ISREG(file.st_mode))
        return false;
    const bool is_shared = (above.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !(above.st_mode & S_ISVTX);
    return !is_shared && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           (file.st_uid == 0 || file.st_uid == above.st_uid || file.st_uid == geteuid());
}

bool lib_hwloc_find(const char *socket, berth_variable_fn *variable, void *arg,
                    struct lib_hwloc *ret)
{
    if (socket == NULL)
        socket = secure_getenv("BERTH_SOCKET");
    if (socket == NULL || *socket == '\0')
        socket = LIB_DEFAULT_SOCKET;
    const char *slash = strrchr(socket, '/');
    if (*socket != '/' || slash == NULL || is_chosen(variable, arg))
        return false;
    const int length = (int)(slash - socket);
    if (snprintf(ret->path, sizeof ret->path, "%.*s/" FILE_NAME, length, socket) >=
            (int)sizeof ret->path ||
        !is_trusted(ret->path, length))
        return false;
    const struct berth_pair pairs[LIB_HWLOC_VARIABLES] = {
        {"HWLOC_FSROOT", "/"},
        {"HWLOC_THISSYSTEM", "1"},
        {"HWLOC_THISSYSTEM_ALLOWED_RESOURCES", "1"},
        {"HWLOC_XMLFILE", ret->path},
        {"HWLOC_COMPONENTS", "xml"}};
    memcpy(ret->variable, pairs, sizeof pairs);
    return true;
}
