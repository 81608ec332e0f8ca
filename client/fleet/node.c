/* Parser of a node's files: name, hardware, conditions, and its measured values. Everything in them
 * is hostile. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/inner.h"
#include "fleet/known.h"
#include "fleet/spread.h"
#include "ui/answer.h"

#define LINE_MAX_BYTES 65536
#define WHOLE_MAX      (16 << 20)  /* of node.json and topology.xml */
#define FILE_MAX       (256 << 20) /* of files that are read by lines */
#define LINES_MAX      1000000
#define MODELS_MAX     16
#define NUMBER_MIN     1e-9
#define NUMBER_MAX     1e18
#define YEAR_9999      INT64_C(253402300799)
#define SIGMAS_95      1.959964

/* Reads lines of a part. */
struct lines {
    struct fleet_part part;
    char *buffer; /* 2 LINE_MAX_BYTES */
    size_t begin, end;
    size_t number; /* of the last line */
};

static bool fill(struct lines *lines)
{
    size_t room;
    memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
    lines->end -= lines->begin;
    lines->begin = 0;
    room = (size_t)2 * LINE_MAX_BYTES - lines->end;
    if ((int64_t)room > lines->part.size)
        room = (size_t)lines->part.size;
    ssize_t got = pread(lines->part.fd, lines->buffer + lines->end, room, lines->part.at);
    if (got <= 0)
        return false;
    lines->end += (size_t)got;
    lines->part.at += got;
    lines->part.size -= got;
    return true;
}

/* Returns the next line and its length; NULL at the end. The rest of a longer line is lost, and its
 * length is LINE_MAX_BYTES. */
static const char *next_line(struct lines *lines, size_t *ret_length)
{
    const char *stop;
    size_t length;
    bool is_long = false;
    while ((stop = memchr(lines->buffer + lines->begin, '\n', lines->end - lines->begin)) == NULL) {
        if (lines->end - lines->begin >= LINE_MAX_BYTES) {
            is_long = true;
            lines->begin = lines->end;
        }
        if (!fill(lines))
            break;
    }
    if (stop == NULL && lines->begin == lines->end && !is_long)
        return NULL;
    const char *line = lines->buffer + lines->begin;
    length = stop != NULL ? (size_t)(stop - line) : lines->end - lines->begin;
    lines->begin += length + (stop != NULL);
    lines->number++;
    *ret_length = is_long || length > LINE_MAX_BYTES ? LINE_MAX_BYTES : length;
    return line;
}

/* A node as it is read. */
struct parsing {
    struct fleet *fleet;
    struct fleet_node *node;
    struct fleet_known *known;
    const char *path;
    size_t bad, bad_line; /* lines that are no records, and the first of them */
    const char *why;
    bool is_measured, is_baseline, has_end, is_refused;
    FILE *text; /* lines for a data lake, or NULL */
    json_t *conditions;
    int64_t at_s;
    char model[MODELS_MAX][FLEET_TEXT_MAX + 1];
    unsigned times[MODELS_MAX];
    size_t models;
};

/* Reads a whole small part as text, to be freed. NULL when there is none. */
static char *whole(struct parsing *parsing, const struct fleet_part *part, const char *name)
{
    if (part->fd < 0)
        return NULL;
    if (part->size > WHOLE_MAX) {
        fleet_leave_out(parsing->fleet, parsing->path, "%s has more than 16 MiB", name);
        return NULL;
    }
    char *text = malloc((size_t)part->size + 1);
    int64_t have = 0;
    ssize_t got;
    while (text != NULL && have < part->size &&
           (got = pread(part->fd, text + have, (size_t)(part->size - have), part->at + have)) > 0)
        have += got;
    if (text != NULL)
        text[have] = '\0';
    return text;
}

