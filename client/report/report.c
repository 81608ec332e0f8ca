#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "picture/picture.h"
#include "ui/answer.h"

static const char style[] =
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1d2429;--soft:#607080;--line:#cfd8dc;"
    "--cell:62% 72%;--cell-ink:#111}"
    "body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1240px;padding:1rem;"
    "color:var(--ink);background:var(--paper)}h1{font-size:1.5rem;margin:.2rem 0}"
    "h2{font-size:1.15rem;margin:2rem 0 .4rem;border-bottom:1px solid var(--line)}"
    "h3{font-size:1rem;margin:1rem 0 .3rem;overflow-wrap:anywhere}"
    "p{margin:.3rem 0;max-width:110ch}summary{cursor:pointer}details{margin:0 0 "
    ".3rem}code{overflow-wrap:anywhere}"
    ".verdict{padding:.8rem 1rem;border-radius:8px;font-size:1.1rem;color:#fff;margin:.8rem 0}"
    ".healthy{background:#2e7d32}.degraded{background:#b26a00}.unhealthy{background:#b71c1c}"
    ".unknown{background:#546e7a}.scroll{overflow-x:auto}"
    ".hint{display:none;color:var(--soft);font-size:13px}.cards{columns:26rem;column-gap:1rem}"
    ".card{border:1px solid var(--line);border-radius:8px;padding:.2rem .8rem .6rem;"
    "margin:0 0 "
    "1rem;break-inside:avoid}.wide{column-span:all;margin-top:1rem}svg{max-width:100%;height:auto}"
    "svg text{font:11px system-ui,sans-serif;fill:var(--ink)}.grid{stroke:var(--line)}"
    ".mark{stroke:var(--ink);stroke-width:1.5}.bar{fill:#4a90c4}.differs{fill:#d58a3a}"
    ".band{fill:#2e7d32;fill-opacity:.14}.began,.cleared{stroke-width:2}td svg{min-width:9rem}"
    ".runs{width:100%;table-layout:fixed}.runs td{overflow-wrap:anywhere}.runs td svg{min-width:0}"
    ".runs td+td+td{width:6rem}"
    ".squares rect{fill:hsl(var(--h) var(--cell))}table{border-collapse:collapse;font-size:13px}"
    "td,th{padding:.15rem .45rem;text-align:right;white-space:nowrap}th{font-weight:600}"
    "td.t,th.t{text-align:left;white-space:normal}.heat td,.heat th{white-space:nowrap}"
    ".heat td{border:1px solid var(--paper)}"
    ".heat td[style]{background:hsl(var(--h) var(--cell));color:var(--cell-ink)}"
    ".facts td{vertical-align:top;overflow-wrap:anywhere;border-top:1px solid var(--line)}"
    ".small{color:var(--soft);font-size:13px}h3 .small{font-weight:400}"
    ".key{display:inline-block;margin:0 .9rem 0 0;font-size:12px;white-space:nowrap}"
    ".key svg{vertical-align:middle;margin-right:.3rem}"
    "@media(min-width:900px){.facts td.w{white-space:nowrap}}@media(max-width:700px){.picture "
    "svg{max-width:none}.hint{display:block}}"
    "@media(max-width:1100px){.wide .hint{display:block}}@media print{.scroll{overflow:visible}}";

/* Colours of a dark page; picture_dark has those of the pictures. */
static const char dark[] =
    ":root{--paper:#14191c;--ink:#dde5e9;--soft:#a3b2bb;--line:#3a464d;--cell:45% 26%;"
    "--cell-ink:#eef3f5}";

void report_hint(struct ui *page)
{
    ui_put(page, "<p class=\"hint\">Wider than the screen: scroll sideways \u2192</p>\n");
}

void report_picture(struct ui *page, const json_t *node, const json_t *plan)
{
    report_hint(page);
    ui_put(page, "<div class=\"picture scroll\">");
    picture_node(page, node, plan);
    ui_put(page, "</div>\n");
}

void report_head(struct ui *page, const char *title, const char *verdict)
{
    ui_put(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                 "name=\"viewport\" content=\"width=device-width\">\n<title>berth: ");
    picture_text(page, title);
    ui_put(page,
           ", %s</title>\n<style>%s@media screen and "
           "(prefers-color-scheme:dark){%s%s}</style></head>\n<body>\n<h1>",
           verdict, style, dark, picture_dark);
    picture_text(page, title);
    ui_put(page, "</h1>\n");
}

void report_begin(struct ui *page, const char *node, const json_t *check)
{
    static const char *const verdicts[] = {"healthy", "degraded", "unhealthy", "unknown"};
    const char *verdict = "unknown", *said = ui_member(check, "verdict");
    char when[UI_NUMBER];
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++)
        if (strcmp(said, verdicts[i]) == 0)
            verdict = verdicts[i];
    report_head(page, node, verdict);
    const json_t *at = json_object_get(check, "last_probe_at_s");
    ui_put(page, "<p class=\"small\">%s%s; ",
           json_is_integer(at) ? "Measured last " : "Never measured",
           json_is_integer(at) ? ui_when(when, json_integer_value(at)) : "");
    picture_text(page, ui_member(check, "origin"));
    ui_put(page, " node, snapshot ");
    picture_text(page, ui_member(check, "snapshot"));
    ui_put(page, "; page of %s by berth " BERTH_VERSION ".</p>\n",
           ui_when(when, (int64_t)time(NULL)));
    ui_put(page, "<div class=\"verdict %s\">", verdict);
    picture_text(page, ui_member(check, "reason"));
    ui_put(page, "%s</div>\n",
           json_is_true(json_object_get(check, "drain"))
               ? ". <b>berth advises to take the node out of service.</b>"
               : "");
}

void report_section(struct ui *page, const char *title, const char *about)
{
    ui_put(page, "<h2>%s</h2>\n", title);
    if (about != NULL)
        ui_put(page, "<p class=\"small\">%s</p>\n", about);
}

void report_table(struct ui *page, const char *title, const json_t *texts)
{
    const char *key;
    json_t *value;
    if (json_object_size(texts) == 0)
        return;
    ui_put(page, "<h3>%s</h3>\n<table>", title);
    json_object_foreach((json_t *)texts, key, value)
    {
        ui_put(page, "<tr><th class=\"t\">");
        picture_text(page, key);
        ui_put(page, "</th><td class=\"t\">");
        picture_text(page, json_string_value(value));
        ui_put(page, "</td></tr>\n");
    }
    ui_put(page, "</table>\n");
}

void report_end(struct ui *page, const char *command)
{
    ui_put(page, "<p class=\"small\">Written by <code>");
    picture_text(page, command);
    ui_put(page, "</code>. Numbers are measured unless they are marked p (published) or n "
                 "(nominal); 1 GB/s is 10<sup>9</sup> bytes per second.</p>\n</body></html>\n");
}
