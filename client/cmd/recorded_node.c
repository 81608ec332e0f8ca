/* A private daemon over a node folder. It receives a listening socket by the service manager's
 * protocol (sd_listen_fds(3)). The kernel names the socket, so no file is made, and the connection
 * opens before the daemon runs. Nothing has to be awaited or removed. The daemon dies with this
 * process in every case. */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_PASSED_FD 3
#define CANNOT_RUN      127 /* exit status in shells */
#define ENDING_MS       2000

struct cmd_node {
    pid_t pid;
    int log; /* the daemon's standard error; shown only when it fails */
    char folder[200];
};

/* Makes a listening socket with a name from the kernel, and a connection to it. */
static bool make_sockets(int *ret_listener, int *ret_connection)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0 && connection >= 0 &&
        bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) == 0 &&
        listen(listener, 8) == 0 &&
        getsockname(listener, (struct sockaddr *)&address, &length) == 0 &&
        connect(connection, (struct sockaddr *)&address, length) == 0) {
        *ret_listener = listener;
        *ret_connection = connection;
        return true;
    }
    int number = errno;
    if (listener >= 0)
        close(listener);
    if (connection >= 0)
        close(connection);
    errno = number;
    return false;
}

/* Runs the daemon beside this program, else the one in PATH. */
static void run_daemon(const char *folder)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "/berthd");
    if (length > 0) {
        path[length] = '\0';
        strcpy(strrchr(path, '/') + 1, "berthd");
        execl(path, "berthd", "--node", folder, (char *)NULL);
    }
    execlp("berthd", "berthd", "--node", folder, (char *)NULL);
    dprintf(STDERR_FILENO, "cannot run berthd, beside this program or in PATH: %s\n",
            strerror(errno));
    _exit(CANNOT_RUN);
}

static void become_daemon(const char *folder, pid_t parent, int listener, int log)
{
    char pid[24];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before prctl */
        _exit(CMD_BUG);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    if (listener == FIRST_PASSED_FD)
        fcntl(listener, F_SETFD, 0);
    else
        dup2(listener, FIRST_PASSED_FD);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", pid, 1);
    unsetenv("LISTEN_FDNAMES");
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    run_daemon(folder);
}

int cmd_node_start(const char *folder, struct cmd_node **ret_node, int *ret_fd)
{
    struct cmd_node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return cmd_fail_memory();
    snprintf(node->folder, sizeof node->folder, "%s", folder);
    int listener, connection;
    node->log = memfd_create("berthd-log", MFD_CLOEXEC);
    if (node->log < 0 || !make_sockets(&listener, &connection)) {
        int number = errno;
        if (node->log >= 0)
            close(node->log);
        free(node);
        return cmd_fail(CMD_SYSTEM, "cannot make a socket for a private daemon: %s",
                        strerror(number));
    }
    pid_t parent = getpid();
    node->pid = fork();
    if (node->pid == 0)
        become_daemon(folder, parent, listener, node->log);
    int number = errno;
    close(listener);
    if (node->pid < 0) {
        close(connection);
        close(node->log);
        free(node);
        return cmd_fail(CMD_SYSTEM, "cannot start a private daemon: %s", strerror(number));
    }
    *ret_node = node;
    *ret_fd = connection;
    return CMD_DONE;
}

/* Last line of the log without its priority ("<3>") and program name. */
static const char *last_line(char *log)
{
    size_t length = strlen(log);
    while (length > 0 && log[length - 1] == '\n')
        log[--length] = '\0';
    char *line = strrchr(log, '\n');
    line = line == NULL ? log : line + 1;
    if (line[0] == '<' && line[1] >= '0' && line[1] <= '7' && line[2] == '>')
        line += 3;
    if (strncmp(line, "berthd: ", 8) == 0)
        line += 8;
    return line;
}

/* Waits for the daemon's end. One that closed the connection and lives on is killed after a while.
 */
static int wait_for_end(struct cmd_node *node)
{
    int status = 0;
    for (int waited = 0; waited < ENDING_MS && waitpid(node->pid, &status, WNOHANG) == 0;
         waited += 10)
        poll(NULL, 0, 10);
    if (waitpid(node->pid, &status, WNOHANG) == 0) {
        kill(node->pid, SIGKILL);
        waitpid(node->pid, &status, 0);
    }
    node->pid = 0;
    return status;
}

static int fail(const struct cmd *cmd, int exit_status, const char *line)
{
    char clean[1024];
    ui_clean(clean, sizeof clean, line); /* a folder's name may hold any bytes */
    cmd_print_error(cmd, "NoDaemon", json_pack("{s:s}", "detail", clean));
    return cmd_fail(exit_status, "%s", line);
}

int cmd_node_failed(struct cmd *cmd)
{
    struct cmd_node *node = cmd->node;
    char said[320];
    int status = wait_for_end(node);
    char log[4096];
    off_t size = lseek(node->log, 0, SEEK_END);
    off_t from = size > (off_t)sizeof log - 1 ? size - (off_t)sizeof log + 1 : 0;
    ssize_t n = pread(node->log, log, sizeof log - 1, from);
    log[n > 0 ? n : 0] = '\0';
    const char *line = last_line(log);
    if (WIFSIGNALED(status)) {
        snprintf(said, sizeof said, "the daemon for %s died of signal %d (%s)", node->folder,
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
        return fail(cmd, CMD_BUG, said);
    }
    /* The daemon reports a missing folder as absent. Status 69 is reserved for a missing daemon. */
    int exit_status = WEXITSTATUS(status) == CANNOT_RUN      ? CMD_NO_DAEMON
                      : WEXITSTATUS(status) == CMD_NO_DAEMON ? CMD_DATA
                      : WEXITSTATUS(status) >= CMD_USAGE     ? WEXITSTATUS(status)
                                                             : CMD_DATA;
    if (*line == '\0') {
        snprintf(said, sizeof said, "the daemon for %s ended without a word", node->folder);
        line = said;
    }
    return fail(cmd, exit_status, line);
}

void cmd_node_stop(struct cmd_node *node)
{
    if (node == NULL)
        return;
    if (node->pid > 0) {
        kill(node->pid, SIGKILL); /* it has no state to save */
        waitpid(node->pid, NULL, 0);
    }
    close(node->log);
    free(node);
}
