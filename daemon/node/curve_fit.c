/* A curve with break points x1 < x2 is t0 + s1 min(b, x1) + s2 (part of b between x1 and x2) + s3
 * (part above x2). Each coefficient has a column, and the curve is monotone exactly when no slope
 * is negative. Rows are divided by the measured time. So the sum of squares is that of relative
 * residuals, and the right-hand side is all ones. */
#include "node/curve_fit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "node/spread.h"

#define COLUMNS (CURVE_PIECES + 1)
/* the largest sizes' variance is this many times as large: more than chance */
#define EVENED_OUT 1.5

struct problem {
    const struct curve_sample *samples;
    size_t count;
};

/* A choice of break points with its solution. */
struct solution {
    size_t pieces;
    double at[CURVE_PIECES - 1]; /* break points, ascending */
    double coefficient[COLUMNS]; /* t0, slopes */
    double rss;                  /* sum of squared relative residuals */
};

static double column(const struct solution *s, size_t k, double bytes)
{
    if (k == 0)
        return 1;
    double from = k == 1 ? 0 : s->at[k - 2], to = k == s->pieces ? INFINITY : s->at[k - 1];
    return bytes <= from ? 0 : (bytes < to ? bytes : to) - from;
}

static double solution_time(const struct solution *s, double bytes)
{
    double time = 0;
    for (size_t k = 0; k <= s->pieces; k++)
        time += s->coefficient[k] * column(s, k, bytes);
    return time;
}

/* Solves gram x = right for the n columns in used, by elimination; the matrix is symmetric. It is
 * positive definite unless no size lies between two break points; false then. Columns have been
 * scaled to length one. */
static bool solve(double gram[COLUMNS][COLUMNS], const double *right, const size_t *used, size_t n,
                  double *x)
{
    double a[COLUMNS][COLUMNS];
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; k < n; k++)
            a[i][k] = gram[used[i]][used[k]];
        x[i] = right[used[i]];
    }
    for (size_t i = 0; i < n; i++) {
        if (!(a[i][i] > 1e-13))
            return false;
        double inverse = 1 / a[i][i];
        for (size_t j = i + 1; j < n; j++) {
            double factor = a[i][j] * inverse;
            for (size_t k = j; k < n; k++)
                a[j][k] -= factor * a[i][k];
            x[j] -= factor * x[i];
        }
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            x[i] -= a[i][k] * x[k];
        x[i] /= a[i][i];
    }
    return true;
}

struct normal {
    double gram[COLUMNS][COLUMNS], right[COLUMNS], length[COLUMNS];
};

static void make_normal(const struct problem *p, const struct solution *s, struct normal *ret)
{
    struct normal normal = {0};
    size_t n = s->pieces + 1;
    for (size_t i = 0; i < p->count; i++) {
        double row[COLUMNS];
        for (size_t k = 0; k < n; k++)
            row[k] = column(s, k, (double)p->samples[i].bytes) / p->samples[i].ns;
        for (size_t k = 0; k < n; k++) {
            normal.right[k] += row[k];
            for (size_t l = 0; l <= k; l++)
                normal.gram[k][l] += row[k] * row[l];
        }
    }
    for (size_t k = 0; k < n; k++)
        normal.length[k] = normal.gram[k][k] > 0 ? sqrt(normal.gram[k][k]) : 1;
    for (size_t k = 0; k < n; k++) {
        normal.right[k] /= normal.length[k];
        for (size_t l = 0; l <= k; l++) {
            normal.gram[k][l] /= normal.length[k] * normal.length[l];
            normal.gram[l][k] = normal.gram[k][l];
        }
    }
    *ret = normal;
}

static double sum_of_squares(const struct problem *p, const struct solution *s)
{
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) {
        double relative = solution_time(s, (double)p->samples[i].bytes) / p->samples[i].ns - 1;
        sum += relative * relative;
    }
    return sum;
}

/* True for a plausible curve: every transfer takes time, and the largest take longer than those
 * before. */
static bool makes_sense(const struct problem *p, const struct solution *s)
{
    double most = (double)p->samples[p->count - 1].bytes,
           grows = s->coefficient[s->pieces] * column(s, s->pieces, most);
    return s->coefficient[0] + s->coefficient[1] > 0 && grows > 1e-6 * solution_time(s, most);
}

