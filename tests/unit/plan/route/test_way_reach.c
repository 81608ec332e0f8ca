/* Bytes over a path within a time: never fewer than by the times of daemon/plan/route/way.c, and
 * hardly more. */
#include "unit/plan/node_folder.h"

#include <math.h>

#include "plan/route/way_reach.h"

/* By how many times the reach is more than the bytes, and how often that was looked at. */
struct seen {
    double sum;
    size_t count;
};

static void look_at(const struct way *way, struct seen *seen)
{
    struct way_reach reach;
    plan_way_reach(way, &reach);
    for (int size = 0; size < 20; size++)
        for (int behind = 0; behind < 4; behind++) {
            double bytes = PAIRS_CHUNK_LEAST * pow(1.7, size),
                   time_ns = plan_way_time_ns(way, bytes, 4e3 * behind * behind, NULL),
                   reached = plan_way_reach_bytes(&reach, time_ns);
            assert_true(reached >= bytes * (1 - 1e-12));
            seen->sum += behind == 0 ? reached / bytes : 0;
            seen->count += behind == 0;
        }
    assert_true(plan_way_reach_bytes(&reach, 0) < PAIRS_CHUNK_LEAST &&
                plan_way_reach_bytes(&reach, -1e6) == 0);
}

/* All ways over those memories, as alone and with each hop slowed. */
static void look_over(const struct plan_pairs *pairs, const place_id *memory, size_t hops,
                      struct seen *seen)
{
    for (int by = MOVE_COPY_ENGINE; by <= MOVE_KERNEL; by++)
        for (int slower = 0; slower < 2; slower++) {
            struct way way = {.hop_count = hops};
            bool is_known = true;
            for (size_t i = 0; i < hops && is_known; i++) {
                way.pair[i] =
                    memory[i] != memory[i + 1]
                        ? plan_pairs_find(pairs, memory[i], memory[i + 1], (enum move_by)by)
                        : NULL;
                is_known = way.pair[i] != NULL;
                if (!is_known)
                    continue;
                way.hop[i] = way.pair[i]->move;
                way.hop[i].slowdown = slower ? 1.1 + 0.4 * (double)i : 1;
            }
            if (is_known)
                look_at(&way, seen);
        }
}

static void no_way_is_faster_than_its_reach(void **state)
{
    (void)state;
    static const char *const folders[] = {"tests/nodes/h200x2", "tests/nodes/h200x4",
                                          "tests/nodes/mi250x"};
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        struct snapshot *snap = folder_snapshot(folders[f]);
        const struct plan_pairs *pairs = snap->derived.pairs;
        const place_id *memory;
        struct seen seen = {0, 0};
        assert_non_null(pairs);
        size_t count = plan_pairs_memories(pairs, &memory);
        for (size_t a = 0; a < count; a++)
            for (size_t b = 0; b < count; b++)
                for (size_t c = 0; c < count; c++) {
                    look_over(pairs, (place_id[]){memory[a], memory[b]}, 1, &seen);
                    look_over(pairs, (place_id[]){memory[a], memory[b], memory[c]}, 2, &seen);
                    look_over(
                        pairs,
                        (place_id[]){memory[a], memory[b], memory[c], memory[(a + b) % count]}, 3,
                        &seen);
                }
        assert_true(seen.count > 100);
        assert_true(seen.sum / (double)seen.count < 1.3); /* else little would be left out by it */
        snapshot_unref(snap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_way_is_faster_than_its_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
