#include "search/symmetry.h"

#include <math.h>
#include <stdlib.h>

#define N         SEARCH_EXACT_SLOTS
#define LOOKS_MAX 4096

/* ---- tasks ---- */

/* A renaming of tasks that keeps the flows between each two of them. */
struct renaming {
    size_t n;
    uint64_t
        flows[SYMMETRY_TASKS * SYMMETRY_TASKS]; /* by task and task; twice the same: without to */
    size_t first, second; /* tasks before first stay, that one becomes second */
    unsigned char to[SYMMETRY_TASKS];
    unsigned looks;
};

static bool fits(const struct renaming *renaming, size_t i)
{
    size_t n = renaming->n, to = renaming->to[i];
    for (size_t j = 0; j <= i; j++)
        if (renaming->flows[i * n + j] != renaming->flows[to * n + renaming->to[j]] ||
            renaming->flows[j * n + i] != renaming->flows[renaming->to[j] * n + to])
            return false;
    return true;
}

/* Whether there is one for the tasks from next on. */
static bool can_rename(struct renaming *renaming, size_t next, unsigned used)
{
    if (next == renaming->n)
        return true;
    for (size_t to = 0; to < renaming->n && renaming->looks < LOOKS_MAX; to++) {
        if (used >> to & 1 || (next < renaming->first && to != next) ||
            (next == renaming->first && to != renaming->second))
            continue;
        renaming->looks++;
        renaming->to[next] = (unsigned char)to;
        if (fits(renaming, next) && can_rename(renaming, next + 1, used | 1U << to))
            return true;
    }
    return false;
}

/* Of a set of numbers, in any order. */
static uint64_t with(uint64_t all, uint64_t number)
{
    uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return all + (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static void find_tasks(const struct search_problem *problem, struct search_symmetry *ret)
{
    size_t n = problem->tasks, each = problem->each;
    struct renaming renaming = {.n = n};
    ret->are_tasks_equivalent = true;
    for (size_t f = 0; f < problem->flow_count; f++) {
        const struct search_flow *flow = &problem->flow[f];
        size_t from = (size_t)flow->from, to = flow->to < 0 ? from : (size_t)flow->to;
        uint64_t *all = &renaming.flows[from / each * n + to / each];
        *all = with(*all, (flow->kind * each + from % each) * each + to % each);
    }
    for (renaming.first = 0; renaming.first < n; renaming.first++)
        for (renaming.second = renaming.first + 1; renaming.second < n; renaming.second++) {
            renaming.looks = 0;
            bool is_found = can_rename(&renaming, 0, 0);
            ret->after[renaming.first] |= (uint64_t)is_found << renaming.second;
            ret->are_tasks_equivalent &= is_found;
        }
}

/* ---- slots ---- */

struct slots {
    const struct search_problem *problem;
    uint64_t *users; /* by resource and kind: pairs of slots, i * N + j */
    double *ns;      /* likewise: what each puts there */
};

static bool is_same(double a, double b)
{
    return a == b || fabs(a - b) <= SEARCH_SAME * fmax(fabs(a), fabs(b));
}

/* Whether slots i and j have between them what a and b have. */
static bool are_alike(const struct search_problem *problem, size_t i, size_t j, size_t a, size_t b)
{
    size_t n = problem->slots, x = i * n + j, y = a * n + b;
    if (!is_same(problem->far[i], problem->far[a]) ||
        !is_same(problem->apart[x], problem->apart[y]) ||
        (problem->meet != NULL && !is_same(problem->meet[x], problem->meet[y])) ||
        (problem->most != NULL && problem->unit[i] != problem->unit[a]))
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

static size_t swapped(size_t slot, size_t a, size_t b)
{
    return slot == a ? b : slot == b ? a : slot;
}

/* Whether one resource becomes the other when slots a and b change places. */
static bool becomes(const struct slots *slots, size_t resource, size_t other, size_t a, size_t b)
{
    size_t kinds = slots->problem->kinds;
    bool same = slots->problem->sort[resource] == slots->problem->sort[other];
    for (size_t k = 0; k < kinds && same; k++) {
        uint64_t image = 0;
        for (uint64_t left = slots->users[resource * kinds + k]; left != 0; left &= left - 1) {
            size_t pair = (size_t)__builtin_ctzll(left);
            image |= UINT64_C(1) << (swapped(pair / N, a, b) * N + swapped(pair % N, a, b));
        }
        same = image == slots->users[other * kinds + k] &&
               is_same(slots->ns[resource * kinds + k], slots->ns[other * kinds + k]);
    }
    return same;
}

static bool are_equivalent(const struct slots *slots, size_t a, size_t b)
{
    size_t n = slots->problem->slots, resources = slots->problem->resources;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (!are_alike(slots->problem, i, j, swapped(i, a, b), swapped(j, a, b)))
                return false;
    for (size_t r = 0; r < resources; r++) {
        size_t other = 0;
        while (other < resources && !becomes(slots, r, other, a, b))
            other++;
        if (other == resources)
            return false;
    }
    return true;
}

bool plan_search_symmetry(const struct search_problem *problem, struct search_symmetry *ret)
{
    size_t cells = problem->resources * problem->kinds + 1;
    *ret = (struct search_symmetry){0};
    for (size_t s = 0; s < N; s++)
        ret->twin[s] = (unsigned char)s;
    if (problem->in_order)
        return true;
    if (problem->tasks <= SYMMETRY_TASKS)
        find_tasks(problem, ret);
    if (problem->slots > N)
        return true;
    struct slots slots = {.problem = problem,
                          .users = calloc(cells, sizeof *slots.users),
                          .ns = calloc(cells, sizeof *slots.ns)};
    bool ok = slots.users != NULL && slots.ns != NULL;
    if (ok && find_users(&slots))
        for (size_t b = 0; b < problem->slots; b++)
            for (size_t a = 0; a < b && ret->twin[b] == b; a++)
                if (ret->twin[a] == a && are_equivalent(&slots, a, b))
                    ret->twin[b] = (unsigned char)a;
    free(slots.users);
    free(slots.ns);
    return ok;
}
