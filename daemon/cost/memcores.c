#include "cost/memcores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/pairs.h"
#include "cost/published_bound.h"
#include "node/locality.h"

/* A stream that takes less may take less than one access: without a latency it has no time. */
#define ACCESS_NS 1000
/* No access takes as long: longer streams need no look at latencies. */
#define ACCESS_MOST_NS 1e4

static const struct memcores_value unknown = {.value = NAN, .low = NAN, .high = NAN};

/* ---- cores ---- */

/* A NUMA node stands beside the places above a core, not among them: count it once. */
static void count_core(const struct graph *graph, place_id c, bool is_inside,
                       const struct memcores *who)
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
static void find_groups(const struct graph *graph, struct memcores *who)
{
    for (place_id p = 0; p < (place_id)graph->place_count; p++) {
        enum place_kind kind = graph_place(graph, p)->kind;
        if (who->of[p] == 0 || kind > PLACE_CORE)
            continue;
        if (kind <= PLACE_LLC)
            who->group[who->group_count++] = p;
        if (who->inside[p] != who->in_all || who->in_all == 0 ||
            who->holder_count == MEMCORES_HOLDERS)
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

enum berth_code memcores_init(const struct graph *graph, const struct cpuset *cpus,
                              struct memcores *ret, struct berth_err *err)
{
    size_t n = graph->place_count, words = words_of(cpus);
    place_id *group = calloc(n, sizeof *group + 2 * sizeof(uint16_t));
    if (group == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory to count cores");
    struct memcores who = {.group = group, .inside = (uint16_t *)(group + n)};
    who.of = who.inside + n;
    for (place_id c = graph_next(graph, PLACE_CORE, 0); c != PLACE_NONE;
         c = graph_next(graph, PLACE_CORE, c + 1))
        count_core(graph, c, has_any(graph_place(graph, c)->cpus, cpus, words), &who);
    who.cores = who.in_all = who.inside[0];
    find_groups(graph, &who);
    *ret = who;
    return BERTH_OK;
}

void memcores_done(struct memcores *cores)
{
    free(cores->group);
    cores->group = NULL;
    cores->inside = cores->of = NULL;
}

/* ---- rates ---- */

static const char *how_of(bool is_write) { return is_write ? "write" : "read"; }
static const char *axes_of(bool is_write) { return is_write ? "operation=write" : ""; }

static bool usable(const struct value *v, bool measured_only)
{
    return v != NULL && v->value > 0 && (v->source == VALUE_MEASURED || !measured_only);
}

static enum source source_of(const struct value *v)
{
    return v->source == VALUE_MEASURED    ? SOURCE_MEASURED
           : v->source == VALUE_PUBLISHED ? SOURCE_PUBLISHED
                                          : SOURCE_NOMINAL;
}

static struct memcores_value of_value(const struct value *v)
{
    return (struct memcores_value){v->value, v->low, v->high, v->n, source_of(v), 0};
}

static uint32_t fewer(uint32_t a, uint32_t b) { return a < b ? a : b; }
static enum source worse(enum source a, enum source b) { return a > b ? a : b; }
static double lower(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }
static double between(double a, double b, double share) { return a + (b - a) * share; }

static void doubt(struct memcores_value *value, enum memtime_doubt doubt, enum source source)
{
    value->doubts |= 1u << doubt;
    value->source = worse(value->source, source);
}

/* Reads canonical axes: true for that kind of access, undisturbed. They are read often, and so not
 * with axes_get. */
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

/* The rate of so many cores of one place. */
static struct memcores_value rate_from(const struct memcores_access *access, place_id from,
                                       double threads, bool is_write, bool measured_only)
{
    const struct value *v, *below = NULL, *above = NULL;
    double low = 0, high = INFINITY, t;
    size_t n =
        values_range_to(access->snap->values, METRIC_MEMORY_BANDWIDTH, from, access->memory, &v);
    for (; n > 0; v++, n--) {
        if (!usable(v, measured_only) || !read_axes(values_axes(access->snap->values, v),
                                                    how_of(is_write), access->who->of[from], &t))
            continue;
        if (t >= threads && t < high) {
            above = v;
            high = t;
        } else if (t < threads && t > low) {
            below = v;
            low = t;
        }
    }
    if (above == NULL && below == NULL)
        return unknown;
    struct memcores_value found = of_value(above != NULL ? above : below);
    if (found.source == SOURCE_NOMINAL)
        doubt(&found, MEMTIME_PEAK, SOURCE_NOMINAL);
    if (above != NULL && below != NULL && high > threads) {
        double share = (threads - low) / (high - low);
        found.value = between(below->value, above->value, share);
        found.low = between(below->low, above->low, share);
        found.high = between(below->high, above->high, share);
        found.n = fewer(below->n, above->n);
        memtime_cite(access->basis, below);
    } else if (above != NULL && high > threads) {
        doubt(&found, MEMTIME_ALL_CORES, SOURCE_NOMINAL);
    }
    memtime_cite(access->basis, above != NULL ? above : below);
    return found;
}

/* The next of the places of a kind that has some of the cores, at or after *index of who->group,
 * which is left behind it. */
static place_id next_part(const struct memcores_access *access, enum place_kind kind, size_t *index)
{
    const struct memcores *who = access->who;
    while (*index < who->group_count) {
        place_id p = who->group[(*index)++];
        if (graph_place(access->snap->graph, p)->kind == kind && who->inside[p] > 0)
            return p;
    }
    return PLACE_NONE;
}

/* The highest rate that a NUMA node's or package's cores are known to get from the memory. */
static const struct value *highest(const struct memcores_access *access, bool is_write,
                                   bool measured_only)
{
    const struct value *best = NULL;
    for (size_t i = 0; i < access->who->group_count; i++) {
        place_id p = access->who->group[i];
        const struct value *v = values_find(access->snap->values, METRIC_MEMORY_BANDWIDTH, p,
                                            access->memory, axes_of(is_write));
        if (graph_place(access->snap->graph, p)->kind <= PLACE_NUMA && usable(v, measured_only) &&
            (best == NULL || v->value > best->value))
            best = v;
    }
    return best;
}

/* The cores as several places of one kind, each with its share of the bytes. */
static struct memcores_value rate_of_parts(const struct memcores_access *access,
                                           enum place_kind kind, bool is_write, bool measured_only)
{
    const struct memcores *who = access->who;
    struct memcores_value sum = {INFINITY, INFINITY, INFINITY, UINT32_MAX, SOURCE_MEASURED, 0};
    size_t evidence = access->basis->evidence->count, index = 0;
    unsigned covered = 0;
    double top = 0;
    for (place_id p; (p = next_part(access, kind, &index)) != PLACE_NONE;) {
        double share = (double)who->inside[p] / who->in_all;
        struct memcores_value part =
            rate_from(access, p, share * who->cores, is_write, measured_only);
        if (isnan(part.value))
            break;
        covered += who->inside[p];
        top = fmax(top, part.value);
        sum = (struct memcores_value){
            fmin(sum.value, part.value / share), lower(sum.low, part.low / share),
            lower(sum.high, part.high / share),  fewer(sum.n, part.n),
            worse(sum.source, part.source),      sum.doubts | part.doubts};
    }
    if (covered != who->in_all) {
        access->basis->evidence->count = evidence;
        return unknown;
    }
    const struct value *best = highest(access, is_write, measured_only);
    if (best != NULL && best->value > top) {
        memtime_cite(access->basis, best);
        top = best->value;
    }
    /* The memory may give more than one place gets of it: high stays. */
    sum.value = fmin(sum.value, top);
    sum.low = lower(sum.low, top);
    doubt(&sum, MEMTIME_SHARED, SOURCE_MEASURED);
    return sum;
}

/* What the cores of one NUMA node get over the links between packages that have one memory with
 * their gpus: those are stated as their gpus', and carry what cores access as well. */
static double rate_over_links(const struct memcores_access *access, place_id numa, bool is_write,
                              struct move *ret)
{
    place_id there = memkind_one_of(access->node, access->memory),
             here = memkind_one_of(access->node, numa);
    bool is_known =
        there != PLACE_NONE && here != PLACE_NONE &&
        plan_pairs_move(access->snap, access->snap->derived.pairs, is_write ? here : there,
                        is_write ? there : here, MOVE_KERNEL, ret);
    return is_known ? ret->bytes_per_s : NAN;
}

static struct memcores_value rate_by_links(const struct memcores_access *access, bool is_write)
{
    const struct memcores *who = access->who;
    const struct graph *graph = access->snap->graph;
    struct memcores_value rate = {INFINITY, NAN, NAN, 0, SOURCE_NOMINAL, 1u << MEMTIME_LINKS};
    struct move slowest = {0};
    const struct value *own = values_find(access->snap->values, METRIC_MEMORY_BANDWIDTH,
                                          access->memory, access->memory, axes_of(is_write));
    unsigned covered = 0;
    double links = INFINITY;
    for (place_id n = graph_next(graph, PLACE_NUMA, 0); n != PLACE_NONE;
         n = graph_next(graph, PLACE_NUMA, n + 1)) {
        struct move move;
        if (who->inside[n] == 0)
            continue;
        bool is_near = n == access->memory && usable(own, false);
        double part = is_near ? own->value : rate_over_links(access, n, is_write, &move);
        if (isnan(part))
            return unknown;
        covered += who->inside[n];
        part *= (double)who->in_all / who->inside[n];
        rate.value = fmin(rate.value, part);
        if (!is_near && part < links) {
            links = part;
            slowest = move;
        }
    }
    if (covered != who->in_all || isinf(links))
        return unknown;
    if (plan_move_cite(graph, &slowest, access->basis->evidence, access->basis->start, NULL) !=
        BERTH_OK)
        access->basis->no_memory = true;
    if (usable(own, false)) { /* its own cores share it */
        rate.value = fmin(rate.value, own->value);
        memtime_cite(access->basis, own);
    }
    return rate;
}

static struct memcores_value bound(const struct memcores_access *access, bool is_write)
{
    const struct graph *graph = access->snap->graph;
    place_id package = locality_above(graph, access->memory, PLACE_PACKAGE);
    const struct value *v, *most = NULL;
    size_t n = values_range(access->snap->values, METRIC_MEMORY_BANDWIDTH, PLACE_NONE, &v);
    for (; n > 0 && package != PLACE_NONE; v++, n--)
        if (v->to == access->memory && usable(v, false) &&
            (most == NULL || v->value > most->value) &&
            graph_place(graph, v->from)->kind <= PLACE_CORE &&
            locality_above(graph, v->from, PLACE_PACKAGE) == package &&
            strcmp(values_axes(access->snap->values, v), axes_of(is_write)) == 0)
            most = v;
    for (unsigned i = 0; i < access->who->holder_count; i++) {
        v = published_bound_access(access->snap, access->who->holder[i], access->memory,
                                   how_of(is_write));
        most = v != NULL && (most == NULL || v->value < most->value) ? v : most;
    }
    if (most == NULL)
        return unknown;
    memtime_cite(access->basis, most);
    return (struct memcores_value){most->value,       NAN, NAN, 0, SOURCE_LOWER_BOUND,
                                   1u << MEMTIME_NEAR};
}

static struct memcores_value rate_of_places(const struct memcores_access *access, bool is_write)
{
    const struct memcores *who = access->who;
    for (int measured_only = 1; measured_only >= 0; measured_only--) {
        for (unsigned i = 0; i < who->holder_count; i++) {
            struct memcores_value rate =
                rate_from(access, who->holder[i], who->cores, is_write, measured_only);
            if (!isnan(rate.value))
                return rate;
        }
        for (enum place_kind kind = PLACE_NUMA; kind <= PLACE_LLC; kind++) {
            struct memcores_value rate = rate_of_parts(access, kind, is_write, measured_only);
            if (!isnan(rate.value))
                return rate;
        }
    }
    return unknown;
}

struct memcores_value memcores_rate(const struct memcores_access *access, bool is_write)
{
    struct memcores_value rate = rate_of_places(access, is_write);
    /* A figure that is published of memory that is a gpu's as well is what that memory gives. */
    if (!isnan(rate.value) && isnan(rate.low) &&
        memkind_one_of(access->node, access->memory) != PLACE_NONE)
        doubt(&rate, MEMTIME_PEAK, SOURCE_NOMINAL);
    if (isnan(rate.value))
        rate = rate_by_links(access, is_write);
    return isnan(rate.value) ? bound(access, is_write) : rate;
}

/* ---- latencies ---- */

static const struct value *latency_from(const struct memcores_access *access, place_id from,
                                        double span, bool measured_only)
{
    const struct value *v, *best = NULL;
    size_t n =
        values_range_to(access->snap->values, METRIC_MEMORY_LATENCY, from, access->memory, &v);
    double least = INFINITY;
    for (; n > 0; v++, n--) {
        char text[48], noise[48];
        const char *axes = values_axes(access->snap->values, v);
        if (!usable(v, measured_only) ||
            strcmp(axes_get(METRIC_MEMORY_LATENCY, axes, "noise", noise, sizeof noise), "none") !=
                0)
            continue;
        axes_get(METRIC_MEMORY_LATENCY, axes, "bytes", text, sizeof text);
        double size = strcmp(text, "memory") == 0 ? INFINITY : strtod(text, NULL);
        if (best == NULL  ? isnan(span) || size >= span
            : isnan(span) ? size > least
                          : size >= span && size < least) {
            best = v;
            least = size;
        }
    }
    return best;
}

/* The mean over the places of a kind by their cores. */
static struct memcores_value latency_of_parts(const struct memcores_access *access,
                                              enum place_kind kind, double span, bool measured_only)
{
    const struct memcores *who = access->who;
    struct memcores_value sum = {.n = UINT32_MAX};
    size_t evidence = access->basis->evidence->count, index = 0;
    unsigned covered = 0;
    for (place_id p; (p = next_part(access, kind, &index)) != PLACE_NONE;) {
        const struct value *v = latency_from(access, p, span, measured_only);
        if (v == NULL)
            break;
        memtime_cite(access->basis, v);
        double share = (double)who->inside[p] / who->in_all;
        covered += who->inside[p];
        sum = (struct memcores_value){sum.value + share * v->value,    sum.low + share * v->low,
                                      sum.high + share * v->high,      fewer(sum.n, v->n),
                                      worse(sum.source, source_of(v)), 0};
    }
    if (covered == who->in_all)
        return sum;
    access->basis->evidence->count = evidence;
    return unknown;
}

struct memcores_value memcores_latency(const struct memcores_access *access, double span)
{
    const struct memcores *who = access->who;
    for (int measured_only = 1; measured_only >= 0; measured_only--) {
        for (unsigned i = 0; i < who->holder_count; i++) {
            const struct value *v = latency_from(access, who->holder[i], span, measured_only);
            if (v == NULL)
                continue;
            memtime_cite(access->basis, v);
            return of_value(v);
        }
        for (enum place_kind kind = PLACE_NUMA; kind <= PLACE_LLC; kind++) {
            struct memcores_value sum = latency_of_parts(access, kind, span, measured_only);
            if (!isnan(sum.value))
                return sum;
        }
    }
    return unknown;
}

/* ---- times ---- */

/* The least latency of cores to that memory, else to any; NULL unknown. */
static const struct value *least_latency(const struct memcores_access *access)
{
    const struct value *v, *least = NULL;
    size_t n = values_range(access->snap->values, METRIC_MEMORY_LATENCY, PLACE_NONE, &v);
    for (; n > 0; v++, n--) {
        if (graph_place(access->snap->graph, v->from)->kind == PLACE_GPU || !(v->value > 0) ||
            values_axes(access->snap->values, v)[0] != '\0')
            continue;
        bool is_there = v->to == access->memory,
             was_there = least != NULL && least->to == access->memory;
        if (least == NULL || (is_there != was_there ? is_there : v->value < least->value))
            least = v;
    }
    return least;
}

/* No stream, of however few bytes, takes less than one access to that memory. */
static struct memtime at_least_one_access(const struct memcores_access *access, struct memtime time)
{
    size_t evidence = access->basis->evidence->count;
    if (!(time.time_ns < ACCESS_MOST_NS) || time.time_ns == 0)
        return time;
    struct memcores_value latency = memcores_latency(access, NAN);
    if (latency.value > time.time_ns) { /* the stream may come on top */
        struct memtime one =
            memtime_of(latency.value, latency.low, latency.high + time.time_ns + sqrt(time.above),
                       latency.n, 0, 1);
        one.source = worse(time.source, latency.source);
        one.doubts = time.doubts;
        return one;
    }
    access->basis->evidence->count = evidence;
    const struct value *least = isnan(latency.value) ? least_latency(access) : NULL;
    if (least != NULL && least->value > time.time_ns) { /* of other cores, or to other memory */
        memtime_cite(access->basis, least);
        time.time_ns = least->value;
        return memtime_doubted(time, MEMTIME_NEAR, SOURCE_NOMINAL);
    }
    if (isnan(latency.value) && least == NULL && time.time_ns < ACCESS_NS)
        return memtime_doubted(time, MEMTIME_START, SOURCE_NOMINAL);
    return time;
}

struct memtime memcores_stream(const struct memcores_access *access, double read_bytes,
                               double write_bytes)
{
    const double bytes[2] = {read_bytes, write_bytes};
    struct memtime total = {0};
    for (int is_write = 0; is_write < 2 && !isnan(total.time_ns); is_write++) {
        if (bytes[is_write] == 0)
            continue;
        struct memcores_value rate = memcores_rate(access, is_write);
        double ns = bytes[is_write] * 1e9;
        struct memtime time = memtime_of(ns / rate.value, ns / rate.high, ns / rate.low, rate.n, 0,
                                         bytes[is_write] / access->span);
        time.source = rate.source;
        time.doubts = rate.doubts;
        total = memtime_sum(total, time);
    }
    return at_least_one_access(access, total);
}

struct memtime memcores_random(const struct memcores_access *access, double read_bytes,
                               double write_bytes)
{
    double loads = ceil((read_bytes + write_bytes) / MEMCORES_LINE_BYTES / access->who->cores);
    struct memcores_value latency = memcores_latency(access, access->span);
    if (isnan(latency.value))
        return memtime_doubted(memcores_stream(access, read_bytes, write_bytes), MEMTIME_AS_STREAM,
                               SOURCE_LOWER_BOUND);
    struct memtime time = memtime_of(loads * latency.value, loads * latency.low,
                                     loads * latency.high, latency.n, 0, 1);
    /* a stated latency is no bound of accesses one after the other */
    time.source = latency.source < SOURCE_PUBLISHED ? latency.source : SOURCE_PUBLISHED;
    return memtime_doubted(time, MEMTIME_IN_FLIGHT, SOURCE_SIMILAR_PAIR);
}
