#include "sim/share_inner.h"

#include <stdlib.h>

#include "sim/queue.h"

#define SAME  1e-9 /* what differs by less, relatively, is the same */
#define LEAST 1e-3 /* bytes per second: nothing stands still */

/* Of more streams those that end soon after each other end at the rates that they have now: what
 * one leaves is given to the others a little later, by so many parts of the time at most. */
#define MANY       256
#define MANY_STEPS 64

struct load_share *load_share_new(size_t limits, size_t streams, size_t uses, size_t whos)
{
    struct load_share *share = calloc(1, sizeof *share);
    if (share == NULL)
        return NULL;
    share->head = calloc(whos + 1, sizeof *share->head);
    share->state = calloc(limits + 1, sizeof *share->state);
    share->touched = calloc(limits + 1, sizeof *share->touched);
    share->active = calloc(streams + 1, sizeof *share->active);
    share->use = calloc(streams * uses + 1, sizeof *share->use);
    share->by_crowd = calloc(streams + 1, sizeof *share->by_crowd);
    share->going = calloc(streams + 1, sizeof *share->going);
    share->by_rate = calloc(streams + 1, sizeof *share->by_rate);
    share->user = calloc(streams * uses + 1, sizeof *share->user);
    share->limit_by_crowd = calloc(limits + 1, sizeof *share->limit_by_crowd);
    share->crowd = calloc(limits + 1, sizeof *share->crowd);
    if (share->head != NULL && share->by_crowd != NULL && share->going != NULL &&
        share->by_rate != NULL && share->user != NULL && share->limit_by_crowd != NULL &&
        share->crowd != NULL && share->state != NULL && share->touched != NULL &&
        share->active != NULL && share->use != NULL)
        return share;
    load_share_free(share);
    return NULL;
}

void load_share_free(struct load_share *share)
{
    if (share == NULL)
        return;
    free(share->head);
    free(share->state);
    free(share->touched);
    free(share->active);
    free(share->use);
    free(share->by_crowd);
    free(share->going);
    free(share->by_rate);
    free(share->user);
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
    return limit->apart != NULL && kinds != 0 && (kinds & (kinds - 1)) == 0
               ? limit->apart[__builtin_ctz(kinds)]
               : 0;
}

/* amount: of its bytes, or of what it has alone, which is bytes_per_s. */
static void touch(struct load_share *share, const struct load_stream *stream, double amount,
                  double bytes_per_s)
{
    for (unsigned u = 0; u < stream->use_count; u++) {
        struct state *state = &share->state[stream->use[u]];
        if (state->users++ == 0)
            share->touched[share->touched_count++] = stream->use[u];
        state->sum += amount;
        state->fastest = more(state->fastest, bytes_per_s);
        state->kinds |= stream->kind;
    }
}

static void forget(struct load_share *share)
{
    for (size_t i = 0; i < share->touched_count; i++)
        share->state[share->touched[i]] = (struct state){0};
    share->touched_count = share->binding_count = share->active_count = 0;
}

/* Limits that cannot slow anybody are left out from here on: whenever a stream ends they are less
 * full. */
static void find_binding(struct load_share *share, const struct load_limit *limits)
{
    for (size_t i = 0; i < share->touched_count; i++) {
        uint16_t at = share->touched[i];
        struct state *state = &share->state[at];
        state->free = free_of(&limits[at], state->kinds);
        state->binds = state->users > state->free &&
                       state->sum > least_capacity(&limits[at], state->users) * (1 + SAME);
        if (!state->binds)
            continue;
        share->touched[i] = share->touched[share->binding_count];
        share->touched[share->binding_count++] = at;
        state->with = at;
    }
}

