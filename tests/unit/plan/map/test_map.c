/* Whole nodes as maps: what programs look up there is what Route and Allocate answer. */
#include "unit/lib/map_files.h"
#include "unit/plan/route/route_nodes.h"

#include "cost/memkind.h"
#include "plan/alloc/alloc.h"
#include "plan/map/map.h"

static const char *const nodes[] = {
    "tests/nodes/mi250x", "tests/nodes/mi300a", "tests/nodes/gh200-quad", "tests/nodes/h200x1",
    "tests/nodes/h200x4", "tests/nodes/h100x2", "tests/nodes/epyc-2s",    "tests/nodes/knl-like"};
#define NODES (sizeof nodes / sizeof *nodes)

static const int64_t sizes[] = {1,
                                63,
                                4096,
                                5000,
                                65536,
                                100000,
                                1 << 20,
                                3 << 20,
                                16777216,
                                INT64_C(1) << 28,
                                INT64_C(3) << 29,
                                INT64_C(1) << 31};

static struct berth_map *map_of(struct fixture *f)
{
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(plan_map(f->snap, &data, &size, &f->err), BERTH_OK);
    assert_true(size <= MAP_BYTES_MAX);
    struct berth_map *map = map_files_open(data, size);
    assert_non_null(map);
    free(data);
    return map;
}

static const char *name(const struct fixture *f, place_id place)
{
    return graph_place(f->graph, place)->name;
}

/* Route's direct option by that mechanism; NULL none. */
static const struct route_option *option_by(const struct fixture *f, enum berth_mechanism by)
{
    for (size_t i = 0; i < f->answer.count; i++)
        if (route_is_direct(&f->answer.option[i]) &&
            (f->answer.option[i].part[0].hop[0].by == MECHANISM_KERNEL) ==
                (by == BERTH_MECHANISM_KERNEL))
            return &f->answer.option[i];
    return NULL;
}

/* Counts the sizes of which a time was compared. */
static size_t compare_route(struct fixture *f, const struct berth_map *map, place_id from,
                            place_id to)
{
    size_t compared = 0;
    int a = berth_map_place(map, name(f, from)), b = berth_map_place(map, name(f, to));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double time_ns = berth_map_transfer_ns(map, a, b, sizes[i]);
        enum berth_source source = berth_map_source(map, a, b, sizes[i]);
        enum berth_mechanism by = berth_map_mechanism(map, a, b, sizes[i]);
        enum berth_code code = ask(f, of(from, to, sizes[i]));
        if (code == BERTH_NOT_ENOUGH)
            continue;
        const struct route_option *option = code == BERTH_OK ? option_by(f, by) : NULL;
        if (option == NULL || by == BERTH_MECHANISM_DEFAULT) {
            assert_true(by == BERTH_MECHANISM_DEFAULT && isnan(time_ns));
            continue;
        }
        if (route_is_direct(&f->answer.option[0]) && (sizes[i] & (sizes[i] - 1)) == 0) {
            assert_ptr_equal(option, &f->answer.option[0]);
            assert_int_equal(source, f->answer.option[0].predicted.source + 1);
        }
        assert_int_equal(isnan(time_ns), source == BERTH_SOURCE_LOWER_BOUND);
        if (!isnan(time_ns))
            assert_within(time_ns, option->predicted.time_ns, 2 * MAP_TOLERANCE);
        compared += !isnan(time_ns);
    }
    return compared;
}

static void times_are_those_of_route(void **state)
{
    (void)state;
    for (size_t n = 0; n < NODES; n++) {
        struct fixture f = on(nodes[n]);
        struct berth_map *map = map_of(&f);
        size_t compared = 0, gpus = graph_count(f.graph, PLACE_GPU);
        for (place_id from = 0; from < (place_id)f.graph->place_count; from++)
            for (place_id to = 0; to < (place_id)f.graph->place_count; to++)
                if (from != to &&
                    (graph_is(f.graph, from, PLACE_GPU) || graph_is(f.graph, to, PLACE_GPU)) &&
                    (graph_is(f.graph, from, PLACE_NUMA) || graph_is(f.graph, to, PLACE_NUMA) ||
                     graph_are_gpus(f.graph, from, to)))
                    compared += compare_route(&f, map, from, to);
        print_message("%s: %zu times\n", nodes[n], compared);
        assert_true(gpus == 0 || compared > 10);
        assert_true(isnan(berth_map_transfer_ns(map, 0, 1, 4096)));
        berth_map_close(map);
        end(&f);
    }
}

