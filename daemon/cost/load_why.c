#include "cost/load_why.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cost/doubt.h"
#include "cost/evidence.h"
#include "cost/limits.h"
#include "cost/load_unexplained.h"
#include "node/reasons.h"

#define UNEXPLAINED_MAX 3  /* sets that are named */
#define STATED_MAX      64 /* resources of structure that are looked at */
#define HOST            (TRANSFER_HOST_ENGINE | TRANSFER_HOST_KERNEL)
#define PEER            (TRANSFER_PEER_ENGINE | TRANSFER_PEER_KERNEL)

/* One step, to be explained. */
struct asked {
    const struct load_table *table;
    const struct load_flow *flow;
    size_t count;
    const struct load_scratch *scratch;
    struct reasons *warnings;
};

static const char *name_of(const struct asked *asked, size_t index)
{
    return graph_place(asked->table->snap->graph, asked->table->place[index])->name;
}

/* ---- rates ---- */

/* How little is known of a flow. */
enum lack {
    LACK_NONE,
    LACK_ALL,
    LACK_MEASUREMENT,
    LACK_HALF,
    LACK_BACK,
    LACK_BOUND,
    LACK_MOST,
    LACK_ENGINE,
    LACK_NETWORK,
    LACK_SMALL,
    LACK_SIZES,
    LACK_START,
    LACK_OWN,
    LACK_COUNT
};

static enum lack lack_of(const struct asked *asked, size_t i)
{
    const struct load_ride *ride = asked->scratch->ride[i];
    const struct load_flow *flow = &asked->flow[i];
    if (ride == NULL)
        return flow->from != flow->to && flow->bytes > 0 ? LACK_ALL : LACK_NONE;
    if (ride->known == LOAD_NOMINAL)
        return ride->kind == TRANSFER_NETWORK      ? LACK_NETWORK
               : plan_move_is_own(&ride->move)     ? LACK_HALF
               : plan_move_is_back(&ride->move)    ? LACK_BACK
               : plan_move_is_engines(&ride->move) ? LACK_ENGINE
               : plan_move_is_bounded(&ride->move) ? LACK_BOUND
               : ride->move.most != NULL           ? LACK_MOST
                                                   : LACK_MEASUREMENT;
    if (!plan_move_knows(&ride->move, flow->bytes))
        return LACK_SMALL;
    if (plan_move_is_by_another(&ride->move, flow->bytes, flow->bytes))
        return ride->move.is_like ? LACK_SIZES : LACK_START;
    return ride->known == LOAD_PUBLISHED ? LACK_OWN : LACK_NONE;
}

/* Flows for which it is not known which of several ways they take, where a link slows them. */
static size_t count_guessed(const struct asked *asked, size_t *ret_first)
{
    size_t count = 0;
    *ret_first = 0;
    for (size_t i = 0; i < asked->count; i++) {
        const struct load_ride *ride = asked->scratch->ride[i];
        uint16_t at = asked->scratch->flow[i].slowed_by;
        const struct load_resource *shared =
            at != SIM_NO_LIMIT ? &asked->table->resource[at] : NULL;
        if (ride != NULL && ride->several && shared != NULL && shared->is_nominal &&
            shared->limit->role.part == LIMIT_LINK)
            *ret_first = count++ == 0 ? i : *ret_first;
    }
    return count;
}

static void warn_of_ways(const struct asked *asked, const char *prefix)
{
    size_t first, count = count_guessed(asked, &first);
    char more[40] = "";
    if (count > 1)
        snprintf(more, sizeof more, " (and %zu more)", count - 1);
    if (count > 0)
        reasons_note(asked->warnings,
                     "%sfrom %s to %s%s several paths are as wide and as short: which one the "
                     "driver takes is not known, the one by the lowest numbers counts",
                     prefix, name_of(asked, asked->flow[first].from),
                     name_of(asked, asked->flow[first].to), more);
}

/* Whether a line that begins so says so. */
static bool is_said(const struct reasons *warnings, const char *before, const char *after)
{
    bool said = false;
    for (size_t i = 0; i < warnings->count && !said; i++)
        said = strncmp(warnings->item[i].text, before, strlen(before)) == 0 &&
               strstr(warnings->item[i].text, after) != NULL;
    return said;
}

