/* berth claim, release and claims. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/stream.h"
#include "ui/answer.h"

#define WAIT_MOST_S 86400 /* CLAIM_WAIT_S of schema/limits.def */

enum { TTL, KEY, OWNER, PROFILING, CONFIGURATION, WAIT, QUIET, OPTIONS };

static const struct cmd_option options[] = {
    [TTL] = {.letter = 't',
             .name = "ttl",
             .value = "TIME",
             .help = "how long it lasts: seconds, or 90m, 12h, 2d; needed"},
    [KEY] = {.name = "key",
             .value = "KEY",
             .help =
                 "your name for it, such as a job's number: claimed again under it, it is renewed"},
    [OWNER] = {.name = "owner",
               .value = "PID|CGROUP",
               .help =
                   "what it ends with beside its time: a process, or a path below /sys/fs/cgroup"},
    [PROFILING] = {.name = "profiling",
                   .help = "claim gpus for profiling instead of places to compute on"},
    [CONFIGURATION] = {.name = "configuration",
                       .value = "TEXT",
                       .help = "how they are profiled: gpus of AMD are shared under the same one"},
    [WAIT] = {.name = "wait",
              .value = "[=TIME]",
              .help = "wait until all their profiling is free, a day at most; first come, first "
                      "served"},
    [QUIET] = {.letter = 'q', .name = "quiet", .help = "print the claim's number alone"},
};

static int set_ttl(struct cmd *cmd, json_t *request)
{
    const char *text = cmd_value(cmd, &options[TTL]);
    int64_t ttl_s;
    if (text == NULL)
        return cmd_usage(cmd, "for how long? --ttl TIME");
    if (!cmd_parse_time(text, &ttl_s))
        return cmd_usage(cmd, "--ttl takes a time such as 600, 90m, 12h or 2d, not %.40s", text);
    return json_object_set_new(request, "ttl_s", json_integer(ttl_s)) == 0 ? CMD_DONE
                                                                           : cmd_fail_memory();
}

static int set_owner(struct cmd *cmd, json_t *request)
{
    const char *text = cmd_value(cmd, &options[OWNER]);
    long pid;
    if (text == NULL || *text == '/')
        return cmd_set_text(cmd, request, "owner_cgroup", &options[OWNER]);
    if (!lib_parse_count(text, 1, INT32_MAX, &pid))
        return cmd_usage(
            cmd, "--owner takes a process number or a path below /sys/fs/cgroup, not %.40s", text);
    return json_object_set_new(request, "owner_pid", json_integer(pid)) == 0 ? CMD_DONE
                                                                             : cmd_fail_memory();
}

static int set_wait(struct cmd *cmd, json_t *request)
{
    const char *text = cmd_value(cmd, &options[WAIT]);
    int64_t wait_s = WAIT_MOST_S;
    if (!cmd_has(cmd, &options[WAIT]))
        return CMD_DONE;
    if (!cmd_has(cmd, &options[PROFILING]))
        return cmd_usage(cmd, "--wait is for gpus to be profiled, and comes with --profiling");
    if (text != NULL && !cmd_parse_time(text, &wait_s))
        return cmd_usage(cmd, "--wait takes a time such as 600, 90m or 12h, not %.40s", text);
    return json_object_set_new(request, "wait_s", json_integer(wait_s)) == 0 ? CMD_DONE
                                                                             : cmd_fail_memory();
}

static int make_request(struct cmd *cmd, json_t *request)
{
    if (cmd_has(cmd, &cmd_globals[CMD_NODE]))
        return cmd_usage(cmd, "a claim would end with this command: --node asks a daemon of its "
                              "own, which ends then");
    if (cmd->operand_count == 0)
        return cmd_usage(cmd, "which places? berth topo lists them");
    if (cmd_has(cmd, &options[CONFIGURATION]) && !cmd_has(cmd, &options[PROFILING]))
        return cmd_usage(cmd,
                         "--configuration says how gpus are profiled, and comes with --profiling");
    if (json_object_set_new(
            request, "purpose",
            json_string(cmd_has(cmd, &options[PROFILING]) ? "profiling" : "compute")) != 0)
        return cmd_fail_memory();
    int status = cmd_set_operands(cmd, request, "places");
    if (status == CMD_DONE)
        status = set_ttl(cmd, request);
    if (status == CMD_DONE)
        status = set_owner(cmd, request);
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "key", &options[KEY]);
    if (status == CMD_DONE)
        status = cmd_set_text(cmd, request, "configuration", &options[CONFIGURATION]);
    if (status == CMD_DONE)
        status = set_wait(cmd, request);
    return status;
}

