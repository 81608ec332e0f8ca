#include "load_share.h"

#include <math.h>
#include <stdlib.h>

#define SAME  1e-9 /* what differs by less, relatively, is the same */
#define LEAST 1e-3 /* bytes per second: nothing stands still */

/* A limit while streams run. */
struct state {
    double left;   /* of its capacity, for those that may still grow */
    double sum;    /* of what its users have alone; bytes, for load_share_least_ns */
    double fastest;
    unsigned users, growing, kinds;
    bool binds;
};

/* A stream that is limited by something. */
struct active {
    struct load_stream *stream;
    const uint16_t *use; /* of what it uses, what binds */
    unsigned use_count;
    double left, rate;
    double left_s; /* at that rate */
    bool is_fixed;
};

/* fmin and fmax of numbers, which are calls: most of a run's time else. */
static double less(double a, double b) { return b < a ? b : a; }
static double more(double a, double b) { return b > a ? b : a; }

struct load_share {
    struct state *state;    /* by limit; all zero between runs */
    uint16_t *touched;      /* limits that any stream uses; those that bind come first */
    size_t touched_count, binding_count;
    struct active *active;
    size_t active_count;
    uint16_t *use;          /* what the active ones use */
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
    if (share->state != NULL && share->touched != NULL && share->active != NULL && share->use != NULL)
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
    free(share);
}

static double capacity_of(const struct load_limit *limit, unsigned users)
{
    double capacity = INFINITY;
    for (size_t i = 0; i < limit->step_count && limit->step[i].flows <= users; i++)
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

static bool is_exempt(const struct load_limit *limit, unsigned kinds) { return (kinds & (kinds - 1)) == 0 && (kinds & limit->apart) != 0; }

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
        state->binds = !is_exempt(&limits[at], state->kinds) && state->sum > least_capacity(&limits[at], state->users) * (1 + SAME);
        if (!state->binds)
            continue;
        share->touched[i] = share->touched[share->binding_count];
        share->touched[share->binding_count++] = at;
    }
}

static void begin(struct load_share *share, const struct load_limit *limits, struct load_stream *streams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        streams[i].shared = LOAD_NO_LIMIT;
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

/* Water rises in all streams alike; each is fixed where it, or a limit of its, is full. */
static void find_rates(struct load_share *share, const struct load_limit *limits)
{
    for (size_t i = 0; i < share->binding_count; i++) {
        struct state *state = &share->state[share->touched[i]];
        state->growing = state->users;
        state->left = capacity_of(&limits[share->touched[i]], state->users);
    }
    for (size_t i = 0; i < share->active_count; i++)
        share->active[i].is_fixed = false;
    for (size_t left = share->active_count; left > 0;) {
        double level = INFINITY;
        size_t before = left;
        for (size_t i = 0; i < share->binding_count; i++)
            level = less(level, level_of(&share->state[share->touched[i]]));
        double full = level * (1 + SAME);
        for (size_t i = 0; i < share->active_count; i++) {
            struct active *active = &share->active[i];
            if (active->is_fixed || active->stream->bytes_per_s > level)
                continue;
            fix(share, active, active->stream->bytes_per_s);
            left--;
        }
        for (size_t i = 0; i < share->active_count && left == before; i++) {
            struct active *active = &share->active[i];
            for (unsigned u = 0; u < active->use_count && !active->is_fixed; u++) {
                const struct state *state = &share->state[active->use[u]]; /* in which this stream, at least, grows */
                if (state->left > full * state->growing)
                    continue;
                active->stream->shared = active->use[u];
                fix(share, active, more(level, LEAST));
            }
        }
        if (left == before) {
            left = 0;
            for (size_t i = 0; i < share->active_count; i++)
                left += !share->active[i].is_fixed;
        }
    }
}

/* From now to the next end. */
static void advance(struct load_share *share, double *now_s)
{
    double next_s = INFINITY;
    size_t kept = 0;
    for (size_t i = 0; i < share->active_count; i++) {
        share->active[i].left_s = share->active[i].left / share->active[i].rate;
        next_s = less(next_s, share->active[i].left_s);
    }
    for (size_t i = 0; i < share->active_count; i++) {
        struct active *active = &share->active[i];
        if (active->left_s <= next_s * (1 + SAME)) {
            active->stream->end_ns = active->stream->start_ns + (*now_s + active->left_s) * 1e9;
            for (unsigned u = 0; u < active->use_count; u++)
                share->state[active->use[u]].users--;
            continue;
        }
        active->left -= active->rate * next_s;
        share->active[kept++] = *active;
    }
    share->active_count = kept;
    *now_s += next_s;
}

void load_share_run(struct load_share *share, const struct load_limit *limits, struct load_stream *streams, size_t count)
{
    double now_s = 0;
    begin(share, limits, streams, count);
    while (share->active_count > 0) {
        find_rates(share, limits);
        advance(share, &now_s);
    }
    forget(share);
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
        if (is_exempt(limit, state->kinds) || limit->step_count == 0)
            continue;
        double highest = (limit->step[0].flows - 1) * state->fastest; /* so many are not limited */
        for (size_t s = 0; s < limit->step_count && limit->step[s].flows <= state->users; s++)
            highest = fmax(highest, limit->step[s].bytes_per_s);
        most_s = highest > 0 ? fmax(most_s, state->sum / highest) : most_s;
    }
    forget(share);
    return most_s * 1e9;
}
