/* The answer as JSON, and baselines of classes. */
#include <stdlib.h>
#include <string.h>

#include "fleet/inner.h"

#define SIGMAS_95 1.959964

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

/* Parses "bytes=4096;operation=cas" to an object; NULL when out of memory. */
static json_t *axes_json(const char *axes)
{
    json_t *object = json_object();
    while (object != NULL && *axes != '\0') {
        size_t length = strcspn(axes, ";"), split = strcspn(axes, "=");
        char key[FLEET_AXES_MAX];
        if (split < length && length < sizeof key) {
            snprintf(key, sizeof key, "%.*s", (int)split, axes);
            json_object_set_new(object, key, json_stringn(axes + split + 1, length - split - 1));
        }
        axes += length + (axes[length] == ';');
    }
    return object;
}

/* Metric and places of a test; null means all of them. */
static json_t *test_json(const struct fleet_test *test)
{
    const struct fleet_series *series = test->series;
    bool is_one = test->members == 1;
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:b}", "metric",
                     series->metric != NULL ? json_string(series->metric->name) : json_null(),
                     "from", text_or_null(series->from), "to", text_or_null(series->to), "axes",
                     is_one ? axes_json(series->axes) : json_null(), "series", (int)test->members,
                     "both_ways", !is_one && series->axes[0] != '\0');
}

/* Returns a value from its logarithm. */
static double value_of(const struct fleet_metric *metric, double x)
{
    return exp(metric->higher_is_better ? -x : x);
}

static json_t *item_json(const struct fleet_class *class, const struct fleet_item *item)
{
    const struct fleet_test *test = &class->test[item->test];
    double half = SIGMAS_95 * item->deviation;
    json_t *object = test_json(test),
           *rest = json_pack("{s:f, s:f, s:f, s:f, s:f, s:i}", "loss", fleet_loss(item->excess),
                             "low", fleet_loss(item->excess - half), "high",
                             fleet_loss(item->excess + half), "deviations", (double)item->t, "p",
                             exp(item->log_p), "nodes", (int)test->nodes);
    if (object == NULL || rest == NULL || json_object_update(object, rest) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(rest);
    if (object != NULL && test->members == 1) {
        const struct fleet_metric *metric = test->series->metric;
        json_object_set_new(object, "unit", json_string(metric->unit));
        json_object_set_new(object, "value",
                            json_real(value_of(metric, test->median + item->excess)));
        json_object_set_new(object, "class_value", json_real(value_of(metric, test->median)));
    }
    return object;
}

static json_t *slow_json(const struct fleet *fleet, const struct fleet_node *node)
{
    const struct fleet_class *class = &fleet->class[node->class];
    json_t *conditions = json_object(), *object = item_json(class, &node->item);
    for (size_t i = 0; i < node->condition_count; i++)
        json_object_set_new(conditions, node->condition[i].name,
                            json_string(node->condition[i].value));
    json_t *whole =
        json_pack("{s:s, s:o, s:I, s:f, s:o, s:o, s:o}", "node", node->name, "fingerprint",
                  text_or_null(node->fingerprint), "measured_at_s", (json_int_t)node->at_s, "p",
                  exp(node->log_p), "worst", object, "worst_series",
                  node->worst.test != FLEET_NONE ? item_json(class, &node->worst) : json_null(),
                  "conditions", conditions);
    return whole;
}

static int compare_loss(const void *a, const void *b)
{
    const struct fleet_node *const *one = a, *const *other = b;
    return (*one)->item.excess > (*other)->item.excess   ? -1
           : (*one)->item.excess < (*other)->item.excess ? 1
                                                         : strcmp((*one)->name, (*other)->name);
}

/* The slow nodes, the largest loss first. */
static json_t *all_slow_json(const struct fleet *fleet)
{
    struct fleet_node **slow = malloc((fleet->slow_count + 1) * sizeof(*slow));
    json_t *array = json_array();
    size_t count = 0;
    for (size_t i = 0; slow != NULL && i < fleet->count; i++)
        if (fleet->node[i]->is_slow)
            slow[count++] = fleet->node[i];
    if (count > 0)
        qsort(slow, count, sizeof(*slow), compare_loss);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, slow_json(fleet, slow[i]));
    if (slow == NULL) {
        json_decref(array);
        array = NULL;
    }
    free(slow);
    return array;
}

static json_t *series_json(const struct fleet_class *class)
{
    json_t *array = json_array();
    for (size_t i = 0; i < class->series; i++) {
        const struct fleet_test *test = &class->test[i];
        json_t *object = test_json(test);
        json_object_del(object, "series");
        json_object_del(object, "both_ways");
        json_object_set_new(object, "value",
                            json_real(value_of(test->series->metric, test->median)));
        json_object_set_new(object, "unit", json_string(test->series->metric->unit));
        json_object_set_new(object, "deviation", json_real(test->deviation));
        json_object_set_new(object, "nodes", json_integer(test->nodes));
        json_array_append_new(array, object);
    }
    return array;
}

