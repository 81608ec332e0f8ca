/* Errors for a person: one line on standard error, what and what to do. */
#include "cmd.h"

#include <stdarg.h>
#include <stdio.h>

static void print_line(const char *before, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

static void print_line(const char *before, const char *format, va_list args)
{
    char line[1024], clean[1024];
    vsnprintf(line, sizeof line, format, args);
    ui_clean(clean, sizeof clean, line);
    fprintf(stderr, "berth: %s%s\n", before, clean);
}

int cmd_fail(int exit_status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
    return exit_status;
}

void cmd_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void cmd_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("warning: ", format, args);
    va_end(args);
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
    if (cmd->command->misused != NULL) {
        cmd->command->misused(line);
        return CMD_USAGE;
    }
    return cmd_fail(CMD_USAGE, "%s: %s (berth %s --help shows how)", cmd->command->name, line, cmd->command->name);
}

int cmd_fail_memory(void) { return cmd_fail(CMD_SYSTEM, "out of memory"); }
