#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum key_type { KEY_TEXT, KEY_BOOL, KEY_NUMBER, KEY_DECIMAL, KEY_OCTAL, KEY_WORD };

struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    int64_t low, high;   /* numbers; low of a text: TEXT_ABSOLUTE or 0 */
    const char *initial; /* WORD: all words, "a|b|c"; the first one is initial */
    const char *about;
};

#define TEXT_ABSOLUTE 1    /* an absolute path, or nothing */
#define TEXT_MAX      2048 /* a printed value fits a line again */
#define DECIMALS      6    /* most digits behind the point */

#define FIELD(name) offsetof(struct config, name)

static const struct key keys[] = {
    {"socket", KEY_TEXT, FIELD(socket), 0, 0, "/run/berth/berth.sock",
     "Unix socket to listen on when the service manager passes none"},
    {"socket_mode", KEY_OCTAL, FIELD(socket_mode), 0, 0777, "0666",
     "permissions of the socket, octal"},
    {"socket_group", KEY_TEXT, FIELD(socket_group), 0, 0, "",
     "group of the socket; empty: the daemon's"},
    {"admin_group", KEY_TEXT, FIELD(admin_group), 0, 0, "",
     "group that may start and cancel measurements, besides root and the daemon's user"},
    {"hwloc_file", KEY_TEXT, FIELD(hwloc_file), 0, 0, "hwloc.xml",
     "topology for hwloc in tasks; a name without / is beside the socket; empty: none"},
    {"state_dir", KEY_TEXT, FIELD(state_dir), 0, 0, "/var/lib/berth",
     "directory of berth.db; empty: keep nothing"},
    {"baseline", KEY_TEXT, FIELD(baseline), TEXT_ABSOLUTE, 0, "",
     "folder for import and export of baselines, for nodes without lasting state; empty: none"},
    {"store_journal", KEY_WORD, FIELD(store_journal), 0, 0, "auto|wal|rollback",
     "journal of berth.db: wal, or rollback with a lasting lock; auto: rollback on network file "
     "systems"},
    {"history_days", KEY_NUMBER, FIELD(history_days), 1, 36500, "90",
     "age in days up to which each measured value is kept; older days become medians"},
    {"daily_years", KEY_NUMBER, FIELD(daily_years), 0, 100, "2",
     "age in years up to which daily medians are kept"},
    {"probe_dir", KEY_TEXT, FIELD(probe_dir), 0, 0, "",
     "directory of the probes; empty: berthd's own, then the installed one"},
    {"node", KEY_TEXT, FIELD(node), 0, 0, "", "node folder to serve instead of this machine"},
    {"probe_at_start", KEY_BOOL, FIELD(probe_at_start), 0, 0, "yes",
     "measure at the first start after a boot"},
    {"quick_budget_ms", KEY_NUMBER, FIELD(quick_budget_ms), 100, 600000, "2800",
     "time for the quick profile of the CPU probe"},
    {"gpu_quick_budget_ms", KEY_NUMBER, FIELD(gpu_quick_budget_ms), 100, 600000, "5000",
     "time for the quick profile of the GPU probe, once the driver has started"},
    {"gpu_retry_s", KEY_NUMBER, FIELD(gpu_retry_s), 0, 86400, "60",
     "delay before GPUs that were in use are measured again, doubled up to 600 s; 0: never"},
    {"counters_s", KEY_NUMBER, FIELD(counters_s), 0, 86400, "600",
     "time between readings of error counters of PCIe, GPUs and NICs; 0: only at the start"},
    {"events_file", KEY_TEXT, FIELD(events_file), TEXT_ABSOLUTE, 0,
     "/run/berth-events/events.jsonl",
     "errors that the kernel logged, from berth-events.service; empty: none"},
    {"duty_percent", KEY_DECIMAL, FIELD(duty_percent), 0, 100, "0.1",
     "share of the time of a core, or of a copy engine, to measure old values again on an idle "
     "node; 0: never"},
    {"freshness_s", KEY_NUMBER, FIELD(freshness_s), 60, 86400 * 365, "14400",
     "age in seconds from which a value is measured again, as duty_percent allows"},
    {"measure_beside_jobs", KEY_BOOL, FIELD(measure_beside_jobs), 0, 0, "no",
     "measure old values of GPUs that nobody uses also while others use the node"},
    {"full_budget_s", KEY_NUMBER, FIELD(full_budget_s), 1, 86400, "1800",
     "time for the full profile of one probe"},
    {"probe_silence_s", KEY_NUMBER, FIELD(probe_silence_s), 1, 3600, "20",
     "silence after which a probe counts as hung and is killed"},
    {"drift_mads", KEY_NUMBER, FIELD(drift_mads), 1, 100, "6",
     "robust standard deviations of its baseline by which a value must be worse to be a finding"},
    {"drift_bandwidth_percent", KEY_NUMBER, FIELD(drift_bandwidth_percent), 0, 99, "2",
     "percentage by which a bandwidth must also be worse than its baseline; 0: not compared"},
    {"drift_latency_percent", KEY_NUMBER, FIELD(drift_latency_percent), 0, 99, "2",
     "the same for a memory latency"},
    {"drift_pingpong_percent", KEY_NUMBER, FIELD(drift_pingpong_percent), 0, 99, "30",
     "the same for transfers between cores"},
    {"peers_bandwidth_percent", KEY_NUMBER, FIELD(peers_bandwidth_percent), 0, 99, "20",
     "percentage by which a bandwidth must be worse than its peers to be a finding; 0: not "
     "compared"},
    {"peers_latency_percent", KEY_NUMBER, FIELD(peers_latency_percent), 0, 99, "20",
     "the same for a memory latency"},
    {"peers_pingpong_percent", KEY_NUMBER, FIELD(peers_pingpong_percent), 0, 99, "50",
     "the same for transfers between cores"},
    {"nominal_percent", KEY_NUMBER, FIELD(nominal_percent), 0, 99, "50",
     "percentage by which a value must be worse than nominal to be a finding; 0: not compared"},
    {"claim_ttl_max_s", KEY_NUMBER, FIELD(claim_ttl_max_s), 1, 86400 * 365, "604800",
     "longest time of a claim without renewal; longer requests are cut to it"},
    {"claim_ttl_user_max_s", KEY_NUMBER, FIELD(claim_ttl_user_max_s), 1, 86400 * 365, "3600",
     "longest time of an ordinary user's claim that no process or cgroup owns"},
    {"claims_per_user", KEY_NUMBER, FIELD(claims_per_user), 0, 100000, "64",
     "claims of one user; administrators are exempt"},
    {"claims_in_all", KEY_NUMBER, FIELD(claims_in_all), 1, 100000, "1024",
     "claims of all ordinary users, and as many of administrators"},
    {"waiting_claims_per_user", KEY_NUMBER, FIELD(waiting_claims_per_user), 0, 100000, "16",
     "profiling claims of one user that wait for their GPUs"},
    {"waiting_claims_in_all", KEY_NUMBER, FIELD(waiting_claims_in_all), 0, 100000, "256",
     "waiting claims of all ordinary users, and as many of administrators"},
    {"claim_resume_s", KEY_NUMBER, FIELD(claim_resume_s), 0, 3600, "10",
     "delay after the last claim before interrupted measuring begins again"},
    {"max_message_bytes", KEY_NUMBER, FIELD(max_message_bytes), 1024, 1 << 30, "1048576",
     "longest message of a client"},
    {"max_unsent_bytes", KEY_NUMBER, FIELD(max_unsent_bytes), 4096, 1 << 30, "262144",
     "unread replies of a client before it gets no more"},
    {"max_unsent_bytes_per_user", KEY_NUMBER, FIELD(max_unsent_bytes_per_user), 4096,
     INT64_C(1) << 40, "67108864", "the same over all connections of a user"},
    {"max_unsent_bytes_in_all", KEY_NUMBER, FIELD(max_unsent_bytes_in_all), 4096, INT64_C(1) << 40,
     "268435456",
     "the same over all connections; a user gets at most as much as remains for others"},
    {"max_input_bytes_per_user", KEY_NUMBER, FIELD(max_input_bytes_per_user), 0, INT64_C(1) << 40,
     "16777216", "buffers beyond 4 KiB a connection for a user's unanswered messages"},
    {"max_input_bytes_in_all", KEY_NUMBER, FIELD(max_input_bytes_in_all), 1 << 20, INT64_C(1) << 40,
     "67108864",
     "the same over all connections; a user gets at most as much as remains for others"},
    {"max_large_calls_per_user", KEY_NUMBER, FIELD(max_large_calls_per_user), 1, 1000, "2",
     "calls of a user on the thread pool at once; others wait"},
    {"max_connections", KEY_NUMBER, FIELD(max_connections), 1, 100000, "2048",
     "connections in all; root and the daemon's user get 16 more"},
    {"max_connections_per_user", KEY_NUMBER, FIELD(max_connections_per_user), 1, 100000, "512",
     "connections of one user; root is exempt"},
    {"max_queued_calls", KEY_NUMBER, FIELD(max_queued_calls), 1, 10000, "64",
     "pipelined calls of one connection"},
    {"idle_timeout_s", KEY_NUMBER, FIELD(idle_timeout_s), 0, 86400 * 365, "600",
     "close a connection without a pending call after this; 0: never"},
    {"unread_timeout_s", KEY_NUMBER, FIELD(unread_timeout_s), 1, 86400, "30",
     "close a connection that reads nothing this long while replies wait for it"},
    {"half_message_timeout_s", KEY_NUMBER, FIELD(half_message_timeout_s), 1, 3600, "10",
     "close a connection whose message stays unfinished this long"},
};
#define KEY_COUNT (sizeof keys / sizeof keys[0])

