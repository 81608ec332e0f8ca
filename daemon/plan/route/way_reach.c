#include "plan/route/way_reach.h"

#include <math.h>

/* What each byte takes at least besides what starts it. A curve's straight pieces have least at one
 * of their ends; negative where something takes less than its start. */
static double least_ns_per_byte(const struct pair *pair)
{
    const struct move *move = &pair->move;
    if (move->curve == NULL)
        return 1e9 / move->bytes_per_s;
    const struct curve_fit *fit = &move->curve->fit;
    double least =
        fmin((plan_move_queued_ns(move, PAIRS_CHUNK_LEAST) - pair->start_ns) / PAIRS_CHUNK_LEAST,
             fit->piece[fit->piece_count - 1].ns_per_byte);
    for (size_t i = 1; i < fit->piece_count; i++) {
        double bytes = (double)fit->piece[i].from_bytes;
        if (bytes > PAIRS_CHUNK_LEAST)
            least = fmin(least, (plan_move_queued_ns(move, bytes) - pair->start_ns) / bytes);
    }
    return least;
}

static void in_one_piece(const struct way_hops *hops, struct way_reach *ret)
{
    double ns_per_byte = 0, from_ns = hops->more_ns;
    for (size_t i = 0; i < hops->count; i++) {
        double least = least_ns_per_byte(hops->pair[i]);
        from_ns += least > 0 ? hops->pair[i]->start_ns : 0;
        ns_per_byte +=
            least > 0 ? least * fmax(hops->slowdown[i], 1) : hops->pair[i]->least_ns_per_byte;
    }
    ret->whole_from_ns = from_ns;
    ret->whole_bytes_per_ns = 1 / ns_per_byte;
}

/* Whether the middle one of three lines, each steeper than the one before, is nowhere the highest.
 */
static bool is_below(const struct way_reach *reach, double bytes_per_ns, double bytes)
{
    size_t i = reach->count - 2, k = reach->count - 1;
    double before = reach->in_pieces[i].bytes_per_ns, its = reach->in_pieces[k].bytes_per_ns;
    return before < its && its < bytes_per_ns &&
           (reach->in_pieces[i].bytes - bytes) * (its - before) <=
               (reach->in_pieces[i].bytes - reach->in_pieces[k].bytes) * (bytes_per_ns - before);
}

/* The first piece goes all the way, each further one adds what it takes: bytes over time are a
 * straight line. */
static void in_pieces(struct way_hops *hops, struct way_reach *ret)
{
    for (size_t k = hops->least_chunk; k < PAIRS_CHUNKS; k++) {
        const struct way_piece piece = plan_way_hops_piece(hops, k);
        double chunk = (double)((uint64_t)PAIRS_CHUNK_LEAST << k),
               bytes_per_ns = chunk / piece.each_ns, bytes = chunk - piece.first_ns * bytes_per_ns;
        while (ret->count > 1 && is_below(ret, bytes_per_ns, bytes))
            ret->count--;
        ret->in_pieces[ret->count].bytes_per_ns = bytes_per_ns;
        ret->in_pieces[ret->count++].bytes = bytes;
    }
}

void plan_way_reach(const struct way *way, struct way_reach *ret)
{
    struct way_hops hops;
    plan_way_hops(way, &hops);
    ret->launch_ns = hops.launch_ns;
    ret->count = 0;
    in_one_piece(&hops, ret);
    if (hops.count > 1)
        in_pieces(&hops, ret);
}
