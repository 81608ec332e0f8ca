#include "cpu/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "cpu/pingpong.h"
#include "cpu/schedule.h"
#include "cpu/wait_limit.h"
#include "cpu/workers.h"

#define LEAST_NS INT64_C(2000000) /* least time of a cell */
/* after their wait limit, for threads to get their CPUs once more and leave */
#define GRACE_NS INT64_C(2000000000)
#define SAMPLE   12 /* cells measured again after a window */
/* a window falls when one in SHARE of the sample differs */
#define SHARE          4
#define FIRST_BATCHES  4 /* batches of a window; twice as many after each that stood */
#define LARGEST_WINDOW 64

struct outcome {
    bool measured;
    struct probe_summary summary;
    struct probe_why why;
};

/* All on the heap, because a stuck thread still uses the states and pair runs after this module has
 * given up. */
struct pairs {
    const struct cpu_pairs_plan *plan;
    struct cpu_workers *workers;
    struct cpu_report *report;
    struct probe_random random;
    /* one pair for each cell; taken: measured, or not to be measured now */
    struct cpu_schedule_pair *list;
    struct outcome *outcomes;     /* one outcome for each cell */
    bool *busy;                   /* one flag for each core */
    struct outcome *batch;        /* plan->most_at_once */
    size_t *window, window_count; /* cells of the batches that are not reported yet */
    struct cpu_pingpong **states; /* plan->most_at_once */
    struct cpu_pair_run *pair_runs;
    struct cpu_report_method *way; /* report of the current method */
    unsigned at_once;
    size_t left;     /* cells that are to be done and neither measured nor skipped */
    unsigned in_row; /* latest consecutive cells played alone that could not be measured */
    bool overrun, gone;
    struct probe_why given_up; /* reason, if not empty, that no cell is tried any more */
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
    for (unsigned i = 0; pairs->states != NULL && i < pairs->plan->most_at_once; i++)
        cpu_pingpong_free(pairs->states[i]);
    free(pairs->list);
    free(pairs->outcomes);
    free(pairs->busy);
    free(pairs->batch);
    free(pairs->window);
    free(pairs->states);
    free(pairs->pair_runs);
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
    pairs->batch = calloc(plan->most_at_once, sizeof *pairs->batch);
    pairs->states = calloc(plan->most_at_once, sizeof(struct cpu_pingpong *));
    pairs->pair_runs = calloc(plan->most_at_once, sizeof *pairs->pair_runs);
    bool ok = pairs->list != NULL && pairs->outcomes != NULL && pairs->busy != NULL &&
              pairs->batch != NULL && pairs->window != NULL && pairs->states != NULL &&
              pairs->pair_runs != NULL;
    for (unsigned i = 0; ok && i < plan->most_at_once; i++)
        ok = (pairs->states[i] = cpu_pingpong_new(NULL)) != NULL;
    if (ok)
        return pairs;
    destroy(pairs);
    return NULL;
}

/* The CPUs of a cell: of two cores, or the two of one. */
static void find_pus(const struct cpu_topology *topology, const struct cpu_cell *cell,
                     int ret_pus[2])
{
    const struct cpu_core *from = &topology->cores[cell->from_core],
                          *to = &topology->cores[cell->to_core];
    ret_pus[0] = from->pu;
    ret_pus[1] = from == to ? from->sibling : to->pu;
}

/* Plays the cells side by side. After an overrun nothing is played any more, because a stuck thread
 * still uses a board. */
static void play(struct pairs *pairs, const size_t *cells, size_t count,
                 struct outcome *ret_outcomes)
{
    const struct cpu_pairs_plan *plan = pairs->plan;
    int64_t rest_ns = plan->end_ns - probe_clock_ns(),
            share = rest_ns / (int64_t)(pairs->left / count + 1);
    int64_t budget_ns = share > plan->most_ns ? plan->most_ns : share < LEAST_NS ? LEAST_NS : share;
    int64_t most_ns = PROBE_STATS_PATIENCE * budget_ns, least_ns = PROBE_STATS_PATIENCE * LEAST_NS;
    int64_t wait_limit_ns = most_ns < rest_ns ? most_ns : rest_ns > least_ns ? rest_ns : least_ns;
    for (size_t i = 0; i < count; i++) {
        const struct cpu_cell *cell = &plan->cells[cells[i]];
        cpu_pingpong_begin(pairs->states[i], cell->cas, budget_ns, wait_limit_ns);
        pairs->pair_runs[i] =
            (struct cpu_pair_run){.run_side = cpu_pingpong_run_side, .state = pairs->states[i]};
        find_pus(plan->topology, cell, pairs->pair_runs[i].pus);
    }
    struct probe_why failure;
    bool ran = cpu_pair_runs(pairs->workers, pairs->pair_runs, (unsigned)count,
                             wait_limit_ns + GRACE_NS, &pairs->overrun, &failure);
    if (pairs->overrun)
        probe_why_write(&pairs->given_up, "not tried after %s %s or a pair beside it: %.120s",
                        plan->cells[cells[0]].from, plan->cells[cells[0]].to, failure.text);
    for (size_t i = 0; i < count; i++)
        if (ran)
            ret_outcomes[i].measured =
                cpu_pingpong_end(pairs->states[i], &ret_outcomes[i].summary, &ret_outcomes[i].why);
        else
            ret_outcomes[i] = (struct outcome){.why = failure};
}

