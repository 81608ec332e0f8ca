#include "slurm/scontrol.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/lib.h"
#include "lib/task/slurm_list.h"

#define SCONTROL_MS 20000 /* limit of one run; Slurm kills a health check after 60 s */

bool slurm_scontrol(const char *const words[], char *ret, size_t size)
{
    int ends[2], status = -1;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    size_t length = 0;
    ret[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    int failed = posix_spawnp(&pid, "scontrol", &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    struct pollfd reading = {.fd = ends[0], .events = POLLIN};
    const int64_t end_ms = lib_now_ms() + SCONTROL_MS;
    for (ssize_t n = 1; failed == 0 && n > 0;) {
        char rest[256];
        const int64_t left_ms = end_ms - lib_now_ms();
        if (poll(&reading, 1, left_ms > 0 ? (int)left_ms : 0) <= 0) {
            kill(pid, SIGKILL);
            break;
        }
        bool has_room = length + 1 < size;
        n = read(ends[0], has_room ? ret + length : rest,
                 has_room ? size - 1 - length : sizeof rest);
        length += has_room && n > 0 ? (size_t)n : 0;
        ret[length] = '\0';
    }
    close(ends[0]);
    return failed == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

bool slurm_scontrol_value(const char *text, const char *key, bool is_one_word, char *ret,
                          size_t size)
{
    const char *at = strstr(text, key);
    if (at == NULL)
        return false;
    at += strlen(key);
    snprintf(ret, size, "%.*s", (int)strcspn(at, is_one_word ? " \n" : "\n"), at);
    return true;
}

static bool is_step_of(const char *pid, const char *title)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return strncmp(text, title, strlen(title)) == 0;
}

bool slurm_scontrol_has_steps(const char *job)
{
    char title[48];
    DIR *folder = opendir("/proc");
    bool has = folder == NULL;
    snprintf(title, sizeof title, "slurmstepd: [%.20s.", job);
    for (const struct dirent *entry; !has && (entry = readdir(folder)) != NULL;)
        has = isdigit((unsigned char)entry->d_name[0]) && is_step_of(entry->d_name, title);
    if (folder != NULL)
        closedir(folder);
    return has;
}

bool slurm_scontrol_has_left(const char *job, const char *node)
{
    static const char *const there[] = {"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING",
                                        "STOPPED", "SIGNALING", "STAGE_OUT",  "RESIZING"};
    char shown[8192], state[64], nodes[4096];
    const char *const words[] = {"scontrol", "show", "job", job, NULL};
    if (!slurm_scontrol(words, shown, sizeof shown))
        return strstr(shown, "Invalid job id") != NULL;
    if (!slurm_scontrol_value(shown, " JobState=", true, state, sizeof state))
        return false;
    bool is_somewhere = false, is_here = true;
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
        is_somewhere |= strcmp(state, there[i]) == 0;
    if (!is_somewhere)
        return true;
    return slurm_scontrol_value(shown, " NodeList=", true, nodes, sizeof nodes) &&
           slurm_list_has(nodes, node, &is_here) && !is_here;
}
