/* Text of a reply of Bind: tasks, predictions and environment. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/task/apply.h"
#include "ui/answer.h"

#define JOINED_BYTES 512
#define SAME         0.005 /* a smaller difference is not visible in two decimals */

/* "numa0,numa1"; - for none. */
static const char *join(const json_t *array, char *text)
{
    size_t used = 0, i;
    const json_t *item;
    text[0] = '\0';
    json_array_foreach(array, i, item)
    {
        if (used < JOINED_BYTES)
            used += (size_t)snprintf(text + used, JOINED_BYTES - used, "%s%s", i > 0 ? "," : "",
                                     json_is_string(item) ? json_string_value(item) : "?");
    }
    return used == 0 ? "-" : text;
}

static bool is_any(const json_t *tasks, const char *key)
{
    size_t i;
    const json_t *task;
    json_array_foreach(tasks, i, task)
    {
        if (json_array_size(json_object_get(task, key)) > 0)
            return true;
    }
    return false;
}

static void put_tasks(struct ui *ui, const json_t *tasks)
{
    bool has_gpus = is_any(tasks, "gpus"), has_nics = is_any(tasks, "nics");
    char align[8] = "r", text[JOINED_BYTES];
    strcat(align, has_gpus ? "l" : "");
    strcat(align, "ll");
    strcat(align, has_nics ? "l" : "");
    struct ui_table table;
    ui_table_begin(&table, ui, align);
    ui_cell(&table, "task");
    if (has_gpus)
        ui_cell(&table, "gpus");
    ui_cell(&table, "cpus");
    ui_cell(&table, "memory");
    if (has_nics)
        ui_cell(&table, "nics");
    size_t i;
    const json_t *task;
    json_array_foreach(tasks, i, task)
    {
        const char *policy = ui_member(task, "memory_policy");
        ui_cell(&table, "%lld", (long long)json_integer_value(json_object_get(task, "task")));
        if (has_gpus)
            ui_cell(&table, "%s", join(json_object_get(task, "gpus"), text));
        ui_cell(&table, "%s", ui_member(task, "cpus"));
        ui_cell(&table, "%s%s%s", join(json_object_get(task, "memory"), text),
                strcmp(policy, "preferred") == 0 ? "" : " ",
                strcmp(policy, "preferred") == 0 ? "" : policy);
        if (has_nics)
            ui_cell(&table, "%s", join(json_object_get(task, "nics"), text));
    }
    ui_table_end(&table, 0, true);
}

/* True when several tasks share a gpu. */
static bool shares_gpus(const json_t *reply)
{
    json_t *all = json_object();
    const json_t *task, *gpu;
    size_t i, k, count = 0;
    json_array_foreach(json_object_get(reply, "tasks"), i, task)
    {
        json_array_foreach(json_object_get(task, "gpus"), k, gpu)
        {
            count++;
            json_object_set_new(all, json_string_value(gpu), json_true());
        }
    }
    bool result = json_object_size(all) < count;
    json_decref(all);
    return result;
}

/* True for a lower bound: an interval without an upper end. */
static bool is_bound(const json_t *prediction)
{
    return json_is_number(json_object_get(prediction, "low_ns")) &&
           !json_is_number(json_object_get(prediction, "high_ns"));
}

static double time_of(const json_t *prediction)
{
    return json_number_value(json_object_get(prediction, "time_ns"));
}

static void write_bottleneck(struct ui *ui, const json_t *prediction)
{
    if (*ui_member(prediction, "bottleneck") == '\0')
        return;
    ui_put(ui, ", limited by ");
    ui_limit(ui, ui_member(prediction, "bottleneck"));
}

/* Compares with gpus in rank order. A ratio of two lower bounds has no meaning. */
static void write_comparison(struct ui *ui, const json_t *predicted, const json_t *baseline)
{
    double ours = time_of(predicted), theirs = time_of(baseline);
    if (!(theirs > 0)) {
        ui_put(ui, "; in rank order: not predicted");
    } else if (fabs(theirs / ours - 1) < SAME && is_bound(predicted) == is_bound(baseline)) {
        ui_put(ui, ", as long as in rank order");
    } else {
        if (!is_bound(predicted) && (theirs > ours || !is_bound(baseline)))
            ui_put(ui,
                   ", %s%.2f %s faster than in rank order: ", is_bound(baseline) ? "at least " : "",
                   theirs / ours, ui->utf8 ? "\u00d7" : "x");
        else
            ui_put(ui, "; in rank order: ");
        ui_prediction(ui, baseline);
        write_bottleneck(ui, baseline);
    }
}

