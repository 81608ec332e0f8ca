#include "load_share.h"

#include <math.h>
#include <stdlib.h>

#define SAME  1e-9 /* what differs by less, relatively, is the same */
#define LEAST 1e-3 /* bytes per second: nothing stands still */

/* Of more streams those that end soon after each other end at the rates that they have now: what one leaves is given to the others a little later, by so many parts of the time at most. */
#define MANY       256
#define MANY_STEPS 64

/* A limit while streams run. */
struct state {
    double left;   /* of its capacity, for those that may still grow */
    double sum;    /* of what its users have alone; bytes, for load_share_least_ns */
    double fastest;
    unsigned users, growing, kinds, free; /* free: up to so many users are not limited */
    bool binds;
    uint16_t with; /* another that binds, which a stream uses as well as this one, or one that leads there; itself: the crowd's first */
    uint16_t crowd; /* of the crowd's first: its number, from 1 on */
};

/* A stream that is limited by something. */
struct active {
    struct load_stream *stream;
    const uint16_t *use; /* of what it uses, what binds */
    unsigned use_count;
    double left, rate;
    double left_s; /* at that rate */
    uint32_t grows; /* of the crowd's first so many streams: the place of each that is not fixed, ascending */
    bool is_fixed;
};

/* fmin and fmax of numbers, which are calls: most of a run's time else. */
static double less(double a, double b) { return b < a ? b : a; }
static double more(double a, double b) { return b > a ? b : a; }

/* Streams that share limits, directly or through others, and those limits: no other stream's end changes their rates. */
struct crowd {
    struct active *active;
    size_t active_count;
    struct active *waiting; /* behind them: those that have not begun, the next first */
    size_t waiting_count;
    uint16_t *limit;
    size_t limit_count;
};

struct load_share {
    struct state *state;    /* by limit; all zero between runs */
    uint16_t *touched;      /* limits that any stream uses; those that bind come first */
    size_t touched_count, binding_count;
    struct active *active;
    size_t active_count;
    uint16_t *use;          /* what the active ones use */
    struct active *by_crowd; /* the same, one crowd's after the other's */
    uint16_t *limit_by_crowd;
    struct crowd *crowd;
    const struct load_seen *known;
    size_t known_count;
    enum load_share_order order;
};

struct load_share *load_share_new(size_t limits, size_t streams, size_t uses)
{
    struct load_share *share = calloc(1, sizeof *share);
    if (share == NULL)
        return NULL;
    share->state = calloc(limits + 1, sizeof *share->state);
    share->touched = calloc(limits + 1, sizeof *share->touched);
    share->active = calloc(streams + 1, sizeof *share->active);
    share->use = calloc(streams * uses + 1, sizeof *share->use);
    share->by_crowd = calloc(streams + 1, sizeof *share->by_crowd);
    share->limit_by_crowd = calloc(limits + 1, sizeof *share->limit_by_crowd);
    share->crowd = calloc(limits + 1, sizeof *share->crowd);
    if (share->by_crowd != NULL && share->limit_by_crowd != NULL && share->crowd != NULL && share->state != NULL && share->touched != NULL && share->active != NULL && share->use != NULL)
        return share;
    load_share_free(share);
    return NULL;
}

void load_share_free(struct load_share *share)
{
    if (share == NULL)
        return;
    free(share->state);
    free(share->touched);
    free(share->active);
    free(share->use);
    free(share->by_crowd);
    free(share->limit_by_crowd);
    free(share->crowd);
    free(share);
}

static double capacity_of(const struct load_limit *limit, unsigned users, unsigned free)
{
    double capacity = INFINITY;
    for (size_t i = 0; users > free && i < limit->step_count && limit->step[i].flows <= users; i++)
        capacity = limit->step[i].bytes_per_s;
    return capacity;
}

/* The least that so many users, or fewer, ever have to share. */
static double least_capacity(const struct load_limit *limit, unsigned users)
{
    double least = INFINITY;
    for (size_t i = 0; i < limit->step_count && limit->step[i].flows <= users; i++)
        least = less(least, limit->step[i].bytes_per_s);
    return least;
}

/* What is shared by one kind alone limits no more of it than were measured together. */
static unsigned free_of(const struct load_limit *limit, unsigned kinds)
{
    return limit->apart != NULL && kinds != 0 && (kinds & (kinds - 1)) == 0 ? limit->apart[__builtin_ctz(kinds)] : 0;
}

static void touch(struct load_share *share, const struct load_stream *stream, double amount)
{
    for (unsigned u = 0; u < stream->use_count; u++) {
        struct state *state = &share->state[stream->use[u]];
        if (state->users++ == 0)
            share->touched[share->touched_count++] = stream->use[u];
        state->sum += amount;
        state->fastest = more(state->fastest, stream->bytes_per_s);
        state->kinds |= stream->kind;
    }
}