/* Finds the best coefficients for the break points in s, none negative. Some are zero in the best
 * solution, so every set of zeros is tried. The first try has all of them free: it is the answer
 * when none is negative, and a lower bound otherwise. False without a plausible solution, or with
 * none with a sum of squares below bound. */
static bool solve_non_negative(const struct problem *p, struct solution *s, double bound)
{
    struct normal normal;
    struct solution best = *s;
    best.rss = INFINITY;
    make_normal(p, s, &normal);
    for (unsigned zero = 0; zero + 1 < 1u << (s->pieces + 1); zero++) {
        struct solution candidate = *s;
        size_t used[COLUMNS], n = 0;
        double x[COLUMNS];
        bool fits = true;
        memset(candidate.coefficient, 0, sizeof candidate.coefficient);
        for (size_t k = 0; k <= s->pieces; k++)
            if ((zero >> k & 1) == 0)
                used[n++] = k;
        fits = solve(normal.gram, normal.right, used, n, x);
        candidate.rss = (double)p->count;
        for (size_t i = 0; i < n && fits; i++)
            candidate.rss -= x[i] * normal.right[used[i]];
        if (fits && zero == 0 && candidate.rss >= bound)
            return false;
        for (size_t i = 0; i < n && fits; i++) {
            candidate.coefficient[used[i]] = x[i] / normal.length[used[i]];
            fits = x[i] >= 0;
        }
        if (!fits)
            continue;
        if (candidate.rss < best.rss)
            best = candidate;
        if (zero == 0)
            break;
    }
    if (isinf(best.rss) || !makes_sense(p, &best))
        return false;
    best.rss = sum_of_squares(p, &best); /* the difference above is inexact near zero */
    *s = best;
    return true;
}

static void consider(const struct problem *p, struct solution candidate, struct solution *best)
{
    for (size_t k = 0; k + 1 < candidate.pieces; k++)
        if (!(candidate.at[k] > (k == 0 ? (double)p->samples[0].bytes : candidate.at[k - 1])) ||
            !(candidate.at[k] < (double)p->samples[p->count - 1].bytes))
            return;
    if (solve_non_negative(p, &candidate, best->rss) && candidate.rss < best->rss)
        *best = candidate;
}

struct line {
    double t0, slope;
};

/* Fits the lines at both ends of the sizes first to last. These are one line, or the two that meet
 * at the size knot when that lies between. */
static bool fit_run(const struct problem *p, size_t first, size_t last, size_t knot,
                    struct line *ret_left, struct line *ret_right)
{
    struct problem run = {p->samples + first, last - first + 1};
    bool bent = knot > first && knot < last;
    struct solution s = {.pieces = bent ? 2 : 1, .at = {(double)p->samples[knot].bytes}};
    struct normal normal;
    double x[COLUMNS];
    static const size_t all[COLUMNS] = {0, 1, 2, 3};
    make_normal(&run, &s, &normal);
    if (run.count < s.pieces + 1 || !solve(normal.gram, normal.right, all, s.pieces + 1, x))
        return false;
    for (size_t k = 0; k <= s.pieces; k++)
        x[k] /= normal.length[k];
    *ret_left = (struct line){x[0], x[1]};
    *ret_right = bent ? (struct line){x[0] + (x[1] - x[2]) * s.at[0], x[2]} : *ret_left;
    return true;
}

/* Returns the intersection of two lines, if it is between the sizes k and k + 1; else NAN. */
static double meet(const struct problem *p, struct line left, struct line right, size_t k)
{
    double at = (right.t0 - left.t0) / (left.slope - right.slope);
    return at > (double)p->samples[k].bytes && at < (double)p->samples[k + 1].bytes ? at : NAN;
}

static void search_two(const struct problem *p, struct solution *best)
{
    size_t last = p->count - 1;
    for (size_t i = 1; i < last; i++) {
        struct line left, right, same;
        consider(p, (struct solution){.pieces = 2, .at = {(double)p->samples[i].bytes}}, best);
        if (i + 1 < last && fit_run(p, 0, i, 0, &same, &left) &&
            fit_run(p, i + 1, last, last, &right, &same))
            consider(p, (struct solution){.pieces = 2, .at = {meet(p, left, right, i)}}, best);
    }
}

