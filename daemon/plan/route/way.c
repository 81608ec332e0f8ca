#include "plan/route/way.h"

#include <math.h>

#include "cost/evidence.h"
#include "node/allowed.h"

#define BETWEEN_MAX 256 /* memories that are looked at */

/* What is worked out of pieces is left as it is until somebody asks for it. */
static void begin_hops(struct way_hops *hops)
{
    hops->launch_ns = hops->more_ns = hops->behind_ns = hops->most_ns_per_byte =
        hops->sum_ns_per_byte = 0;
    hops->least_chunk = hops->count = 0;
    hops->from = PAIRS_CHUNKS;
    hops->worked_out = 0;
}

static void add_pair(struct way_hops *hops, const struct pair *pair, double slowdown)
{
    double ns_per_byte = pair->least_ns_per_byte * slowdown;
    hops->most_ns_per_byte =
        ns_per_byte > hops->most_ns_per_byte ? ns_per_byte : hops->most_ns_per_byte;
    hops->sum_ns_per_byte += ns_per_byte;
    hops->least_chunk =
        pair->least_chunk > hops->least_chunk ? pair->least_chunk : hops->least_chunk;
    hops->launch_ns = hops->count > 0 ? hops->launch_ns + pair->behind_launch_ns : pair->launch_ns;
    hops->more_ns = hops->count > 0 ? hops->more_ns + pair->behind_more_ns : pair->more_ns;
    hops->pair[hops->count] = pair;
    hops->slowdown[hops->count++] = slowdown;
}

/* ---- what it costs ---- */

/* A hop's first piece, started when the one before has ended, for which it really waits: of a
 * kernel as measured; else a call's time, give or take what that is more than waiting for what is
 * past. */
static struct prediction first_behind(const struct way *way, size_t i,
                                      const struct prediction *queued, double bytes)
{
    const struct move *hop = &way->hop[i];
    if (way->pair[i] != NULL && !isnan(hop->t0_behind_ns)) {
        double behind_ns = queued->time_ns + way->pair[i]->behind_more_ns,
               half_ns =
                   hypot(queued->high_ns - queued->time_ns, plan_move_call_half_ns(hop, bytes));
        return (struct prediction){behind_ns, behind_ns - half_ns, behind_ns + half_ns};
    }
    struct prediction called = plan_move_called(hop, bytes);
    double past_ns = way->pair[i] != NULL ? way->pair[i]->chain_ns : 0,
           doubt_ns = fmax(called.time_ns - queued->time_ns - past_ns, 0);
    return (struct prediction){called.time_ns, called.low_ns - doubt_ns, called.high_ns + doubt_ns};
}

/* Pieces follow each other: the first goes all the way, each hop started when the one before has
 * ended; each further one adds what the slowest hop takes for it, or starting it. */
static struct prediction pipelined(const struct way *way, double bytes, double chunk)
{
    double launch_ns = plan_way_launch_ns(way);
    struct prediction first = plan_move_called(&way->hop[0], fmin(chunk, bytes));
    struct prediction slowest = {0, 0, 0};
    for (size_t i = 0; i < way->hop_count; i++) {
        struct prediction one = plan_move_queued(&way->hop[i], fmin(chunk, bytes)),
                          behind = first_behind(way, i, &one, fmin(chunk, bytes));
        double chain_ns = way->pair[i] != NULL ? way->pair[i]->chain_ns : 0;
        if (i > 0)
            first =
                (struct prediction){first.time_ns + behind.time_ns, first.low_ns + behind.low_ns,
                                    first.high_ns + behind.high_ns};
        one = (struct prediction){one.time_ns + chain_ns, one.low_ns + chain_ns,
                                  one.high_ns + chain_ns};
        if (one.time_ns > slowest.time_ns)
            slowest = one;
    }
    if (slowest.time_ns < launch_ns)
        slowest = (struct prediction){launch_ns, launch_ns, launch_ns};
    double more = bytes / chunk - 1; /* the last piece is what is left */
    return (struct prediction){first.time_ns + more * slowest.time_ns,
                               first.low_ns + more * slowest.low_ns,
                               first.high_ns + more * slowest.high_ns};
}

/* What so many bytes take that take so long alone: starting them does not take longer because they
 * do. */
