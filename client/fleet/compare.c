/* Compares the nodes of each class: robust values, means by place, and the slow nodes. */
#include <stdlib.h>
#include <string.h>

#include "fleet/inner.h"
#include "fleet/spread.h"

#define DEVIATION_LEAST   0.001 /* of a series whose nodes agree to the last digit */
#define POOL_NODES        60    /* so many nodes the deviation of tests alike counts for */
#define MAD_EFFICIENCY    0.37  /* of normal noise: Rousseeuw and Croux, JASA 88, 1993 */
#define MANY              8     /* series of a mean in which outliers do not show */
#define TAIL_OF_FEW       "tail of few"
#define TAIL_OF_MANY      "tail of many"
#define GROUPS            8   /* means that a series is part of */
#define OUTLIER           10  /* deviations that a series adds to a mean at most */
#define SAME_LOSS         0.8 /* of a loss: it has the same cause */
#define TAIL_BINS         400
#define TAIL_WIDTH        0.05  /* deviations */
#define TAIL_SHARE        0.002 /* of the values on the better side */
#define TAIL_LEAST        10    /* fewest values beyond */
#define TAIL_KNOWN        2000  /* fewest values of a tail */
#define TAIL_UNKNOWN      5     /* degrees of freedom where there are fewer */
#define TAIL_UNKNOWN_MANY 20    /* the same of a mean of many series */
#define TAIL_SERIES       7     /* most of a series: no measurement is free of outliers */

/* ---- the tests of a class ---- */

/* A class at work. */
struct work {
    struct fleet *fleet;
    struct fleet_class *class;
    uint32_t *test_of;         /* by series, FLEET_NONE none */
    uint32_t (*group)[GROUPS]; /* by test: numbers of means, from 0 on */
    uint32_t *number;          /* by group of the fleet: number in the class, FLEET_NONE none */
    uint32_t *group_of;        /* by number: group of the fleet */
    uint32_t groups;
    uint32_t *members; /* by number */
    double *scratch;   /* a number for each node */
};

/* Letters of a place's name: gpu of gpu2. */
static void kind_of(char kind[FLEET_PLACE_MAX], const char *place)
{
    snprintf(kind, FLEET_PLACE_MAX, "%.*s", (int)strcspn(place, "0123456789"), place);
}

/* Finds the pool of a test: series of a metric under equal axes, means over places of equal kinds.
 */
static uint32_t pool_of(struct fleet *fleet, const struct fleet_series *series, const char *axes)
{
    char from[FLEET_PLACE_MAX], to[FLEET_PLACE_MAX];
    kind_of(from, series->from);
    kind_of(to, series->to);
    return fleet_series_add(fleet->pools, series->metric, from, to, axes);
}

static int compare_floats(const void *a, const void *b)
{
    float one = *(const float *)a, other = *(const float *)b;
    return one < other ? -1 : one > other;
}

static bool keep_quantiles(struct fleet_test *test, float *x, size_t count)
{
    test->quantile = malloc(FLEET_QUANTILES * sizeof *test->quantile);
    if (test->quantile == NULL)
        return false;
    qsort(x, count, sizeof *x, compare_floats);
    for (size_t i = 0; i < FLEET_QUANTILES; i++)
        test->quantile[i] = x[(2 * i + 1) * count / (2 * (size_t)FLEET_QUANTILES)];
    return true;
}

/* Computes median and deviation of the values in scratch. */
static void measure(struct work *work, struct fleet_test *test, size_t count)
{
    struct spread spread = spread_of(work->scratch, count);
    test->nodes = (uint32_t)count;
    test->median = (float)spread.median;
    test->deviation = (float)fmax(spread.deviation, DEVIATION_LEAST);
    test->freedom = (float)(MAD_EFFICIENCY * (double)count);
}