/* Tries each of the two break points at a size, or in the gap above it: at = i, j or between them
 * and the next. */
static void search_three(const struct problem *p, struct solution *best)
{
    size_t last = p->count - 1;
    for (size_t i = 1; i < last; i++)
        for (size_t j = i + 1; j < last; j++) {
            double at_i = (double)p->samples[i].bytes, at_j = (double)p->samples[j].bytes;
            struct line a, b, c, d, same;
            consider(p, (struct solution){.pieces = 3, .at = {at_i, at_j}}, best);
            if (fit_run(p, 0, i, 0, &same, &a) && fit_run(p, i + 1, last, j, &b, &same))
                consider(p, (struct solution){.pieces = 3, .at = {meet(p, a, b, i), at_j}}, best);
            if (fit_run(p, 0, j, i, &same, &c) && fit_run(p, j + 1, last, last, &d, &same))
                consider(p, (struct solution){.pieces = 3, .at = {at_i, meet(p, c, d, j)}}, best);
            if (fit_run(p, 0, i, 0, &same, &a) && fit_run(p, i + 1, j, j, &b, &c) &&
                fit_run(p, j + 1, last, last, &d, &same))
                consider(p,
                         (struct solution){.pieces = 3, .at = {meet(p, a, b, i), meet(p, c, d, j)}},
                         best);
        }
}

static double criterion(const struct problem *p, const struct solution *s)
{
    /* t0, the slopes and the break points */
    double n = (double)p->count, parameters = 2 * (double)s->pieces;
    return n * log(fmax(s->rss / n, CURVE_NOISE * CURVE_NOISE)) + parameters * log(n);
}

/* Returns half the interval of the last slope. The slope is a weighted sum of the times, so their
 * errors add up in quadrature. The misfit at a size is added with twice its distance. */
static double last_half(const struct problem *p, const struct solution *s)
{
    struct normal normal;
    size_t used[COLUMNS], n = 0, last = 0;
    double x[COLUMNS], unit[COLUMNS] = {0}, sum = 0;
    for (size_t k = 0; k <= s->pieces; k++)
        if (s->coefficient[k] > 0 || k == s->pieces) {
            last = n;
            used[n++] = k;
        }
    make_normal(p, s, &normal);
    unit[s->pieces] = 1;
    if (!solve(normal.gram, unit, used, n, x))
        return NAN;
    for (size_t i = 0; i < p->count; i++) {
        const struct curve_sample *sample = &p->samples[i];
        double weight = 0, misfit = 2 * (solution_time(s, (double)sample->bytes) - sample->ns);
        for (size_t k = 0; k < n; k++)
            weight += x[k] / normal.length[used[k]] * column(s, used[k], (double)sample->bytes);
        weight /= normal.length[used[last]] * sample->ns * sample->ns;
        sum += weight * weight * (sample->half_ns * sample->half_ns + misfit * misfit);
    }
    return sqrt(sum);
}

/* Sets the spread of one more transfer of a size from from_bytes to to_bytes. Small ones are timed
 * in batches, which evens out single ones: a single one deviates as much as the largest do. */
static void set_spread(const struct problem *p, const struct solution *s, double to_bytes,
                       struct curve_piece *piece)
{
    double from_bytes = (double)piece->from_bytes;
    double deviation = 0, misfits = 0, all_deviation = 0, all_misfits = 0, top = 0;
    size_t count = 0, tops = p->count < 3 ? p->count : 3;
    uint32_t n = UINT32_MAX;
    for (size_t i = 0; i < p->count; i++) {
        const struct curve_sample *sample = &p->samples[i];
        double its = spread_deviation(sample->half_ns, sample->n) / sample->ns,
               misfit = solution_time(s, (double)sample->bytes) / sample->ns - 1;
        all_deviation += its * its;
        all_misfits += misfit * misfit;
        top += i + tops >= p->count ? its * its / (double)tops : 0;
        n = sample->n < n ? sample->n : n;
        if ((double)sample->bytes < from_bytes || (double)sample->bytes > to_bytes)
            continue;
        deviation += its * its;
        misfits += misfit * misfit;
        count++;
    }
    piece->spread = piece->misfit_spread = NAN;
    if (isnan(all_deviation))
        return;
    if (count < 3) {
        count = p->count;
        deviation = all_deviation;
        misfits = all_misfits;
    }
    double own = deviation / (double)count;
    piece->spread = spread_one(sqrt(top > EVENED_OUT * own ? top : own),
                               sqrt(misfits / (double)count), n, count);
    piece->misfit_spread = spread_one(0, sqrt(misfits / (double)count), n, count);
}

