/* Cells of cpu_pingpong, cpu_copy and cpu_queue, between two cores. */
#include "cpu/builder.h"

#include <stdio.h>
#include <stdlib.h>

#include "cpu/schedule.h"

#define SMALL_LLC 16 /* cores: all pairs are measured by quick */
#define SAMPLE_PAIRS                                                                               \
    4 /* random partners per core in a larger llc, besides the core's neighbours                   \
       */
/* copies, and queues, of quick inside llcs, and as many between them */
#define QUICK_HANDOFFS 12

/* The kinds of ping-pong cells, in order of measuring. Within a kind, cells of equal rank share no
 * core if possible. */
enum kind { KIND_SIBLINGS, KIND_FIRSTS, KIND_INSIDE, KIND_CHECK, KIND_SPARE };

static int rank_of(enum kind kind, int within) { return (int)kind * 2 * CPU_LIST_MAX + within; }

/* The cores of each llc: those of group g from start[g] up to start[g + 1] in list. Cores without a
 * known llc are a group too. */
struct groups {
    int *list, *start;
    int count;
};

static struct cpu_cell pair_cell(const struct cpu_builder *builder, enum probe_metric metric,
                                 int from, int to)
{
    const struct cpu_core *cores = builder->topology->cores;
    struct cpu_cell cell = {.metric = metric, .from_core = from, .to_core = to};
    cell.phase = metric == PROBE_CPU_PINGPONG ? CPU_PHASE_PINGPONG : CPU_PHASE_HANDOFF;
    snprintf(cell.from, sizeof cell.from, "core%d", cores[from].number);
    snprintf(cell.to, sizeof cell.to, "core%d", cores[to].number);
    return cell;
}

static void add_pingpong(struct cpu_builder *builder, int from, int to, bool cas, int rank,
                         enum cpu_role role)
{
    struct cpu_cell cell = pair_cell(builder, PROBE_CPU_PINGPONG, from, to);
    cell.cas = cas;
    cell.rank = rank;
    cell.role = role;
    cpu_builder_add(builder, &cell);
}

static void add_both(struct cpu_builder *builder, int a, int b, int rank, enum cpu_role role)
{
    add_pingpong(builder, a, b, false, rank, role);
    add_pingpong(builder, b, a, false, rank + 1, role);
}

/* A copy over sizes and a queue with both its rates. */
static void add_copy_queue(struct cpu_builder *builder, int from, int to, int64_t beyond, int rank)
{
    struct cpu_cell copy = pair_cell(builder, PROBE_CPU_COPY, from, to),
                    queue = pair_cell(builder, PROBE_CPU_QUEUE, from, to);
    copy.rank = queue.rank = rank;
    copy.bytes = beyond;
    cpu_builder_add(builder, &copy);
    cpu_builder_add(builder, &queue);
    queue.reader = true;
    cpu_builder_add(builder, &queue);
}

static void add_siblings(struct cpu_builder *builder)
{
    for (int core = 0; core < builder->topology->core_count; core++)
        for (int cas = 0; cas < (builder->selection->profile == CPU_FULL ? 2 : 1); cas++)
            add_pingpong(builder, core, core, cas, rank_of(KIND_SIBLINGS, cas), CPU_ROLE_PLAIN);
}

/* ---- quick ---- */

/* Adds pairs from one core to random others of its llc, without duplicates and without
 * neighbours. */
static void add_sample(struct cpu_builder *builder, const int *cores, int count, int from)
{
    int chosen[SAMPLE_PAIRS] = {0}, n = 0;
    for (int k = 0; k < SAMPLE_PAIRS; k++) {
        int to = (int)probe_random_below(&builder->random, (uint64_t)count);
        bool again = abs(from - to) <= 1;
        for (int i = 0; i < n; i++)
            again |= chosen[i] == to;
        if (again)
            continue;
        chosen[n++] = to;
        add_pingpong(builder, cores[from], cores[to], false, rank_of(KIND_INSIDE, 4),
                     CPU_ROLE_PLAIN);
    }
}

static void add_inside(struct cpu_builder *builder, const int *cores, int count)
{
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; count <= SMALL_LLC && j < count; j++)
            add_both(builder, cores[i], cores[j],
                     rank_of(KIND_INSIDE, 2 * cpu_schedule_round(count, i, j)), CPU_ROLE_PLAIN);
        if (count > SMALL_LLC && i + 1 < count)
            add_both(builder, cores[i], cores[i + 1], rank_of(KIND_INSIDE, 2 * (i % 2)),
                     CPU_ROLE_PLAIN);
        if (count > SMALL_LLC)
            add_sample(builder, cores, count, i);
    }
}

/* From group a to group b: the lowest cores, one other pair to check them by, and the rest in case
 * they differ. */
static void add_between(struct cpu_builder *builder, const struct groups *groups, int a, int b)
{
    const int *from = groups->list + groups->start[a], *to = groups->list + groups->start[b];
    uint64_t from_count = (uint64_t)(groups->start[a + 1] - groups->start[a]);
    uint64_t to_count = (uint64_t)(groups->start[b + 1] - groups->start[b]);
    if (from_count * to_count < 1)
        return;
    int round = 2 * cpu_schedule_round(groups->count, a, b) + (a > b);
    add_pingpong(builder, from[0], to[0], false, rank_of(KIND_FIRSTS, round), CPU_ROLE_FIRSTS);
    uint64_t check = from_count * to_count > 1
                         ? 1 + probe_random_below(&builder->random, from_count * to_count - 1)
                         : 0;
    for (uint64_t i = 1; i < from_count * to_count; i++)
        add_pingpong(builder, from[i / to_count], to[i % to_count], false,
                     rank_of(i == check ? KIND_CHECK : KIND_SPARE, 0),
                     i == check ? CPU_ROLE_CHECK : CPU_ROLE_SPARE);
}

