#include "measure/baseline_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/print.h"
#include "node/jsonify.h"

#define SCHEMA      1
#define FILE_MAX    (INT64_C(256) << 20)
#define LINE_SIZE   8192
#define RECORDS_MAX 1000000
#define AXES_MAX    16
#define NUMBER_MIN  1e-9 /* limits of a measurement: node/record.c */
#define NUMBER_MAX  1e18
#define YEAR_9999   INT64_C(253402300799)

/* ---- writing ---- */

static void print_text(struct print *line, const char *key, const char *text)
{
    print_key(line, key);
    print_string(line, text != NULL ? text : "");
}

static void print_number(struct print *line, const char *key, int64_t number)
{
    print_key(line, key);
    print_integer(line, number);
}

/* Begins a line; put_line ends it. */
static void begin_line(struct print *line, const char *record)
{
    print_clear(line);
    print_open(line, '{');
    print_text(line, "record", record);
}

static bool put_line(FILE *file, struct print *line)
{
    print_close(line, '}');
    print_bytes(line, "\n", 1);
    if (line->failed)
        errno = ENOMEM;
    return !line->failed && fwrite(line->data, 1, line->length, file) == line->length;
}

static bool put_series(FILE *file, struct print *line, const struct graph *graph,
                       const struct baseline_set *set, size_t i)
{
    const struct value *key = &set->values->item[i];
    begin_line(line, "expected");
    print_text(line, "metric", metric_info(key->metric)->name);
    print_text(line, "from", graph_place(graph, key->from)->name);
    print_text(line, "to", graph_place(graph, key->to)->name);
    print_key(line, "axes");
    jsonify_print_axes(line, key->metric, values_axes(set->values, key));
    print_number(line, "begun_s", set->baseline[i].begun_s);
    print_key(line, "accepted");
    print_bytes(line, set->baseline[i].accepted ? "true" : "false",
                set->baseline[i].accepted ? 4 : 5);
    print_key(line, "values");
    print_open(line, '[');
    for (size_t n = 0; n < set->baseline[i].count; n++)
        print_real(line, set->samples[i].value[n]);
    print_close(line, ']');
    return put_line(file, line);
}

static bool put_place(FILE *file, struct print *line, const struct expected_place *place)
{
    begin_line(line, "place");
    print_text(line, "kind", place->kind);
    print_text(line, "place", place->place);
    print_text(line, "identity", place->identity);
    print_text(line, "model", place->model);
    print_number(line, "seen_s", place->seen_s);
    return put_line(file, line);
}

struct contents {
    const struct graph *graph;
    const struct baseline_set *set;
    int64_t now_s;
};

static bool put_all(FILE *file, const void *arg)
{
    const struct contents *contents = arg;
    const struct graph *graph = contents->graph;
    const struct baseline_set *set = contents->set;
    struct print line;
    if (!print_init(&line, 1024)) {
        errno = ENOMEM;
        return false;
    }
    begin_line(&line, "baseline");
    print_number(&line, "schema", SCHEMA);
    print_text(&line, "machine", graph->name);
    print_text(&line, "fingerprint", graph->fingerprint);
    print_number(&line, "written_at_s", contents->now_s);
    bool ok = put_line(file, &line);
    size_t count = set->place_count;
    for (size_t i = 0; ok && i < set->place_count; i++)
        ok = put_place(file, &line, &set->place[i]);
    for (size_t i = 0; ok && i < set->values->count; i++) {
        if (set->baseline[i].count == 0) /* of a series whose values were all too uncertain */
            continue;
        ok = put_series(file, &line, graph, set, i);
        count++;
    }
    begin_line(&line, "end");
    print_number(&line, "count", (int64_t)count);
    ok = ok && put_line(file, &line);
    print_done(&line);
    return ok;
}

static void clean_name(const char *name, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", name != NULL && name[0] != '\0' ? name : "unnamed");
    for (char *c = buffer; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("-_.", *c) == NULL)
            *c = '_';
    if (buffer[0] == '.')
        buffer[0] = '_';
}

enum berth_code baseline_file_write(const char *folder, const struct graph *graph,
                                    const struct baseline_set *set, int64_t now_s, char *ret_path,
                                    size_t size, struct berth_err *err)
{
    char name[128], path[4352];
    const struct contents contents = {graph, set, now_s};
    clean_name(graph->name, name, sizeof name);
    snprintf(path, sizeof path, "%.4096s/%s.baseline", folder, name);
    enum berth_code code = files_replace(path, put_all, &contents, err);
    if (code == BERTH_OK)
        snprintf(ret_path, size, "%s", path);
    return code;
}

/* ---- reading ---- */

/* Reads one file. Keeps the first error; records after it do not count. */
struct reading {
    const struct graph *graph;
    struct baseline_set *set;
    bool begun, ended, same;
    int64_t records;
    json_t *line;
    struct berth_err err;
};

static void set_error(struct reading *reading, const char *what)
{
    if (reading->err.code == BERTH_OK)
        err_set(&reading->err, BERTH_BAD_DATA, "%s", what);
}

