#include "cost/limits_fit.h"
#include "cost/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node/spread.h"
#include "sim/sim.h"

#define WORK_MAX 5e8  /* a second of additions: the rest is listed as unexplained */
#define CHANGE   0.02 /* capacities of a table that differ by less are one */
#define FAR_MORE 1.25 /* several get less together than one alone, but by no more unless seen */

/* A limit's users in one run. */
struct total {
    const struct fit_run *run;
    unsigned users;
    bool is_tight; /* several users, one slower than the other limits explain */
    double rate, low, high;
};

struct search {
    struct fit *fit;
    bool by_total;     /* runs are explained by their totals */
    bool *is_given_up; /* by run */
    struct total *total;
    size_t total_count;
    size_t *group; /* by flow */
    struct fit_limit best;
    double work;
    struct sim *sim;
    struct sim_limit limit[FIT_LIMITS_MAX + 1];
    struct sim_step step[FIT_LIMITS_MAX + 1][LIMIT_STEPS_MAX];
    struct sim_flow flow[SETS_FLOWS_MAX];
    uint16_t use[SETS_FLOWS_MAX][FIT_LIMITS_MAX + 1];
};

static bool is_near(double predicted, double rate)
{
    return fabs(predicted - rate) <= POLICY_SIMILAR * rate;
}

static bool is_above(double expected, double rate)
{
    return expected > rate * (1 + POLICY_SIMILAR);
}

static double sum_of(const double *rate, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += rate[i];
    return sum;
}

static double measured_sum(const struct fit_run *run)
{
    double sum = 0;
    for (size_t i = 0; i < run->count; i++)
        sum += run->measured[i].bytes_per_s;
    return sum;
}

static unsigned users_in(const struct fit_run *run, const unsigned char *users)
{
    unsigned count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += users[run->flow[i]];
    return count;
}

/* ---- fair shares ---- */

static double capacity_of(const struct fit_limit *limit, unsigned users)
{
    double capacity = INFINITY;
    for (size_t i = 0; i < limit->step_count && limit->step[i].flows <= users; i++)
        capacity = limit->step[i].bytes_per_s;
    return capacity;
}

/* The rates of a run's flows under the first count limits. */
static void share(struct search *search, const struct fit_run *run, size_t count, double *ret_rate)
{
    const struct fit *fit = search->fit;
    for (size_t l = 0; l < count; l++) {
        struct sim_step *step = search->step[l];
        search->limit[l] = (struct sim_limit){step, fit->limit[l].step_count};
        for (size_t s = 0; s < fit->limit[l].step_count; s++)
            step[s] =
                (struct sim_step){fit->limit[l].step[s].flows, fit->limit[l].step[s].bytes_per_s};
    }
    for (size_t i = 0; i < run->count; i++) {
        uint16_t *use = search->use[i];
        unsigned uses = 0;
        for (size_t l = 0; l < count; l++)
            if (fit->limit[l].users[run->flow[i]])
                use[uses++] = (uint16_t)l;
        search->flow[i] = (struct sim_flow){
            .bytes = 1, .bytes_per_s = fit->alone[run->flow[i]], .limit = use, .limit_count = uses};
    }
    sim_rates(search->sim, search->limit, search->flow, run->count, ret_rate);
    search->work += (double)(run->count * run->count * (count + 1));
}

/* True when the limit's users get more than its capacity by the other limits. */
static bool binds(const struct fit_limit *limit, const struct fit_run *run)
{
    unsigned users = 0;
    double sum = 0;
    for (size_t i = 0; i < run->count; i++)
        if (limit->users[run->flow[i]]) {
            users++;
            sum += run->result->predicted[i];
        }
    return sum > capacity_of(limit, users);
}

/* Predicts all runs; added: the last limit, else NULL. */
static void predict(struct search *search, const struct fit_limit *added)
{
    struct fit *fit = search->fit;
    for (size_t r = 0; r < fit->run_count; r++) {
        struct fit_run *run = &fit->run[r];
        if (added != NULL && !binds(added, run))
            continue;
        share(search, run, fit->limit_count, run->result->predicted);
        run->result->is_reproduced = true;
        for (size_t i = 0; i < run->count; i++)
            run->result->is_reproduced =
                run->result->is_reproduced &&
                is_near(run->result->predicted[i], run->measured[i].bytes_per_s);
    }
}

/* ---- candidates ---- */

/* True when the run slows one of its several users. */
static bool slows(const struct fit *fit, const struct fit_run *run, const unsigned char *users)
{
    bool is_slower = false;
    for (size_t i = 0; i < run->count && !is_slower; i++)
        is_slower =
            users[run->flow[i]] && is_above(fit->alone[run->flow[i]], run->measured[i].bytes_per_s);
    return is_slower && users_in(run, users) > 1;
}

