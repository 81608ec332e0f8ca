/* The placement of a typical job beside rank order: two bars and a picture. */
#include "report/report.h"

#include <math.h>
#include <string.h>

#include "picture/picture.h"
#include "ui/answer.h"

#define BAR 420.0

static void put_bar(struct ui *page, const char *title, const char *class, const json_t *prediction,
                    double most)
{
    double time_ns = ui_member_number(prediction, "time_ns");
    struct ui text = {.utf8 = true};
    ui_prediction(&text, prediction);
    ui_put(page,
           "<tr><td class=\"t\">%s</td><td class=\"t\"><svg viewBox=\"0 0 %.0f 16\" "
           "width=\"%.0f\"><rect "
           "y=\"2\" width=\"%.1f\" height=\"12\" class=\"%s\"/></svg></td><td class=\"t\">",
           title, BAR, BAR, isnan(time_ns) ? 0 : BAR * time_ns / most, class);
    picture_text(page, text.text);
    ui_put(page, "</td></tr>\n");
    page->failed = page->failed || text.failed;
    ui_done(&text);
}

void report_placement(struct ui *page, const char *about, const json_t *node, const json_t *plan)
{
    const json_t *predicted = json_object_get(plan, "predicted"),
                 *baseline = json_object_get(plan, "baseline");
    double most =
        fmax(ui_member_number(predicted, "time_ns"), ui_member_number(baseline, "time_ns"));
    report_section(page, "A typical job", about);
    if (most > 0) {
        ui_put(page, "<div class=\"scroll\"><table>\n");
        put_bar(page, "as berth places it", "bar", predicted, most);
        put_bar(page, "in rank order", "differs", baseline, most);
        ui_put(page, "</table></div>\n");
    } else {
        ui_put(page, "<p>No time is predicted: too little is known.</p>\n");
    }
    report_picture(page, node, plan);
}