static double slowed_ns(const struct way_hops *hops, size_t i, double alone_ns)
{
    double moving_ns = alone_ns - hops->pair[i]->start_ns;
    return hops->slowdown[i] > 1 && moving_ns > 0 ? alone_ns + moving_ns * (hops->slowdown[i] - 1)
                                                  : alone_ns;
}

static double size_of(size_t k) { return (double)((int64_t)PAIRS_CHUNK_LEAST << k); }

/* What part of a piece of each size a byte is: sizes are powers of two, so that a product with it
 * is the quotient by the size to the last bit, and takes less. */
static const double pieces_per_byte[] = {0x1p-16, 0x1p-17, 0x1p-18, 0x1p-19, 0x1p-20,
                                         0x1p-21, 0x1p-22, 0x1p-23, 0x1p-24, 0x1p-25,
                                         0x1p-26, 0x1p-27, 0x1p-28, 0x1p-29, 0x1p-30};

_Static_assert(PAIRS_CHUNK_LEAST == 1 << 16 &&
                   sizeof pieces_per_byte / sizeof *pieces_per_byte == PAIRS_CHUNKS,
               "each size of pieces has its own");

/* How many sizes of pieces are smaller than so many bytes. */
static size_t smaller_than(double bytes)
{
    if (!(bytes > PAIRS_CHUNK_LEAST))
        return 0;
    if (bytes > size_of(PAIRS_CHUNKS - 1))
        return PAIRS_CHUNKS;
    /* the largest number that is smaller */
    int64_t whole = (int64_t)bytes, below = (double)whole < bytes ? whole : whole - 1;
    size_t smaller = (size_t)(63 - __builtin_clzll((uint64_t)below)) -
                     (size_t)__builtin_ctzll(PAIRS_CHUNK_LEAST) + 1;
    return smaller < PAIRS_CHUNKS ? smaller : PAIRS_CHUNKS;
}

static void work_out(struct way_hops *hops, size_t k)
{
    double first_ns = hops->more_ns, slowest_ns = 0, most_ns = 0;
    for (size_t i = 0; i < hops->count; i++) {
        double one_ns = slowed_ns(hops, i, hops->pair[i]->queued_ns[k]),
               chained_ns = one_ns + hops->pair[i]->chain_ns;
        first_ns += one_ns;
        most_ns = one_ns > most_ns ? one_ns : most_ns;
        slowest_ns = chained_ns > slowest_ns ? chained_ns : slowest_ns;
    }
    hops->piece[k].first_ns = first_ns;
    hops->piece[k].rest_ns = first_ns - most_ns;
    hops->piece[k].each_ns =
        (slowest_ns > hops->launch_ns ? slowest_ns : hops->launch_ns) + hops->behind_ns;
    hops->worked_out |= 1U << k;
}

struct way_piece plan_way_hops_piece(struct way_hops *hops, size_t k)
{
    if ((hops->worked_out >> k & 1) == 0)
        work_out(hops, k);
    return hops->piece[k];
}

/* The time in pieces of one size, with what they cost others. */
static double in_pieces_ns(struct way_hops *hops, double bytes, size_t k)
{
    if ((hops->worked_out >> k & 1) == 0)
        work_out(hops, k);
    return hops->piece[k].first_ns + (bytes * pieces_per_byte[k] - 1) * hops->piece[k].each_ns;
}

/* What no smaller pieces can take less than. */
static double floor_ns(const struct way_hops *hops, double bytes, size_t k)
{
    double pieces = bytes * pieces_per_byte[k],
           most_ns = (pieces - 1) * (hops->launch_ns + hops->behind_ns);
    for (size_t i = 0; i < hops->count; i++) {
        const struct pair *pair = hops->pair[i];
        double all_ns = pair->floor_ns_per_byte[k] * hops->slowdown[i] * bytes +
                        pair->start_ns * pieces + (pieces - 1) * pair->chain_ns;
        most_ns = all_ns > most_ns ? all_ns : most_ns;
    }
    return most_ns;
}

/* The best size of pieces, from what pairs have of each; 0: in one piece, which takes whole_ns. It
 * looks from the one before, or the middle, to both sides, as far as the bounds allow a better one.
 */
