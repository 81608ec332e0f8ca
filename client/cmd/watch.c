/* berth watch: what changed with each new snapshot, from which to which value. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/stream.h"
#include "ui/answer.h"

#define SHOWN_MOST   5 /* changed values of a metric, the largest change first */
#define CHANGES_MOST 65536
#define TEXT_BYTES   1024
#define LEAST_CHANGE 0.001 /* relative; a smaller one is not visible in its numbers */

struct watch {
    struct cmd *cmd;
    struct berth *values; /* a connection of its own, as the stream keeps the first; NULL none */
    json_t *known;        /* by metric: cells by "from to axes" */
    json_t *claims;       /* by name; NULL unknown */
    json_t *health;       /* verdict, with code and place of each finding; NULL unknown */
    bool is_json, has_begun;
};

struct change {
    const char *cell;
    const json_t *before, *now;
    double size; /* of the logarithm of the ratio */
};

/* "gpu0 to gpu1 with direction=both". */
static void name_cell(struct ui *name, const char *metric, const json_t *cell)
{
    ui_text(name, ui_member(cell, "from"));
    ui_put(name, " to ");
    ui_text(name, ui_member(cell, "to"));
    ui_axes_put(name, metric, json_object_get(cell, "axes"));
}

/* The measured cells of a metric by name, with its unit; NULL where it cannot be had. */
static json_t *load(struct watch *watch, const char *metric)
{
    json_t *reply = cmd_try(watch->values, "io.berth.Fabric.GetMatrix",
                            json_pack("{s:s}", "metric", metric)),
           *cells = json_object(), *cell;
    size_t i;
    if (reply == NULL) {
        json_decref(cells);
        return NULL;
    }
    json_object_set_new(cells, "", json_string(ui_member(reply, "unit")));
    json_array_foreach(json_object_get(reply, "cells"), i, cell)
    {
        struct ui name = {.utf8 = true};
        name_cell(&name, metric, cell);
        if (json_is_number(json_object_get(cell, "value")) && name.text != NULL)
            json_object_set(cells, name.text, json_object_get(cell, "value"));
        ui_done(&name);
    }
    json_decref(reply);
    return cells;
}

static void load_all(struct watch *watch)
{
    json_t *reply = cmd_try(watch->values, "io.berth.Fabric.ListMetrics", json_object());
    const json_t *metric;
    size_t i;
    json_array_foreach(json_object_get(reply, "metrics"), i, metric)
    {
        const char *name = ui_member(metric, "name");
        if (json_integer_value(json_object_get(metric, "cells")) > 0)
            json_object_set_new(watch->known, name, load(watch, name));
    }
    json_decref(reply);
}

static int by_size(const void *a, const void *b)
{
    double one = ((const struct change *)a)->size, other = ((const struct change *)b)->size;
    return (one < other) - (one > other);
}

/* Cells that both have and that differ visibly; new ones are counted. */
static size_t compare(const json_t *before, json_t *now, struct change *change, size_t *ret_new)
{
    const char *cell;
    json_t *value;
    size_t count = 0;
    *ret_new = 0;
    json_object_foreach(now, cell, value)
    {
        const json_t *old = json_object_get(before, cell);
        double one = json_number_value(old), other = json_number_value(value);
        *ret_new += old == NULL;
        if (*cell == '\0' || old == NULL || one == other || count == CHANGES_MOST)
            continue;
        double size = one > 0 && other > 0 ? fabs(log(other / one)) : INFINITY;
        if (size >= LEAST_CHANGE)
            change[count++] = (struct change){cell, old, value, size};
    }
    qsort(change, count, sizeof *change, by_size);
    return count;
}

/* Prints an event: lines of a terminal's width; one line to a file, for grep. */
static void put_event(struct ui *ui, const char *when, const char *text)
{
    bool is_terminal = isatty(STDOUT_FILENO);
    ui->width = is_terminal ? ui->width : INT_MAX;
    ui_line(ui, 4, "%s %s", when, text);
}

/* ---- claims ---- */

/* The claims by name; NULL where they cannot be had. */
static json_t *load_claims(struct watch *watch)
{
    json_t *reply = cmd_try(watch->values, "io.berth.Placement.ListClaims", json_object()),
           *claims = reply != NULL ? json_object() : NULL, *claim;
    size_t i;
    json_array_foreach(json_object_get(reply, "claims"), i, claim)
    {
        json_object_set(claims, ui_member(claim, "claim"), claim);
    }
    json_decref(reply);
    return claims;
}

