#include "cost/limits_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/policy.h"
#include "node/spread.h"
#include "sim/sim.h"

#define ROUNDING 1e-6 /* relative */
#define WORK_MAX 5e8  /* a second of additions: the rest is listed as unexplained */

/* A limit's several users in one run. */
struct total {
    const struct fit_run *run;
    unsigned users;
    bool is_tight; /* one is slower than the other limits explain */
    double rate, low, high;
};

struct search {
    struct fit *fit;
    bool by_total; /* runs are explained by their totals */
    struct total *total;
    size_t total_count;
    size_t *group; /* by flow */
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

/* ---- fair shares ---- */

/* The rates of a run's flows under the first count limits. */
static void share(struct search *search, const struct fit_run *run, size_t count, double *ret_rate)
{
    const struct fit *fit = search->fit;
    for (size_t l = 0; l < count; l++) {
        const struct fit_limit *limit = &fit->limit[l];
        search->limit[l] =
            (struct sim_limit){.step = search->step[l], .step_count = limit->step_count};
        for (size_t s = 0; s < limit->step_count; s++)
            search->step[l][s] =
                (struct sim_step){limit->step[s].flows, limit->step[s].bytes_per_s};
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

/* A flow's rate in measured ones; by totals that of all flows together. */
static double relative(const struct search *search, const struct fit_run *run, const double *rate,
                       size_t flow)
{
    double sum = 0, measured = 0;
    for (size_t i = 0; i < run->count; i++)
        if (search->by_total || i == flow) {
            sum += rate[i];
            measured += run->measured[i].bytes_per_s;
        }
    return sum / measured;
}

static bool is_met(const struct search *search, const struct fit_run *run, const double *rate,
                   size_t flow)
{
    return is_near(relative(search, run, rate, flow), 1);
}

static bool is_slower(const struct search *search, const struct fit_run *run, size_t flow)
{
    return is_above(relative(search, run, run->result->predicted, flow), 1);
}

/* True when the limit's users get as much as it carries, or more. */
static bool binds(const struct fit_limit *limit, const struct fit_run *run)
{
    double users_get = 0;
    size_t users = 0;
    for (size_t i = 0; i < run->count; i++)
        if (limit->users[run->flow[i]]) {
            users_get += run->result->predicted[i];
            users++;
        }
    return users_get > limits_capacity(limit->step, limit->step_count, users) * (1 - ROUNDING);
}

/* Predicts anew the runs in which a limit, added or removed, binds; NULL: all. */
static void predict(struct search *search, const struct fit_limit *limit)
{
    for (size_t r = 0; r < search->fit->run_count; r++) {
        struct fit_run *run = &search->fit->run[r];
        struct limits_run *result = run->result;
        if (limit != NULL && !binds(limit, run))
            continue;
        share(search, run, search->fit->limit_count, result->predicted);
        result->is_reproduced = true;
        for (size_t i = 0; i < run->count; i++)
            result->is_reproduced &= is_near(result->predicted[i], run->measured[i].bytes_per_s);
    }
}

/* ---- candidates ---- */

/* True when the run slows one of its several users. */
static bool slows(const struct fit *fit, const struct fit_run *run, const unsigned char *users)
{
    bool slower = false;
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++) {
        count += users[run->flow[i]];
        slower |=
            users[run->flow[i]] && is_above(fit->alone[run->flow[i]], run->measured[i].bytes_per_s);
    }
    return slower && count > 1;
}

static size_t root_of(size_t *group, size_t flow)
{
    while (group[flow] != flow)
        flow = group[flow] = group[group[flow]];
    return flow;
}

/* Users are one limit's when the runs that slow some connect them all: equally wide ports are no
 * common limit while no run has used them together. */
static void look_at(const struct search *search, struct fit_candidate *candidate)
{
    const struct fit *fit = search->fit;
    const unsigned char *users = candidate->users;
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
    candidate->is_one = candidate->is_one || parts < 2;
    for (size_t i = 0; i < fit->flow_count; i++)
        if (users[i] && group[i] == fit->flow_count)
            candidate->unslowed = fmax(candidate->unslowed, fit->alone[i]);
}

/* ---- capacities ---- */

/* Fills search->total with the runs that have several users. */
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
        search->work += 8 * (double)run->count;
        if (total.users > 1)
            search->total[search->total_count++] = total;
    }
}