/* Copies text clean and without spaces at its end; NULL when out of memory. */
static char *clean_copy(const char *text)
{
    char clean[FLEET_TEXT_MAX + 1];
    ui_clean(clean, sizeof clean, text);
    for (size_t length = strlen(clean); length > 0 && clean[length - 1] == ' ';)
        clean[--length] = '\0';
    return strdup(clean);
}

static void add_condition(struct fleet_node *node, const char *name, const char *value)
{
    if (node->condition_count == FLEET_CONDITIONS || fleet_condition_of(node, name) != NULL)
        return;
    struct fleet_condition condition = {clean_copy(name), clean_copy(value)};
    if (condition.name != NULL && condition.value != NULL) {
        node->condition[node->condition_count++] = condition;
        return;
    }
    free(condition.name);
    free(condition.value);
}

/* Adds the texts of an object; reasons why something is missing are none. */
static void add_conditions(struct fleet_node *node, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        size_t length = strlen(name);
        if (json_is_string(value) && strcmp(name, "shapes") != 0 && strcmp(name, "hwloc") != 0 &&
            !(length > 4 && strcmp(name + length - 4, "_why") == 0))
            add_condition(node, name, json_string_value(value));
    }
}

static void set_name(struct fleet_node *node, const char *name)
{
    char *copy = *name != '\0' && strlen(name) <= FLEET_NAME_MAX ? clean_copy(name) : NULL;
    if (copy == NULL)
        return;
    free(node->name);
    node->name = copy;
}

static void set_fingerprint(struct fleet_node *node, const char *text)
{
    if (strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32)
        strcpy(node->fingerprint, text);
}

static bool parse_node_json(struct parsing *parsing, const struct fleet_part *part)
{
    char *text = whole(parsing, part, "node.json");
    json_t *root = text == NULL ? NULL : json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool is_object = json_is_object(root);
    set_name(parsing->node, ui_member(root, "name"));
    set_fingerprint(parsing->node, ui_member(root, "fingerprint"));
    add_conditions(parsing->node, json_object_get(root, "software"));
    json_decref(root);
    free(text);
    return is_object;
}

static void add_model(struct parsing *parsing, const char *name)
{
    char *clean = clean_copy(name);
    size_t at = 0;
    while (clean != NULL && at < parsing->models && strcmp(parsing->model[at], clean) != 0)
        at++;
    if (clean != NULL && at < MODELS_MAX && *clean != '\0') {
        strcpy(parsing->model[at], clean);
        parsing->times[at]++;
        parsing->models += at == parsing->models;
    }
    free(clean);
}

static void parse_fact(struct parsing *parsing, const json_t *root)
{
    if (strcmp(ui_member(root, "record"), "device") == 0 && *ui_member(root, "model") != '\0')
        add_model(parsing, ui_member(root, "model"));
    if (strcmp(ui_member(root, "record"), "run") == 0)
        add_conditions(parsing->node, json_object_get(root, "conditions"));
}

/* Finds the next <info name="NAME" value="..."/> of an hwloc XML and copies its value, with no
 * entities resolved. Returns the text behind it, or NULL. */
static const char *next_info(const char *text, const char *name, char value[FLEET_TEXT_MAX + 1])
{
    char key[64];
    snprintf(key, sizeof key, "name=\"%s\" value=\"", name);
    const char *found = strstr(text, key);
    if (found == NULL)
        return NULL;
    found += strlen(key);
    size_t length = strcspn(found, "\"");
    snprintf(value, FLEET_TEXT_MAX + 1, "%.*s",
             length > FLEET_TEXT_MAX ? FLEET_TEXT_MAX : (int)length, found);
    return found + length;
}

static void parse_topology(struct parsing *parsing, const struct fleet_part *part)
{
    static const char *const infos[][2] = {
        {"DMIBIOSVersion", "bios"}, {"DMIProductName", "product"}, {"DMIBoardName", "board"}};
    char value[FLEET_TEXT_MAX + 1], *text = whole(parsing, part, "topology.xml");
    if (text == NULL)
        return;
    for (const char *at = text; (at = next_info(at, "CPUModel", value)) != NULL;)
        add_model(parsing, value);
    for (size_t i = 0; i < sizeof infos / sizeof infos[0]; i++)
        if (next_info(text, infos[i][0], value) != NULL)
            add_condition(parsing->node, infos[i][1], value);
    free(text);
}

