/* Call berth_check: request, reply with findings and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Health.Check"

static const char *const verdict_names[] = {"", "healthy", "degraded", "unhealthy", NULL};
static const char *const severity_names[] = {"", "info", "warning", "critical", NULL};

static void read_slow(struct lib_read *read, const json_t *item, struct berth_finding *finding)
{
    const json_t *array;
    struct berth_slow_value *slow =
        lib_read_array(read, item, "slow", sizeof *slow, &array, &finding->slow_count);
    for (size_t i = 0; i < finding->slow_count; i++) {
        const json_t *one = json_array_get(array, i);
        slow[i] = (struct berth_slow_value){
            .series = lib_read_text(read, one, "series"),
            .unit = lib_read_text(read, one, "unit"),
            .value = lib_read_maybe_number(read, one, "value"),
            .expected = lib_read_maybe_number(read, one, "expected"),
        };
    }
    finding->slow = slow;
}

static int read_health(struct berth *berth, json_t *take_reply, struct berth_health **ret_health)
{
    struct lib_read read;
    struct berth_health *health = lib_result_new(sizeof *health, take_reply, &read);
    if (health == NULL)
        return lib_fail_memory(berth);
    health->verdict =
        (enum berth_verdict)lib_read_enum(&read, take_reply, "verdict", verdict_names);
    health->drain = lib_read_bool(&read, take_reply, "drain");
    health->reason = lib_read_text(&read, take_reply, "reason");
    const json_t *array;
    struct berth_finding *findings = lib_read_array(&read, take_reply, "findings", sizeof *findings,
                                                    &array, &health->finding_count);
    for (size_t i = 0; i < health->finding_count; i++) {
        const json_t *item = json_array_get(array, i);
        findings[i] = (struct berth_finding){
            .severity = (enum berth_severity)lib_read_enum(&read, item, "severity", severity_names),
            .place = lib_read_text(&read, item, "place"),
            .code = lib_read_text(&read, item, "code"),
            .text = lib_read_text(&read, item, "text"),
            .unit = lib_read_maybe_text(&read, item, "unit"),
            .value = lib_read_maybe_number(&read, item, "value"),
            .expected = lib_read_maybe_number(&read, item, "expected"),
            .since_s = lib_read_maybe_integer(&read, item, "since_s"),
            .explains = (size_t)lib_read_integer(&read, item, "explains"),
        };
        read_slow(&read, item, &findings[i]);
    }
    health->findings = findings;
    health->last_probe_at_s = lib_read_maybe_integer(&read, take_reply, "last_probe_at_s");
    health->snapshot = lib_read_text(&read, take_reply, "snapshot");
    health->origin =
        (enum berth_origin)lib_read_enum(&read, take_reply, "origin", lib_origin_names);
    int status = lib_result_end(berth, &read, METHOD, health);
    if (status == BERTH_DONE)
        *ret_health = health;
    return status;
}

int berth_check(struct berth *berth, const char *const *places, size_t place_count,
                struct berth_health **ret_health)
{
    struct lib_write write = lib_write_begin();
    const struct berth_texts texts = {.item = places, .count = place_count};
    lib_write_texts(&write, write.parameters, "places", &texts);
    json_t *parameters, *reply = NULL;
    int status = lib_write_end(berth, &write, &parameters);
    if (status == BERTH_DONE)
        status = lib_call(berth, METHOD, parameters, &reply);
    return status != BERTH_DONE ? status : read_health(berth, reply, ret_health);
}

void berth_health_free(struct berth_health *health) { lib_result_free(health); }
