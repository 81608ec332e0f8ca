/* io.berth.Fabric.History: the stored values of one cell over time, with the conditions of their
 * runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sched.h"
#include "node/jsonify.h"
#include "serve/daemon.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "store/history.h"

/* A History in progress. */
struct history_query {
    struct store *store;
    const struct snapshot *snap;
    enum metric metric;
    place_id from, to;
    char axes[512];
    int64_t since_s;
};

static void query_free(void *state)
{
    struct history_query *query = state;
    snapshot_unref(query->snap);
    free(query);
}

/* Returns the end of the JSON string at c; NULL if it has escapes, control characters or
 * non-ASCII. */
static const char *skip_plain(const char *c)
{
    if (*c++ != '"')
        return NULL;
    while (*c >= ' ' && *c < 0x7f && *c != '"' && *c != '\\')
        c++;
    return *c == '"' ? c + 1 : NULL;
}

/* Prints a flat object of plain text, the usual case: copies its strings and quotes its other
 * values. Returns false for anything else; the caller then drops the output. A year of runs has
 * thousands of them. */
static bool print_plain_conditions(struct print *reply, const char *text)
{
    const char *begin = text + 1, *c = begin;
    print_open(reply, '{');
    while (text[0] == '{' && *begin == '"') {
        c = skip_plain(begin);
        if (c == NULL || *c++ != ':')
            return false;
        print_bytes(reply, begin, (size_t)(c - begin));
        begin = c;
        bool is_text = *c == '"';
        c = is_text ? skip_plain(c) : c + strspn(c, "-+.0123456789abcdefghijklmnopqrstuvwxyzE");
        if (c == NULL || c == begin || (*c != ',' && *c != '}'))
            return false;
        if (!is_text)
            print_bytes(reply, "\"", 1);
        print_bytes(reply, begin, (size_t)(c - begin));
        if (!is_text)
            print_bytes(reply, "\"", 1);
        if (*c == '}')
            break;
        print_bytes(reply, c++, 1);
        begin = c;
    }
    print_close(reply, '}');
    return text[0] == '{' && c[0] == '}' && c[1] == '\0';
}

/* Prints the conditions, one flat object; values that are not strings become strings. */
static void print_conditions(struct print *reply, const char *text)
{
    size_t before = reply->length;
    if (text != NULL && print_plain_conditions(reply, text))
        return;
    if (!reply->failed)
        reply->length = before;
    json_t *conditions = text != NULL ? json_loads(text, 0, NULL) : NULL, *value;
    const char *key;
    print_open(reply, '{');
    json_object_foreach(conditions, key, value)
    {
        char *other =
            json_is_string(value) ? NULL : print_tree(value, JSON_ENCODE_ANY | JSON_COMPACT);
        print_string(reply, key);
        print_bytes(reply, ":", 1);
        print_string(reply, other != NULL ? other : json_string_value(value));
        reply->failed = reply->failed || (other == NULL && !json_is_string(value));
        free(other);
    }
    print_close(reply, '}');
    json_decref(conditions);
}

static enum berth_code print_history(void *state, struct print *reply, struct berth_err *err)
{
    const struct history_query *query = state;
    const struct history_series series = {query->metric, query->from, query->to, query->axes};
    struct history history = {0};
    enum berth_code code =
        store_history(query->store, query->snap->graph, &series, query->since_s, &history, err);
    if (code != BERTH_OK)
        return code;
    print_open(reply, '{');
    print_key(reply, "points");
    print_open(reply, '[');
    for (size_t i = 0; i < history.count; i++) {
        const struct point *point = &history.item[i];
        print_open(reply, '{');
        print_key(reply, "measured_at_s");
        print_integer(reply, point->measured_at_s);
        print_key(reply, "value");
        print_real(reply, point->value);
        print_key(reply, "low");
        print_real(reply, point->low);
        print_key(reply, "high");
        print_real(reply, point->high);
        print_key(reply, "run");
        print_integer(reply, point->run);
        print_key(reply, "values");
        print_count(reply, point->run == 0 ? (int64_t)point->n : -1);
        print_key(reply, "conditions");
        print_conditions(reply, point->conditions);
        print_close(reply, '}');
    }
    print_close(reply, ']');
    print_close(reply, '}');
    store_history_done(&history);
    return BERTH_OK;
}

/* Reads the axes. A history has one cell, so axes missing in where have their defaults. */
static enum berth_code parse_axes(json_t *where, struct history_query *query, struct berth_err *err)
{
    const char *text[2 * WHERE_AXES_MAX], *axis;
    json_t *value;
    size_t count = 0;
    char path[96];
    struct berth_err why = {0};
    if (json_object_size(where) > WHERE_AXES_MAX)
        return err_invalid(err, "where", "more than %d axes", WHERE_AXES_MAX);
    json_object_foreach(where, axis, value)
    {
        text[2 * count] = axis;
        text[2 * count++ + 1] = json_string_value(value);
        if (axes_canonical(query->metric, &text[2 * count - 2], 1, query->axes, sizeof query->axes,
                           &why) == BERTH_OK)
            continue;
        snprintf(path, sizeof path, "where.%.80s", axis);
        err_set(err, BERTH_INVALID_PARAMETER, "%s", why.detail);
        err_text(err, 0, path);
        return BERTH_INVALID_PARAMETER;
    }
    return axes_canonical(query->metric, text, count, query->axes, sizeof query->axes, err);
}

enum berth_code query_history(const struct call *call, struct outcome *ret, struct berth_err *err)
{
    const char *name = json_string_value(json_object_get(call->params, "metric"));
    const struct graph *graph = call->snap->graph;
    struct history_query query = {.store = sched_store(call->daemon->sched), .since_s = INT64_MIN};
    if (!metric_parse(name, &query.metric)) {
        err_set(err, BERTH_NO_SUCH_METRIC, "there is no metric %.60s (berth matrix lists them)",
                name);
        err_text(err, 0, name);
        return BERTH_NO_SUCH_METRIC;
    }
    enum berth_code code =
        request_place(graph, json_object_get(call->params, "from"), "from", &query.from, err);
    if (code == BERTH_OK)
        code = request_place(graph, json_object_get(call->params, "to"), "to", &query.to, err);
    if (code == BERTH_OK)
        code = parse_axes(json_object_get(call->params, "where"), &query, err);
    if (code == BERTH_OK)
        code = request_ends(graph, query.metric, query.from, query.to, err);
    if (code != BERTH_OK)
        return code;
    json_t *since_s = json_object_get(call->params, "since_s");
    if (json_is_integer(since_s))
        query.since_s = json_integer_value(since_s);
    struct history_query *state = malloc(sizeof *state);
    if (state == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    query.snap = snapshot_ref(call->snap);
    *state = query;
    *ret = (struct outcome){
        .kind = OUTCOME_WORK, .state = state, .write = print_history, .free_state = query_free};
    return BERTH_OK;
}