/* Half the 95 % interval of one more run, relative. */
static double spread_of(double halves, double misses, size_t count)
{
    double half = sqrt(halves / (double)count), miss = sqrt(misses / (double)count);
    return count > 1 ? spread_one(spread_deviation(half, 0), miss, 0, count) : spread_cell(half, 0);
}

/* True for a run of so many users that shows the capacity: one that the limit slows, unless it is
 * far below what others get, and, once a capacity is known, one that exceeds it. */
static bool shows(const struct total *total, unsigned users, double top, double capacity)
{
    return total->users == users &&
           ((total->is_tight && total->rate >= top * (1 - POLICY_SIMILAR)) ||
            total->rate > capacity);
}

/* The capacity for so many users, the mean of the runs that show it. False when none does. */
static bool fit_step(const struct search *search, unsigned users, struct limit_step *ret,
                     double *ret_worst)
{
    const struct total *total = search->total, *end = total + search->total_count, *t;
    double top = 0, capacity = INFINITY, halves = 0, misses = 0;
    size_t shown = 0, intervals = 0, before;
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
    *ret = (struct limit_step){users, capacity, INFINITY, 0, NAN};
    for (t = total; t < end && shown > 0; t++) {
        if (!shows(t, users, top, capacity))
            continue;
        double half = (t->high - t->low) / 2 / t->rate, miss = 1 - capacity / t->rate;
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
    return shown > 0;
}

/* A table by number of users, in which capacities that differ little are one. */
static bool fit_steps(struct search *search, struct fit_limit *limit)
{
    double worst = 0;
    unsigned most = 0;
    sum_up(search, limit->users);
    limit->step_count = 0;
    for (size_t t = 0; t < search->total_count; t++)
        most = search->total[t].users > most ? search->total[t].users : most;
    for (unsigned n = 2; n <= most && limit->step_count < LIMIT_STEPS_MAX; n++) {
        struct limit_step *step = &limit->step[limit->step_count];
        if (fit_step(search, n, step, &worst))
            limit->step_count += limit->step_count == 0 ||
                                 fabs(step->bytes_per_s / step[-1].bytes_per_s - 1) > POLICY_SAME;
    }
    return limit->step_count > 0 && worst <= POLICY_SIMILAR;
}

/* True when a user that no run slowed gets more alone than several may lose: it goes elsewhere. */
static bool is_too_narrow(const struct search *search, const struct fit_limit *limit)
{
    double least = INFINITY;
    for (size_t i = 0; i < limit->step_count; i++)
        least = fmin(least, limit->step[i].bytes_per_s);
    return limit->candidate != FIT_NO_CANDIDATE &&
           search->fit->candidate[limit->candidate].unslowed * (1 - POLICY_SEVERAL) > least;
}

/* How many more flows of the run are as measured with the limit, the last; those that were so and
 * no longer are count twice. ret_explains: some are, and none of the limit's users is off. */
static long gain_in(struct search *search, const struct fit_run *run, const struct fit_limit *limit,
                    bool *ret_explains)
{
    double rate[SETS_FLOWS_MAX];
    long gain = 0;
    bool helps = false, is_off = false;
    share(search, run, search->fit->limit_count + 1, rate);
    for (size_t i = 0; i < run->count; i++) {
        bool was = is_met(search, run, run->result->predicted, i),
             is = is_met(search, run, rate, i);
        gain += is && !was ? 1 : was && !is ? -2 : 0;
        helps |= is && !was;
        is_off |= limit->users[run->flow[i]] && !is;
    }
    *ret_explains = helps && !is_off;
    return gain;
}

/* Fits the last limit, whose users are filled in. Returns how much it explains in all runs; 0 when
 * it does not explain this one. */
static long try_limit(struct search *search, const struct fit_run *run, struct fit_limit *limit)
{
    bool explains, its;
    long gain = 0;
    if (!fit_steps(search, limit) || is_too_narrow(search, limit))
        return 0;
    gain_in(search, run, limit, &explains);
    for (size_t t = 0; explains && t < search->total_count; t++)
        if (binds(limit, search->total[t].run))
            gain += gain_in(search, search->total[t].run, limit, &its);
    return gain;
}

/* ---- the search ---- */

/* True for a candidate with several users in the run, one slower, unless it is a limit already. One
 * of both directions does not explain users that all go one way: that direction's is to. */
static bool may_explain(const struct search *search, const struct fit_run *run, size_t candidate)
{
    const struct fit *fit = search->fit;
    const struct fit_candidate *its = &fit->candidate[candidate];
    size_t users = 0;
    bool has_slower = false, is_used = false,
         is_one_way[2] = {its->way[0] != NULL, its->way[1] != NULL};
    for (size_t i = 0; i < run->count; i++) {
        size_t flow = run->flow[i];
        users += its->users[flow];
        has_slower |=
            its->users[flow] && is_above(run->result->predicted[i], run->measured[i].bytes_per_s);
        for (int way = 0; way < 2 && its->users[flow]; way++)
            is_one_way[way] = is_one_way[way] && its->way[way][flow];
    }
    for (size_t i = 0; i < fit->limit_count; i++)
        is_used |= fit->limit[i].candidate == candidate;
    return its->is_one && users > 1 && has_slower && !is_used && !is_one_way[0] && !is_one_way[1];
}

/* The best limit for a run, with candidates that explain as much as its twins. Returns how much it
 * explains. */
static long best_limit(struct search *search, const struct fit_run *run, struct fit_limit *trial)
{
    const struct fit *fit = search->fit;
    struct fit_limit best;
    unsigned char *unnamed = fit->unnamed + fit->limit_count * fit->flow_count;
    long most = 0;
    trial->twin_count = 0;
    for (size_t c = 0; c < fit->candidate_count; c++) {
        if (!may_explain(search, run, c))
            continue;
        trial->users = fit->candidate[c].users;
        trial->candidate = c;
        long gain = try_limit(search, run, trial);
        if (gain > most) {
            most = gain;
            best = *trial;
        } else if (gain == most && most > 0 && best.twin_count < LIMIT_TWINS_MAX) {
            best.twin[best.twin_count++] = c;
        }
    }
    if (most > 0)
        *trial = best;
    if (most > 0 || search->by_total)
        return most;
    memset(unnamed, 0, fit->flow_count);
    for (size_t i = 0; i < run->count; i++)
        unnamed[run->flow[i]] |= is_slower(search, run, i);
    trial->users = unnamed;
    trial->candidate = FIT_NO_CANDIDATE;
    return try_limit(search, run, trial);
}

/* The smallest run that is slower than predicted; NULL none. */
static struct fit_run *next_run(const struct search *search)
{
    struct fit_run *next = NULL;
    for (size_t r = 0; r < search->fit->run_count; r++) {
        struct fit_run *run = &search->fit->run[r];
        bool slower = false;
        for (size_t i = 0; i < run->count && !run->is_given_up; i++)
            slower |= is_slower(search, run, i);
        next = slower && (next == NULL || run->count < next->count) ? run : next;
    }
    return next;
}

static void explain(struct search *search)
{
    struct fit *fit = search->fit;
    struct fit_run *run;
    for (size_t r = 0; r < fit->run_count; r++)
        fit->run[r].is_given_up = false;
    while (fit->limit_count < FIT_LIMITS_MAX && search->work < WORK_MAX &&
           (run = next_run(search)) != NULL) {
        struct fit_limit *trial = &fit->limit[fit->limit_count];
        run->is_given_up = best_limit(search, run, trial) <= 0;
        if (run->is_given_up)
            continue;
        fit->limit_count++;
        predict(search, trial);
    }
}

/* Fits each limit once more beside all others: limits found later explain steps of its table. */
static void fit_again(struct search *search)
{
    struct fit *fit = search->fit;
    for (size_t l = 0; l < fit->limit_count; l++) {
        struct fit_limit *limit = &fit->limit[l], before = *limit;
        limit->step_count = 0;
        predict(search, &before);
        if (!fit_steps(search, limit))
            *limit = before;
        predict(search, limit);
    }
}

bool limits_fit(struct fit *fit)
{
    struct search *search = calloc(1, sizeof *search);
    if (search == NULL)
        return false;
    search->fit = fit;
    search->total = calloc(fit->run_count + 1, sizeof *search->total);
    search->group = calloc(fit->flow_count + 1, sizeof *search->group);
    search->sim = sim_new(SETS_FLOWS_MAX, FIT_LIMITS_MAX + 1, 0);
    fit->unnamed = calloc((FIT_LIMITS_MAX + 1) * fit->flow_count + 1, 1);
    bool ok = search->total != NULL && search->group != NULL && search->sim != NULL &&
              fit->unnamed != NULL;
    for (size_t c = 0; ok && c < fit->candidate_count; c++)
        look_at(search, &fit->candidate[c]);
    if (ok) {
        predict(search, NULL);
        explain(search);
        fit_again(search);
        search->by_total = true;
        explain(search);
    }
    free(search->total);
    free(search->group);
    sim_free(search->sim);
    free(search);
    return ok;
}
