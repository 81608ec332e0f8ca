#include "cost/resource_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/resource_share.h"
#include "cost/resource_slower.h"
#include "cost/resource_spare.h"
#include "cost/resource_uneven.h"
#include "node/spread.h"

#define FLOWS_MAX 128  /* of one run: SETS_FLOWS_MAX */
#define WORK_MAX  5e8  /* a second: what is not explained by then is listed as such */
#define ROUNDING  1e-6 /* relative */
#define CHANGE    0.02 /* a constant capacity that misses a run by more is a table */

static bool is_near(double predicted, double rate)
{
    return fabs(predicted - rate) <= RESOURCE_TOLERANCE * rate;
}

static bool is_slower(const struct resource_run *run, size_t i)
{
    return run->predicted[i] > run->rate[i] * (1 + RESOURCE_TOLERANCE);
}

/* Whether the run has a user that gets less than the other limits explain: then this one has no
 * slack in it. */
static bool is_tight(const struct resource_run *run, const unsigned char *users)
{
    for (size_t i = 0; i < run->count; i++)
        if (users[run->flow[i]] && is_slower(run, i))
            return true;
    return false;
}

static size_t users_in(const struct resource_run *run, const unsigned char *users)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += users[run->flow[i]];
    return count;
}

/* A limit's users in one run, of which there is one at least. */
struct total {
    const struct resource_run *run;
    unsigned flows;
    bool is_tight;
    double rate, low, high;
};

static struct total total_of(const struct resource_run *run, const unsigned char *users)
{
    struct total total = {.run = run};
    for (size_t i = 0; i < run->count; i++) {
        if (!users[run->flow[i]])
            continue;
        total.is_tight |= is_slower(run, i);
        total.flows++;
        total.rate += run->rate[i];
        total.low += run->low[i];
        total.high += run->high[i];
    }
    total.is_tight = total.is_tight && total.flows > 1; /* a single one shares it with nobody */
    return total;
}

/* A capacity under way. */
struct fitting {
    double top; /* the most that users got together */
    double capacity, sum, worst, low, high;
    /* squares of the runs' half intervals, and of how far they are from it, relative */
    double halves, misses;
    size_t tight, active, before, says, counted;
};

/* A run that is far below what others get is bound by something else. */
static bool counts_as_tight(const struct total *total, const struct fitting *fitting)
{
    return total->is_tight && total->rate >= fitting->top * (1 - RESOURCE_TOLERANCE);
}

/* The capacity of least squares. A run with slack counts once it gets more than the capacity, for
 * the slack is not negative; each step raises the capacity, so it ends. */
static void fit_capacities(const struct total *total, size_t count, bool by_flows,
                           struct fitting *fitting, size_t fitting_count)
{
    bool moves;
    for (size_t r = 0; r < count; r++)
        if (total[r].rate > fitting[by_flows ? total[r].flows : 0].top)
            fitting[by_flows ? total[r].flows : 0].top = total[r].rate;
    do {
        moves = false;
        for (size_t n = 0; n < fitting_count; n++) {
            fitting[n].before = fitting[n].active;
            fitting[n].sum = 0;
            fitting[n].active = fitting[n].tight = 0;
        }
        for (size_t r = 0; r < count; r++) {
            struct fitting *its = &fitting[by_flows ? total[r].flows : 0];
            bool is_tight = counts_as_tight(&total[r], its);
            if (!is_tight && !(its->before > 0 && total[r].rate > its->capacity))
                continue;
            its->tight += is_tight;
            its->active++;
            its->sum += total[r].rate;
        }
        for (size_t n = 0; n < fitting_count; n++) {
            fitting[n].capacity =
                fitting[n].active > 0 ? fitting[n].sum / (double)fitting[n].active : 0;
            moves = moves || (fitting[n].tight > 0 && fitting[n].active != fitting[n].before);
        }
    } while (moves);
}

/* How far the runs that count are from it, and what they allow. */
static void bound_capacities(const struct total *total, size_t count, bool by_flows,
                             struct fitting *fitting)
{
    for (size_t r = 0; r < count; r++) {
        struct fitting *its = &fitting[by_flows ? total[r].flows : 0];
        if (!counts_as_tight(&total[r], its) && total[r].rate <= its->capacity)
            continue;
        bool has_interval = !isnan(total[r].low) && !isnan(total[r].high),
             is_first = its->says == 0;
        double low = has_interval ? total[r].low : total[r].rate,
               high = has_interval ? total[r].high : total[r].rate;
        double half = (total[r].high - total[r].low) / 2 / total[r].rate,
               miss = (total[r].rate - its->capacity) / total[r].rate;
        its->halves += half * half;
        its->misses += miss * miss;
        its->counted++;
        its->worst = fmax(its->worst, fabs(miss));
        its->low = is_first ? low : fmin(its->low, low);
        its->high = is_first ? high : fmax(its->high, high);
        its->says += has_interval ? 2 : 1;
    }
}