/* One line for each lack, with the first pair that has it; behind a prefix only what was not said
 * without one. */
static void warn_of_rates(const struct asked *asked, const char *prefix)
{
    static const struct {
        const char *before, *after;
    } text[] = {
        [LACK_ALL] = {"neither measurements nor links say what a transfer takes",
                      "it counts as no time"},
        [LACK_MEASUREMENT] = {"nothing was measured",
                              "the time is what the links are said to allow"},
        [LACK_HALF] = {"nothing was measured",
                       "it counts with half of what that memory is known to carry (evidence)"},
        [LACK_BACK] = {"nothing was measured",
                       "it counts with what the other direction gets (evidence)"},
        [LACK_BOUND] = {"nothing was measured",
                        "it counts with a bound that is published of such accesses (evidence)"},
        [LACK_MOST] = {"nothing was measured", "it counts with the most that is known at either "
                                               "end (evidence), whatever links are said to carry"},
        [LACK_ENGINE] = {"nothing was measured",
                         "it counts with what is published of such copy "
                         "engines (evidence), whatever links are said to carry"},
        [LACK_NETWORK] = {"nothing is measured",
                          "the time is what the nic and its links are said to allow at best"},
        [LACK_SMALL] = {"what so few bytes take was not measured", "the time is at least this"},
        [LACK_SIZES] = {"sizes were not measured",
                        "those of another pair that gets the same rate stand for them"},
        [LACK_START] = {"what starting a transfer costs was not measured",
                        "that of another pair stands for it"},
        [LACK_OWN] = {"nothing was measured here", "a published figure stands"},
    };
    size_t first[LACK_COUNT] = {0}, pairs[LACK_COUNT] = {0}, guessed;
    bool is_best = count_guessed(asked, &guessed) == 0; /* by another way it may take less */
    for (size_t i = 0; i < asked->count; i++) {
        enum lack lack = lack_of(asked, i);
        first[lack] = pairs[lack]++ == 0 ? i : first[lack];
    }
    for (int lack = LACK_ALL; lack < LACK_COUNT; lack++) {
        char more[48] = "";
        if (pairs[lack] == 0)
            continue;
        if (pairs[lack] > 1)
            snprintf(more, sizeof more, " (and %zu more)", pairs[lack] - 1);
        if (*prefix != '\0' && is_said(asked->warnings, text[lack].before, text[lack].after))
            continue;
        reasons_note(asked->warnings, "%s%s from %s to %s%s: %s%s", prefix, text[lack].before,
                     name_of(asked, asked->flow[first[lack]].from),
                     name_of(asked, asked->flow[first[lack]].to), more, text[lack].after,
                     lack == LACK_MEASUREMENT && is_best ? " at best" : "");
    }
}

void plan_load_why_beside(const struct load_table *table, const struct load_flow *flows,
                          size_t count, const struct load_scratch *scratch, const char *prefix,
                          struct reasons *warnings)
{
    const struct asked asked = {
        .table = table, .flow = flows, .count = count, .scratch = scratch, .warnings = warnings};
    warn_of_ways(&asked, prefix);
    warn_of_rates(&asked, prefix);
}

/* Where nothing was measured nothing says what starting costs either. */
static void warn_of_starts(const struct asked *asked)
{
    for (size_t i = 0; i < asked->count; i++) {
        const struct load_ride *ride = asked->scratch->ride[i];
        if (ride == NULL || ride->known != LOAD_NOMINAL ||
            !plan_move_lacks_start(&ride->move, asked->flow[i].bytes))
            continue;
        reasons_note(asked->warnings,
                     "what starting a transfer costs is not known (%s to %s): so few bytes take at "
                     "least this",
                     name_of(asked, asked->flow[i].from), name_of(asked, asked->flow[i].to));
        return;
    }
}

/* ---- what is shared ---- */

static bool uses(const struct asked *asked, size_t flow, size_t resource)
{
    const struct sim_flow *its = &asked->scratch->flow[flow];
    for (unsigned u = 0; asked->scratch->ride[flow] != NULL && u < its->limit_count; u++)
        if (its->limit[u] == resource)
            return true;
    return false;
}

