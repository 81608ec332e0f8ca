/* Mapped look-ups beside a dictionary of the same answers and beside hwloc's search for local
 * memory: map SOCKET prints nanoseconds of each, processor time, in turns in one process. */
#include <hwloc.h>
#include <math.h>

#include "bench.h"
#include "lib/berth.h"

#define LOOK_UPS  1000000
#define ROUNDS    (2 * BENCH_BATCHES)
#define QUESTIONS 4096 /* a power of two */
#define SLOTS     (4 * QUESTIONS)

struct question {
    int from, to;
    int64_t bytes;
};

struct bench {
    struct berth_map *map;
    struct question question[QUESTIONS];
    int place[QUESTIONS];
    struct slot { /* open addressing, by from, to and the size's power of two */
        uint64_t key;
        double ns;
    } slot[SLOTS];
    hwloc_topology_t topology;
    struct hwloc_location from;
};

static uint64_t key_of(const struct question *q)
{
    return 1 + (((uint64_t)q->from << 40) | ((uint64_t)q->to << 16) |
                (63 - (uint64_t)__builtin_clzll((uint64_t)q->bytes)));
}

static struct slot *slot_of(struct bench *bench, uint64_t key)
{
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    while (bench->slot[at % SLOTS].key != 0 && bench->slot[at % SLOTS].key != key)
        at++;
    return &bench->slot[at % SLOTS];
}

/* Questions of pairs with an answer, in no order, of any size. */
static void fill(struct bench *bench)
{
    int memory[64], memories = 0, places = 0;
    uint64_t random = 1;
    for (; berth_map_place_name(bench->map, places) != NULL; places++)
        if (strncmp(berth_map_place_name(bench->map, places), "gpu", 3) == 0 && memories < 64)
            memory[memories++] = places;
    if (memories < 2) {
        fprintf(stderr, "map: the node has no two gpus\n");
        exit(1);
    }
    for (size_t i = 0; i < QUESTIONS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        int from = (int)(random >> 33) % memories, to = (int)(random >> 45) % memories;
        struct question q = {memory[from], memory[to == from ? (to + 1) % memories : to],
                             1 + (int64_t)(random >> (34 - (i % 30)) & 0x3fffffff)};
        bench->question[i] = q;
        bench->place[i] = (int)(random >> 40) % places;
        struct slot *slot = slot_of(bench, key_of(&q));
        *slot = (struct slot){key_of(&q), berth_map_transfer_ns(bench->map, q.from, q.to, q.bytes)};
    }
}

static double sum; /* is printed, so that no look-up is left out */

static void by_map(struct bench *bench, size_t i)
{
    const struct question *q = &bench->question[i % QUESTIONS];
    double ns = berth_map_transfer_ns(bench->map, q->from, q->to, q->bytes);
    sum += isnan(ns) ? 0 : ns;
}

static void by_dictionary(struct bench *bench, size_t i)
{
    double ns = slot_of(bench, key_of(&bench->question[i % QUESTIONS]))->ns;
    sum += isnan(ns) ? 0 : ns;
}

static void nearest(struct bench *bench, size_t i)
{
    sum += berth_map_nearest_memory(bench->map, bench->place[i % QUESTIONS], BERTH_KIND_SYSTEM);
}

static void current(struct bench *bench, size_t i)
{
    (void)i;
    sum += berth_map_is_current(bench->map);
}

static void by_hwloc(struct bench *bench, size_t i)
{
    hwloc_obj_t node[16];
    unsigned count = 16;
    (void)i;
    if (hwloc_get_local_numanode_objs(bench->topology, &bench->from, &count, node, 0) == 0)
        sum += count;
}

static const struct {
    const char *name;
    void (*look_up)(struct bench *bench, size_t i);
    size_t count;
} ways[] = {{"transfer", by_map, LOOK_UPS},
            {"dictionary", by_dictionary, LOOK_UPS},
            {"nearest", nearest, LOOK_UPS},
            {"hwloc", by_hwloc, LOOK_UPS / 100},
            {"current", current, LOOK_UPS}};
#define WAYS (sizeof ways / sizeof *ways)

int main(int argc, char **argv)
{
    static struct bench bench;
    static double ns[WAYS][ROUNDS];
    struct berth *berth = berth_new();
    if (argc != 2 || berth == NULL || berth_connect(berth, argv[1]) < 0 ||
        berth_map(berth, &bench.map) < 0) {
        fprintf(stderr, "map SOCKET: %s\n", berth != NULL ? berth_error_detail(berth) : "");
        return 1;
    }
    fill(&bench);
    if (hwloc_topology_init(&bench.topology) != 0 || hwloc_topology_load(bench.topology) != 0)
        bench_die("hwloc");
    bench.from.type = HWLOC_LOCATION_TYPE_OBJECT;
    bench.from.location.object = hwloc_get_obj_by_type(bench.topology, HWLOC_OBJ_PU, 0);
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t w = 0; w < WAYS; w++) {
            double begin = bench_cpu_ns();
            for (size_t i = 0; i < ways[w].count; i++)
                ways[w].look_up(&bench, i);
            ns[w][round] = (bench_cpu_ns() - begin) / (double)ways[w].count;
        }
    for (size_t w = 0; w < WAYS; w++)
        printf("%s %.1f\n", ways[w].name, bench_quietest(ns[w], ROUNDS));
    fprintf(stderr, "%g\n", sum);
    hwloc_topology_destroy(bench.topology);
    berth_map_close(bench.map);
    berth_free(berth);
    return 0;
}
