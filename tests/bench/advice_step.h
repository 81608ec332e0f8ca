/**
 * What advice_run.c carries out: flows over the memories of a node's GPUs and of its host, by the
 * driver's calls. Errors end the program with a line.
 *
 * Times are nanoseconds. Flows are the caller's; where their bytes lie is found anew each time, in
 * memory that was made for them before. One thread, but for the callers of a step.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/driver/node.h"

#define ADVICE_FLOWS_MAX   512
#define ADVICE_HOPS_MAX    3
#define ADVICE_SLOTS       4
#define ADVICE_STREAMS_MAX 128
#define ADVICE_EXIT        70 /* the program's, after an error's line */

enum host_kind { HOST_PINNED, HOST_SYSTEM, HOST_MANAGED, HOST_KIND_COUNT };
enum region { REGION_FROM, REGION_TO, REGION_BETWEEN, REGION_COUNT };

/* Memory of one place. What follows each other lies behind each other, so that no cache has it. */
struct memory {
    gpu_address base[REGION_COUNT]; /* 0: not made yet */
    uint64_t next[REGION_COUNT];
};

struct stream {
    gpu_stream stream;
    gpu_event start, end, full[ADVICE_SLOTS], empty[ADVICE_SLOTS];
};

struct bench {
    struct gpu_node node;
    uint64_t bytes;
    struct memory device[GPU_DEVICES_MAX], host[GPU_NUMAS_MAX][HOST_KIND_COUNT];
    struct stream stream[GPU_DEVICES_MAX][ADVICE_STREAMS_MAX];
    int stream_count[GPU_DEVICES_MAX], used[GPU_DEVICES_MAX];
    /* of the step under way: hops that are kernels, which share the device's room */
    unsigned kernels[GPU_DEVICES_MAX];
    _Atomic uint32_t *word; /* what gates wait for */
    uint32_t turn;
    bool in_turn;
    int current; /* the device that calls of the main thread go to; -1 none yet */
};

struct end {
    int device, numa; /* one of them is -1 */
    enum host_kind kind;
};

struct hop {
    char kind;
    struct end from, to;
    int device;
    struct stream *stream; /* of the step under way */
};

struct flow {
    uint64_t bytes, chunk;
    struct hop hop[ADVICE_HOPS_MAX];
    int hop_count;
    size_t caller;
    uint64_t chunk_now;
    gpu_address source, target, slots[ADVICE_HOPS_MAX]; /* of this time */
};

_Noreturn void advice_step_die(const char *what, const char *why);
void advice_step_must(const struct bench *bench, int code, const char *what);

/* The calling thread's calls go to the device from then on; current is where they go, -1 nowhere
 * yet. Not again what is current already: it would be in the times. */
void advice_step_enter(const struct bench *bench, int device, int *current);

/* That memory is there from then on, so that no step has to wait for it. */
void advice_step_make(struct bench *bench, struct end end, enum region region);

/* All flows begin at the same moment, behind a gate in each stream: to the end of the last, by the
 * devices' clocks. */
double advice_step_held(struct bench *bench, struct flow *flows, size_t count);

/* Launch to synchronised by the caller's clock of the first count flows; others more begin with the
 * first launch. */
double advice_step_call(struct bench *bench, struct flow *flows, size_t count, size_t others);

/* Each caller's flows, which follow each other: from the common begin to the last caller's having
 * seen its flows end. */
double advice_step_callers(struct bench *bench, struct flow *flows, size_t count);

/* The flows of one caller alone, for a process that has no other: where the bytes of this time lie;
 * and from the begin to having seen the flows end. */
void advice_step_prepare(struct bench *bench, struct flow *flows, size_t count);
void advice_step_alone(struct bench *bench, const struct flow *flows, size_t count);
