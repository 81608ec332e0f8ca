#include "measure/offspring.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_SIZE 300

/* Parses numbers between blanks. A number may be split between two reads. */
static size_t each_listed(int fd, void (*each)(pid_t pid, void *arg), void *arg)
{
    char piece[1024];
    size_t count = 0;
    pid_t pid = 0;
    ssize_t length;
    while ((length = read(fd, piece, sizeof piece)) > 0) {
        for (ssize_t i = 0; i < length; i++) {
            if (isdigit((unsigned char)piece[i])) {
                pid = 10 * pid + (piece[i] - '0');
            } else if (pid > 0) {
                each(pid, arg);
                count++;
                pid = 0;
            }
        }
    }
    return count;
}

/* Returns the parent of a process; 0 unknown. Its name is in parentheses and may contain any. */
static pid_t parent_of(const char *proc, const char *process)
{
    char path[PATH_SIZE], text[256];
    if (snprintf(path, sizeof path, "%s/%s/stat", proc, process) >= (int)sizeof path)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && strlen(name_end) > 4 ? (pid_t)strtol(name_end + 4, NULL, 10) : 0;
}

static size_t each_found(const char *proc, void (*each)(pid_t pid, void *arg), void *arg)
{
    DIR *folder = opendir(proc);
    if (folder == NULL)
        return 0;
    size_t count = 0;
    pid_t self = getpid();
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(proc, entry->d_name) == self) {
            each((pid_t)strtol(entry->d_name, NULL, 10), arg);
            count++;
        }
    }
    closedir(folder);
    return count;
}

size_t offspring_each(const char *proc, void (*each)(pid_t pid, void *arg), void *arg)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/thread-self/children", proc);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return each_found(proc, each, arg);
    size_t count = each_listed(fd, each, arg);
    close(fd);
    return count;
}

static void kill_one(pid_t pid, void *arg)
{
    (void)arg;
    kill(pid, SIGKILL);
}

size_t offspring_kill(const char *proc) { return offspring_each(proc, kill_one, NULL); }

static void end_one(pid_t pid, void *arg)
{
    size_t *count = arg;
    if (getsid(pid) == getsid(0))
        return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, WNOHANG);
    ++*count;
}

size_t offspring_end_adopted(const char *proc)
{
    size_t count = 0;
    if (getpid() != 1)
        offspring_each(proc, end_one, &count);
    return count;
}