static const char *text_of(struct reading *reading, const char *key, size_t size)
{
    const json_t *value = json_object_get(reading->line, key);
    if (json_is_string(value) && json_string_length(value) < size)
        return json_string_value(value);
    char why[128];
    snprintf(why, sizeof why, "%s is no text of less than %zu bytes", key, size);
    set_error(reading, why);
    return "";
}

static int64_t integer_of(struct reading *reading, const char *key, int64_t max)
{
    const json_t *value = json_object_get(reading->line, key);
    int64_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= 0 && number <= max)
        return number;
    char why[128];
    snprintf(why, sizeof why, "%s is no integer from 0 to %lld", key, (long long)max);
    set_error(reading, why);
    return 0;
}

static void parse_head(struct reading *reading)
{
    if (integer_of(reading, "schema", INT32_MAX) != SCHEMA)
        set_error(reading, "it has another schema than 1");
    text_of(reading, "machine", 1024);
    reading->same = strcmp(text_of(reading, "fingerprint", 64), reading->graph->fingerprint) == 0;
    integer_of(reading, "written_at_s", YEAR_9999);
    reading->begun = true;
}

static void parse_place(struct reading *reading)
{
    struct expected_place place = {.seen_s = integer_of(reading, "seen_s", YEAR_9999)};
    enum place_kind kind;
    snprintf(place.kind, sizeof place.kind, "%s", text_of(reading, "kind", sizeof place.kind));
    snprintf(place.place, sizeof place.place, "%s", text_of(reading, "place", sizeof place.place));
    snprintf(place.identity, sizeof place.identity, "%s",
             text_of(reading, "identity", sizeof place.identity));
    snprintf(place.model, sizeof place.model, "%s", text_of(reading, "model", sizeof place.model));
    if (!place_kind_parse(place.kind, &kind) || place.identity[0] == '\0')
        set_error(reading, "it is no place");
    if (reading->err.code == BERTH_OK && !baseline_set_add_place(reading->set, &place))
        err_set(&reading->err, BERTH_NO_MEMORY, "no memory for places");
}

static void read_samples(struct reading *reading, struct baseline *baseline,
                         struct baseline_values *samples)
{
    const json_t *array = json_object_get(reading->line, "values"), *item;
    size_t i;
    if (!json_is_array(array) || json_array_size(array) == 0 ||
        json_array_size(array) > BASELINE_VALUES) {
        set_error(reading, "values is no array of 1 to 16 numbers");
        return;
    }
    json_array_foreach(array, i, item)
    {
        double value = json_number_value(item);
        if (!json_is_number(item) || !(value >= NUMBER_MIN && value <= NUMBER_MAX))
            set_error(reading, "values has something that is no measured number");
        samples->value[i] = value;
    }
    baseline->count = (uint8_t)json_array_size(array);
    baseline_compute(baseline, samples);
}

static void read_axes(struct reading *reading, enum metric metric, char *buffer, size_t size)
{
    json_t *axes = json_object_get(reading->line, "axes"), *value;
    const char *key, *text[2 * AXES_MAX];
    size_t count = 0;
    if (!json_is_object(axes) || json_object_size(axes) > AXES_MAX) {
        set_error(reading, "axes is no object of at most 16 members");
        return;
    }
    json_object_foreach(axes, key, value)
    {
        if (!json_is_string(value))
            set_error(reading, "axes has a member that is no text");
        text[2 * count] = key;
        text[2 * count++ + 1] = json_is_string(value) ? json_string_value(value) : "";
    }
    if (reading->err.code == BERTH_OK)
        axes_canonical(metric, text, count, buffer, size, &reading->err);
}

static void parse_expected(struct reading *reading)
{
    struct baseline baseline = {.begun_s = integer_of(reading, "begun_s", YEAR_9999)};
    struct baseline_values samples = {0};
    const json_t *accepted = json_object_get(reading->line, "accepted");
    char axes[512] = "";
    enum metric metric;
    bool is_known = metric_parse(text_of(reading, "metric", 128), &metric);
    place_id from = graph_find(reading->graph, text_of(reading, "from", 64)),
             to = graph_find(reading->graph, text_of(reading, "to", 64));
    if (!json_is_boolean(accepted))
        set_error(reading, "accepted is neither true nor false");
    baseline.accepted = json_is_true(accepted);
    read_samples(reading, &baseline, &samples);
    if (is_known)
        read_axes(reading, metric, axes, sizeof axes);
    if (reading->err.code != BERTH_OK || !reading->same || !is_known || from == PLACE_NONE ||
        to == PLACE_NONE)
        return;
    if (!baseline_set_add(reading->set, metric, from, to, axes, &baseline, &samples))
        err_set(&reading->err, BERTH_NO_MEMORY, "no memory for baselines");
}