/* One run says nothing of how far the next one is but by its interval. */
static double spread_of(const struct fitting *its)
{
    double half = sqrt(its->halves / (double)its->counted),
           miss = sqrt(its->misses / (double)its->counted);
    return its->counted > 1 ? spread_one(spread_deviation(half, 0), miss, 0, its->counted)
                            : spread_cell(half, 0);
}

/* What all flows of a run get together, by rates that are predicted or measured. */
static double sum_of(const double *rate, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += rate[i];
    return sum;
}

/* Properties of a candidate that no added limit changes. */
struct known {
    bool is_known;
    bool is_one; /* its users hang together, or need not */
    double top;  /* the highest total of its users in a run */
    /* by number of users: of runs with 2, with 3, ... to so many users, each number's highest
     * total, and of these the lowest; INFINITY: no such run */
    double least[FLOWS_MAX + 1];
};

/* What is carried through the search. */
struct search {
    bool by_total; /* runs are explained when all their flows together are */
    struct resource_problem *problem;
    struct total *total; /* of the runs that use the limit on trial */
    size_t total_count;
    bool *is_given_up; /* one for each run */
    struct resource_limit best;
    size_t *group;       /* one for each flow, for is_one */
    struct known *known; /* by candidate, as far as looked at */
    double work;         /* additions so far, about */
};

static size_t root_of(size_t *group, size_t flow)
{
    while (group[flow] != flow)
        flow = group[flow] = group[group[flow]];
    return flow;
}

/* Whether the run has several users, one of which gets less than alone: a single one shares
 * something else. */
static bool is_slowed(const struct resource_problem *problem, const struct resource_run *run,
                      const unsigned char *users)
{
    bool is_slower = false;
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++) {
        count += users[run->flow[i]];
        is_slower |= users[run->flow[i]] &&
                     problem->alone[run->flow[i]] > run->rate[i] * (1 + RESOURCE_TOLERANCE);
    }
    return is_slower && count > 1;
}

/* Whether the runs that make a limit of these users hang together by users that were slower in the
 * same one. Ports for each direction that are equally wide, or memories, are no common limit as
 * long as no run has used them together. */
static bool is_one(struct search *search, const unsigned char *users)
{
    const struct resource_problem *problem = search->problem;
    size_t first = problem->flow_count;
    for (size_t i = 0; i < problem->flow_count; i++)
        search->group[i] = i;
    for (int turn = 0; turn < 2; turn++) {
        for (size_t r = 0; r < problem->run_count; r++) {
            const struct resource_run *run = &problem->run[r];
            if (!is_slowed(problem, run, users))
                continue;
            size_t before = problem->flow_count;
            for (size_t i = 0; i < run->count; i++) {
                if (!users[run->flow[i]])
                    continue;
                size_t root = root_of(search->group, run->flow[i]);
                if (turn == 0 && before < problem->flow_count)
                    search->group[root] = root_of(search->group, before);
                before = run->flow[i];
                if (turn == 1 && first < problem->flow_count &&
                    root != root_of(search->group, first))
                    return false;
                first = turn == 1 ? before : first;
            }
        }
    }
    return true;
}

static const struct known *known_of(struct search *search, size_t candidate)
{
    const struct resource_problem *problem = search->problem;
    const unsigned char *users = problem->candidate + candidate * problem->flow_count;
    struct known *known = &search->known[candidate];
    double *top = known->least;
    if (known->is_known)
        return known;
    known->is_known = true;
    known->is_one =
        (problem->is_end != NULL && problem->is_end[candidate]) || is_one(search, users);
    for (size_t r = 0; r < problem->run_count; r++) {
        const struct resource_run *run = &problem->run[r];
        size_t count = 0;
        double rate = 0;
        for (size_t i = 0; i < run->count; i++) {
            count += users[run->flow[i]];
            rate += users[run->flow[i]] ? run->rate[i] : 0;
        }
        top[count] = fmax(top[count], rate);
        known->top = fmax(known->top, rate);
    }
    top[0] = top[1] = INFINITY;
    for (size_t n = 2; n <= FLOWS_MAX; n++)
        top[n] = top[n] > 0 ? fmin(top[n], top[n - 1]) : top[n - 1];
    return known;
}