static char **text_field(struct config *config, const struct key *key)
{
    return (char **)((char *)config + key->offset);
}
static int64_t *number_field(struct config *config, const struct key *key)
{
    return (int64_t *)((char *)config + key->offset);
}
static double *decimal_field(struct config *config, const struct key *key)
{
    return (double *)(void *)((char *)config + key->offset);
}
static bool *bool_field(struct config *config, const struct key *key)
{
    return (bool *)((char *)config + key->offset);
}

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* Returns the key that shares the longest beginning, for "did you mean". */
static const char *nearest_key(const char *name)
{
    const char *best = keys[0].name;
    size_t best_length = 0;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        size_t same = 0;
        while (name[same] != '\0' && name[same] == keys[i].name[same])
            same++;
        if (same > best_length) {
            best_length = same;
            best = keys[i].name;
        }
    }
    return best_length >= 3 ? best : NULL;
}

static enum berth_code parse_number(const struct key *key, const char *value, int64_t *ret_number,
                                    struct berth_err *err)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, key->type == KEY_OCTAL ? 8 : 10);
    if (errno != 0 || end == value || *end != '\0' || number < key->low || number > key->high) {
        if (key->type == KEY_OCTAL)
            return err_set(err, BERTH_BAD_CONFIG,
                           "%s takes octal permissions up to 0777, not \"%.40s\"", key->name,
                           value);
        return err_set(err, BERTH_BAD_CONFIG, "%s takes a number from %lld to %lld, not \"%.40s\"",
                       key->name, (long long)key->low, (long long)key->high, value);
    }
    *ret_number = number;
    return BERTH_OK;
}

