#include "cpu/chase.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define GROUP_SPANS 1024 /* 64 pages of 4 KiB */
#define SPAN_LINES  (CPU_CHASE_SPAN / CPU_CHASE_LINE)
#define PAGE_BYTES  4096 /* largest period of the sets of a first-level cache */
#define PIECE_LOADS 1000
#define PIECES_MAX  200
#define PIECES_MIN  40 /* from 36 on, the lowest decile has a 95 % interval */
/* least duration of a piece, 1000 times the cost of reading the clock */
#define PIECE_NS   50000
#define UNROLL     20 /* divides PIECE_LOADS */
#define DECILE     0.1
#define LOOK_EVERY 8 /* pieces, whether they are enough */

static void shuffle(uint32_t *order, size_t n, struct probe_random *random)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = probe_random_below(random, i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* Number of the line that a page gives in each span. All sets of a cache must get equally many
 * lines, so that it is full at its size. The sum of a number's digits (base SPAN_LINES) takes all
 * remainders equally often, for any fixed low digits. */
static size_t line_of_page(size_t page)
{
    size_t sum = 0;
    for (; page > 0; page /= SPAN_LINES)
        sum += page % SPAN_LINES;
    return sum;
}

bool cpu_chase_build(char *base, size_t bytes, struct probe_random *random,
                     struct cpu_chase *ret_chase, struct probe_why *why)
{
    size_t spans = bytes / CPU_CHASE_SPAN;
    size_t group_spans = spans < GROUP_SPANS ? spans : GROUP_SPANS;
    if (spans < 2)
        return probe_why_set(why, "%zu bytes are too few for a cycle", bytes);
    size_t groups = spans / group_spans;
    uint32_t *group_order = malloc(groups * sizeof *group_order);
    uint32_t order[GROUP_SPANS];
    if (group_order == NULL)
        return probe_why_set(why, "out of memory");
    for (size_t i = 0; i < groups; i++)
        group_order[i] = (uint32_t)i;
    for (size_t i = 0; i < group_spans; i++)
        order[i] = (uint32_t)i;
    shuffle(group_order, groups, random);
    unsigned char turn[PAGE_BYTES / CPU_CHASE_SPAN];
    for (size_t i = 0; i < sizeof turn; i++)
        turn[i] = (unsigned char)probe_random_below(random, SPAN_LINES);

    void **first = NULL, **last = NULL;
    for (size_t g = 0; g < groups; g++) {
        shuffle(order, group_spans, random);
        size_t group = group_order[g] * group_spans;
        for (size_t i = 0; i < group_spans; i++) {
            size_t at = (group + order[i]) * CPU_CHASE_SPAN;
            size_t line = (line_of_page(at / PAGE_BYTES) + turn[at % PAGE_BYTES / CPU_CHASE_SPAN]) %
                          SPAN_LINES;
            void **here = (void **)(void *)(base + at + line * CPU_CHASE_LINE);
            if (last == NULL)
                first = here;
            else
                *last = here;
            last = here;
        }
    }
    assert(last != NULL);
    *last = first;
    free(group_order);
    *ret_chase = (struct cpu_chase){.at = first, .lines = groups * group_spans};
    return true;
}

/* Makes dependent loads, each of the address that the previous load returned. They are volatile, so
 * the compiler omits none. loads is a multiple of UNROLL. */
static void **walk(void **at, size_t loads)
{
    for (size_t i = 0; i < loads; i += UNROLL)
        for (int j = 0; j < UNROLL; j += 5) {
            at = *(void **volatile *)at;
            at = *(void **volatile *)at;
            at = *(void **volatile *)at;
            at = *(void **volatile *)at;
            at = *(void **volatile *)at;
        }
    return at;
}

struct chase_run {
    struct cpu_chase *chase;
    bool warm;
    struct cpu_noise *noise;
    bool silent; /* the noise did not start */
    int64_t budget_ns;
    double piece_ns[PIECES_MAX];
    unsigned n;
};

/* The number of loads in a piece: known fast cycles get longer pieces. */
static size_t piece_loads(struct cpu_chase *chase, bool warm)
{
    if (!warm)
        return PIECE_LOADS;
    size_t loads = (chase->lines + UNROLL - 1) / UNROLL * UNROLL;
    chase->at = walk(chase->at, loads);
    int64_t start = probe_clock_ns();
    chase->at = walk(chase->at, PIECE_LOADS);
    int64_t took = probe_clock_ns() - start;
    return took >= PIECE_NS ? PIECE_LOADS
                            : PIECE_LOADS * (size_t)(PIECE_NS / (took < 1 ? 1 : took) + 1);
}

/* The lowest decile excludes disturbances of single pieces. Under noise the disturbance is the
 * result, so it takes the median. */
static double quantile(const struct chase_run *run) { return run->noise == NULL ? DECILE : 0.5; }

static bool is_enough(const struct chase_run *run, int64_t spent_ns)
{
    if (run->n == PIECES_MAX || spent_ns > PROBE_STATS_PATIENCE * run->budget_ns)
        return true;
    if (run->n < PIECES_MIN || spent_ns > run->budget_ns)
        return run->n >= PIECES_MIN;
    if (run->n % LOOK_EVERY != 0)
        return false;
    double sorted[PIECES_MAX];
    memcpy(sorted, run->piece_ns, run->n * sizeof *sorted);
    struct probe_summary summary = probe_stats_quantile(sorted, run->n, quantile(run));
    return probe_stats_settled(&summary);
}

static void take_pieces(struct chase_run *run)
{
    size_t loads = piece_loads(run->chase, run->warm);
    void **at = run->chase->at;
    int64_t begin = probe_clock_ns(), end = begin;
    while (!is_enough(run, end - begin)) {
        if (run->noise != NULL)
            cpu_noise_begin_window(run->noise);
        int64_t start = probe_clock_ns();
        at = walk(at, loads);
        end = probe_clock_ns();
        if (run->noise == NULL || cpu_noise_end_window(run->noise))
            run->piece_ns[run->n++] = (double)(end - start) / (double)loads;
    }
    run->chase->at = at;
}

static void work(void *arg, unsigned index)
{
    struct chase_run *run = arg;
    if (index > 0) {
        cpu_noise_read(run->noise, index - 1);
        return;
    }
    run->silent =
        run->noise != NULL && !cpu_noise_await(run->noise, PROBE_STATS_PATIENCE * run->budget_ns);
    if (!run->silent)
        take_pieces(run);
    if (run->noise != NULL)
        cpu_noise_end(run->noise);
}

bool cpu_chase_measure(const struct cpu_chase_request *request, const struct cpu_threads *threads,
                       struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why)
{
    struct cpu_noise *noise = threads->noise;
    struct chase_run run = {.chase = request->chase,
                            .warm = request->warm,
                            .noise = noise,
                            .budget_ns = request->budget_ns};
    const struct cpu_work all = {threads->pus, 1 + (noise == NULL ? 0 : noise->count), work, &run,
                                 40 * request->budget_ns + 60000000000};
    if (!cpu_workers_run(threads->workers, &all, ret_overrun, why))
        return false;
    if (run.silent)
        return probe_why_set(why,
                             "the noise and what it is to disturb do not run at the same time");
    if (run.n < PIECES_MIN)
        return probe_why_set(why, "only %u pieces of the walk in %.0f ms%s", run.n,
                             (double)(PROBE_STATS_PATIENCE * run.budget_ns) / 1e6,
                             noise == NULL ? "" : " with the noise under way");
    *ret_summary = probe_stats_quantile(run.piece_ns, run.n, quantile(&run));
    return true;
}
