#include "search/alike.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N         SEARCH_EXACT_SLOTS
#define LOOKS_MAX 4096

/* Who uses a resource: of each kind, from which slot to which, a bit for each pair. */
struct users {
    uint64_t hash;
    const uint64_t *pairs; /* by kind */
    const double *ns;      /* by kind */
    uint16_t sort;
};

struct work {
    const struct search_problem *problem;
    /* by slot and slot: pairs with the same number are alike in all that there is between them */
    uint16_t same[N * N];
    struct users *user; /* ascending by hash */
    uint64_t *pairs;
    double *ns;
    unsigned char to[N];
    uint64_t *image; /* by kind */
    struct search_alike found;
    unsigned looks;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t hash_of(const uint64_t *pairs, size_t kinds, uint16_t sort)
{
    uint64_t hash = mix(sort + 1U);
    for (size_t k = 0; k < kinds; k++)
        hash = mix(hash ^ pairs[k]);
    return hash;
}

static int compare_users(const void *a, const void *b)
{
    uint64_t x = ((const struct users *)a)->hash, y = ((const struct users *)b)->hash;
    return (x > y) - (x < y);
}

static bool is_same(double a, double b)
{
    return a == b || fabs(a - b) <= SEARCH_SAME * fmax(fabs(a), fabs(b));
}

static uint16_t room_of(const struct search_problem *problem, size_t slot)
{
    return problem->unit[slot] != SEARCH_ANYWHERE ? problem->most[problem->unit[slot]]
                                                  : SEARCH_ANYWHERE;
}

/* In one unit as they are, with as much room. */
static bool fits_units(const struct search_problem *problem, size_t i, size_t j, size_t a, size_t b)
{
    if (problem->most == NULL)
        return true;
    return (problem->unit[i] == problem->unit[j]) == (problem->unit[a] == problem->unit[b]) &&
           room_of(problem, i) == room_of(problem, a) && room_of(problem, j) == room_of(problem, b);
}

/* Slots i and j, to which others are given, as those others. */
static bool fits_pair(const struct search_problem *problem, size_t i, size_t j, size_t a, size_t b)
{
    size_t n = problem->slots;
    if (!is_same(problem->apart[i * n + j], problem->apart[a * n + b]) ||
        !fits_units(problem, i, j, a, b))
        return false;
    if (problem->meet != NULL && !is_same(problem->meet[i * n + j], problem->meet[a * n + b]))
        return false;
    for (size_t k = 0; k < problem->kinds; k++) {
        const struct search_arc *x = &problem->arc[(k * n + i) * n + j],
                                *y = &problem->arc[(k * n + a) * n + b];
        if (!is_same(x->alone_ns, y->alone_ns) || !is_same(x->launch_ns, y->launch_ns) ||
            x->use_count != y->use_count)
            return false;
    }
    return true;
}

/* Each pair has the number of the first that it is like. */
static void number_pairs(struct work *work)
{
    size_t n = work->problem->slots, first[N * N], count = 0;
    for (size_t pair = 0; pair < n * n; pair++) {
        size_t f = 0;
        while (f < count &&
               !fits_pair(work->problem, first[f] / n, first[f] % n, pair / n, pair % n))
            f++;
        if (f == count)
            first[count++] = pair;
        work->same[pair / n * N + pair % n] = (uint16_t)f;
    }
}

static bool fits(const struct work *work, size_t slot)
{
    const struct search_problem *problem = work->problem;
    if (!is_same(problem->far[slot], problem->far[work->to[slot]]))
        return false;
    for (size_t other = 0; other <= slot; other++)
        if (work->same[slot * N + other] != work->same[work->to[slot] * N + work->to[other]] ||
            work->same[other * N + slot] != work->same[work->to[other] * N + work->to[slot]])
            return false;
    return true;
}

static bool is_user(const struct work *work, const struct users *user)
{
    size_t kinds = work->problem->kinds;
    struct users key = {.hash = hash_of(work->image, kinds, user->sort)};
    const struct users *end = work->user + work->problem->resources;
    const struct users *at =
        bsearch(&key, work->user, work->problem->resources, sizeof key, compare_users);
    while (at != NULL && at > work->user && at[-1].hash == key.hash)
        at--;
    for (; at != NULL && at < end && at->hash == key.hash; at++) {
        bool is_it = at->sort == user->sort;
        for (size_t k = 0; k < kinds && is_it; k++)
            is_it = at->pairs[k] == work->image[k] && is_same(at->ns[k], user->ns[k]);
        if (is_it)
            return true;
    }
    return false;
}

/* Every resource becomes one that is as good. */
static bool keeps_resources(const struct work *work)
{
    for (size_t r = 0; r < work->problem->resources; r++) {
        for (size_t k = 0; k < work->problem->kinds; k++) {
            uint64_t image = 0;
            for (uint64_t left = work->user[r].pairs[k]; left != 0; left &= left - 1) {
                int pair = __builtin_ctzll(left);
                image |= UINT64_C(1) << (work->to[pair / N] * N + work->to[pair % N]);
            }
            work->image[k] = image;
        }
        if (!is_user(work, &work->user[r]))
            return false;
    }
    return true;
}

static void take(struct work *work)
{
    if (work->found.count == ALIKE_MAX || !keeps_resources(work))
        return;
    uint64_t bit = UINT64_C(1) << work->found.count++;
    for (size_t s = 0; s < work->problem->slots; s++) {
        work->found.lowers[s] |= work->to[s] < s ? bit : 0;
        work->found.keeps[s] |= work->to[s] == s ? bit : 0;
    }
}

/* Two slots change places. */
static void look_at_pairs(struct work *work)
{
    size_t n = work->problem->slots;
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            bool ok = true;
            for (size_t s = 0; s < n; s++)
                work->to[s] = (unsigned char)(s == a ? b : s == b ? a : s);
            for (size_t s = 0; s < n && ok; s++)
                ok = fits(work, s);
            if (ok)
                take(work);
        }
}

