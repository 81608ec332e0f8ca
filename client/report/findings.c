/* Tables of the page: findings with their actions, past findings, claims. */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#include "picture/picture.h"
#include "ui/answer.h"

static void begin(struct ui *page, const char *const *titles, size_t count)
{
    ui_put(page, "<div class=\"scroll\"><table class=\"facts\"><tr>");
    for (size_t i = 0; i < count; i++)
        ui_put(page, "<th class=\"t\">%s</th>", titles[i]);
    ui_put(page, "</tr>\n");
}

static void end(struct ui *page) { ui_put(page, "</table></div>\n"); }

static void put_text(struct ui *page, const char *text)
{
    ui_put(page, "<td class=\"t\">");
    picture_text(page, text);
    ui_put(page, "</td>");
}

static void put_time(struct ui *page, const json_t *at, const char *otherwise)
{
    char when[UI_NUMBER];
    ui_put(page, "<td class=\"t\">%s</td>",
           json_is_integer(at) ? ui_when(when, json_integer_value(at)) : otherwise);
}

void report_findings(struct ui *page, const json_t *check)
{
    static const char *const titles[] = {"severity", "place", "finding", "since", "do"};
    const json_t *finding, *all = json_object_get(check, "findings");
    size_t i;
    if (json_array_size(all) == 0) {
        ui_put(page, "<p>No finding.</p>\n");
        return;
    }
    begin(page, titles, sizeof titles / sizeof titles[0]);
    json_array_foreach(all, i, finding)
    {
        ui_put(page, "<tr>");
        put_text(page, ui_member(finding, "severity"));
        put_text(page, ui_member(finding, "place"));
        put_text(page, ui_member(finding, "text"));
        put_time(page, json_object_get(finding, "since_s"), "unknown");
        put_text(page, ui_action_of(ui_member(finding, "code")));
        ui_put(page, "</tr>\n");
    }
    end(page);
}

void report_changes(struct ui *page, const json_t *changes)
{
    static const char *const titles[] = {"severity", "place", "finding", "since", "cleared"};
    const json_t *finding, *all = json_object_get(changes, "findings");
    size_t i;
    if (json_array_size(all) == 0) {
        ui_put(page, "<p>No finding has appeared or cleared.</p>\n");
        return;
    }
    begin(page, titles, sizeof titles / sizeof titles[0]);
    json_array_foreach(all, i, finding)
    {
        ui_put(page, "<tr>");
        put_text(page, ui_member(finding, "severity"));
        put_text(page, ui_member(finding, "place"));
        put_text(page, ui_member(finding, "text"));
        put_time(page, json_object_get(finding, "since_s"), "unknown");
        put_time(page, json_object_get(finding, "cleared_s"),
                 json_is_true(json_object_get(finding, "accepted")) ? "accepted" : "still there");
        ui_put(page, "</tr>\n");
    }
    end(page);
}

void report_claims(struct ui *page, const json_t *claims)
{
    static const char *const titles[] = {"claim", "user", "for", "until", "places"};
    const json_t *claim, *place, *all = json_object_get(claims, "claims");
    size_t i, p;
    if (json_array_size(all) == 0) {
        ui_put(page, "<p>Nothing is claimed.</p>\n");
        return;
    }
    begin(page, titles, sizeof titles / sizeof titles[0]);
    json_array_foreach(all, i, claim)
    {
        ui_put(page, "<tr>");
        put_text(page, ui_member(claim, "claim"));
        ui_put(page, "<td class=\"t\">%" PRId64 "</td>",
               (int64_t)json_integer_value(json_object_get(claim, "uid")));
        put_text(page, ui_member(claim, "purpose"));
        put_time(page, json_object_get(claim, "expires_at_s"), "unknown");
        ui_put(page, "<td class=\"t\">");
        json_array_foreach(json_object_get(claim, "places"), p, place)
        {
            ui_put(page, p > 0 ? ", " : "");
            picture_text(page, json_string_value(place));
        }
        ui_put(page, "</td></tr>\n");
    }
    end(page);
}
