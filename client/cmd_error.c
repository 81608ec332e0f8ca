/* Errors for a person: one line on standard error, what and what to do. */
#include "cmd.h"

#include <stdarg.h>
#include <stdio.h>

int cmd_fail(int exit_status, const char *format, ...)
{
    char line[1024], clean[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ui_clean(clean, sizeof clean, line);
    fprintf(stderr, "berth: %s\n", clean);
    return exit_status;
}

int cmd_usage(const struct cmd *cmd, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (cmd->command == NULL)
        return cmd_fail(CMD_USAGE, "%s (berth --help lists what there is)", line);
    return cmd_fail(CMD_USAGE, "%s: %s (berth %s --help shows how)", cmd->command->name, line, cmd->command->name);
}

int cmd_fail_memory(void) { return cmd_fail(CMD_SYSTEM, "out of memory"); }