void limits_fit_mark_slowed(const struct fit *fit, const unsigned char *users,
                            unsigned char *ret_slowed)
{
    for (size_t r = 0; r < fit->run_count; r++) {
        const struct fit_run *run = &fit->run[r];
        for (size_t i = 0, end = slows(fit, run, users) ? run->count : 0; i < end; i++)
            ret_slowed[run->flow[i]] |=
                users[run->flow[i]] &&
                is_above(fit->alone[run->flow[i]], run->measured[i].bytes_per_s);
    }
}

static size_t root_of(size_t *group, size_t flow)
{
    while (group[flow] != flow)
        flow = group[flow] = group[group[flow]];
    return flow;
}

/* True when the runs that slow users connect them all. Equally wide ports are no common limit
 * while no run has used them together. */
static bool is_connected(const struct search *search, const unsigned char *users)
{
    const struct fit *fit = search->fit;
    size_t *group = search->group, parts = 0;
    for (size_t i = 0; i < fit->flow_count; i++)
        group[i] = fit->flow_count; /* in no such run */
    for (size_t r = 0; r < fit->run_count; r++) {
        const struct fit_run *run = &fit->run[r];
        size_t first = fit->flow_count;
        for (size_t i = 0, end = slows(fit, run, users) ? run->count : 0; i < end; i++) {
            size_t flow = run->flow[i];
            if (!users[flow])
                continue;
            if (group[flow] == fit->flow_count) {
                group[flow] = flow;
                parts++;
            }
            size_t root = root_of(group, flow);
            first = first == fit->flow_count ? root : first;
            parts -= root != first;
            group[root] = first;
        }
    }
    return parts < 2;
}

static double total_in(const struct fit_run *run, const unsigned char *users)
{
    double total = 0;
    for (size_t i = 0; i < run->count; i++)
        total += users[run->flow[i]] ? run->measured[i].bytes_per_s : 0;
    return total;
}

static void find_least(const struct fit *fit, struct fit_candidate *candidate)
{
    double *least = candidate->least;
    memset(least, 0, sizeof candidate->least);
    for (size_t r = 0; r < fit->run_count; r++) {
        double *top = &least[users_in(&fit->run[r], candidate->users)];
        *top = fmax(*top, total_in(&fit->run[r], candidate->users));
    }
    least[0] = least[1] = INFINITY;
    for (size_t n = 2; n <= SETS_FLOWS_MAX; n++)
        least[n] = least[n] > 0 ? fmin(least[n], least[n - 1]) : least[n - 1];
}

static bool look_at_candidates(struct search *search)
{
    struct fit *fit = search->fit;
    unsigned char *slowed = malloc(fit->flow_count + 1);
    for (size_t c = 0; slowed != NULL && c < fit->candidate_count; c++) {
        struct fit_candidate *candidate = &fit->candidate[c];
        memset(slowed, 0, fit->flow_count);
        limits_fit_mark_slowed(fit, candidate->users, slowed);
        for (size_t i = 0; i < fit->flow_count; i++)
            if (candidate->users[i] && !slowed[i])
                candidate->unslowed = fmax(candidate->unslowed, fit->alone[i]);
        find_least(fit, candidate);
        candidate->is_one = candidate->is_one_place || is_connected(search, candidate->users);
    }
    free(slowed);
    return slowed != NULL;
}

/* True when no capacity of so few users can be as low as this run shows. */
static bool is_too_wide(const struct fit_run *run, const struct fit_candidate *candidate)
{
    return candidate->least[users_in(run, candidate->users)] * (1 - POLICY_SIMILAR) >
           total_in(run, candidate->users) * (1 + POLICY_SIMILAR) * (1 + 1e-6);
}

/* True when all users of a candidate for both directions go the same way: the candidate of that
 * direction is to explain the run. */
static bool is_one_way(const struct fit *fit, const struct fit_run *run,
                       const struct fit_candidate *candidate)
{
    unsigned users = users_in(run, candidate->users),
             there = candidate->one_way != FIT_NO_CANDIDATE
                         ? users_in(run, fit->candidate[candidate->one_way].users)
                         : 0;
    return candidate->one_way != FIT_NO_CANDIDATE && (there == 0 || there == users);
}

/* ---- capacities ---- */

