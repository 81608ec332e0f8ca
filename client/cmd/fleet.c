/* berth fleet: the records of many nodes compared, without a daemon. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "fleet/fleet.h"
#include "ui/answer.h"

#define WARNINGS 10

enum { OUTPUT, BASELINE, LEAST, LINES, WHY, OPTIONS };

static const struct cmd_option options[] = {
    [OUTPUT] = {.letter = 'o',
                .name = "output",
                .value = "FILE",
                .help = "write a page with pictures, too; - is standard output instead of text"},
    [BASELINE] = {.name = "baseline",
                  .value = "FOLDER",
                  .help =
                      "write FINGERPRINT.baseline of each hardware there, for the key baseline"},
    [LEAST] = {.name = "least",
               .value = "PERCENT",
               .help = "least loss of speed that counts; 2 by default"},
    [LINES] = {.name = "lines", .help = "print each value as a JSON line and compare nothing"},
    [WHY] = CMD_WHY,
};

/* Parses --least into a share. */
static int parse_least(struct cmd *cmd, double *least)
{
    const char *text = cmd_value(cmd, &options[LEAST]);
    char *end;
    if (text == NULL)
        return CMD_DONE;
    double percent = strtod(text, &end);
    if (end == text || *end != '\0' || !(percent >= 0.1 && percent <= 99))
        return cmd_usage(cmd, "--least is a number from 0.1 to 99, not %.40s", text);
    *least = percent / 100;
    return CMD_DONE;
}

static void warn(const json_t *answer)
{
    const json_t *one, *left_out = json_object_get(answer, "left_out");
    json_int_t count = json_integer_value(json_object_get(answer, "left_out_count"));
    size_t i;
    json_array_foreach(left_out, i, one) if (i < WARNINGS)
        cmd_warn("%s: %s", ui_member(one, "file"), ui_member(one, "why"));
    if (count > WARNINGS)
        cmd_warn("%lld other files are left out, wholly or in part; --json names 100",
                 (long long)count - WARNINGS);
}

/* Writes the baseline of each class, and says how many. */
static int write_baselines(const struct fleet *fleet, const json_t *answer, const char *folder,
                           struct ui *said)
{
    size_t classes = json_array_size(json_object_get(answer, "classes")), written = 0;
    int status = CMD_DONE;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return cmd_fail(CMD_IO, "cannot make %s: %s", folder, strerror(errno));
    for (size_t i = 0; i < classes && status == CMD_DONE; i++) {
        struct ui text = {0};
        char *path = NULL;
        const char *fingerprint = fleet_baseline(fleet, i, &text);
        if (fingerprint != NULL) {
            if (text.failed || asprintf(&path, "%s/%s.baseline", folder, fingerprint) < 0) {
                path = NULL;
                status = cmd_fail_memory();
            } else {
                status = cmd_file_replace(path, text.text, text.length);
            }
            written++;
        }
        free(path);
        ui_done(&text);
    }
    ui_put(said, "\n%zu baseline%s in ", written, written == 1 ? "" : "s");
    ui_text(said, folder);
    ui_put(said, written > 0 ? "; a daemon whose key baseline names a copy judges by them\n"
                             : ": no hardware with a fingerprint has at least 5 nodes\n");
    return status;
}

/* Writes the page. ret_is_done: it was the output. */
static int write_page(const json_t *answer, const char *path, bool *ret_is_done)
{
    struct ui page = {.utf8 = true};
    fleet_page(&page, answer);
    *ret_is_done = strcmp(path, "-") == 0;
    if (*ret_is_done)
        return cmd_print(&page);
    int status = page.failed ? cmd_fail_memory() : cmd_file_replace(path, page.text, page.length);
    ui_done(&page);
    return status;
}

static int show(struct cmd *cmd, const struct fleet *fleet, const json_t *answer)
{
    struct ui said = {0}, ui;
    int status = CMD_DONE;
    bool is_done = false;
    if (cmd_has(cmd, &options[OUTPUT]))
        status = write_page(answer, cmd_value(cmd, &options[OUTPUT]), &is_done);
    if (status == CMD_DONE && cmd_has(cmd, &options[BASELINE]))
        status = write_baselines(fleet, answer, cmd_value(cmd, &options[BASELINE]), &said);
    if (status == CMD_DONE && !is_done && cmd_wants_json(cmd)) {
        char *text = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(7));
        status = text != NULL ? cmd_print_json(text) : cmd_fail_memory();
        free(text);
    } else if (status == CMD_DONE && !is_done) {
        ui_init(&ui, STDOUT_FILENO);
        ui.why = cmd_has(cmd, &options[WHY]);
        fleet_text(&ui, answer);
        ui_put(&ui, "%s", said.text != NULL ? said.text : "");
        status = cmd_print(&ui);
    }
    ui_done(&said);
    return status;
}

static int run(struct cmd *cmd)
{
    struct fleet_settings settings = {.rate = 0.01,
                                      .least = 0.02,
                                      .lines = cmd_has(cmd, &options[LINES]) ? stdout : NULL,
                                      .with_files = cmd_has(cmd, &options[BASELINE])};
    int status = parse_least(cmd, &settings.least);
    if (status != CMD_DONE)
        return status;
    if (cmd->operand_count == 0)
        return cmd_usage(cmd, "which nodes? name a folder with what berth record wrote of each");
    if (settings.lines != NULL && (settings.with_files || cmd_has(cmd, &options[OUTPUT])))
        return cmd_usage(cmd, "--lines compares nothing, so there is no --baseline and no -o");
    struct fleet *fleet = fleet_new(&settings);
    bool ok = fleet != NULL && fleet_read(fleet, cmd->operand, cmd->operand_count) &&
              (settings.lines != NULL || fleet_compare(fleet));
    json_t *answer =
        ok ? fleet_json(fleet, cmd_wants_json(cmd) || cmd_has(cmd, &options[OUTPUT])) : NULL;
    if (answer == NULL) {
        fleet_free(fleet);
        return cmd_fail_memory();
    }
    if (json_integer_value(json_object_get(answer, "nodes")) == 0)
        status = cmd_fail(CMD_DATA, "no node was read");
    else if (settings.lines == NULL)
        status = show(cmd, fleet, answer);
    else if (fflush(stdout) != 0 || ferror(stdout))
        status = cmd_fail(CMD_IO, "cannot write the lines: %s", strerror(errno));
    warn(answer);
    json_decref(answer);
    fleet_free(fleet);
    return status;
}

const struct cmd_command cmd_fleet = {
    .name = "fleet",
    .operands = "PATH...",
    .about = "compare many recorded nodes: which are slow, and what they share",
    .options = options,
    .option_count = OPTIONS,
    .most_operands = SIZE_MAX,
    .run = run,
    .notes = {"Each node is a folder of berth record, one in a .tar, or a .baseline file; a folder "
              "of them is all of them. No daemon is asked."},
};
