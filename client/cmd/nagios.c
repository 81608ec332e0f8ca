/* The rules of a monitoring plugin for one run of the command: one line on standard output, exit
 * status 0 to 3, a time limit. Source: the Monitoring Plugins' development guidelines. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

#define LIMIT_S 10 /* limit of the monitoring plugins; NRPE's client waits as long */
#define UNKNOWN 3

static void end_late(int number)
{
    static const char line[] = "UNKNOWN - no answer within 10 s\n";
    (void)number;
    if (write(STDOUT_FILENO, line, sizeof line - 1) < 0)
        _exit(UNKNOWN); /* nobody reads it */
    _exit(UNKNOWN);
}

void cmd_nagios_begin(struct cmd *cmd)
{
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    signal(SIGALRM, end_late);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL); /* its parent may have blocked it */
    alarm(LIMIT_S);
    cmd->errors = memfd_create("berth-errors", MFD_CLOEXEC);
    dup2(cmd->errors, STDERR_FILENO);
}

int cmd_nagios_end(const struct cmd *cmd, int status)
{
    char line[1024];
    struct ui ui = {0};
    bool is_answered = cmd->berth != NULL && status <= UNKNOWN;
    alarm(0);
    if (is_answered || status == CMD_DONE || status == CMD_IO)
        return is_answered ? status : UNKNOWN; /* help was printed, or nothing can be */
    ssize_t n = pread(cmd->errors, line, sizeof line - 1, 0);
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    ui_nagios_unknown(&ui, strncmp(line, "berth: ", 7) == 0 ? line + 7 : "out of memory");
    cmd_print(&ui);
    return UNKNOWN;
}