/* Says what rank order is slowed by where no limit is named: the transfer that ends last there. */
static void write_reason(struct ui *ui, const json_t *reply)
{
    const json_t *reason;
    size_t i;
    if (ui->why || *ui_member(json_object_get(reply, "baseline"), "bottleneck") != '\0')
        return;
    json_array_foreach(json_object_get(reply, "reasons"), i, reason)
    {
        if (!ui_reason_is(reason, "in-order-last-transfer"))
            continue;
        ui_text(ui, ui_reason_text(reason));
        ui_put(ui, "\n");
        return;
    }
}

/* True when a reason that --why prints says what keeps the answer from being proven. */
static bool explains_doubt(const json_t *reply)
{
    const json_t *reason;
    size_t i;
    json_array_foreach(json_object_get(reply, "reasons"), i, reason)
    {
        const char *code = ui_member(reason, "code");
        if (strncmp(code, "unproven-", 9) == 0 || strcmp(code, "orders-weighed") == 0)
            return true;
    }
    return false;
}

static void write_proof(struct ui *ui, const json_t *reply)
{
    const json_t *gap = json_object_get(reply, "gap"),
                 *predicted = json_object_get(reply, "predicted");
    bool is_proven = json_is_true(json_object_get(reply, "proven_optimal"));
    double behind = json_is_number(gap) ? json_number_value(gap) : 0;
    if (!(time_of(predicted) > 0)) {
        ui_put(ui, is_proven ? "There is nothing to choose.\n" : "");
    } else if (is_proven) {
        ui_put(ui, "Proven%s: no other assignment%s is predicted to be better",
               is_bound(predicted) ? " of lower bounds" : "",
               shares_gpus(reply) ? " that shares gpus as evenly" : "");
        if (behind >= SAME / 10)
            ui_put(ui, " by more than %.1f %%, within the uncertainty of these numbers",
                   100 * behind);
        ui_put(ui, ".\n");
    } else if (json_is_number(gap)) {
        char least[UI_NUMBER];
        ui_put(ui, "Not proven to be the best; no assignment takes less than %s.\n",
               ui_value(ui, least, time_of(predicted) / (1 + behind), "ns"));
    } else if (!ui->why || !explains_doubt(reply)) {
        ui_put(ui, "Not proven to be the best; no bound is known.\n");
    }
}

/* Returns the reason why no time is predicted, or what else decided; NULL none. */
static const json_t *find_decisive(const json_t *reply)
{
    static const char *const codes[] = {"no-traffic", "transfers-unknown", "exchange-unknown",
                                        "streams-unknown"};
    const json_t *warning;
    size_t i;
    json_array_foreach(json_object_get(reply, "warnings"), i, warning)
    {
        for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++)
            if (ui_reason_is(warning, codes[c]))
                return warning;
    }
    return json_array_get(json_object_get(reply, "reasons"), 0);
}

/* The time, or why there is none: the first line. */
static void write_answer(struct ui *ui, const json_t *reply)
{
    const json_t *predicted = json_object_get(reply, "predicted"),
                 *baseline = json_object_get(reply, "baseline"), *decisive = find_decisive(reply);
    if (time_of(predicted) > 0) {
        ui_put(ui, "An iteration takes ");
        ui_prediction(ui, predicted);
        write_bottleneck(ui, predicted);
        write_comparison(ui, predicted, baseline);
        ui_put(ui, ".\n");
    } else if (decisive != NULL) {
        ui_text(ui, ui_reason_text(decisive));
        ui_put(ui, "\n");
    }
}

/* Behind the tasks: the number that decided, how good the answer is, and how to start them. */
static void write_quality(struct ui *ui, const json_t *reply)
{
    if (time_of(json_object_get(reply, "predicted")) > 0)
        write_reason(ui, reply);
    else if (!ui->why && ui_reason_is(find_decisive(reply), "no-traffic"))
        ui_put(ui, "for a time add --pattern, --flow or --host-bytes\n");
    write_proof(ui, reply);
    if (!ui->why)
        ui_put(ui,
               "to start: berth exec in each task, or srun with the options of --format slurm\n");
}

