/* berth bind: --flow, --flows and --ranks. */
#include "cmd/bind.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANK_MOST  INT32_MAX
#define RANKS_MOST CMD_TASKS_MOST
#define FLOWS_MOST 65536 /* most flows that the daemon weighs */
#define LINE_BYTES 256

/* Parses "0:1:64M"; false for any other text. Cuts the text. */
static bool parse_flow(char *text, json_t **ret_flow)
{
    char *to = strchr(text, ':'), *size = to != NULL ? strchr(to + 1, ':') : NULL;
    long from_rank, to_rank;
    int64_t bytes;
    if (size == NULL)
        return false;
    *to++ = *size++ = '\0';
    if (!lib_parse_count(text, 0, RANK_MOST, &from_rank) ||
        !lib_parse_count(to, 0, RANK_MOST, &to_rank) || !lib_parse_size(size, &bytes))
        return false;
    *ret_flow = json_pack("{s:I,s:I,s:I}", "from", (json_int_t)from_rank, "to", (json_int_t)to_rank,
                          "bytes", (json_int_t)bytes);
    return true;
}

static int add_given(struct cmd *cmd, json_t *flows, const char *text)
{
    char copy[LINE_BYTES];
    json_t *flow = NULL;
    if (strlen(text) >= sizeof copy || !parse_flow(strcpy(copy, text), &flow))
        return cmd_usage(cmd, "--flow takes FROM:TO:SIZE, such as 0:1:64M, not %.60s", text);
    return json_array_append_new(flows, flow) == 0 ? CMD_DONE : cmd_fail_memory();
}

/* Line without surrounding white space and without its comment after #. */
static char *strip(char *line)
{
    line[strcspn(line, "#\n")] = '\0';
    line += strspn(line, " \t\r");
    for (size_t length = strlen(line); length > 0 && isspace((unsigned char)line[length - 1]);
         length--)
        line[length - 1] = '\0';
    return line;
}

static int add_lines(json_t *flows, FILE *file, const char *path)
{
    char line[LINE_BYTES], shown[64];
    for (size_t number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        json_t *flow = NULL;
        bool is_whole = strchr(line, '\n') != NULL || feof(file);
        char *text = strip(line);
        if (*text == '\0' && is_whole)
            continue;
        snprintf(shown, sizeof shown, "%.40s", text);
        if (!is_whole || !parse_flow(text, &flow))
            return cmd_fail(CMD_DATA,
                            "%.200s, line %zu: a flow is FROM:TO:SIZE, such as 0:1:64M, not %s",
                            path, number, shown);
        if (json_array_append_new(flows, flow) != 0)
            return cmd_fail_memory();
        if (json_array_size(flows) > FLOWS_MOST)
            return cmd_fail(CMD_DATA, "%.200s: more than %d flows are not weighed", path,
                            FLOWS_MOST);
    }
    return ferror(file) ? cmd_fail(CMD_IO, "%.200s: %s", path, strerror(errno)) : CMD_DONE;
}

static int add_file(json_t *flows, const char *path)
{
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "re");
    if (file == NULL)
        return cmd_fail(CMD_DATA, "%.200s: %s", path, strerror(errno));
    int status = add_lines(flows, file, path);
    if (!is_input)
        fclose(file);
    return status;
}

int cmd_bind_set_flows(struct cmd *cmd, json_t *request, const struct cmd_option *flow,
                       const struct cmd_option *file)
{
    const char *text;
    if (!cmd_has(cmd, flow) && !cmd_has(cmd, file))
        return CMD_DONE;
    json_t *flows = json_array();
    int status = json_object_set_new(request, "flows", flows) == 0 ? CMD_DONE : cmd_fail_memory();
    for (size_t position = 0;
         status == CMD_DONE && (text = cmd_value_next(cmd, flow, &position)) != NULL;)
        status = add_given(cmd, flows, text);
    for (size_t position = 0;
         status == CMD_DONE && (text = cmd_value_next(cmd, file, &position)) != NULL;)
        status = add_file(flows, text);
    return status;
}

/* Adds "5" or "0-3" up to the next comma. */
static bool add_range(json_t *ranks, const char *text, size_t length, bool *ret_failed)
{
    char range[32];
    long first, last;
    if (length >= sizeof range)
        return false;
    memcpy(range, text, length);
    range[length] = '\0';
    char *dash = strchr(range, '-');
    if (dash != NULL)
        *dash++ = '\0';
    if (!lib_parse_count(range, 0, RANK_MOST, &first) ||
        !lib_parse_count(dash == NULL ? range : dash, first, RANK_MOST, &last) ||
        last - first >= RANKS_MOST)
        return false;
    for (long rank = first; rank <= last && !*ret_failed; rank++)
        *ret_failed = json_array_append_new(ranks, json_integer(rank)) != 0;
    return true;
}

int cmd_bind_set_ranks(struct cmd *cmd, json_t *request, const struct cmd_option *option)
{
    const char *list = cmd_value(cmd, option);
    bool failed = false;
    if (list == NULL)
        return CMD_DONE;
    json_t *ranks = json_array();
    if (json_object_set_new(request, "ranks", ranks) != 0)
        return cmd_fail_memory();
    for (const char *text = list;; text++) {
        size_t length = strcspn(text, ",");
        if (!add_range(ranks, text, length, &failed) || json_array_size(ranks) > RANKS_MOST)
            return cmd_usage(cmd, "--ranks takes a list such as 0-3,8, not \"%.60s\"", list);
        text += length;
        if (failed)
            return cmd_fail_memory();
        if (*text == '\0')
            return CMD_DONE;
    }
}
