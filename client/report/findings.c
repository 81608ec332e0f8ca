/* Tables of the page: findings with their actions, past findings, claims. */
#include "report/report.h"

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

/* A word that is not broken where there is room. */
static void put_word(struct ui *page, const char *word)
{
    ui_put(page, "<td class=\"t w\">");
    picture_text(page, word);
    ui_put(page, "</td>");
}

static void put_time(struct ui *page, const json_t *at, const char *otherwise)
{
    char when[UI_NUMBER];
    ui_put(page, "<td class=\"t w\">%s</td>",
           json_is_integer(at) ? ui_when(when, json_integer_value(at)) : otherwise);
}

/* True for values that were found, and cleared, at the same times: most often of one cause. */
static bool is_with(const json_t *a, const json_t *b)
{
    static const char *const same[] = {"severity", "since_s", "cleared_s", "accepted"};
    bool is =
        json_is_number(json_object_get(a, "value")) && json_is_number(json_object_get(b, "value"));
    for (size_t i = 0; i < sizeof same / sizeof same[0] && is; i++)
        is = json_equal(json_object_get(a, same[i]), json_object_get(b, same[i]));
    return is;
}

static bool is_behind_another(const json_t *all, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_with(json_array_get(all, i), json_array_get(all, index)))
            return true;
    return false;
}

/* Puts the text of a past finding; those that came and went with it unfold. */
static void put_past(struct ui *page, const json_t *all, size_t index)
{
    const json_t *finding = json_array_get(all, index);
    size_t others = 0;
    for (size_t i = index + 1; i < json_array_size(all); i++)
        others += is_with(finding, json_array_get(all, i));
    if (others == 0) {
        put_text(page, ui_member(finding, "text"));
        return;
    }
    ui_put(page, "<td class=\"t\"><details><summary>");
    picture_text(page, ui_member(finding, "text"));
    ui_put(page, "; and %zu more value%s</summary>", others, others == 1 ? "" : "s");
    for (size_t i = index + 1; i < json_array_size(all); i++) {
        const json_t *other = json_array_get(all, i);
        if (!is_with(finding, other))
            continue;
        picture_text(page, ui_member(other, "place"));
        ui_put(page, ": ");
        picture_text(page, ui_member(other, "text"));
        ui_put(page, "<br/>\n");
    }
    ui_put(page, "</details></td>");
}

static void put_action(struct ui *page, const json_t *finding)
{
    const json_t *command;
    size_t i;
    ui_put(page, "<td class=\"t\">");
    picture_text(page, ui_member(finding, "action"));
    json_array_foreach(json_object_get(finding, "commands"), i, command)
    {
        ui_put(page, "<br/><code>");
        picture_text(page, json_is_string(command) ? json_string_value(command) : "");
        ui_put(page, "</code>");
    }
    ui_put(page, "</td>");
}

/* Draws findings; of past ones their end, of current ones the action. */
static void put_findings(struct ui *page, const json_t *all, bool is_past)
{
    const char *const titles[] = {"severity", "place", "finding", "since",
                                  is_past ? "cleared" : "do"};
    const json_t *finding;
    size_t i;
    begin(page, titles, sizeof titles / sizeof titles[0]);
    json_array_foreach(all, i, finding)
    {
        if (is_past && is_behind_another(all, i))
            continue;
        ui_put(page, "<tr>");
        put_word(page, ui_member(finding, "severity"));
        put_word(page, ui_member(finding, "place"));
        if (is_past)
            put_past(page, all, i);
        else
            put_text(page, ui_member(finding, "text"));
        put_time(page, json_object_get(finding, "since_s"), "unknown");
        if (is_past)
            put_time(page, json_object_get(finding, "cleared_s"), "still there");
        else
            put_action(page, finding);
        ui_put(page, "</tr>\n");
    }
    end(page);
}

void report_findings(struct ui *page, const json_t *check)
{
    const json_t *all = json_object_get(check, "findings"),
                 *unconfirmed = json_object_get(check, "unconfirmed");
    if (json_array_size(all) > 0) {
        report_section(
            page, "What to do",
            "As <code>berth health</code> says. On the node <code>berth probe</code> "
            "measures again. Where a new value is right, <code>berth accept</code> makes "
            "it the baseline.");
        put_findings(page, all, false);
    }
    if (json_array_size(unconfirmed) > 0) {
        report_section(page, "Seen once",
                       "A second measurement, two minutes later at the earliest, makes these "
                       "findings or drops them.");
        put_findings(page, unconfirmed, false);
    }
}

void report_changes(struct ui *page, const json_t *changes)
{
    const json_t *all = json_object_get(changes, "findings");
    if (json_array_size(all) == 0)
        ui_put(page, "<p>No finding has appeared or cleared.</p>\n");
    else
        put_findings(page, all, true);
}

void report_claims(struct ui *page, const json_t *claims)
{
    static const char *const titles[] = {"claim", "who has what", "until"};
    const json_t *claim, *all = json_object_get(claims, "claims");
    size_t i;
    if (json_array_size(all) == 0) {
        ui_put(page, "<p>Nothing is claimed.</p>\n");
        return;
    }
    begin(page, titles, sizeof titles / sizeof titles[0]);
    json_array_foreach(all, i, claim)
    {
        struct ui holding = {.utf8 = true};
        ui_claim_holding(&holding, claim);
        ui_put(page, "<tr>");
        put_text(page, ui_member(claim, "claim"));
        put_text(page, holding.text);
        put_time(page, json_object_get(claim, "expires_at_s"), "unknown");
        ui_put(page, "</tr>\n");
        page->failed = page->failed || holding.failed;
        ui_done(&holding);
    }
    end(page);
}
