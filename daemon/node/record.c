/* Lines come from probe processes and from folders that anybody may have written. The readers below
 * set their first error in the cursor and go on with harmless values. So each record kind reads as
 * the list of its keys. */
#include "node/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LENGTH     15 /* probe and backend, as struct run keeps them */
#define WHY_MAX_LENGTH      200
#define CELL_MAX_LENGTH     200
#define THROTTLE_MAX_LENGTH 200
#define BYTES_MAX           (INT64_C(1) << 50)
#define COUNT_MAX           1000000000 /* of progress */
#define YEAR_9999           INT64_C(253402300799)
#define SAMPLES_MAX         256
#define CONDITIONS_MAX      256
#define AXES_MAX            8

struct cursor {
    json_t *object;
    const char *in; /* name of object, for messages */
    struct berth_err *err;
};

/* Returns a key's value of one of the expected types; NULL when absent (an error if it is needed)
 * or of another type. */
static json_t *get(const struct cursor *cursor, const char *key, bool needed, const char *expected,
                   bool (*is_expected)(const json_t *))
{
    json_t *value = json_object_get(cursor->object, key);
    if (value == NULL) {
        if (needed)
            err_set(cursor->err, BERTH_BAD_DATA, "%s: %s is missing", cursor->in, key);
        return NULL;
    }
    if (!is_expected(value)) {
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %s is not %s", cursor->in, key, expected);
        return NULL;
    }
    return value;
}

static bool is_string(const json_t *value) { return json_is_string(value); }
static bool is_integer(const json_t *value) { return json_is_integer(value); }
static bool is_number(const json_t *value) { return json_is_number(value); }
static bool is_object(const json_t *value) { return json_is_object(value); }
static bool is_array(const json_t *value) { return json_is_array(value); }

static const char *read_text(const struct cursor *cursor, const char *key, size_t max)
{
    json_t *value = get(cursor, key, true, "a string", is_string);
    if (value == NULL)
        return "";
    if (json_string_length(value) == 0 || json_string_length(value) > max)
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %s has %zu bytes, not 1 to %zu", cursor->in, key,
                json_string_length(value), max);
    return json_string_value(value);
}

/* Reads a string of printable ASCII without blanks. */
static const char *read_word(const struct cursor *cursor, const char *key, size_t max)
{
    const char *text = read_text(cursor, key, max);
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~') {
            err_set(cursor->err, BERTH_BAD_DATA, "%s: %s has a character that no name has",
                    cursor->in, key);
            break;
        }
    return text;
}

static int64_t read_integer(const struct cursor *cursor, const char *key, bool needed,
                            int64_t absent, int64_t min, int64_t max)
{
    json_t *value = get(cursor, key, needed, "an integer", is_integer);
    if (value == NULL)
        return absent;
    int64_t number = json_integer_value(value);
    if (number < min || number > max)
        err_set(cursor->err, BERTH_BAD_DATA,
                "%s: %s is %" PRId64 ", not between %" PRId64 " and %" PRId64, cursor->in, key,
                number, min, max);
    return number;
}

/* Reads a number from RECORD_NUMBER_MIN to RECORD_NUMBER_MAX, or zero when zero_too; NAN when
 * absent. */
static double read_number(const struct cursor *cursor, const char *key, bool needed, bool zero_too)
{
    json_t *value = get(cursor, key, needed, "a number", is_number);
    if (value == NULL)
        return NAN;
    double number = json_number_value(value);
    if ((number < RECORD_NUMBER_MIN && !(zero_too && number == 0)) || number > RECORD_NUMBER_MAX)
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %s is %g, not %sbetween %g and %g", cursor->in,
                key, number, zero_too ? "0 or " : "", RECORD_NUMBER_MIN, RECORD_NUMBER_MAX);
    return number;
}

static void read_interval(const struct cursor *cursor, double value, const char *low_key,
                          const char *high_key, double *ret_low, double *ret_high)
{
    double low = read_number(cursor, low_key, false, true),
           high = read_number(cursor, high_key, false, true);
    if (isnan(low) != isnan(high))
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %s and %s come together or not at all",
                cursor->in, low_key, high_key);
    if (low > value || high < value)
        err_set(cursor->err, BERTH_BAD_DATA, "%s: the interval %g to %g excludes its value %g",
                cursor->in, low, high, value);
    *ret_low = low;
    *ret_high = high;
}