/* Adds the tests of all series that enough nodes have. */
static bool add_series(struct work *work)
{
    struct fleet_class *class = work->class;
    const struct fleet *fleet = work->fleet;
    uint32_t all = fleet_series_count(fleet->series);
    size_t *first = calloc((size_t)all + 2, sizeof *first);
    size_t values = 0;
    for (size_t i = 0; i < class->count; i++)
        values += class->node[i]->count;
    float *x = malloc((values + 1) * sizeof *x);
    bool ok = first != NULL && x != NULL;
    /* the values in the order of series: first they are counted, then filled in */
    for (size_t i = 0; ok && i < class->count; i++)
        for (size_t k = 0; k < class->node[i]->count; k++)
            first[class->node[i]->value[k].series + 2]++;
    for (size_t i = 2; ok && i < (size_t)all + 2; i++) {
        class->series += first[i] >= FLEET_LEAST;
        first[i] += first[i - 1];
    }
    for (size_t i = 0; ok && i < class->count; i++)
        for (size_t k = 0; k < class->node[i]->count; k++)
            x[first[class->node[i]->value[k].series + 1]++] = class->node[i]->value[k].x;
    class->test = ok ? calloc(class->series + 1, sizeof *class->test) : NULL;
    ok = class->test != NULL;
    for (uint32_t i = 0; ok && i < all; i++) {
        size_t count = first[i + 1] - first[i];
        if (count < FLEET_LEAST)
            continue;
        for (size_t k = 0; k < count; k++)
            work->scratch[k] = x[first[i] + k];
        struct fleet_test *test = &class->test[class->tests];
        test->series = fleet_series_at(fleet->series, i);
        test->members = 1;
        test->pool = pool_of(work->fleet, test->series, test->series->axes);
        test->tail =
            fleet_series_add(work->fleet->pools, test->series->metric, "", "", TAIL_OF_FEW);
        measure(work, test, count);
        ok = test->pool != FLEET_SERIES_NONE && test->tail != FLEET_SERIES_NONE &&
             (!fleet->settings.with_files || keep_quantiles(test, x + first[i], count));
        work->test_of[i] = (uint32_t) class->tests++;
    }
    free(first);
    free(x);
    return ok;
}

/* Notes that a test is part of a mean. */
static bool join(struct work *work, uint32_t test, size_t slot, const struct fleet_metric *metric,
                 const char *from, const char *to, const char *axes)
{
    uint32_t group = fleet_series_add(work->fleet->groups, metric, from, to, axes);
    if (group == FLEET_SERIES_NONE)
        return false;
    if (work->number[group] == FLEET_NONE) {
        work->group_of[work->groups] = group;
        work->number[group] = work->groups++;
    }
    work->group[test][slot] = work->number[group];
    work->members[work->number[group]]++;
    return true;
}

/* Finds the means of all series: from and to in this order and in any, each place, metric, all,
 * and each metric at a place. */
static bool join_all(struct work *work)
{
    const struct fleet_class *class = work->class;
    bool ok = true;
    for (uint32_t i = 0; ok && i < class->series; i++) {
        const struct fleet_series *series = class->test[i].series;
        if (series == NULL) /* never: the analyzer cannot know */
            return false;
        const char *from = series->from, *to = series->to;
        bool is_turned = strcmp(from, to) > 0, is_one = strcmp(from, to) == 0;
        memset(work->group[i], 0xff, sizeof work->group[i]);
        ok =
            join(work, i, 0, NULL, from, "", "") &&
            (is_one ||
             (join(work, i, 1, NULL, to, "", "") && join(work, i, 2, NULL, from, to, "") &&
              join(work, i, 3, NULL, is_turned ? to : from, is_turned ? from : to, "both ways"))) &&
            join(work, i, 4, series->metric, "", "", "") && join(work, i, 5, NULL, "", "", "") &&
            join(work, i, 6, series->metric, from, "", "") &&
            (is_one || join(work, i, 7, series->metric, to, "", ""));
    }
    return ok;
}

struct mean {
    double weight, sum, whole;
    uint32_t count;
};

