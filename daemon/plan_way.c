#include "plan_way.h"

#include <math.h>

/* ---- what it costs ---- */

/* Pieces follow each other: the first goes all the way, each further one adds what the slowest hop takes for it. */
static struct prediction pipelined(const struct way *way, double bytes, double chunk)
{
    struct prediction first = plan_move_called(&way->hop[0], fmin(chunk, bytes));
    struct prediction slowest = {0, 0, 0};
    for (size_t i = 0; i < way->hop_count; i++) {
        struct prediction one = plan_move_queued(&way->hop[i], fmin(chunk, bytes));
        if (i > 0)
            first = (struct prediction){first.time_ns + one.time_ns, first.low_ns + one.low_ns, first.high_ns + one.high_ns};
        if (one.time_ns > slowest.time_ns)
            slowest = one;
    }
    double more = ceil(bytes / chunk) - 1;
    return (struct prediction){first.time_ns + more * slowest.time_ns, first.low_ns + more * slowest.low_ns, first.high_ns + more * slowest.high_ns};
}

/* The best size of pieces, from what pairs have of each; 0: in one piece, which takes whole_ns. */
static double best_chunk(const struct way *way, double bytes, double whole_ns, double *ret_time_ns)
{
    size_t k = 0;
    double chunk = 0;
    for (size_t i = 0; i < way->hop_count; i++)
        k = way->pair[i]->least_chunk > k ? way->pair[i]->least_chunk : k;
    for (; k < PAIRS_CHUNKS; k++) {
        double piece = (double)((uint64_t)PAIRS_CHUNK_LEAST << k), first_ns = way->pair[0]->more_ns, slowest_ns = 0;
        if (piece >= bytes)
            break;
        for (size_t i = 0; i < way->hop_count; i++) {
            double one_ns = way->pair[i]->queued_ns[k] * way->hop[i].slowdown;
            first_ns += one_ns;
            slowest_ns = fmax(slowest_ns, one_ns);
        }
        double time_ns = first_ns + (ceil(bytes / piece) - 1) * slowest_ns;
        if (time_ns < whole_ns) {
            whole_ns = time_ns;
            chunk = piece;
        }
    }
    *ret_time_ns = whole_ns;
    return chunk;
}

static double in_one_piece_ns(const struct way *way, double bytes)
{
    double time_ns = plan_move_called(&way->hop[0], bytes).time_ns;
    for (size_t i = 1; i < way->hop_count; i++)
        time_ns += plan_move_queued(&way->hop[i], bytes).time_ns;
    return time_ns;
}

double plan_way_time_ns(const struct way *way, double bytes)
{
    double time_ns = in_one_piece_ns(way, bytes);
    if (way->hop_count > 1)
        best_chunk(way, bytes, time_ns, &time_ns);
    return time_ns;
}

struct prediction plan_way_time(const struct way *way, double bytes, double *ret_chunk)
{
    double chunk = 0, time_ns;
    if (way->hop_count > 1)
        chunk = best_chunk(way, bytes, in_one_piece_ns(way, bytes), &time_ns);
    if (ret_chunk != NULL)
        *ret_chunk = chunk;
    return pipelined(way, bytes, chunk > 0 ? chunk : bytes);
}

double plan_way_rate(const struct way *way)
{
    double rate = INFINITY;
    for (size_t i = 0; i < way->hop_count; i++) {
        const struct move *hop = &way->hop[i];
        rate = fmin(rate, (hop->curve != NULL ? curve_wmax_bytes_per_s(hop->curve) : hop->bytes_per_s) / hop->slowdown);
    }
    return rate;
}

bool plan_way_knows(const struct way *way, double bytes)
{
    for (size_t i = 0; i < way->hop_count; i++)
        if (!plan_move_knows(&way->hop[i], bytes))
            return false;
    return true;
}

bool plan_way_meets(const struct way *a, const struct way *b)
{
    for (size_t i = 0; i < a->hop_count; i++)
        for (size_t j = 0; j < b->hop_count; j++)
            if (a->pair[i] == NULL || b->pair[j] == NULL || plan_lanes_meet(a->pair[i]->lanes, b->pair[j]->lanes))
                return true;
    return false;
}

/* ---- which there are ---- */