static uint32_t read_repetitions(const struct cursor *cursor, const char *key)
{
    return (uint32_t)read_integer(cursor, key, false, 0, 1, RECORD_REPETITIONS_MAX);
}

static enum metric read_metric(const struct cursor *cursor)
{
    enum metric metric = 0;
    const char *name = read_word(cursor, "metric", RECORD_PLACE_MAX);
    if (cursor->err->code == BERTH_OK && !metric_parse(name, &metric))
        err_set(cursor->err, BERTH_BAD_DATA, "%s: there is no metric %s", cursor->in, name);
    return metric;
}

/* Writes the record's axes as canonical text; bytes above 0 is one more axis. */
static void read_axes(const struct cursor *cursor, enum metric metric, int64_t bytes, char *buffer,
                      size_t size)
{
    const char *text[2 * (AXES_MAX + 1)];
    char numbers[AXES_MAX + 1][24];
    size_t count = 0;
    const char *key;
    json_t *value;
    json_t *axes = get(cursor, "axes", false, "an object", is_object);
    if (json_object_size(axes) > AXES_MAX) {
        err_set(cursor->err, BERTH_BAD_DATA, "%s: more than %d axes", cursor->in, AXES_MAX);
        return;
    }
    json_object_foreach(axes, key, value)
    {
        text[2 * count] = key;
        text[2 * count + 1] = numbers[count];
        if (json_is_string(value))
            text[2 * count + 1] = json_string_value(value);
        else if (json_is_integer(value) && json_integer_value(value) >= 0)
            snprintf(numbers[count], sizeof numbers[count], "%" JSON_INTEGER_FORMAT,
                     json_integer_value(value));
        else
            err_set(cursor->err, BERTH_BAD_DATA,
                    "%s: axis %.40s is neither a string nor a whole number", cursor->in, key);
        count++;
    }
    if (bytes > 0) {
        snprintf(numbers[count], sizeof numbers[count], "%" PRId64, bytes);
        text[2 * count] = "bytes";
        text[2 * count + 1] = numbers[count];
        count++;
    }
    if (cursor->err->code == BERTH_OK)
        axes_canonical(metric, text, count, buffer, size, cursor->err);
}

static json_t *read_conditions(const struct cursor *cursor)
{
    json_t *conditions = get(cursor, "conditions", false, "an object", is_object);
    if (json_object_size(conditions) > CONDITIONS_MAX)
        err_set(cursor->err, BERTH_BAD_DATA, "%s: more than %d conditions", cursor->in,
                CONDITIONS_MAX);
    const char *key;
    json_t *value;
    json_object_foreach(conditions, key, value) if (json_is_object(value) || json_is_array(value))
        err_set(cursor->err, BERTH_BAD_DATA, "%s: condition %.40s is not one value", cursor->in,
                key);
    return conditions;
}

static void read_run(const struct cursor *cursor, struct record *record)
{
    read_integer(cursor, "schema", true, RECORD_SCHEMA, RECORD_SCHEMA, RECORD_SCHEMA);
    record->run.probe = read_word(cursor, "probe", NAME_MAX_LENGTH);
    record->run.backend = read_word(cursor, "backend", NAME_MAX_LENGTH);
    record->run.started_at = read_integer(cursor, "started_at", true, 0, 0, YEAR_9999);
    record->run.source = VALUE_MEASURED;
    if (json_object_get(cursor->object, "source") != NULL) {
        const char *source = read_word(cursor, "source", NAME_MAX_LENGTH);
        if (cursor->err->code == BERTH_OK && !value_source_parse(source, &record->run.source))
            err_set(cursor->err, BERTH_BAD_DATA,
                    "%s: source is %s, not measured, nominal or published", cursor->in, source);
    }
    record->run.conditions = read_conditions(cursor);
}

