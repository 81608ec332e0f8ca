#include "lib/task/hwloc_file.h"

#include <fcntl.h>
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

/* True when the file begins and ends as hwloc's XML. What is cut off or no XML would end each task
 * that loads it, whoever has written it. */
static bool is_whole(const char *path)
{
    static const char head[] = "<?xml ", tail[] = "</topology>\n";
    char begin[sizeof head] = "", end[sizeof tail] = "";
    const off_t head_length = sizeof head - 1, tail_length = sizeof tail - 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    const off_t size = lseek(fd, 0, SEEK_END);
    const bool is_read = size >= head_length + tail_length &&
                         pread(fd, begin, sizeof head - 1, 0) == head_length &&
                         pread(fd, end, sizeof tail - 1, size - tail_length) == tail_length;
    close(fd);
    return is_read && strcmp(begin, head) == 0 && strcmp(end, tail) == 0;
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
        !is_trusted(ret->path, length) || !is_whole(ret->path))
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