static void forget(struct load_share *share)
{
    for (size_t i = 0; i < share->touched_count; i++)
        share->state[share->touched[i]] = (struct state){0};
    share->touched_count = share->binding_count = share->active_count = 0;
}

/* Limits that cannot slow anybody are left out from here on: whenever a stream ends they are less full. */
static void find_binding(struct load_share *share, const struct load_limit *limits)
{
    for (size_t i = 0; i < share->touched_count; i++) {
        uint16_t at = share->touched[i];
        struct state *state = &share->state[at];
        state->free = free_of(&limits[at], state->kinds);
        state->binds = state->users > state->free && state->sum > least_capacity(&limits[at], state->users) * (1 + SAME);
        if (!state->binds)
            continue;
        share->touched[i] = share->touched[share->binding_count];
        share->touched[share->binding_count++] = at;
        state->with = at;
    }
}

static void begin(struct load_share *share, const struct load_limit *limits, struct load_stream *streams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        streams[i].shared = LOAD_NO_LIMIT;
        streams[i].known_bytes_per_s = 0;
        streams[i].seen = NULL;
        streams[i].end_ns = streams[i].start_ns + streams[i].bytes / streams[i].bytes_per_s * 1e9;
        if (streams[i].bytes > 0)
            touch(share, &streams[i], streams[i].bytes_per_s);
    }
    find_binding(share, limits);
    if (share->binding_count == 0)
        return;
    uint16_t *use = share->use;
    for (size_t i = 0; i < count; i++) {
        struct active *active = &share->active[share->active_count];
        *active = (struct active){.stream = &streams[i], .use = use, .left = streams[i].bytes};
        for (unsigned u = 0; u < streams[i].use_count && streams[i].bytes > 0; u++)
            if (share->state[streams[i].use[u]].binds)
                use[active->use_count++] = streams[i].use[u];
        use += active->use_count;
        share->active_count += active->use_count > 0;
    }
}

static void fix(struct load_share *share, struct active *active, double rate)
{
    active->rate = rate;
    active->is_fixed = true;
    for (unsigned u = 0; u < active->use_count; u++) {
        struct state *state = &share->state[active->use[u]];
        state->left = more(0, state->left - rate);
        state->growing--;
    }
}

static double level_of(const struct state *state) { return state->growing > 0 ? state->left / state->growing : INFINITY; }

/* Each takes what those before it leave. */
static size_t find_rates_in_turn(struct load_share *share, struct crowd *crowd, const struct load_limit *limits)
{
    for (size_t i = 0; i < crowd->limit_count; i++) {
        struct state *state = &share->state[crowd->limit[i]];
        state->left = capacity_of(&limits[crowd->limit[i]], state->users, state->free);
    }
    for (size_t i = 0; i < crowd->active_count; i++) {
        struct active *active = &crowd->active[share->order == LOAD_SHARE_FIRST ? i : crowd->active_count - 1 - i];
        active->rate = active->stream->bytes_per_s;
        for (unsigned u = 0; u < active->use_count; u++) {
            if (share->state[active->use[u]].left >= active->rate)
                continue;
            active->rate = more(share->state[active->use[u]].left, LEAST);
            active->stream->shared = active->use[u];
        }
        for (unsigned u = 0; u < active->use_count; u++)
            share->state[active->use[u]].left = more(0, share->state[active->use[u]].left - active->rate);
    }
    return crowd->active_count;
}

/* Water rises in all streams alike; each is fixed where it, or a limit of its, is full. */
static size_t find_rates(struct load_share *share, struct crowd *crowd, const struct load_limit *limits)
{
    for (size_t i = 0; i < crowd->limit_count; i++) {
        struct state *state = &share->state[crowd->limit[i]];
        state->growing = state->users;
        state->left = capacity_of(&limits[crowd->limit[i]], state->users, state->free);
    }
    for (size_t i = 0; i < crowd->active_count; i++) {
        crowd->active[i].is_fixed = false;
        crowd->active[i].grows = (uint32_t)i;
    }
    size_t looked = 0;
    for (size_t left = crowd->active_count; left > 0;) {
        double level = INFINITY;
        bool is_any_fixed = false;
        looked += left;
        for (size_t i = 0; i < crowd->limit_count; i++)
            level = less(level, level_of(&share->state[crowd->limit[i]]));
        double full = level * (1 + SAME);
        for (size_t g = 0; g < left; g++) {
            struct active *active = &crowd->active[crowd->active[g].grows];
            if (active->stream->bytes_per_s > level)
                continue;
            fix(share, active, active->stream->bytes_per_s);
            is_any_fixed = true;
        }
        for (size_t g = 0; g < left && !is_any_fixed; g++) {
            struct active *active = &crowd->active[crowd->active[g].grows];
            for (unsigned u = 0; u < active->use_count && !active->is_fixed; u++) {
                const struct state *state = &share->state[active->use[u]]; /* in which this stream, at least, grows */
                if (state->left > full * state->growing)
                    continue;
                active->stream->shared = active->use[u];
                fix(share, active, more(level, LEAST));
            }
        }
        size_t kept = 0;
        for (size_t g = 0; g < left; g++)
            if (!crowd->active[crowd->active[g].grows].is_fixed)
                crowd->active[kept++].grows = crowd->active[g].grows;
        left = kept;
    }
    return looked;
}

