/* Compatible claims, under a virtual clock, against a model without trees: sets of covered
 * places. */
#include "unit/node/built_nodes.h"

#include "claim/set.h"
#include "unit/base/random.h"

#define HOUR UINT64_C(3600000000000)

static const struct claim_limits roomy = {1000, 1000, false};

static struct claim spec_of(const char *id, uid_t uid, const char *key, const char *places)
{
    struct claim spec = {
        .uid = uid, .key = (char *)key, .places = (char *)places, .deadline_ns = HOUR};
    snprintf(spec.id, sizeof spec.id, "%s", id);
    return spec;
}

static enum berth_code add(struct claim_set *set, const struct graph *graph,
                           const struct claim *spec, struct berth_err *err)
{
    const struct claim *claim = NULL;
    *err = (struct berth_err){0};
    uint64_t before = set->generation;
    enum berth_code code = claim_set_add(set, graph, spec, &roomy, &claim, err);
    assert_int_equal(code, err->code);
    assert_int_equal(set->generation, before + (code == BERTH_OK));
    assert_true(code != BERTH_OK || (claim != NULL && claim->version == set->generation));
    claim_set_check(set, graph);
    return code;
}

static struct graph *node(void)
{
    struct graph *graph = nodes_mi250x();
    nodes_finish(graph);
    return graph;
}

