/* berth route: the fastest path between two places, also while other transfers run. */
#include <stdio.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

enum { OVERLAP, BOTH, UNMEASURED, CONCURRENT, CPUS, GPUS, WHY, OPTIONS };

static const struct cmd_option options[] = {
    [OVERLAP] = {.name = "overlap", .help = "the gpus must stay free to compute: no kernels"},
    [BOTH] = {.name = "both", .help = "as many bytes go the other way at the same time"},
    [UNMEASURED] = {.name = "allow-unmeasured",
                    .help = "paths that were not measured, or not together, may be the first, too"},
    [CONCURRENT] =
        {.name = "concurrent",
         .value = "FROM:TO:SIZE",
         .help =
             "what begins to move at the same time, for example gpu1:numa0:64M; may be repeated"},
    [CPUS] = {.name = "cpus",
              .value = "LIST",
              .help = "for a caller on these cpus; default those this command may run on"},
    [GPUS] = {.name = "gpus",
              .value = "LIST",
              .help = "for a caller with these gpus; default those this command may open"},
    [WHY] = CMD_WHY,
};

#define LINE_BYTES 256 /* a longer text is no transfer */

static int add_concurrent(struct cmd *cmd, json_t *transfers, const char *text)
{
    int64_t bytes;
    char spaced[LINE_BYTES];
    snprintf(spaced, sizeof spaced, "%s", text);
    for (char *c = spaced; *c != '\0'; c++)
        *c = *c == ':' ? ',' : *c; /* either separator is accepted */
    json_t *parts = cmd_list(spaced);
    if (parts == NULL)
        return cmd_fail_memory();
    const char *size = json_string_value(json_array_get(parts, 2));
    int status = CMD_DONE;
    if (json_array_size(parts) != 3 || size == NULL || !lib_parse_size(size, &bytes))
        status = cmd_usage(
            cmd, "--concurrent takes FROM:TO:SIZE, such as gpu1:numa0:64M, not %.60s", text);
    else if (json_array_append_new(
                 transfers, json_pack("{s:O,s:O,s:I}", "from", json_array_get(parts, 0), "to",
                                      json_array_get(parts, 1), "bytes", (json_int_t)bytes)) != 0)
        status = cmd_fail_memory();
    json_decref(parts);
    return status;
}

static int set_concurrent(struct cmd *cmd, json_t *request)
{
    json_t *transfers = json_array();
    const char *text;
    size_t position = 0;
    int status =
        json_object_set_new(request, "concurrent", transfers) == 0 ? CMD_DONE : cmd_fail_memory();
    while (status == CMD_DONE &&
           (text = cmd_value_next(cmd, &options[CONCURRENT], &position)) != NULL)
        status = add_concurrent(cmd, transfers, text);
    return status;
}

static int make_request(struct cmd *cmd, json_t *request)
{
    char doubt[LIB_DOUBT_SIZE];
    int64_t bytes;
    if (cmd->operand_count < 3)
        return cmd_usage(cmd,
                         "from where, to where, how much? for example berth route gpu0 gpu1 64M");
    if (!lib_parse_size(cmd->operand[2], &bytes) || bytes < 1)
        return cmd_usage(
            cmd, "a size is for example 4096, 64K, 1.5G or 100MB, less than 4 EiB, not %.40s%s",
            cmd->operand[2], lib_size_doubt(cmd->operand[2], doubt));
    if (json_object_set_new(request, "from", json_string(cmd->operand[0])) != 0 ||
        json_object_set_new(request, "to", json_string(cmd->operand[1])) != 0 ||
        json_object_set_new(request, "bytes", json_integer(bytes)) != 0 ||
        json_object_set_new(request, "overlap", json_boolean(cmd_has(cmd, &options[OVERLAP]))) !=
            0 ||
        json_object_set_new(request, "both_directions",
                            json_boolean(cmd_has(cmd, &options[BOTH]))) != 0 ||
        json_object_set_new(request, "allow_unmeasured",
                            json_boolean(cmd_has(cmd, &options[UNMEASURED]))) != 0)
        return cmd_fail_memory();
    int status = set_concurrent(cmd, request);
    if (status != CMD_DONE)
        return status;
    return cmd_set_allowed(cmd, request, true, cmd_value(cmd, &options[CPUS]),
                           cmd_value(cmd, &options[GPUS]));
}

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Placement.Route", make_request, ui_route);
}

const struct cmd_command cmd_route = {
    .name = "route",
    .operands = "FROM TO SIZE",
    .about = "the best path for a transfer",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 3,
    .run = run,
    .notes = {"berth route gpu0 gpu1 64M", "FROM and TO are gpus or NUMA nodes. Sizes take K M G T "
                                           "(powers of 1024) and KB MB GB TB (powers of 1000)."},
};