static void print_models(struct parsing *parsing)
{
    struct ui text = {0};
    for (size_t i = 0; i < parsing->models; i++)
        ui_put(&text, "%s%u x %s", i > 0 ? ", " : "", parsing->times[i], parsing->model[i]);
    if (!text.failed && text.text != NULL) {
        free(parsing->node->models);
        parsing->node->models = text.text;
    }
}

static bool is_number(double value) { return value >= NUMBER_MIN && value <= NUMBER_MAX; }

/* Adds a value to the node; own is its standard deviation. Returns the reason why not, or NULL. */
static const char *add_value(struct fleet_node *node, uint32_t series, bool higher_is_better,
                             double x, double own)
{
    if (series == FLEET_SERIES_NONE)
        return "all nodes have more than a million series";
    if (node->count == node->room) {
        size_t room = node->room == 0 ? 2048 : 2 * node->room;
        struct fleet_value *more =
            room <= FLEET_VALUES_MAX ? realloc(node->value, room * sizeof *more) : NULL;
        if (more == NULL)
            return "the node has more than 65,536 values";
        node->value = more;
        node->room = room;
    }
    node->value[node->count++] = (struct fleet_value){series, (float)(higher_is_better ? -x : x),
                                                      isfinite(own) ? (float)own : 0};
    return NULL;
}

/* Finds the series of a line. Returns the reason why it has none, or NULL. */
static const char *find_series(struct parsing *parsing, const struct fleet_metric *metric,
                               const json_t *root, uint32_t *ret_series)
{
    char axes[FLEET_AXES_MAX];
    const char *from = ui_member(root, "from"), *to = ui_member(root, "to");
    if (strlen(from) >= FLEET_PLACE_MAX || strlen(to) >= FLEET_PLACE_MAX || *from == '\0' ||
        *to == '\0')
        return "a place has no name of 1 to 64 bytes";
    if (!fleet_axes(metric, json_object_get(root, "axes"), axes))
        return "its axes are not those of the metric";
    *ret_series = fleet_series_add(parsing->fleet->series, metric, from, to, axes);
    return NULL;
}

