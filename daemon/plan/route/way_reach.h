/**
 * Reach: how many bytes go a way within a time at most. Worked out once, asked again and again:
 * what cannot carry all bytes within the time of something better need not be priced.
 *
 * Pure; any thread.
 */
#pragma once
#include "plan/route/way.h"

struct way_reach {
    double launch_ns; /* of each piece, for the thread that starts them */
    /* in one piece: nothing before, and no faster from then on */
    double whole_from_ns, whole_bytes_per_ns;
    struct {
        double bytes_per_ns, bytes;
    } in_pieces[PAIRS_CHUNKS]; /* straight lines over the time, of which the highest counts */
    size_t count;
};

/* Of a way of whose hops something is known. */
void plan_way_reach(const struct way *way, struct way_reach *ret);

/* Never less than the bytes, from PAIRS_CHUNK_LEAST on, that plan_way_hops_time_ns gives that time,
 * whatever is behind it. */
static inline double plan_way_reach_bytes(const struct way_reach *reach, double time_ns)
{
    double most = (time_ns - reach->whole_from_ns) * reach->whole_bytes_per_ns;
    for (size_t i = 0; i < reach->count; i++) {
        double bytes = reach->in_pieces[i].bytes + time_ns * reach->in_pieces[i].bytes_per_ns;
        most = bytes > most ? bytes : most;
    }
    return most > 0 ? most : 0;
}
