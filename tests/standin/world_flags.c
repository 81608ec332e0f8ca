#include "world_flags.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* Plays the kernel's part, as a kernel would while the host's thread polls: each round costs its
 * time on the clock before the host can see its end. */
static void play(struct world *world, struct world_op *op)
{
    while (op->round < op->rounds) {
        uint32_t number = (uint32_t)op->round + 1;
        if (op->first)
            atomic_store(op->theirs, number);
        if ((int32_t)(atomic_load(op->mine) - number) < 0)
            return;
        if (op->round == op->skip)
            op->counted_ns = world->now;
        op->round++;
        world_elapse(world, op->round_ns);
        op->ends += op->round_ns;
        if (!op->first)
            atomic_store(op->theirs, number);
    }
}

static void *play_all(void *arg)
{
    (void)arg;
    for (bool waiting = true; waiting;) {
        struct world *world = world_enter();
        for (struct world_stream *stream = world->streams; stream != NULL; stream = stream->next)
            if (stream->head != NULL && stream->head->kind == WORLD_PINGPONG &&
                stream->head->running && stream->head->alone)
                play(world, stream->head);
        waiting = world->has_player = world_flags_waiting(world);
        world_leave(world);
        sched_yield();
    }
    return NULL;
}

void world_flags_play(struct world *world)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    world->has_player = pthread_create(&thread, NULL, play_all, NULL) == 0;
    if (world->has_player)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* One round between two devices, or (other is NULL) the host and one. */
static double round_of(const struct world *world, const struct world_op *op,
                       const struct world_op *other)
{
    const struct model *model = world->model;
    int host = op->place[0] >= model->device_count ? op->place[0]
               : op->place[1] >= model->device_count
                   ? op->place[1]
                   : model_numa_place(model, model->device[op->device].numa);
    int from = other == NULL ? host
               : op->first   ? op->device
                             : other->device,
        to = op->device == from && other != NULL ? other->device : op->device;
    enum model_flag flag = op->place[0] != op->place[1] ? MODEL_FLAG_READER
                           : op->place[0] == from       ? MODEL_FLAG_FROM
                                                        : MODEL_FLAG_TO;
    return model->pingpong[from < 0 ? 0 : from][to][flag];
}

void world_flags_begin(struct world *world, struct world_op *op)
{
    for (struct world_stream *stream = world->streams; stream != NULL; stream = stream->next) {
        struct world_op *other = stream->head;
        if (other == NULL || other == op || other->kind != WORLD_PINGPONG || !other->running ||
            !other->alone || other->mine != op->theirs || other->theirs != op->mine)
            continue;
        struct world_op *both[2] = {op, other};
        for (int i = 0; i < 2; i++) {
            both[i]->alone = false;
            both[i]->other = both[1 - i];
            both[i]->round_ns = round_of(world, op, other);
            both[i]->rounds = op->rounds < other->rounds ? op->rounds : other->rounds;
            both[i]->counted_ns =
                (double)(both[i]->rounds - fmin((double)both[i]->skip, (double)both[i]->rounds)) *
                op->round_ns;
            both[i]->ends = world->now + (double)both[i]->rounds * op->round_ns;
        }
        return;
    }
    op->alone = true;
    op->round_ns = round_of(world, op, NULL);
}

bool world_flags_over(struct world *world, struct world_op *op)
{
    if (!op->alone)
        return world->now >= op->ends;
    play(world, op);
    return op->round >= op->rounds;
}

void world_flags_end(struct world *world, struct world_op *op)
{
    if (op->alone)
        op->counted_ns = world->now - op->counted_ns;
    else
        op->round = op->rounds;
    if (op->round == op->rounds && !op->alone) {
        atomic_store(op->theirs, (uint32_t)op->rounds);
        atomic_store(op->mine, (uint32_t)op->rounds);
    }
}

bool world_flags_waiting(const struct world *world)
{
    for (const struct world_stream *stream = world->streams; stream != NULL; stream = stream->next)
        if (stream->head != NULL && stream->head->kind == WORLD_PINGPONG && stream->head->running &&
            stream->head->alone)
            return true;
    return false;
}

uint64_t world_flags_rounds(const struct world *world)
{
    uint64_t rounds = 0;
    for (const struct world_stream *stream = world->streams; stream != NULL; stream = stream->next)
        if (stream->head != NULL && stream->head->kind == WORLD_PINGPONG)
            rounds += stream->head->round;
    return rounds;
}