/* Writes a value as a line for a data lake. */
static void put_line(struct parsing *parsing, json_t *root)
{
    const struct fleet_node *node = parsing->node;
    json_object_del(root, "record");
    json_t *line = json_pack("{s:s, s:s}", "node", node->name, "fingerprint", node->fingerprint);
    bool ok = line != NULL && json_object_update(line, root) == 0 &&
              json_object_set_new(line, "time", json_integer(parsing->at_s)) == 0 &&
              json_object_set(line, "conditions", parsing->conditions) == 0 &&
              json_dumpf(line, parsing->text, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 &&
              fputc('\n', parsing->text) == '\n';
    json_decref(line);
    if (!ok) {
        pthread_mutex_lock(&parsing->fleet->lock);
        parsing->fleet->failed = true;
        pthread_mutex_unlock(&parsing->fleet->lock);
    }
}

static const char *add_interval(struct fleet_node *node, const struct fleet_known_value *read)
{
    bool has_interval = !isnan(read->low) && !isnan(read->high);
    if (!is_number(read->value))
        return "its value is no measured number";
    if (has_interval && !(is_number(read->low) && is_number(read->high) &&
                          read->low <= read->value && read->value <= read->high))
        return "its interval does not contain the value";
    return add_value(node, read->series, read->higher_is_better, log(read->value),
                     has_interval ? log(read->high / read->low) / 2 / SIGMAS_95 : 0);
}

/* Adds the median of a baseline's samples, and reorders them. */
static const char *add_samples(struct fleet_node *node, struct fleet_known_value *read)
{
    for (size_t i = 0; i < read->samples; i++)
        if (!is_number(read->sample[i]))
            return "its value is no measured number";
    struct spread spread = spread_of(read->sample, read->samples);
    read->value = spread.median;
    /* the standard deviation of a median of normal noise, Kenney and Keeping 1962 */
    double own = read->samples < 3
                     ? 0
                     : spread.deviation / spread.median * sqrt(M_PI / 2 / (double)read->samples);
    return add_value(node, read->series, read->higher_is_better, log(spread.median), own);
}

static const char *parse_value(struct parsing *parsing, json_t *root, const char *line,
                               size_t length)
{
    const struct fleet_metric *metric = fleet_metric_find(ui_member(root, "metric"));
    if (metric == NULL || !parsing->is_measured || json_object_get(root, "samples") != NULL)
        return NULL; /* a newer berth's, nominal or published, a curve */
    struct fleet_known_value read = {
        .higher_is_better = metric->higher_is_better,
        .value = ui_member_number(root, "value"),
        .low = ui_member_number(root, "low"),
        .high = ui_member_number(root, "high"),
    };
    const char *why = find_series(parsing, metric, root, &read.series);
    if (why == NULL)
        why = add_interval(parsing->node, &read);
    if (why == NULL)
        fleet_known_learn(parsing->known, line, length, read.series, read.higher_is_better);
    if (why == NULL && parsing->text != NULL)
        put_line(parsing, root);
    return why;
}

static const char *parse_run(struct parsing *parsing, const json_t *root)
{
    const char *source = ui_member(root, "source");
    int64_t at = json_integer_value(json_object_get(root, "started_at"));
    if (at < 0 || at > YEAR_9999)
        return "started_at is no time";
    parsing->is_measured = *source == '\0' || strcmp(source, "measured") == 0;
    parsing->at_s = at;
    if (at > parsing->node->at_s)
        parsing->node->at_s = at;
    add_conditions(parsing->node, json_object_get(root, "conditions"));
    return NULL;
}

static const char *parse_measurement(struct parsing *parsing, json_t *root, const char *line,
                                     size_t length)
{
    const char *record = ui_member(root, "record");
    return *record == '\0'                ? "it is no record"
           : strcmp(record, "value") == 0 ? parse_value(parsing, root, line, length)
           : strcmp(record, "run") == 0   ? parse_run(parsing, root)
                                          : NULL;
}

/* Parses each line of a part. parse returns the reason why a line counts not, or NULL. */
static void each_line(struct parsing *parsing, const struct fleet_part *part,
                      const char *(*parse)(struct parsing *parsing, json_t *root, const char *line,
                                           size_t length))
{
    struct lines lines = {.part = *part, .buffer = malloc((size_t)2 * LINE_MAX_BYTES)};
    const char *line, *why;
    size_t length;
    while (lines.buffer != NULL && (line = next_line(&lines, &length)) != NULL) {
        json_t *root = NULL;
        struct fleet_known_value read;
        if (length == 0)
            continue;
        if (lines.number > LINES_MAX)
            why = "the file has more than a million lines";
        else if (parsing->text == NULL && parsing->is_measured &&
                 fleet_known_read(parsing->known, line, length, &read) &&
                 (read.samples > 0) == parsing->is_baseline)
            why = read.samples > 0 ? add_samples(parsing->node, &read)
                                   : add_interval(parsing->node, &read);
        else if (length >= LINE_MAX_BYTES)
            why = "the line has more than 65,536 bytes";
        else if ((root = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL)) == NULL)
            why = "it is no JSON object";
        else
            why = parse(parsing, root, line, length);
        json_decref(root);
        if (why != NULL && parsing->bad++ == 0) {
            parsing->bad_line = lines.number;
            parsing->why = why;
        }
        if (lines.number > LINES_MAX)
            break;
    }
    free(lines.buffer);
}