static bool is_given_up(const struct pairs *pairs) { return pairs->given_up.text[0] != '\0'; }

static size_t count_unmeasured(const struct pairs *pairs, const size_t *cells, size_t count)
{
    size_t unmeasured = 0;
    for (size_t i = 0; i < count; i++)
        unmeasured += !pairs->outcomes[cells[i]].measured;
    return unmeasured;
}

/* Plays batches until the window is full, one is too slow, the time is over, or nothing is left.
 * Returns true when none was too slow. */
static bool play_window(struct pairs *pairs, unsigned batches)
{
    bool stands = true;
    pairs->window_count = 0;
    for (unsigned i = 0; i < batches && stands && probe_clock_ns() < pairs->plan->end_ns; i++) {
        size_t *picked = pairs->window + pairs->window_count;
        size_t count =
            cpu_schedule_pick(pairs->list, pairs->plan->count, pairs->at_once, pairs->busy, picked);
        if (count == 0)
            break;
        play(pairs, picked, count, pairs->batch);
        for (size_t k = 0; k < count; k++)
            pairs->outcomes[picked[k]] = pairs->batch[k];
        pairs->left -= count;
        pairs->window_count += count;
        stands = cpu_pairs_stand(1, 0, count, count_unmeasured(pairs, picked, count));
    }
    return stands;
}

static void note_ratio(double ratio, double *worst)
{
    if (*worst == 0 || fabs(log(ratio)) > fabs(log(*worst)))
        *worst = ratio;
}

/* Measures a sample of the window alone. Returns true when side by side makes no difference. */
static bool verify_window(struct pairs *pairs)
{
    struct cpu_report_method *told = pairs->way;
    size_t count = pairs->window_count, sampled = count < SAMPLE ? count : SAMPLE, differing = 0;
    size_t unmeasured = count_unmeasured(pairs, pairs->window, count);
    for (size_t i = 0; i < sampled && !is_given_up(pairs); i++) {
        /* The sample is drawn to the front. */
        size_t other = i + (size_t)probe_random_below(&pairs->random, count - i),
               cell = pairs->window[other];
        pairs->window[other] = pairs->window[i];
        pairs->window[i] = cell;
        struct outcome alone = {0}, *together = &pairs->outcomes[cell];
        play(pairs, &cell, 1, &alone);
        if (alone.measured && together->measured) {
            note_ratio(together->summary.value / alone.summary.value, &told->worst_ratio);
            told->verified++;
        }
        if (alone.measured)
            differing += !together->measured ||
                         cpu_pairs_differ(&alone.summary, &together->summary, CPU_PAIRS_LIMIT);
        *together = alone;
    }
    told->differing += differing;
    return !is_given_up(pairs) && cpu_pairs_stand(sampled, differing, count, unmeasured);
}

/* Counts failed cells that were played alone, in a row. After several failures the CPUs of this
 * machine do not run at the same time. */
static void note_alone(struct pairs *pairs, const struct outcome *outcome)
{
    pairs->in_row = outcome->measured ? 0 : pairs->in_row + 1;
    if (pairs->in_row == CPU_WAIT_LIMIT_IN_ROW)
        probe_why_write(&pairs->given_up, "not tried after %u others in a row, the last: %.120s",
                        pairs->in_row, outcome->why.text);
}

static void report_window(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->window_count && !pairs->gone; i++) {
        size_t cell = pairs->window[i];
        const struct outcome *outcome = &pairs->outcomes[cell];
        pairs->gone =
            outcome->measured
                ? !cpu_report_value(pairs->report, &pairs->plan->cells[cell], &outcome->summary)
                : !cpu_report_skip(pairs->report, &pairs->plan->cells[cell], outcome->why.text);
    }
}

static void put_back(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->window_count; i++)
        pairs->list[pairs->window[i]].taken = false;
    pairs->left += pairs->window_count;
}

/* Skips the cells that are left, when the time is spent or the method is given up. */
static void skip_rest(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->plan->count && pairs->left > 0 && !pairs->gone; i++) {
        if (pairs->list[i].taken)
            continue;
        pairs->list[i].taken = true;
        pairs->left--;
        pairs->gone = is_given_up(pairs) ? !cpu_report_skip(pairs->report, &pairs->plan->cells[i],
                                                            pairs->given_up.text)
                                         : !cpu_report_late(pairs->report, &pairs->plan->cells[i]);
    }
}