/* True when the users of a limit get more than its capacity by the other limits alone. */
static bool binds(const struct resource_limit *limit, const struct resource_run *run)
{
    double sum = 0;
    for (size_t i = 0; i < run->count; i++)
        sum += limit->users[run->flow[i]] ? run->predicted[i] : 0;
    return sum > resource_capacity(limit, resource_users(limit, run->flow, run->count));
}

/* How many more of the run's flows are as measured with this limit, the last, those that were so
 * and no longer are counting twice; with ret_is_wrong, whether one of its users is not. The run's
 * predictions stay. */
static long gain_in(struct search *search, const struct resource_run *run,
                    const struct resource_limit *limit, bool *ret_helps, bool *ret_is_wrong)
{
    const struct resource_problem *problem = search->problem;
    double rate[FLOWS_MAX];
    long gain = 0;
    if (!binds(limit, run))
        return 0;
    resource_share(problem->alone, problem->limit, problem->limit_count + 1, run->flow, run->count,
                   rate);
    search->work += (double)(run->count * run->count * (problem->limit_count + 1));
    double measured = sum_of(run->rate, run->count);
    bool is_whole = is_near(sum_of(rate, run->count), measured),
         was_whole = is_near(sum_of(run->predicted, run->count), measured);
    for (size_t i = 0; i < run->count; i++) {
        bool was_good = search->by_total ? was_whole : is_near(run->predicted[i], run->rate[i]);
        bool is_good = search->by_total ? is_whole : is_near(rate[i], run->rate[i]);
        gain += is_good && !was_good ? 1 : was_good && !is_good ? -2 : 0;
        *ret_helps |= is_good && !was_good;
        *ret_is_wrong |= limit->users[run->flow[i]] && !is_good;
    }
    return gain;
}

/* True when the limit helps the run that is to be explained, and all of its users there are then as
 * measured: shares that are not fair, of which one is met by chance, are explained by their total.
 */
static bool explains(struct search *search, const struct resource_run *run,
                     const struct resource_limit *limit)
{
    bool helps = false, is_wrong = false;
    gain_in(search, run, limit, &helps, &is_wrong);
    return helps && !is_wrong;
}

static long gain_of(struct search *search, const struct resource_limit *limit)
{
    bool helps = false, is_wrong = false;
    long gain = 0;
    for (size_t t = 0; t < search->total_count; t++)
        gain += gain_in(search, search->total[t].run, limit, &helps, &is_wrong);
    return gain;
}

/* Fills in the capacity, one for all numbers of users or (by_flows) one for each; gives how far the
 * farthest run that counts is from it. False when it does not explain the run, no user is slower
 * for it, or one is known to get more alone. */
static bool fit_limit(struct search *search, const struct resource_run *run, bool by_flows,
                      struct resource_limit *limit, double *ret_worst)
{
    const struct total *total = search->total;
    struct fitting fitting[FLOWS_MAX + 1];
    size_t count = search->total_count, fitting_count = 1;
    double worst = 0;
    for (size_t r = 0; r < count && by_flows; r++)
        if (total[r].flows >= fitting_count)
            fitting_count = total[r].flows + 1;
    memset(fitting, 0, fitting_count * sizeof *fitting);
    fit_capacities(total, count, by_flows, fitting, fitting_count);
    limit->step_count = 0;
    for (unsigned n = 0; n < fitting_count && limit->step_count < RESOURCE_STEPS_MAX; n++)
        if (fitting[n].tight > 0)
            limit->step[limit->step_count++] =
                (struct resource_step){.flows = n > 0 ? n : 1, .bytes_per_s = fitting[n].capacity};
    if (!explains(search, run, limit))
        return false;
    bound_capacities(total, count, by_flows, fitting);
    for (size_t i = 0; i < limit->step_count; i++) {
        struct resource_step *step = &limit->step[i];
        const struct fitting *its = &fitting[by_flows ? step->flows : 0];
        bool is_bounded = its->says > 1;
        step->low = is_bounded ? its->low : (double)NAN;
        step->high = is_bounded ? its->high : (double)NAN;
        step->spread = spread_of(its);
        worst = fmax(worst, its->worst);
    }
    *ret_worst = worst;
    return limit->step_count > 0 && worst <= RESOURCE_TOLERANCE &&
           !resource_slower_contradicts(search->problem, limit);
}