/* Fills search->total with the runs that have users. */
static void sum_up(struct search *search, const unsigned char *users)
{
    search->total_count = 0;
    for (size_t r = 0; r < search->fit->run_count; r++) {
        const struct fit_run *run = &search->fit->run[r];
        struct total total = {.run = run};
        for (size_t i = 0; i < run->count; i++) {
            if (!users[run->flow[i]])
                continue;
            total.is_tight |= is_above(run->result->predicted[i], run->measured[i].bytes_per_s);
            total.users++;
            total.rate += run->measured[i].bytes_per_s;
            total.low += run->measured[i].low;
            total.high += run->measured[i].high;
        }
        total.is_tight = total.is_tight && total.users > 1;
        search->work += 8 * (double)run->count;
        if (total.users > 0)
            search->total[search->total_count++] = total;
    }
}

/* True for a run of so many users that shows the capacity: one that the limit slows, unless it is
 * far below what others get, and, once a capacity is known, one that exceeds it. */
static bool shows(const struct total *total, unsigned users, double top, double capacity)
{
    return total->users == users &&
           ((total->is_tight && total->rate >= top * (1 - POLICY_SIMILAR)) ||
            total->rate > capacity);
}

/* Half the 95 % interval of one more run, relative. */
static double spread_of(double halves, double misses, size_t count)
{
    double half = sqrt(halves / (double)count), miss = sqrt(misses / (double)count);
    return count > 1 ? spread_one(spread_deviation(half, 0), miss, 0, count) : spread_cell(half, 0);
}

/* The capacity that runs with so many users show. False when none is tight. ret_worst is raised to
 * how far the farthest is off. */
static bool fit_step(const struct search *search, unsigned users, struct limit_step *ret,
                     double *ret_worst)
{
    const struct total *total = search->total, *end = total + search->total_count, *t;
    double top = 0, capacity = INFINITY, halves = 0, misses = 0;
    size_t shown = 0, intervals = 0, before = 0;
    for (t = total; t < end; t++)
        top = t->users == users ? fmax(top, t->rate) : top;
    do {
        double sum = 0;
        before = shown;
        shown = 0;
        for (t = total; t < end; t++)
            if (shows(t, users, top, capacity)) {
                sum += t->rate;
                shown++;
            }
        capacity = sum / (double)shown;
    } while (shown != before && shown > 0);
    if (shown == 0)
        return false;
    *ret = (struct limit_step){users, capacity, INFINITY, 0, NAN};
    for (t = total; t < end; t++) {
        if (!shows(t, users, top, capacity))
            continue;
        double half = (t->high - t->low) / 2 / t->rate, miss = (t->rate - capacity) / t->rate;
        bool has_interval = !isnan(half);
        halves += half * half;
        misses += miss * miss;
        *ret_worst = fmax(*ret_worst, fabs(miss));
        ret->low = fmin(ret->low, has_interval ? t->low : t->rate);
        ret->high = fmax(ret->high, has_interval ? t->high : t->rate);
        intervals += has_interval;
    }
    ret->spread = spread_of(halves, misses, shown);
    if (shown + intervals < 2)
        ret->low = ret->high = NAN;
    return true;
}

/* How many more flows of the run are as measured with the limit, the last; those that were so and
 * no longer are count twice. ret_explains: some are, and none of the limit's users is off. */
static long gain_in(struct search *search, const struct fit_run *run, const struct fit_limit *limit,
                    bool *ret_explains)
{
    const struct fit *fit = search->fit;
    double rate[SETS_FLOWS_MAX], measured = measured_sum(run);
    long gain = 0;
    bool helps = false, is_off = false;
    *ret_explains = false;
    if (!binds(limit, run))
        return 0;
    share(search, run, fit->limit_count + 1, rate);
    bool is_whole = is_near(sum_of(rate, run->count), measured),
         was_whole = is_near(sum_of(run->result->predicted, run->count), measured);
    for (size_t i = 0; i < run->count; i++) {
        bool was = search->by_total
                       ? was_whole
                       : is_near(run->result->predicted[i], run->measured[i].bytes_per_s),
             is = search->by_total ? is_whole : is_near(rate[i], run->measured[i].bytes_per_s);
        gain += is && !was ? 1 : was && !is ? -2 : 0;
        helps |= is && !was;
        is_off |= limit->users[run->flow[i]] && !is;
    }
    *ret_explains = helps && !is_off;
    return gain;
}

/* Fits the last limit, whose users are filled in: a table by number of users, in which capacities
 * that differ little are one. Returns how much it explains in all runs; 0 when it does not explain
 * this one, or contradicts others. */