static const char *parse_fact_line(struct parsing *parsing, json_t *root, const char *line,
                                   size_t length)
{
    (void)line, (void)length;
    parse_fact(parsing, root);
    return NULL;
}

/* ---- baselines ---- */

static const char *parse_head(struct parsing *parsing, const json_t *root)
{
    if (json_integer_value(json_object_get(root, "schema")) != 1)
        return "it is no baseline of schema 1";
    if (json_object_get(root, "nodes") != NULL)
        return "it is the baseline of a class of nodes";
    set_name(parsing->node, ui_member(root, "machine"));
    set_fingerprint(parsing->node, ui_member(root, "fingerprint"));
    parsing->at_s = parsing->node->at_s = json_integer_value(json_object_get(root, "written_at_s"));
    return NULL;
}

static const char *parse_expected(struct parsing *parsing, json_t *root, const char *line,
                                  size_t length)
{
    const json_t *values = json_object_get(root, "values");
    const struct fleet_metric *metric = fleet_metric_find(ui_member(root, "metric"));
    struct fleet_known_value read = {.samples = json_array_size(values)};
    if (read.samples == 0 || read.samples > FLEET_KNOWN_SAMPLES)
        return "values is no array of 1 to 16 numbers";
    for (size_t i = 0; i < read.samples; i++)
        read.sample[i] = json_number_value(json_array_get(values, i));
    if (metric == NULL) /* a newer berth's */
        return NULL;
    read.higher_is_better = metric->higher_is_better;
    const char *why = find_series(parsing, metric, root, &read.series);
    if (why == NULL)
        why = add_samples(parsing->node, &read);
    if (why == NULL)
        fleet_known_learn(parsing->known, line, length, read.series, read.higher_is_better);
    if (why == NULL && parsing->text != NULL) {
        json_object_del(root, "values");
        json_object_del(root, "accepted");
        json_object_del(root, "begun_s");
        json_object_set_new(root, "value", json_real(read.value));
        put_line(parsing, root);
    }
    return why;
}

static const char *parse_end(struct parsing *parsing)
{
    parsing->has_end = true;
    return NULL;
}

static const char *parse_baseline(struct parsing *parsing, json_t *root, const char *line,
                                  size_t length)
{
    const char *record = ui_member(root, "record");
    return strcmp(record, "baseline") == 0   ? parse_head(parsing, root)
           : strcmp(record, "expected") == 0 ? parse_expected(parsing, root, line, length)
           : strcmp(record, "place") == 0    ? NULL
           : strcmp(record, "end") == 0      ? parse_end(parsing)
                                             : "it is no record of a baseline";
}

/* ---- both ---- */

static bool begin(struct parsing *parsing, struct fleet *fleet, struct fleet_known *known,
                  const char *name, const char *path)
{
    struct fleet_node *node = calloc(1, sizeof *node);
    *parsing = (struct parsing){
        .fleet = fleet, .known = known, .path = path, .node = node, .is_measured = true};
    fleet_known_rewind(known);
    if (node == NULL)
        return false;
    node->name = clean_copy(name);
    node->models = strdup("unknown models");
    return node->name != NULL && node->models != NULL;
}

/* Opens the text of lines where they are wanted. */
static bool begin_lines(struct parsing *parsing, char **text, size_t *length)
{
    const struct fleet_node *node = parsing->node;
    if (parsing->fleet->settings.lines == NULL)
        return true;
    parsing->text = open_memstream(text, length);
    parsing->conditions = json_object();
    bool ok = parsing->text != NULL && parsing->conditions != NULL;
    for (size_t i = 0; ok && i < node->condition_count; i++)
        ok = json_object_set_new(parsing->conditions, node->condition[i].name,
                                 json_string(node->condition[i].value)) == 0;
    return ok;
}

