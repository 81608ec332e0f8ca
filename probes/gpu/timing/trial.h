/**
 * Timing of transfers, alone or together.
 *
 * A flow is a number of equal operations, one after the other, on one stream of one device. A trial
 * holds all its flows' streams by a kernel that waits for a word in host memory. It enqueues start
 * event, operations and stop event on each, and then releases all at once. So no time contains the
 * host's launches. Without kernels the streams are not held, and times of small operations follow
 * the host's pace. node->kernels_why reports it in the run's conditions.
 *
 * A flow's time contains the wait of its first operation and the cost of an event (microseconds, as
 * much as a small operation). gpu/timing/rate.h and gpu/timing/work.h take differences of two
 * queues, which cancels both.
 *
 * One thread at a time.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/driver/node.h"

#define GPU_TRIAL_FLOWS_MAX 128

enum gpu_mechanism { GPU_BY_ENGINE, GPU_BY_KERNEL };
enum gpu_operation { GPU_OPERATION_READ, GPU_OPERATION_WRITE, GPU_OPERATION_COPY };

/* One operation. A read has no target, a write no source; both only by kernel. */
struct gpu_op {
    int device; /* device that runs the operation */
    enum gpu_mechanism mechanism;
    enum gpu_operation operation;
    gpu_address to, from;
    int to_device, from_device; /* -1: host memory */
    uint64_t bytes;
    struct gpu_shape shape; /* by kernel */
};

struct gpu_flow {
    struct gpu_op op;
    unsigned count; /* operations, back to back */
    /* distance in bytes between the starts of two operations, within span; 0: all on the same
     * bytes */
    uint64_t advance;
    uint64_t span;   /* range of to and of from; at least op.bytes */
    double ns;       /* result: from the start of the first to the end of the last */
    double began_ns; /* result: after the first flow of the trial on the same device began */
};

struct gpu_trial; /* streams' gates, events, the word */

/* Prepares each device. One that cannot provide a needed object becomes unusable with its why; the
 * others stay usable. False: none is left, or one is lost (err->fault GPU_FAULT_LOST); err gives
 * the last failure. */
bool gpu_trial_new(struct gpu_node *node, struct gpu_trial **ret_trial, struct gpu_err *err);
void gpu_trial_free(struct gpu_trial *trial); /* NULL is fine */

/* The node of the trial, borrowed. */
const struct gpu_node *gpu_trial_node(const struct gpu_trial *trial);

/* Runs the flows together once. At most GPU_TRIAL_FLOWS_MAX flows, GPU_STREAMS on one device.
 * False: a call failed, of kind err->fault; after GPU_FAULT_LOST nothing more works. Excludes
 * copies in which the host takes part (pageable memory): such a copy would wait for itself. */
bool gpu_trial_run(struct gpu_trial *trial, struct gpu_flow *flows, size_t count,
                   struct gpu_err *err);

/* Time of one operation by the caller's clock: launch to synchronised, nothing else in the
 * stream. */
bool gpu_trial_call(struct gpu_trial *trial, const struct gpu_op *op, double *ret_ns,
                    struct gpu_err *err);

/* Puts one operation into a stream of the entered device, at this offset in bytes from op's
 * addresses. Returns the runtime's code. */
int gpu_trial_enqueue(const struct gpu_trial *trial, const struct gpu_op *op, uint64_t offset,
                      gpu_stream stream);

/* Keeps a stream of the entered device busy for at least this time. Returns the runtime's code. */
int gpu_trial_delay(const struct gpu_trial *trial, int device, uint64_t ns, gpu_stream stream);

/* Any other work on a device, timed in the same manner: enqueue is called with its stream held. */
typedef int (*gpu_enqueue)(void *arg, gpu_stream stream);
bool gpu_trial_time(struct gpu_trial *trial, int device, gpu_enqueue enqueue, void *arg,
                    double *ret_ns, struct gpu_err *err);

/* Several tasks together, at most GPU_STREAMS on one device, such as kernels of two devices that
 * wait for each other. All are released when all are enqueued. One thread enqueues them, so none
 * may wait for the host. */
struct gpu_task {
    int device;
    gpu_enqueue enqueue;
    void *arg;
    double ns; /* result */
};
bool gpu_trial_tasks(struct gpu_trial *trial, struct gpu_task *tasks, size_t count,
                     struct gpu_err *err);