static double best_chunk(struct way_hops *hops, double bytes, double whole_ns, double *ret_time_ns)
{
    size_t first = hops->least_chunk, below = smaller_than(bytes),
           end = below > first ? below : first, best = PAIRS_CHUNKS;
    double least_ns = hops->most_ns_per_byte * bytes;
    size_t middle =
        hops->from >= first && hops->from < end ? hops->from : first + (end - first) / 2;
    for (size_t k = middle; k < end; k++) {
        double time_ns = in_pieces_ns(hops, bytes, k);
        if (time_ns < whole_ns) {
            whole_ns = time_ns;
            best = k;
        }
        /* all bytes over the slowest hop, and the first piece over the others, which are no
         * faster by larger pieces */
        if (least_ns + hops->piece[k].rest_ns >= whole_ns)
            break;
    }
    for (size_t k = middle; k-- > first;) {
        double time_ns = in_pieces_ns(hops, bytes, k);
        if (time_ns <= whole_ns) {
            whole_ns = time_ns;
            best = k;
        }
        if (floor_ns(hops, bytes, k) >= whole_ns)
            break;
    }
    *ret_time_ns = whole_ns;
    if (best == PAIRS_CHUNKS)
        return 0;
    hops->from = best;
    return size_of(best);
}

static double in_one_piece_ns(const struct way_hops *hops, double bytes)
{
    double time_ns = hops->more_ns;
    for (size_t i = 0; i < hops->count; i++)
        time_ns += slowed_ns(hops, i, plan_move_queued_ns(&hops->pair[i]->move, bytes));
    return time_ns;
}

void plan_way_hops(const struct way *way, struct way_hops *ret)
{
    begin_hops(ret);
    for (size_t i = 0; i < way->hop_count; i++)
        add_pair(ret, way->pair[i], way->hop[i].slowdown);
}

double plan_way_hops_time_ns(struct way_hops *hops, double bytes, double *ret_chunk)
{
    double time_ns = INFINITY,
           chunk = hops->count > 1 ? best_chunk(hops, bytes, INFINITY, &time_ns) : 0;
    double whole_ns = hops->more_ns + hops->sum_ns_per_byte * bytes <= time_ns
                          ? in_one_piece_ns(hops, bytes)
                          : INFINITY;
    if (whole_ns <= time_ns) {
        time_ns = whole_ns;
        chunk = 0;
    }
    if (hops->behind_ns > 0 && chunk > 0)
        time_ns -= (bytes / chunk - 1) * hops->behind_ns;
    if (ret_chunk != NULL)
        *ret_chunk = chunk;
    return time_ns;
}

/* Of a hop nothing is measured or published: it goes in one piece, because nothing says what
 * starting one costs. */
static bool is_nominal(const struct way *way)
{
    for (size_t i = 0; i < way->hop_count; i++)
        if (way->pair[i] == NULL)
            return true;
    return false;
}

double plan_way_time_ns(const struct way *way, double bytes, double behind_ns, double *ret_chunk)
{
    double chunk = 0, time_ns;
    if (is_nominal(way)) {
        time_ns = pipelined(way, bytes, bytes).time_ns;
    } else {
        struct way_hops hops;
        plan_way_hops(way, &hops);
        hops.behind_ns = behind_ns;
        time_ns = plan_way_hops_time_ns(&hops, bytes, &chunk);
    }
    if (ret_chunk != NULL)
        *ret_chunk = chunk;
    return time_ns;
}

struct prediction plan_way_time(const struct way *way, double bytes, double behind_ns,
                                double *ret_chunk)
{
    double chunk = 0;
    if (way->hop_count > 1)
        plan_way_time_ns(way, bytes, behind_ns, &chunk);
    if (ret_chunk != NULL)
        *ret_chunk = chunk;
    return pipelined(way, bytes, chunk > 0 ? chunk : bytes);
}

double plan_way_hop_rate(const struct move *hop)
{
    return (hop->curve != NULL ? curve_wmax_bytes_per_s(hop->curve) : hop->bytes_per_s) /
           hop->slowdown;
}

double plan_way_rate(const struct way *way)
{
    double rate = INFINITY;
    for (size_t i = 0; i < way->hop_count; i++)
        rate = fmin(rate, plan_way_hop_rate(&way->hop[i]));
    return rate;
}

double plan_way_launch_ns(const struct way *way)
{
    struct way_hops hops;
    if (is_nominal(way))
        return 0;
    plan_way_hops(way, &hops);
    return hops.launch_ns;
}

