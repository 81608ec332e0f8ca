/* berth probe --explain: claims the gpus for profiling, and runs the gpu probe under PC sampling as
 * this user. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

#define PROGRAM    "berth-probe-gpu"
#define TTL_S      600
#define NAMES_MOST 8192

static const json_t *find_place(const json_t *node, const char *name)
{
    const json_t *place;
    size_t i;
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        if (strcmp(ui_member(place, "name"), name) == 0)
            return place;
    }
    return NULL;
}

static bool is_gpu(const json_t *place) { return strcmp(ui_member(place, "kind"), "gpu") == 0; }

/* Name of a place for the probe: a gpu's PCI address, or its UUID where it has no address of its
 * own; numa0. */
static const char *probe_name(const json_t *place)
{
    const char *pci = ui_member(place, "pci");
    return !is_gpu(place) ? ui_member(place, "name")
           : *pci != '\0' ? pci
                          : ui_member(place, "uuid");
}

static int check_ends(struct cmd *cmd, const json_t *node, const json_t *ends[2])
{
    const char *origin = ui_member(json_object_get(node, "basis"), "origin");
    for (int i = 0; i < 2; i++) {
        ends[i] = find_place(node, cmd->operand[i]);
        if (ends[i] == NULL)
            return cmd_fail(CMD_DATA, "no place %.40s (berth topo lists them)", cmd->operand[i]);
        if (!is_gpu(ends[i]) && strcmp(ui_member(ends[i], "kind"), "numa") != 0)
            return cmd_fail(CMD_DATA, "%.40s is neither a gpu nor a NUMA node", cmd->operand[i]);
    }
    if (!is_gpu(ends[0]) && !is_gpu(ends[1]))
        return cmd_fail(CMD_DATA, "%.40s and %.40s: one of them must be a gpu", cmd->operand[0],
                        cmd->operand[1]);
    if (strcmp(origin, "live") != 0 && strcmp(origin, "standin") != 0)
        return cmd_fail(CMD_DATA, "the node is %s: only a live one is measured", origin);
    return CMD_DONE;
}

/* Claims the gpus, so that nothing is measured on them and nobody else profiles them. */
static int claim_gpus(struct cmd *cmd, const json_t *ends[2], json_t **ret_claim)
{
    json_t *places = json_array();
    for (int i = 0; i < 2; i++)
        if (is_gpu(ends[i]) && (i == 0 || ends[0] != ends[1]))
            json_array_append(places, json_object_get(ends[i], "name"));
    return cmd_ask(cmd, "io.berth.Placement.Claim",
                   json_pack("{s:o,s:s,s:s,s:i,s:i}", "places", places, "purpose", "profiling",
                             "configuration", "berth probe --explain", "owner_pid", (int)getpid(),
                             "ttl_s", TTL_S),
                   ret_claim);
}

/* The probe beside this program, else the installed one. */
static void find_program(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - sizeof "/" PROGRAM);
    if (length > 0) {
        path[length] = '\0';
        strcpy(strrchr(path, '/') + 1, PROGRAM);
        if (access(path, X_OK) == 0)
            return;
    }
    snprintf(path, PATH_MAX, "%s/%s", BERTH_LIBEXECDIR, PROGRAM);
}

/* Lists the gpus that the probe leaves alone, between commas. */
static void list_others(const json_t *node, const json_t *ends[2], char names[NAMES_MOST])
{
    const json_t *place;
    size_t i, used = 0;
    names[0] = '\0';
    json_array_foreach(json_object_get(node, "places"), i, place)
    {
        const char *name =
            is_gpu(place) && place != ends[0] && place != ends[1] ? probe_name(place) : "";
        if (*name != '\0' && used + strlen(name) + 2 < NAMES_MOST)
            used += (size_t)snprintf(names + used, NAMES_MOST - used, "%s%s", used > 0 ? "," : "",
                                     name);
    }
}