static void read_samples(const struct cursor *cursor, json_t *samples, struct record *record)
{
    size_t count = json_array_size(samples);
    if (count == 0 || count > SAMPLES_MAX) {
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %zu samples, not 1 to %d", cursor->in, count,
                SAMPLES_MAX);
        return;
    }
    record->value.samples = calloc(count, sizeof *record->value.samples);
    if (record->value.samples == NULL) {
        err_set(cursor->err, BERTH_NO_MEMORY, "out of memory for %zu samples", count);
        return;
    }
    record->value.sample_count = count;
    for (size_t i = 0; i < count; i++) {
        struct cursor at = {json_array_get(samples, i), "sample", cursor->err};
        struct record_sample *sample = &record->value.samples[i];
        if (!json_is_object(at.object))
            err_set(cursor->err, BERTH_BAD_DATA, "sample: not an object");
        sample->bytes = read_integer(&at, "bytes", true, 0, 1, BYTES_MAX);
        if (i > 0 && sample->bytes <= sample[-1].bytes)
            err_set(cursor->err, BERTH_BAD_DATA, "sample: bytes do not ascend at %" PRId64,
                    sample->bytes);
        sample->median_ns = read_number(&at, "median_ns", true, false);
        read_interval(&at, sample->median_ns, "low_ns", "high_ns", &sample->low_ns,
                      &sample->high_ns);
        sample->n = read_repetitions(&at, "n");
    }
}

/* Reads the start-up times. True when there is any. */
static bool read_t0(const struct cursor *cursor, struct record *record)
{
    bool has_t0 = false;
    for (int clock = 0; clock < TRANSFER_CLOCKS; clock++) {
        record->value.t0_ns[clock] =
            read_number(cursor, transfer_clock_key((enum transfer_clock)clock), false, false);
        has_t0 = has_t0 || !isnan(record->value.t0_ns[clock]);
    }
    double call_ns = record->value.t0_ns[TRANSFER_CALL];
    read_interval(cursor, call_ns, "t0_call_low_ns", "t0_call_high_ns",
                  &record->value.t0_call_low_ns, &record->value.t0_call_high_ns);
    record->value.t0_call_n = read_repetitions(cursor, "t0_call_n");
    if (isnan(call_ns) && (!isnan(record->value.t0_call_low_ns) || record->value.t0_call_n > 0))
        err_set(cursor->err, BERTH_BAD_DATA,
                "%s: t0_call_low_ns, t0_call_high_ns and t0_call_n say nothing without t0_call_ns",
                cursor->in);
    return has_t0;
}

static void read_value(const struct cursor *cursor, struct record *record)
{
    record->value.metric = read_metric(cursor);
    record->value.from = read_word(cursor, "from", RECORD_PLACE_MAX);
    record->value.to = read_word(cursor, "to", RECORD_PLACE_MAX);
    bool has_t0 = read_t0(cursor, record);
    json_t *samples = get(cursor, "samples", false, "an array", is_array);
    record->value.value = read_number(cursor, "value", samples == NULL, false);
    read_interval(cursor, record->value.value, "low", "high", &record->value.low,
                  &record->value.high);
    record->value.n = read_repetitions(cursor, "n");
    if (cursor->err->code != BERTH_OK)
        return;
    read_axes(cursor, record->value.metric, 0, record->value.axes, sizeof record->value.axes);
    if (has_t0 && !transfer_is(record->value.metric))
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %s is no transfer and has no t0", cursor->in,
                metric_info(record->value.metric)->name);
    if (samples == NULL)
        return;
    char bytes[48];
    const char *unit = metric_info(record->value.metric)->unit;
    if (!isnan(record->value.value) || !isnan(record->value.low) || record->value.n != 0)
        err_set(cursor->err, BERTH_BAD_DATA, "%s: a value and samples exclude each other",
                cursor->in);
    else if (strcmp(unit, "ratio") == 0 ||
             metric_axis_default(record->value.metric, "bytes", bytes, sizeof bytes) == NULL)
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %s does not vary with bytes and has no samples",
                cursor->in, metric_info(record->value.metric)->name);
    else if (json_object_get(json_object_get(cursor->object, "axes"), "bytes") != NULL)
        err_set(cursor->err, BERTH_BAD_DATA, "%s: an axis bytes and samples exclude each other",
                cursor->in);
    else
        read_samples(cursor, samples, record);
}

static void read_flow(const struct cursor *at, enum metric metric, struct record_flow *flow)
{
    if (!json_is_object(at->object))
        err_set(at->err, BERTH_BAD_DATA, "flow: not an object");
    flow->from = read_word(at, "from", RECORD_PLACE_MAX);
    flow->to = read_word(at, "to", RECORD_PLACE_MAX);
    flow->bytes_per_s = read_number(at, "bytes_per_s", true, false);
    read_interval(at, flow->bytes_per_s, "low", "high", &flow->low, &flow->high);
    if (at->err->code == BERTH_OK)
        read_axes(at, metric, 0, flow->axes, sizeof flow->axes);
}

