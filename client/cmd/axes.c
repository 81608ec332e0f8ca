/* Axes from the command line. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

int cmd_set_where(struct cmd *cmd, json_t *object, const struct cmd_option *option,
                  const struct cmd_option *size_option)
{
    bool has_size = size_option != NULL && cmd_has(cmd, size_option);
    if (!cmd_has(cmd, option) && !has_size)
        return CMD_DONE;
    json_t *where = json_object();
    size_t position = 0;
    const char *text;
    char doubt[LIB_DOUBT_SIZE];
    int64_t bytes;
    if (json_object_set_new(object, "where", where) != 0)
        return cmd_fail_memory();
    while ((text = cmd_value_next(cmd, option, &position)) != NULL) {
        const char *equals = strchr(text, '=');
        char axis[64];
        if (equals == NULL || equals == text || equals[1] == '\0' ||
            (size_t)(equals - text) >= sizeof axis)
            return cmd_usage(cmd, "--where takes AXIS=VALUE, not %.40s", text);
        snprintf(axis, sizeof axis, "%.*s", (int)(equals - text), text);
        bool is_size = strcmp(axis, "bytes") == 0 && lib_parse_size(equals + 1, &bytes);
        if (json_object_set_new(where, axis,
                                is_size ? json_sprintf("%lld", (long long)bytes)
                                        : json_string(equals + 1)) != 0)
            return cmd_fail_memory();
    }
    text = has_size ? cmd_value(cmd, size_option) : NULL;
    if (text == NULL)
        return CMD_DONE;
    /* names that metrics use for a size without further effect */
    if (strcmp(text, "large") == 0 || strcmp(text, "memory") == 0)
        return json_object_set_new(where, "bytes", json_string(text)) == 0 ? CMD_DONE
                                                                           : cmd_fail_memory();
    if (!lib_parse_size(text, &bytes))
        return cmd_usage(cmd, "--size takes a size such as 4096, 64K or 16M, or large, not %.40s%s",
                         text, lib_size_doubt(text, doubt));
    return json_object_set_new(where, "bytes", json_sprintf("%lld", (long long)bytes)) == 0
               ? CMD_DONE
               : cmd_fail_memory();
}
