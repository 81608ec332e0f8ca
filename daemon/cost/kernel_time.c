#include "cost/kernel_time.h"

#include <math.h>
#include <stdio.h>

#include "cost/limits.h"
#include "node/spread.h"

#define WORD  8.0 /* a double */
#define INDEX 4.0 /* of a node, and where a row starts */

/* Vectors read and vectors written. */
static const struct {
    int reads, writes;
} moved[KERNEL_TIME_MESH] = {{0, 0}, {1, 1}, {2, 1}, {1, 0}, {2, 0}, {4, 2}};

/* Writes the axes in canonical form. */
static void write_axes(int test, int degree, char *ret, size_t size)
{
    *ret = '\0';
    if (test >= KERNEL_TIME_MESH && degree != KERNEL_TIME_DEGREE)
        snprintf(ret, size, "degree=%d;test=bs%d", degree, test);
    else if (test > 1)
        snprintf(ret, size, "test=bs%d", test);
}

struct kernel_time kernel_time_find(const struct snapshot *snap, place_id gpu, int test, int degree)
{
    char axes[48];
    write_axes(test, degree, axes, sizeof axes);
    const struct curves *curves = snap->derived.curves;
    struct kernel_time kernel = {.value =
                                     values_find(snap->values, METRIC_GPU_STREAM, gpu, gpu, axes),
                                 .curve = curve_find(curves, METRIC_GPU_STREAM, gpu, gpu, axes),
                                 .t0_queue_ns = NAN,
                                 .t0_call_ns = NAN,
                                 .one = snap->derived.limits->own[1]};
    struct overhead start = overheads_find(curves->overheads, METRIC_GPU_STREAM, gpu, gpu, axes);
    if (start.clock[TRANSFER_QUEUE] != NULL)
        kernel.t0_queue_ns = start.clock[TRANSFER_QUEUE]->value;
    else if (kernel.curve != NULL)
        kernel.t0_queue_ns = kernel.curve->fit.piece[0].t0_ns;
    if (start.clock[TRANSFER_CALL] != NULL)
        kernel.t0_call_ns = start.clock[TRANSFER_CALL]->value;
    return kernel;
}

double kernel_time_element_dofs(int degree) { return pow(degree + 1, 3); }

double kernel_time_bytes(int test, int degree, double dofs)
{
    if (test < KERNEL_TIME_MESH)
        return dofs * WORD * (moved[test].reads + moved[test].writes);
    double side = (cbrt(dofs) - 1) / degree;
    return pow(side, 3) * kernel_time_element_dofs(degree) * (WORD + INDEX) +
           dofs * (WORD + INDEX) + INDEX;
}

/* Share of the bytes that are written. A gather reads the elements' values and the index, and
 * writes the rows; a scatter the reverse: of long vectors. */
static double share_of(int test)
{
    double nodes = kernel_time_element_dofs(KERNEL_TIME_DEGREE), rows = pow(KERNEL_TIME_DEGREE, 3),
           all = (nodes + rows) * (WORD + INDEX);
    return test == 6   ? rows * WORD / all
           : test == 7 ? nodes * WORD / all
                       : (double)moved[test].writes / (moved[test].reads + moved[test].writes);
}

int kernel_time_like(const struct snapshot *snap, place_id gpu, double reads, double writes)
{
    int like = 0;
    double share = writes / (reads + writes);
    for (int test = 1; test <= KERNEL_TIME_TESTS; test++)
        if (kernel_time_find(snap, gpu, test, KERNEL_TIME_DEGREE).value != NULL &&
            (like == 0 || fabs(share_of(test) - share) < fabs(share_of(like) - share)))
            like = test;
    return like;
}

double kernel_time_wmax_bytes_per_s(const struct kernel_time *kernel)
{
    return kernel->curve != NULL ? curve_wmax_bytes_per_s(kernel->curve) : kernel->value->value;
}

double kernel_time_b80_bytes(const struct kernel_time *kernel, double t0_ns)
{
    return 4 * t0_ns * 1e-9 * kernel_time_wmax_bytes_per_s(kernel);
}

/* Returns half the 95 % interval of one more kernel, relative to its time; NAN unknown. */
static double spread_of(const struct kernel_time *kernel, double bytes)
{
    const struct value *value = kernel->value;
    if (kernel->curve != NULL) { /* sizes that were timed many at once say little of one */
        double fitted = curve_fit_spread(&kernel->curve->fit, bytes);
        return isnan(fitted) ? fitted : fmax(fitted, spread_one(kernel->one, 0, value->n, 2));
    }
    return value->source == VALUE_MEASURED && value->high >= value->low && value->low > 0
               ? spread_cell_among((value->high - value->low) / 2 / value->value, value->n,
                                   kernel->one)
               : NAN;
}

struct estimate kernel_time_queued(const struct kernel_time *kernel, double bytes)
{
    bool starts = !isnan(kernel->t0_queue_ns);
    double time_ns = kernel->curve != NULL
                         ? curve_time_ns(kernel->curve, bytes)
                         : (starts ? kernel->t0_queue_ns : 0) + bytes * 1e9 / kernel->value->value;
    double spread = starts || kernel->curve != NULL ? spread_of(kernel, bytes) : NAN;
    struct estimate time =
        estimate_of(time_ns, time_ns * (1 - fmin(spread, 1)), time_ns * (1 + spread));
    if (isnan(spread))
        time.low_ns = NAN;
    time.value = kernel->value;
    time.source =
        starts || kernel->curve != NULL ? estimate_source(kernel->value) : SOURCE_LOWER_BOUND;
    return estimate_at_least(time);
}

struct estimate kernel_time_called(const struct kernel_time *kernel, double bytes)
{
    struct estimate time = kernel_time_queued(kernel, bytes);
    double half_ns = time.high_ns - time.time_ns;
    time.time_ns = curve_fit_called_ns(time.time_ns, kernel->t0_call_ns, kernel->t0_queue_ns);
    time.low_ns = isnan(half_ns) ? NAN : fmax(time.time_ns - half_ns, 0);
    time.high_ns = time.time_ns + half_ns;
    return time;
}
