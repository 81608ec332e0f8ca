/* berth health: findings and a verdict as exit status. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/stream.h"
#include "ui/answer.h"

#define INTERRUPTED 130 /* exit status of ctrl-C in shells */
#define LINE_S      10  /* from one line of progress to the next, where there is no terminal */

enum { WHY, LOAD, NAGIOS, OPTIONS };

static const struct cmd_option options[] = {
    [WHY] = {.name = "why",
             .help = "show the evidence behind each finding, too: interval, expectation, looks, "
                     "false alarms, and which conditions changed"},
    [LOAD] = {.name = "load",
              .value = "TIME",
              .help = "put all gpus and all memory under load at once for so long, as 180 or 3m, "
                      "and judge that; administrators, beside no claim"},
    [NAGIOS] = {.name = "nagios",
                .help = "print one line as a monitoring plugin does, with performance data; every "
                        "error, and 10 s without an answer, is UNKNOWN, 3"},
};

static int exit_of(const char *verdict)
{
    static const char *const verdicts[] = {"healthy", "degraded", "unhealthy"};
    for (int i = 0; i < 3; i++)
        if (strcmp(verdict, verdicts[i]) == 0)
            return i;
    return 3;
}

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    return cmd->operand_count > 0 ? cmd_set_operands(cmd, parameters, "places") : CMD_DONE;
}

/* Adds a reply about the finding's cell to the finding, under that name. */
static int add(struct cmd *cmd, json_t *finding, const char *name, const char *method)
{
    const json_t *cell = json_object_get(finding, "cell");
    json_t *parameters = json_deep_copy(cell), *reply;
    static const char *const others[] = {"low", "high", "measured_at_s"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        json_object_del(parameters, others[i]);
    int status = cmd_ask(cmd, method, parameters, &reply);
    if (status == CMD_DONE && json_object_set_new(finding, name, reply) != 0)
        status = cmd_fail_memory();
    return status;
}

/* Asks for baseline and past of each finding's cell. */
static int add_evidence(struct cmd *cmd, json_t *findings)
{
    json_t *finding;
    size_t i;
    json_array_foreach(findings, i, finding)
    {
        if (!json_is_object(json_object_get(finding, "cell")))
            continue;
        int status = add(cmd, finding, "baseline", "io.berth.Health.GetBaseline");
        if (status == CMD_DONE)
            status = add(cmd, finding, "history", "io.berth.Fabric.History");
        if (status != CMD_DONE)
            return status;
    }
    return CMD_DONE;
}

static int check(struct cmd *cmd)
{
    json_t *reply;
    int status = cmd_ask_filled(cmd, "io.berth.Health.Check", set_parameters, &reply);
    if (status != CMD_DONE)
        return status;
    if (cmd_has(cmd, &options[WHY]) && !cmd_wants_json(cmd)) {
        status = add_evidence(cmd, json_object_get(reply, "findings"));
        if (status == CMD_DONE)
            status = add_evidence(cmd, json_object_get(reply, "unconfirmed"));
    }
    if (status == CMD_DONE)
        status = cmd_show(cmd, reply, cmd_has(cmd, &options[NAGIOS]) ? ui_nagios : ui_health);
    if (status == CMD_DONE)
        status = exit_of(ui_member(reply, "verdict"));
    json_decref(reply);
    return status;
}

struct load {
    bool json, bar;
    struct ui ui; /* ui of standard error */
    int64_t shown_s;
    json_t *last;
};

static void show_progress(struct load *load, const json_t *reply)
{
    int64_t elapsed_s = json_integer_value(json_object_get(reply, "elapsed_s"));
    if (!load->bar && elapsed_s < load->shown_s + LINE_S)
        return;
    load->shown_s = elapsed_s;
    ui_load_progress(&load->ui, reply, load->bar);
    if (load->ui.text != NULL)
        fwrite(load->ui.text, 1, load->ui.length, stderr);
    load->ui.length = 0;
}

static bool on_reply(struct cmd_stream *stream, const json_t *reply, const char *text)
{
    struct load *load = stream->arg;
    if (load->json)
        stream->status = cmd_print_json(text);
    else if (json_is_null(json_object_get(reply, "verdict")))
        show_progress(load, reply);
    json_decref(load->last);
    load->last = json_deep_copy(reply);
    return stream->status != CMD_DONE;
}

static int finish(struct cmd *cmd, struct cmd_stream *stream, struct load *load, enum cmd_end end)
{
    if (load->bar && load->last != NULL)
        fputs("\r\033[K", stderr);
    if (end == CMD_END_LOST)
        return cmd_fail_daemon(cmd, stream->lost);
    if (end == CMD_END_INTERRUPTED) {
        cmd_fail(INTERRUPTED, "the load has ended, nothing is known of it");
        return INTERRUPTED;
    }
    if (end != CMD_END_LAST)
        return stream->status;
    struct ui ui;
    ui_init(&ui, STDOUT_FILENO);
    if (!load->json)
        ui_load(&ui, load->last);
    int status = load->json ? CMD_DONE : cmd_print(&ui);
    return status == CMD_DONE ? exit_of(ui_member(load->last, "verdict")) : status;
}

/* The daemon ends a load whose caller leaves: so does an interrupt. */
static int put_under_load(struct cmd *cmd)
{
    int64_t duration_s;
    const char *text = cmd_value(cmd, &options[LOAD]);
    if (!cmd_parse_time(text, &duration_s))
        return cmd_usage(cmd, "--load takes a time such as 180 or 3m, not %.40s", text);
    if (cmd->operand_count > 0)
        return cmd_usage(cmd, "--load takes the whole node, no places");
    if (cmd_has(cmd, &options[WHY]))
        return cmd_usage(cmd, "--why and --load exclude each other: a load shows all it has");
    json_t *request = json_pack("{s:I}", "duration_s", (json_int_t)duration_s);
    int status = request == NULL ? cmd_fail_memory() : cmd_connect(cmd);
    if (status == CMD_DONE) {
        struct load load = {.json = cmd_wants_json(cmd), .shown_s = -LINE_S};
        ui_init(&load.ui, STDERR_FILENO);
        load.bar = !load.json && load.ui.can_redraw;
        struct cmd_stream stream = {.method = "io.berth.Health.Load",
                                    .parameters = request,
                                    .timeout_ms = -1,
                                    .catch_interrupt = true,
                                    .on_reply = on_reply,
                                    .arg = &load};
        enum cmd_end end = cmd_stream_run(cmd, &stream);
        status = finish(cmd, &stream, &load, end);
        json_decref(load.last);
        ui_done(&load.ui);
    }
    json_decref(request);
    return status;
}

static int run(struct cmd *cmd)
{
    if (cmd_has(cmd, &options[NAGIOS]) &&
        (cmd_has(cmd, &cmd_globals[CMD_JSON]) || cmd_has(cmd, &options[WHY]) ||
         cmd_has(cmd, &options[LOAD])))
        return cmd_usage(cmd, "--nagios is one line, without --json, --why and --load");
    return cmd_has(cmd, &options[LOAD]) ? put_under_load(cmd) : check(cmd);
}

const struct cmd_command cmd_health = {
    .name = "health",
    .operands = "[PLACE...]",
    .about = "whether the node is fit: verdict, findings, what to do",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = SIZE_MAX,
    .run = run,
    .notes =
        {"Exit status: 0 healthy, 1 degraded, 2 unhealthy, 3 unknown.",
         "Behind \"do:\" stands the action for a finding. berth history tells which findings "
         "have cleared, berth history METRIC FROM TO how a value changed; berth report -o FILE "
         "draws all of it for a ticket."},
};
