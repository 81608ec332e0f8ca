/* Closed device files of a runtime, with their owner and the remedy. */
#include "gpu/driver/api.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel also consults a container's device cgroup here. The cgroup refuses with EPERM when the
 * mode allows. */
static bool is_closed(const char *path, int *ret_error)
{
    bool may = faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0;
    *ret_error = errno;
    return !may && (*ret_error == EACCES || *ret_error == EPERM);
}

static void say_who_may(const char *path, const char *shown, int error, struct probe_why *why)
{
    struct stat info;
    struct group group, *found = NULL;
    char names[1024];
    if (error == EPERM || stat(path, &info) != 0)
        probe_why_write(why,
                        "%s is closed to this process by its container's or service's list of "
                        "devices: allow it there",
                        shown);
    else if ((info.st_mode & (S_IRGRP | S_IWGRP)) != (S_IRGRP | S_IWGRP))
        probe_why_write(why, "%s is closed to this process: only user %u may read and write it",
                        shown, (unsigned)info.st_uid);
    else if (getgrgid_r(info.st_gid, &group, names, sizeof names, &found) == 0 && found != NULL)
        probe_why_write(why, "%s is closed to this process: it has to be in group %s", shown,
                        group.gr_name);
    else
        probe_why_write(why, "%s is closed to this process: it has to be in group %u", shown,
                        (unsigned)info.st_gid);
}

bool gpu_access_denied(const char *root, const char *runtime, struct probe_why *why)
{
    static const char *const cuda[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia[0-9]*",
                                       NULL};
    static const char *const hip[] = {"/dev/kfd", "/dev/dri/renderD*", NULL};
    bool denied = false;
    for (const char *const *pattern = strcmp(runtime, "cuda") == 0 ? cuda : hip;
         *pattern != NULL && !denied; pattern++) {
        char text[PATH_MAX];
        glob_t files;
        int error;
        if (snprintf(text, sizeof text, "%s%s", root, *pattern) >= (int)sizeof text ||
            glob(text, 0, NULL, &files) != 0)
            continue;
        for (size_t i = 0; i < files.gl_pathc && !denied; i++)
            if (is_closed(files.gl_pathv[i], &error)) {
                say_who_may(files.gl_pathv[i], files.gl_pathv[i] + strlen(root), error, why);
                denied = true;
            }
        globfree(&files);
    }
    return denied;
}