/* Losses of the nodes in the mean of all their series: what the page draws. */
static json_t *losses_json(const struct fleet_class *class)
{
    json_t *array = json_array();
    for (size_t k = class->series; k < class->tests; k++) {
        const struct fleet_series *series = class->test[k].series;
        if (series->metric != NULL || series->from[0] != '\0')
            continue;
        for (size_t i = 0; i < class->count; i++)
            if (!isnan(class->node[i]->mean[k - class->series]))
                json_array_append_new(
                    array, json_real(fleet_loss(class->node[i]->mean[k - class->series])));
    }
    return array;
}

static json_t *class_json(const struct fleet_class *class, bool with_series)
{
    json_t *object = json_pack("{s:o, s:s, s:I, s:I, s:I, s:b}", "fingerprint",
                               text_or_null(class->fingerprint), "models", class->models, "nodes",
                               (json_int_t) class->count, "slow", (json_int_t) class->slow,
                               "series", (json_int_t) class->series, "compared", class->tests > 0);
    json_object_set_new(object, "losses", losses_json(class));
    if (class->name != NULL)
        json_object_set_new(
            object, class->is_without ? "without" : "with",
            json_pack("{s:s, s:s}", "condition", class->name, "value", class->value));
    if (with_series)
        json_object_set_new(object, "values", series_json(class));
    return object;
}

static json_t *shared_json(const struct fleet_shared *shared)
{
    json_t *slower = json_null();
    if (shared->is_slower)
        slower = json_pack("{s:o, s:f, s:f}", "metric",
                           shared->metric == NULL ? json_null() : json_string(shared->metric->name),
                           "loss", shared->loss, "p", shared->loss_p);
    return json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:o}", "fingerprint",
                     text_or_null(shared->fingerprint), "condition", shared->name, "value",
                     shared->value, "slow_with", (json_int_t)shared->slow_with, "with",
                     (json_int_t)shared->with, "slow", (json_int_t)shared->slow, "nodes",
                     (json_int_t)shared->nodes, "p", shared->p, "slower", slower);
}

json_t *fleet_json(const struct fleet *fleet, bool with_series)
{
    json_t *classes = json_array(), *shared = json_array(), *left_out = json_array();
    size_t compared = 0;
    for (size_t i = 0; i < fleet->class_count; i++) {
        json_array_append_new(classes, class_json(&fleet->class[i], with_series));
        compared += fleet->class[i].tests > 0 ? fleet->class[i].count : 0;
    }
    for (size_t i = 0; i < fleet->shared_count; i++)
        json_array_append_new(shared, shared_json(&fleet->shared[i]));
    for (size_t i = 0; i < fleet->left_out_count && i < FLEET_LEFT_OUT_MAX; i++)
        json_array_append_new(left_out, json_pack("{s:s, s:s}", "file", fleet->left_out[i].file,
                                                  "why", fleet->left_out[i].why));
    return json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:I, s:o}", "nodes",
                     (json_int_t)fleet->count, "compared", (json_int_t)compared, "values",
                     (json_int_t)fleet->values, "slow_nodes", (json_int_t)fleet->slow_count,
                     "false_rate", fleet->settings.rate, "least_loss", fleet->settings.least,
                     "slow", all_slow_json(fleet), "shared", shared, "classes", classes,
                     "left_out_count", (json_int_t)fleet->left_out_count, "left_out", left_out);
}

const char *fleet_baseline(const struct fleet *fleet, size_t class, struct ui *text)
{
    const struct fleet_class *of = &fleet->class[class];
    int64_t at_s = 0;
    bool is_slower = of->name != NULL && !of->is_without; /* than others with that fingerprint */
    if (of->tests == 0 || of->fingerprint[0] == '\0' || is_slower)
        return NULL;
    for (size_t i = 0; i < of->count; i++)
        at_s = of->node[i]->at_s > at_s ? of->node[i]->at_s : at_s;
    ui_put(text,
           "{\"record\":\"baseline\",\"schema\":1,\"machine\":\"\",\"fingerprint\":\"%s\","
           "\"written_at_s\":%lld,\"nodes\":%zu}\n",
           of->fingerprint, (long long)at_s, of->count);
    for (size_t i = 0; i < of->series; i++) {
        const struct fleet_test *test = &of->test[i];
        json_t *values = json_array();
        /* a daemon may look for a trend in their order, so they are not in that of size */
        for (size_t k = 0; k < FLEET_QUANTILES; k++)
            json_array_append_new(
                values,
                json_real(value_of(test->series->metric, test->quantile[k * 7 % FLEET_QUANTILES])));
        json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:b, s:o}", "record", "expected",
                                 "metric", test->series->metric->name, "from", test->series->from,
                                 "to", test->series->to, "axes", axes_json(test->series->axes),
                                 "begun_s", (json_int_t)at_s, "accepted", 1, "values", values);
        char *printed =
            line != NULL ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
        text->failed = text->failed || printed == NULL;
        ui_put(text, "%s\n", printed != NULL ? printed : "");
        free(printed);
        json_decref(line);
    }
    ui_put(text, "{\"record\":\"end\",\"count\":%zu}\n", of->series);
    return of->fingerprint;
}