static unsigned kind_of(const struct asked *asked, size_t i)
{
    return asked->scratch->ride[i] != NULL ? asked->scratch->ride[i]->kind : 0;
}

static unsigned kinds_in(const struct asked *asked, size_t resource)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < asked->count; i++)
        kinds |= uses(asked, i, resource) ? kind_of(asked, i) : 0;
    return kinds;
}

/* A resource of structure that slows flows: nobody measured what several get through it. */
struct stated {
    const struct load_resource *resource;
    unsigned kinds; /* of flows through it */
};

#define WHOSE_SIZE 128

/* Where a capacity is from. */
static const char *whose(const struct asked *asked, const struct limit *limit,
                         char text[WHOSE_SIZE])
{
    const struct graph *graph = asked->table->snap->graph;
    if (limit->source == LIMIT_OTHER_RUNS)
        return "as others were measured to get";
    if (limit->source == LIMIT_CARRIED && limit->carried_by > 1) {
        snprintf(text, WHOSE_SIZE, "as %u were seen to get together", limit->carried_by);
        return text;
    }
    if (limit->source == LIMIT_CARRIED &&
        (limit->role.part == LIMIT_HOST_PORT || limit->role.part == LIMIT_PCIE_PORT))
        return "what one gets";
    if (limit->source == LIMIT_CARRIED) {
        snprintf(text, WHOSE_SIZE, "as %.40s to %.40s was seen to get",
                 graph_place(graph, limit->carried_from)->name,
                 graph_place(graph, limit->carried_to)->name);
        return text;
    }
    switch (limit->source) {
    case LIMIT_MEMBER:
        return "as one of its gpus gets";
    case LIMIT_COMMON:
        return "as copies within that memory can";
    case LIMIT_CORES:
        return "as cores are known to get";
    default:
        return limit->role.part == LIMIT_PCIE_PORT ? "as links reach of what is said of it"
               : limit->role.part == LIMIT_MEMORY  ? "the most that is known of it"
                                                   : "as is said of it";
    }
}

/* Whether the same is to be said of both, but for their names. */
static bool is_same_stated(const struct asked *asked, const struct stated *a,
                           const struct stated *b)
{
    const struct limit *x = a->resource->limit, *y = b->resource->limit;
    char one[WHOSE_SIZE], other[WHOSE_SIZE];
    return x->role.part == y->role.part &&
           strcmp(whose(asked, x, one), whose(asked, y, other)) == 0 &&
           a->resource->step[0].bytes_per_s == b->resource->step[0].bytes_per_s &&
           a->kinds == b->kinds;
}

/* alike: of how many more the same is to be said. */
static void warn_of_stated(const struct asked *asked, const struct stated *stated, size_t alike)
{
    const struct load_resource *shared = stated->resource;
    unsigned kinds = stated->kinds;
    double rate = shared->step[0].bytes_per_s / 1e9;
    char more[40] = "", text[WHOSE_SIZE];
    const char *from = whose(asked, shared->limit, text);
    if (alike > 0)
        snprintf(more, sizeof more, " (and %zu alike)", alike);
    if ((kinds & (kinds - 1)) != 0)
        reasons_note(asked->warnings,
                     "%s%s carries transfers that were not measured together (%s): all count as "
                     "sharing %.4g GB/s, %s",
                     shared->name, more,
                     (kinds & HOST) != 0 && (kinds & PEER) != 0 ? "with the host, between gpus"
                     : (kinds & TRANSFER_NETWORK) != 0          ? "with a nic"
                                                                : "by copy engine, by kernel",
                     rate, from);
    else
        reasons_note(
            asked->warnings,
            "what several get through %s%s was not measured: they count as sharing %.4g GB/s, %s",
            shared->name, more, rate, from);
}

