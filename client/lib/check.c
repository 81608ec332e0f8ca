/* Call berth_check: request, reply with findings and its release. */
#include "lib/read.h"
#include "lib/write.h"

#include <math.h>

#define METHOD "io.berth.Health.Check"

static const char *const verdict_names[] = {"", "healthy", "degraded", "unhealthy", NULL};
static const char *const severity_names[] = {"", "info", "warning", "critical", NULL};

static void fill_slow(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_slow_value *)ret = (struct berth_slow_value){
        .series = lib_read_text(read, item, "series"),
        .unit = lib_read_text(read, item, "unit"),
        .value = lib_read_number(read, item, "value"),
        .expected = lib_read_number(read, item, "expected"),
    };
}

static void fill_cell(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_finding_cell *)ret = (struct berth_finding_cell){
        .metric = lib_read_text(read, item, "metric"),
        .from = lib_read_text(read, item, "from"),
        .to = lib_read_text(read, item, "to"),
        .where = lib_read_pairs(read, item, "where"),
        .low = lib_read_maybe_number(read, item, "low"),
        .high = lib_read_maybe_number(read, item, "high"),
        .measured_at_s = lib_read_maybe_integer(read, item, "measured_at_s"),
    };
}

static void fill_finding(struct lib_read *read, const json_t *item, void *ret)
{
    struct berth_finding *finding = ret;
    *finding = (struct berth_finding){
        .severity = (enum berth_severity)lib_read_enum(read, item, "severity", severity_names),
        .place = lib_read_text(read, item, "place"),
        .code = lib_read_text(read, item, "code"),
        .text = lib_read_text(read, item, "text"),
        .unit = lib_read_maybe_text(read, item, "unit"),
        .value = lib_read_maybe_number(read, item, "value"),
        .expected = lib_read_maybe_number(read, item, "expected"),
        .since_s = lib_read_maybe_integer(read, item, "since_s"),
        .explains = lib_read_size(read, item, "explains"),
        .action = lib_read_maybe_text(read, item, "action"),
        .commands = lib_read_texts(read, item, "commands"),
        .cell = {.low = NAN, .high = NAN, .measured_at_s = -1},
    };
    lib_read_maybe_object(read, item, "cell", fill_cell, &finding->cell);
    finding->slow =
        lib_read_array(read, item, "slow", sizeof *finding->slow, fill_slow, &finding->slow_count);
}

static void fill_health(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_health *health = ret;
    *health = (struct berth_health){
        .verdict = (enum berth_verdict)lib_read_enum(read, reply, "verdict", verdict_names),
        .drain = lib_read_bool(read, reply, "drain"),
        .reason = lib_read_text(read, reply, "reason"),
        .last_probe_at_s = lib_read_maybe_integer(read, reply, "last_probe_at_s"),
        .snapshot = lib_read_text(read, reply, "snapshot"),
        .origin = (enum berth_origin)lib_read_enum(read, reply, "origin", lib_origin_names),
    };
    health->findings = lib_read_array(read, reply, "findings", sizeof *health->findings,
                                      fill_finding, &health->finding_count);
    health->unconfirmed = lib_read_array(read, reply, "unconfirmed", sizeof *health->unconfirmed,
                                         fill_finding, &health->unconfirmed_count);
}

int berth_check(struct berth *berth, const char *const *places, size_t place_count,
                struct berth_health **ret_health)
{
    struct lib_write write = lib_write_begin();
    const struct berth_texts texts = {.item = places, .count = place_count};
    lib_write_texts(&write, write.parameters, "places", &texts);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    return status != BERTH_DONE
               ? status
               : lib_ask(berth, METHOD, parameters, sizeof **ret_health, fill_health, ret_health);
}

void berth_health_free(struct berth_health *health) { lib_result_free(health); }