static void make_pieces(const struct problem *p, const struct solution *s, struct curve_fit *ret)
{
    struct curve_fit fit = {.last_half = last_half(p, s)};
    double t0 = s->coefficient[0];
    for (size_t k = 0; k < s->pieces; k++) {
        double slope = s->coefficient[k + 1], from = k == 0 ? 0 : s->at[k - 1];
        if (k > 0)
            t0 += (s->coefficient[k] - slope) * from;
        if (k > 0 && slope == s->coefficient[k])
            continue; /* no bend */
        fit.piece[fit.piece_count++] = (struct curve_piece){(int64_t)from, t0, slope, NAN, NAN};
    }
    for (size_t k = 0; k < fit.piece_count; k++)
        set_spread(p, s, k + 1 < fit.piece_count ? (double)fit.piece[k + 1].from_bytes : INFINITY,
                   &fit.piece[k]);
    for (size_t i = 0; i < p->count; i++)
        fit.residual =
            fmax(fit.residual,
                 fabs(solution_time(s, (double)p->samples[i].bytes) / p->samples[i].ns - 1));
    *ret = fit;
}

bool curve_fit(const struct curve_sample *samples, size_t count, struct curve_fit *ret_fit)
{
    const struct problem p = {samples, count};
    struct solution best[CURVE_PIECES];
    size_t most = count >= 6 ? 3 : count >= 3 ? 2 : 1, chosen = 0;
    if (count < 2 || count > CURVE_SIZES_MAX)
        return false;
    for (size_t k = 0; k < CURVE_PIECES; k++)
        best[k] = (struct solution){.pieces = k + 1, .rss = INFINITY};
    consider(&p, best[0], &best[0]);
    for (size_t k = 1; k < most; k++) {
        if (best[chosen].rss / (double)count <= CURVE_NOISE * CURVE_NOISE)
            break; /* only noise is left for more pieces to explain */
        if (k == 1)
            search_two(&p, &best[k]);
        else
            search_three(&p, &best[k]);
        if (!isinf(best[k].rss) &&
            (isinf(best[chosen].rss) || criterion(&p, &best[k]) < criterion(&p, &best[chosen])))
            chosen = k;
    }
    struct solution *s = &best[chosen];
    if (isinf(s->rss))
        return false;
    /* Break points are whole bytes on the wire; the curve is made to meet there. */
    for (size_t k = 0; k + 1 < s->pieces; k++)
        s->at[k] = round(s->at[k]);
    if (!solve_non_negative(&p, s, INFINITY))
        return false;
    make_pieces(&p, s, ret_fit);
    return true;
}

static const struct curve_piece *piece_of(const struct curve_fit *fit, double bytes)
{
    size_t k = fit->piece_count - 1;
    while (k > 0 && bytes < (double)fit->piece[k].from_bytes)
        k--;
    return &fit->piece[k];
}

double curve_fit_time_ns(const struct curve_fit *fit, double bytes)
{
    const struct curve_piece *piece = piece_of(fit, bytes);
    return piece->t0_ns + bytes * piece->ns_per_byte;
}

double curve_fit_called_ns(double queued_ns, double t0_call_ns, double t0_queue_ns)
{
    double more_ns = t0_call_ns - t0_queue_ns;
    if (!(more_ns < 0))
        return queued_ns + more_ns;
    queued_ns = fmax(queued_ns, t0_queue_ns);
    return queued_ns + fmin(more_ns + queued_ns - t0_queue_ns, 0);
}

double curve_fit_spread(const struct curve_fit *fit, double bytes)
{
    return piece_of(fit, bytes)->spread;
}

double curve_fit_spread_mean(const struct curve_fit *fit, double bytes, double count)
{
    const struct curve_piece *piece = piece_of(fit, bytes);
    double fixed = piece->misfit_spread * piece->misfit_spread,
           own = piece->spread * piece->spread - fixed;
    return sqrt(fixed + own / fmax(count, 1));
}
