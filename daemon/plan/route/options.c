#include "plan/route/options.h"

#include <math.h>
#include <stdlib.h>

#include "plan/route/fits.h"
#include "plan/route/measured.h"
#include "plan/route/order.h"
#include "plan/route/paths.h"

#define LOOKED    48 /* sets of one kind that are priced alone */
#define SIMULATED 32 /* of these, with the limits that they share */

/* Paths to be taken at once, and about how long they take alone. */
struct candidate {
    const struct path *path[ROUTE_PARTS_MAX];
    size_t count;
    double about_ns;
};

struct search {
    struct route_work *work;
    const struct route_option *reference;
    struct candidate item[LOOKED]; /* the most promising of a kind, these first */
    size_t count, simulated;
};

/* Paths that end together, each begun as late as it is alone. */
static void add(struct search *search, const struct path *const *path, size_t count)
{
    double rate = 0, bytes = search->work->bytes;
    for (size_t i = 0; i < count; i++) {
        rate += path[i]->rate;
        bytes += path[i]->rate * path[i]->time_ns / 1e9 - search->work->bytes;
    }
    size_t at = search->count;
    if (at == LOOKED && bytes / rate * 1e9 >= search->item[--at].about_ns)
        return;
    struct candidate candidate = {.count = count, .about_ns = bytes / rate * 1e9};
    for (size_t i = 0; i < count; i++)
        candidate.path[i] = path[i];
    for (; at > 0 && search->item[at - 1].about_ns > candidate.about_ns; at--)
        search->item[at] = search->item[at - 1];
    search->item[at] = candidate;
    search->count += search->count < LOOKED;
}

/* ---- the best of a kind ---- */

static bool is_enough(const struct route_option *option, double bytes)
{
    for (size_t p = 0; p < option->part_count && option->part_count > 1; p++)
        if (option->part[p].share * bytes < PRICE_LEAST_PART)
            return false;
    return true;
}

/* Prices a new option beside the fastest that may lead, and the fastest; it takes about so long.
 * False: it is none of them. */
static bool price(struct search *search, double about_ns, double lead_ns, double any_ns,
                  struct route_option *option)
{
    const struct route_work *work = search->work;
    measured_find(work, option);
    bool may_lead = order_has_evidence(work, search->reference, option);
    if (about_ns >= (may_lead ? fmax(lead_ns, any_ns) : any_ns))
        return false;
    search->simulated++;
    price_option(work, may_lead, fmax(lead_ns, any_ns), option);
    order_judge(work, search->reference, option);
    return is_enough(option, work->bytes);
}

/* Keeps the fastest candidate that may lead, and the fastest, if they take less than limit_ns. */
static void keep_best(struct search *search, double limit_ns)
{
    struct route_answer *answer = search->work->answer;
    struct route_option option, best[2];
    double best_ns[2] = {limit_ns, limit_ns};
    search->simulated = 0;
    for (size_t i = 0; i < search->count && search->simulated < SIMULATED; i++) {
        const struct candidate *its = &search->item[i];
        if (its->about_ns >= fmax(best_ns[0], best_ns[1]) ||
            !paths_option(search->work, its->path, its->count, &option) ||
            !price(search, its->about_ns, best_ns[0], best_ns[1], &option))
            continue;
        for (int k = option.may_lead ? 0 : 1; k < 2; k++)
            if (option.predicted.time_ns < best_ns[k]) {
                best_ns[k] = option.predicted.time_ns;
                best[k] = option;
            }
    }
    search->count = 0;
    for (int k = 0; k < 2; k++)
        if (best_ns[k] < (k == 0 ? limit_ns : fmin(limit_ns, best_ns[0])) &&
            answer->count < ROUTE_OPTIONS_MAX)
            answer->option[answer->count++] = best[k];
}

/* ---- kinds of options ---- */

static double best_ns(const struct search *search)
{
    double ns = INFINITY;
    for (size_t i = 0; i < search->work->answer->count; i++)
        ns = fmin(ns, search->work->answer->option[i].predicted.time_ns);
    return ns;
}

/* The paths by one mechanism that transfers are split over: the shortest ones. */
struct splits {
    const struct path *path[FITS_PATHS];
    uint64_t fits[FITS_PATHS];
    size_t count;
};

/* Adds all sets of count paths, each two of which can be used at once; others: bits of those that
 * may follow the chosen ones. */
static void add_sets(struct search *search, const struct splits *splits, uint64_t others,
                     const struct path **chosen, size_t chosen_count, size_t count)
{
    if (chosen_count == count) {
        add(search, chosen, count);
        return;
    }
    for (; others != 0; others &= others - 1) {
        size_t i = (size_t)__builtin_ctzll(others);
        chosen[chosen_count] = splits->path[i];
        add_sets(search, splits, others & splits->fits[i], chosen, chosen_count + 1, count);
    }
}

static void find_splits(struct search *search, const struct path *path, size_t count,
                        enum mechanism by)
{
    struct splits splits = {.count = 0};
    const struct path *chosen[ROUTE_PARTS_MAX];
    if (search->work->bytes < 2 * PRICE_LEAST_PART)
        return;
    for (size_t i = 0; i < count && splits.count < FITS_PATHS; i++)
        if (path[i].by == by)
            splits.path[splits.count++] = &path[i];
    fits_find(search->work, splits.path, splits.count, splits.fits);
    for (size_t parts = 2; parts <= ROUTE_PARTS_MAX; parts++) {
        add_sets(search, &splits, (UINT64_C(1) << splits.count) - 1, chosen, 0, parts);
        keep_best(search, best_ns(search));
    }
}

static void find_single(struct search *search, const struct path *path, size_t count,
                        enum path_kind kind, enum mechanism by)
{
    for (size_t i = 0; i < count; i++)
        if (path[i].kind == kind && path[i].by == by) {
            const struct path *one = &path[i];
            add(search, &one, 1);
        }
    /* two gpus between are worth a word only where they are faster than less */
    keep_best(search, kind == PATH_TWO_GPUS ? best_ns(search) : INFINITY);
}

static void find_direct(struct search *search, const struct path *path, size_t count)
{
    struct route_answer *answer = search->work->answer;
    for (size_t i = 0; i < count && path[i].kind == PATH_DIRECT; i++) {
        const struct path *one = &path[i];
        struct route_option *option = &answer->option[answer->count++];
        paths_option(search->work, &one, 1, option);
        price(search, 0, INFINITY, INFINITY, option);
    }
    search->reference = order_reference(answer);
    for (size_t i = 0; i < answer->count; i++)
        order_judge(search->work, search->reference, &answer->option[i]);
}

enum berth_code options_find(struct route_work *work, struct berth_err *err)
{
    struct search search; /* the candidates need not be anything yet */
    struct path *path = NULL;
    size_t count = 0;
    if (!paths_find(work, &path, &count))
        return err_set(err, BERTH_NO_MEMORY, "no memory for paths");
    search.work = work;
    search.count = search.simulated = 0;
    search.reference = NULL;
    find_direct(&search, path, count);
    const struct route_option *reference = search.reference;
    /* beside one of which such a size is not known others would look too good, or too bad */
    bool is_comparable =
        !work->request.direct && (reference == NULL || reference->knows_size || work->is_nominal);
    for (int by = MECHANISM_COPY_ENGINE; by <= MECHANISM_KERNEL && is_comparable; by++) {
        for (int kind = PATH_HOST; kind < PATH_KINDS; kind++)
            find_single(&search, path, count, (enum path_kind)kind, (enum mechanism)by);
        find_splits(&search, path, count, (enum mechanism)by);
    }
    free(path);
    return BERTH_OK;
}
