/*
 * Rates and latencies of cores. The first of these that is known counts:
 * 1. measured values of the nearest places that have the cores, interpolated between numbers of
 *    cores
 * 2. published or stated ones, which are upper ends for fewer cores
 * 3. links between packages that have one memory with their GPUs (MI300A)
 * 4. as a bound, the rate of cores in the memory's own package, or a published bound
 */
#include "cost/memrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/matrix.h"
#include "node/locality.h"

/* Places that may have the cores, in the order in which they are asked: one place that has all, the
 * nearest first, then several that have a part each. */
static const struct cover {
    enum place_kind kind;
    bool several;
} covers[] = {{PLACE_CORE, false},    {PLACE_LLC, false},     {PLACE_NUMA, false},
              {PLACE_PACKAGE, false}, {PLACE_MACHINE, false}, {PLACE_NUMA, true},
              {PLACE_LLC, true}};
#define COVERS (sizeof covers / sizeof *covers)

/* Values that count. A later pass follows where an earlier one finds none. */
enum pass { PASS_MEASURED, PASS_ANY, PASS_LINKS, PASSES };

static double lower(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }
static uint32_t fewer(uint32_t a, uint32_t b) { return a < b ? a : b; }
static double between(double a, double b, double share) { return a + (b - a) * share; }

static const char *axes_of(enum memrate_what what)
{
    return what == MEMRATE_WRITE ? "operation=write" : "";
}

/* Returns the number of cores, or of bytes, in canonical axes; all where they name none, NAN where
 * they name something else. */
static double number_of(const char *axes, enum memrate_what what, double all)
{
    const char *key = what == MEMRATE_LATENCY ? "bytes=" : "threads=";
    size_t length = strlen(axes_of(what));
    if (strncmp(axes, axes_of(what), length) != 0)
        return NAN;
    axes += length + (length > 0 && axes[length] == ';');
    if (*axes == '\0')
        return all;
    if (strncmp(axes, key, strlen(key)) != 0)
        return NAN;
    char *end;
    double number = strtod(axes + strlen(key), &end);
    return *end == '\0' ? number : NAN;
}

/* Returns the rate of so many cores of one place, or the latency in so many bytes. */
static struct memrate of_place(const struct memrate_access *access, place_id from, double wanted,
                               enum memrate_what what, enum pass pass)
{
    bool is_latency = what == MEMRATE_LATENCY;
    double low = 0, high = INFINITY, all = is_latency ? INFINITY : access->user->of[from];
    const struct value *v, *below = NULL, *above = NULL;
    size_t n = values_range_to(access->snap->values,
                               is_latency ? METRIC_MEMORY_LATENCY : METRIC_MEMORY_BANDWIDTH, from,
                               access->place.numa, &v);
    for (; n > 0; v++, n--) {
        if (!(v->value > 0) || (v->source != VALUE_MEASURED && pass == PASS_MEASURED))
            continue;
        double number = number_of(values_axes(access->snap->values, v), what, all);
        if (number >= wanted && (above == NULL || number < high)) {
            above = v;
            high = number;
        } else if (number < wanted && number > low) {
            below = v;
            low = number;
        }
    }
    const struct value *nearest = above != NULL || is_latency ? above : below;
    if (nearest == NULL)
        return MEMRATE_UNKNOWN;
    struct memrate found = memrate_of(nearest);
    evidence_add(access->evidence, access->start, nearest);
    if (is_latency)
        return found;
    if (found.source == SOURCE_NOMINAL)
        found.why = REASON_RATE_AT_MOST;
    if (above != NULL && below != NULL && high > wanted) {
        double share = (wanted - low) / (high - low);
        found.value = between(below->value, above->value, share);
        found.low = between(below->low, above->low, share);
        found.high = between(below->high, above->high, share);
        found.n = fewer(below->n, above->n);
        evidence_add(access->evidence, access->start, below);
    } else if (high > wanted && above != NULL) {
        found = memrate_doubted(found, SOURCE_NOMINAL, REASON_RATE_AT_MOST);
    }
    return found;
}

/* Returns the next place of a kind that has some of the cores, at or after start. */
static place_id next_part(const struct memrate_access *access, enum place_kind kind, place_id start)
{
    place_id p = graph_next(access->snap->graph, kind, start);
    while (p != PLACE_NONE && access->user->inside[p] == 0)
        p = graph_next(access->snap->graph, kind, p + 1);
    return p;
}

