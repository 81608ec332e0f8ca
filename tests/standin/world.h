/**
 * The virtual node at work: a clock that only calls and waits advance, streams with their
 * operations, and the sharing of resources among those that move bytes.
 *
 * Everything here is called with the lock held (world_enter). Times are ns since the start of the
 * process; the host and all devices have one clock. An operation takes ns before its first byte,
 * then its bytes at the rate that share.h gives it among all that move at that moment; its effect
 * on real bytes happens when it ends. The same calls give the same times, on any machine.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "memory.h"
#include "model.h"
#include "share.h"

enum world_kind {
    WORLD_MOVE,     /* bytes through resources, or only time */
    WORLD_GATE,     /* until a word of memory is large enough */
    WORLD_RECORD,   /* an event happens */
    WORLD_AFTER,    /* waits for one */
    WORLD_PINGPONG, /* with another one, or with the host */
    WORLD_STUCK     /* never ends */
};

struct world;
struct world_op;
typedef void (*world_effect)(struct world *world, struct world_op *op);

struct world_event {
    struct world_event *next;
    unsigned references;
    bool is_timed;
    uint64_t recorded, happened; /* numbers of records asked for and done */
    double ns;
};

struct world_op {
    struct world_op *next; /* of its stream */
    enum world_kind kind;
    int device;
    double ns;    /* before the first byte */
    double bytes; /* 0: only time */
    /* of the device that a streaming kernel's blocks fill, at most 1: it begins when there is
     * room beside those that run */
    double part;
    struct share_flow flow;
    world_effect effect;     /* NULL: none */
    uint64_t args[16];       /* the effect's: a kernel's structure */
    uint64_t from, to, size; /* the same of copies */
    unsigned test;           /* of berth_bs1 ... */
    double load_ns;          /* of a chase */
    bool wrong;
    struct world_event *event;
    uint64_t record;
    /* gates and flags */
    int place[2]; /* where mine and theirs are */
    volatile _Atomic uint32_t *mine, *theirs;
    uint32_t value;
    double limit_ns;
    uint64_t rounds, round, skip;
    bool first;
    double round_ns;        /* with the host */
    struct world_op *other; /* the partner, once there is one */
    double counted_ns;      /* pingpong: when round `skip` began, then what the rest took */
    bool alone;             /* it plays with the host, or waits for somebody */
    bool running, moving;
    double began, ends; /* ends: of what it does now, as far as is known */
};

struct world_stream {
    struct world_stream *next;
    int device;
    struct world_op *head, *tail;
};

struct world_device {
    bool open;
    int contexts;
    int lost;   /* code that every call gives from now on */
    int sticky; /* the same, until its contexts are closed */
    bool peers[MODEL_DEVICES_MAX];
    struct world_stream *stream; /* the default one */
};

struct world {
    const struct model *model;
    struct memory *memory;
    double now;
    bool initialised;
    bool has_blits; /* copies between devices are made by kernels */
    struct world_device device[MODEL_DEVICES_MAX];
    struct world_stream *streams;
    struct world_event *events;
    uint64_t operations; /* so far; seeds their noise */
    unsigned *fault_counts;
    struct share_room *room;
    bool has_player; /* a thread plays with the host: world_flags.h */
    bool changed;    /* who moves, since rates were last computed */
};

/* The one world of this process, made at the first call from the description that BERTH_STANDIN
 * names. A description that cannot be used ends the process with status 71 and one line on standard
 * error. */
struct world *world_enter(void);
void world_leave(struct world *world);
/* Whether the calling thread is within: what a library that is called there asks of the host is the
 * machine's. */
bool world_is_inside(void);

struct world_stream *world_stream_new(struct world *world, int device);
bool world_stream_is(const struct world *world, const struct world_stream *stream);
/* what is in it is dropped */
void world_stream_free(struct world *world, struct world_stream *stream);
struct world_event *world_event_new(struct world *world);
bool world_event_is(const struct world *world, const struct world_event *event);
void world_event_free(struct world *world, struct world_event *event);

/* A new operation at the end of the stream; NULL: out of memory. The caller sets it up at once,
 * before the lock is left. */
struct world_op *world_push(struct world_stream *stream, enum world_kind kind);
/* Adds the way to what the operation uses, and bounds its rate by it: so many of its bytes go that
 * way for each byte of the operation. */
void world_use(struct world_op *op, const struct model_path *path, double scale);

/* The clock alone: nothing begins or ends. */
void world_elapse(struct world *world, double ns);
/* The host spends ns. */
void world_pass(struct world *world, double ns);
/* The host waits until the stream is empty, or the event happened: for ever when that never comes.
 * May leave the lock for a moment. */
void world_wait_stream(struct world *world, struct world_stream *stream);
void world_wait_event(struct world *world, struct world_event *event, uint64_t record);
/* Everything that can happen now, without any time. */
void world_settle(struct world *world);