static int compare_begin(const void *a, const void *b)
{
    const struct load_stream *x = ((const struct active *)a)->stream, *y = ((const struct active *)b)->stream;
    return x->begin_ns != y->begin_ns ? (x->begin_ns < y->begin_ns ? -1 : 1) : (x > y) - (x < y);
}

/* Those that have begun by then take part. */
static void admit(struct load_share *share, struct crowd *crowd, double now_s)
{
    for (; crowd->waiting_count > 0 && crowd->waiting->stream->begin_ns <= now_s * 1e9 * (1 + SAME); crowd->waiting++, crowd->waiting_count--) {
        for (unsigned u = 0; u < crowd->waiting->use_count; u++)
            share->state[crowd->waiting->use[u]].users++;
        crowd->active[crowd->active_count++] = *crowd->waiting;
    }
}

/* Lets those wait that begin later than the first, which begin then. */
static double part(struct load_share *share, struct crowd *crowd)
{
    double first_ns = INFINITY, last_ns = 0;
    for (size_t i = 0; i < crowd->active_count; i++) {
        first_ns = less(first_ns, crowd->active[i].stream->begin_ns);
        last_ns = more(last_ns, crowd->active[i].stream->begin_ns);
    }
    crowd->waiting_count = 0;
    if (last_ns > first_ns) {
        qsort(crowd->active, crowd->active_count, sizeof *crowd->active, compare_begin);
        for (size_t i = 0; i < crowd->active_count; i++)
            for (unsigned u = 0; u < crowd->active[i].use_count; u++)
                share->state[crowd->active[i].use[u]].users--;
        crowd->waiting = crowd->active;
        crowd->waiting_count = crowd->active_count;
        crowd->active_count = 0;
        admit(share, crowd, first_ns / 1e9);
    }
    return first_ns / 1e9;
}

/* From now to the next end, or to when the next begins; of many, to the next few. */
static void advance(struct load_share *share, struct crowd *crowd, double *now_s)
{
    double next_s = INFINITY, last_s = 0;
    size_t kept = 0;
    for (size_t i = 0; i < crowd->active_count; i++) {
        crowd->active[i].left_s = crowd->active[i].left / crowd->active[i].rate;
        next_s = less(next_s, crowd->active[i].left_s);
        last_s = more(last_s, crowd->active[i].left_s);
    }
    if (crowd->active_count > MANY)
        next_s = more(next_s, last_s / MANY_STEPS);
    else if (crowd->waiting_count > 0)
        next_s = less(next_s, more(crowd->waiting->stream->begin_ns / 1e9 - *now_s, 0));
    for (size_t i = 0; i < crowd->active_count; i++) {
        struct active *active = &crowd->active[i];
        if (active->left_s <= next_s * (1 + SAME)) {
            active->stream->end_ns = active->stream->start_ns - active->stream->begin_ns + (*now_s + active->left_s) * 1e9;
            for (unsigned u = 0; u < active->use_count; u++)
                share->state[active->use[u]].users--;
            continue;
        }
        active->left -= active->rate * next_s;
        crowd->active[kept++] = *active;
    }
    crowd->active_count = kept;
    *now_s += next_s;
    if (kept == 0 && crowd->waiting_count > 0)
        *now_s = more(*now_s, crowd->waiting->stream->begin_ns / 1e9);
    admit(share, crowd, *now_s);
}

/* ---- crowds ---- */

static uint16_t first_of(struct load_share *share, uint16_t limit)
{
    while (share->state[limit].with != limit)
        limit = share->state[limit].with = share->state[share->state[limit].with].with;
    return limit;
}

static size_t number_of(struct load_share *share, uint16_t limit) { return share->state[first_of(share, limit)].crowd - 1U; }