static void read_set(const struct cursor *cursor, struct record *record)
{
    record->set.metric = read_metric(cursor);
    json_t *flows = get(cursor, "flows", true, "an array", is_array);
    size_t count = json_array_size(flows);
    if (count == 0 || count > SETS_FLOWS_MAX) {
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %zu flows, not 1 to %d", cursor->in, count,
                SETS_FLOWS_MAX);
        return;
    }
    if (cursor->err->code == BERTH_OK &&
        strcmp(metric_info(record->set.metric)->unit, "bytes_per_s") != 0)
        err_set(cursor->err, BERTH_BAD_DATA, "%s: %s is no rate", cursor->in,
                metric_info(record->set.metric)->name);
    if (cursor->err->code != BERTH_OK)
        return;
    record->set.flows = calloc(count, sizeof *record->set.flows);
    if (record->set.flows == NULL)
        err_set(cursor->err, BERTH_NO_MEMORY, "out of memory for %zu flows", count);
    for (; record->set.flow_count < count && cursor->err->code == BERTH_OK;
         record->set.flow_count++)
        read_flow(
            &(struct cursor){json_array_get(flows, record->set.flow_count), "flow", cursor->err},
            record->set.metric, &record->set.flows[record->set.flow_count]);
}

static void read_skip(const struct cursor *cursor, struct record *record)
{
    record->skip.metric = read_metric(cursor);
    record->skip.from = read_word(cursor, "from", RECORD_PLACE_MAX);
    record->skip.to = read_word(cursor, "to", RECORD_PLACE_MAX);
    record->skip.why = read_text(cursor, "why", WHY_MAX_LENGTH);
    record->skip.flows = get(cursor, "flows", false, "an array", is_array);
    for (size_t i = 0; i < json_array_size(record->skip.flows); i++) {
        const struct cursor at = {json_array_get(record->skip.flows, i), "flow", cursor->err};
        read_word(&at, "from", RECORD_PLACE_MAX);
        read_word(&at, "to", RECORD_PLACE_MAX);
    }
    if (cursor->err->code == BERTH_OK)
        read_axes(cursor, record->skip.metric, 0, record->skip.axes, sizeof record->skip.axes);
}

const char *const record_findings[] = {"wrong-bytes", "gpu-lost", NULL};

static void read_finding(const struct cursor *cursor, struct record *record)
{
    record->finding.code = read_word(cursor, "code", NAME_MAX_LENGTH);
    record->finding.from = read_word(cursor, "from", RECORD_PLACE_MAX);
    record->finding.to = read_word(cursor, "to", RECORD_PLACE_MAX);
    record->finding.why = read_text(cursor, "why", WHY_MAX_LENGTH);
    for (size_t i = 0; record_findings[i] != NULL; i++)
        if (strcmp(record_findings[i], record->finding.code) == 0)
            return;
    err_set(cursor->err, BERTH_BAD_DATA, "%s: unknown code %s", cursor->in, record->finding.code);
}

static void read_load(const struct cursor *cursor, struct record *record)
{
    record->load.place = read_word(cursor, "place", RECORD_PLACE_MAX);
    record->load.throttle = "";
    if (json_object_get(cursor->object, "why") != NULL) {
        record->load.why = read_text(cursor, "why", WHY_MAX_LENGTH);
        return;
    }
    record->load.bytes_per_s = read_number(cursor, "bytes_per_s", true, false);
    record->load.flop_per_s = read_number(cursor, "flop_per_s", false, true);
    record->load.clock_mhz = read_number(cursor, "clock_mhz", false, true);
    record->load.power_w = read_number(cursor, "power_w", false, true);
    record->load.temperature_c = read_number(cursor, "temperature_c", false, true);
    if (json_object_get(cursor->object, "throttle") != NULL)
        record->load.throttle = read_word(cursor, "throttle", THROTTLE_MAX_LENGTH);
}