/* The other mechanism; the first line has rank order. */
static void write_alternatives(struct ui *ui, const json_t *reply)
{
    const json_t *reason;
    size_t i;
    json_array_foreach(json_object_get(reply, "reasons"), i, reason)
    {
        if (ui_is_alternative(reason)) {
            ui_text(ui, ui_reason_text(reason));
            ui_put(ui, "\n");
        }
    }
}

/* Prints the heading, and each line wrapped at the ui's width behind the text before it; nothing,
 * and false, when nothing is written. */
static bool put_lines(struct ui *ui, const char *heading, const char *before,
                      void (*write)(struct ui *ui, const json_t *reply), const json_t *reply)
{
    struct ui lines = {.utf8 = ui->utf8, .width = ui->width, .why = ui->why};
    write(&lines, reply);
    bool is_any = lines.length > 0;
    char *rest = NULL;
    ui_put(ui, "%s", is_any ? heading : "");
    for (char *line = lines.text != NULL ? strtok_r(lines.text, "\n", &rest) : NULL; line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        ui_put(ui, "%s", before);
        ui_paragraph(ui, 2 + (int)strlen(before), line);
    }
    ui->failed = ui->failed || lines.failed;
    ui_done(&lines);
    return is_any;
}

/* The reply without the note that is the first line; a new reference. */
static json_t *without_answer(const json_t *reply)
{
    const json_t *note,
        *notes = json_object_get(reply, "warnings"),
        *decisive = time_of(json_object_get(reply, "predicted")) > 0 ? NULL : find_decisive(reply);
    json_t *rest = json_copy((json_t *)(uintptr_t)reply), *others = json_array();
    size_t i;
    json_array_foreach(notes, i, note)
    {
        if (note != decisive)
            json_array_append(others, (json_t *)(uintptr_t)note);
    }
    json_object_set_new(rest, "warnings", others);
    return rest;
}

void ui_bind(struct ui *ui, const json_t *reply)
{
    json_t *rest = without_answer(reply);
    ui_style(ui, UI_BOLD);
    bool has_answer = put_lines(ui, "", "", write_answer, reply);
    ui_style(ui, UI_PLAIN);
    ui_put(ui, has_answer ? "\n" : "");
    put_tasks(ui, json_object_get(reply, "tasks"));
    put_lines(ui, "\n", "", write_quality, reply);
    if (ui->why)
        put_lines(ui, "\nAlternatives\n", "  ", write_alternatives, reply);
    ui_why(ui, rest, json_object_get(reply, "evidence"));
    json_decref(rest);
}

static bool is_variable(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && strspn(name, "0123456789") == 0 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") ==
               length;
}

/* Within single quotes only the quote itself is special. */
static void put_quoted(struct ui *ui, const char *text)
{
    ui_put(ui, "'");
    for (const char *c = text; *c != '\0';) {
        size_t plain = strcspn(c, "'");
        ui_put(ui, "%.*s", (int)plain, c);
        c += plain;
        if (*c == '\'') {
            ui_put(ui, "'\\''");
            c++;
        }
    }
    ui_put(ui, "'");
}

bool ui_bind_environment(struct ui *ui, const json_t *task)
{
    json_t *environment = json_object_get(task, "environment");
    const json_t *unset = json_object_get(task, "unset"), *value;
    const char *name;
    size_t i;
    json_object_foreach(environment, name, value)
    {
        if (!is_variable(name) || !json_is_string(value))
            return false;
    }
    json_array_foreach(unset, i, value)
    {
        if (!json_is_string(value) || !is_variable(json_string_value(value)))
            return false;
    }
    json_array_foreach(unset, i, value) { ui_put(ui, "unset %s\n", json_string_value(value)); }
    json_object_foreach(environment, name, value)
    {
        char buffer[LIB_APPLY_MARK_SIZE];
        const char *mark = lib_apply_mark(name, buffer);
        if (mark != NULL)
            ui_put(ui,
                   "if [ -z \"${%s+set}\" ] || { [ -n \"${%s+set}\" ] && [ \"$%s\" = \"$%s\" ]; }; "
                   "then export %s=",
                   name, mark, name, mark, mark);
        else
            ui_put(ui, "export ");
        if (mark != NULL) {
            put_quoted(ui, json_string_value(value));
            ui_put(ui, " ");
        }
        ui_put(ui, "%s=", name);
        put_quoted(ui, json_string_value(value));
        ui_put(ui, mark != NULL ? "; fi\n" : "\n");
    }
    return true;
}
