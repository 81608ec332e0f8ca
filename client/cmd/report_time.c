/* berth report-time: reports how long a predicted transfer, access or iteration took, or lists the
 * errors of predictions. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "lib/size.h"
#include "ui/answer.h"

/* Parses 12.5ms, 3us, 1.5s or 800ns. */
static bool parse_time(const char *text, int64_t *ret_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    size_t digits = strspn(text, "0123456789.");
    char *end;
    double number = strtod(text, &end);
    if (digits == 0 || digits > 24 || end != text + digits)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].name) == 0 && number * units[i].ns >= 0.5 &&
            number * units[i].ns < 1e18) {
            *ret_ns = llround(number * units[i].ns);
            return true;
        }
    return false;
}

/* Reads an answer of bind, route or alloc from standard input: the id of its first prediction. */
static int read_id(const struct cmd *cmd, json_t **ret_id)
{
    json_t *answer = json_loadf(stdin, 0, NULL),
           *option = json_array_get(json_object_get(answer, "options"), 0),
           *predicted = json_object_get(option != NULL ? option : answer, "predicted"),
           *id = json_object_get(predicted, "id");
    int status = json_is_string(id) ? CMD_DONE
                                    : cmd_usage(cmd, "standard input is no answer of bind, route "
                                                     "or alloc --json with a prediction");
    if (status == CMD_DONE)
        *ret_id = json_incref(id);
    json_decref(answer);
    return status;
}

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    int64_t ns = 0, bytes = 0;
    json_t *id = NULL;
    if (cmd->operand_count < 2)
        return cmd_usage(cmd, "a report has an answer and a time");
    if (!parse_time(cmd->operand[1], &ns))
        return cmd_usage(cmd, "a time is such as 12.5ms, 3us or 1.5s, not %.40s", cmd->operand[1]);
    if (cmd->operand_count > 2 && (!lib_parse_size(cmd->operand[2], &bytes) || bytes < 1))
        return cmd_usage(cmd, "bytes are such as 4096, 64K or 1.5G, not %.40s", cmd->operand[2]);
    int status = CMD_DONE;
    if (strcmp(cmd->operand[0], "-") == 0)
        status = read_id(cmd, &id);
    else
        id = json_string(cmd->operand[0]);
    if (status != CMD_DONE)
        return status;
    bool ok = id != NULL && json_object_set_new(parameters, "answer", id) == 0 &&
              json_object_set_new(parameters, "observed_ns", json_integer(ns)) == 0 &&
              (bytes == 0 || json_object_set_new(parameters, "bytes", json_integer(bytes)) == 0);
    return ok ? CMD_DONE : cmd_fail_memory();
}

static int run(struct cmd *cmd)
{
    if (cmd->operand_count == 0)
        return cmd_answer(cmd, "io.berth.Placement.ListReports", NULL, ui_reports);
    return cmd_answer(cmd, "io.berth.Placement.Report", set_parameters, ui_reported);
}

const struct cmd_command cmd_report_time = {
    .name = "report-time",
    .operands = "[ANSWER TIME [BYTES]]",
    .about = "report how long a transfer took; alone: errors of predictions",
    .most_operands = 3,
    .run = run,
    .notes = {"ANSWER is the id of a prediction (--json, or --why), or - for an answer of bind, "
              "route or alloc --json on standard input, whose first prediction counts.",
              "At least 8 reports of a kind that agree correct your predictions; root's correct "
              "those of all users. Measured predictions stay. A restart of the daemon, or another "
              "value of a measurement, forgets reports."},
};
