#include "cpu_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_match.h"
#include "cpu_pingpong.h"
#include "cpu_schedule.h"
#include "probe_clock.h"

#define LEAST_NS       INT64_C(2000000) /* that a cell gets */
#define SAMPLE         12               /* cells measured again after a window */
#define SHARE          4                /* a window falls when one in so many of the sample differs */
#define FIRST_BATCHES  4                /* of a window; twice as many after each that stood */
#define LARGEST_WINDOW 64

struct outcome {
    bool measured;
    struct probe_summary summary;
    struct probe_why why;
};

/* All on the heap, because a stuck thread still uses the boards and matches after this module has given up. */
struct pairs {
    const struct cpu_pairs_plan *plan;
    struct cpu_workers *workers;
    struct cpu_report *report;
    struct probe_random random;
    struct cpu_schedule_pair *list; /* one for each cell; taken: done, or not to be done now */
    struct outcome *outcomes;       /* one for each cell */
    bool *busy;                     /* one for each core */
    size_t *window, window_count;   /* cells of the batches that are not reported yet */
    struct cpu_pingpong **boards;   /* plan->most_at_once */
    struct cpu_match *matches;
    struct cpu_report_way *way; /* what is told of the way that is played */
    unsigned at_once;
    size_t left; /* cells that are to be done and neither measured nor skipped */
    bool overrun, gone;
};

bool cpu_pairs_differ(const struct probe_summary *a, const struct probe_summary *b, double limit)
{
    bool apart = a->low > b->high || b->low > a->high;
    return apart && fmax(a->value, b->value) > (1 + limit) * fmin(a->value, b->value);
}

bool cpu_pairs_stand(size_t sampled, size_t differing, size_t played, size_t unmeasured)
{
    return differing * SHARE < sampled && unmeasured * SHARE < played;
}

static void destroy(struct pairs *pairs)
{
    if (pairs == NULL)
        return;
    for (unsigned i = 0; pairs->boards != NULL && i < pairs->plan->most_at_once; i++)
        cpu_pingpong_free(pairs->boards[i]);
    free(pairs->list);
    free(pairs->outcomes);
    free(pairs->busy);
    free(pairs->window);
    free(pairs->boards);
    free(pairs->matches);
    free(pairs);
}

static struct pairs *create(const struct cpu_pairs_plan *plan)
{
    struct pairs *pairs = calloc(1, sizeof *pairs);
    if (pairs == NULL)
        return NULL;
    pairs->plan = plan;
    pairs->list = calloc(plan->count + 1, sizeof *pairs->list);
    pairs->outcomes = calloc(plan->count + 1, sizeof *pairs->outcomes);
    pairs->busy = calloc((size_t)plan->topology->core_count, sizeof *pairs->busy);
    pairs->window = calloc(plan->count + 1, sizeof *pairs->window);
    pairs->boards = calloc(plan->most_at_once, sizeof(struct cpu_pingpong *));
    pairs->matches = calloc(plan->most_at_once, sizeof *pairs->matches);
    bool ok = pairs->list != NULL && pairs->outcomes != NULL && pairs->busy != NULL && pairs->window != NULL && pairs->boards != NULL &&
              pairs->matches != NULL;
    for (unsigned i = 0; ok && i < plan->most_at_once; i++)
        ok = (pairs->boards[i] = cpu_pingpong_new(NULL)) != NULL;
    if (ok)
        return pairs;
    destroy(pairs);
    return NULL;
}

/* The CPUs of a cell: of two cores, or the two of one. */
static void find_pus(const struct cpu_topology *topology, const struct cpu_cell *cell, int ret_pus[2])
{
    const struct cpu_core *from = &topology->cores[cell->from_core], *to = &topology->cores[cell->to_core];
    ret_pus[0] = from->pu;
    ret_pus[1] = from == to ? from->sibling : to->pu;
}

/* Plays the cells side by side. */
static bool play(struct pairs *pairs, const size_t *cells, size_t count, struct outcome *ret_outcomes, struct probe_why *why)
{
    const struct cpu_pairs_plan *plan = pairs->plan;
    int64_t share = (plan->end_ns - probe_clock_ns()) / (int64_t)(pairs->left / count + 1);
    int64_t budget_ns = share > plan->most_ns ? plan->most_ns : share < LEAST_NS ? LEAST_NS : share;
    for (size_t i = 0; i < count; i++) {
        const struct cpu_cell *cell = &plan->cells[cells[i]];
        cpu_pingpong_begin(pairs->boards[i], cell->cas, budget_ns);
        pairs->matches[i] = (struct cpu_match){.play = cpu_pingpong_play, .table = pairs->boards[i]};
        find_pus(plan->topology, cell, pairs->matches[i].pus);
    }
    struct probe_why failure;
    bool overrun = false;
    if (!cpu_match_run(pairs->workers, pairs->matches, (unsigned)count, 20 * budget_ns + 1000000000, &overrun, &failure)) {
        if (overrun) {
            pairs->overrun = true;
            probe_why_write(why, "%s %s %s or another pair beside it: %.120s", probe_metric_name(PROBE_CPU_PINGPONG),
                            plan->cells[cells[0]].from, plan->cells[cells[0]].to, failure.text);
            return false;
        }
        for (size_t i = 0; i < count; i++)
            ret_outcomes[i] = (struct outcome){.why = failure};
        return true;
    }
    for (size_t i = 0; i < count; i++)
        ret_outcomes[i].measured = cpu_pingpong_end(pairs->boards[i], &ret_outcomes[i].summary, &ret_outcomes[i].why);
    return true;
}

