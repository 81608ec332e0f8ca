#include "search/symmetry.h"

#include <math.h>
#include <stdlib.h>

#define N             SEARCH_EXACT_SLOTS
#define RENAMINGS_MAX 64 /* of slots: fewer merge less and are as right */
#define LOOKS_MAX     4096
#define ANY           UINT8_MAX

/* Renamings of things that keep what is between each two of them. */
struct renaming {
    size_t n;
    const uint64_t *pair;                           /* by thing and thing */
    unsigned char want[SYMMETRY_TASKS];             /* by thing: what it becomes; ANY */
    unsigned char to[SYMMETRY_TASKS];               /* what it becomes in the one looked at */
    bool (*is_last)(void *, const unsigned char *); /* of one found: no others are wanted */
    void *context;
    unsigned looks;
};

static bool fits(const struct renaming *renaming, size_t i)
{
    size_t n = renaming->n, to = renaming->to[i];
    for (size_t j = 0; j <= i; j++)
        if (renaming->pair[i * n + j] != renaming->pair[to * n + renaming->to[j]] ||
            renaming->pair[j * n + i] != renaming->pair[renaming->to[j] * n + to])
            return false;
    return true;
}

/* Looks at all renamings of the things from next on; true where one was the last. */
static bool rename_all(struct renaming *renaming, size_t next, unsigned used)
{
    if (next == renaming->n)
        return renaming->is_last(renaming->context, renaming->to);
    for (size_t to = 0; to < renaming->n && renaming->looks < LOOKS_MAX; to++) {
        if (used >> to & 1 || (renaming->want[next] != ANY && renaming->want[next] != to))
            continue;
        renaming->looks++;
        renaming->to[next] = (unsigned char)to;
        if (fits(renaming, next) && rename_all(renaming, next + 1, used | 1U << to))
            return true;
    }
    return false;
}

/* ---- tasks ---- */