static void look_at_all(struct work *work, size_t slot, unsigned used)
{
    size_t n = work->problem->slots, moved = 0;
    if (work->found.count == ALIKE_MAX || work->looks++ > LOOKS_MAX)
        return;
    if (slot < n) {
        for (size_t to = 0; to < n; to++) {
            work->to[slot] = (unsigned char)to;
            if (!(used & 1U << to) && fits(work, slot))
                look_at_all(work, slot + 1, used | 1U << to);
        }
        return;
    }
    for (size_t s = 0; s < n; s++)
        moved += work->to[s] != s;
    if (moved > 2) /* else nothing moves, or it was looked at */
        take(work);
}

/* False where a resource does not cost all flows of a kind the same: such are taken for different.
 */
static bool find_users(struct work *work)
{
    const struct search_problem *problem = work->problem;
    size_t n = problem->slots, kinds = problem->kinds;
    for (size_t k = 0; k < kinds; k++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                const struct search_arc *arc = &problem->arc[(k * n + i) * n + j];
                for (uint32_t u = 0; u < arc->use_count; u++) {
                    const struct search_use *use = &problem->use[arc->use + u];
                    uint64_t *pairs = &work->pairs[use->resource * kinds + k];
                    double *ns = &work->ns[use->resource * kinds + k];
                    if (*pairs != 0 && !is_same(*ns, use->ns))
                        return false;
                    *pairs |= UINT64_C(1) << (i * N + j);
                    *ns = use->ns;
                }
            }
    for (size_t r = 0; r < problem->resources; r++) {
        struct users *user = &work->user[r];
        *user = (struct users){
            .pairs = work->pairs + r * kinds, .ns = work->ns + r * kinds, .sort = problem->sort[r]};
        user->hash = hash_of(user->pairs, kinds, user->sort);
    }
    if (problem->resources > 0)
        qsort(work->user, problem->resources, sizeof *work->user, compare_users);
    return true;
}

bool plan_search_alike(const struct search_problem *problem, struct search_alike *ret)
{
    size_t cells = problem->resources * problem->kinds + 1;
    struct work work = {.problem = problem};
    work.user = calloc(problem->resources + 1, sizeof *work.user);
    work.pairs = calloc(cells, sizeof *work.pairs);
    work.ns = calloc(cells, sizeof *work.ns);
    work.image = calloc(problem->kinds + 1, sizeof *work.image);
    bool ok = work.user != NULL && work.pairs != NULL && work.ns != NULL && work.image != NULL;
    if (ok && problem->slots <= N && find_users(&work)) {
        number_pairs(&work);
        look_at_pairs(&work);
        look_at_all(&work, 0, 0);
    }
    free(work.user);
    free(work.pairs);
    free(work.ns);
    free(work.image);
    if (ok)
        *ret = work.found;
    return ok;
}
