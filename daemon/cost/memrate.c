#include "cost/memrate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/evidence.h"
#include "cost/published_bound.h"
#include "node/reasons.h"

#define POINTS_MAX 16

static const struct memrate unknown = {NAN, NAN, NAN, 0};

/* A NUMA node stands beside the places above a core, not among them: count it once. */
static void count_core(const struct graph *graph, place_id c, bool is_inside,
                       const struct accessor *who)
{
    place_id numa = graph_place(graph, c)->numa;
    for (place_id p = c; p != PLACE_NONE; p = graph_place(graph, p)->parent) {
        who->of[p]++;
        who->inside[p] = (uint16_t)(who->inside[p] + is_inside);
        if (p == numa)
            numa = PLACE_NONE;
    }
    if (numa != PLACE_NONE) {
        who->of[numa]++;
        who->inside[numa] = (uint16_t)(who->inside[numa] + is_inside);
    }
}

/* In one pass over the places, of which there are many. */
static void find_groups(const struct graph *graph, struct accessor *who)
{
    for (place_id p = 0; p < (place_id)graph->place_count; p++) {
        enum place_kind kind = graph_place(graph, p)->kind;
        if (who->of[p] == 0 || kind > PLACE_CORE)
            continue;
        if (kind <= PLACE_LLC)
            who->group[who->group_count++] = p;
        if (who->inside[p] != who->in_all || who->in_all == 0 ||
            who->holder_count == MEMRATE_HOLDERS)
            continue;
        /* An llc can be larger than a NUMA node. */
        unsigned at = who->holder_count++;
        for (; at > 0; at--) {
            place_id other = who->holder[at - 1];
            if (who->of[other] < who->of[p] ||
                (who->of[other] == who->of[p] && graph_place(graph, other)->kind >= kind))
                break;
            who->holder[at] = other;
        }
        who->holder[at] = p;
    }
}

/* One past the last word that has a cpu: a node has few of the words that a set has room for. */
static size_t words_of(const struct cpuset *cpus)
{
    size_t words = sizeof cpus->word / sizeof cpus->word[0];
    while (words > 0 && cpus->word[words - 1] == 0)
        words--;
    return words;
}

static bool has_any(const struct cpuset *core, const struct cpuset *cpus, size_t words)
{
    uint64_t common = 0;
    for (size_t i = 0; core != NULL && i < words; i++)
        common |= core->word[i] & cpus->word[i];
    return common != 0;
}

enum berth_code memrate_cores(const struct graph *graph, const struct cpuset *cpus,
                              struct accessor *ret, struct berth_err *err)
{
    size_t n = graph->place_count, words = words_of(cpus);
    place_id *group = calloc(n, sizeof *group + 2 * sizeof(uint16_t));
    if (group == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to count cores");
    struct accessor who = {.group = group, .inside = (uint16_t *)(group + n)};
    who.of = who.inside + n;
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1))
        count_core(graph, c, has_any(graph_place(graph, c)->cpus, cpus, words), &who);
    who.cores = who.in_all = who.inside[0];
    find_groups(graph, &who);
    *ret = who;
    return BERTH_OK;
}

void memrate_done(struct accessor *accessor)
{
    free(accessor->group);
    accessor->group = NULL;
    accessor->inside = accessor->of = NULL;
}

/* A rate at a number of threads, with the value it comes from. */
struct point {
    double threads;
    const struct value *value;
};

static bool usable(const struct value *v, bool measured_only)
{
    return !isnan(v->value) && v->value > 0 && (v->source == VALUE_MEASURED || !measured_only);
}

/* Reads canonical axes: whether they are of that kind of access, undisturbed, and by how many
 * threads. They are read often, and so not with axes_get. */
static bool read_axes(const char *axes, const char *how, double all, double *ret_threads)
{
    bool is_how = strcmp(how, "read") == 0; /* the default, which is left out */
    if (strncmp(axes, "operation=", 10) == 0) {
        size_t length = strlen(how);
        axes += 10;
        is_how = strncmp(axes, how, length) == 0 && (axes[length] == '\0' || axes[length] == ';');
        axes = is_how ? axes + length + (axes[length] == ';') : "";
    }
    *ret_threads = all;
    if (strncmp(axes, "threads=", 8) == 0)
        for (*ret_threads = 0, axes += 8; *axes >= '0' && *axes <= '9'; axes++)
            *ret_threads = 10 * *ret_threads + (*axes - '0');
    return is_how && *axes == '\0'; /* else there is noise */
}

