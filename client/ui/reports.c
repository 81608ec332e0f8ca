/* Text of replies of Report and ListReports. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ui/answer.h"

static void put_row(struct ui_table *table, const json_t *kind)
{
    const json_t *correction = json_object_get(kind, "correction");
    char size[UI_NUMBER];
    ui_cell(table, "%s", ui_member(kind, "method"));
    ui_cell(table, "%s", ui_member(kind, "form"));
    ui_cell(table, "%.0f", ui_member_number(kind, "users"));
    ui_cell(table, "%s", ui_value(table->ui, size, ui_member_number(kind, "bytes"), "B"));
    ui_cell(table, "%s", ui_member(kind, "source"));
    ui_cell(table, "%s", ui_member(kind, "by"));
    ui_cell(table, "%.0f", ui_member_number(kind, "reports"));
    ui_cell(table, "%.0f %%", 100 * ui_member_number(kind, "error_before"));
    ui_cell(table, "%.0f %%", 100 * ui_member_number(kind, "error_after"));
    if (json_is_object(correction))
        ui_cell(table, "%.2f", ui_member_number(correction, "factor"));
    else
        ui_cell(table, "-");
}

void ui_reports(struct ui *ui, const json_t *reply)
{
    const json_t *kinds = json_object_get(reply, "kinds"), *kind;
    static const char *const heads[] = {"method", "form", "users",  "from",  "source",
                                        "by",     "n",    "before", "after", "factor"};
    struct ui_table table;
    size_t i;
    if (json_array_size(kinds) == 0) {
        ui_put(ui, "no reports; bind, alloc and route with --why say how to report a time\n");
        return;
    }
    ui_table_begin(&table, ui, "llrrllrrrr");
    for (i = 0; i < sizeof heads / sizeof heads[0]; i++)
        ui_cell(&table, "%s", heads[i]);
    json_array_foreach(kinds, i, kind) { put_row(&table, kind); }
    ui_table_end(&table, 0, true);
}

void ui_reported(struct ui *ui, const json_t *reply)
{
    const json_t *kind = json_object_get(reply, "kind"),
                 *correction = json_object_get(kind, "correction");
    double reports = ui_member_number(kind, "reports");
    ui_put(ui, "%.0f report%s of this kind, kept until the daemon ends", reports,
           reports == 1 ? "" : "s");
    if (json_is_object(correction))
        ui_put(ui, "; predictions are multiplied by %.2f", ui_member_number(correction, "factor"));
    ui_put(ui, "\n");
}