static void begin(struct load_share *share, const struct load_limit *limits,
                  struct load_stream *streams, size_t count)
{
    load_queue_make(streams, count, share->head);
    for (size_t i = 0; i < count; i++) {
        struct load_stream *stream = &streams[i];
        double fastest = stream->bytes_per_s;
        stream->shared = LOAD_NO_LIMIT;
        stream->known_bytes_per_s = 0;
        stream->seen = NULL;
        if (stream->is_behind)
            continue;
        stream->end_ns = stream->start_ns + stream->bytes / stream->bytes_per_s * 1e9;
        if (stream->behind != NULL) {
            fastest = load_queue_bytes_per_s(stream);
            load_queue_run(stream);
        }
        if (stream->bytes > 0)
            touch(share, stream, fastest, fastest);
    }
    find_binding(share, limits);
    if (share->binding_count == 0)
        return;
    uint16_t *use = share->use;
    for (size_t i = 0; i < count; i++) {
        struct active *active = &share->active[share->active_count];
        *active =
            (struct active){.stream = &streams[i],
                            .use = use,
                            .begin_ns = streams[i].behind != NULL ? load_queue_begin_ns(&streams[i])
                                                                  : streams[i].begin_ns,
                            .left = streams[i].part_bytes};
        for (unsigned u = 0;
             u < streams[i].use_count && streams[i].bytes > 0 && !streams[i].is_behind; u++)
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

/* Each takes what those before it leave. */
static size_t find_rates_in_turn(struct load_share *share, struct crowd *crowd,
                                 const struct load_limit *limits)
{
    for (size_t i = 0; i < crowd->limit_count; i++) {
        struct state *state = &share->state[crowd->limit[i]];
        state->left = capacity_of(&limits[crowd->limit[i]], state->users, state->free);
    }
    for (size_t i = 0; i < crowd->going_count; i++) {
        struct active *active =
            crowd->going[share->order == LOAD_SHARE_FIRST ? i : crowd->going_count - 1 - i];
        active->rate = active->stream->part_bytes_per_s;
        for (unsigned u = 0; u < active->use_count; u++) {
            if (share->state[active->use[u]].left >= active->rate)
                continue;
            active->rate = more(share->state[active->use[u]].left, LEAST);
            active->stream->shared = active->use[u];
        }
        for (unsigned u = 0; u < active->use_count; u++)
            share->state[active->use[u]].left =
                more(0, share->state[active->use[u]].left - active->rate);
    }
    return crowd->going_count;
}

/* What each growing stream has where the first limit is full; limits in which none grows any more
 * go behind the others. INFINITY: none is full ever. */
static double find_level(struct load_share *share, struct crowd *crowd, size_t *growing_limits)
{
    double left = INFINITY, growing = 1;
    size_t kept = 0;
    for (size_t i = 0; i < *growing_limits; i++) {
        uint16_t at = crowd->limit[i];
        const struct state *state = &share->state[at];
        if (state->growing == 0)
            continue;
        crowd->limit[i] = crowd->limit[kept];
        crowd->limit[kept++] = at;
        if (state->left * growing < left * state->growing) { /* which is less, without dividing */
            left = state->left;
            growing = state->growing;
        }
    }
    *growing_limits = kept;
    return left / growing;
}

/* Streams that use what is full at that level are fixed there; how many. */
static size_t fix_full(struct load_share *share, struct crowd *crowd, size_t growing_limits,
                       double level)
{
    double full = level * (1 + SAME);
    size_t fixed = 0;
    for (size_t i = 0; i < growing_limits; i++) {
        struct state *state = &share->state[crowd->limit[i]];
        state->is_full = state->left <= full * state->growing;
    }
    for (size_t i = 0; i < growing_limits; i++) {
        const struct state *state = &share->state[crowd->limit[i]];
        for (uint32_t k = 0; state->is_full && k < state->user_count; k++) {
            struct active *active = share->user[state->first_user + k];
            if (active->is_fixed)
                continue;
            unsigned u = 0;
            while (!share->state[active->use[u]].is_full)
                u++;
            active->stream->shared = active->use[u];
            fix(share, active, more(level, LEAST));
            fixed++;
        }
    }
    for (size_t i = 0; i < growing_limits; i++)
        share->state[crowd->limit[i]].is_full = false;
    return fixed;
}

/* Water rises in all streams alike; each is fixed where it, or a limit of its, is full. */
static size_t find_rates(struct load_share *share, struct crowd *crowd,
                         const struct load_limit *limits)
{
    for (size_t i = 0; i < crowd->limit_count; i++) {
        struct state *state = &share->state[crowd->limit[i]];
        state->growing = state->users;
        state->left = capacity_of(&limits[crowd->limit[i]], state->users, state->free);
    }
    for (size_t i = 0; i < crowd->going_count; i++)
        crowd->going[i]->is_fixed = false;
    size_t looked = 0, growing_limits = crowd->limit_count, next = 0;
    for (size_t left = crowd->going_count; left > 0;) {
        double level = find_level(share, crowd, &growing_limits);
        size_t before = left;
        looked += left;
        for (;
             next < crowd->active_count && crowd->by_rate[next]->stream->part_bytes_per_s <= level;
             next++) {
            if (crowd->by_rate[next]->is_fixed)
                continue;
            fix(share, crowd->by_rate[next], crowd->by_rate[next]->stream->part_bytes_per_s);
            left--;
        }
        if (left == before)
            left -= fix_full(share, crowd, growing_limits, level);
    }
    return looked;
}

static int compare_begin(const void *a, const void *b)
{
    const struct active *x = a, *y = b;
    return x->begin_ns != y->begin_ns ? (x->begin_ns < y->begin_ns ? -1 : 1)
                                      : (x->stream > y->stream) - (x->stream < y->stream);
}

static int compare_rate(const void *a, const void *b)
{
    const struct active *x = *(struct active *const *)a, *y = *(struct active *const *)b;
    return x->stream->part_bytes_per_s != y->stream->part_bytes_per_s
               ? (x->stream->part_bytes_per_s < y->stream->part_bytes_per_s ? -1 : 1)
               : (x > y) - (x < y);
}

static void order_by_rate(struct crowd *crowd)
{
    qsort(crowd->by_rate, crowd->active_count, sizeof *crowd->by_rate, compare_rate);
}

/* Those that have begun by then take part. */
static void admit(struct load_share *share, struct crowd *crowd, double now_s)
{
    for (; crowd->begun < crowd->active_count &&
           crowd->active[crowd->begun].begin_ns <= now_s * 1e9 * (1 + SAME);
         crowd->begun++) {
        struct active *active = &crowd->active[crowd->begun];
        for (unsigned u = 0; u < active->use_count; u++)
            share->state[active->use[u]].users++;
        crowd->going[crowd->going_count++] = active;
    }
}

/* Who uses each limit. */
static void list_users(struct load_share *share, struct crowd *crowd)
{
    uint32_t used = 0;
    for (size_t i = 0; i < crowd->limit_count; i++) {
        struct state *state = &share->state[crowd->limit[i]];
        state->first_user = used;
        used += state->users;
        state->user_count = state->users = 0; /* none has begun */
    }
    for (size_t i = 0; i < crowd->active_count; i++)
        for (unsigned u = 0; u < crowd->active[i].use_count; u++) {
            struct state *state = &share->state[crowd->active[i].use[u]];
            share->user[state->first_user + state->user_count++] = &crowd->active[i];
        }
}

/* Puts the streams in order, and lets go those that begin first; when they do. */
static double set_out(struct load_share *share, struct crowd *crowd)
{
    double first_ns = INFINITY, last_ns = 0;
    for (size_t i = 0; i < crowd->active_count; i++) {
        first_ns = less(first_ns, crowd->active[i].begin_ns);
        last_ns = more(last_ns, crowd->active[i].begin_ns);
    }
    if (last_ns > first_ns)
        qsort(crowd->active, crowd->active_count, sizeof *crowd->active, compare_begin);
    for (size_t i = 0; i < crowd->active_count; i++) {
        crowd->active[i].is_fixed = true;
        crowd->by_rate[i] = &crowd->active[i];
    }
    order_by_rate(crowd);
    list_users(share, crowd);
    admit(share, crowd, first_ns / 1e9);
    return first_ns / 1e9;
}

/* It has moved what was left of its part by end_s. Whether it moves more: of those behind it in its
 * queue the first that has not ended by then, too. */
static bool goes_on(struct active *active, double end_s, double then_s)
{
    for (;;) {
        struct load_stream *ended = active->stream, *next = ended->behind;
        load_queue_end(ended, end_s);
        if (next == NULL)
            return false;
        next->shared = ended->shared;
        active->stream = next;
        double rate = less(active->rate, next->part_bytes_per_s), takes_s = next->part_bytes / rate;
        if (end_s + takes_s > then_s * (1 + SAME)) {
            active->left = next->part_bytes - more(then_s - end_s, 0) * rate;
            return true;
        }
        end_s += takes_s;
    }
}

/* From now to the next end, or to when the next begins; of many, to the next few. */
static void advance(struct load_share *share, struct crowd *crowd, double *now_s)
{
    double next_s = INFINITY, last_s = 0;
    size_t kept = 0;
    bool is_in_order = true;
    for (size_t i = 0; i < crowd->going_count; i++) {
        crowd->going[i]->left_s = crowd->going[i]->left / crowd->going[i]->rate;
        next_s = less(next_s, crowd->going[i]->left_s);
        last_s = more(last_s, crowd->going[i]->left_s);
    }
    const struct active *next =
        crowd->begun < crowd->active_count ? &crowd->active[crowd->begun] : NULL;
    if (crowd->going_count > MANY)
        next_s = more(next_s, last_s / MANY_STEPS);
    else if (next != NULL)
        next_s = less(next_s, more(next->begin_ns / 1e9 - *now_s, 0));
    for (size_t i = 0; i < crowd->going_count; i++) {
        struct active *active = crowd->going[i];
        if (active->left_s <= next_s * (1 + SAME)) {
            double part_bytes_per_s = active->stream->part_bytes_per_s;
            if (goes_on(active, *now_s + active->left_s, *now_s + next_s)) {
                is_in_order = is_in_order && active->stream->part_bytes_per_s == part_bytes_per_s;
                crowd->going[kept++] = active;
                continue;
            }
            active->is_fixed = true;
            for (unsigned u = 0; u < active->use_count; u++)
                share->state[active->use[u]].users--;
            continue;
        }
        active->left -= active->rate * next_s;
        crowd->going[kept++] = active;
    }
    if (!is_in_order)
        order_by_rate(crowd);
    crowd->going_count = kept;
    *now_s += next_s;
    if (kept == 0 && next != NULL)
        *now_s = more(*now_s, next->begin_ns / 1e9);
    admit(share, crowd, *now_s);
}

void load_share_set_seen(struct load_share *share, const struct load_seen *known, size_t count)
{
    share->known = known;
    share->known_count = count;
}

void load_share_set_order(struct load_share *share, enum load_share_order order)
{
    share->order = order;
}

size_t load_share_run(struct load_share *share, const struct load_limit *limits,
                      struct load_stream *streams, size_t count)
{
    size_t looked = count;
    begin(share, limits, streams, count);
    size_t crowds = load_share_crowds(share);
    for (size_t c = 0; c < crowds; c++) {
        struct crowd *crowd = &share->crowd[c];
        double known_bytes = 0;
        const struct load_seen *known =
            share->known_count > 0 ? load_share_find_seen(share, crowd, &known_bytes) : NULL;
        double now_s = set_out(share, crowd);
        while (crowd->going_count > 0) {
            looked += share->order == LOAD_SHARE_FAIR ? find_rates(share, crowd, limits)
                                                      : find_rates_in_turn(share, crowd, limits);
            advance(share, crowd, &now_s);
        }
        for (size_t i = 0; i < count && known != NULL; i++)
            if (streams[i].known_bytes_per_s > 0)
                load_share_end_no_sooner(&streams[i], known, known_bytes);
        for (size_t i = 0; i < count && known != NULL; i++)
            streams[i].known_bytes_per_s = 0;
    }
    forget(share);
    return looked;
}

double load_share_least_ns(struct load_share *share, const struct load_limit *limits,
                           const struct load_stream *streams, size_t count)
{
    double most_s = 0;
    for (size_t i = 0; i < count; i++)
        if (streams[i].bytes > 0)
            touch(share, &streams[i], streams[i].bytes, streams[i].bytes_per_s);
    for (size_t i = 0; i < share->touched_count; i++) {
        const struct load_limit *limit = &limits[share->touched[i]];
        const struct state *state = &share->state[share->touched[i]];
        unsigned free = free_of(limit, state->kinds);
        if (limit->step_count == 0 || state->users <= free)
            continue;
        /* so many are not limited */
        double highest = more(limit->step[0].flows - 1, free) * state->fastest;
        for (size_t s = 0; s < limit->step_count && limit->step[s].flows <= state->users; s++)
            highest = fmax(highest, limit->step[s].bytes_per_s);
        most_s = highest > 0 ? fmax(most_s, state->sum / highest) : most_s;
    }
    forget(share);
    return most_s * 1e9;
}