/* Parses digits with at most one point among them. */
static enum berth_code parse_decimal(const struct key *key, const char *value, double *ret_number,
                                     struct berth_err *err)
{
    size_t length = strlen(value), whole = strspn(value, "0123456789"),
           point = value[whole] == '.' ? 1 : 0, part = strspn(value + whole + point, "0123456789");
    double number = strtod(value, NULL); /* the locale is always C */
    if (whole == 0 || (point > 0 && part == 0) || part > DECIMALS ||
        whole + point + part != length || number < (double)key->low || number > (double)key->high)
        return err_set(err, BERTH_BAD_CONFIG,
                       "%s takes a number from %lld to %lld with up to 6 decimals, not \"%.40s\"",
                       key->name, (long long)key->low, (long long)key->high, value);
    *ret_number = number;
    return BERTH_OK;
}

/* Parses one of the key's words to its number. */
static enum berth_code parse_word(const struct key *key, const char *value, int64_t *ret_number,
                                  struct berth_err *err)
{
    const char *word = key->initial;
    for (int64_t number = 0; value != key->initial; number++) {
        size_t length = strcspn(word, "|");
        if (strlen(value) == length && strncmp(word, value, length) == 0) {
            *ret_number = number;
            return BERTH_OK;
        }
        if (word[length] == '\0')
            return err_set(err, BERTH_BAD_CONFIG, "%s takes %s, not \"%.40s\"", key->name,
                           key->initial, value);
        word += length + 1;
    }
    *ret_number = 0;
    return BERTH_OK;
}

