#include "report/report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "picture/picture.h"
#include "ui/answer.h"

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;margin:0 "
    "auto;max-width:1240px;padding:1rem;color:#1d2429;background:#fff}"
    "h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .4rem;border-bottom:1px "
    "solid #cfd8dc}h3{font-size:1rem;margin:1rem 0 .3rem}"
    "p{margin:.3rem 0;max-width:75ch}pre{font:13px/1.35 "
    "ui-monospace,monospace;overflow-x:auto;background:#f4f6f7;padding:.7rem;border-radius:6px}"
    ".verdict{padding:.8rem 1rem;border-radius:8px;font-size:1.1rem;color:#fff;margin:.8rem "
    "0}.healthy{background:#2e7d32}.degraded{background:#b26a00}"
    ".unhealthy{background:#b71c1c}.unknown{background:#546e7a}.scroll{overflow-x:auto}"
    ".cards{columns:26rem;column-gap:1rem}.card{border:1px solid #cfd8dc;border-radius:8px;"
    "padding:.2rem .8rem .6rem;margin:0 0 1rem;break-inside:avoid}"
    ".grid{stroke:#cfd8dc}svg{max-width:100%;height:auto}"
    "td svg{min-width:9rem}.picture{overflow-x:auto}.picture svg{max-width:none}"
    "table{border-collapse:collapse;font-size:13px}td,th{padding:.15rem "
    ".45rem;text-align:right;white-space:nowrap}th{font-weight:600}"
    "td.t,th.t{text-align:left;white-space:normal}.heat td{border:1px solid "
    "#fff}.small{color:#607080;font-size:13px}svg text{font:11px system-ui,sans-serif;fill:#1d2429}"
    "@media(prefers-color-scheme:dark){body{background:#14191c;color:#dde5e9}pre{background:#"
    "1e262b}svg{background:#eef2f3;border-radius:6px}"
    ".small{color:#a3b2bb}.card{border-color:#3a464d}.heat "
    "td{color:#111;border-color:#14191c}}@media print{pre{white-space:pre-wrap}}";

void report_begin(struct ui *page, const char *node, const json_t *check)
{
    static const char *const verdicts[] = {"healthy", "degraded", "unhealthy", "unknown"};
    const char *verdict = "unknown", *said = ui_member(check, "verdict");
    char when[UI_NUMBER];
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++)
        if (strcmp(said, verdicts[i]) == 0)
            verdict = verdicts[i];
    ui_put(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                 "name=\"viewport\" content=\"width=device-width\">\n<title>berth: ");
    picture_text(page, node);
    ui_put(page, ", %s</title>\n<style>%s</style></head>\n<body>\n<h1>", verdict, style);
    picture_text(page, node);
    ui_put(page,
           "</h1>\n<p class=\"small\">berth " BERTH_VERSION ", written %s, of a node that is ",
           ui_when(when, (int64_t)time(NULL)));
    picture_text(page, ui_member(check, "origin"));
    ui_put(page, ", snapshot ");
    picture_text(page, ui_member(check, "snapshot"));
    const json_t *at = json_object_get(check, "last_probe_at_s");
    ui_put(page, ", measured last %s.</p>\n",
           json_is_integer(at) ? ui_when(when, json_integer_value(at)) : "never");
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

void report_plain(struct ui *page, void (*draw)(struct ui *ui, const json_t *reply),
                  const json_t *reply)
{
    struct ui inner = {.utf8 = true, .width = 100};
    draw(&inner, reply);
    page->failed = page->failed || inner.failed;
    ui_put(page, "<pre>");
    for (char *line = inner.text, *end; line != NULL && *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        bool is_last = *end == '\0';
        *end = '\0';
        picture_text(page, line);
        ui_put(page, "\n");
        end += !is_last;
    }
    ui_put(page, "</pre>\n");
    ui_done(&inner);
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
