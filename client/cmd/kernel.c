/* berth kernel: how long a kernel takes that streams over a gpu's memory. */
#include <math.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

enum { DEGREE, DOFS, READS, WRITES, FLOPS, OPTIONS };

static const struct cmd_option options[] = {
    [DEGREE] = {.name = "degree",
                .value = "N",
                .help = "of the elements of bs6 and bs7, 1 to 15; 7 by default"},
    [DOFS] = {.name = "dofs",
              .value = "N",
              .help = "degrees of freedom of the test: doubles of its vectors, for example 1e6"},
    [READS] = {.name = "reads", .value = "SIZE", .help = "bytes that a kernel of your own reads"},
    [WRITES] = {.name = "writes", .value = "SIZE", .help = "bytes that it writes"},
    [FLOPS] = {.name = "flops",
               .value = "N",
               .help = "its floating-point operations: the answer says how fast these must be"}};

/* Adds a whole number such as 1000000 or 1e6. */
static int set_number(struct cmd *cmd, json_t *parameters, const char *key,
                      const struct cmd_option *option)
{
    const char *text = cmd_value(cmd, option);
    char *end = NULL;
    if (text == NULL)
        return CMD_DONE;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= 1 && number < 9e18) || number != floor(number))
        return cmd_usage(cmd, "--%s takes a whole number such as 1000000 or 1e6, not %.40s",
                         option->name, text);
    return json_object_set_new(parameters, key, json_integer((json_int_t)number)) == 0
               ? CMD_DONE
               : cmd_fail_memory();
}

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    static const char *const keys[] = {"place", "test"};
    if (cmd->operand_count == 0)
        return cmd_usage(cmd, "of which gpu? for example berth kernel gpu0 bs1 --dofs 1e6");
    int status = set_number(cmd, parameters, "degree", &options[DEGREE]);
    if (status == CMD_DONE)
        status = set_number(cmd, parameters, "dofs", &options[DOFS]);
    if (status == CMD_DONE)
        status = cmd_set_size(cmd, parameters, "reads_bytes", &options[READS]);
    if (status == CMD_DONE)
        status = cmd_set_size(cmd, parameters, "writes_bytes", &options[WRITES]);
    if (status == CMD_DONE)
        status = set_number(cmd, parameters, "flops", &options[FLOPS]);
    for (size_t i = 0; status == CMD_DONE && i < cmd->operand_count && i < 2; i++)
        if (json_object_set_new(parameters, keys[i], json_string(cmd->operand[i])) != 0)
            status = cmd_fail_memory();
    return status;
}

static int run(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Fabric.PredictKernel", set_parameters, ui_kernel);
}

const struct cmd_command cmd_kernel = {
    .name = "kernel",
    .operands = "GPU [TEST]",
    .about = "how long a kernel takes that streams over a gpu's memory",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 2,
    .run = run,
    .notes = {"berth kernel gpu0 bs3 --dofs 1e6",
              "TEST is bs1 copy, bs2 axpy, bs3 norm, bs4 dot, bs5 fused CG update, bs6 gather or "
              "bs7 scatter. Without one, that with the nearest share of written bytes stands for "
              "a kernel with --reads and --writes.",
              "Sizes take K M G T (powers of 1024) and KB MB GB TB (powers of 1000)."},
};
