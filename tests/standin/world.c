#include "world.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "world_flags.h"

#define FLOWS_MAX 512

/* One number for each operation, the same for the same order of calls: standard normal, by the sum
 * of twelve uniform ones. */
static double noise_of(const struct world *world)
{
    uint64_t state = world->model->seed * 0x9e3779b97f4a7c15ULL + world->operations;
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        state += 0x9e3779b97f4a7c15ULL;
        uint64_t x = state;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        sum += (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
    }
    return fmax(0.2, 1 + world->model->noise * sum);
}

/* ---- what is in streams ---- */

struct world_stream *world_stream_new(struct world *world, int device)
{
    struct world_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL)
        return NULL;
    *stream = (struct world_stream){.next = world->streams, .device = device};
    return world->streams = stream;
}

bool world_stream_is(const struct world *world, const struct world_stream *stream)
{
    for (const struct world_stream *own = world->streams; own != NULL; own = own->next)
        if (own == stream)
            return true;
    return false;
}

struct world_event *world_event_new(struct world *world)
{
    struct world_event *event = calloc(1, sizeof *event);
    if (event == NULL)
        return NULL;
    *event = (struct world_event){.next = world->events, .references = 1};
    return world->events = event;
}

bool world_event_is(const struct world *world, const struct world_event *event)
{
    for (const struct world_event *own = world->events; own != NULL; own = own->next)
        if (own == event)
            return true;
    return false;
}

static void release(struct world_event *event)
{
    if (--event->references == 0)
        free(event);
}

void world_event_free(struct world *world, struct world_event *event)
{
    for (struct world_event **own = &world->events; *own != NULL; own = &(*own)->next)
        if (*own == event) {
            *own = event->next;
            release(event);
            return;
        }
}

static void pop(struct world *world, struct world_stream *stream)
{
    struct world_op *op = stream->head;
    stream->head = op->next;
    if (stream->head == NULL)
        stream->tail = NULL;
    if (op->event != NULL)
        release(op->event);
    if (op->other != NULL)
        op->other->other = NULL;
    world->changed |= op->moving;
    free(op);
}

void world_stream_free(struct world *world, struct world_stream *stream)
{
    for (struct world_stream **own = &world->streams; *own != NULL; own = &(*own)->next)
        if (*own == stream) {
            *own = stream->next;
            break;
        }
    while (stream->head != NULL)
        pop(world, stream);
    free(stream);
}

struct world_op *world_push(struct world_stream *stream, enum world_kind kind)
{
    struct world_op *op = calloc(1, sizeof *op);
    if (op == NULL)
        return NULL;
    *op = (struct world_op){.kind = kind,
                            .device = stream->device,
                            .flow = {.limit = INFINITY, .rank = (unsigned)stream->device}};
    if (stream->tail != NULL)
        stream->tail->next = op;
    else
        stream->head = op;
    return stream->tail = op;
}

void world_use(struct world_op *op, const struct model_path *path, double scale)
{
    struct share_flow *flow = &op->flow;
    flow->limit = fmin(flow->limit, path->limit / scale);
    op->ns = fmax(op->ns, path->ns);
    op->wrong |= path->wrong;
    for (size_t i = 0; i < path->use_count; i++) {
        size_t k = 0;
        while (k < flow->use_count && flow->use[k].resource != path->use[i].resource)
            k++;
        if (k == flow->use_count)
            flow->use[flow->use_count++].resource = path->use[i].resource;
        flow->use[k].weight += path->use[i].weight * scale;
    }
}

/* ---- time ---- */

static void begin(struct world *world, struct world_op *op)
{
    double noise = world->model->noise > 0 ? noise_of(world) : 1;
    world->operations++;
    op->running = true;
    op->began = world->now;
    if (op->kind == WORLD_MOVE) {
        op->ns *= noise;
        op->bytes *= noise;
        op->ends = world->now + op->ns;
    } else if (op->kind == WORLD_GATE || op->kind == WORLD_PINGPONG)
        op->ends = world->now + op->limit_ns;
    else if (op->kind == WORLD_RECORD) {
        op->event->happened = op->record;
        op->event->ns = world->now;
        op->ends = world->now + (op->event->is_timed ? world->model->event_ns : 0);
    } else
        op->ends = INFINITY;
    if (op->kind == WORLD_PINGPONG)
        world_flags_begin(world, op);
}

static bool has_room(const struct world *world, const struct world_op *op)
{
    double taken = 0;
    for (const struct world_stream *stream = world->streams; stream != NULL && op->part > 0;
         stream = stream->next)
        if (stream->head != NULL && stream->head->running && stream->head->device == op->device)
            taken += stream->head->part;
    return taken + op->part <= 1 + 1e-9;
}

/* Whether the first operation of a stream is over now, which may only begin its bytes. */
static bool is_over(struct world *world, struct world_op *op)
{
    switch (op->kind) {
    case WORLD_GATE:
        return (int32_t)(atomic_load(op->mine) - op->value) >= 0 || world->now >= op->ends;
    case WORLD_RECORD:
        return world->now >= op->ends;
    case WORLD_AFTER:
        if (isinf(op->ends) && op->event->happened >= op->record)
            op->ends = world->now + world->model->wait_ns +
                       (world->now > op->began ? world->model->wake_ns : 0);
        return world->now >= op->ends;
    case WORLD_PINGPONG:
        return world_flags_over(world, op) || world->now >= op->ends;
    case WORLD_MOVE:
        if (!op->moving && world->now >= op->ends && op->bytes > 0) {
            op->moving = world->changed = true;
            op->ends = INFINITY;
        }
        return world->now >= op->ends;
    case WORLD_STUCK:
        break;
    }
    return false;
}