/* Adds a place that has a share of the cores, and of the bytes. */
static struct memrate with_part(struct memrate all, const struct memrate *part, double share,
                                enum memrate_what what)
{
    bool is_latency = what == MEMRATE_LATENCY;
    all.value = is_latency ? all.value + share * part->value : fmin(all.value, part->value / share);
    all.low = is_latency ? all.low + share * part->low : lower(all.low, part->low / share);
    all.high = is_latency ? all.high + share * part->high : lower(all.high, part->high / share);
    all.n = fewer(all.n, part->n);
    return memrate_doubted(all, part->source, part->source >= all.source ? part->why : all.why);
}

/* Returns the rate or latency of the cores as places of one kind. */
static struct memrate of_cover(const struct memrate_access *access, const struct cover *cover,
                               enum memrate_what what, enum pass pass)
{
    const struct memuser *user = access->user;
    double first = what == MEMRATE_LATENCY ? 0 : INFINITY, top = 0;
    struct memrate sum = {first, first, first, UINT32_MAX, SOURCE_MEASURED, 0, NULL};
    size_t evidence = access->evidence->count;
    unsigned covered = 0, parts = 0;
    for (place_id p = next_part(access, cover->kind, 0);
         p != PLACE_NONE && (parts == 0 || cover->several);
         p = next_part(access, cover->kind, p + 1)) {
        double share = (double)user->inside[p] / user->in_all;
        struct memrate part = of_place(
            access, p, what == MEMRATE_LATENCY ? access->span : share * user->cores, what, pass);
        if (isnan(part.value) && pass == PASS_LINKS && cover->kind == PLACE_NUMA)
            part = memrate_of_links(access, what, p, access->place.numa);
        if (isnan(part.value))
            break;
        covered += user->inside[p];
        parts++;
        top = fmax(top, part.value);
        sum = with_part(sum, &part, share, what);
    }
    if (covered != user->in_all || parts == 0) {
        access->evidence->count = evidence;
        return MEMRATE_UNKNOWN;
    }
    if (parts == 1 || what == MEMRATE_LATENCY)
        return sum;
    /* The memory may give more than one place gets of it: high stays. */
    sum.value = fmin(sum.value, top);
    sum.low = lower(sum.low, top);
    return memrate_doubted(sum, SOURCE_MEASURED, REASON_RATE_AT_MOST);
}

/* Bounds the rate by that of cores in the memory's package, and by a published bound. */
static struct memrate bound(const struct memrate_access *access, enum memrate_what what)
{
    const struct graph *graph = access->snap->graph;
    place_id package = locality_above(graph, access->place.numa, PLACE_PACKAGE);
    const struct value *v, *most = NULL;
    size_t n = values_range(access->snap->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v);
    for (; n > 0 && package != PLACE_NONE; v++, n--)
        if (v->to == access->place.numa && v->value > 0 &&
            (most == NULL || v->value > most->value) &&
            graph_place(graph, v->from)->kind <= PLACE_CORE &&
            locality_above(graph, v->from, PLACE_PACKAGE) == package &&
            strcmp(values_axes(access->snap->values, v), axes_of(what)) == 0)
            most = v;
    for (size_t i = 0; i < COVERS; i++) {
        place_id p = next_part(access, covers[i].kind, 0);
        v = p != PLACE_NONE && access->user->inside[p] == access->user->in_all
                ? matrix_access_bound(access->snap, p, access->place.numa, what == MEMRATE_READ)
                : NULL;
        most = v != NULL && (most == NULL || v->value < most->value) ? v : most;
    }
    if (most == NULL)
        return MEMRATE_UNKNOWN;
    evidence_add(access->evidence, access->start, most);
    return (struct memrate){.value = most->value,
                            .low = NAN,
                            .high = NAN,
                            .source = SOURCE_LOWER_BOUND,
                            .why = REASON_RATE_AT_MOST,
                            .item = most};
}

struct memrate memrate_of_cores(const struct memrate_access *access, enum memrate_what what)
{
    struct memrate found = MEMRATE_UNKNOWN;
    if (access->place.numa == PLACE_NONE)
        return found;
    for (enum pass pass = 0; pass < PASSES && isnan(found.value); pass++)
        for (size_t i = 0; i < COVERS && isnan(found.value); i++)
            found = of_cover(access, &covers[i], what, pass);
    if (what == MEMRATE_LATENCY)
        return found;
    /* A published figure of memory that is a GPU's as well is that memory's peak. */
    if (found.source < SOURCE_NOMINAL && isnan(found.low) && access->place.apu != PLACE_NONE)
        found = memrate_doubted(found, SOURCE_NOMINAL, REASON_RATE_AT_MOST);
    return isnan(found.value) ? bound(access, what) : found;
}