static long try_limit(struct search *search, const struct fit_run *run, struct fit_limit *limit)
{
    bool explains;
    long gain = 0;
    double least = INFINITY, worst = 0;
    unsigned most = 0;
    sum_up(search, limit->users);
    limit->step_count = 0;
    for (size_t t = 0; t < search->total_count; t++)
        most = search->total[t].users > most ? search->total[t].users : most;
    for (unsigned n = 2; n <= most && limit->step_count < LIMIT_STEPS_MAX; n++) {
        struct limit_step *step = &limit->step[limit->step_count];
        if (!fit_step(search, n, step, &worst))
            continue;
        least = fmin(least, step->bytes_per_s);
        limit->step_count +=
            limit->step_count == 0 || fabs(step->bytes_per_s / step[-1].bytes_per_s - 1) > CHANGE;
    }
    if (limit->step_count == 0 || worst > POLICY_SIMILAR ||
        (limit->candidate != FIT_NO_CANDIDATE &&
         search->fit->candidate[limit->candidate].unslowed > least * FAR_MORE))
        return 0;
    gain_in(search, run, limit, &explains);
    for (size_t t = 0; explains && t < search->total_count; t++) {
        bool its;
        gain += gain_in(search, search->total[t].run, limit, &its);
    }
    return gain;
}

/* ---- the search ---- */

/* The interval holds the other's capacities. */
static void widen(struct fit_limit *limit, const struct fit_limit *other)
{
    for (size_t i = 0; i < limit->step_count; i++) {
        struct limit_step *step = &limit->step[i];
        double capacity = capacity_of(other, step->flows);
        step->low = fmin(fmin(step->low, step->bytes_per_s), capacity);
        step->high = fmax(fmax(step->high, step->bytes_per_s), isinf(capacity) ? 0 : capacity);
        if (!isnan(step->spread) && !isinf(capacity))
            step->spread = fmax(step->spread, fabs(capacity / step->bytes_per_s - 1));
    }
}

static void copy_limit(struct fit_limit *to, const struct fit_limit *from, size_t flow_count)
{
    unsigned char *users = to->users;
    memcpy(users, from->users, flow_count);
    *to = *from;
    to->users = users;
}

static bool has_slower_user(const struct fit_run *run, const unsigned char *users)
{
    bool has = false;
    for (size_t i = 0; i < run->count && !has; i++)
        has = users[run->flow[i]] &&
              is_above(run->result->predicted[i], run->measured[i].bytes_per_s);
    return has;
}

static bool is_used(const struct fit *fit, size_t candidate)
{
    bool used = false;
    for (size_t i = 0; i < fit->limit_count; i++)
        used = used || fit->limit[i].candidate == candidate;
    return used;
}

/* The best limit for a run, with candidates that explain as much as its twins. Returns how much it
 * explains. */
static long best_limit(struct search *search, const struct fit_run *run, struct fit_limit *trial)
{
    const struct fit *fit = search->fit;
    struct fit_limit *best = &search->best;
    long most = 0;
    for (size_t c = 0; c < fit->candidate_count; c++) {
        const struct fit_candidate *candidate = &fit->candidate[c];
        if (!candidate->is_one || !has_slower_user(run, candidate->users) || is_used(fit, c) ||
            is_one_way(fit, run, candidate) || (!search->by_total && is_too_wide(run, candidate)))
            continue;
        memcpy(trial->users, candidate->users, fit->flow_count);
        trial->candidate = c;
        trial->twin_count = 0;
        long gain = try_limit(search, run, trial);
        if (gain > most) {
            most = gain;
            copy_limit(best, trial, fit->flow_count);
        } else if (gain == most && most > 0 && best->twin_count < LIMIT_TWINS_MAX) {
            best->twin[best->twin_count++] = c;
            widen(best, trial);
        }
    }
    if (most > 0)
        copy_limit(trial, best, fit->flow_count);
    if (most > 0 || search->by_total)
        return most;
    memset(trial->users, 0, fit->flow_count);
    for (size_t i = 0; i < run->count; i++)
        trial->users[run->flow[i]] |=
            is_above(run->result->predicted[i], run->measured[i].bytes_per_s);
    trial->candidate = FIT_NO_CANDIDATE;
    trial->twin_count = 0;
    return try_limit(search, run, trial);
}

/* The smallest run that is slower than predicted; NULL none. */
static const struct fit_run *next_run(const struct search *search)
{
    const struct fit_run *next = NULL;
    for (size_t r = 0; r < search->fit->run_count; r++) {
        const struct fit_run *run = &search->fit->run[r];
        if (search->is_given_up[r] || (next != NULL && run->count >= next->count))
            continue;
        bool is_slower = search->by_total &&
                         is_above(sum_of(run->result->predicted, run->count), measured_sum(run));
        for (size_t i = 0; i < run->count && !search->by_total; i++)
            is_slower =
                is_slower || is_above(run->result->predicted[i], run->measured[i].bytes_per_s);
        next = is_slower ? run : next;
    }
    return next;
}

