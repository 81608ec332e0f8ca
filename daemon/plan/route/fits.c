#include "plan/route/fits.h"

#include "cost/limits.h"

#define HOPS 64

/* A transfer that paths have. */
struct hop {
    const struct transfer *transfer;
    uint16_t limit[LIMITS_USES_MAX]; /* those that runs show */
    size_t limits;
    uint64_t apart; /* bits of hops that cannot move at once with it */
};

struct fits {
    const struct route_work *work;
    struct hop hop[HOPS];
    size_t hops;
};

/* True when runs show a limit of both, or they do not meet. */
static bool is_known(const struct limits *limits, const struct hop *a, const struct hop *b)
{
    for (size_t k = 0; k < a->limits * b->limits; k++)
        if (a->limit[k % a->limits] == b->limit[k / a->limits])
            return true;
    return !limits_meet(limits, (struct limits_ends){a->transfer->from, a->transfer->to},
                        (struct limits_ends){b->transfer->from, b->transfer->to});
}

/* Returns the index of a hop; HOPS: no room for it. */
static size_t hop_of(struct fits *fits, const struct transfer *transfer)
{
    const struct snapshot *snap = fits->work->snap;
    const struct limits *limits = snap->derived.limits;
    size_t at = 0;
    while (at < fits->hops && (fits->hop[at].transfer->from != transfer->from ||
                               fits->hop[at].transfer->to != transfer->to))
        at++;
    if (at < fits->hops || at == HOPS)
        return at;
    struct hop *hop = &fits->hop[fits->hops++];
    size_t count =
        limits_of(limits, transfer->kind, transfer->from, transfer->to, transfer->axes, hop->limit);
    hop->transfer = transfer;
    hop->limits = 0;
    while (hop->limits < count && limits->item[hop->limit[hop->limits]].source == LIMIT_RUNS)
        hop->limits++;
    hop->apart = UINT64_C(1) << at;
    for (size_t i = 0; i < at; i++)
        if (!is_known(limits, hop, &fits->hop[i])) {
            hop->apart |= UINT64_C(1) << i;
            fits->hop[i].apart |= UINT64_C(1) << at;
        }
    return at;
}

static bool are_apart(const struct fits *fits, uint64_t hops, uint64_t others)
{
    for (; hops != 0; hops &= hops - 1)
        if ((fits->hop[__builtin_ctzll(hops)].apart & others) != 0)
            return true;
    return false;
}

void fits_find(const struct route_work *work, const struct path *const *path, size_t count,
               uint64_t *ret_fits)
{
    struct fits fits;          /* it is large: only fields in use are set */
    uint64_t hops[FITS_PATHS]; /* bits of those of each path; 0: it cannot be part of a split */
    fits.work = work;
    fits.hops = 0;
    for (size_t p = 0; p < count; p++) {
        const struct route_part *part = &path[p]->part;
        size_t last = 0;
        ret_fits[p] = hops[p] = 0;
        for (size_t i = 0; i < part->hop_count && last < HOPS; i++) {
            last = part->in_one_piece ? HOPS : hop_of(&fits, &part->hop[i]);
            hops[p] = last < HOPS ? hops[p] | UINT64_C(1) << last : 0;
        }
        for (size_t q = 0; q < p && hops[p] != 0; q++)
            if (hops[q] != 0 && !are_apart(&fits, hops[p], hops[q]))
                ret_fits[q] |= UINT64_C(1) << p;
    }
}
