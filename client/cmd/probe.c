/* berth probe: starts a measurement and follows its progress. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/probe_mpi.h"
#include "cmd/stream.h"
#include "ui/answer.h"

#define INTERRUPTED 130 /* exit status of ctrl-C in shells */

enum { FULL, FORCE, EXPLAIN, MPI, RANKS, LAUNCHER, TIMEOUT, RECORDS, OPTIONS };

static const struct cmd_option options[] = {
    [FULL] = {.name = "full",
              .help = "everything, in minutes; without it what answers need, in seconds"},
    [FORCE] = {.name = "force",
               .help = "also beside claims of ordinary users; those of administrators hold it back "
                       "in any case"},
    [EXPLAIN] = {.name = "explain",
                 .help = "measure nothing; say what kernels wait for on the way between two "
                         "places, such as gpu0 gpu1 or gpu0 numa0"},
    [MPI] = {.name = "mpi", .help = "messages and collectives of MPI, by ranks under mpiexec"},
    [RANKS] = {.name = "ranks", .value = "N", .help = "with --mpi: so many; without it one a core"},
    [LAUNCHER] = {.name = "launcher",
                  .value = "COMMAND",
                  .help = "with --mpi: in place of mpiexec; -n N and the probe follow"},
    [TIMEOUT] = {.name = "timeout",
                 .value = "TIME",
                 .help = "with --mpi: end the launcher after so long (50s, with --full 5m)"},
    [RECORDS] = {.name = "records",
                 .value = "FILE",
                 .help =
                     "measure nothing; store what berth-probe-mpi printed, - is standard input"},
};

struct probe {
    bool json, bar;
    struct ui ui; /* ui of standard error */
    time_t printed_at;
    json_t *last;
};

static void show_progress(struct probe *probe, const json_t *reply)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!probe->bar && (now.tv_sec == probe->printed_at ||
                        json_integer_value(json_object_get(reply, "total")) == 0))
        return; /* logs get at most one line a second */
    probe->printed_at = now.tv_sec;
    if (probe->bar)
        ui_progress_bar(&probe->ui, reply);
    else
        ui_progress_line(&probe->ui, reply);
    if (probe->ui.text != NULL)
        fwrite(probe->ui.text, 1, probe->ui.length, stderr);
    probe->ui.length = 0;
}

static bool on_reply(struct cmd_stream *stream, const json_t *reply, const char *text)
{
    struct probe *probe = stream->arg;
    if (probe->json)
        stream->status = cmd_print_json(text);
    else
        show_progress(probe, reply);
    if (stream->status != CMD_DONE)
        return true;
    json_decref(probe->last);
    probe->last = json_deep_copy(reply);
    return false;
}

/* Fails a run without a single value: a script that continued would use earlier values. */
static int nothing_measured(const struct probe *probe)
{
    const json_t *measured = json_object_get(probe->last, "measured");
    if (!json_is_integer(measured) || json_integer_value(measured) > 0)
        return CMD_DONE;
    return cmd_fail(CMD_AGAIN, "nothing was measured: %s, and berth health what went wrong",
                    probe->json ? "skipped says what was left out and why"
                                : "what was left out and why is listed above");
}

static int finish(struct cmd *cmd, struct cmd_stream *stream, struct probe *probe, enum cmd_end end)
{
    if (probe->bar && probe->last != NULL)
        fputs("\r\033[K", stderr);
    switch (end) {
    case CMD_END_LOST:
        return cmd_fail_daemon(cmd, stream->lost);
    case CMD_END_INTERRUPTED:
        cmd_fail(INTERRUPTED, "the probe runs on in the daemon; berth cancel stops it");
        return INTERRUPTED;
    case CMD_END_LAST:
        break;
    default:
        return stream->status;
    }
    if (probe->json)
        return nothing_measured(probe);
    struct ui ui;
    ui_init(&ui, STDOUT_FILENO);
    ui_probe_summary(&ui, probe->last);
    int status = cmd_print(&ui);
    return status == CMD_DONE ? nothing_measured(probe) : status;
}