bool plan_way_knows_both(const struct way *way)
{
    for (size_t i = 0; i < way->hop_count; i++)
        if (way->hop[i].both == NULL && way->hop[i].both_set == NULL)
            return false;
    return true;
}

size_t plan_way_kernels(const struct way *way, size_t count, place_id gpu)
{
    size_t kernels = 0;
    for (size_t w = 0; w < count; w++)
        for (size_t i = 0; i < way[w].hop_count; i++)
            kernels += way[w].hop[i].by == MOVE_KERNEL && way[w].hop[i].driver == gpu;
    return kernels;
}

double plan_way_counted(const struct way *way, double bytes)
{
    for (size_t i = 0; i < way->hop_count; i++)
        bytes = fmax(bytes, plan_move_least(&way->hop[i]));
    return bytes;
}

bool plan_way_knows(const struct way *way, double bytes)
{
    for (size_t i = 0; i < way->hop_count; i++)
        if (!plan_move_knows(&way->hop[i], bytes))
            return false;
    return true;
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
    ret->hop_count = 0;
    add_hop(ret, pair, ends->both);
    return true;
}

struct search {
    const struct way_ends *ends;
    enum move_by by;
    const struct way_room *room;
    double best_ns;
    struct way_hops best; /* count 0: none */
};

static bool fits(const struct pair *pair, double bytes_per_s, const struct way_room *room)
{
    const struct lanes *lanes = pair->lanes;
    if (!lanes->is_known || !room->used.is_known)
        return false;
    /* this hop's, and the other's of its way */
    size_t kernels = pair->move.by == MOVE_KERNEL ? 2 : 0;
    for (size_t i = 0; i < room->taken_count; i++) {
        bool is_same_gpus = pair->move.by == MOVE_KERNEL &&
                            room->taken[i]->move.by == MOVE_KERNEL &&
                            room->taken[i]->move.driver == pair->move.driver;
        kernels += is_same_gpus;
        if (room->taken[i] == pair || (is_same_gpus && kernels > WAY_KERNELS_MAX))
            return false;
    }
    for (size_t b = 0; b < LANES_WORDS; b++)
        for (uint64_t bits = lanes->bit[b] & room->used.bit[b]; bits != 0; bits &= bits - 1)
            if (room->left[64 * b + (size_t)__builtin_ctzll(bits)] < bytes_per_s)
                return false;
    return true;
}

/* Beside what was measured in both directions a hop of which only structure tells would look too
 * good: what is shared by both may be known there, and is not here. */
static bool counts_both(const struct way_ends *ends, const struct pair *pair)
{
    return !ends->both || !ends->both_is_known || pair->knows_both || pair->both_is_others;
}

bool plan_way_fits(const struct way_ends *ends, const struct way *way, const struct way_room *room)
{
    double rate = plan_way_rate(way);
    for (size_t i = 0; i < way->hop_count; i++)
        if (way->pair[i] == NULL || !counts_both(ends, way->pair[i]) ||
            !fits(way->pair[i], rate, room))
            return false;
    return true;
}

static bool finds_room(const struct search *search, const struct way_hops *hops)
{
    for (size_t i = 0; i < hops->count && search->room != NULL; i++)
        if (!fits(hops->pair[i], 1e9 / hops->most_ns_per_byte, search->room))
            return false;
    return true;
}

bool plan_way_may_pass(const struct way_ends *ends, place_id via)
{
    bool is_gpu = graph_place(ends->graph, via)->kind == PLACE_GPU;
    for (size_t i = 0; i < ends->without_count; i++)
        if (ends->without[i] == via)
            return false;
    return plan_pairs_passes(ends->pairs, via) &&
           (is_gpu ? allowed_has_gpu(ends->allowed, via) : allowed_has_memory(ends->allowed, via));
}

static bool is_too_slow(const struct way_ends *ends, const struct pair *pair)
{
    return ends->least_rate > 0 &&
           plan_way_hop_rate(ends->both ? &pair->both : &pair->move) <= ends->least_rate;
}

