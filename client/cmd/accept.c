/* berth accept: makes the present values the baseline. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ui/answer.h"

static void draw(struct ui *ui, const json_t *reply)
{
    long long accepted = (long long)json_integer_value(json_object_get(reply, "accepted"));
    long long in_line = (long long)json_integer_value(json_object_get(reply, "in_line"));
    const char *file = ui_member(reply, "file");
    long long left_out = (long long)json_integer_value(json_object_get(reply, "left_out"));
    if (accepted == 0 && left_out == 0)
        ui_put(ui, "nothing is measured there: nothing was accepted\n");
    else if (accepted == 0)
        ui_put(ui, "nothing was accepted\n");
    else if (accepted > in_line)
        ui_put(ui, "accepted: %lld measured value%s expected from now on\n", accepted - in_line,
               accepted - in_line == 1 ? " is" : "s are");
    if (in_line > 0)
        ui_put(ui, "unchanged: %lld measured value%s in line with the baseline, which stands\n",
               in_line, in_line == 1 ? " is" : "s are");
    if (left_out > 0)
        ui_line(ui, 2,
                "unchanged: %lld measured value%s the baseline that %s, if any: %s; berth probe "
                "measures again",
                left_out, left_out == 1 ? " keeps" : "s keep",
                left_out == 1 ? "it has" : "they have", ui_member(reply, "why_left_out"));
    if (*file != '\0') {
        ui_put(ui, "written to ");
        ui_text(ui, file);
        ui_put(ui, "\n");
    }
}

/* Prints what accepting has not cleared: what is stated stays, as do peers and drivers. */
static int show_rest(struct cmd *cmd)
{
    json_t *check = cmd_try(cmd->berth, "io.berth.Health.Check", json_object());
    struct ui ui, line;
    ui_init(&ui, STDOUT_FILENO);
    line = (struct ui){.utf8 = ui.utf8};
    if (strcmp(ui_member(check, "verdict"), "degraded") == 0 ||
        strcmp(ui_member(check, "verdict"), "unhealthy") == 0) {
        ui_put(&line, "berth health still says: ");
        ui_text(&line, ui_member(check, "reason"));
        ui_paragraph(&ui, 2, line.text == NULL ? "" : line.text);
    }
    ui.failed = ui.failed || line.failed;
    ui_done(&line);
    json_decref(check);
    return cmd_print(&ui);
}

static int set_parameters(struct cmd *cmd, json_t *parameters)
{
    return cmd->operand_count > 0 ? cmd_set_operands(cmd, parameters, "places") : CMD_DONE;
}

static int run(struct cmd *cmd)
{
    json_t *reply;
    int status = cmd_ask_filled(cmd, "io.berth.Health.AcceptBaseline", set_parameters, &reply);
    if (status != CMD_DONE)
        return status;
    status = cmd_show(cmd, reply, draw);
    if (status == CMD_DONE && !cmd_wants_json(cmd))
        status = show_rest(cmd);
    char why[512];
    ui_clean(why, sizeof why, ui_member(reply, "not_written"));
    if (status == CMD_DONE && why[0] != '\0')
        status = cmd_fail(CMD_IO, "accepted, but not exported: %s", why);
    json_decref(reply);
    return status;
}

const struct cmd_command cmd_accept = {
    .name = "accept",
    .operands = "[PLACE...]",
    .about = "take the values measured now as the new baseline",
    .most_operands = SIZE_MAX,
    .run = run,
    .notes = {"Findings by comparison with the old baseline clear. A baseline of five values or "
              "more that the latest one is in line with stands as it is. Without places the "
              "hardware is accepted as it is, too. For administrators; exit status "
              "74 when a folder for baselines is configured and cannot be written."},
};