static void add_hop(struct way *way, const struct pair *pair, bool both)
{
    way->pair[way->hop_count] = pair;
    way->hop[way->hop_count++] = both ? pair->both : pair->move;
}

bool plan_way_direct(const struct way_ends *ends, enum move_by by, struct way *ret)
{
    const struct pair *pair = plan_pairs_find(ends->pairs, ends->from, ends->to, by);
    if (pair == NULL)
        return false;
    *ret = (struct way){.hop_count = 0};
    add_hop(ret, pair, ends->both);
    return true;
}

struct search {
    const struct way_ends *ends;
    enum move_by by;
    const struct way *apart;
    size_t apart_count;
    double best_ns;
    struct way best;
    bool found;
};

static double slowdown_of(const struct search *search, const struct pair *pair) { return search->ends->both ? pair->both.slowdown : 1; }

static bool is_apart(const struct search *search, const struct pair *const *pairs, size_t count)
{
    for (size_t w = 0; w < search->apart_count; w++)
        for (size_t i = 0; i < search->apart[w].hop_count; i++)
            for (size_t j = 0; j < count; j++)
                if (search->apart[w].pair[i] == NULL || plan_lanes_meet(search->apart[w].pair[i]->lanes, pairs[j]->lanes))
                    return false;
    return true;
}

/* A way that could be faster than the best one so far is looked at closely. */
static void consider(struct search *search, const struct pair *const *pairs, size_t count)
{
    double bytes = search->ends->bytes;
    for (size_t i = 0; i < count; i++) {
        if (pairs[i]->least_ns_per_byte * slowdown_of(search, pairs[i]) * bytes >= search->best_ns || !plan_move_knows(&pairs[i]->move, bytes))
            return;
    }
    if (!is_apart(search, pairs, count))
        return;
    struct way way;
    way.hop_count = 0;
    for (size_t i = 0; i < count; i++)
        add_hop(&way, pairs[i], search->ends->both);
    double time_ns = plan_way_time_ns(&way, bytes);
    if (!(time_ns < search->best_ns))
        return;
    search->best_ns = time_ns;
    search->best = way;
    search->found = true;
}

static bool may_pass(const struct way_ends *ends, place_id via, enum place_kind kind)
{
    if (via == ends->from || via == ends->to || graph_place(ends->graph, via)->kind != kind || !plan_pairs_passes(ends->pairs, via))
        return false;
    return kind == PLACE_GPU ? plan_allows_gpu(ends->allowed, via) : plan_allows_memory(ends->allowed, via);
}

static void consider_two(struct search *search, const place_id *memory, size_t count, const struct pair *first)
{
    const struct way_ends *ends = search->ends;
    for (size_t m = 0; m < count; m++) {
        if (memory[m] == first->move.to || !may_pass(ends, memory[m], PLACE_GPU))
            continue;
        const struct pair *pairs[] = {first, plan_pairs_find(ends->pairs, first->move.to, memory[m], search->by),
                                      plan_pairs_find(ends->pairs, memory[m], ends->to, search->by)};
        if (pairs[1] != NULL && pairs[2] != NULL)
            consider(search, pairs, 3);
    }
}

bool plan_way_through(const struct way_ends *ends, enum way_through through, enum move_by by, const struct way *apart, size_t count, double limit_ns, struct way *ret)
{
    struct search search = {.ends = ends, .by = by, .apart = apart, .apart_count = count, .best_ns = limit_ns};
    const place_id *memory;
    size_t memories = plan_pairs_memories(ends->pairs, &memory);
    for (size_t m = 0; m < memories; m++) {
        if (!may_pass(ends, memory[m], through == WAY_HOST ? PLACE_NUMA : PLACE_GPU))
            continue;
        const struct pair *first = plan_pairs_find(ends->pairs, ends->from, memory[m], by);
        const struct pair *pairs[] = {first, plan_pairs_find(ends->pairs, memory[m], ends->to, by)};
        if (first != NULL && through == WAY_TWO_GPUS)
            consider_two(&search, memory, memories, first);
        else if (first != NULL && pairs[1] != NULL)
            consider(&search, pairs, 2);
    }
    if (search.found)
        *ret = search.best;
    return search.found;
}
