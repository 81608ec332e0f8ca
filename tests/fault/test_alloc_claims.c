/* Every allocation of claims fails once, in the set, around plans, and in the store: nothing leaks,
 * nothing is half done. */
#include "fault.h"
#include "node/allowed.h"
#include "unit/store/store_world.h"

#include "claim/around.h"
#include "claim/plan.h"
#include "claim/set.h"
#include "node/reasons.h"
#include "store/claim.h"

static const struct claim_limits limits = {100, 100, false};

/* One user's life with claims. */
static enum berth_code use(const struct graph *graph, struct claim_set *set, struct berth_err *err)
{
    static const struct files io = {.root = "/nonexistent"};
    struct claim spec = {.id = "c1",
                         .uid = 1,
                         .key = (char *)"k",
                         .places = (char *)"core0,core1",
                         .deadline_ns = 10};
    struct claim other = {.id = "c2", .uid = 2, .places = (char *)"core2", .deadline_ns = 20};
    struct claim_caller caller = {1, NULL, "k"};
    struct allowed allowed = {0};
    struct reasons warnings = {0};
    const struct claim *claim = NULL;
    bool left_out = false;
    json_t *answer = NULL;
    for (unsigned c = 0; c < CORES; c++)
        cpuset_add(&allowed.cpus, c);
    enum berth_code code = claim_set_add(set, graph, &spec, &limits, &claim, err);
    if (code == BERTH_OK && !claim_set_keep_plan(set, claim, "{\"tasks\":1}", "{\"tasks\":[]}"))
        code = err_set(err, BERTH_NO_MEMORY, "no memory");
    if (code == BERTH_OK)
        code = claim_set_add(set, graph, &other, &limits, &claim, err);
    if (code == BERTH_OK)
        code = claim_around(set, &io, graph, &caller, &allowed, &warnings, &left_out, err);
    if (code == BERTH_OK)
        code = claim_plan_recall(set->item[0], "{\"tasks\":1}", &answer, err);
    allowed_done(&allowed);
    json_decref(answer);
    return code;
}

static void a_set(void **state)
{
    struct world *world = *state;
    for (int for_ever = 0; for_ever < 2; for_ever++)
        for (long at = 1;; at++) {
            struct claim_set set = {0};
            struct berth_err err = {0};
            long before = fault_live();
            fault_arm(at, for_ever);
            enum berth_code code = use(world->graph, &set, &err);
            bool failed = fault_disarm();
            assert_true(code == BERTH_OK || (failed && code == BERTH_NO_MEMORY));
            claim_set_check(&set, world->graph);
            assert_true(set.count <= 2 && (code != BERTH_OK || set.count == 2));
            claim_set_done(&set);
            assert_int_equal(fault_live(), before);
            if (!failed) {
                assert_true(at > 8);
                break;
            }
        }
}

/* The stored claims are always those before or those after. */
static void the_store(void **state)
{
    struct world *world = *state;
    struct store *store = opened(world, STORE_OK);
    uint64_t generation = 0, stored = 0;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool failed = true;
        for (long at = 1; failed; at++) {
            struct claim claim = {.id = "c1",
                                  .uid = 1,
                                  .key = (char *)"k",
                                  .places = (char *)"core0",
                                  .deadline_ns = 10,
                                  .version = ++generation};
            struct claim *one[] = {&claim};
            struct claim_set set = {0};
            size_t ended = 0;
            struct berth_err err = {0};
            fault_arm(at, for_ever);
            enum berth_code saving = store_save_claims(store, one, 1, generation, &err);
            enum berth_code loading = store_load_claims(store, &set, &ended, &err);
            failed = fault_disarm();
            claim_set_done(&set);
            assert_true(saving == BERTH_OK || (failed && saving == BERTH_NO_MEMORY));
            assert_true(loading == BERTH_OK || (failed && loading == BERTH_NO_MEMORY));
            stored = saving == BERTH_OK ? generation : stored;
            err = (struct berth_err){0};
            assert_int_equal(store_load_claims(store, &set, &ended, &err), BERTH_OK);
            assert_int_equal(set.generation, stored);
            assert_int_equal(set.count, stored > 0);
            assert_true(stored == 0 || set.item[0]->version == stored);
            claim_set_done(&set);
        }
    }
    assert_int_equal(store_state(store), STORE_OK);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_set), TEST(the_store)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