enum berth_code config_set(struct config *config, const char *name, const char *value,
                           struct berth_err *err)
{
    const struct key *key = find_key(name);
    if (key == NULL) {
        const char *near = nearest_key(name);
        return err_set(err, BERTH_BAD_CONFIG, "there is no key %.40s%s%s%s", name,
                       near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    switch (key->type) {
    case KEY_TEXT: {
        char *copy = NULL;
        if (strlen(value) > TEXT_MAX)
            return err_set(err, BERTH_BAD_CONFIG, "%s is longer than %d bytes", name, TEXT_MAX);
        if (key->low == TEXT_ABSOLUTE && value[0] != '\0' && value[0] != '/')
            return err_set(err, BERTH_BAD_CONFIG, "%s takes an absolute path, not \"%.40s\"", name,
                           value);
        if (value[0] != '\0' && (copy = strdup(value)) == NULL)
            return err_set(err, BERTH_NO_MEMORY, "out of memory");
        free(*text_field(config, key));
        *text_field(config, key) = copy;
        return BERTH_OK;
    }
    case KEY_BOOL:
        if (strcmp(value, "yes") == 0 || strcmp(value, "true") == 0)
            *bool_field(config, key) = true;
        else if (strcmp(value, "no") == 0 || strcmp(value, "false") == 0)
            *bool_field(config, key) = false;
        else
            return err_set(err, BERTH_BAD_CONFIG, "%s takes yes or no, not \"%.40s\"", name, value);
        return BERTH_OK;
    case KEY_WORD:
        return parse_word(key, value, number_field(config, key), err);
    case KEY_DECIMAL:
        return parse_decimal(key, value, decimal_field(config, key), err);
    case KEY_NUMBER:
    case KEY_OCTAL:
        return parse_number(key, value, number_field(config, key), err);
    }
    return BERTH_OK;
}

enum berth_code config_init(struct config *ret_config, struct berth_err *err)
{
    struct config config = {0};
    for (size_t i = 0; i < KEY_COUNT; i++) {
        enum berth_code code = config_set(&config, keys[i].name, keys[i].initial, err);
        if (code != BERTH_OK) {
            config_done(&config);
            return code;
        }
    }
    const char *state_dir = getenv("STATE_DIRECTORY");
    if (state_dir != NULL) {
        enum berth_code code = config_set(&config, "state_dir", state_dir, err);
        if (code != BERTH_OK) {
            config_done(&config);
            return code;
        }
    }
    *ret_config = config;
    return BERTH_OK;
}

void config_done(struct config *config)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (keys[i].type == KEY_TEXT) {
            free(*text_field(config, &keys[i]));
            *text_field(config, &keys[i]) = NULL;
        }
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

static enum berth_code copy(const struct config *from, struct config *ret_to, struct berth_err *err)
{
    struct config to = *from;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (keys[i].type == KEY_TEXT)
            *text_field(&to, &keys[i]) = NULL;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *text =
            keys[i].type == KEY_TEXT ? *text_field((struct config *)from, &keys[i]) : NULL;
        if (text != NULL && (*text_field(&to, &keys[i]) = strdup(text)) == NULL) {
            config_done(&to);
            return err_set(err, BERTH_NO_MEMORY, "out of memory");
        }
    }
    *ret_to = to;
    return BERTH_OK;
}

static enum berth_code read_line(struct config *config, char *line, bool is_given[KEY_COUNT],
                                 struct berth_err *err)
{
    char *text = trim(line);
    if (text[0] == '\0' || text[0] == '#')
        return BERTH_OK;
    char *equals = strchr(text, '=');
    if (equals == NULL)
        return err_set(err, BERTH_BAD_CONFIG, "\"%.40s\" is not key = value", text);
    *equals = '\0';
    const char *name = trim(text);
    enum berth_code code = config_set(config, name, trim(equals + 1), err);
    if (code != BERTH_OK)
        return code;
    size_t index = (size_t)(find_key(name) - keys);
    if (is_given[index])
        return err_set(err, BERTH_BAD_CONFIG, "%s is given twice", name);
    is_given[index] = true;
    return BERTH_OK;
}

/* Reads a line with its end, up to the size of the buffer. False at the end of the file. */
static bool next_line(FILE *file, char *buffer, size_t size, size_t *ret_length)
{
    size_t length = 0;
    int c = '\0';
    while (length + 1 < size && c != '\n' && (c = getc(file)) != EOF)
        buffer[length++] = (char)c;
    buffer[length] = '\0';
    *ret_length = length;
    return length > 0;
}

enum berth_code config_read(struct config *config, const char *path, struct berth_err *err)
{
    struct config next;
    enum berth_code code = copy(config, &next, err);
    if (code != BERTH_OK)
        return code;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        config_done(&next);
        return err_set_errno(err, BERTH_BAD_CONFIG, errno, "%s", path);
    }
    bool is_given[KEY_COUNT] = {false};
    char line[4096] = "";
    size_t length = 0;
    for (int number = 1; code == BERTH_OK && next_line(file, line, sizeof line, &length);
         number++) {
        struct berth_err why = {0};
        if (length == sizeof line - 1)
            code = err_set(&why, BERTH_BAD_CONFIG, "the line is too long");
        else if (strlen(line) != length)
            code = err_set(&why, BERTH_BAD_CONFIG, "the line holds a NUL byte");
        else
            code = read_line(&next, line, is_given, &why);
        if (code != BERTH_OK)
            code = err_set(err, code, "%s:%d: %s", path, number, why.detail);
    }
    if (code == BERTH_OK && ferror(file))
        code = err_set(err, BERTH_BAD_CONFIG, "%s cannot be read", path);
    fclose(file);
    if (code != BERTH_OK) {
        config_done(&next);
        return code;
    }
    config_done(config);
    *config = next;
    return BERTH_OK;
}