/* Draws *most of *total items, each with the same chance. Call it once for each item: true when the
 * item is drawn. */
static bool drawn(struct probe_random *random, int *most, int *total)
{
    bool yes = *total > 0 && (int)probe_random_below(random, (uint64_t)*total) < *most;
    *total -= 1;
    *most -= yes;
    return yes;
}

static void add_quick_copies_and_queues(struct cpu_builder *builder, const struct groups *groups)
{
    int total = 0, most = QUICK_HANDOFFS / 2;
    for (int g = 0; g < groups->count; g++)
        total += groups->start[g + 1] - groups->start[g] > 1;
    for (int g = 0; g < groups->count; g++) {
        const int *cores = groups->list + groups->start[g];
        if (groups->start[g + 1] - groups->start[g] < 2 || !drawn(&builder->random, &most, &total))
            continue;
        add_copy_queue(builder, cores[0], cores[1], builder->topology->l2_bytes, 0);
        add_copy_queue(builder, cores[1], cores[0], builder->topology->l2_bytes, 0);
    }
    total = groups->count * (groups->count - 1);
    most = QUICK_HANDOFFS;
    for (int a = 0; a < groups->count; a++)
        for (int b = 0; b < groups->count; b++)
            if (a != b && drawn(&builder->random, &most, &total))
                add_copy_queue(builder, groups->list[groups->start[a]],
                               groups->list[groups->start[b]], builder->topology->l2_bytes, 1);
}

static void add_quick(struct cpu_builder *builder, const struct groups *groups)
{
    for (int g = 0; g < groups->count; g++) {
        add_inside(builder, groups->list + groups->start[g],
                   groups->start[g + 1] - groups->start[g]);
        for (int other = 0; other < groups->count; other++)
            if (other != g)
                add_between(builder, groups, g, other);
    }
    add_quick_copies_and_queues(builder, groups);
}

/* ---- full ---- */

static int64_t largest_cache(const struct cpu_topology *topology)
{
    int64_t largest = topology->l2_bytes;
    for (int llc = 0; llc < topology->llc_count; llc++)
        if (topology->llcs[llc].cores > 0 && topology->llcs[llc].bytes > largest)
            largest = topology->llcs[llc].bytes;
    return largest;
}

/* The pairs whose copies also reach beyond the last-level caches: the two lowest cores of each llc,
 * and the lowest of all. */
static void mark_far(const struct groups *groups, unsigned char *ret_far)
{
    for (int g = 0; g < groups->count; g++) {
        ret_far[groups->list[groups->start[g]]] = 1;
        if (groups->start[g + 1] - groups->start[g] > 1)
            ret_far[groups->list[groups->start[g] + 1]] = 2;
    }
}

/* All ordered pairs. Ping-pong is ordered by the rounds of a tournament, these at random, so that
 * many fit side by side. */
static void add_full(struct cpu_builder *builder, const struct groups *groups)
{
    int count = builder->topology->core_count, rounds = cpu_schedule_rounds(count);
    int *place = malloc(((size_t)rounds + 1) * sizeof *place);
    unsigned char *far = calloc((size_t)count, 1);
    if (place == NULL || far == NULL) {
        builder->failed = true;
        free(place);
        free(far);
        return;
    }
    for (int round = 0; round < rounds; round++) {
        int other = (int)probe_random_below(&builder->random, (uint64_t)round + 1);
        place[round] = place[other];
        place[other] = round;
    }
    mark_far(groups, far);
    int64_t all_caches = largest_cache(builder->topology);
    const struct cpu_core *cores = builder->topology->cores;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            if (i == j)
                continue;
            int rank = 4 * place[cpu_schedule_round(count, i, j)] + 2 * (i > j);
            for (int cas = 0; cas < 2; cas++)
                add_pingpong(builder, i, j, cas, rank_of(KIND_FIRSTS, rank + cas), CPU_ROLE_PLAIN);
            bool is_far = cores[i].llc == cores[j].llc ? far[i] != 0 && far[j] != 0
                                                       : far[i] == 1 && far[j] == 1;
            add_copy_queue(builder, i, j, is_far ? all_caches : builder->topology->l2_bytes,
                           is_far ? 0 : 1);
        }
    free(place);
    free(far);
}

static bool make_groups(const struct cpu_topology *topology, struct groups *ret_groups)
{
    struct groups groups = {.list = malloc((size_t)topology->core_count * sizeof *groups.list),
                            .start =
                                malloc(((size_t)topology->llc_count + 2) * sizeof *groups.start)};
    if (groups.list == NULL || groups.start == NULL) {
        free(groups.list);
        free(groups.start);
        return false;
    }
    int used = 0;
    for (int llc = -1; llc < topology->llc_count; llc++) {
        groups.start[groups.count] = used;
        for (int core = 0; core < topology->core_count; core++)
            if (topology->cores[core].llc == llc)
                groups.list[used++] = core;
        groups.count += used > groups.start[groups.count];
    }
    groups.start[groups.count] = used;
    *ret_groups = groups;
    return true;
}

void cpu_cells_pairs_add(struct cpu_builder *builder)
{
    struct groups groups;
    if (!make_groups(builder->topology, &groups)) {
        builder->failed = true;
        return;
    }
    add_siblings(builder);
    if (builder->selection->profile == CPU_FULL)
        add_full(builder, &groups);
    else
        add_quick(builder, &groups);
    free(groups.list);
    free(groups.start);
}
