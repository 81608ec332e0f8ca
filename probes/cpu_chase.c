#include "cpu_chase.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "probe_clock.h"

#define GROUP_SPANS 1024 /* 64 pages of 4 KiB */
#define PIECE_LOADS 1000
#define PIECES_MAX  200
#define PIECES_MIN  40    /* from 36 on, the lowest decile has a 95 % interval */
#define PIECE_NS    50000 /* a piece lasts at least this, 1000 times what reading the clock costs */
#define UNROLL      20    /* divides PIECE_LOADS */
#define DECILE      0.1

static void shuffle(uint32_t *order, size_t n, struct probe_random *random)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = probe_random_below(random, i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

bool cpu_chase_build(char *base, size_t bytes, struct probe_random *random, struct cpu_chase *ret_chase, struct probe_why *why)
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

    void **first = NULL, **last = NULL;
    for (size_t g = 0; g < groups; g++) {
        shuffle(order, group_spans, random);
        char *group = base + group_order[g] * group_spans * CPU_CHASE_SPAN;
        for (size_t i = 0; i < group_spans; i++) {
            size_t line = probe_random_below(random, CPU_CHASE_SPAN / CPU_CHASE_LINE);
            void **here = (void **)(void *)(group + order[i] * CPU_CHASE_SPAN + line * CPU_CHASE_LINE);
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

/* Each load is volatile, so none is left out, and needs the one before. loads is a multiple of UNROLL. */
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
    return took >= PIECE_NS ? PIECE_LOADS : PIECE_LOADS * (size_t)(PIECE_NS / (took < 1 ? 1 : took) + 1);
}

static void work(void *arg, unsigned index)
{
    struct chase_run *run = arg;
    (void)index;
    size_t loads = piece_loads(run->chase, run->warm);
    void **at = run->chase->at;
    int64_t begin = probe_clock_ns(), now = begin;
    bool enough = false;
    while (!enough) {
        at = walk(at, loads);
        int64_t then = now;
        now = probe_clock_ns();
        run->piece_ns[run->n++] = (double)(now - then) / (double)loads;
        enough = run->n == PIECES_MAX || (run->n >= PIECES_MIN && now - begin > run->budget_ns) ||
                 now - begin > PROBE_STATS_PATIENCE * run->budget_ns;
    }
    run->chase->at = at;
}

bool cpu_chase_measure(struct cpu_chase *chase, struct cpu_workers *workers, int pu, bool warm, int64_t budget_ns,
                       struct probe_summary *ret_summary, bool *ret_overrun, struct probe_why *why)
{
    struct chase_run run = {.chase = chase, .warm = warm, .budget_ns = budget_ns};
    if (!cpu_workers_run(workers, &pu, 1, work, &run, 20 * budget_ns + 10000000000, ret_overrun, why))
        return false;
    if (run.n < PIECES_MIN)
        return probe_why_set(why, "only %u pieces of the walk in %.0f ms", run.n,
                             (double)(PROBE_STATS_PATIENCE * budget_ns) / 1e6);
    *ret_summary = probe_stats_quantile(run.piece_ns, run.n, DECILE);
    return true;
}
