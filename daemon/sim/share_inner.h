/* What sim/share.c works with: private to its parts. */
#pragma once
#include <math.h>

#include "sim/share.h"

/* A limit while streams run. */
struct state {
    double left; /* of its capacity, for those that may still grow */
    double sum;  /* of what its users have alone; bytes, for load_share_least_ns */
    double fastest;
    unsigned users, growing, kinds, free; /* free: up to so many users are not limited */
    bool binds, is_full;                  /* full: at this level */
    uint32_t first_user, user_count;      /* in the share's user */
    /* another that binds, which a stream uses as well as this one, or one that leads there;
     * itself: the crowd's first */
    uint16_t with;
    uint16_t crowd; /* of the crowd's first: its number, from 1 on */
};

/* A stream that is limited by something. */
struct active {
    struct load_stream *stream; /* of its queue the one that ends next */
    const uint16_t *use;        /* of what it uses, what binds */
    unsigned use_count;
    double begin_ns; /* of its queue */
    double left, rate;
    double left_s; /* at that rate */
    bool is_fixed; /* its rate is found, or it has not begun, or it has ended */
};

/* fmin and fmax of numbers, which are calls: most of a run's time else. */
static inline double less(double a, double b) { return b < a ? b : a; }
static inline double more(double a, double b) { return b > a ? b : a; }

/* Streams that share limits, directly or through others, and those limits: no other stream's end
 * changes their rates. */
struct crowd {
    struct active *active; /* as they begin */
    size_t active_count, begun;
    struct active **going; /* those that have begun and not ended, as they began */
    size_t going_count;
    struct active **by_rate; /* all, by what their part gets alone */
    uint16_t *limit;
    size_t limit_count;
};

struct load_share {
    uint32_t *head;      /* by who, for load_queue_make */
    struct state *state; /* by limit; all zero between runs */
    uint16_t *touched;   /* limits that any stream uses; those that bind come first */
    size_t touched_count, binding_count;
    struct active *active;
    size_t active_count;
    uint16_t *use;                    /* what the active ones use */
    struct active *by_crowd;          /* the same, one crowd's after the other's */
    struct active **going, **by_rate; /* likewise */
    struct active **user;             /* of one crowd at a time, by limit */
    uint16_t *limit_by_crowd;
    struct crowd *crowd;
    const struct load_seen *known;
    size_t known_count;
    enum load_share_order order;
};

/* Which streams and limits belong together, in crowd; how many such crowds there are. */
size_t load_share_crowds(struct load_share *share);

/* What the crowd's streams were measured to get together: sets known_bytes_per_s of each to it, and
 * ret_bytes to the least that one engine moves. NULL: not known. */
const struct load_seen *load_share_find_seen(const struct load_share *share,
                                             const struct crowd *crowd, double *ret_bytes);

/* As many bytes as the least of them has go no faster than was measured. */
void load_share_end_no_sooner(struct load_stream *stream, const struct load_seen *known,
                              double bytes);