/* Computes the means of a node: of how much worse it is than the class, weighted by precision. */
static bool add_means(struct work *work, struct fleet_node *node, struct mean *mean)
{
    const struct fleet_class *class = work->class;
    free(node->mean); /* of a class that was divided */
    free(node->whole);
    node->mean = calloc((size_t)work->groups + 1, sizeof *node->mean);
    node->whole = calloc((size_t)work->groups + 1, sizeof *node->whole);
    if (node->mean == NULL || node->whole == NULL)
        return false;
    memset(mean, 0, work->groups * sizeof *mean);
    for (size_t i = 0; i < node->count; i++) {
        uint32_t test = work->test_of[node->value[i].series];
        if (test == FLEET_NONE)
            continue;
        double deviation = class->test[test].deviation, precision = 1 / (deviation * deviation),
               excess = node->value[i].x - class->test[test].median,
               cut = fmax(-OUTLIER * deviation, fmin(OUTLIER * deviation, excess));
        for (size_t k = 0; k < GROUPS; k++) {
            uint32_t group = work->group[test][k];
            if (group == FLEET_NONE)
                continue;
            mean[group].weight += precision;
            mean[group].sum += precision * cut;
            mean[group].whole += precision * excess;
            mean[group].count++;
        }
    }
    for (uint32_t i = 0; i < work->groups; i++) {
        bool is_mean = mean[i].count >= 2;
        node->mean[i] = is_mean ? (float)(mean[i].sum / mean[i].weight) : NAN;
        node->whole[i] = is_mean ? (float)(mean[i].whole / mean[i].weight) : NAN;
    }
    return true;
}

/* Adds a test for each mean. Those of one series, and of too few nodes, are of no node. */
static bool add_groups(struct work *work)
{
    struct fleet_class *class = work->class;
    struct mean *mean = calloc((size_t)work->groups + 1, sizeof *mean);
    struct fleet_test *more =
        realloc(class->test, (class->tests + work->groups + 1) * sizeof *class->test);
    bool ok = mean != NULL && more != NULL;
    class->test = more != NULL ? more : class->test;
    for (size_t i = 0; ok && i < class->count; i++)
        ok = add_means(work, class->node[i], mean);
    for (uint32_t i = 0; ok && i < work->groups; i++) {
        struct fleet_test *test = &class->test[class->tests++];
        size_t nodes = 0;
        *test =
            (struct fleet_test){.series = fleet_series_at(work->fleet->groups, work->group_of[i]),
                                .members = work->members[i]};
        test->pool =
            pool_of(work->fleet, test->series, test->series->axes[0] != '\0' ? "both" : "mean");
        test->tail = fleet_series_add(work->fleet->pools, NULL, "", "",
                                      test->members < MANY ? TAIL_OF_FEW : TAIL_OF_MANY);
        for (size_t k = 0; k < class->count; k++)
            if (!isnan(class->node[k]->mean[i]))
                work->scratch[nodes++] = class->node[k]->mean[i];
        if (nodes >= FLEET_LEAST)
            measure(work, test, nodes);
        ok = test->pool != FLEET_SERIES_NONE && test->tail != FLEET_SERIES_NONE;
    }
    free(mean);
    return ok;
}

/* Draws each deviation towards the median of its pool: Smyth, Statistical Applications in Genetics
 * and Molecular Biology 3, 2004. Few nodes then suffice. */
static bool moderate(struct work *work)
{
    const struct fleet_class *class = work->class;
    uint32_t pools = fleet_series_count(work->fleet->pools);
    size_t *first = calloc((size_t)pools + 2, sizeof *first);
    double *deviation = malloc((class->tests + 1) * sizeof *deviation),
           *pooled = calloc((size_t)pools + 1, sizeof *pooled);
    bool ok = first != NULL && deviation != NULL && pooled != NULL;
    for (size_t i = 0; ok && i < class->tests; i++)
        first[class->test[i].pool + 2] += class->test[i].nodes > 0;
    for (size_t i = 2; ok && i < (size_t)pools + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; ok && i < class->tests; i++)
        if (class->test[i].nodes > 0)
            deviation[first[class->test[i].pool + 1]++] = class->test[i].deviation;
    for (uint32_t i = 0; ok && i < pools; i++)
        if (first[i + 1] - first[i] >= FLEET_LEAST)
            pooled[i] = spread_median(deviation + first[i], first[i + 1] - first[i]);
    for (size_t i = 0; ok && i < class->tests; i++) {
        struct fleet_test *test = &class->test[i];
        double own = test->deviation, of_pool = pooled[test->pool];
        if (of_pool == 0)
            continue;
        test->deviation = (float)sqrt((test->nodes * own * own + POOL_NODES * of_pool * of_pool) /
                                      (test->nodes + POOL_NODES));
        test->freedom += MAD_EFFICIENCY * POOL_NODES;
    }
    free(first);
    free(deviation);
    free(pooled);
    return ok;
}

