/* The nodes of a fleet as they are read, and files that are left out. */
#include "fleet/fleet.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/inner.h"

struct fleet *fleet_new(const struct fleet_settings *settings)
{
    struct fleet *fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL)
        return NULL;
    fleet->settings = *settings;
    fleet->series = fleet_series_table_new();
    fleet->groups = fleet_series_table_new();
    fleet->pools = fleet_series_table_new();
    fleet->left_out = calloc(FLEET_LEFT_OUT_MAX, sizeof *fleet->left_out);
    pthread_mutex_init(&fleet->lock, NULL);
    if (fleet->series == NULL || fleet->groups == NULL || fleet->pools == NULL ||
        fleet->left_out == NULL) {
        fleet_free(fleet);
        return NULL;
    }
    return fleet;
}

void fleet_node_free(struct fleet_node *node)
{
    if (node == NULL)
        return;
    for (size_t i = 0; i < node->condition_count; i++) {
        free(node->condition[i].name);
        free(node->condition[i].value);
    }
    free(node->name);
    free(node->models);
    free(node->path);
    free(node->value);
    free(node->mean);
    free(node->whole);
    free(node);
}

void fleet_class_done(struct fleet_class *class)
{
    for (size_t i = 0; i < class->tests; i++)
        free(class->test[i].quantile);
    free(class->test);
}

void fleet_free(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    for (size_t i = 0; i < fleet->count; i++)
        fleet_node_free(fleet->node[i]);
    for (size_t i = 0; i < fleet->class_count; i++)
        fleet_class_done(&fleet->class[i]);
    for (size_t i = 0; i < FLEET_LEFT_OUT_MAX && fleet->left_out != NULL; i++) {
        free(fleet->left_out[i].file);
        free(fleet->left_out[i].why);
    }
    fleet_series_table_free(fleet->series);
    fleet_series_table_free(fleet->groups);
    fleet_series_table_free(fleet->pools);
    pthread_mutex_destroy(&fleet->lock);
    free(fleet->node);
    free(fleet->left_out);
    free(fleet->class);
    free(fleet->shared);
    free(fleet);
}

static int compare_values(const void *a, const void *b)
{
    const struct fleet_value *one = a, *other = b;
    return one->series < other->series ? -1 : one->series > other->series;
}

/* Sorts the values of a node; of several of a series the last one counts. */
static void sort_values(struct fleet_node *node)
{
    size_t kept = 0;
    for (size_t i = 1; i < node->count; i++)
        if (node->value[i].series <= node->value[i - 1].series) {
            /* most nodes have the order of the first one, and are not sorted */
            qsort(node->value, node->count, sizeof *node->value, compare_values);
            break;
        }
    for (size_t i = 0; i < node->count; i++) {
        kept -= kept > 0 && node->value[kept - 1].series == node->value[i].series;
        node->value[kept++] = node->value[i];
    }
    node->count = kept;
    struct fleet_value *less = realloc(node->value, kept * sizeof *less);
    if (less != NULL)
        node->value = less;
    node->room = kept;
}

void fleet_add(struct fleet *fleet, struct fleet_node *take_node, const char *file)
{
    struct fleet_node *node = take_node;
    if (node->count == 0) {
        fleet_leave_out(fleet, file, "it has no measured value");
        fleet_node_free(node);
        return;
    }
    size_t values = node->count;
    char clean[512];
    ui_clean(clean, sizeof clean, file);
    node->path = strdup(clean);
    if (fleet->settings.lines != NULL) {
        free(node->value);
        node->value = NULL;
        node->count = 0;
    } else {
        sort_values(node);
    }
    pthread_mutex_lock(&fleet->lock);
    if (fleet->count == fleet->room) {
        size_t room = 2 * fleet->room + 64;
        struct fleet_node **more = realloc(fleet->node, room * sizeof(*more));
        if (more != NULL) {
            fleet->node = more;
            fleet->room = room;
        }
    }
    bool ok = fleet->count < fleet->room && node->path != NULL;
    if (ok)
        fleet->node[fleet->count++] = node;
    fleet->values += ok ? values : 0;
    fleet->failed = fleet->failed || !ok;
    pthread_mutex_unlock(&fleet->lock);
    if (!ok)
        fleet_node_free(node);
}

void fleet_leave_out(struct fleet *fleet, const char *file, const char *format, ...)
{
    char why[512], clean[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    ui_clean(clean, sizeof clean, file);
    pthread_mutex_lock(&fleet->lock);
    size_t at = fleet->left_out_count++;
    if (at < FLEET_LEFT_OUT_MAX) {
        fleet->left_out[at] = (struct fleet_left_out){strdup(clean), strdup(why)};
        if (fleet->left_out[at].file == NULL || fleet->left_out[at].why == NULL)
            fleet->failed = true;
    }
    pthread_mutex_unlock(&fleet->lock);
}