/* Prints the claim in the way on standard error; stops at the claim itself. */
static bool on_reply(struct cmd_stream *stream, const json_t *reply, const char *text)
{
    struct cmd *cmd = stream->arg;
    const json_t *by = json_object_get(reply, "waits_for");
    struct ui ui;
    if (!json_is_object(by)) {
        free(cmd->reply);
        cmd->reply = strdup(text);
        stream->status = cmd->reply == NULL ? cmd_fail_memory() : CMD_DONE;
        return true;
    }
    if (cmd_wants_json(cmd)) {
        stream->status = cmd_print_json(text);
        return stream->status != CMD_DONE;
    }
    ui_init(&ui, STDERR_FILENO);
    ui_put(&ui, "berth: ");
    ui_claim_waits(&ui, by);
    if (ui.text != NULL)
        fwrite(ui.text, 1, ui.length, stderr);
    ui_done(&ui);
    return false;
}

/* Asks with more, so that the daemon says which claim is in the way. */
static int ask_waiting(struct cmd *cmd, json_t **ret_reply)
{
    json_t *request = json_object();
    int status = request == NULL ? cmd_fail_memory() : make_request(cmd, request);
    if (status == CMD_DONE)
        status = cmd_connect(cmd);
    if (status == CMD_DONE) {
        struct cmd_stream stream = {.method = "io.berth.Placement.Claim",
                                    .parameters = request,
                                    .timeout_ms = -1,
                                    .on_reply = on_reply,
                                    .arg = cmd};
        enum cmd_end end = cmd_stream_run(cmd, &stream);
        status = end == CMD_END_LOST ? cmd_fail_daemon(cmd, stream.lost) : stream.status;
    }
    json_decref(request);
    if (status != CMD_DONE)
        return status;
    *ret_reply = json_loads(cmd->reply, 0, NULL);
    return *ret_reply != NULL ? CMD_DONE : cmd_fail_memory();
}

static void put_number(struct ui *ui, const json_t *reply)
{
    ui_text(ui, ui_member(json_object_get(reply, "claim"), "claim"));
    ui_put(ui, "\n");
}

static int run_claim(struct cmd *cmd)
{
    json_t *reply = NULL;
    int status = cmd_has(cmd, &options[WAIT])
                     ? ask_waiting(cmd, &reply)
                     : cmd_ask_filled(cmd, "io.berth.Placement.Claim", make_request, &reply);
    if (status != CMD_DONE)
        return status;
    if (json_is_false(json_object_get(reply, "stored")))
        cmd_warn("the claim is in force but not stored: it would not outlive the daemon (berth "
                 "status says how the store is)");
    status = cmd_show(cmd, reply, cmd_has(cmd, &options[QUIET]) ? put_number : ui_claim);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_claim = {
    .name = "claim",
    .operands = "PLACE...",
    .about = "reserve places: no benchmarks and no other jobs there",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = SIZE_MAX,
    .run = run_claim,
    .notes =
        {"A place covers what is inside it: numa0 its cores and gpus, machine0 the node. Without "
         "--owner the claim outlives this command: a hook may claim and exit. One of an ordinary "
         "user then lasts an hour at most (claim_ttl_user_max_s); --owner $$ is this shell.",
         "Exit status 75 somebody else's claim or job is in the way, 77 the places are not yours "
         "to claim. --wait says who is in the way; ctrl-C ends waiting."},
};

enum { RELEASE_KEY, RELEASE_OPTIONS };

static const struct cmd_option release_options[] = {
    [RELEASE_KEY] = {.name = "key",
                     .value = "KEY",
                     .help = "the one that you claimed under this key"},
};

static int make_release(struct cmd *cmd, json_t *request)
{
    bool by_key = cmd_has(cmd, &release_options[RELEASE_KEY]);
    if (by_key && cmd->operand_count > 0)
        return cmd_usage(cmd, "%.40s and --key exclude each other: either says which claim",
                         cmd->operand[0]);
    if (!by_key && cmd->operand_count == 0)
        return cmd_usage(cmd, "which claim? CLAIM (berth claims lists them), or --key KEY");
    if (by_key)
        return cmd_set_text(cmd, request, "key", &release_options[RELEASE_KEY]);
    return json_object_set_new(request, "claim", json_string(cmd->operand[0])) == 0
               ? CMD_DONE
               : cmd_fail_memory();
}

static int run_release(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Placement.Release", make_release, ui_released);
}

const struct cmd_command cmd_release = {
    .name = "release",
    .operands = "CLAIM | --key KEY",
    .about = "end a claim",
    .options = release_options,
    .option_count = RELEASE_OPTIONS,
    .most_operands = 1,
    .run = run_release,
    .notes = {"By its key the exit status is 0 also where the claim has ended already."},
};

static int run_claims(struct cmd *cmd)
{
    return cmd_answer(cmd, "io.berth.Placement.ListClaims", NULL, ui_claims);
}

const struct cmd_command cmd_claims = {
    .name = "claims",
    .operands = "",
    .about = "the claims in force: who has which places, and until when",
    .run = run_claims,
};