/* Which streams and limits belong together; how many such crowds there are. */
static size_t find_crowds(struct load_share *share)
{
    size_t count = 0, streams = 0, limits = 0;
    for (size_t i = 0; i < share->active_count; i++)
        for (unsigned u = 1; u < share->active[i].use_count; u++)
            share->state[first_of(share, share->active[i].use[u])].with = first_of(share, share->active[i].use[0]);
    for (size_t i = 0; i < share->binding_count; i++) {
        struct state *first = &share->state[first_of(share, share->touched[i])];
        if (first->crowd == 0) {
            share->crowd[count] = (struct crowd){0};
            first->crowd = (uint16_t)++count;
        }
        share->crowd[first->crowd - 1U].limit_count++;
    }
    for (size_t i = 0; i < share->active_count; i++)
        share->crowd[number_of(share, share->active[i].use[0])].active_count++;
    for (size_t c = 0; c < count; c++) {
        struct crowd *crowd = &share->crowd[c];
        crowd->active = share->by_crowd + streams;
        crowd->limit = share->limit_by_crowd + limits;
        streams += crowd->active_count;
        limits += crowd->limit_count;
        crowd->active_count = crowd->limit_count = 0;
    }
    for (size_t i = 0; i < share->binding_count; i++) {
        struct crowd *crowd = &share->crowd[number_of(share, share->touched[i])];
        crowd->limit[crowd->limit_count++] = share->touched[i];
    }
    for (size_t i = 0; i < share->active_count; i++) {
        struct crowd *crowd = &share->crowd[number_of(share, share->active[i].use[0])];
        crowd->active[crowd->active_count++] = share->active[i];
    }
    return count;
}

/* ---- what was measured together ---- */

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

/* Sets the rate of each to what it got together with the others; when it does, ret_bytes is the least bytes of one. NULL: not known. */
static const struct load_seen *find_known(const struct load_share *share, const struct crowd *crowd, double *ret_bytes)
{
    for (size_t k = 0; k < share->known_count; k++) {
        const struct load_seen *known = &share->known[k];
        double least = INFINITY;
        if (known->count != crowd->active_count || !is_known(known, crowd))
            continue;
        for (size_t i = 0; i < crowd->active_count; i++) {
            struct load_stream *stream = crowd->active[i].stream;
            stream->known_bytes_per_s = known->bytes_per_s[find_who(known, stream->who)];
            least = less(least, stream->bytes);
        }
        *ret_bytes = least;
        return known;
    }
    return NULL;
}

/* As many bytes as the least of them has go no faster than was measured. */
static void end_no_sooner(struct load_stream *stream, const struct load_seen *known, double bytes)
{
    double soonest_ns = stream->start_ns + (less(bytes, stream->bytes) / less(stream->known_bytes_per_s, stream->bytes_per_s) + more(stream->bytes - bytes, 0) / stream->bytes_per_s) * 1e9;
    stream->seen = soonest_ns > stream->end_ns ? known : NULL;
    stream->end_ns = more(stream->end_ns, soonest_ns);
}

void load_share_set_seen(struct load_share *share, const struct load_seen *known, size_t count)
{
    share->known = known;
    share->known_count = count;
}

void load_share_set_order(struct load_share *share, enum load_share_order order) { share->order = order; }

size_t load_share_run(struct load_share *share, const struct load_limit *limits, struct load_stream *streams, size_t count)
{
    size_t looked = count;
    begin(share, limits, streams, count);
    size_t crowds = find_crowds(share);
    for (size_t c = 0; c < crowds; c++) {
        struct crowd *crowd = &share->crowd[c];
        double known_bytes = 0;
        const struct load_seen *known = share->known_count > 0 ? find_known(share, crowd, &known_bytes) : NULL;
        double now_s = part(share, crowd);
        while (crowd->active_count > 0) {
            looked += share->order == LOAD_SHARE_FAIR ? find_rates(share, crowd, limits) : find_rates_in_turn(share, crowd, limits);
            advance(share, crowd, &now_s);
        }
        for (size_t i = 0; i < count && known != NULL; i++)
            if (streams[i].known_bytes_per_s > 0)
                end_no_sooner(&streams[i], known, known_bytes);
        for (size_t i = 0; i < count && known != NULL; i++)
            streams[i].known_bytes_per_s = 0;
    }
    forget(share);
    return looked;
}

double load_share_least_ns(struct load_share *share, const struct load_limit *limits, const struct load_stream *streams, size_t count)
{
    double most_s = 0;
    for (size_t i = 0; i < count; i++)
        if (streams[i].bytes > 0)
            touch(share, &streams[i], streams[i].bytes);
    for (size_t i = 0; i < share->touched_count; i++) {
        const struct load_limit *limit = &limits[share->touched[i]];
        const struct state *state = &share->state[share->touched[i]];
        unsigned free = free_of(limit, state->kinds);
        if (limit->step_count == 0 || state->users <= free)
            continue;
        double highest = more(limit->step[0].flows - 1, free) * state->fastest; /* so many are not limited */
        for (size_t s = 0; s < limit->step_count && limit->step[s].flows <= state->users; s++)
            highest = fmax(highest, limit->step[s].bytes_per_s);
        most_s = highest > 0 ? fmax(most_s, state->sum / highest) : most_s;
    }
    forget(share);
    return most_s * 1e9;
}
