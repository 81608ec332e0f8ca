#include "plan_links_time.h"

#include <math.h>

/* In pieces a way moves at the rate of its slowest hop once the first piece has come through; in one piece each hop waits for all of it. */
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
    return in_pieces ? MOVE_LARGE_BYTES * (1e9 / rate_of(way, false) - 1e9 / rate_of(way, true)) : 0;
}

/* The time in which all end together; false where a way would not have one large piece. */
static bool share_out(const struct way *way, size_t count, double bytes, bool in_pieces, double *ret_time_ns, double *ret_part)
{
    double rate = 0, before = 0;
    bool suffices = true;
    for (size_t i = 0; i < count; i++) {
        rate += rate_of(&way[i], in_pieces);
        before += rate_of(&way[i], in_pieces) * first_ns(&way[i], in_pieces) * 1e-9;
    }
    *ret_time_ns = (bytes + before) / rate * 1e9;
    for (size_t i = 0; i < count; i++) {
        ret_part[i] = rate_of(&way[i], in_pieces) * (*ret_time_ns - first_ns(&way[i], in_pieces)) * 1e-9;
        suffices = suffices && (way[i].hop_count == 1 || ret_part[i] > MOVE_LARGE_BYTES);
    }
    return suffices;
}

struct prediction plan_links_time(const struct way *way, size_t count, double bytes, double *ret_share, double *ret_chunk)
{
    double part[SPLIT_WAYS_MAX], time_ns;
    bool in_pieces = share_out(way, count, bytes, true, &time_ns, part);
    if (!in_pieces)
        (void)share_out(way, count, bytes, false, &time_ns, part);
    for (size_t i = 0; i < count; i++) {
        if (ret_share != NULL)
            ret_share[i] = part[i] / bytes;
        if (ret_chunk != NULL)
            ret_chunk[i] = in_pieces && way[i].hop_count > 1 ? MOVE_LARGE_BYTES : 0;
    }
    return (struct prediction){time_ns, NAN, NAN};
}