static void put_claim(struct ui *ui, const char *when, const char *name, const json_t *claim,
                      const char *event)
{
    struct ui line = {.utf8 = ui->utf8};
    char until[UI_NUMBER];
    ui_put(&line, "claim ");
    ui_text(&line, name);
    ui_put(&line, " %s", event);
    ui_put(&line, ": ");
    ui_claim_holding(&line, claim);
    if (strcmp(event, "ended") != 0)
        ui_put(&line, " until %s",
               ui_when(until, json_integer_value(json_object_get(claim, "expires_at_s"))));
    put_event(ui, when, line.text != NULL ? line.text : "");
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* Prints which claims came, changed or ended, and keeps the list. */
static void put_claims(struct watch *watch, struct ui *ui, const char *when)
{
    json_t *now = load_claims(watch), *claim;
    const char *name;
    size_t length = ui->length;
    json_object_foreach(now, name, claim)
    {
        const json_t *before = json_object_get(watch->claims, name);
        if (before == NULL)
            put_claim(ui, when, name, claim, "began");
        else if (!json_equal(before, claim))
            put_claim(ui, when, name, claim, "changed");
    }
    json_object_foreach(watch->claims, name, claim)
    {
        if (now != NULL && json_object_get(now, name) == NULL)
            put_claim(ui, when, name, claim, "ended");
    }
    if (ui->length == length)
        put_event(ui, when, "claims changed (berth claims)");
    if (now != NULL) {
        json_decref(watch->claims);
        watch->claims = now;
    }
}

/* ---- values ---- */

/* ---- health ---- */

static void add_findings(json_t *health, const json_t *findings)
{
    const json_t *finding;
    size_t i;
    json_array_foreach(findings, i, finding)
    {
        json_array_append_new(
            health, json_pack("[s,s]", ui_member(finding, "code"), ui_member(finding, "place")));
    }
}

/* Looks at the findings, and prints the reason where there are others than before. */
static void put_health(struct watch *watch, struct ui *ui, const char *when)
{
    json_t *reply = cmd_try(watch->values, "io.berth.Health.Check", json_object()),
           *now = reply != NULL ? json_pack("[s]", ui_member(reply, "verdict")) : NULL;
    char text[TEXT_BYTES], reason[TEXT_BYTES - 16];
    add_findings(now, json_object_get(reply, "findings"));
    json_array_append_new(now, json_null());
    add_findings(now, json_object_get(reply, "unconfirmed"));
    if (now != NULL && watch->health != NULL && !json_equal(now, watch->health)) {
        ui_clean(reason, sizeof reason, ui_member(reply, "reason"));
        snprintf(text, sizeof text, "health: %s", reason);
        put_event(ui, when, text);
    }
    if (now != NULL) {
        json_decref(watch->health);
        watch->health = now;
    }
    json_decref(reply);
}

static const char *plural(size_t count) { return count == 1 ? "" : "s"; }

/* Prints the largest changes of a metric, and keeps its values. */
static void put_metric(struct watch *watch, struct ui *ui, const char *when, const char *metric)
{
    json_t *now = load(watch, metric);
    const json_t *before = json_object_get(watch->known, metric);
    struct change *change = now != NULL ? calloc(CHANGES_MOST, sizeof *change) : NULL;
    const char *unit = json_string_value(json_object_get(now, ""));
    char one[UI_NUMBER], other[UI_NUMBER], ratio[UI_NUMBER], text[TEXT_BYTES];
    size_t added = 0, count = change != NULL ? compare(before, now, change, &added) : 0,
           more = count > SHOWN_MOST ? count - SHOWN_MOST : 0;
    for (size_t i = 0; i < count && i < SHOWN_MOST; i++) {
        double was = json_number_value(change[i].before), is = json_number_value(change[i].now);
        ratio[0] = '\0';
        if (isfinite(change[i].size))
            snprintf(ratio, sizeof ratio, " (%+.1f %%)", 100 * (is / was - 1));
        snprintf(text, sizeof text, "%s %s: %s to %s%s", metric, change[i].cell,
                 ui_value(ui, one, was, unit), ui_value(ui, other, is, unit), ratio);
        put_event(ui, when, text);
    }
    text[0] = '\0';
    if (count > SHOWN_MOST && isinf(change[SHOWN_MOST].size))
        snprintf(text, sizeof text, "%s: %zu more value%s changed", metric, more, plural(more));
    else if (count > SHOWN_MOST)
        snprintf(text, sizeof text, "%s: %zu more value%s changed by at most %.1f %%", metric, more,
                 plural(more), 100 * expm1(change[SHOWN_MOST].size));
    else if (count == 0 && added > 0)
        snprintf(text, sizeof text, "%s: %zu new value%s", metric, added, plural(added));
    else if (count == 0)
        snprintf(text, sizeof text, "%s: measured again%s", metric,
                 now != NULL             ? ", no value changed by 0.1 % or more"
                 : watch->values == NULL ? ""
                                         : ", but the values cannot be had");
    if (text[0] != '\0')
        put_event(ui, when, text);
    free(change);
    if (now != NULL)
        json_object_set_new(watch->known, metric, now);
}

static void put_changes(struct watch *watch, struct ui *ui, const json_t *reply)
{
    const json_t *item;
    char when[UI_NUMBER], text[2 * UI_NUMBER];
    size_t i;
    ui_when(when, (int64_t)time(NULL));
    if (!watch->has_begun) {
        load_all(watch);
        watch->claims = load_claims(watch);
        put_health(watch, ui, when);
        ui_clean(text, sizeof text, ui_member(reply, "snapshot"));
        ui_line(ui, 4, "%s watching from snapshot %s%s", when, text,
                cmd_has(watch->cmd, &cmd_globals[CMD_NODE]) ? ": a recorded node does not change"
                                                            : "");
        watch->has_begun = true;
        return;
    }
    json_array_foreach(json_object_get(reply, "changed"), i, item)
    {
        const char *name = json_is_string(item) ? json_string_value(item) : "?";
        ui_clean(text, sizeof text, name);
        if (strcmp(name, "claims") == 0)
            put_claims(watch, ui, when);
        else if (strcmp(name, "node") == 0)
            put_event(ui, when, "node changed (berth topo)");
        else
            put_metric(watch, ui, when, text);
    }
    put_health(watch, ui, when);
}

static bool on_reply(struct cmd_stream *stream, const json_t *reply, const char *text)
{
    struct watch *watch = stream->arg;
    struct ui ui;
    ui_init(&ui, STDOUT_FILENO);
    if (watch->is_json)
        ui_put(&ui, "%s\n", text);
    else
        put_changes(watch, &ui, reply);
    stream->status = ui.length > 0 || ui.failed ? cmd_print(&ui) : CMD_DONE;
    return stream->status != CMD_DONE;
}

/* The private daemon of --node has one connection: its values never change either. */
static struct berth *connect_again(const struct cmd *cmd)
{
    struct berth *berth = cmd_has(cmd, &cmd_globals[CMD_NODE]) ? NULL : berth_new();
    if (berth != NULL && berth_connect(berth, cmd_value(cmd, &cmd_globals[CMD_SOCKET])) < 0) {
        berth_free(berth);
        berth = NULL;
    }
    return berth;
}

static int run(struct cmd *cmd)
{
    int status = cmd_connect(cmd);
    if (status != CMD_DONE)
        return status;
    struct watch watch = {.cmd = cmd, .is_json = cmd_wants_json(cmd), .known = json_object()};
    json_t *request = json_object();
    watch.values = watch.is_json ? NULL : connect_again(cmd);
    struct cmd_stream stream = {.method = "io.berth.Fabric.Watch",
                                .parameters = request,
                                .timeout_ms = -1,
                                .on_reply = on_reply,
                                .arg = &watch};
    enum cmd_end end = cmd_stream_run(cmd, &stream);
    json_decref(request);
    json_decref(watch.known);
    json_decref(watch.claims);
    json_decref(watch.health);
    berth_free(watch.values);
    return end == CMD_END_LOST ? cmd_fail_daemon(cmd, stream.lost) : stream.status;
}

const struct cmd_command cmd_watch = {
    .name = "watch",
    .operands = "",
    .about = "say what changes, from which to which value, until interrupted",
    .run = run,
};
