#include "gpu/cells/pingpong_host.h"

#include <pthread.h>
#include <string.h>

#include "common/clock.h"
#include "common/file.h"
#include "gpu/timing/caller_cpus.h"

#define POLLS 4096 /* polls between two reads of the clock */

struct play {
    const struct gpu_pingpong_host *host;
    double ns;
    uint32_t done;
    bool placed;
};

static bool await(const struct gpu_pingpong_host *host, uint32_t number, int64_t end_ns)
{
    for (unsigned polls = 1; atomic_load_explicit(host->mine, memory_order_relaxed) != number;
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
    const struct gpu_pingpong_host *host = play->host;
    struct gpu_caller_cpus caller_cpus;
    gpu_caller_cpus_choose("", host->numa, &caller_cpus);
    play->placed = caller_cpus.count > 0 || (host->numa == 0 && !has_nodes());
    if (!play->placed)
        return NULL;
    gpu_caller_cpus_pin(&caller_cpus, 0);
    int64_t began_ns = probe_clock_ns(), end_ns = began_ns + host->limit_ns;
    for (uint32_t round = 0; round < host->rounds; round++) {
        if (round == host->skip)
            began_ns = probe_clock_ns();
        atomic_store_explicit(host->theirs, round + 1, memory_order_relaxed);
        if (!await(host, round + 1, end_ns))
            return NULL;
        play->done = round + 1;
    }
    play->ns = (double)(probe_clock_ns() - began_ns);
    return NULL;
}

bool gpu_pingpong_host_run(const struct gpu_pingpong_host *host, double *ret_ns,
                           struct probe_why *why)
{
    struct play state = {.host = host};
    pthread_t thread;
    int error = pthread_create(&thread, NULL, play, &state);
    if (error != 0)
        return probe_why_set(why, "no thread: %s", strerror(error));
    pthread_join(thread, NULL);
    if (!state.placed)
        return probe_why_set(why, "numa%d has no CPU that may be used", host->numa);
    if (state.done < host->rounds)
        return probe_why_set(why, "no answer to round %u", state.done + 1);
    *ret_ns = state.ns;
    return true;
}