/* A way that could be faster than the best one so far is looked at closely. */
static void consider(struct search *search, const struct pair *const *pairs, size_t count)
{
    double bytes = search->ends->bytes;
    for (size_t i = 0; i < count; i++)
        bytes = pairs[i]->least_bytes > bytes ? pairs[i]->least_bytes : bytes;
    struct way_hops hops;
    begin_hops(&hops);
    double least_ns = 0, starts_ns = 0, most_start_ns = 0;
    for (size_t i = 0; i < count; i++) {
        double slowdown = search->ends->both ? pairs[i]->both.slowdown : 1;
        if (pairs[i]->least_ns_per_byte * slowdown * bytes >= search->best_ns ||
            is_too_slow(search->ends, pairs[i]) ||
            (search->room != NULL && !counts_both(search->ends, pairs[i])))
            return;
        add_pair(&hops, pairs[i], slowdown);
        least_ns = fmax(least_ns, pairs[i]->least_ns_per_byte * slowdown * bytes);
        starts_ns += pairs[i]->start_ns;
        most_start_ns = fmax(most_start_ns, pairs[i]->start_ns);
    }
    /* all bytes over the slowest hop, and no less than its start over each other */
    if (hops.more_ns + starts_ns - most_start_ns + least_ns >= search->best_ns)
        return;
    if (!finds_room(search, &hops))
        return;
    hops.from = search->best.from; /* what suits one way suits others, mostly */
    double time_ns = plan_way_hops_time_ns(&hops, bytes, NULL);
    if (!(time_ns < search->best_ns))
        return;
    search->best_ns = time_ns;
    search->best = hops;
}

/* Whether bytes between the ends can pass there as far as its kind goes. */
static bool is_between(const struct way_ends *ends, place_id via, enum place_kind kind)
{
    return via != ends->from && via != ends->to && graph_place(ends->graph, via)->kind == kind;
}

/* Where bytes may pass between the ends: how they come there, and go on from there to the end. */
struct between {
    place_id via;
    const struct pair *first, *last; /* NULL: nothing is known of it */
};

static size_t find_between(const struct search *search, enum place_kind kind,
                           struct between *between)
{
    const struct way_ends *ends = search->ends;
    const place_id *memory;
    size_t memories = plan_pairs_memories(ends->pairs, &memory), count = 0;
    for (size_t m = 0; m < memories && count < BETWEEN_MAX; m++) {
        if (!is_between(ends, memory[m], kind) || !plan_way_may_pass(ends, memory[m]))
            continue;
        struct between one = {memory[m],
                              plan_pairs_find(ends->pairs, ends->from, memory[m], search->by),
                              plan_pairs_find(ends->pairs, memory[m], ends->to, search->by)};
        if (one.first != NULL || one.last != NULL)
            between[count++] = one;
    }
    return count;
}

static bool is_hopeless(const struct search *search, const struct pair *pair)
{
    return pair == NULL || pair->least_ns_per_byte * search->ends->bytes >= search->best_ns;
}

static void consider_two(struct search *search, const struct between *between, size_t count)
{
    for (size_t f = 0; f < count; f++)
        for (size_t l = 0; l < count && !is_hopeless(search, between[f].first); l++) {
            if (l == f || is_hopeless(search, between[l].last))
                continue;
            const struct pair *pairs[] = {
                between[f].first,
                plan_pairs_find(search->ends->pairs, between[f].via, between[l].via, search->by),
                between[l].last};
            if (pairs[1] != NULL)
                consider(search, pairs, 3);
        }
}

bool plan_way_through(const struct way_ends *ends, enum way_through through, enum move_by by,
                      const struct way_room *room, double limit_ns, struct way *ret)
{
    struct search search;
    struct between between[BETWEEN_MAX];
    search.ends = ends; /* the best way is none yet, and large */
    search.by = by;
    search.room = room;
    search.best_ns = limit_ns;
    search.best.count = 0;
    search.best.from = PAIRS_CHUNKS;
    size_t count = find_between(&search, through == WAY_HOST ? PLACE_NUMA : PLACE_GPU, between);
    if (through == WAY_TWO_GPUS)
        consider_two(&search, between, count);
    for (size_t i = 0; i < count && through != WAY_TWO_GPUS; i++) {
        const struct pair *pairs[] = {between[i].first, between[i].last};
        if (!is_hopeless(&search, pairs[0]) && !is_hopeless(&search, pairs[1]))
            consider(&search, pairs, 2);
    }
    if (search.best.count == 0)
        return false;
    ret->hop_count = 0;
    for (size_t i = 0; i < search.best.count; i++)
        add_hop(ret, search.best.pair[i], ends->both);
    return true;
}
