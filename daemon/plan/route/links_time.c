#include "plan/route/links_time.h"

#include <math.h>

/* In pieces a way moves at the rate of its slowest hop once the first piece has come through; in
 * one piece each hop waits for all of it. */
static double rate_of(const struct way *way, bool in_pieces)
{
    double ns_per_byte = 0;
    for (size_t i = 0; i < way->hop_count; i++)
        ns_per_byte += 1e9 / plan_way_hop_rate(&way->hop[i]);
    return in_pieces ? plan_way_rate(way) : 1e9 / ns_per_byte;
}

/* What the first piece takes over the other hops. */
static double first_ns(const struct way *way, bool in_pieces)
{
    return in_pieces ? MOVE_LARGE_BYTES * (1e9 / rate_of(way, false) - 1e9 / rate_of(way, true))
                     : 0;
}

/* The time in which all end together. */
static double share_out(const struct way *way, size_t count, double bytes, const bool *in_pieces,
                        double *ret_part)
{
    double rate = 0, before = 0;
    for (size_t i = 0; i < count; i++) {
        rate += rate_of(&way[i], in_pieces[i]);
        before += rate_of(&way[i], in_pieces[i]) * first_ns(&way[i], in_pieces[i]) * 1e-9;
    }
    double time_ns = (bytes + before) / rate * 1e9;
    for (size_t i = 0; i < count; i++)
        ret_part[i] =
            rate_of(&way[i], in_pieces[i]) * (time_ns - first_ns(&way[i], in_pieces[i])) * 1e-9;
    return time_ns;
}

/* Ways that would not have more than one large piece take their part in one. They carry more then,
 * so that all end sooner, and others may have too little, too. */
struct prediction plan_links_time(const struct way *way, size_t count, double bytes,
                                  double *ret_share, double *ret_chunk)
{
    double part[SPLIT_WAYS_MAX], time_ns = 0;
    bool in_pieces[SPLIT_WAYS_MAX], is_changed = true;
    for (size_t i = 0; i < count; i++)
        in_pieces[i] = way[i].hop_count > 1;
    while (is_changed) {
        time_ns = share_out(way, count, bytes, in_pieces, part);
        is_changed = false;
        for (size_t i = 0; i < count; i++)
            if (in_pieces[i] && part[i] <= MOVE_LARGE_BYTES) {
                in_pieces[i] = false;
                is_changed = true;
            }
    }
    for (size_t i = 0; i < count; i++) {
        if (ret_share != NULL)
            ret_share[i] = part[i] / bytes;
        if (ret_chunk != NULL)
            ret_chunk[i] = in_pieces[i] ? MOVE_LARGE_BYTES : 0;
    }
    return (struct prediction){time_ns, NAN, NAN};
}
