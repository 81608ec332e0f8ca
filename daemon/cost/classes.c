#include "cost/classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/policy.h"

struct class
{
    const struct classes_item *first, *stands;
    double low[CLASSES_SIZES], high[CLASSES_SIZES]; /* common to all members */
};

/* A stated figure is rounded by as much, to each side. */
static void round_stated(struct classes_item *item)
{
    for (size_t k = 0; k < CLASSES_SIZES; k++) {
        if (isnan(item->low[k]))
            item->low[k] = item->value[k] * (1 - POLICY_SAME / 2);
        if (isnan(item->high[k]))
            item->high[k] = item->value[k] * (1 + POLICY_SAME / 2);
    }
}

static int compare(const void *a, const void *b)
{
    const struct classes_item *x = *(struct classes_item *const *)a,
                              *y = *(struct classes_item *const *)b;
    double p = x->value[CLASSES_SIZES - 1], q = y->value[CLASSES_SIZES - 1];
    return p != q ? (p < q ? -1 : 1) : (x > y) - (x < y);
}

/* Joins the class, if all intervals keep something in common. */
static bool joins(struct class *class, const struct classes_item *item)
{
    bool fits = class->first->sort == item->sort;
    for (size_t k = 0; k < CLASSES_SIZES && fits; k++)
        fits = item->low[k] <= class->high[k] && item->high[k] >= class->low[k];
    for (size_t k = 0; k < CLASSES_SIZES && fits; k++) {
        class->low[k] = fmax(class->low[k], item->low[k]);
        class->high[k] = fmin(class->high[k], item->high[k]);
    }
    return fits;
}

/* The distance from the middle, as the logarithm of a factor, at the size where it is largest. */
static double distance(const struct classes_item *item, const struct class *class)
{
    double most = 0;
    for (size_t k = 0; k < CLASSES_SIZES; k++)
        if (!isinf(class->high[k]))
            most = fmax(most, fabs(log(2 * item->value[k] / (class->low[k] + class->high[k]))));
    return most;
}

static bool stands_rather(const struct classes_item *item, const struct class *class)
{
    const struct classes_item *other = class->stands;
    return other == NULL ||
           (item->is_best != other->is_best ? item->is_best
                                            : distance(item, class) < distance(other, class));
}

bool classes_find(struct classes_item *item, size_t count)
{
    struct class *class = calloc(count + 1, sizeof *class), *end = class;
    struct classes_item **sorted = calloc(count + 1, sizeof *sorted);
    bool ok = class != NULL && sorted != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        round_stated(&item[i]);
        sorted[i] = &item[i];
    }
    if (ok)
        qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; ok && i < count; i++) {
        struct class *its = class;
        while (its < end && !joins(its, sorted[i]))
            its++;
        if (its == end) {
            its->first = sorted[i];
            memcpy(its->low, sorted[i]->low, sizeof its->low);
            memcpy(its->high, sorted[i]->high, sizeof its->high);
            end++;
        }
        sorted[i]->stands = (uint32_t)(its - class);
    }
    for (size_t i = 0; ok && i < count; i++)
        if (stands_rather(sorted[i], &class[sorted[i]->stands]))
            class[sorted[i]->stands].stands = sorted[i];
    for (size_t i = 0; ok && i < count; i++)
        item[i].stands = (uint32_t)(class[item[i].stands].stands - item);
    free(class);
    free(sorted);
    return ok;
}