/* Predicts all runs; added not NULL: those that the last limit, just added, binds. */
static void predict(struct resource_problem *problem, const struct resource_limit *added)
{
    for (size_t r = 0; r < problem->run_count; r++) {
        struct resource_run *run = &problem->run[r];
        if (added != NULL && !binds(added, run))
            continue;
        resource_share(problem->alone, problem->limit, problem->limit_count, run->flow, run->count,
                       run->predicted);
        run->is_reproduced = true;
        for (size_t i = 0; i < run->count; i++)
            run->is_reproduced = run->is_reproduced && is_near(run->predicted[i], run->rate[i]);
    }
}

/* The run with the fewest flows of those with a flow, or by total all flows, slower than predicted;
 * NULL none. */
static const struct resource_run *next_run(const struct search *search)
{
    const struct resource_run *next = NULL;
    for (size_t r = 0; r < search->problem->run_count; r++) {
        const struct resource_run *run = &search->problem->run[r];
        bool slower =
            search->by_total && sum_of(run->predicted, run->count) >
                                    sum_of(run->rate, run->count) * (1 + RESOURCE_TOLERANCE);
        for (size_t i = 0; i < run->count && !search->by_total; i++)
            slower = slower || is_slower(run, i);
        if (slower && !search->is_given_up[r] && (next == NULL || run->count < next->count))
            next = run;
    }
    return next;
}

static bool is_used(const struct resource_problem *problem, size_t candidate)
{
    for (size_t i = 0; i < problem->limit_count; i++)
        if (problem->limit[i].candidate == candidate)
            return true;
    return false;
}

/* An interval that holds both. */
static void widen(struct resource_limit *limit, const struct resource_limit *other)
{
    for (size_t i = 0; i < limit->step_count; i++) {
        struct resource_step *step = &limit->step[i];
        double capacity = resource_capacity(other, step->flows);
        step->low = fmin(fmin(step->low, step->bytes_per_s), capacity);
        step->high = fmax(fmax(step->high, step->bytes_per_s), isinf(capacity) ? 0 : capacity);
        if (!isnan(step->spread) && !isinf(capacity))
            step->spread = fmax(step->spread, fabs(capacity / step->bytes_per_s - 1));
    }
}

static void copy_limit(struct resource_limit *to, const struct resource_limit *from,
                       size_t flow_count)
{
    unsigned char *users = to->users;
    memcpy(users, from->users, flow_count);
    *to = *from;
    to->users = users;
}

/* The limit behind the last one, whose users are filled in, as a constant or as a table, whatever
 * explains more; its gain. */
static long try_limit(struct search *search, const struct resource_run *run, bool as_constant,
                      struct resource_limit *trial)
{
    const struct resource_problem *problem = search->problem;
    double worst = 0, of_table = 0;
    search->total_count = 0;
    for (size_t r = 0; r < problem->run_count; r++) {
        struct total total = total_of(&problem->run[r], trial->users);
        if (total.flows > 0)
            search->total[search->total_count++] = total;
        /* with what came before and what follows */
        search->work += 8 * (double)problem->run[r].count;
    }
    long table = fit_limit(search, run, true, trial, &of_table) ? gain_of(search, trial) : 0;
    struct resource_limit as_table = *trial;
    long constant =
        as_constant && fit_limit(search, run, false, trial, &worst) ? gain_of(search, trial) : 0;
    if (table > constant || (table == constant && worst > CHANGE && as_table.step_count > 1)) {
        *trial = as_table;
        return table;
    }
    return constant;
}

/* Whether a candidate is about both directions and all of its users in the run go the same way:
 * that one direction is to explain it. */
static bool is_one_way(const struct resource_problem *problem, const struct resource_run *run,
                       size_t candidate)
{
    size_t way = problem->one_way != NULL ? problem->one_way[candidate] : RESOURCE_NO_CANDIDATE,
           there = 0, back = 0;
    for (size_t i = 0; way != RESOURCE_NO_CANDIDATE && i < run->count; i++) {
        bool is_user = problem->candidate[candidate * problem->flow_count + run->flow[i]] != 0,
             is_there = problem->candidate[way * problem->flow_count + run->flow[i]] != 0;
        there += is_user && is_there;
        back += is_user && !is_there;
    }
    return way != RESOURCE_NO_CANDIDATE && (there == 0 || back == 0);
}

/* The highest total that runs may have which tell the capacity of a limit, if that explains this
 * run: then the limit is full, and each of its users gets the measured rate. INFINITY by total. */