static int run_explain(struct cmd *cmd)
{
    if (cmd->operand_count != 2)
        return cmd_usage(cmd, "--explain takes two places, such as gpu0 gpu1");
    if (cmd_has(cmd, &options[FULL]) || cmd_has(cmd, &options[FORCE]))
        return cmd_usage(cmd, "--explain measures nothing: without --full and --force");
    if (cmd_has(cmd, &cmd_globals[CMD_NODE]))
        return cmd_usage(cmd, "--explain runs kernels on this machine, and --node is another");
    return cmd_explain(cmd);
}

static int run_mpi(struct cmd *cmd)
{
    const char *ranks = cmd_value(cmd, &options[RANKS]),
               *launcher = cmd_value(cmd, &options[LAUNCHER]),
               *timeout = cmd_value(cmd, &options[TIMEOUT]),
               *records = cmd_value(cmd, &options[RECORDS]);
    struct cmd_probe_mpi mpi = {.launcher = launcher,
                                .limit_s = cmd_has(cmd, &options[FULL]) ? 300 : 50,
                                .is_full = cmd_has(cmd, &options[FULL])};
    if (cmd->operand_count > 0 || cmd_has(cmd, &options[FORCE]))
        return cmd_usage(cmd, "--mpi and --records take no metric and no --force");
    if (records != NULL && cmd_has(cmd, &options[MPI]))
        return cmd_usage(cmd, "--records measures nothing: without --mpi");
    if (records != NULL)
        return cmd_probe_records(cmd, records);
    if (!cmd_has(cmd, &options[MPI]))
        return cmd_usage(cmd, "--ranks, --launcher and --timeout are for --mpi");
    if (timeout != NULL && !cmd_parse_time(timeout, &mpi.limit_s))
        return cmd_usage(cmd, "--timeout takes a time such as 90s or 5m, not %.40s", timeout);
    if (ranks != NULL && !lib_parse_count(ranks, 2, 4096, &mpi.ranks))
        return cmd_usage(cmd, "--ranks takes a number from 2 to 4096, not %.40s", ranks);
    return cmd_probe_mpi(cmd, &mpi);
}

static int run(struct cmd *cmd)
{
    for (int option = MPI; option <= RECORDS; option++)
        if (cmd_has(cmd, &options[option]))
            return run_mpi(cmd);
    if (cmd_has(cmd, &options[EXPLAIN]))
        return run_explain(cmd);
    json_t *request =
        json_pack("{s:s}", "profile", cmd_has(cmd, &options[FULL]) ? "full" : "quick");
    if (request != NULL && cmd_has(cmd, &options[FORCE]))
        json_object_set_new(request, "force", json_true());
    int status = request == NULL ? cmd_fail_memory() : CMD_DONE;
    if (status == CMD_DONE && cmd->operand_count > 0)
        status = cmd_set_operands(cmd, request, "metrics");
    if (status == CMD_DONE)
        status = cmd_connect(cmd);
    if (status == CMD_DONE) {
        struct probe probe = {.json = cmd_wants_json(cmd), .printed_at = -1};
        ui_init(&probe.ui, STDERR_FILENO);
        probe.bar = probe.ui.can_redraw;
        struct cmd_stream stream = {.method = "io.berth.Health.Probe",
                                    .parameters = request,
                                    .timeout_ms = -1,
                                    .catch_interrupt = true,
                                    .on_reply = on_reply,
                                    .arg = &probe};
        enum cmd_end end = cmd_stream_run(cmd, &stream);
        status = finish(cmd, &stream, &probe, end);
        json_decref(probe.last);
        ui_done(&probe.ui);
    }
    json_decref(request);
    return status;
}

const struct cmd_command cmd_probe = {
    .name = "probe",
    .operands = "[METRIC...]",
    .about = "measure again, with progress",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = SIZE_MAX,
    .run = run,
    .notes = {"For administrators. It runs on when this command is interrupted. At the end stands "
              "how many values were measured, and what was "
              "left out and why; exit status 75 when not a single one was measured. A node that is "
              "not live is not measured.",
              "--explain is for all who may open the gpus. It claims them for profiling, runs the "
              "probe's kernels under NVIDIA's CUPTI, and says for which stall reasons their warps "
              "wait. Without the library or the right it says so, with exit status 75."},
};
