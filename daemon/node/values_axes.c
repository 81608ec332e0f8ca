/* Axes as canonical text. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "node/values.h"

#define AXIS_TEXT_MAX 40
#define AXES_MAX      16

struct axis {
    const char *key, *value;
};

static bool text_fits(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > AXIS_TEXT_MAX)
        return false;
    for (const char *c = text; *c != '\0'; c++)
        if (*c == ';' || *c == '=' || iscntrl((unsigned char)*c))
            return false;
    return true;
}

enum berth_code axes_canonical(enum metric metric, const char *const *text, size_t n, char *buffer,
                               size_t size, struct berth_err *err)
{
    const char *name = metric_info(metric)->name;
    struct axis axes[AXES_MAX];
    size_t count = 0;
    if (n > AXES_MAX)
        return err_set(err, BERTH_BAD_DATA, "%s with %zu axes; at most %d are understood", name, n,
                       AXES_MAX);
    for (size_t i = 0; i < n; i++) {
        struct axis axis = {text[2 * i], text[2 * i + 1]};
        if (!text_fits(axis.key) || !text_fits(axis.value))
            return err_set(err, BERTH_BAD_DATA,
                           "%s: an axis and its value have 1 to %d characters without ; and =, not "
                           "%.60s=%.60s",
                           name, AXIS_TEXT_MAX, axis.key, axis.value);
        char standard[AXIS_TEXT_MAX + 1];
        if (metric_axis_default(metric, axis.key, standard, sizeof standard) == NULL)
            return err_set(err, BERTH_BAD_DATA, "%s has no axis %.60s", name, axis.key);
        size_t at = count;
        for (; at > 0 && strcmp(axes[at - 1].key, axis.key) > 0; at--)
            axes[at] = axes[at - 1];
        if (at > 0 && strcmp(axes[at - 1].key, axis.key) == 0)
            return err_set(err, BERTH_BAD_DATA, "%s: axis %s is given twice", name, axis.key);
        axes[at] = axis;
        count++;
    }

    char out[AXES_MAX * (2 * AXIS_TEXT_MAX + 2) + 1] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        char standard[AXIS_TEXT_MAX + 1];
        metric_axis_default(metric, axes[i].key, standard, sizeof standard);
        if (strcmp(axes[i].value, standard) != 0)
            used += (size_t)snprintf(out + used, sizeof out - used, "%s%s=%s", used > 0 ? ";" : "",
                                     axes[i].key, axes[i].value);
    }
    if (used >= size)
        return err_set(err, BERTH_BAD_DATA, "%s: axes longer than %zu characters", name, size - 1);
    memcpy(buffer, out, used + 1);
    return BERTH_OK;
}

const char *axes_get(enum metric metric, const char *axes, const char *key, char *buffer,
                     size_t size)
{
    size_t length = strlen(key);
    for (const char *c = axes; *c != '\0';) {
        size_t end = strcspn(c, ";");
        if (end > length && c[length] == '=' && memcmp(c, key, length) == 0) {
            size_t used = end - length - 1 < size ? end - length - 1 : size - 1;
            memcpy(buffer, c + length + 1, used);
            buffer[used] = '\0';
            return buffer;
        }
        c += end + (c[end] == ';');
    }
    return metric_axis_default(metric, key, buffer, size);
}