/* Of a set of numbers, in any order. */
static uint64_t with(uint64_t all, uint64_t number)
{
    uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return all + (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool is_any(void *context, const unsigned char *to)
{
    (void)context;
    (void)to;
    return true;
}

static void find_tasks(const struct search_problem *problem, struct search_symmetry *ret)
{
    /* by task and task: which flows go from one to the other; twice the same: those without to */
    uint64_t flows[SYMMETRY_TASKS * SYMMETRY_TASKS] = {0};
    size_t n = problem->tasks, each = problem->each;
    ret->are_tasks_equivalent = true;
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        size_t from = (size_t)flow->from, to = flow->to < 0 ? from : (size_t)flow->to;
        uint64_t *all = &flows[from / each * n + to / each];
        *all = with(*all, (flow->kind * each + from % each) * each + to % each);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            struct renaming renaming = {.n = n, .pair = flows, .is_last = is_any};
            for (size_t t = 0; t < n; t++)
                renaming.want[t] = t < i ? (unsigned char)t : t == i ? (unsigned char)j : ANY;
            bool is_found = rename_all(&renaming, 0, 0);
            ret->after[i] |= (uint64_t)is_found << j;
            ret->are_tasks_equivalent &= is_found;
        }
}

/* ---- slots ---- */

struct slots {
    const struct search_problem *problem;
    uint64_t *users; /* by resource and kind: pairs of slots, i * N + j */
    double *ns;      /* likewise: what each puts there */
    struct search_symmetry *found;
    unsigned count;
};

static bool is_same(double a, double b)
{
    return a == b || fabs(a - b) <= SEARCH_SAME * fmax(fabs(a), fabs(b));
}

static uint16_t room_of(const struct search_problem *problem, size_t slot)
{
    uint16_t unit = problem->most != NULL ? problem->unit[slot] : SEARCH_ANYWHERE;
    return unit != SEARCH_ANYWHERE ? problem->most[unit] : SEARCH_ANYWHERE;
}

/* Whether slots i and j have between them what a and b have. */
static bool are_alike(const struct search_problem *problem, size_t i, size_t j, size_t a, size_t b)
{
    size_t n = problem->slots, x = i * n + j, y = a * n + b;
    if (!is_same(problem->far[i], problem->far[a]) ||
        !is_same(problem->apart[x], problem->apart[y]) ||
        (problem->meet != NULL && !is_same(problem->meet[x], problem->meet[y])) ||
        room_of(problem, i) != room_of(problem, a) ||
        (problem->most != NULL &&
         (problem->unit[i] == problem->unit[j]) != (problem->unit[a] == problem->unit[b])))
        return false;
    for (size_t k = 0; k < problem->kinds; k++, x += n * n, y += n * n)
        if (!is_same(problem->arc[x].alone_ns, problem->arc[y].alone_ns) ||
            !is_same(problem->arc[x].launch_ns, problem->arc[y].launch_ns) ||
            problem->arc[x].use_count != problem->arc[y].use_count)
            return false;
    return true;
}

/* False where a resource does not cost all flows of a kind the same: such slots all differ. */
static bool find_users(const struct slots *slots)
{
    const struct search_problem *problem = slots->problem;
    size_t n = problem->slots;
    for (size_t i = 0; i < problem->kinds * n * n; i++) {
        const struct search_arc *arc = &problem->arc[i];
        size_t kind = i / (n * n), pair = i / n % n * N + i % n;
        for (uint32_t u = 0; u < arc->use_count; u++) {
            const struct search_use *use = &problem->use[arc->use + u];
            size_t at = use->resource * problem->kinds + kind;
            if (slots->users[at] != 0 && !is_same(slots->ns[at], use->ns))
                return false;
            slots->users[at] |= UINT64_C(1) << pair;
            slots->ns[at] = use->ns;
        }
    }
    return true;
}

/* Whether the renaming makes the one resource the other. */
static bool becomes(const struct slots *slots, size_t resource, size_t other,
                    const unsigned char *to)
{
    const struct search_problem *problem = slots->problem;
    bool same = problem->sort[resource] == problem->sort[other];
    for (size_t k = 0; k < problem->kinds && same; k++) {
        size_t x = resource * problem->kinds + k, y = other * problem->kinds + k;
        uint64_t image = 0;
        same = is_same(slots->ns[x], slots->ns[y]) &&
               __builtin_popcountll(slots->users[x]) == __builtin_popcountll(slots->users[y]);
        for (uint64_t left = same ? slots->users[x] : 0; left != 0; left &= left - 1) {
            int pair = __builtin_ctzll(left);
            image |= UINT64_C(1) << (to[pair / N] * N + to[pair % N]);
        }
        same = same && image == slots->users[y];
    }
    return same;
}

/* Takes a renaming that makes every resource one that is as good. */
static bool take(void *context, const unsigned char *to)
{
    struct slots *slots = context;
    size_t resources = slots->problem->resources, moved = 0;
    for (size_t s = 0; s < slots->problem->slots; s++)
        moved += to[s] != s;
    for (size_t r = 0; r < resources && moved > 0; r++) {
        size_t other = 0;
        while (other < resources && !becomes(slots, r, other, to))
            other++;
        if (other == resources)
            return false;
    }
    for (size_t s = 0; s < slots->problem->slots && moved > 0; s++) {
        slots->found->lowers[s] |= (uint64_t)(to[s] < s) << slots->count;
        slots->found->keeps[s] |= (uint64_t)(to[s] == s) << slots->count;
    }
    slots->count += moved > 0;
    return slots->count == RENAMINGS_MAX;
}

/* First those of two slots that change places, of which all follow where all are equivalent. */
static void find_slots(struct slots *slots)
{
    const struct search_problem *problem = slots->problem;
    size_t n = problem->slots, first[N * N], count = 0;
    uint64_t pair[N * N] = {0};
    for (size_t p = 0; p < n * n; p++) {
        size_t f = 0;
        while (f < count && !are_alike(problem, first[f] / n, first[f] % n, p / n, p % n))
            f++;
        if (f == count)
            first[count++] = p;
        pair[p] = f;
    }
    struct renaming renaming = {.n = n, .pair = pair, .is_last = take, .context = slots};
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            for (size_t s = 0; s < n; s++)
                renaming.want[s] = (unsigned char)(s == a ? b : s == b ? a : s);
            rename_all(&renaming, 0, 0);
        }
    for (size_t s = 0; s < n; s++)
        renaming.want[s] = ANY;
    rename_all(&renaming, 0, 0);
}

bool plan_search_symmetry(const struct search_problem *problem, struct search_symmetry *ret)
{
    size_t cells = problem->resources * problem->kinds + 1;
    *ret = (struct search_symmetry){0};
    if (problem->in_order)
        return true;
    if (problem->tasks <= SYMMETRY_TASKS)
        find_tasks(problem, ret);
    if (problem->each > 1 || problem->slots > N)
        return true;
    struct slots slots = {.problem = problem,
                          .users = calloc(cells, sizeof *slots.users),
                          .ns = calloc(cells, sizeof *slots.ns),
                          .found = ret};
    bool ok = slots.users != NULL && slots.ns != NULL;
    if (ok && find_users(&slots))
        find_slots(&slots);
    free(slots.users);
    free(slots.ns);
    return ok;
}