static void a_place_covers_what_is_inside(void **state)
{
    (void)state;
    struct graph *graph = node();
    static const struct {
        const char *one, *other;
        bool meet;
    } pairs[] = {
        {"core0", "core0", true},
        {"core0", "core1", false},
        {"core0", "pu0", true},
        {"pu0", "pu64", false},
        {"core0", "llc0", true},
        {"core8", "llc0", false},
        {"llc0", "numa0", true},
        {"llc2", "numa0", false},
        {"numa3", "package0", true},
        {"machine0", "nic2", true},
        {"gpu0", "gpu1", false},
        {"gpu0", "module0", true},
        {"gpu2", "module0", false},
        {"gpu4", "numa0", true},
        {"gpu0", "numa0", false},
        {"gpu4", "llc0", false},
        {"core0", "gpu4", false},
        {"nic0", "gpu0", false},
        {"gpu7", "package0", true},
        {"nic0", "nic0", true},
        {"core0,gpu1", "gpu0,core2", false},
        {"core0,gpu1", "gpu0,pu64", true},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (int turn = 0; turn < 2; turn++) {
            struct claim_set set = {0};
            struct berth_err err;
            struct claim one = spec_of("c1", 1, NULL, turn ? pairs[i].other : pairs[i].one),
                         other = spec_of("c2", 2, NULL, turn ? pairs[i].one : pairs[i].other);
            assert_int_equal(add(&set, graph, &one, &err), BERTH_OK);
            enum berth_code code = add(&set, graph, &other, &err);
            if (code != (pairs[i].meet ? BERTH_ALREADY_CLAIMED : BERTH_OK))
                fail_msg("%s beside %s: %s", other.places, one.places, err.detail);
            if (code == BERTH_ALREADY_CLAIMED)
                assert_string_equal(err.arg[1].text, "c1 of uid 1");
            claim_set_done(&set);
        }
    graph_unref(graph);
}

static void purposes_do_not_meet(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {0};
    struct berth_err err;
    struct claim compute = spec_of("c1", 1, NULL, "machine0"),
                 profiling = spec_of("c2", 1, NULL, "machine0"),
                 core = spec_of("c3", 2, NULL, "core0");
    profiling.purpose = core.purpose = CLAIM_PROFILING;
    assert_int_equal(add(&set, graph, &compute, &err), BERTH_OK);
    assert_int_equal(add(&set, graph, &profiling, &err), BERTH_OK);
    assert_int_equal(add(&set, graph, &core, &err), BERTH_INVALID_PARAMETER);
    assert_string_equal(err.arg[0].text, "places");
    assert_ptr_equal(claim_set_computing(&set, false), set.item[0]);
    assert_ptr_equal(claim_set_profiling(&set, graph, graph_find(graph, "gpu3"), false),
                     set.item[1]);
    assert_null(claim_set_profiling(&set, graph, graph_find(graph, "core3"), false));
    claim_set_remove(&set, set.item[0]);
    assert_null(claim_set_computing(&set, false));
    claim_set_done(&set);
    graph_unref(graph);
}

/* Claims of root end conflicting ones. Another user's job conflicts with an ordinary user's claim
 * for any purpose. */
static void administrators_go_first(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {0};
    struct berth_err err;
    struct claim compute = spec_of("c1", 1000, NULL, "gpu0,core0"),
                 profiling = spec_of("c2", 1001, NULL, "gpu0"),
                 apart = spec_of("c3", 1001, NULL, "gpu1"),
                 roots = spec_of("c4", 0, "job", "module0"),
                 more = spec_of("c5", 0, "job", "module0,core1"),
                 late = spec_of("c6", 1000, NULL, "core1");
    const struct claim *claim;
    profiling.purpose = apart.purpose = CLAIM_PROFILING;
    roots.is_admins = more.is_admins = true;
    assert_int_equal(add(&set, graph, &compute, &err), BERTH_OK);
    assert_int_equal(add(&set, graph, &profiling, &err), BERTH_ALREADY_CLAIMED);
    assert_string_equal(err.arg[1].text, "c1 of uid 1000");
    profiling.uid = 1000;
    assert_int_equal(add(&set, graph, &profiling, &err), BERTH_OK);
    assert_int_equal(add(&set, graph, &apart, &err), BERTH_OK);
    assert_int_equal(claim_set_add(&set, graph, &roots, &roomy, &claim, &err), BERTH_OK);
    for (int i = 0; i < 3; i++) {
        const struct claim *other =
            claim_set_overridden(&set, graph, claim_set_find(&set, "c4"), NULL);
        assert_non_null(other);
        claim_set_remove(&set, other);
    }
    assert_null(claim_set_overridden(&set, graph, claim_set_find(&set, "c4"), NULL));
    assert_int_equal(set.count, 1);
    /* A compatible claim stays when it is renewed with more places; a claim in conflict with these
     * ends the renewal. */
    compute.places = (char *)"gpu1";
    compute.purpose = CLAIM_PROFILING;
    assert_int_equal(add(&set, graph, &compute, &err), BERTH_OK);
    assert_int_equal(add(&set, graph, &late, &err), BERTH_OK);
    struct claim *before = claim_ref((struct claim *)(uintptr_t)claim_set_find(&set, "c4"));
    assert_int_equal(claim_set_add(&set, graph, &more, &roomy, &claim, &err), BERTH_OK);
    assert_ptr_equal(claim_set_overridden(&set, graph, claim_set_find(&set, "c4"), before),
                     claim_set_find(&set, "c6"));
    claim_unref(before);
    claim_set_done(&set);
    graph_unref(graph);
}

/* The first of the claims of the set, up to @before, that is in the way; "" none. */
static const char *in_the_way(const struct claim_set *set, const struct graph *graph,
                              const struct claim *spec, const struct claim *before, bool is_patient)
{
    struct berth_err err = {0};
    const struct claim *by = NULL;
    enum berth_code code = claim_set_in_the_way(set, graph, spec, before, is_patient, &by, &err);
    assert_int_equal(code, by != NULL ? BERTH_ALREADY_CLAIMED : BERTH_OK);
    return by != NULL ? by->id : "";
}

static void waiting_claims_stand_in_the_order_of_arrival(void **state)
{
    const struct claim_limits limits = {2, 3, false};
    struct claim_set waiting = {0};
    struct graph *graph = node();
    struct berth_err err = {0};
    const struct claim *one = NULL, *two = NULL, *third = NULL;
    struct claim both = spec_of("w1", 1000, NULL, "gpu0,gpu1"),
                 same = spec_of("w2", 1000, NULL, "gpu1"), none = spec_of("w3", 1001, NULL, "gpu2"),
                 admin = spec_of("w4", 0, NULL, "gpu0");
    (void)state;
    both.purpose = same.purpose = none.purpose = admin.purpose = CLAIM_PROFILING;
    admin.is_admins = true;
    assert_int_equal(claim_set_queue(&waiting, &both, &limits, &one, &err), BERTH_OK);
    assert_int_equal(claim_set_queue(&waiting, &same, &limits, &two, &err), BERTH_OK);
    assert_string_equal(in_the_way(&waiting, graph, one, one, true), "");
    assert_string_equal(in_the_way(&waiting, graph, two, two, true), "w1");
    assert_string_equal(in_the_way(&waiting, graph, &none, NULL, true), "");
    assert_string_equal(in_the_way(&waiting, graph, &admin, NULL, true), "w1");
    assert_string_equal(in_the_way(&waiting, graph, &admin, NULL, false), "");
    assert_int_equal(claim_set_queue(&waiting, &both, &limits, &third, &err), BERTH_NOT_ENOUGH);
    assert_string_equal(err.arg[0].text, "waiting claims");
    err = (struct berth_err){0};
    assert_int_equal(claim_set_queue(&waiting, &none, &limits, &third, &err), BERTH_OK);
    none.uid = 1002;
    assert_int_equal(claim_set_queue(&waiting, &none, &limits, &third, &err), BERTH_NOT_ENOUGH);
    err = (struct berth_err){0};
    assert_int_equal(claim_set_queue(&waiting, &admin, &limits, &third, &err), BERTH_OK);
    claim_set_remove(&waiting, one);
    assert_string_equal(in_the_way(&waiting, graph, two, two, true), "");
    claim_set_done(&waiting);
    graph_unref(graph);
}

static void profiling_is_shared_where_the_vendor_shares(void **state)
{
    (void)state;
    static const char *const models[] = {"AMD Instinct MI250X", "NVIDIA H200", "something"};
    static const struct {
        const char *one, *other;
        bool same;
    } texts[] = {{"a", "a", true}, {"a", "b", false}, {"a", NULL, false}, {NULL, NULL, false}};
    for (size_t m = 0; m < 3; m++)
        for (size_t t = 0; t < 4; t++) {
            struct graph *graph = nodes_cpu(&(struct shape){1, 1, 1, 2, 1, 1 << 20});
            place_id gpu =
                nodes_add(graph, PLACE_GPU, 0, nodes_place(graph, PLACE_NUMA, 0), PLACE_NONE, NULL);
            assert_true(place_set_text(&graph->places[gpu].model, models[m]));
            nodes_finish(graph);
            struct claim_set set = {0};
            struct berth_err err;
            struct claim one = spec_of("c1", 1, NULL, "gpu0"),
                         other = spec_of("c2", 2, NULL, "numa0");
            one.purpose = other.purpose = CLAIM_PROFILING;
            one.configuration = (char *)texts[t].one;
            other.configuration = (char *)texts[t].other;
            assert_int_equal(add(&set, graph, &one, &err), BERTH_OK);
            assert_int_equal(add(&set, graph, &other, &err),
                             m == 0 && texts[t].same ? BERTH_OK : BERTH_ALREADY_CLAIMED);
            claim_set_done(&set);
            graph_unref(graph);
        }
}

static void a_key_renews_what_is_the_same(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {0};
    struct berth_err err;
    struct claim spec = spec_of("c1", 1, "job", "gpu0,gpu1");
    spec.owner = (struct claim_owner){.pid = 7, .start_ticks = 70};
    assert_int_equal(add(&set, graph, &spec, &err), BERTH_OK);
    assert_true(claim_set_keep_plan(&set, set.item[0], "{}", "{\"tasks\":[]}"));
    struct claim again = spec_of("c2", 1, "job", "gpu0,gpu1");
    again.deadline_ns = 5 * HOUR;
    assert_int_equal(add(&set, graph, &again, &err), BERTH_OK);
    assert_int_equal(set.count, 1);
    assert_string_equal(set.item[0]->id, "c1");
    assert_int_equal(set.item[0]->deadline_ns, 5 * HOUR);
    assert_int_equal(set.item[0]->owner.pid, 7);
    assert_string_equal(set.item[0]->plan_answered, "{\"tasks\":[]}");

    struct claim other = again;
    other.places = (char *)"gpu0";
    assert_int_equal(add(&set, graph, &other, &err), BERTH_KEY_MISMATCH);
    assert_string_equal(err.arg[0].text, "job");
    assert_string_equal(err.arg[1].text, "places");
    other = again;
    /* the pid was given to another process */
    other.owner = (struct claim_owner){.pid = 7, .start_ticks = 71};
    assert_int_equal(add(&set, graph, &other, &err), BERTH_KEY_MISMATCH);
    assert_string_equal(err.arg[1].text, "owner_pid");
    other = again;
    other.uid = 2; /* whose key of that name is another one */
    assert_int_equal(add(&set, graph, &other, &err), BERTH_ALREADY_CLAIMED);
    claim_set_done(&set);
    graph_unref(graph);
}

static void a_key_adds_places_and_an_owner(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {0};
    struct berth_err err;
    struct claim spec = spec_of("c1", 1, "job", "gpu0"), other = spec_of("c2", 2, NULL, "core1");
    assert_int_equal(add(&set, graph, &spec, &err), BERTH_OK);
    assert_int_equal(add(&set, graph, &other, &err), BERTH_OK);
    assert_true(claim_set_keep_plan(&set, set.item[0], "{}", "{\"tasks\":[]}"));
    struct claim more = spec_of("c3", 1, "job", "core0,gpu0");
    more.owner = (struct claim_owner){.cgroup = (char *)"/sys/fs/cgroup/job"};
    uint64_t before = set.generation;
    struct claim *was = claim_ref(set.item[0]);
    assert_int_equal(add(&set, graph, &more, &err), BERTH_OK);
    claim_set_undo_replace(&set, set.item[0], was);
    assert_string_equal(set.item[0]->places, "gpu0");
    assert_int_equal(set.generation, before);
    assert_int_equal(add(&set, graph, &more, &err), BERTH_OK);
    assert_int_equal(set.count, 2);
    assert_string_equal(set.item[0]->id, "c1");
    assert_string_equal(set.item[0]->places, "core0,gpu0");
    assert_string_equal(set.item[0]->owner.cgroup, "/sys/fs/cgroup/job");
    assert_string_equal(set.item[0]->plan_answered, "{\"tasks\":[]}");
    claim_set_check(&set, graph);

    struct claim beyond = spec_of("c4", 1, "job", "core0,core1,gpu0"); /* which is another's */
    assert_int_equal(add(&set, graph, &beyond, &err), BERTH_ALREADY_CLAIMED);
    assert_string_equal(set.item[0]->places, "core0,gpu0");
    assert_int_equal(add(&set, graph, &spec, &err), BERTH_KEY_MISMATCH); /* less than it has */
    assert_string_equal(err.arg[1].text, "places");
    more.owner = (struct claim_owner){.pid = 7, .start_ticks = 70};
    assert_int_equal(add(&set, graph, &more, &err), BERTH_KEY_MISMATCH); /* it has one by now */
    claim_set_done(&set);
    graph_unref(graph);
}

static void quotas_count_users_and_all(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {0};
    struct claim_limits limits = {2, 3, false};
    const struct claim *claim;
    for (int i = 0; i < 5; i++) {
        char id[8], place[8];
        struct berth_err err = {0};
        snprintf(id, sizeof id, "c%d", i);
        snprintf(place, sizeof place, "core%d", i);
        struct claim spec = spec_of(id, i == 3 ? 9 : 1, NULL, place);
        enum berth_code code = claim_set_add(&set, graph, &spec, &limits, &claim, &err);
        assert_int_equal(code, i == 2 || i == 4 ? BERTH_NOT_ENOUGH : BERTH_OK);
        if (i == 2) {
            assert_int_equal(err.arg[1].number, 3);
            assert_int_equal(err.arg[2].number, 2);
        }
        limits.is_exempt = i == 3; /* not from the limit of all */
    }
    claim_set_done(&set);
    graph_unref(graph);
}

static void claims_of_users_take_no_room_of_administrators(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {0};
    static const struct {
        uid_t uid;
        bool is_admins;
        enum berth_code code;
    } cases[] = {
        {1, false, BERTH_OK},         {2, false, BERTH_OK}, {3, false, BERTH_NOT_ENOUGH},
        {0, true, BERTH_OK},          {0, true, BERTH_OK},  {0, true, BERTH_NOT_ENOUGH},
        {4, false, BERTH_NOT_ENOUGH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char id[8], place[8];
        struct berth_err err = {0};
        const struct claim *claim;
        struct claim_limits limits = {1, 2, cases[i].is_admins};
        snprintf(id, sizeof id, "c%zu", i);
        snprintf(place, sizeof place, "core%zu", i);
        struct claim spec = spec_of(id, cases[i].uid, NULL, place);
        spec.is_admins = cases[i].is_admins;
        assert_int_equal(claim_set_add(&set, graph, &spec, &limits, &claim, &err), cases[i].code);
    }
    claim_set_done(&set);
    graph_unref(graph);
}

/* ---- the model ---- */

#define MODEL_CLAIMS 24

struct model {
    bool used;
    uid_t uid;
    char key[8], place[CLAIM_PLACE_SIZE];
    uint64_t deadline_ns;
};

/* True when outer covers inner: its cpus, itself and every place below it. */
static bool model_covers(const struct graph *graph, place_id outer, place_id inner)
{
    for (; inner != PLACE_NONE; inner = graph_place(graph, inner)->parent)
        if (inner == outer)
            return true;
    return false;
}

static bool model_meets(const struct graph *graph, const char *a, const char *b)
{
    place_id x = graph_find(graph, a), y = graph_find(graph, b);
    const struct place *p = graph_place(graph, x), *q = graph_place(graph, y);
    if (p->kind <= PLACE_PU && q->kind <= PLACE_PU && p->cpus != NULL && q->cpus != NULL &&
        cpuset_intersects(p->cpus, q->cpus))
        return true;
    for (place_id z = 0; (size_t)z < graph->place_count; z++)
        if (model_covers(graph, x, z) && model_covers(graph, y, z))
            return true;
    return false;
}

static enum berth_code model_add(struct model *model, const struct graph *graph,
                                 const struct claim *spec)
{
    struct model *free_one = NULL;
    for (int i = 0; i < MODEL_CLAIMS; i++) {
        if (!model[i].used) {
            free_one = &model[i];
            continue;
        }
        if (spec->key != NULL && model[i].uid == spec->uid &&
            strcmp(model[i].key, spec->key) == 0) {
            if (strcmp(model[i].place, spec->places) != 0)
                return BERTH_KEY_MISMATCH;
            model[i].deadline_ns = spec->deadline_ns;
            return BERTH_OK;
        }
    }
    for (int i = 0; i < MODEL_CLAIMS; i++)
        if (model[i].used && model_meets(graph, model[i].place, spec->places))
            return BERTH_ALREADY_CLAIMED;
    if (free_one == NULL)
        return BERTH_NOT_ENOUGH;
    *free_one = (struct model){.used = true, .uid = spec->uid, .deadline_ns = spec->deadline_ns};
    snprintf(free_one->key, sizeof free_one->key, "%s", spec->key != NULL ? spec->key : "");
    snprintf(free_one->place, sizeof free_one->place, "%s", spec->places);
    return BERTH_OK;
}

static size_t model_count(const struct model *model)
{
    size_t count = 0;
    for (int i = 0; i < MODEL_CLAIMS; i++)
        count += model[i].used;
    return count;
}

static void it_does_as_the_model_does(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {0};
    struct model model[MODEL_CLAIMS] = {0};
    struct claim_limits limits = {1000, MODEL_CLAIMS, false};
    unsigned seed = 42, seen[4] = {0};
    uint64_t now_ns = 0;
    for (int step = 0; step < 20000; step++) {
        char id[CLAIM_ID_SIZE], key[8];
        now_ns += random_small(&seed) % 1000;
        if (random_small(&seed) % 5 == 0 && set.count > 0) {
            const struct claim *claim = set.item[random_small(&seed) % set.count];
            for (int i = 0; i < MODEL_CLAIMS; i++)
                if (model[i].used && strcmp(model[i].place, claim->places) == 0)
                    model[i].used = false;
            claim_set_remove(&set, claim);
        } else {
            snprintf(id, sizeof id, "c%x", (unsigned)step);
            snprintf(key, sizeof key, "k%u", random_small(&seed) % 8);
            struct claim spec =
                spec_of(id, random_small(&seed) % 3, random_small(&seed) % 2 ? key : NULL,
                        graph->places[random_small(&seed) % graph->place_count].name);
            spec.deadline_ns = now_ns + 1 + random_small(&seed) % 20000;
            const struct claim *claim;
            struct berth_err err = {0};
            enum berth_code code = claim_set_add(&set, graph, &spec, &limits, &claim, &err),
                            expected = model_add(model, graph, &spec);
            if (code != expected)
                fail_msg("step %d, %s: %s, the model says %s", step, spec.places,
                         err_info(code)->id, err_info(expected)->id);
            seen[code == BERTH_OK                ? 0
                 : code == BERTH_ALREADY_CLAIMED ? 1
                 : code == BERTH_KEY_MISMATCH    ? 2
                                                 : 3]++;
        }
        uint64_t next = UINT64_MAX;
        for (int i = 0; i < MODEL_CLAIMS; i++)
            if (model[i].used && model[i].deadline_ns < next)
                next = model[i].deadline_ns;
        assert_int_equal(claim_set_next_deadline(&set), next);
        for (int i = 0; i < MODEL_CLAIMS; i++)
            model[i].used = model[i].used && model[i].deadline_ns > now_ns;
        while (claim_set_expire_one(&set, now_ns, id))
            assert_null(claim_set_find(&set, id));
        assert_int_equal(set.count, model_count(model));
        claim_set_check(&set, graph);
    }
    assert_true(seen[0] > 1000 && seen[1] > 1000 && seen[2] > 50);
    claim_set_done(&set);
    graph_unref(graph);
}

static void what_is_stored_goes_in_as_it_is(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {.generation = 5};
    struct claim stored = spec_of("c1", 1, "k", "gpu99,core0"); /* a gpu that is no more */
    struct berth_err err;
    stored.version = 9;
    assert_true(claim_set_restore(&set, &stored));
    assert_int_equal(set.generation, 9);
    struct claim other = spec_of("c2", 2, NULL, "core0"),
                 free_one = spec_of("c3", 2, NULL, "core1");
    assert_int_equal(add(&set, graph, &other, &err), BERTH_ALREADY_CLAIMED);
    assert_int_equal(add(&set, graph, &free_one, &err), BERTH_OK);
    claim_set_done(&set);
    graph_unref(graph);
}

/* Beside claims that were made without knowledge of it. */
static void what_was_stored_is_compared(void **state)
{
    (void)state;
    struct graph *graph = node();
    struct claim_set set = {0};
    struct berth_err err;
    struct claim stands = spec_of("c1", 1, "k", "core0"), admins = spec_of("c2", 0, NULL, "core1");
    admins.is_admins = true;
    assert_int_equal(add(&set, graph, &stands, &err), BERTH_OK);
    assert_int_equal(add(&set, graph, &admins, &err), BERTH_OK);
    static const struct {
        const char *id, *key, *places, *taken;
        uid_t uid;
        bool is_admins;
    } stored[] = {
        {"c9", NULL, "core2", NULL, 1, false},         {"c9", "k", "core2", "its key", 1, false},
        {"c9", "k", "core2", NULL, 2, false},          {"c1", NULL, "core2", "its id", 2, false},
        {"c9", NULL, "llc0", "core0", 2, false},       {"c9", NULL, "core1", "core1", 2, false},
        {"c9", NULL, "core1,gpu99", "core1", 0, true}, {"c9", NULL, "core0", NULL, 0, true},
    };
    for (size_t i = 0; i < sizeof stored / sizeof stored[0]; i++) {
        struct claim claim = spec_of(stored[i].id, stored[i].uid, stored[i].key, stored[i].places);
        claim.is_admins = stored[i].is_admins;
        err = (struct berth_err){0};
        enum berth_code code = claim_set_check_stored(&set, graph, &claim, &err);
        assert_int_equal(code, stored[i].taken != NULL ? BERTH_ALREADY_CLAIMED : BERTH_OK);
        assert_string_equal(err.arg[0].text, stored[i].taken != NULL ? stored[i].taken : "");
    }
    claim_set_done(&set);
    graph_unref(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_covers_what_is_inside),
        cmocka_unit_test(purposes_do_not_meet),
        cmocka_unit_test(administrators_go_first),
        cmocka_unit_test(waiting_claims_stand_in_the_order_of_arrival),
        cmocka_unit_test(profiling_is_shared_where_the_vendor_shares),
        cmocka_unit_test(a_key_renews_what_is_the_same),
        cmocka_unit_test(a_key_adds_places_and_an_owner),
        cmocka_unit_test(quotas_count_users_and_all),
        cmocka_unit_test(claims_of_users_take_no_room_of_administrators),
        cmocka_unit_test(it_does_as_the_model_does),
        cmocka_unit_test(what_is_stored_goes_in_as_it_is),
        cmocka_unit_test(what_was_stored_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