static double highest_top(const struct search *search, const struct resource_run *run,
                          const unsigned char *users)
{
    double rate = 0;
    for (size_t i = 0; i < run->count; i++)
        rate += users[run->flow[i]] ? run->rate[i] : 0;
    return search->by_total
               ? INFINITY
               : rate * (1 + RESOURCE_TOLERANCE) / (1 - RESOURCE_TOLERANCE) * (1 + ROUNDING);
}

/* The best candidate for a run into search->best, with those that do as well as twins; its gain, 0
 * when none is any good. trial is the limit behind the last. */
static long best_candidate(struct search *search, const struct resource_run *run,
                           struct resource_limit *trial)
{
    const struct resource_problem *problem = search->problem;
    struct resource_limit *best = &search->best;
    long most = 0;
    for (size_t c = 0; c < problem->candidate_count; c++) {
        const unsigned char *users = problem->candidate + c * problem->flow_count;
        if (!is_tight(run, users) || is_used(problem, c) || is_one_way(problem, run, c))
            continue;
        const struct known *known = known_of(search, c);
        double highest = highest_top(search, run, users);
        if (!known->is_one || known->least[users_in(run, users)] > highest)
            continue;
        memcpy(trial->users, users, problem->flow_count);
        trial->candidate = c;
        trial->twin_count = 0;
        long gain = try_limit(search, run, known->top <= highest, trial);
        if (gain > most) {
            most = gain;
            copy_limit(best, trial, problem->flow_count);
        } else if (gain == most && most > 0 && best->twin_count < RESOURCE_TWINS_MAX) {
            best->twin[best->twin_count++] = c;
            widen(best, trial);
        }
    }
    if (most > 0)
        copy_limit(trial, best, problem->flow_count);
    return most;
}

/* The slower flows of the run as a limit that has no name. */
static long nameless(struct search *search, const struct resource_run *run,
                     struct resource_limit *trial)
{
    memset(trial->users, 0, search->problem->flow_count);
    for (size_t i = 0; i < run->count; i++)
        trial->users[run->flow[i]] |= is_slower(run, i);
    trial->candidate = RESOURCE_NO_CANDIDATE;
    trial->twin_count = 0;
    return try_limit(search, run, true, trial);
}

static bool explain(struct search *search)
{
    struct resource_problem *problem = search->problem;
    const struct resource_run *run;
    while (problem->limit_count < RESOURCE_LIMITS_MAX && search->work < WORK_MAX &&
           (run = next_run(search)) != NULL) {
        struct resource_limit *trial = &problem->limit[problem->limit_count];
        if (trial->users == NULL && (trial->users = calloc(problem->flow_count + 1, 1)) == NULL)
            return false;
        if (best_candidate(search, run, trial) > 0 ||
            (!search->by_total && nameless(search, run, trial) > 0)) {
            problem->limit_count++;
            /* by total earlier limits change, too */
            predict(problem, search->by_total ? NULL : trial);
            if (search->by_total)
                resource_uneven_widen(problem, trial);
        } else {
            search->is_given_up[run - problem->run] = true;
        }
    }
    return true;
}

bool resource_fit(struct resource_problem *problem)
{
    struct search search = {.problem = problem,
                            .total = calloc(problem->run_count + 1, sizeof *search.total),
                            .is_given_up =
                                calloc(problem->run_count + 1, sizeof *search.is_given_up),
                            .group = calloc(problem->flow_count + 1, sizeof *search.group),
                            .known = calloc(problem->candidate_count + 1, sizeof *search.known),
                            .best = {.users = calloc(problem->flow_count + 1, 1)}};
    problem->limit = calloc(RESOURCE_LIMITS_MAX + 1, sizeof *problem->limit);
    problem->limit_count = 0;
    bool ok = search.total != NULL && search.is_given_up != NULL && search.group != NULL &&
              search.known != NULL && search.best.users != NULL && problem->limit != NULL;
    if (ok) {
        predict(problem, NULL);
        ok = explain(&search);
    }
    if (ok) {
        resource_spare(problem);
        predict(problem, NULL);
        memset(search.is_given_up, 0, problem->run_count * sizeof *search.is_given_up);
        search.by_total = true;
        ok = explain(&search);
    }
    free(search.total);
    free(search.is_given_up);
    free(search.group);
    free(search.known);
    free(search.best.users);
    if (!ok)
        resource_fit_done(problem);
    return ok;
}

void resource_fit_done(struct resource_problem *problem)
{
    for (size_t i = 0; problem->limit != NULL && i <= RESOURCE_LIMITS_MAX; i++)
        free(problem->limit[i].users);
    free(problem->limit);
    problem->limit = NULL;
    problem->limit_count = 0;
}