static bool explain(struct search *search)
{
    struct fit *fit = search->fit;
    const struct fit_run *run;
    memset(search->is_given_up, 0, fit->run_count * sizeof *search->is_given_up);
    while (fit->limit_count < FIT_LIMITS_MAX && search->work < WORK_MAX &&
           (run = next_run(search)) != NULL) {
        struct fit_limit *trial = &fit->limit[fit->limit_count];
        if (trial->users == NULL && (trial->users = calloc(fit->flow_count + 1, 1)) == NULL)
            return false;
        if (best_limit(search, run, trial) <= 0) {
            search->is_given_up[run - fit->run] = true;
            continue;
        }
        fit->limit_count++;
        predict(search, search->by_total ? NULL : trial); /* totals change by earlier limits, too */
    }
    return true;
}

/* True when a run with so many users is farther off by the limits as they are than predicted. */
static bool is_needed(struct search *search, const struct fit_limit *limit, unsigned least,
                      unsigned most)
{
    const struct fit *fit = search->fit;
    bool needed = false;
    for (size_t r = 0; r < fit->run_count && !needed; r++) {
        const struct fit_run *run = &fit->run[r];
        double rate[SETS_FLOWS_MAX];
        unsigned users = users_in(run, limit->users);
        if (users < least || users > most)
            continue;
        share(search, run, fit->limit_count, rate);
        for (size_t i = 0; i < run->count; i++)
            needed = needed || fabs(rate[i] - run->measured[i].bytes_per_s) >
                                   fabs(run->result->predicted[i] - run->measured[i].bytes_per_s) +
                                       CHANGE * run->measured[i].bytes_per_s;
    }
    return needed;
}

/* Removes steps of tables that limits found later explain as well. */
static void remove_spare_steps(struct search *search)
{
    struct fit *fit = search->fit;
    for (size_t l = 0; l < fit->limit_count; l++) {
        struct fit_limit *limit = &fit->limit[l];
        for (size_t s = limit->step_count; s-- > 0 && limit->step_count > 1;) {
            struct fit_limit whole = *limit;
            struct limit_step *step = &limit->step[s];
            unsigned most = s + 1 < limit->step_count ? step[1].flows - 1 : SETS_FLOWS_MAX;
            if (s > 0 && fabs(step->bytes_per_s / step[-1].bytes_per_s - 1) <= CHANGE)
                continue;
            memmove(step, step + 1, (limit->step_count - s - 1) * sizeof *step);
            limit->step_count--;
            if (is_needed(search, limit, whole.step[s].flows, most))
                *limit = whole;
        }
    }
}

bool limits_fit(struct fit *fit)
{
    struct search *search = calloc(1, sizeof *search);
    fit->limit = calloc(FIT_LIMITS_MAX + 1, sizeof *fit->limit);
    fit->limit_count = 0;
    bool ok = search != NULL && fit->limit != NULL;
    if (ok) {
        search->fit = fit;
        search->is_given_up = calloc(fit->run_count + 1, sizeof *search->is_given_up);
        search->total = calloc(fit->run_count + 1, sizeof *search->total);
        search->group = calloc(fit->flow_count + 1, sizeof *search->group);
        search->best.users = calloc(fit->flow_count + 1, 1);
        search->sim = sim_new(SETS_FLOWS_MAX, FIT_LIMITS_MAX + 1, 0);
        ok = search->is_given_up != NULL && search->total != NULL && search->group != NULL &&
             search->best.users != NULL && search->sim != NULL && look_at_candidates(search);
    }
    if (ok) {
        predict(search, NULL);
        ok = explain(search);
    }
    if (ok) {
        remove_spare_steps(search);
        predict(search, NULL);
        search->by_total = true;
        ok = explain(search);
    }
    if (search != NULL) {
        free(search->is_given_up);
        free(search->total);
        free(search->group);
        free(search->best.users);
        sim_free(search->sim);
    }
    free(search);
    if (!ok)
        limits_fit_done(fit);
    return ok;
}

void limits_fit_done(struct fit *fit)
{
    for (size_t i = 0; fit->limit != NULL && i <= FIT_LIMITS_MAX; i++)
        free(fit->limit[i].users);
    free(fit->limit);
    fit->limit = NULL;
    fit->limit_count = 0;
}
