/**
 * The time of a kernel that streams over a GPU's own memory, by the streaming model: T0 + B / Wmax.
 * N. Chalmers and T. Warburton, "Portable high-order finite element kernels I: Streaming
 * Operations". Pure; any thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cost/estimate.h"
#include "node/curve.h"
#include "node/snapshot.h"

/* bs1 copy, bs2 axpy, bs3 norm, bs4 dot, bs5 fused CG update, bs6 gather, bs7 scatter */
#define KERNEL_TIME_TESTS 7
#define KERNEL_TIME_MESH  6 /* from here on over a mesh of elements */

#define KERNEL_TIME_DEGREE 7 /* of elements, where none is given */

/* Entries of an element's vector, the fewest of bs6 and bs7. */
double kernel_time_element_dofs(int degree);

/* Model of one test on one GPU, with the measurements behind it. */
struct kernel_time {
    const struct value *value;      /* of the snapshot: Wmax; NULL: the test is unknown */
    const struct curve *curve;      /* of the snapshot: of its measured sizes; NULL none */
    double t0_queue_ns, t0_call_ns; /* behind another kernel, and by the caller; NAN unknown */
    double one;                     /* relative deviation of one repetition; 0 unknown */
};

/* test: 1 to KERNEL_TIME_TESTS; degree: of the elements of bs6 and bs7, unused otherwise. */
struct kernel_time kernel_time_find(const struct snapshot *snap, place_id gpu, int test,
                                    int degree);

/* Returns the bytes that a test reads and writes over vectors of so many doubles, as gpu_stream
 * counts them. bs6 and bs7: the vector of the mesh, a cube of elements. */
double kernel_time_bytes(int test, int degree, double dofs);

/* Returns the test, of those that the GPU knows, whose share of written bytes is nearest; the first
 * of equals. Returns 0 when the GPU knows none. */
int kernel_time_like(const struct snapshot *snap, place_id gpu, double reads, double writes);

/* Returns the time of one kernel behind another, and by the caller's clock alone. Without T0 the
 * first takes at least so long; the second is NAN. */
struct estimate kernel_time_queued(const struct kernel_time *kernel, double bytes);
struct estimate kernel_time_called(const struct kernel_time *kernel, double bytes);

/* Returns the bytes from which a kernel with that T0 reaches 80 % of Wmax: 4 T0 Wmax. */
double kernel_time_b80_bytes(const struct kernel_time *kernel, double t0_ns);
double kernel_time_wmax_bytes_per_s(const struct kernel_time *kernel);
