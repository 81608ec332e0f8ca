/* Streams that were measured together, and that no limits explain. */
#include "sim/share_inner.h"

static size_t find_who(const struct load_seen *known, uint32_t who)
{
    size_t low = 0, high = known->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (known->who[middle] < who)
            low = middle + 1;
        else
            high = middle;
    }
    return low < known->count && known->who[low] == who ? low : known->count;
}

/* Those of the crowd are just these. */
static bool is_known(const struct load_seen *known, const struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->active_count; i++) {
        if (find_who(known, crowd->active[i].stream->who) == known->count)
            return false;
        for (size_t k = 0; k < i; k++)
            if (crowd->active[k].stream->who == crowd->active[i].stream->who)
                return false;
    }
    return true;
}

const struct load_seen *load_share_find_seen(const struct load_share *share,
                                             const struct crowd *crowd, double *ret_bytes)
{
    for (size_t k = 0; k < share->known_count; k++) {
        const struct load_seen *known = &share->known[k];
        double least = INFINITY;
        if (known->count != crowd->active_count || !is_known(known, crowd))
            continue;
        for (size_t i = 0; i < crowd->active_count; i++) {
            double rate = known->bytes_per_s[find_who(known, crowd->active[i].stream->who)],
                   bytes = 0;
            for (struct load_stream *stream = crowd->active[i].stream; stream != NULL;
                 stream = stream->behind) {
                stream->known_bytes_per_s = rate;
                bytes = stream->queue_bytes;
            }
            least = less(least, bytes);
        }
        *ret_bytes = least;
        return known;
    }
    return NULL;
}

void load_share_end_no_sooner(struct load_stream *stream, const struct load_seen *known,
                              double bytes)
{
    double soonest_ns =
        stream->start_ns +
        (less(bytes, stream->queue_bytes) / less(stream->known_bytes_per_s, stream->bytes_per_s) +
         more(stream->queue_bytes - bytes, 0) / stream->bytes_per_s) *
            1e9;
    stream->seen = soonest_ns > stream->end_ns ? known : NULL;
    stream->end_ns = more(stream->end_ns, soonest_ns);
}