/* A value of a node beside its class. */
struct beside {
    uint32_t test;
    double excess, whole; /* whole: of a mean with its outliers */
    double own;
};

/* Calls a function with each value of a node that has a test. */
static void each_excess(const struct work *work, struct fleet_node *node,
                        void (*visit)(const struct work *work, struct fleet_node *node,
                                      const struct beside *beside, void *arg),
                        void *arg)
{
    const struct fleet_class *class = work->class;
    for (size_t i = 0; i < node->count; i++) {
        uint32_t test = work->test_of[node->value[i].series];
        if (test == FLEET_NONE)
            continue;
        double excess = node->value[i].x - class->test[test].median;
        visit(work, node, &(struct beside){test, excess, excess, node->value[i].own}, arg);
    }
    for (uint32_t i = 0; i < work->groups; i++) {
        uint32_t test = (uint32_t) class->series + i;
        double median = class->test[test].median;
        if (class->test[test].nodes > 0 && !isnan(node->mean[i]))
            visit(work, node,
                  &(struct beside){test, node->mean[i] - median, node->whole[i] - median, 0}, arg);
    }
}

/* ---- tails ---- */

static void count_tail(const struct work *work, struct fleet_node *node,
                       const struct beside *beside, void *arg)
{
    const struct fleet_test *of = &work->class->test[beside->test];
    uint32_t(*bins)[TAIL_BINS] = arg;
    (void)node;
    if (beside->excess >= 0)
        return;
    double bin = -beside->excess / of->deviation / TAIL_WIDTH;
    bins[of->tail][bin < TAIL_BINS - 1 ? (int)bin : TAIL_BINS - 1]++;
}

/* Robust deviation of Student's t, a fit to its quartiles that is off by 0.002 at most. */
static double deviation_of_student(double freedom)
{
    return 1 + 0.375 / freedom + 0.09 / (freedom * freedom);
}

/* Returns the degrees of freedom with a tail no shorter than the one that was counted. */
static double freedom_of(const uint32_t bin[TAIL_BINS], double unknown)
{
    static const double freedoms[] = {1000, 30, 15, 10, 7, 5, 4, 3, 2};
    const size_t most = sizeof freedoms / sizeof freedoms[0] - 1;
    double all = 0, beyond = 0;
    size_t i = 0;
    int at = TAIL_BINS;
    for (int k = 0; k < TAIL_BINS; k++)
        all += bin[k];
    if (all < TAIL_KNOWN)
        return unknown;
    while (at > 0 && beyond < fmax(all * TAIL_SHARE, TAIL_LEAST))
        beyond += bin[--at];
    for (; i < most; i++) {
        double t = at * TAIL_WIDTH * deviation_of_student(freedoms[i]);
        if (spread_log_student(t, freedoms[i]) >= log(beyond / all / 2))
            break;
    }
    return freedoms[i];
}

/* Finds how long the tails of pools are, on their better side: it has no faults. */
static bool find_tails(struct work *work)
{
    struct fleet_class *class = work->class;
    uint32_t pools = fleet_series_count(work->fleet->pools);
    uint32_t(*bins)[TAIL_BINS] = calloc((size_t)pools + 1, sizeof *bins);
    double *freedom = calloc((size_t)pools + 1, sizeof *freedom);
    bool ok = bins != NULL && freedom != NULL;
    for (size_t i = 0; ok && i < class->count; i++)
        each_excess(work, class->node[i], count_tail, bins);
    for (uint32_t i = 0; ok && i < pools; i++) {
        const struct fleet_series *pool = fleet_series_at(work->fleet->pools, i);
        bool is_many = strcmp(pool->axes, TAIL_OF_MANY) == 0;
        freedom[i] = freedom_of(bins[i], is_many ? TAIL_UNKNOWN_MANY : TAIL_UNKNOWN);
        if (pool->metric != NULL)
            freedom[i] = fmin(TAIL_SERIES, freedom[i]);
    }
    for (size_t i = 0; ok && i < class->tests; i++)
        class->test[i].freedom =
            (float)(1 / (1 / class->test[i].freedom + 1 / freedom[class->test[i].tail]));
    free(bins);
    free(freedom);
    return ok;
}