/* The points of one initiator and memory in ascending order of threads. */
static size_t points(const struct snapshot *snap, place_id from, double all, place_id memory,
                     const char *how, bool measured_only, struct point *ret)
{
    const struct value *v;
    size_t n = values_range_to(snap->values, METRIC_MEMORY_BANDWIDTH, from, memory, &v), count = 0;
    for (; n > 0; v++, n--) {
        double threads;
        if (!usable(v, measured_only) ||
            !read_axes(values_axes(snap->values, v), how, all, &threads) || !(threads >= 1) ||
            count == POINTS_MAX)
            continue;
        size_t at = count++;
        for (; at > 0 && ret[at - 1].threads > threads; at--)
            ret[at] = ret[at - 1];
        ret[at] = (struct point){threads, v};
    }
    return count;
}

static double between(double a, double b, double share) { return a + (b - a) * share; }

static struct memrate of_value(const struct value *v)
{
    return (struct memrate){v->value, v->low, v->high, v->n};
}

static uint32_t fewer(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Whether a value like that was cited before, and so said to be no measured one. */
static bool is_said(const struct evidence *evidence, const struct value *v)
{
    for (size_t i = 0; i < evidence->count; i++)
        if (evidence->item[i] != NULL && evidence->item[i]->metric == v->metric &&
            evidence->item[i]->source == v->source)
            return true;
    return false;
}

enum berth_code memrate_cite(struct memrate_basis *basis, const struct value *v,
                             struct berth_err *err)
{
    if (v->source != VALUE_MEASURED && !is_said(basis->evidence, v))
        reasons_note(basis->warnings, "not every %s here is measured: why says which are %s",
                     metric_info(v->metric)->name, value_source_name(v->source));
    if (!evidence_add(basis->evidence, basis->start, v))
        return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    return BERTH_OK;
}

/* The rate of one initiator with so many threads; NAN when there is none. */
static enum berth_code stream_from(const struct snapshot *snap, place_id from, double threads,
                                   double all, place_id memory, const char *how, bool measured_only,
                                   struct memrate_basis *basis, struct memrate *ret,
                                   struct berth_err *err)
{
    struct point point[POINTS_MAX];
    size_t count = points(snap, from, all, memory, how, measured_only, point);
    *ret = unknown;
    if (count == 0)
        return BERTH_OK;
    size_t above = 0;
    while (above + 1 < count && point[above].threads < threads)
        above++;
    const struct point *b = &point[above], *a = above > 0 ? b - 1 : NULL;
    *ret = of_value(b->value);
    if (b->value->source == VALUE_NOMINAL) {
        reasons_note(basis->warnings,
                     "what firmware states of a memory's bandwidth is its peak, which cores do not "
                     "reach: what uses it takes at least so long");
        basis->at_least = true;
    }
    if (threads < b->threads && a == NULL && b->value->source != VALUE_MEASURED) {
        reasons_note(basis->warnings,
                     "%s bandwidth of %s is known of all its %g cores together only: fewer take at "
                     "least as long as that says, one alone far longer",
                     how, graph_place(snap->graph, from)->name, b->threads);
        basis->at_least = true;
    } else if (threads < b->threads && a == NULL) {
        reasons_note(basis->warnings,
                     "%s bandwidth of %s was not measured with fewer than %g cores: that figure "
                     "stands for %g",
                     how, graph_place(snap->graph, from)->name, b->threads, threads);
        ret->low = (isnan(ret->low) ? ret->value : ret->low) * threads / b->threads;
    } else if (threads < b->threads) {
        assert(a != NULL);
        double share = (threads - a->threads) / (b->threads - a->threads);
        *ret = (struct memrate){between(a->value->value, b->value->value, share),
                                between(a->value->low, b->value->low, share),
                                between(a->value->high, b->value->high, share),
                                fewer(a->value->n, b->value->n)};
        enum berth_code code = memrate_cite(basis, a->value, err);
        if (code != BERTH_OK)
            return code;
    }
    return memrate_cite(basis, b->value, err);
}

/* The next of the places of a kind that has some of the cores, at or after *index of who->group,
 * which is left behind it. */
static place_id next_part(const struct snapshot *snap, const struct accessor *who,
                          enum place_kind kind, size_t *index)
{
    while (*index < who->group_count) {
        place_id p = who->group[(*index)++];
        if (graph_place(snap->graph, p)->kind == kind && who->inside[p] > 0)
            return p;
    }
    return PLACE_NONE;
}

/* The highest rate that any NUMA node's or package's cores have been seen to get from a memory. */
static const struct value *highest(const struct snapshot *snap, const struct accessor *who,
                                   place_id memory, const char *how, bool measured_only)
{
    const struct value *best = NULL;
    const char *axes = strcmp(how, "read") == 0 ? "" : "operation=write";
    for (size_t i = 0; i < who->group_count; i++) {
        if (graph_place(snap->graph, who->group[i])->kind > PLACE_NUMA)
            continue;
        const struct value *v =
            values_find(snap->values, METRIC_MEMORY_BANDWIDTH, who->group[i], memory, axes);
        if (v != NULL && usable(v, measured_only) && (best == NULL || v->value > best->value))
            best = v;
    }
    return best;
}

static double lower(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }

/* The cores as several initiators of one kind, each with its share of the bytes. */
static enum berth_code stream_parts(const struct snapshot *snap, const struct accessor *who,
                                    enum place_kind kind, place_id memory, const char *how,
                                    bool measured_only, struct memrate_basis *basis,
                                    struct memrate *ret, struct berth_err *err)
{
    struct memrate sum = {INFINITY, INFINITY, INFINITY, UINT32_MAX};
    size_t evidence = basis->evidence->count, warnings = basis->warnings->count;
    unsigned covered = 0;
    double top = 0;
    *ret = unknown;
    size_t index = 0;
    for (place_id p; (p = next_part(snap, who, kind, &index)) != PLACE_NONE;) {
        double share = (double)who->inside[p] / who->in_all;
        struct memrate part;
        enum berth_code code = stream_from(snap, p, share * who->cores, who->of[p], memory, how,
                                           measured_only, basis, &part, err);
        if (code != BERTH_OK)
            return code;
        if (isnan(part.value))
            break;
        covered += who->inside[p];
        top = fmax(top, part.value);
        sum =
            (struct memrate){fmin(sum.value, part.value / share), lower(sum.low, part.low / share),
                             lower(sum.high, part.high / share), fewer(sum.n, part.n)};
    }
    if (covered != who->in_all) {
        basis->evidence->count = evidence;
        basis->warnings->count = warnings;
        return BERTH_OK;
    }
    const struct value *best = highest(snap, who, memory, how, measured_only);
    if (best != NULL && best->value > top) {
        enum berth_code code = memrate_cite(basis, best, err);
        if (code != BERTH_OK)
            return code;
        top = best->value;
    }
    reasons_note(basis->warnings,
                 "how the cores of several %ss share one memory was not measured: taken as at most "
                 "the highest rate known there",
                 place_kind_name(kind));
    /* The memory may give more than any one initiator has been seen to get: high stays. */
    *ret = (struct memrate){fmin(sum.value, top), lower(sum.low, top), sum.high, sum.n};
    return BERTH_OK;
}

enum berth_code memrate_stream(const struct snapshot *snap, const struct accessor *who,
                               place_id memory, const char *how, struct memrate_basis *basis,
                               struct memrate *ret, struct berth_err *err)
{
    *ret = unknown;
    for (int pass = 0; pass < 2; pass++) {
        bool measured_only = pass == 0;
        for (unsigned i = 0; i < who->holder_count; i++) {
            place_id p = who->holder[i];
            enum berth_code code = stream_from(snap, p, who->cores, who->of[p], memory, how,
                                               measured_only, basis, ret, err);
            if (code != BERTH_OK || !isnan(ret->value))
                return code;
        }
        for (enum place_kind kind = PLACE_NUMA; kind <= PLACE_LLC; kind++) {
            enum berth_code code =
                stream_parts(snap, who, kind, memory, how, measured_only, basis, ret, err);
            if (code != BERTH_OK || !isnan(ret->value))
                return code;
        }
    }
    return BERTH_OK;
}

static place_id package_of(const struct graph *graph, place_id place)
{
    for (; place != PLACE_NONE; place = graph_place(graph, place)->parent)
        if (graph_place(graph, place)->kind == PLACE_PACKAGE)
            return place;
    return PLACE_NONE;
}

enum berth_code memrate_bound(const struct snapshot *snap, const struct accessor *who,
                              place_id memory, const char *how, struct memrate_basis *basis,
                              struct memrate *ret, struct berth_err *err)
{
    const char *axes = strcmp(how, "read") == 0 ? "" : "operation=write";
    place_id package = package_of(snap->graph, memory);
    const struct value *v, *most = NULL;
    for (size_t n = values_range(snap->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v); n > 0;
         v++, n--) {
        bool is_near = v->to == memory && package != PLACE_NONE &&
                       package_of(snap->graph, v->from) == package &&
                       graph_place(snap->graph, v->from)->kind <= PLACE_CORE;
        if (is_near && usable(v, false) && (most == NULL || v->value > most->value) &&
            strcmp(values_axes(snap->values, v), axes) == 0)
            most = v;
    }
    for (unsigned i = 0; i < who->holder_count; i++) {
        v = published_bound_access(snap, who->holder[i], memory, how);
        most = v != NULL && (most == NULL || v->value < most->value) ? v : most;
    }
    *ret = unknown;
    if (most == NULL)
        return BERTH_OK;
    basis->floor |= MEMRATE_FLOOR_CORES;
    ret->value = most->value;
    return memrate_cite(basis, most, err);
}

/* What was measured over the least buffer that is not smaller, else over one far larger than all
 * caches; bytes NAN: over the largest there is. */
static const struct value *latency_of(const struct snapshot *snap, place_id from, place_id memory,
                                      double bytes, bool measured_only)
{
    const struct value *v, *best = NULL;
    size_t n = values_range_to(snap->values, METRIC_MEMORY_LATENCY, from, memory, &v);
    double least = INFINITY;
    for (; n > 0; v++, n--) {
        char text[48], noise[48];
        const char *axes = values_axes(snap->values, v);
        if (!usable(v, measured_only) ||
            strcmp(axes_get(METRIC_MEMORY_LATENCY, axes, "noise", noise, sizeof noise), "none") !=
                0)
            continue;
        axes_get(METRIC_MEMORY_LATENCY, axes, "bytes", text, sizeof text);
        double size = strcmp(text, "memory") == 0 ? INFINITY : strtod(text, NULL);
        if (best == NULL   ? isnan(bytes) || size >= bytes
            : isnan(bytes) ? size > least
                           : size >= bytes && size < least) {
            best = v;
            least = size;
        }
    }
    return best;
}

/* The mean over the initiators of a kind by their cores; NAN when one has no value. */
static enum berth_code latency_parts(const struct snapshot *snap, const struct accessor *who,
                                     enum place_kind kind, place_id memory, double bytes,
                                     bool measured_only, struct memrate_basis *basis,
                                     struct memrate *ret, struct berth_err *err)
{
    struct memrate sum = {.n = UINT32_MAX};
    unsigned covered = 0;
    size_t evidence = basis->evidence->count, warnings = basis->warnings->count;
    size_t index = 0;
    for (place_id p; (p = next_part(snap, who, kind, &index)) != PLACE_NONE;) {
        const struct value *v = latency_of(snap, p, memory, bytes, measured_only);
        if (v == NULL)
            break;
        enum berth_code code = memrate_cite(basis, v, err);
        if (code != BERTH_OK)
            return code;
        double share = (double)who->inside[p] / who->in_all;
        covered += who->inside[p];
        sum = (struct memrate){sum.value + share * v->value, sum.low + share * v->low,
                               sum.high + share * v->high, fewer(sum.n, v->n)};
    }
    if (covered == who->in_all) {
        *ret = sum;
    } else {
        basis->evidence->count = evidence;
        basis->warnings->count = warnings;
    }
    return BERTH_OK;
}

enum berth_code memrate_latency_within(const struct snapshot *snap, const struct accessor *who,
                                       place_id memory, double bytes, struct memrate_basis *basis,
                                       struct memrate *ret, struct berth_err *err)
{
    *ret = unknown;
    for (int pass = 0; pass < 2; pass++) {
        bool measured_only = pass == 0;
        for (unsigned i = 0; i < who->holder_count; i++) {
            const struct value *v = latency_of(snap, who->holder[i], memory, bytes, measured_only);
            if (v != NULL) {
                *ret = of_value(v);
                return memrate_cite(basis, v, err);
            }
        }
        for (enum place_kind kind = PLACE_NUMA; kind <= PLACE_LLC && isnan(ret->value); kind++) {
            enum berth_code code =
                latency_parts(snap, who, kind, memory, bytes, measured_only, basis, ret, err);
            if (code != BERTH_OK)
                return code;
        }
        if (!isnan(ret->value))
            return BERTH_OK;
    }
    return BERTH_OK;
}

enum berth_code memrate_latency(const struct snapshot *snap, const struct accessor *who,
                                place_id memory, struct memrate_basis *basis, struct memrate *ret,
                                struct berth_err *err)
{
    return memrate_latency_within(snap, who, memory, INFINITY, basis, ret, err);
}