static void finish(struct world *world, struct world_stream *stream)
{
    struct world_op *op = stream->head;
    if (op->kind == WORLD_PINGPONG)
        world_flags_end(world, op);
    if (op->effect != NULL)
        op->effect(world, op);
    pop(world, stream);
}

void world_settle(struct world *world)
{
    for (bool more = true; more;) {
        more = false;
        for (struct world_stream *stream = world->streams; stream != NULL; stream = stream->next)
            while (stream->head != NULL) {
                if (!stream->head->running && !has_room(world, stream->head))
                    break;
                if (!stream->head->running) {
                    begin(world, stream->head);
                    /* another stream may wait for that */
                    more |= stream->head->kind == WORLD_RECORD;
                }
                if (!is_over(world, stream->head))
                    break;
                finish(world, stream);
                more = true;
            }
    }
}

static void rate_flows(struct world *world)
{
    struct world_op *ops[FLOWS_MAX];
    struct share_flow *flows[FLOWS_MAX];
    size_t count = 0;
    for (struct world_stream *stream = world->streams; stream != NULL; stream = stream->next)
        if (stream->head != NULL && stream->head->moving && count < FLOWS_MAX) {
            ops[count] = stream->head;
            flows[count++] = &stream->head->flow;
        }
    share_rates(world->model->discipline, world->model->resources, world->model->resource_count,
                world->room, flows, count);
    for (size_t i = 0; i < count; i++)
        ops[i]->ends = world->now + ops[i]->bytes / ops[i]->flow.rate * 1e9;
    world->changed = false;
}

/* When something happens next by itself, INFINITY never. */
static double next_ns(struct world *world)
{
    double next = INFINITY;
    if (world->changed)
        rate_flows(world);
    for (struct world_stream *stream = world->streams; stream != NULL; stream = stream->next)
        if (stream->head != NULL && stream->head->running)
            next = fmin(next, stream->head->ends);
    return next;
}

void world_elapse(struct world *world, double ns)
{
    if (world->changed)
        rate_flows(world);
    for (struct world_stream *stream = world->streams; stream != NULL; stream = stream->next)
        if (stream->head != NULL && stream->head->moving)
            stream->head->bytes -= stream->head->flow.rate * ns * 1e-9;
    world->now += ns;
}

/* The time is set, not added up: what ends then compares with it. */
static void move_to(struct world *world, double ns)
{
    if (ns > world->now) {
        world_elapse(world, ns - world->now);
        world->now = ns;
    }
    world_settle(world);
}

void world_pass(struct world *world, double ns)
{
    double until = world->now + ns;
    world_settle(world);
    for (double next; (next = next_ns(world)) <= until;)
        move_to(world, next);
    move_to(world, until);
}

/* Really: nanosleep() is the virtual clock's. */
static void rest(long ns) { syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = ns}, NULL); }

/* One step of a wait. A kernel that may be playing with a thread of the host is given time to. */
static void wait_step(struct world *world)
{
    world_settle(world);
    if (world_flags_waiting(world)) {
        uint64_t seen = world_flags_rounds(world);
        for (int i = 0; i < 2000 && world_flags_waiting(world) && world_flags_rounds(world) == seen;
             i++) {
            world_leave(world);
            rest(i < 100 ? 1000 : 100000);
            world_enter();
            world_settle(world);
        }
        if (world_flags_rounds(world) != seen)
            return;
    }
    double next = next_ns(world);
    if (next < INFINITY) {
        move_to(world, next);
        return;
    }
    world_leave(world);
    rest(1000000);
    world_enter();
}

void world_wait_stream(struct world *world, struct world_stream *stream)
{
    world_settle(world);
    while (world_stream_is(world, stream) && stream->head != NULL)
        wait_step(world);
}

void world_wait_event(struct world *world, struct world_event *event, uint64_t record)
{
    world_settle(world);
    while (event->happened < record)
        wait_step(world);
}

/* ---- the world of this process ---- */

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    struct world *world;
} own = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_inside;

bool world_is_inside(void) { return is_inside; }

static bool is_set(const char *name, const char *value)
{
    const char *own_value = getenv(name);
    return own_value != NULL && strcmp(own_value, value) == 0;
}

static void make_world(void)
{
    is_inside = true;
    const char *path = getenv("BERTH_STANDIN");
    char why[256] = "BERTH_STANDIN names no description of a node";
    struct model *model = NULL;
    struct world *world = calloc(1, sizeof *world);
    if (world != NULL && path != NULL && model_read(path, &model, why, sizeof why)) {
        /* As HIP reads its environment when it starts. */
        bool hip = strcmp(model->api, "hip") == 0;
        model->migrate = hip && !is_set("HSA_XNACK", "1") ? 0 : model->migrate;
        world->has_blits =
            hip && (is_set("HSA_ENABLE_SDMA", "0") || is_set("HSA_ENABLE_PEER_SDMA", "0"));
        world->model = model;
        world->memory = memory_new(model);
        world->fault_counts = calloc(model->fault_count + 1, sizeof *world->fault_counts);
        world->room = calloc(model->resource_count + 1, sizeof *world->room);
        if (world->memory != NULL && world->fault_counts != NULL && world->room != NULL) {
            own.world = world;
            is_inside = false;
            return;
        }
    }
    fprintf(stderr, "stand-in: %s\n", why);
    _exit(71);
}

struct world *world_enter(void)
{
    pthread_once(&own.once, make_world);
    pthread_mutex_lock(&own.lock);
    is_inside = true;
    return own.world;
}

void world_leave(struct world *world)
{
    if (!world->has_player && world_flags_waiting(world))
        world_flags_play(world);
    is_inside = false;
    pthread_mutex_unlock(&own.lock);
}