/* ---- verdicts ---- */

/* Judges a value. False when it is not worse than the class by enough to count. */
static bool is_worse(const struct work *work, const struct beside *beside,
                     struct fleet_item *ret_item)
{
    const struct fleet_test *of = &work->class->test[beside->test];
    double deviation = fmax(of->deviation, beside->own), t = beside->excess / deviation;
    if (t < 2 || fleet_loss(beside->whole) < work->fleet->settings.least)
        return false;
    *ret_item =
        (struct fleet_item){beside->test, (float)beside->whole, (float)deviation, (float)t,
                            spread_log_student(t * deviation_of_student(of->freedom), of->freedom)};
    return true;
}

static void judge_test(const struct work *work, struct fleet_node *node,
                       const struct beside *beside, void *arg)
{
    struct fleet_item item;
    size_t *tests = arg;
    ++*tests;
    if (!is_worse(work, beside, &item))
        return;
    if (node->item.test == FLEET_NONE || item.log_p < node->item.log_p)
        node->item = item;
    if (work->class->test[beside->test].members == 1 &&
        (node->worst.test == FLEET_NONE || item.log_p < node->worst.log_p))
        node->worst = item;
}

/* The search for the widest test that tells of the same loss as the most certain one. */
struct search {
    struct fleet_item widest, certain;
    double least_log_p;
};

static void widen(const struct work *work, struct fleet_node *node, const struct beside *beside,
                  void *arg)
{
    struct search *search = arg;
    const struct fleet_test *of = &work->class->test[beside->test];
    struct fleet_item item;
    (void)node;
    if (of->members <= work->class->test[search->widest.test].members ||
        !is_worse(work, beside, &item) || item.log_p > search->least_log_p ||
        fleet_loss(item.excess) < SAME_LOSS * fleet_loss(search->certain.excess))
        return;
    search->widest = item;
}

static void judge(const struct work *work, struct fleet_node *node)
{
    size_t tests = 0;
    node->item.test = node->worst.test = FLEET_NONE;
    node->log_p = 0;
    each_excess(work, node, judge_test, &tests);
    if (node->item.test == FLEET_NONE)
        return;
    /* Bonferroni: the chance that any test of the node is as bad */
    node->log_p = fmin(0, node->item.log_p + log((double)tests));
    /* a GPU's loss is named as such, and not as that of the pair that shows it best */
    struct search search = {node->item, node->item,
                            log(work->fleet->settings.rate) - log((double)tests)};
    if (node->item.log_p <= search.least_log_p)
        each_excess(work, node, widen, &search);
    node->item = search.widest;
}

static bool compare_class(struct fleet *fleet, struct fleet_class *class)
{
    uint32_t all = fleet_series_count(fleet->series);
    struct work work = {.fleet = fleet, .class = class};
    work.test_of = malloc(((size_t)all + 1) * sizeof *work.test_of);
    work.scratch = malloc(class->count * sizeof *work.scratch);
    bool ok = work.test_of != NULL && work.scratch != NULL;
    if (ok)
        memset(work.test_of, 0xff, ((size_t)all + 1) * sizeof *work.test_of);
    ok = ok && add_series(&work);
    if (ok) {
        size_t most = fleet_series_count(fleet->groups) + GROUPS * class->series + 1;
        work.group = malloc((class->series + 1) * sizeof *work.group);
        work.number = malloc(most * sizeof *work.number);
        work.group_of = calloc(most, sizeof *work.group_of);
        work.members = calloc(most, sizeof *work.members);
        ok = work.group != NULL && work.number != NULL && work.group_of != NULL &&
             work.members != NULL;
        if (ok)
            memset(work.number, 0xff, most * sizeof *work.number);
    }
    ok = ok && join_all(&work) && add_groups(&work) && moderate(&work) && find_tails(&work);
    for (size_t i = 0; ok && i < class->count; i++)
        judge(&work, class->node[i]);
    free(work.test_of);
    free(work.group);
    free(work.number);
    free(work.group_of);
    free(work.members);
    free(work.scratch);
    return ok;
}

