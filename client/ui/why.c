/* The end of an answer: what decided, evidence, notes, how to report the time, and whose node it
 * is.
 */
#include <stdlib.h>
#include <string.h>

#include "ui/answer.h"

#define LIST_ROWS 6 /* of a list of one item, and the line that counts the others */

/* Text of a subject of a note; "" none. */
static const char *subject_of(const json_t *note, size_t index)
{
    const char *text = json_string_value(json_array_get(json_object_get(note, "subjects"), index));
    return text == NULL ? "" : text;
}

/* True for codes whose first two subjects are the ends of a transfer (schema/reasons.def). */
static bool is_of_pair(const json_t *note)
{
    static const char *const codes[] = {"rate-not-measured", "start-not-measured",
                                        "size-not-measured", "similar-pair"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (ui_reason_is(note, codes[i]))
            return true;
    return false;
}

/* True for two notes that differ in the ends of the transfer alone. */
static bool is_same_note(const json_t *a, const json_t *b)
{
    const json_t *subjects = json_object_get(a, "subjects");
    size_t count = json_array_size(subjects);
    bool is_same = is_of_pair(a) && count >= 2 &&
                   count == json_array_size(json_object_get(b, "subjects")) &&
                   ui_reason_is(a, ui_member(b, "code")) &&
                   json_equal(json_object_get(a, "numbers"), json_object_get(b, "numbers"));
    for (size_t i = 2; i < count && is_same; i++)
        is_same = strcmp(subject_of(a, i), subject_of(b, i)) == 0;
    return is_same;
}

/* Index of the first note that says the same of other places, or its own. */
static size_t find_same(const json_t *notes, size_t index)
{
    size_t i = 0;
    while (i < index && !is_same_note(json_array_get(notes, i), json_array_get(notes, index)))
        i++;
    return i;
}

/* Prints a note, and the pairs of places of those behind it that say the same. */
static void put_note(struct ui *ui, const json_t *notes, size_t index)
{
    struct ui line = {.utf8 = ui->utf8, .width = ui->width};
    const char *separator = "; likewise ";
    ui_put(&line, "%s", ui_reason_text(json_array_get(notes, index)));
    for (size_t i = index + 1; i < json_array_size(notes); i++) {
        const json_t *other = json_array_get(notes, i);
        if (find_same(notes, i) != index)
            continue;
        ui_put(&line, "%s", separator);
        ui_text(&line, subject_of(other, 0));
        ui_put(&line, " to ");
        ui_text(&line, subject_of(other, 1));
        separator = ", ";
    }
    ui_put(ui, "  ");
    ui_paragraph(ui, 4, line.text == NULL ? "" : line.text);
    ui->failed = ui->failed || line.failed;
    ui_done(&line);
}

/* A list of an answer's end. put writes the item; nothing where another one says it. */
struct list {
    const char *heading;
    enum ui_style style;
    const json_t *items;
    void (*put)(struct ui *ui, const json_t *items, size_t index);
};

/* Returns the rows of an item, and prints them where they end at that row or before. */
static size_t put_item(struct ui *ui, const struct list *list, size_t index, size_t end,
                       const char *heading)
{
    struct ui item = {.utf8 = ui->utf8, .width = ui->width};
    list->put(&item, list->items, index);
    size_t rows = ui_rows(&item);
    if (rows > 0 && ui_rows(ui) + rows <= end) {
        ui_style(ui, list->style);
        ui_put(ui, "%s", heading);
        ui_style(ui, UI_PLAIN);
        ui_put(ui, "%s", item.text);
    }
    ui->failed = ui->failed || item.failed;
    ui_done(&item);
    return rows;
}

/* Prints the items, no more than end at that row; one at least. */
static void put_list(struct ui *ui, const struct list *list, size_t end)
{
    size_t count = json_array_size(list->items), shown = 0, left = 0;
    char heading[128];
    snprintf(heading, sizeof heading, "\n%s\n", list->heading);
    for (size_t i = 0; i < count; i++) {
        size_t before = ui_rows(ui), most = shown == 0 ? SIZE_MAX : end - (i + 1 < count);
        bool is_new = put_item(ui, list, i, left > 0 ? 0 : most, shown == 0 ? heading : "") > 0;
        shown += ui_rows(ui) > before;
        left += is_new && ui_rows(ui) == before;
    }
    if (left > 0)
        ui_put(ui, "  and %zu more (--why | less shows them)\n", left);
}

static void put_note_once(struct ui *ui, const json_t *notes, size_t index)
{
    if (find_same(notes, index) == index)
        put_note(ui, notes, index);
}

static void put_reason(struct ui *ui, const json_t *reasons, size_t index)
{
    const json_t *reason = json_array_get(reasons, index);
    if (ui_is_alternative(reason))
        return;
    ui_put(ui, "  ");
    ui_paragraph(ui, 4, ui_reason_text(reason));
}

/* True for a note on the node or the request that a person would act on, whatever the answer. */
static bool asks_for_action(const json_t *note)
{
    static const char *const codes[] = {"gpus-not-allowed", "gpus-claimed", "claim-left-out",
                                        "claims-left-out",  "gpu-left-out", "link-down",
                                        "no-room",          "memory-none",  "srun-part-of-node"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (ui_reason_is(note, codes[i]))
            return true;
    return false;
}

/* Prints how to report the time of the first prediction; false when there is none. */
static bool put_report(struct ui *ui, const json_t *reply)
{
    const json_t *option = json_array_get(json_object_get(reply, "options"), 0),
                 *predicted = json_object_get(option != NULL ? option : reply, "predicted");
    const char *id = ui_member(predicted, "id");
    if (*id == '\0')
        return false;
    ui_put(ui, "\nafter a run: berth report-time ");
    ui_text(ui, id);
    ui_put(ui, " TIME\n");
    return true;
}

static void put_basis(struct ui *ui, const char *origin)
{
    ui_style(ui, UI_DIM);
    if (strcmp(origin, "standin") == 0)
        ui_put(ui, "for gpus of the stand-in driver, not real ones\n");
    else if (strcmp(origin, "reconstructed") == 0)
        ui_put(ui, "for a node reconstructed from published facts\n");
    else
        ui_put(ui, "for a recorded node, not this machine\n");
    ui_style(ui, UI_PLAIN);
}

static bool is_about_this_machine(const char *origin)
{
    return strcmp(origin, "live") == 0 || *origin == '\0';
}

void ui_basis(struct ui *ui, const char *origin)
{
    if (is_about_this_machine(origin))
        return;
    ui_put(ui, "\n");
    put_basis(ui, origin);
}

void ui_why(struct ui *ui, const json_t *reply, const json_t *evidence)
{
    const json_t *notes = json_object_get(reply, "warnings"), *note;
    const char *origin = ui_member(json_object_get(reply, "basis"), "origin");
    bool is_reported;
    size_t count = 0, i;
    json_t *first = json_array();
    json_array_foreach(notes, i, note)
    {
        if (ui->why || asks_for_action(note))
            json_array_append(first, (json_t *)(uintptr_t)note);
        else
            count++;
    }
    char heading[96];
    ui_evidence_heading(evidence, heading, sizeof heading);
    const struct list reasons = {"Decided by", UI_PLAIN, json_object_get(reply, "reasons"),
                                 put_reason},
                      shown = {heading, UI_BOLD, evidence, ui_evidence_put},
                      told = {"Note", UI_WARN, first, put_note_once};
    size_t noted = json_array_size(first) > 0 ? LIST_ROWS : 0,
           end = ui->is_terminal && ui_rows(ui) < UI_ROWS
                     ? UI_ROWS - (is_about_this_machine(origin) ? 2 : 3)
                     : SIZE_MAX / 2;
    if (ui->why) {
        put_list(ui, &reasons, end - noted - LIST_ROWS);
        put_list(ui, &shown, end - noted);
    }
    put_list(ui, &told, end);
    is_reported = ui->why && put_report(ui, reply);
    if (!ui->why) {
        ui_style(ui, UI_DIM);
        ui_put(ui, "\n");
        if (count > 0)
            ui_put(ui, "%zu %snote%s; ", count, json_array_size(first) > 0 ? "more " : "",
                   count == 1 ? "" : "s");
        ui_put(ui, "--why shows %sevidence and alternatives\n",
               count == 0   ? ""
               : count == 1 ? "it, "
                            : "them, ");
        ui_style(ui, UI_PLAIN);
    }
    if (is_reported && !is_about_this_machine(origin))
        put_basis(ui, origin);
    else
        ui_basis(ui, origin);
    json_decref(first);
}