static void end(struct parsing *parsing, bool ok, char **text, const size_t *length)
{
    struct fleet *fleet = parsing->fleet;
    if (parsing->text != NULL && fclose(parsing->text) != 0)
        ok = false;
    json_decref(parsing->conditions);
    if (ok && *text != NULL && !parsing->is_refused) { /* one node after the other */
        pthread_mutex_lock(&fleet->lock);
        fwrite(*text, 1, *length, fleet->settings.lines);
        pthread_mutex_unlock(&fleet->lock);
    }
    free(*text);
    if (!ok)
        fleet_leave_out(fleet, parsing->path, "out of memory");
    else if (parsing->is_refused && parsing->bad == 0)
        fleet_leave_out(fleet, parsing->path, "it is cut off: the end record is missing");
    else if (parsing->is_refused)
        fleet_leave_out(fleet, parsing->path, "line %zu: %s", parsing->bad_line, parsing->why);
    else if (parsing->bad > 0)
        fleet_leave_out(fleet, parsing->path, "%zu line%s left out, the first is line %zu: %s",
                        parsing->bad, parsing->bad == 1 ? " is" : "s are", parsing->bad_line,
                        parsing->why);
    if (ok && !parsing->is_refused)
        fleet_add(fleet, parsing->node, parsing->path);
    else
        fleet_node_free(parsing->node);
}

/* Leaves out a node with a file beyond the limit: a sparse one takes no room, but hours. */
static bool is_too_large(struct fleet *fleet, const struct fleet_part *part, const char *path,
                         const char *name, int64_t most)
{
    if (part->size <= most)
        return false;
    fleet_leave_out(fleet, path, "%s has more than %lld MiB; the node is left out", name,
                    (long long)most >> 20);
    return true;
}

void fleet_parse_node(struct fleet *fleet, struct fleet_known *known,
                      const struct fleet_part part[FLEET_FILES], const char *name, const char *path)
{
    struct parsing parsing;
    char *text = NULL;
    size_t length = 0;
    if (is_too_large(fleet, &part[FLEET_NODE], path, "node.json", WHOLE_MAX) ||
        is_too_large(fleet, &part[FLEET_MEASUREMENTS], path, "measurements.jsonl", FILE_MAX) ||
        is_too_large(fleet, &part[FLEET_FACTS], path, "facts.jsonl", FILE_MAX))
        return;
    bool ok = begin(&parsing, fleet, known, name, path);
    if (ok && !parse_node_json(&parsing, &part[FLEET_NODE])) {
        fleet_leave_out(fleet, path, "node.json is no JSON object");
        fleet_node_free(parsing.node);
        return;
    }
    if (ok && part[FLEET_FACTS].fd >= 0)
        each_line(&parsing, &part[FLEET_FACTS], parse_fact_line);
    parsing.bad = 0; /* of facts: what they lack is no value */
    if (ok)
        parse_topology(&parsing, &part[FLEET_TOPOLOGY]);
    if (ok)
        print_models(&parsing);
    ok = ok && begin_lines(&parsing, &text, &length);
    if (ok && part[FLEET_MEASUREMENTS].fd >= 0)
        each_line(&parsing, &part[FLEET_MEASUREMENTS], parse_measurement);
    end(&parsing, ok, &text, &length);
}

void fleet_parse_baseline(struct fleet *fleet, struct fleet_known *known,
                          const struct fleet_part *part, const char *path)
{
    struct parsing parsing;
    char name[FLEET_NAME_MAX + 1], *text = NULL;
    size_t length = 0;
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    if (is_too_large(fleet, part, path, "it", FILE_MAX))
        return;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
    bool ok = begin(&parsing, fleet, known, name, path) && begin_lines(&parsing, &text, &length);
    parsing.is_baseline = true;
    if (ok)
        each_line(&parsing, part, parse_baseline);
    parsing.is_refused = parsing.bad > 0 || !parsing.has_end; /* it counts whole or not at all */
    end(&parsing, ok, &text, &length);
}
