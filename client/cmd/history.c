/* berth history: measurements of one cell over time, or changes of findings. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

enum { WHERE, SIZE, SINCE, ALL, OPTIONS };

static const struct cmd_option options[] = {
    [WHERE] = {.name = "where",
               .value = "AXIS=VALUE",
               .help = "the cell with this value of an axis; may be repeated"},
    [SIZE] = {.name = "size",
              .value = "BYTES",
              .help = "the cell measured with this size (the axis bytes)"},
    [SINCE] = {.name = "since",
               .value = "AGO",
               .help = "only what is not older than this: 90m, 12h, 7d, 4w"},
    [ALL] = {.name = "all",
             .help = "every measurement, not only the latest; without a metric every value found"},
};

static int set_since(struct cmd *cmd, json_t *object)
{
    static const struct {
        char unit;
        int64_t s;
    } units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
    const char *text = cmd_value(cmd, &options[SINCE]);
    if (text == NULL)
        return CMD_DONE;
    char *end;
    long count = strtol(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (end != text && text[0] != '-' && end[0] == units[i].unit && end[1] == '\0' &&
            count >= 0 && count <= 1000000) {
            int64_t since_s = (int64_t)time(NULL) - count * units[i].s;
            return json_object_set_new(object, "since_s",
                                       json_integer(since_s > 0 ? since_s : 0)) == 0
                       ? CMD_DONE
                       : cmd_fail_memory();
        }
    return cmd_usage(cmd, "--since takes a time such as 90m, 12h, 7d or 4w, not %.40s", text);
}

static int run_changes(struct cmd *cmd)
{
    for (size_t i = 0; i < SINCE; i++)
        if (cmd_has(cmd, &options[i]))
            return cmd_usage(cmd, "--%s needs METRIC FROM TO", options[i].name);
    return cmd_answer(cmd, "io.berth.Health.ListFindings", set_since,
                      cmd_has(cmd, &cmd_globals[CMD_NODE]) ? ui_changes_of_folder
                      : cmd_has(cmd, &options[ALL])        ? ui_changes_all
                                                           : ui_changes);
}

/* Says why a series has no point. */
static const char *why_none(struct cmd *cmd)
{
    json_t *status = cmd_try(cmd->berth, "io.berth.Fabric.GetStatus", json_object());
    const char *origin = ui_member(json_object_get(status, "basis"), "origin");
    bool is_recorded = strcmp(origin, "recorded") == 0 || strcmp(origin, "reconstructed") == 0 ||
                       cmd_has(cmd, &cmd_globals[CMD_NODE]);
    json_decref(status);
    return is_recorded                     ? "a recorded node has no history"
           : cmd_has(cmd, &options[SINCE]) ? "not measured in that time"
                                           : "never measured";
}

/* Draws the answer to History after asking for its baseline. */
static int draw(struct cmd *cmd, const json_t *history, json_t *take_where)
{
    json_t *baseline;
    int status = cmd_ask(cmd, "io.berth.Health.GetBaseline", take_where, &baseline);
    if (status != CMD_DONE)
        return status;
    struct ui ui;
    char from[UI_NUMBER], to[UI_NUMBER];
    ui_init(&ui, STDOUT_FILENO);
    ui_put(&ui, "%s from %s to %s", cmd->operand[0], ui_place(cmd->operand[1], from),
           ui_place(cmd->operand[2], to));
    ui_history(&ui, history, baseline, why_none(cmd), cmd_has(cmd, &options[ALL]) ? SIZE_MAX : 30);
    json_decref(baseline);
    return cmd_print(&ui);
}

static int run(struct cmd *cmd)
{
    if (cmd->operand_count == 0)
        return run_changes(cmd);
    if (cmd->operand_count != 3)
        return cmd_usage(
            cmd, "takes METRIC FROM TO, for example berth history memory_latency llc0 numa0");
    json_t *where = json_pack("{s:s,s:s,s:s}", "metric", cmd->operand[0], "from", cmd->operand[1],
                              "to", cmd->operand[2]),
           *reply;
    int status = where == NULL ? cmd_fail_memory()
                               : cmd_set_where(cmd, where, &options[WHERE], &options[SIZE]);
    json_t *parameters = status == CMD_DONE ? json_copy(where) : NULL;
    if (status == CMD_DONE)
        status = parameters == NULL ? cmd_fail_memory() : set_since(cmd, parameters);
    if (status != CMD_DONE) {
        json_decref(parameters);
        json_decref(where);
        return status;
    }
    status = cmd_ask(cmd, "io.berth.Fabric.History", parameters, &reply);
    if (status != CMD_DONE) {
        json_decref(where);
        return status;
    }
    if (cmd_wants_json(cmd)) {
        status = cmd_print_json(cmd->reply);
        json_decref(where);
    } else {
        status = draw(cmd, reply, where);
    }
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_history = {
    .name = "history",
    .operands = "[METRIC FROM TO]",
    .about = "what was found and has cleared, or how one number changed",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = 3,
    .run = run,
    .notes = {"Without a metric: every finding that appeared or cleared, the latest change first; "
              "values found at the same time are one line.",
              "With one: its baseline, each measurement with its 95 % interval and a bar as long "
              "as it is good, those that are out of line with the baseline marked, "
              "and what changed in the conditions between two of them. A day that has become one "
              "median shows its lowest and highest value."},
};
