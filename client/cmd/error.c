/* Errors for a person on standard error, with a remedy: one line, which a terminal shows wrapped.
 */
#include "cmd/cmd.h"
#include "lib/lib.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_line(const char *before, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void print_line(const char *before, const char *format, va_list args)
{
    char line[1024], clean[1024];
    vsnprintf(line, sizeof line, format, args);
    ui_clean(clean, sizeof clean, line);
    if (isatty(STDERR_FILENO) == 0) {
        fprintf(stderr, "berth: %s%s\n", before, clean);
        return;
    }
    struct ui ui;
    ui_init(&ui, STDERR_FILENO);
    ui_line(&ui, 2, "berth: %s%s", before, clean);
    fputs(ui.text != NULL ? ui.text : "berth: out of memory\n", stderr);
    ui_done(&ui);
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

void cmd_print_error(const struct cmd *cmd, const char *name, json_t *take_parameters)
{
    json_t *error = cmd->has_json
                        ? json_pack("{s:s, s:O}", "error", name, "parameters", take_parameters)
                        : NULL;
    char *line = error != NULL ? json_dumps(error, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    if (line != NULL && puts(line) >= 0)
        fflush(stdout);
    free(line);
    json_decref(error);
    json_decref(take_parameters);
}

int cmd_usage(const struct cmd *cmd, const char *format, ...)
{
    char line[512], clean[sizeof line];
    va_list args;
    if (cmd->is_first_pass)
        return CMD_USAGE;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ui_clean(clean, sizeof clean, line); /* a path may hold any bytes */
    if (cmd->command == NULL || cmd->command->on_misuse == NULL)
        cmd_print_error(cmd, "Usage",
                        json_pack("{s:s}", "detail", lib_utf8_is_valid(line) ? line : clean));
    return cmd_usage_line(cmd, line);
}

int cmd_usage_line(const struct cmd *cmd, const char *line)
{
    if (cmd->command == NULL)
        return cmd_fail(CMD_USAGE, "%s (berth --help lists what there is)", line);
    if (cmd->command->on_misuse != NULL) {
        cmd->command->on_misuse(line);
        return CMD_USAGE;
    }
    return cmd_fail(CMD_USAGE, "%s: %s (berth %s --help shows how)", cmd->command->name, line,
                    cmd->command->name);
}

int cmd_fail_memory(void) { return cmd_fail(CMD_SYSTEM, "out of memory"); }