/* Measures all cells that are not taken. */
static bool play_all(struct pairs *pairs)
{
    unsigned batches = FIRST_BATCHES;
    bool fell = false; /* the last window fell; a single window may fall by chance */
    while (pairs->left > 0 && !pairs->gone && !is_given_up(pairs) &&
           probe_clock_ns() < pairs->plan->end_ns) {
        bool alone = pairs->at_once == 1, slow = !play_window(pairs, alone ? 1 : batches) && !alone;
        if (pairs->window_count == 0)
            break; /* the time ended just now */
        bool stands = alone || (!slow && !is_given_up(pairs) &&
                                (pairs->window_count == 1 || verify_window(pairs)));
        if (stands) {
            if (alone)
                note_alone(pairs, &pairs->outcomes[pairs->window[0]]);
            pairs->way->at_once = pairs->at_once;
            batches = batches * 2 > LARGEST_WINDOW ? LARGEST_WINDOW : batches * 2;
            report_window(pairs);
        } else {
            put_back(pairs);
            pairs->at_once = fell || slow ? (pairs->at_once + 3) / 4 : pairs->at_once;
            batches = FIRST_BATCHES;
        }
        fell = !stands && !slow && !fell;
    }
    skip_rest(pairs);
    return !pairs->gone;
}

/* Reason that a core's second thread cannot be used. */
static const char *why_single(const struct cpu_core *core)
{
    return core->threads > 1 ? "only one of the core's threads may be used"
                             : "the core has one thread";
}

/* Queues the cells of one method, but for spare ones. Skips those that cannot be measured. */
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

static bool same_llcs(const struct cpu_topology *topology, const struct cpu_cell *a,
                      const struct cpu_cell *b)
{
    const struct cpu_core *cores = topology->cores;
    return cores[a->from_core].llc == cores[b->from_core].llc &&
           cores[a->to_core].llc == cores[b->to_core].llc;
}

/* Compares each pair of llcs with its check, and queues the spare cells of those that differ. */
static void check_llcs(struct pairs *pairs)
{
    const struct cpu_pairs_plan *plan = pairs->plan;
    struct cpu_report_pairs *told = &pairs->report->pairs;
    for (size_t i = 0; i < plan->count; i++) {
        const struct outcome *check = &pairs->outcomes[i], *first = NULL;
        if (plan->cells[i].role != CPU_ROLE_CHECK || !check->measured)
            continue;
        for (size_t k = 0; k < plan->count && first == NULL; k++)
            if (plan->cells[k].role == CPU_ROLE_FIRSTS &&
                same_llcs(plan->topology, &plan->cells[i], &plan->cells[k]))
                first = &pairs->outcomes[k];
        if (first == NULL || !first->measured)
            continue;
        told->llc_pairs++;
        note_ratio(check->summary.value / first->summary.value, &told->llc_worst_ratio);
        if (!cpu_pairs_differ(&check->summary, &first->summary, CPU_PAIRS_LLC_LIMIT))
            continue;
        told->llc_differing++;
        for (size_t k = 0; k < plan->count; k++)
            if (plan->cells[k].role == CPU_ROLE_SPARE && pairs->list[k].taken &&
                same_llcs(plan->topology, &plan->cells[i], &plan->cells[k])) {
                pairs->list[k].taken = false;
                pairs->left++;
            }
    }
    pairs->report->total += pairs->left;
}

bool cpu_pairs_measure(const struct cpu_pairs_plan *plan, struct cpu_workers *workers,
                       struct cpu_report *report, bool *ret_gone, struct probe_why *why)
{
    *ret_gone = false;
    struct pairs *pairs = create(plan);
    if (pairs == NULL)
        return probe_why_set(why, "out of memory");
    pairs->workers = workers;
    pairs->report = report;
    pairs->random.state = plan->seed;
    for (size_t i = 0; i < plan->count; i++)
        pairs->list[i] =
            (struct cpu_schedule_pair){plan->cells[i].from_core, plan->cells[i].to_core, true};
    bool ok = true;
    for (int cas = 0; cas < 2 && ok; cas++) {
        int64_t start_ns = probe_clock_ns();
        begin_way(pairs, cas);
        ok = !pairs->gone && play_all(pairs);
        if (ok && !cas) {
            check_llcs(pairs); /* only store has spare cells */
            ok = play_all(pairs);
        }
        pairs->way->elapsed_ns = probe_clock_ns() - start_ns;
    }
    *ret_gone = pairs->gone;
    if (!pairs->overrun)
        destroy(pairs);
    return ok; /* NOLINT(clang-analyzer-unix.Malloc): after an overrun a stuck thread still uses it,
                  until the process ends */
}
