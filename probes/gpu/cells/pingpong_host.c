#include "gpu/cells/pingpong_host.h"

#include <pthread.h>
#include <string.h>

#include "common/clock.h"
#include "common/file.h"
#include "gpu/timing/caller_cpus.h"

#define POLLS 4096 /* polls between two reads of the clock */

struct play {
    const struct gpu_player *player;
    double ns;
    uint32_t done;
    bool placed;
};

static bool await(const struct gpu_player *player, uint32_t number, int64_t end_ns)
{
    for (unsigned polls = 1; atomic_load_explicit(player->mine, memory_order_relaxed) != number;
         polls++)
        if (polls % POLLS == 0 && probe_clock_ns() > end_ns)
            return false;
    return true;
}

/* A kernel without NUMA shows no nodes: all of its CPUs are then on node 0. */
static bool has_nodes(void)
{
    char text[256];
    return probe_file_text("", text, sizeof text, "/sys/devices/system/node/online");
}

static void *play(void *arg)
{
    struct play *play = arg;
    const struct gpu_player *player = play->player;
    struct gpu_seats seats;
    gpu_seats_find("", player->numa, &seats);
    play->placed = seats.count > 0 || (player->numa == 0 && !has_nodes());
    if (!play->placed)
        return NULL;
    gpu_seats_take(&seats, 0);
    int64_t began_ns = probe_clock_ns(), end_ns = began_ns + player->limit_ns;
    for (uint32_t round = 0; round < player->rounds; round++) {
        if (round == player->skip)
            began_ns = probe_clock_ns();
        atomic_store_explicit(player->theirs, round + 1, memory_order_relaxed);
        if (!await(player, round + 1, end_ns))
            return NULL;
        play->done = round + 1;
    }
    play->ns = (double)(probe_clock_ns() - began_ns);
    return NULL;
}

bool gpu_player_run(const struct gpu_player *player, double *ret_ns, struct probe_why *why)
{
    struct play state = {.player = player};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, play, &state);
    if (error != 0)
        return probe_why_set(why, "no thread: %s", strerror(error));
    pthread_join(thread, NULL);
    if (!state.placed)
        return probe_why_set(why, "numa%d has no CPU that may be used", player->numa);
    if (state.done < player->rounds)
        return probe_why_set(why, "no answer to round %u", state.done + 1);
    *ret_ns = state.ns;
    return true;
}