/* Batches until the window is full, the time is over, or nothing is left. */
static bool play_window(struct pairs *pairs, unsigned batches, struct probe_why *why)
{
    struct outcome *batch = malloc(pairs->at_once * sizeof *batch);
    if (batch == NULL)
        return probe_why_set(why, "out of memory");
    bool ok = true;
    pairs->window_count = 0;
    for (unsigned i = 0; i < batches && ok && probe_clock_ns() < pairs->plan->end_ns; i++) {
        size_t *picked = pairs->window + pairs->window_count;
        size_t count = cpu_schedule_pick(pairs->list, pairs->plan->count, pairs->at_once, pairs->busy, picked);
        if (count == 0)
            break;
        ok = play(pairs, picked, count, batch, why);
        for (size_t k = 0; ok && k < count; k++)
            pairs->outcomes[picked[k]] = batch[k];
        pairs->left -= count;
        pairs->window_count += count;
    }
    free(batch);
    return ok;
}

static void note_ratio(double ratio, double *worst)
{
    if (*worst == 0 || fabs(log(ratio)) > fabs(log(*worst)))
        *worst = ratio;
}

/* Measures a sample of the window alone. *ret_stands: side by side makes no difference. */
static bool verify_window(struct pairs *pairs, bool *ret_stands, struct probe_why *why)
{
    struct cpu_report_way *told = pairs->way;
    size_t count = pairs->window_count, sampled = count < SAMPLE ? count : SAMPLE, differing = 0, unmeasured = 0;
    for (size_t i = 0; i < count; i++)
        unmeasured += !pairs->outcomes[pairs->window[i]].measured;
    for (size_t i = 0; i < sampled; i++) {
        /* The sample is drawn to the front. */
        size_t other = i + (size_t)probe_random_below(&pairs->random, count - i), cell = pairs->window[other];
        pairs->window[other] = pairs->window[i];
        pairs->window[i] = cell;
        struct outcome alone, *together = &pairs->outcomes[cell];
        if (!play(pairs, &cell, 1, &alone, why))
            return false;
        if (alone.measured && together->measured) {
            note_ratio(together->summary.value / alone.summary.value, &told->worst_ratio);
            told->verified++;
        }
        if (alone.measured)
            differing += !together->measured || cpu_pairs_differ(&alone.summary, &together->summary, CPU_PAIRS_LIMIT);
        *together = alone;
    }
    told->differing += differing;
    *ret_stands = cpu_pairs_stand(sampled, differing, count, unmeasured);
    return true;
}

static bool report_window(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->window_count && !pairs->gone; i++) {
        size_t cell = pairs->window[i];
        const struct outcome *outcome = &pairs->outcomes[cell];
        pairs->gone = outcome->measured
                          ? !cpu_report_value(pairs->report, &pairs->plan->cells[cell], &outcome->summary)
                          : !cpu_report_skip(pairs->report, &pairs->plan->cells[cell], outcome->why.text);
    }
    return !pairs->gone;
}

static void put_back(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->window_count; i++)
        pairs->list[pairs->window[i]].taken = false;
    pairs->left += pairs->window_count;
}

/* Measures all cells that are not taken. */
static bool play_all(struct pairs *pairs, struct probe_why *why)
{
    unsigned batches = FIRST_BATCHES;
    bool fell = false; /* the last window: one may fall by chance */
    while (pairs->left > 0 && probe_clock_ns() < pairs->plan->end_ns) {
        bool stands = true;
        if (!play_window(pairs, pairs->at_once == 1 ? 1 : batches, why) ||
            (pairs->at_once > 1 && pairs->window_count > 1 && !verify_window(pairs, &stands, why)))
            return false;
        if (stands) {
            pairs->way->at_once = pairs->at_once;
            batches = batches * 2 > LARGEST_WINDOW ? LARGEST_WINDOW : batches * 2;
            if (!report_window(pairs))
                return false;
        } else {
            put_back(pairs);
            pairs->at_once = fell ? (pairs->at_once + 3) / 4 : pairs->at_once;
            batches = FIRST_BATCHES;
        }
        fell = !stands && !fell;
    }
    for (size_t i = 0; i < pairs->plan->count && pairs->left > 0; i++) {
        if (pairs->list[i].taken)
            continue;
        pairs->list[i].taken = true;
        pairs->left--;
        pairs->gone = pairs->gone || !cpu_report_late(pairs->report, &pairs->plan->cells[i]);
    }
    return !pairs->gone;
}