static void parse_record(struct reading *reading)
{
    const char *record = text_of(reading, "record", 32);
    bool is_head = strcmp(record, "baseline") == 0;
    if (reading->ended || reading->begun == is_head) {
        set_error(reading, reading->ended ? "something follows the end record"
                           : is_head      ? "a second baseline record"
                                          : "a record before the baseline record");
    } else if (is_head) {
        parse_head(reading);
    } else if (strcmp(record, "end") == 0) {
        if (integer_of(reading, "count", RECORDS_MAX) != reading->records)
            set_error(reading, "it counts other records than there are");
        reading->ended = true;
    } else if (++reading->records > RECORDS_MAX) {
        set_error(reading, "too many records");
    } else if (strcmp(record, "place") == 0) {
        parse_place(reading);
    } else if (strcmp(record, "expected") == 0) {
        parse_expected(reading);
    } else {
        set_error(reading, "it is no record of this schema");
    }
}

static void parse_line(struct reading *reading, const char *line, size_t length)
{
    reading->line = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(reading->line))
        parse_record(reading);
    else
        set_error(reading, "it is no JSON object");
    json_decref(reading->line);
    reading->line = NULL;
}

static enum berth_code read_file(FILE *file, const char *path, struct reading *reading,
                                 struct berth_err *err)
{
    char line[LINE_SIZE];
    long number = 0;
    while (reading->err.code == BERTH_OK && fgets(line, sizeof line, file) != NULL) {
        /* a NUL byte ends the line early, so its JSON is incomplete */
        size_t length = strlen(line);
        number++;
        if (length + 1 == sizeof line && line[length - 1] != '\n')
            set_error(reading, "the line is too long");
        else
            parse_line(reading, line, length);
    }
    if (reading->err.code == BERTH_OK && ferror(file))
        return err_set_errno(err, BERTH_IO, errno, "%s", path);
    if (reading->err.code != BERTH_OK)
        return err_set(err, reading->err.code, "%s:%ld: %s", path, number, reading->err.detail);
    return reading->ended
               ? BERTH_OK
               : err_set(err, BERTH_BAD_DATA, "%s: it is cut off: the end record is missing", path);
}

/* Opens a regular file of limited size: a pipe or device must not block, a huge file must not fill
 * memory. */
static enum berth_code open_file(const char *path, FILE **ret_file, struct berth_err *err)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno == ENOENT ? BERTH_ABSENT : BERTH_IO, errno, "%s", path);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > FILE_MAX) {
        close(fd);
        return err_set(err, BERTH_BAD_DATA, "%s is no regular file of at most 256 MiB", path);
    }
    FILE *file = fdopen(fd, "r");
    if (file == NULL) {
        close(fd);
        return err_set(err, BERTH_NO_MEMORY, "no memory for %s", path);
    }
    *ret_file = file;
    return BERTH_OK;
}

/* Returns OK when the file could be imported, ABSENT when there is none. */
static enum berth_code try_file(const char *path, const struct graph *graph)
{
    struct berth_err why = {0};
    struct baseline_set set;
    FILE *file = NULL;
    enum berth_code code = open_file(path, &file, &why);
    if (code != BERTH_OK)
        return code;
    code = BERTH_NO_MEMORY;
    if (baseline_set_init(&set)) {
        struct reading reading = {.graph = graph, .set = &set};
        code = read_file(file, path, &reading, &why);
        baseline_set_done(&set);
    }
    fclose(file);
    return code;
}

enum berth_code baseline_file_keep(const char *folder, const struct graph *graph, int64_t now_s,
                                   struct berth_err *err)
{
    char name[128], path[4352], kept[4400];
    clean_name(graph->name, name, sizeof name);
    snprintf(path, sizeof path, "%.4096s/%s.baseline", folder, name);
    enum berth_code code = try_file(path, graph);
    if (code == BERTH_OK || code == BERTH_ABSENT)
        return BERTH_OK;
    if (code == BERTH_NO_MEMORY)
        return err_set(err, code, "no memory to read %s", path);
    snprintf(kept, sizeof kept, "%s.unreadable-%lld", path, (long long)now_s);
    /* a link, not a rename: the name exists until the next file replaces it */
    if (link(path, kept) != 0 && errno != EEXIST)
        return err_set_errno(err, BERTH_IO, errno, "%s cannot be read, and not be set aside", path);
    return BERTH_OK;
}

enum berth_code baseline_file_read(const char *folder, const struct graph *graph,
                                   struct baseline_set *set, bool *ret_same, struct berth_err *err)
{
    char name[128], path[4352];
    FILE *file = NULL;
    struct berth_err why = {0};
    clean_name(graph->name, name, sizeof name);
    snprintf(path, sizeof path, "%.4096s/%s.baseline", folder, name);
    enum berth_code code = open_file(path, &file, &why);
    if (code == BERTH_ABSENT) {
        why = (struct berth_err){0};
        snprintf(path, sizeof path, "%.4096s/%s.baseline", folder, graph->fingerprint);
        code = open_file(path, &file, &why);
    }
    if (code != BERTH_OK)
        return err_set(err, code, "%s", why.detail);
    struct reading reading = {.graph = graph, .set = set};
    code = read_file(file, path, &reading, err);
    fclose(file);
    if (code == BERTH_OK)
        *ret_same = reading.same;
    return code;
}