static bool is_alike(const struct fleet_node *one, const struct fleet_node *other)
{
    return strcmp(one->fingerprint, other->fingerprint) == 0 &&
           (one->fingerprint[0] != '\0' || strcmp(one->models, other->models) == 0);
}

/* Cuts the sorted nodes into classes. */
static bool find_classes(struct fleet *fleet)
{
    fleet->class = calloc(fleet->count + 1, sizeof *fleet->class);
    if (fleet->class == NULL)
        return false;
    for (size_t i = 0; i < fleet->count; i++) {
        const struct fleet_node *node = fleet->node[i];
        if (i == 0 || !is_alike(fleet->node[i - 1], node))
            fleet->class[fleet->class_count++] = (struct fleet_class){
                .fingerprint = node->fingerprint, .models = node->models, .node = &fleet->node[i]};
        fleet->class[fleet->class_count - 1].count++;
    }
    return true;
}

static int compare_log_p(const void *a, const void *b)
{
    const struct fleet_node *const *one = a, *const *other = b;
    return (*one)->log_p < (*other)->log_p ? -1 : (*one)->log_p > (*other)->log_p;
}

/* Names the slow nodes so that a share of at most the rate of them is named by chance: Benjamini
 * and Hochberg, Journal of the Royal Statistical Society B 57, 1995. */
static bool name_slow(struct fleet *fleet)
{
    struct fleet_node **node = malloc((fleet->count + 1) * sizeof(*node));
    size_t count = 0, slow = 0;
    if (node == NULL)
        return false;
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->class[fleet->node[i]->class].tests > 0)
            node[count++] = fleet->node[i];
    qsort(node, count, sizeof(*node), compare_log_p);
    for (size_t i = 0; i < count; i++)
        if (node[i]->log_p <= log(fleet->settings.rate * (double)(i + 1) / (double)count))
            slow = i + 1;
    for (size_t i = 0; i < slow; i++) {
        node[i]->is_slow = true;
        fleet->class[node[i]->class].slow++;
    }
    fleet->slow_count = slow;
    free(node);
    return true;
}

/* Divides a class into the nodes without a condition and those with it, which become the next
 * class. */
static bool divide(struct fleet *fleet, size_t number, const struct fleet_shared *by)
{
    struct fleet_class *class = &fleet->class[number], *next = class + 1;
    struct fleet_node **with = malloc(class->count * sizeof(*with));
    size_t count = 0, kept = 0;
    if (with == NULL)
        return false;
    fleet_class_done(class);
    for (size_t i = 0; i < class->count; i++)
        if (fleet_has(class->node[i], by))
            with[count++] = class->node[i];
        else
            class->node[kept++] = class->node[i];
    memcpy(class->node + kept, with, count * sizeof(*with));
    free(with);
    memmove(next + 1, next, (fleet->class_count - number - 1) * sizeof *next);
    fleet->class_count++;
    *next = *class = (struct fleet_class){.fingerprint = class->fingerprint,
                                          .models = class->models,
                                          .node = class->node,
                                          .count = kept,
                                          .name = by->name,
                                          .value = by->value,
                                          .is_without = true};
    next->node += kept;
    next->count = count;
    next->is_without = false;
    return true;
}

bool fleet_compare(struct fleet *fleet)
{
    if (!find_classes(fleet))
        return false;
    for (size_t i = 0; i < fleet->class_count;) {
        struct fleet_class *class = &fleet->class[i];
        struct fleet_shared by = {0};
        if (class->count >= FLEET_LEAST &&
            !(compare_class(fleet, class) && fleet_find_division(fleet, class, &by) &&
              (by.name == NULL || divide(fleet, i, &by))))
            return false;
        i += by.name == NULL;
    }
    for (size_t i = 0; i < fleet->class_count; i++)
        for (size_t k = 0; k < fleet->class[i].count; k++)
            fleet->class[i].node[k]->class = i;
    return name_slow(fleet) && fleet_conditions(fleet);
}
