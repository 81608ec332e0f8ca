/* Text of a reply of Check as one line of a monitoring plugin. */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "ui/answer.h"

/* Appends untrusted text. A bar would begin the performance data. */
static void put_text(struct ui *ui, const char *text)
{
    size_t from = ui->length;
    ui_text(ui, text);
    for (size_t i = from; i < ui->length; i++)
        if (ui->text[i] == '|')
            ui->text[i] = '/';
}

void ui_nagios_unknown(struct ui *ui, const char *why)
{
    ui_put(ui, "UNKNOWN - ");
    put_text(ui, why);
    ui_put(ui, "\n");
}

static size_t count(const json_t *findings, const char *severity)
{
    size_t found = 0, i;
    const json_t *finding;
    json_array_foreach(findings, i, finding)
    {
        found += strcmp(ui_member(finding, "severity"), severity) == 0;
    }
    return found;
}

void ui_nagios(struct ui *ui, const json_t *reply)
{
    static const char *const words[][2] = {
        {"healthy", "OK"}, {"degraded", "WARNING"}, {"unhealthy", "CRITICAL"}};
    const char *verdict = ui_member(reply, "verdict"), *reason = ui_member(reply, "reason"),
               *word = "UNKNOWN", *origin = ui_member(reply, "origin");
    const json_t *findings = json_object_get(reply, "findings");
    int64_t at_s = json_integer_value(json_object_get(reply, "last_probe_at_s"));
    bool is_live = strcmp(origin, "live") == 0,
         drain = json_is_true(json_object_get(reply, "drain"));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        word = strcmp(words[i][0], verdict) == 0 ? words[i][1] : word;
    ui_put(ui, "%s - ", word);
    put_text(ui, *reason != '\0' ? reason : verdict);
    ui_put(ui, "%s", drain ? "; berth advises to drain this node" : "");
    if (!is_live) {
        ui_put(ui, " (");
        put_text(ui, origin);
        ui_put(ui, " node)");
    }
    ui_put(ui,
           " | critical=%zu;;0;0 warning=%zu;0;;0 info=%zu;;;0 unconfirmed=%zu;;;0 drain=%d;;0;0;1",
           count(findings, "critical"), count(findings, "warning"), count(findings, "info"),
           json_array_size(json_object_get(reply, "unconfirmed")), drain);
    if (is_live && at_s > 0 && at_s <= time(NULL))
        ui_put(ui, " measured_age=%llds;;;0", (long long)(time(NULL) - at_s));
    ui_put(ui, "\n");
}
