#include "claim/proc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX (1 << 20)

static enum berth_code read_file(const struct files *io, pid_t pid, const char *name,
                                 char **ret_text, struct berth_err *err)
{
    char path[64];
    struct berth_err why = {0};
    snprintf(path, sizeof path, "/proc/%jd/%s", (intmax_t)pid, name);
    enum berth_code code = files_read(io, path, FILE_MAX, ret_text, &why);
    if (code == BERTH_ABSENT)
        return err_set(err, code, "there is no process %jd", (intmax_t)pid);
    return code == BERTH_OK ? code : err_set(err, code, "%s", why.detail);
}

/* Returns the value of the line "NAME:" without leading blanks, in place; NULL when there is
 * none. */
static char *line_of(char *text, const char *name)
{
    size_t length = strlen(name);
    for (char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, length) == 0 && at[length] == ':')
            return at + length + 1 + strspn(at + length + 1, " \t");
    }
    return NULL;
}

static bool read_list(const char *line, struct cpuset *ret)
{
    char list[8192];
    size_t length = line != NULL ? strcspn(line, "\n") : sizeof list;
    if (length >= sizeof list)
        return false;
    memcpy(list, line, length);
    list[length] = '\0';
    return cpuset_parse(list, ret, NULL) == BERTH_OK;
}

enum berth_code claim_proc_read(const struct files *io, pid_t pid, struct claim_proc *ret,
                                struct berth_err *err)
{
    struct claim_proc process = {0};
    char *text = NULL;
    enum berth_code code = read_file(io, pid, "status", &text, err);
    if (code != BERTH_OK)
        return code;
    const char *uid = line_of(text, "Uid"), *gid = line_of(text, "Gid"),
               *groups = line_of(text, "Groups"), *parent = line_of(text, "PPid"),
               *leader = line_of(text, "Tgid");
    uid_t uids[3] = {0};
    gid_t gids[3] = {0};
    bool ok = uid != NULL && gid != NULL && parent != NULL && leader != NULL &&
              sscanf(uid, "%u %u %u", &uids[0], &uids[1], &uids[2]) == 3 &&
              sscanf(gid, "%u %u %u", &gids[0], &gids[1], &gids[2]) == 3 &&
              sscanf(parent, "%d", &process.parent) == 1 &&
              sscanf(leader, "%d", &process.leader) == 1 &&
              read_list(line_of(text, "Cpus_allowed_list"), &process.cpus);
    /* A kernel without NUMA has no such line and one node, which everybody may use. */
    if (ok && !read_list(line_of(text, "Mems_allowed_list"), &process.memory))
        cpuset_add(&process.memory, 0);
    for (char *end; ok && groups != NULL && process.group_count < CLAIM_PROC_GROUPS_MAX;
         groups = end) {
        groups += strspn(groups, " \t");
        unsigned long group = strtoul(groups, &end, 10);
        if (end == groups)
            break;
        process.groups[process.group_count++] = (gid_t)group;
    }
    free(text);
    if (!ok)
        return err_set(err, BERTH_BAD_DATA, "/proc/%jd/status is not what proc(5) says",
                       (intmax_t)pid);
    process.uid = uids[0];
    process.gid = gids[0];
    process.has_other_ids =
        uids[1] != uids[0] || uids[2] != uids[0] || gids[1] != gids[0] || gids[2] != gids[0];
    *ret = process;
    return BERTH_OK;
}

enum berth_code claim_proc_start(const struct files *io, pid_t pid, uint64_t *ret_ticks,
                                 struct berth_err *err)
{
    char *text = NULL, state;
    uint64_t ticks;
    enum berth_code code = read_file(io, pid, "stat", &text, err);
    if (code != BERTH_OK)
        return code;
    /* Field 2, the program's name in parentheses, may contain any character, parentheses too. */
    const char *rest = strrchr(text, ')');
    int fields = rest == NULL ? 0
                              : sscanf(rest + 1,
                                       " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                       "%*s %*s %*s %*s %*s %" SCNu64,
                                       &state, &ticks);
    free(text);
    if (fields != 2)
        return err_set(err, BERTH_BAD_DATA, "/proc/%jd/stat is not what proc(5) says",
                       (intmax_t)pid);
    if (state == 'Z' || state == 'X')
        return err_set(err, BERTH_ABSENT, "process %jd has ended", (intmax_t)pid);
    *ret_ticks = ticks;
    return BERTH_OK;
}

/* True when path is in the cgroup. Version 2 is mounted at the top, or beside version 1 at
 * "unified". */
static bool is_below(const char *cgroup, const char *mount, const char *path)
{
    size_t top = strlen(mount);
    if (strncmp(cgroup, mount, top) != 0)
        return false;
    const char *relative = cgroup + top;
    size_t length = strlen(relative);
    return length > 0 && strncmp(path, relative, length) == 0 &&
           (path[length] == '\0' || path[length] == '/');
}

bool claim_proc_cgroup(const struct files *io, pid_t pid, char *path, size_t size)
{
    char *text = NULL;
    if (read_file(io, pid, "cgroup", &text, NULL) != BERTH_OK)
        return false;
    const char *line = line_of(text, "0:"); /* "0::/path" */
    if (line != NULL)
        snprintf(path, size, "%.*s", (int)strcspn(line, "\n"), line);
    free(text);
    return line != NULL;
}

bool claim_proc_is_in(const char *path, const char *cgroup)
{
    return is_below(cgroup, "/sys/fs/cgroup/unified", path) ||
           is_below(cgroup, "/sys/fs/cgroup", path);
}
