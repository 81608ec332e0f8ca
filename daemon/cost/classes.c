#include "cost/classes.h"

#include <math.h>
#include <stdlib.h>

/* Relative, to each side, of a number without an interval: stated figures are rounded so. */
#define ROUNDED 0.005

struct class
{
    uint32_t sort;
    double low[CLASSES_SIZES], high[CLASSES_SIZES]; /* common to all members */
    size_t stands;
};

struct sorted {
    const struct classes_item *item;
    size_t index, class;
};

static double low_of(const struct classes_item *item, size_t k)
{
    return isnan(item->low[k]) ? item->value[k] * (1 - ROUNDED) : item->low[k];
}

static double high_of(const struct classes_item *item, size_t k)
{
    return isnan(item->high[k]) ? item->value[k] * (1 + ROUNDED) : item->high[k];
}

static int compare(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    double p = x->item->value[CLASSES_SIZES - 1], q = y->item->value[CLASSES_SIZES - 1];
    return p != q ? (p < q ? -1 : 1) : (x->index > y->index) - (x->index < y->index);
}

/* Joins the class, if all intervals keep something in common. */
static bool joins(struct class *class, const struct classes_item *item)
{
    bool fits = class->sort == item->sort;
    for (size_t k = 0; k < CLASSES_SIZES && fits; k++)
        fits = low_of(item, k) <= class->high[k] && high_of(item, k) >= class->low[k];
    for (size_t k = 0; k < CLASSES_SIZES && fits; k++) {
        class->low[k] = fmax(class->low[k], low_of(item, k));
        class->high[k] = fmin(class->high[k], high_of(item, k));
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

static bool stands_rather(const struct classes_item *a, const struct classes_item *b,
                          const struct class *class)
{
    return a->is_best != b->is_best ? a->is_best : distance(a, class) < distance(b, class);
}

bool classes_find(struct classes_item *item, size_t count)
{
    struct class *class = calloc(count + 1, sizeof *class);
    struct sorted *sorted = calloc(count + 1, sizeof *sorted);
    size_t classes = 0;
    bool ok = class != NULL && sorted != NULL;
    for (size_t i = 0; ok && i < count; i++)
        sorted[i] = (struct sorted){.item = &item[i], .index = i};
    if (ok)
        qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 0; ok && i < count; i++) {
        size_t c = 0;
        while (c < classes && !joins(&class[c], sorted[i].item))
            c++;
        if (c == classes) {
            class[classes] = (struct class){.sort = sorted[i].item->sort, .stands = SIZE_MAX};
            for (size_t k = 0; k < CLASSES_SIZES; k++) {
                class[classes].low[k] = low_of(sorted[i].item, k);
                class[classes].high[k] = high_of(sorted[i].item, k);
            }
            classes++;
        }
        sorted[i].class = c;
    }
    for (size_t i = 0; ok && i < count; i++) {
        struct class *its = &class[sorted[i].class];
        if (its->stands == SIZE_MAX || stands_rather(sorted[i].item, &item[its->stands], its))
            its->stands = sorted[i].index;
    }
    for (size_t i = 0; ok && i < count; i++)
        item[sorted[i].index].stands = (uint32_t) class[sorted[i].class].stands;
    free(class);
    free(sorted);
    return ok;
}