static void print_decimal(double number, FILE *file)
{
    char text[400];
    size_t length = (size_t)snprintf(text, sizeof text, "%.*f", DECIMALS, number);
    while (text[length - 1] == '0')
        length--;
    fprintf(file, "%.*s\n", (int)(length - (text[length - 1] == '.')), text);
}

static void print_word(const struct key *key, int64_t number, FILE *file)
{
    const char *word = key->initial;
    for (; number > 0; number--)
        word += strcspn(word, "|") + 1;
    fprintf(file, "%.*s\n", (int)strcspn(word, "|"), word);
}

void config_print(const struct config *config, FILE *file)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct config *c = (struct config *)config;
        fprintf(file, "# %s\n%s = ", keys[i].about, keys[i].name);
        switch (keys[i].type) {
        case KEY_TEXT:
            fprintf(file, "%s\n", *text_field(c, &keys[i]) ? *text_field(c, &keys[i]) : "");
            break;
        case KEY_BOOL:
            fprintf(file, "%s\n", *bool_field(c, &keys[i]) ? "yes" : "no");
            break;
        case KEY_NUMBER:
            fprintf(file, "%lld\n", (long long)*number_field(c, &keys[i]));
            break;
        case KEY_DECIMAL:
            print_decimal(*decimal_field(c, &keys[i]), file);
            break;
        case KEY_WORD:
            print_word(&keys[i], *number_field(c, &keys[i]), file);
            break;
        case KEY_OCTAL:
            fprintf(file, "%04llo\n", (unsigned long long)*number_field(c, &keys[i]));
            break;
        }
    }
}