/* A core whose second thread cannot be had. */
static const char *why_single(const struct cpu_core *core)
{
    return core->threads > 1 ? "only one of the core's threads may be used" : "the core has one thread";
}

/* Has the cells of one way to be done, but for spare ones. Those that cannot be are skipped. */
static void begin_way(struct pairs *pairs, bool cas)
{
    pairs->way = &pairs->report->pairs.ways[cas];
    pairs->at_once = pairs->plan->most_at_once;
    for (size_t i = 0; i < pairs->plan->count && !pairs->gone; i++) {
        const struct cpu_cell *cell = &pairs->plan->cells[i];
        const struct cpu_core *core = &pairs->plan->topology->cores[cell->from_core];
        bool single = cell->from_core == cell->to_core && core->sibling < 0;
        if (cell->cas == cas && single)
            pairs->gone = !cpu_report_skip(pairs->report, cell, why_single(core));
        if (cell->cas != cas || single || cell->role == CPU_ROLE_SPARE)
            continue;
        pairs->list[i].taken = false;
        pairs->left++;
    }
}

static bool same_llcs(const struct cpu_topology *topology, const struct cpu_cell *a, const struct cpu_cell *b)
{
    const struct cpu_core *cores = topology->cores;
    return cores[a->from_core].llc == cores[b->from_core].llc && cores[a->to_core].llc == cores[b->to_core].llc;
}

/* Compares what stands for two llcs with its check; the spare cells of those that differ are to be done. */
static void check_llcs(struct pairs *pairs)
{
    const struct cpu_pairs_plan *plan = pairs->plan;
    struct cpu_report_pairs *told = &pairs->report->pairs;
    for (size_t i = 0; i < plan->count; i++) {
        const struct outcome *check = &pairs->outcomes[i], *first = NULL;
        if (plan->cells[i].role != CPU_ROLE_CHECK || !check->measured)
            continue;
        for (size_t k = 0; k < plan->count && first == NULL; k++)
            if (plan->cells[k].role == CPU_ROLE_FIRSTS && same_llcs(plan->topology, &plan->cells[i], &plan->cells[k]))
                first = &pairs->outcomes[k];
        if (first == NULL || !first->measured)
            continue;
        told->llc_pairs++;
        note_ratio(check->summary.value / first->summary.value, &told->llc_worst_ratio);
        if (!cpu_pairs_differ(&check->summary, &first->summary, CPU_PAIRS_LLC_LIMIT))
            continue;
        told->llc_differing++;
        for (size_t k = 0; k < plan->count; k++)
            if (plan->cells[k].role == CPU_ROLE_SPARE && pairs->list[k].taken && same_llcs(plan->topology, &plan->cells[i], &plan->cells[k])) {
                pairs->list[k].taken = false;
                pairs->left++;
            }
    }
    pairs->report->total += pairs->left;
}

bool cpu_pairs_measure(const struct cpu_pairs_plan *plan, struct cpu_workers *workers, struct cpu_report *report, bool *ret_overrun,
                       bool *ret_gone, struct probe_why *why)
{
    *ret_overrun = *ret_gone = false;
    struct pairs *pairs = create(plan);
    if (pairs == NULL)
        return probe_why_set(why, "out of memory");
    pairs->workers = workers;
    pairs->report = report;
    pairs->random.state = plan->seed;
    for (size_t i = 0; i < plan->count; i++)
        pairs->list[i] = (struct cpu_schedule_pair){plan->cells[i].from_core, plan->cells[i].to_core, true};
    bool ok = true;
    for (int cas = 0; cas < 2 && ok; cas++) {
        int64_t start_ns = probe_clock_ns();
        begin_way(pairs, cas);
        ok = !pairs->gone && play_all(pairs, why);
        if (ok && !cas) {
            check_llcs(pairs); /* of which only store has spare cells */
            ok = play_all(pairs, why);
        }
        pairs->way->elapsed_ns = probe_clock_ns() - start_ns;
    }
    *ret_overrun = pairs->overrun;
    *ret_gone = pairs->gone;
    if (!pairs->overrun)
        destroy(pairs);
    return ok; /* NOLINT(clang-analyzer-unix.Malloc): after an overrun a stuck thread still uses it, until the process ends */
}