/* Those alike in one line. */
static void warn_of_nominal(const struct asked *asked)
{
    struct stated stated[STATED_MAX];
    bool said[STATED_MAX] = {false};
    size_t count = 0;
    for (size_t i = 0; i < asked->count && count < STATED_MAX; i++) {
        uint16_t at = asked->scratch->flow[i].slowed_by;
        size_t s = 0;
        if (asked->scratch->ride[i] == NULL || at == SIM_NO_LIMIT ||
            !asked->table->resource[at].is_nominal)
            continue;
        while (s < count && stated[s].resource != &asked->table->resource[at])
            s++;
        if (s == count)
            stated[count++] = (struct stated){&asked->table->resource[at], kinds_in(asked, at)};
    }
    for (size_t s = 0; s < count; s++) {
        size_t alike = 0;
        for (size_t other = s + 1; other < count && !said[s]; other++) {
            bool same = !said[other] && is_same_stated(asked, &stated[s], &stated[other]);
            said[other] = said[other] || same;
            alike += same;
        }
        if (!said[s])
            warn_of_stated(asked, &stated[s], alike);
    }
}

/* Two flows of different kinds that meet at a gpu: what they do to each other nobody measured. */
static void warn_of_kinds(const struct asked *asked)
{
    const struct graph *graph = asked->table->snap->graph;
    for (size_t i = 0; i < asked->count; i++)
        for (size_t j = i + 1; j < asked->count && asked->count <= LOAD_PLACES_MAX; j++) {
            const struct load_flow *a = &asked->flow[i], *b = &asked->flow[j];
            unsigned x = kind_of(asked, i), y = kind_of(asked, j);
            bool differ =
                asked->scratch->ride[i] != NULL && asked->scratch->ride[j] != NULL && x != y;
            size_t at = a->from == b->from || a->from == b->to ? a->from : a->to;
            if (!differ || (at != b->from && at != b->to) ||
                graph_place(graph, asked->table->place[at])->kind != PLACE_GPU)
                continue;
            reasons_note(asked->warnings,
                         "what transfers %s do to each other at one gpu (%s) was not measured: "
                         "they count as sharing its links and memories and nothing else",
                         ((x | y) & HOST) != 0 && ((x | y) & PEER) != 0
                             ? "with the host and between gpus"
                         : ((x | y) & TRANSFER_NETWORK) != 0 ? "with a nic and others"
                                                             : "by copy engine and by kernel",
                         graph_place(graph, asked->table->place[at])->name);
            return;
        }
}

/* The smallest set that shows it, rather one with this very transfer. */
static const struct set *find_set(const struct asked *asked, const struct limit *found,
                                  const struct move *move)
{
    const struct snapshot *snap = asked->table->snap;
    const struct set *best = NULL;
    bool best_has = false;
    for (size_t s = 0; snap->sets != NULL && s < snap->sets->count; s++) {
        const struct set *set = &snap->sets->item[s];
        unsigned users = 0;
        bool has = false;
        for (size_t i = 0; set->metric == found->metric && i < set->flow_count; i++) {
            const struct set_flow *flow = &set->flow[i];
            bool is_user =
                limits_uses(snap->derived.limits, found, flow->from, flow->to, flow->axes);
            users += is_user;
            has = has || (is_user && flow->from == move->from && flow->to == move->to);
        }
        if (users < 2 || users < found->step[0].flows ||
            (best != NULL &&
             (has < best_has || (has == best_has && set->flow_count >= best->flow_count))))
            continue;
        best = set;
        best_has = has;
    }
    return best;
}

static bool cite_shared(const struct asked *asked, size_t i, struct evidence *evidence,
                        size_t start)
{
    uint16_t at = asked->scratch->flow[i].slowed_by;
    const struct load_resource *shared = at != SIM_NO_LIMIT ? &asked->table->resource[at] : NULL;
    const struct load_ride *ride = asked->scratch->ride[i];
    const struct load_run *run = asked->scratch->run[i];
    if (run != NULL)
        return evidence_add_set(evidence, start, run->set);
    if (shared == NULL || ride == NULL || shared->is_nominal)
        return true;
    if (shared->value != NULL)
        return evidence_add(evidence, start, shared->value);
    const struct set *set = find_set(asked, shared->limit, &ride->move);
    return set == NULL || evidence_add_set(evidence, start, set);
}

/* ---- what is not explained ---- */

/* The flow of a set that is farthest from what is expected. */
static size_t farthest(const struct set *set, const struct limits_run *explained)
{
    size_t most = 0;
    for (size_t i = 1; i < set->flow_count; i++)
        if (fabs(explained->predicted[i] / set->flow[i].bytes_per_s - 1) >
            fabs(explained->predicted[most] / set->flow[most].bytes_per_s - 1))
            most = i;
    return most;
}