static const char *allocated(const struct fixture *f, place_id by, enum memkind kind)
{
    struct alloc_access reads = {.by = by, .reads_bytes = 64 * MIB};
    struct alloc_request request = {.bytes = 64 * MIB,
                                    .access = &reads,
                                    .access_count = 1,
                                    .kinds = 1u << kind,
                                    .allowed = &f->allowed};
    struct alloc_answer answer = {0};
    struct berth_err err = {0};
    const char *memory = plan_alloc(f->snap, &request, &answer, &err) == BERTH_OK
                             ? name(f, answer.option[0].place.memory)
                             : "none";
    plan_alloc_done(&answer);
    return memory;
}

/* Of many cores every seventh place. */
static void nearest_memories_are_those_of_allocate(void **state)
{
    (void)state;
    for (size_t n = 0; n < NODES; n++) {
        struct fixture f = on(nodes[n]);
        struct berth_map *map = map_of(&f);
        for (place_id p = 0; p < (place_id)f.graph->place_count; p++)
            for (int kind = 0; kind < MEMKIND_COUNT; kind++) {
                enum place_kind is = graph_place(f.graph, p)->kind;
                if ((is == PLACE_CORE || is == PLACE_PU) && p % 7 != 0)
                    continue;
                int place = berth_map_place(map, name(&f, p));
                const char *found = berth_map_place_name(
                    map, berth_map_nearest_memory(map, place, (enum berth_memory_kind)(kind + 1)));
                assert_string_equal(found != NULL ? found : "none",
                                    allocated(&f, p, (enum memkind)kind));
            }
        berth_map_close(map);
        end(&f);
    }
}

/* 24 gpus with a rate and starts of each pair by both mechanisms, 8 NUMA nodes, cores. */
static void a_node_of_1024_places_is_small(void **state)
{
    (void)state;
    enum { NUMAS = 8, GPUS = 24, PLACES = 1024 };
    struct fixture f = {.graph = graph_new(), .values = values_new(), .allowed.given = true};
    graph_add_place(f.graph, PLACE_MACHINE, 0);
    for (int i = 1; i < PLACES; i++) {
        place_id place = i <= NUMAS          ? graph_add_place(f.graph, PLACE_NUMA, i - 1)
                         : i <= NUMAS + GPUS ? graph_add_place(f.graph, PLACE_GPU, i - NUMAS - 1)
                                             : graph_add_place(f.graph, PLACE_CORE, i);
        f.graph->places[place].parent = 0;
        f.graph->places[place].numa = i <= NUMAS ? place : 1 + i % NUMAS;
        struct cpuset cpus = {0};
        cpuset_add(&cpus, (unsigned)i);
        assert_true(i <= NUMAS + GPUS || place_set_cpus(&f.graph->places[place], &cpus));
    }
    for (place_id from = 1 + NUMAS; from <= NUMAS + GPUS; from++)
        for (place_id to = 1; to <= NUMAS + GPUS; to++) {
            bool peer = to > NUMAS;
            double speed = 1 + (from * 37 + to * 11) % 7; /* no two alike */
            if (from == to)
                continue;
            rate(&f, peer ? METRIC_GPU_GPU_COPY_ENGINE : METRIC_HOST_GPU_COPY_ENGINE, from, to, "",
                 40 + speed);
            rate(&f, peer ? METRIC_GPU_GPU_KERNEL : METRIC_HOST_GPU_KERNEL, from, to, "",
                 20 + speed);
            overheads(&f, from, to, peer ? METRIC_GPU_GPU_COPY_ENGINE : METRIC_HOST_GPU_COPY_ENGINE,
                      8000 + speed, 2000);
            overheads(&f, from, to, peer ? METRIC_GPU_GPU_KERNEL : METRIC_HOST_GPU_KERNEL,
                      3000 + speed, 2000);
        }
    f.snap = nodes_snapshot_of(f.graph, f.values, f.sets);
    char *data = NULL;
    size_t size = 0;
    assert_int_equal(plan_map(f.snap, &data, &size, &f.err), BERTH_OK);
    print_message("%d places, %d memories: %zu KiB\n", PLACES, NUMAS + GPUS, size >> 10);
    assert_true(size < 1 << 20);
    struct berth_map *map = map_files_open(data, size);
    assert_non_null(map);
    free(data);
    assert_true(compare_route(&f, map, 1 + NUMAS, NUMAS + GPUS) > 10);
    berth_map_close(map);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_those_of_route),
        cmocka_unit_test(nearest_memories_are_those_of_allocate),
        cmocka_unit_test(a_node_of_1024_places_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
