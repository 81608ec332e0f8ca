/* berth alloc: the best memory for a buffer. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

enum { BY, KIND, CPUS, GPUS, WHY, OPTIONS };

static const char *const kinds[] = {"system", "pinned", "managed", "device", NULL};

static const struct cmd_option options[] = {
    [BY] = {.name = "by",
            .value = "PLACE:reads=SIZE,writes=SIZE[,random][,cores=N]",
            .help = "who touches the buffer, and how much, for example gpu0:reads=4G; may be "
                    "repeated; default the cores that this command may run on read all of it once"},
    [KIND] = {.name = "kind",
              .value = "KINDS",
              .help = "only these, between commas",
              .choices = kinds,
              .takes_several = true},
    [CPUS] = {.name = "cpus",
              .value = "LIST",
              .help = "for a caller on these cpus; default those this command may run on"},
    [GPUS] = {.name = "gpus",
              .value = "LIST",
              .help = "for a caller with these gpus; default those this command may open"},
    [WHY] = CMD_WHY,
};

/* Parses one word of an access behind its place: reads=1G, writes=0, random, cores=4. */
static bool parse_word(json_t *access, const char *word)
{
    int64_t bytes;
    long cores;
    if (strcmp(word, "random") == 0)
        return json_object_set_new(access, "pattern", json_string("random")) == 0;
    if (strncmp(word, "reads=", 6) == 0 && lib_parse_size(word + 6, &bytes))
        return json_object_set_new(access, "reads_bytes", json_integer(bytes)) == 0;
    if (strncmp(word, "writes=", 7) == 0 && lib_parse_size(word + 7, &bytes))
        return json_object_set_new(access, "writes_bytes", json_integer(bytes)) == 0;
    if (strncmp(word, "cores=", 6) == 0 && lib_parse_count(word + 6, 1, 1 << 20, &cores))
        return json_object_set_new(access, "cores", json_integer(cores)) == 0;
    return false;
}

/* Text behind reads= or writes=; "" for other words. */
static const char *amount_of(const char *word)
{
    return strncmp(word, "reads=", 6) == 0    ? word + 6
           : strncmp(word, "writes=", 7) == 0 ? word + 7
                                              : "";
}

/* The last colon ends the place, because a PCI address has colons too. */
static int add_access(struct cmd *cmd, json_t *accesses, const char *text)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text)
        return cmd_usage(
            cmd, "--by takes PLACE:reads=SIZE,writes=SIZE[,random][,cores=N], not %.60s", text);
    json_t *words = cmd_list(colon + 1);
    if (words == NULL)
        return cmd_fail_memory();
    json_t *access = json_pack("{s:o,s:i,s:i}", "by", json_stringn(text, (size_t)(colon - text)),
                               "reads_bytes", 0, "writes_bytes", 0),
           *word;
    int status = json_array_append_new(accesses, access) == 0 ? CMD_DONE : cmd_fail_memory();
    size_t i;
    json_array_foreach(words, i, word)
    {
        const char *said = json_string_value(word);
        if (status != CMD_DONE || parse_word(access, said))
            continue;
        char doubt[LIB_DOUBT_SIZE];
        if (isdigit((unsigned char)*amount_of(said)) != 0) /* too large, or with an unknown unit */
            status = cmd_usage(
                cmd,
                "--by takes sizes such as 4096, 64K, 1.5G or 100MB, less than 4 EiB, not %.40s%s",
                said, lib_size_doubt(amount_of(said), doubt));
        else
            status = cmd_usage(cmd,
                               "--by takes reads=SIZE, writes=SIZE, random and cores=N behind the "
                               "place, not %.40s",
                               said);
    }
    json_decref(words);
    bool touches = json_integer_value(json_object_get(access, "reads_bytes")) > 0 ||
                   json_integer_value(json_object_get(access, "writes_bytes")) > 0;
    if (status == CMD_DONE && !touches)
        status = cmd_usage(
            cmd, "--by %.60s neither reads nor writes: give reads=SIZE, writes=SIZE or both", text);
    return status;
}

static int make_request(struct cmd *cmd, json_t *request)
{
    char doubt[LIB_DOUBT_SIZE];
    int64_t bytes;
    if (cmd->operand_count == 0)
        return cmd_usage(cmd, "how much? for example berth alloc 4G");
    if (!lib_parse_size(cmd->operand[0], &bytes) || bytes < 1)
        return cmd_usage(
            cmd, "a size is for example 4096, 64K, 1.5G or 100MB, less than 4 EiB, not %.40s%s",
            cmd->operand[0], lib_size_doubt(cmd->operand[0], doubt));
    if (json_object_set_new(request, "bytes", json_integer(bytes)) != 0)
        return cmd_fail_memory();
    const char *text;
    if (cmd_has(cmd, &options[BY])) {
        json_t *accesses = json_array();
        size_t position = 0;
        if (json_object_set_new(request, "accesses", accesses) != 0)
            return cmd_fail_memory();
        while ((text = cmd_value_next(cmd, &options[BY], &position)) != NULL) {
            int status = add_access(cmd, accesses, text);
            if (status != CMD_DONE)
                return status;
        }
    }
    text = cmd_value(cmd, &options[KIND]);
    if (text != NULL && json_object_set_new(request, "kinds", cmd_list(text)) != 0)
        return cmd_fail_memory();
    return cmd_set_allowed(cmd, request, true, cmd_value(cmd, &options[CPUS]),
                           cmd_value(cmd, &options[GPUS]));
}

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Placement.Allocate", make_request, ui_alloc);
}

const struct cmd_command cmd_alloc = {
    .name = "alloc",
    .operands = "SIZE",
    .about = "the best memory for an allocation",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 1,
    .run = run,
    .notes = {"berth alloc 4G --by gpu0:reads=16G,writes=4G --by llc1:reads=1G,random",
              "Sizes take K M G T (powers of 1024) and KB MB GB TB (powers of 1000)."},
};