/* Starts the probe. Its records come from *ret_records, its errors go into the file. */
static int start_probe(const json_t *node, const json_t *ends[2], int errors, pid_t *ret_pid,
                       FILE **ret_records)
{
    char path[PATH_MAX], pair[256], others[NAMES_MOST];
    int ends_of_pipe[2];
    posix_spawn_file_actions_t actions;
    find_program(path);
    list_others(node, ends, others);
    snprintf(pair, sizeof pair, "%.120s,%.120s", probe_name(ends[0]), probe_name(ends[1]));
    char program[] = PROGRAM, child[] = "--child", explain[] = "--explain", without[] = "--without";
    char *words[] = {program, child, explain, pair, NULL, others, NULL};
    if (others[0] != '\0')
        words[4] = without;
    if (pipe(ends_of_pipe) != 0)
        return cmd_fail(CMD_SYSTEM, "cannot run the probe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends_of_pipe[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends_of_pipe[0]);
    posix_spawn_file_actions_addclose(&actions, ends_of_pipe[1]);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    int failed = posix_spawn(ret_pid, path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends_of_pipe[1]);
    FILE *records = failed == 0 ? fdopen(ends_of_pipe[0], "r") : NULL;
    if (records != NULL) {
        *ret_records = records;
        return CMD_DONE;
    }
    close(ends_of_pipe[0]);
    if (failed == 0)
        kill(*ret_pid, SIGKILL);
    return cmd_fail(CMD_SYSTEM, "cannot run %s: %s", path, strerror(failed != 0 ? failed : ENOMEM));
}

/* Reads the records; with --json prints each as it comes. */
static int read_records(const struct cmd *cmd, FILE *file, json_t *records)
{
    char *line = NULL;
    size_t size = 0;
    int status = CMD_DONE;
    while (status == CMD_DONE && getline(&line, &size, file) > 0) {
        json_t *record = json_loads(line, 0, NULL);
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(ui_member(record, "record"), "explain") == 0) {
            json_array_append(records, record);
            status = cmd_wants_json(cmd) ? cmd_print_json(line) : CMD_DONE;
        }
        json_decref(record);
    }
    free(line);
    return status;
}

/* Fails with the probe's own line on standard error. */
static int fail_probe(int errors, int ended)
{
    char line[512] = "";
    ssize_t length = pread(errors, line, sizeof line - 1, 0);
    line[length > 0 ? (size_t)length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (line[0] != '\0')
        return cmd_fail(CMD_AGAIN, "%s", line);
    return cmd_fail(CMD_AGAIN, PROGRAM " ended with status %d",
                    WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended));
}

static int run_probe(struct cmd *cmd, const json_t *node, const json_t *ends[2], json_t *records)
{
    int errors = memfd_create("berth-probe", MFD_CLOEXEC), ended = 0;
    pid_t pid = 0;
    FILE *file = NULL;
    if (errors < 0)
        return cmd_fail(CMD_SYSTEM, "cannot run the probe: %s", strerror(errno));
    int status = start_probe(node, ends, errors, &pid, &file);
    if (status == CMD_DONE) {
        status = read_records(cmd, file, records);
        fclose(file);
        waitpid(pid, &ended, 0);
        if (status == CMD_DONE && ended != 0)
            status = fail_probe(errors, ended);
    }
    close(errors);
    return status;
}

/* Fails when no kernel was sampled, with the reason of the first. */
static int check_sampled(const json_t *records)
{
    const json_t *record;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)records, i, record)
    {
        if (json_is_object(json_object_get(record, "stalls")))
            return CMD_DONE;
    }
    const char *why = ui_member(json_array_get(records, 0), "why");
    return cmd_fail(CMD_AGAIN, "no stall reasons: %s", *why != '\0' ? why : "no kernel ran");
}

static int show(struct cmd *cmd, const json_t *records)
{
    struct ui ui;
    if (cmd_wants_json(cmd))
        return CMD_DONE;
    ui_init(&ui, STDOUT_FILENO);
    ui_explain(&ui, records, cmd->operand[0], cmd->operand[1]);
    return cmd_print(&ui);
}

int cmd_explain(struct cmd *cmd)
{
    const json_t *ends[2] = {NULL, NULL};
    json_t *node = NULL, *claim = NULL, *records = json_array();
    int status = records == NULL ? cmd_fail_memory()
                                 : cmd_ask(cmd, "io.berth.Fabric.GetNode", json_object(), &node);
    if (status == CMD_DONE)
        status = check_ends(cmd, node, ends);
    if (status == CMD_DONE)
        status = claim_gpus(cmd, ends, &claim);
    if (status == CMD_DONE) {
        const char *name = ui_member(json_object_get(claim, "claim"), "claim");
        status = run_probe(cmd, node, ends, records);
        json_decref(
            cmd_try(cmd->berth, "io.berth.Placement.Release", json_pack("{s:s}", "claim", name)));
    }
    if (status == CMD_DONE)
        status = show(cmd, records);
    if (status == CMD_DONE)
        status = check_sampled(records);
    json_decref(claim);
    json_decref(node);
    json_decref(records);
    return status;
}