/* Names the first sets of the step that are not explained, or in which some get less and others
 * more. */
static void warn_of_unexplained(const struct asked *asked, bool uneven)
{
    const struct snapshot *snap = asked->table->snap;
    const struct limits *limits = snap->derived.limits;
    size_t s =
        plan_load_unexplained(asked->table, asked->flow, asked->count, asked->scratch, uneven, 0);
    for (size_t named = 0; named < UNEXPLAINED_MAX && s != LOAD_NO_SET; named++) {
        const struct set *set = &snap->sets->item[s];
        size_t most = farthest(set, &limits->run[s]);
        char text[80] = "";
        for (size_t i = 0; i < set->flow_count; i++) {
            size_t length = strlen(text);
            snprintf(text + length, sizeof text - length, "%s%s>%s", i > 0 ? ", " : "",
                     graph_place(snap->graph, set->flow[i].from)->name,
                     graph_place(snap->graph, set->flow[i].to)->name);
        }
        reasons_note(asked->warnings,
                     "what was measured together (%s) %s: %s>%s got %.4g GB/s, %.4g expected", text,
                     uneven ? "is explained in all, but not what each got" : "is not explained",
                     graph_place(snap->graph, set->flow[most].from)->name,
                     graph_place(snap->graph, set->flow[most].to)->name,
                     set->flow[most].bytes_per_s / 1e9, limits->run[s].predicted[most] / 1e9);
        s = plan_load_unexplained(asked->table, asked->flow, asked->count, asked->scratch, uneven,
                                  s + 1);
    }
}

/* Of all places of the request: where another pair is taken, this may be why. */
static void warn_of_doubt(const struct asked *asked)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < asked->count; i++)
        kinds |= asked->scratch->ride[i] != NULL ? asked->scratch->ride[i]->kind : 0;
    plan_doubt_warn(asked->table->snap, asked->table->place, asked->table->place_count, kinds,
                    asked->warnings);
}

/* What one flow's time rests on. */
static enum berth_code cite(const struct asked *asked, size_t i, struct evidence *evidence,
                            size_t start, struct berth_err *err)
{
    const struct load_ride *ride = asked->scratch->ride[i];
    enum berth_code code =
        ride != NULL ? plan_move_cite(asked->table->snap->graph, &ride->move, evidence, start, err)
                     : BERTH_OK;
    if (code == BERTH_OK && !cite_shared(asked, i, evidence, start))
        code = err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    return code;
}

enum berth_code plan_load_why_last(const struct load_table *table, const struct load_flow *flows,
                                   size_t count, const struct load_scratch *scratch, size_t last,
                                   struct evidence *evidence, size_t start, struct berth_err *err)
{
    const struct asked asked = {.table = table, .flow = flows, .count = count, .scratch = scratch};
    uint16_t shared = scratch->flow[last].slowed_by;
    enum berth_code code = cite(&asked, last, evidence, start, err);
    for (size_t i = 0; code == BERTH_OK && shared != SIM_NO_LIMIT && i < count; i++)
        if (i != last && scratch->flow[i].slowed_by == shared)
            code = cite(&asked, i, evidence, start, err);
    return code;
}

enum berth_code plan_load_why(const struct load_table *table, const struct load_flow *flows,
                              size_t count, const struct load_scratch *scratch,
                              struct evidence *evidence, size_t start, struct reasons *warnings,
                              struct berth_err *err)
{
    const struct asked asked = {
        .table = table, .flow = flows, .count = count, .scratch = scratch, .warnings = warnings};
    for (size_t i = 0; i < count; i++) {
        enum berth_code code = cite(&asked, i, evidence, start, err);
        if (code != BERTH_OK)
            return code;
    }
    warn_of_nominal(&asked);
    warn_of_ways(&asked, "");
    warn_of_rates(&asked, "");
    warn_of_starts(&asked);
    warn_of_kinds(&asked);
    warn_of_unexplained(&asked, false);
    warn_of_unexplained(&asked, true);
    warn_of_doubt(&asked);
    return BERTH_OK;
}
