/* Sizes, counts and lists on the command line. */
#include "cmd/cmd.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int cmd_set_count(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option,
                  long least, long most)
{
    const char *text = cmd_value(cmd, option);
    long count;
    if (text == NULL)
        return CMD_DONE;
    if (!lib_parse_count(text, least, most, &count))
        return cmd_usage(cmd, "--%s takes a number from %ld to %ld, not %.40s", option->name, least,
                         most, text);
    return json_object_set_new(object, key, json_integer(count)) == 0 ? CMD_DONE
                                                                      : cmd_fail_memory();
}

int cmd_set_size(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option)
{
    const char *text = cmd_value(cmd, option);
    char doubt[LIB_DOUBT_SIZE];
    int64_t bytes;
    if (text == NULL)
        return CMD_DONE;
    if (!lib_parse_size(text, &bytes))
        return cmd_usage(
            cmd, "--%s takes a size such as 4096, 64K, 1.5G or 100MB, less than 4 EiB, not %.40s%s",
            option->name, text, lib_size_doubt(text, doubt));
    return json_object_set_new(object, key, json_integer(bytes)) == 0 ? CMD_DONE
                                                                      : cmd_fail_memory();
}

int cmd_set_text(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option)
{
    const char *text = cmd_value(cmd, option);
    if (text == NULL || json_object_set_new(object, key, json_string(text)) == 0)
        return CMD_DONE;
    return cmd_fail_memory();
}

json_t *cmd_list(const char *text)
{
    json_t *array = json_array();
    while (array != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        if (length > 0 && json_array_append_new(array, json_stringn(text, length)) != 0) {
            json_decref(array);
            return NULL;
        }
        text += length;
        text += *text == ',';
    }
    return array;
}

int cmd_set_list(struct cmd *cmd, json_t *object, const char *key, const struct cmd_option *option)
{
    const char *text = cmd_value(cmd, option);
    if (text != NULL && *text == '\0')
        return cmd_usage(cmd, "--%s takes names between commas, not \"\"", option->name);
    if (text == NULL || json_object_set_new(object, key, cmd_list(text)) == 0)
        return CMD_DONE;
    return cmd_fail_memory();
}

int cmd_set_operands(struct cmd *cmd, json_t *object, const char *key)
{
    json_t *array = json_array();
    bool fine = json_object_set_new(object, key, array) == 0;
    for (size_t i = 0; fine && i < cmd->operand_count; i++)
        fine = json_array_append_new(array, json_string(cmd->operand[i])) == 0;
    return fine ? CMD_DONE : cmd_fail_memory();
}

bool cmd_parse_time(const char *text, int64_t *ret_s)
{
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 12)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text + digits, units[i].unit) == 0) {
            *ret_s = strtoll(text, NULL, 10) * units[i].seconds;
            return *ret_s > 0;
        }
    return false;
}