static void read_end(const struct cursor *cursor, struct record *record)
{
    static const char *const statuses[] = {"complete", "cancelled", "budget", "failed"};
    record->end.status = read_word(cursor, "status", NAME_MAX_LENGTH);
    record->end.elapsed_ns = read_integer(cursor, "elapsed_ns", true, 0, 0, INT64_MAX);
    record->end.conditions = read_conditions(cursor);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(record->end.status, statuses[i]) == 0)
            return;
    err_set(cursor->err, BERTH_BAD_DATA, "%s: unknown status %s", cursor->in, record->end.status);
}

static void read_device(const struct cursor *cursor, struct record *record)
{
    record->device.gpu = read_word(cursor, "gpu", RECORD_PLACE_MAX);
}

static void read_link(const struct cursor *cursor, struct record *record)
{
    record->link.from = read_word(cursor, "from", RECORD_PLACE_MAX);
    record->link.to = read_word(cursor, "to", RECORD_PLACE_MAX);
}

static void read_progress(const struct cursor *cursor, struct record *record)
{
    record->progress.total = read_integer(cursor, "total", true, 0, 0, COUNT_MAX);
    record->progress.done = read_integer(cursor, "done", true, 0, 0, record->progress.total);
    if (json_object_get(cursor->object, "cell") != NULL)
        record->progress.cell = read_text(cursor, "cell", CELL_MAX_LENGTH);
}

static const struct {
    const char *name;
    void (*read)(const struct cursor *cursor, struct record *record);
} kinds[] = {
    [RECORD_RUN] = {"run", read_run},
    [RECORD_DEVICE] = {"device", read_device},
    [RECORD_LINK] = {"link", read_link},
    [RECORD_VALUE] = {"value", read_value},
    [RECORD_SET] = {"set", read_set},
    [RECORD_SKIP] = {"skip", read_skip},
    [RECORD_END] = {"end", read_end},
    [RECORD_PROGRESS] = {"progress", read_progress},
    [RECORD_FINDING] = {"finding", read_finding},
    [RECORD_LOAD] = {"load", read_load},
};

static void read_record(const struct cursor *cursor, struct record *record)
{
    const char *name = read_word(cursor, "record", NAME_MAX_LENGTH);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && cursor->err->code == BERTH_OK; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            struct cursor at = {cursor->object, kinds[i].name, cursor->err};
            record->kind = (enum record_kind)i;
            kinds[i].read(&at, record);
            return;
        }
    err_set(cursor->err, BERTH_BAD_DATA, "unknown record %s", name);
}

static json_t *load_line(const char *line, size_t length, struct berth_err *err)
{
    json_error_t at;
    if (length > RECORD_LINE_MAX) {
        err_set(err, BERTH_BAD_DATA, "a line of %zu bytes; at most %d are allowed", length,
                RECORD_LINE_MAX);
        return NULL;
    }
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &at);
    if (object == NULL && (json_error_code(&at) == json_error_out_of_memory ||
                           json_error_code(&at) == json_error_unknown))
        err_set(err, BERTH_NO_MEMORY, "out of memory for a record");
    else if (object == NULL)
        err_set(err, BERTH_BAD_DATA, "no JSON record at column %d: %.120s", at.column, at.text);
    else if (!json_is_object(object))
        err_set(err, BERTH_BAD_DATA, "a record is a JSON object");
    return object;
}

enum berth_code record_parse(const char *line, size_t length, struct record *ret_record,
                             struct berth_err *err)
{
    struct berth_err first = {0};
    struct record record = {.object = load_line(line, length, &first)};
    if (first.code == BERTH_OK)
        read_record(&(struct cursor){record.object, "record", &first}, &record);
    if (first.code == BERTH_OK) {
        *ret_record = record;
        return BERTH_OK;
    }
    record_done(&record);
    if (err != NULL && err->code == BERTH_OK)
        *err = first;
    return first.code;
}

void record_done(struct record *record)
{
    if (record->object != NULL && record->kind == RECORD_VALUE)
        free(record->value.samples);
    if (record->object != NULL && record->kind == RECORD_SET)
        free(record->set.flows);
    json_decref(record->object);
    *record = (struct record){0};
}

enum berth_code record_axes(const struct record *record, enum metric metric, int64_t bytes,
                            char *ret_axes, size_t size, struct berth_err *err)
{
    struct berth_err first = {0};
    read_axes(&(struct cursor){record->object, "value", &first}, metric, bytes, ret_axes, size);
    return first.code == BERTH_OK ? BERTH_OK : err_set(err, first.code, "%s", first.detail);
}
