/* The handlers of Placement and Health from JSON to JSON; every reply is held against the interface
 * description. */
#include "unit/node/built_nodes.h"
#include "unit/serve/claim_rig.h"

#include <jansson.h>

#include "base/embedded.h"
#include "serve/daemon.h"
#include "serve/serve.h"
#include "varlink/idl.h"

struct fixture {
    struct daemon daemon;
    struct snapshot *snap;
    struct berth_err err;
};

static uint64_t no_time(void *state)
{
    (void)state;
    return 0;
}

static struct rig rig; /* nothing is claimed */

static int begin_claims(void **state)
{
    (void)state;
    claim_rig_begin(&rig);
    return 0;
}

static int end_claims(void **state)
{
    (void)state;
    claim_rig_end(&rig);
    return 0;
}

static struct fixture begin(struct graph *graph, struct values *values)
{
    return (struct fixture){.daemon.clock.mono_ns = no_time,
                            .daemon.claims = rig.keep,
                            .snap = nodes_snapshot(graph, values)};
}

static const struct idl_type *reply_type(const char *interface, const char *method,
                                         struct idl **ret_idl)
{
    struct berth_err err = {0};
    const struct embedded_file *file = embedded_interfaces;
    while (file->name != NULL && strncmp(file->name, interface, strlen(interface)) != 0)
        file++;
    assert_non_null(file->name);
    assert_int_equal(idl_parse(file->text, file->length, ret_idl, &err), BERTH_OK);
    const struct idl_member *member = idl_find(*ret_idl, IDL_METHOD, method);
    assert_non_null(member);
    return member->out;
}

/* The reply to a request written as JSON text, NULL on failure. */
static json_t *ask(struct fixture *f, const char *interface, const char *method,
                   method_handler handle, const char *text)
{
    json_error_t why;
    json_t *params = json_loads(text, 0, &why), *reply = NULL;
    assert_non_null(params);
    const struct peer peer = {.uid = 1000};
    struct call call = {.params = params, .peer = &peer, .snap = f->snap, .daemon = &f->daemon};
    struct outcome outcome = {0};
    f->err = (struct berth_err){0};
    enum berth_code code = handle(&call, &outcome, &f->err);
    if (code == BERTH_OK && outcome.kind == OUTCOME_WORK && outcome.write == NULL) {
        code = outcome.work(outcome.state, &reply, &f->err);
        outcome.free_state(outcome.state);
    } else if (code == BERTH_OK && outcome.kind == OUTCOME_STREAM) {
        code = outcome.work(outcome.state, &reply, &f->err);
        if (code == BERTH_OK)
            assert_int_equal(outcome.next(outcome.state, &reply, &f->err), STREAM_LAST);
        outcome.free_state(outcome.state);
    } else if (code == BERTH_OK && outcome.write != NULL) {
        struct print out;
        assert_true(print_init(&out, 64));
        code = outcome.write(outcome.state, &out, &f->err);
        assert_false(out.failed);
        if (code == BERTH_OK) {
            reply = json_loadb(out.data, out.length, JSON_REJECT_DUPLICATES, &why);
            assert_non_null(reply);
        }
        print_done(&out);
        outcome.free_state(outcome.state);
    } else if (code == BERTH_OK) {
        reply = outcome.result;
    }
    json_decref(params);
    assert_int_equal(code, f->err.code);
    if (code != BERTH_OK)
        return NULL;
    struct idl *idl;
    struct berth_err mismatch = {0};
    const struct idl_type *type = reply_type(interface, method, &idl);
    if (idl_check(type, reply, &mismatch) != BERTH_OK)
        fail_msg("%s: %s", method, mismatch.detail);
    idl_free(idl);
    return reply;
}

static json_t *allocate(struct fixture *f, const char *text)
{
    return ask(f, "io.berth.Placement", "Allocate", query_allocate, text);
}
static json_t *bound(struct fixture *f, const char *text)
{
    return ask(f, "io.berth.Placement", "Bind", query_bind, text);
}
static json_t *check(struct fixture *f, const char *text)
{
    return ask(f, "io.berth.Health", "Check", query_check, text);
}

static const char *text_at(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static bool warned(const json_t *reply, const char *part)
{
    const json_t *warnings = json_object_get(reply, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++)
        if (strstr(json_string_value(json_object_get(json_array_get(warnings, i), "text")), part) !=
            NULL)
            return true;
    return false;
}

static void allocate_answers_with_evidence(void **state)
{
    (void)state;
    struct graph *graph = nodes_cpu(&(struct shape){1, 2, 1, 4, 1, INT64_C(16) << 30});
    struct values *values = values_new();
    place_id n0 = nodes_place(graph, PLACE_NUMA, 0), n1 = nodes_place(graph, PLACE_NUMA, 1);
    nodes_value(values, METRIC_MEMORY_BANDWIDTH, VALUE_MEASURED, n0, n0, "", 20e9, 19e9, 21e9);
    nodes_value(values, METRIC_MEMORY_BANDWIDTH, VALUE_NOMINAL, n0, n1, "", 10e9, NAN, NAN);
    struct fixture f = begin(graph, values);
    json_t *reply = allocate(&f, "{\"bytes\":1073741824,\"allowed\":{\"cpus\":\"0-3\"}}");
    assert_non_null(reply);
    const json_t *options = json_object_get(reply, "options"), *first = json_array_get(options, 0),
                 *second = json_array_get(options, 1);
    assert_int_equal(json_array_size(options), 2);
    assert_string_equal(text_at(first, "call"), "numa_alloc_onnode(1073741824, 0)");
    assert_string_equal(text_at(first, "kind"), "system");
    assert_true(json_is_null(json_object_get(first, "free_bytes")));
    const json_t *why = json_array_get(json_object_get(first, "evidence"), 0);
    assert_string_equal(text_at(why, "source"), "measured");
    assert_string_equal(text_at(json_object_get(why, "axes"), "threads"), "all");
    assert_true(json_real_value(json_object_get(json_object_get(first, "predicted"), "low_ns")) >
                0);
    /* a stated rate of firmware is a peak, so that the time is a lower bound */
    const json_t *least = json_object_get(second, "predicted");
    assert_true(json_equal(json_object_get(least, "low_ns"), json_object_get(least, "time_ns")) &&
                json_is_null(json_object_get(least, "high_ns")));
    assert_true(warned(reply, "stated peak"));
    assert_string_equal(text_at(json_object_get(reply, "basis"), "origin"), "reconstructed");
    json_decref(reply);

    reply = allocate(&f, "{\"bytes\":4096,\"accesses\":[{\"by\":\"core1\",\"reads_bytes\":4096,"
                         "\"writes_bytes\":0,\"pattern\":null}]}");
    assert_true(warned(reply, "allowed"));
    json_decref(reply);
    snapshot_unref(f.snap);
}

static void kinds_that_cannot_be_priced_are_named(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_cpu(&(struct shape){1, 1, 1, 2, 1, INT64_C(16) << 30}), NULL);
    json_t *reply = allocate(&f, "{\"bytes\":1,\"kinds\":[\"pinned\",\"system\"]}");
    assert_true(warned(reply, "pinned memory is left out"));
    json_decref(reply);
    assert_null(allocate(&f, "{\"bytes\":1,\"kinds\":[\"device\"]}"));
    assert_int_equal(f.err.code, BERTH_NOTHING_ALLOWED);
    assert_null(allocate(&f, "{\"bytes\":1,\"kinds\":[]}"));
    assert_int_equal(f.err.code, BERTH_NOTHING_ALLOWED);
    snapshot_unref(f.snap);
}

/* Refused requests with their errors; arg is parameter 0 of the error. */
struct refusal {
    const char *request;
    enum berth_code code;
    const char *arg;
};

static void assert_refused(struct fixture *f, json_t *(*method)(struct fixture *, const char *),
                           const struct refusal *refusal)
{
    json_t *reply = method(f, refusal->request);
    if (reply != NULL || f->err.code != refusal->code ||
        strcmp(f->err.arg[0].text, refusal->arg) != 0)
        fail_msg("%s: %s, %s", refusal->request, err_info(f->err.code)->id, f->err.arg[0].text);
    assert_true(refusal->code == BERTH_NOTHING_ALLOWED || f->err.detail[0] != '\0');
}

static void allocate_refuses(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"{\"bytes\":0}", BERTH_INVALID_PARAMETER, "bytes"},
        {"{\"bytes\":-1}", BERTH_INVALID_PARAMETER, "bytes"},
        {"{}", BERTH_INVALID_PARAMETER, "bytes"},
        {"{\"bytes\":9223372036854775807}", BERTH_NOT_ENOUGH, "bytes of memory"},
        {"{\"bytes\":1,\"kinds\":[\"magic\"]}", BERTH_INVALID_PARAMETER, "kinds"},
        {"{\"bytes\":1,\"accesses\":[{\"by\":\"numa9\",\"reads_bytes\":1,\"writes_bytes\":0}]}",
         BERTH_NO_SUCH_PLACE, "numa9"},
        {"{\"bytes\":1,\"accesses\":[{\"by\":\"nic0\",\"reads_bytes\":1,\"writes_bytes\":0}]}",
         BERTH_INVALID_PARAMETER, "accesses[0]"},
        {"{\"bytes\":1,\"accesses\":[{\"by\":\"numa0\",\"reads_bytes\":-5,\"writes_bytes\":0}]}",
         BERTH_INVALID_PARAMETER, "accesses[0].reads_bytes"},
        {"{\"bytes\":1,\"accesses\":[{\"by\":\"numa0\",\"reads_bytes\":1,\"writes_bytes\":0,"
         "\"cores\":0}]}",
         BERTH_INVALID_PARAMETER, "accesses[0].cores"},
        {"{\"bytes\":1,\"accesses\":[{\"by\":\"numa0\",\"reads_bytes\":1,\"writes_bytes\":0,"
         "\"pattern\":\"fast\"}]}",
         BERTH_INVALID_PARAMETER, "accesses[0].pattern"},
        {"{\"bytes\":1,\"accesses\":[7]}", BERTH_INVALID_PARAMETER, "accesses[0]"},
        {"{\"bytes\":1,\"allowed\":{\"cpus\":\"\"}}", BERTH_NOTHING_ALLOWED, "allowed.cpus"},
        {"{\"bytes\":1,\"allowed\":{\"cpus\":\"1000-1007\"}}", BERTH_NOTHING_ALLOWED,
         "allowed.cpus"},
        {"{\"bytes\":1,\"allowed\":{\"cpus\":\"3-1\"}}", BERTH_INVALID_PARAMETER, "allowed.cpus"},
        {"{\"bytes\":1,\"allowed\":{\"cpus\":\"0-99999999999999999999\"}}", BERTH_INVALID_PARAMETER,
         "allowed.cpus"},
        {"{\"bytes\":1,\"allowed\":{\"memory\":[]}}", BERTH_NOTHING_ALLOWED, "allowed.memory"},
        {"{\"bytes\":1,\"allowed\":{\"memory\":[\"numa77\"]}}", BERTH_NO_SUCH_PLACE, "numa77"},
        {"{\"bytes\":1,\"allowed\":{\"memory\":[\"core0\"]}}", BERTH_INVALID_PARAMETER,
         "allowed.memory"},
        {"{\"bytes\":1,\"allowed\":{\"memory\":[\"gpu0\"]}}", BERTH_NOTHING_ALLOWED, ""},
        {"{\"bytes\":1,\"allowed\":{\"gpus\":[\"numa0\"]}}", BERTH_NO_SUCH_PLACE, "numa0"},
        {"{\"bytes\":1,\"allowed\":7}", BERTH_INVALID_PARAMETER, "allowed"},
    };
    struct fixture f = begin(nodes_mi250x(), NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(&f, allocate, &cases[i]);
    snapshot_unref(f.snap);
}

static void bind_as_sites_write_by_hand(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    json_t *reply =
        bound(&f, "{\"tasks\":8,\"cores_per_task\":7,\"order\":\"rank\","
                  "\"allowed\":{\"cpus\":\"1-7,9-15,17-23,25-31,33-39,41-47,49-55,57-63\"}}");
    assert_non_null(reply);
    assert_string_equal(text_at(json_object_get(reply, "launcher"), "slurm"),
                        "--cpu-bind=mask_cpu:0xfe000000000000,0xfe00000000000000,0xfe0000,"
                        "0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000"
                        " --gpu-bind=map_gpu:0,1,2,3,4,5,6,7");
    const json_t *tasks = json_object_get(reply, "tasks");
    assert_int_equal(json_array_size(tasks), 8);
    for (size_t t = 0; t < 8; t++) {
        char gpu[8];
        snprintf(gpu, sizeof gpu, "gpu%zu", t);
        assert_string_equal(
            json_string_value(json_array_get(json_object_get(json_array_get(tasks, t), "gpus"), 0)),
            gpu);
    }
    assert_string_equal(
        text_at(json_object_get(json_array_get(tasks, 1), "environment"), "ROCR_VISIBLE_DEVICES"),
        "GPU-000000001a2b3c01");
    assert_true(json_is_false(json_object_get(reply, "proven_optimal")));
    assert_true(json_is_null(json_object_get(reply, "gap")) &&
                json_is_null(json_object_get(reply, "predicted")));
    json_decref(reply);

    reply = bound(&f, "{\"tasks\":1,\"visible\":\"all\",\"allowed\":{\"gpus\":[\"gpu5\",\"0000:C9:"
                      "00.0\",\"gpu-000000001a2b3c04\"]}}");
    assert_string_equal(
        text_at(json_object_get(json_array_get(json_object_get(reply, "tasks"), 0), "environment"),
                "ROCR_VISIBLE_DEVICES"),
        "GPU-000000001a2b3c02,GPU-000000001a2b3c04,GPU-000000001a2b3c05");
    json_decref(reply);
    snapshot_unref(f.snap);
}

static void bind_says_what_it_did_not_weigh(void **state)
{
    (void)state;
    struct fixture f = begin(nodes_mi250x(), NULL);
    json_t *reply = bound(&f, "{\"tasks\":2,\"pattern\":\"ring\",\"bytes\":1048576,\"key\":\"step-"
                              "1\",\"ranks\":[3,9],\"world\":16,"
                              "\"flows\":[{\"from\":3,\"to\":15,\"bytes\":10}],\"mechanism\":"
                              "\"kernel\",\"host_bytes\":5}");
    assert_true(warned(reply, "locality alone decided") && warned(reply, "no time is predicted"));
    assert_true(json_is_null(json_object_get(reply, "predicted")) &&
                json_is_null(json_object_get(reply, "gap")));
    assert_true(warned(reply, "the plan stands until nobody has asked for it for 10 minutes"));
    assert_true(warned(reply, "the whole node is meant"));
    assert_non_null(
        strstr(text_at(json_object_get(reply, "launcher"), "rankfile"), "rank 9=localhost"));
    json_decref(reply);
    plan_cache_done(&f.daemon.plans);
    snapshot_unref(f.snap);
}

static void bind_refuses(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {"{\"tasks\":0}", BERTH_INVALID_PARAMETER, "tasks"},
        {"{\"tasks\":-3}", BERTH_INVALID_PARAMETER, "tasks"},
        {"{\"tasks\":1000001}", BERTH_INVALID_PARAMETER, "tasks"},
        {"{}", BERTH_INVALID_PARAMETER, "tasks"},
        {"{\"tasks\":1,\"gpus_per_task\":-1}", BERTH_INVALID_PARAMETER, "gpus_per_task"},
        {"{\"tasks\":1,\"cores_per_task\":0}", BERTH_INVALID_PARAMETER, "cores_per_task"},
        {"{\"tasks\":1,\"threads_per_core\":0}", BERTH_INVALID_PARAMETER, "threads_per_core"},
        {"{\"tasks\":1,\"tasks_per_gpu\":0}", BERTH_INVALID_PARAMETER, "tasks_per_gpu"},
        {"{\"tasks\":4,\"gpus_per_task\":2,\"tasks_per_gpu\":2}", BERTH_INVALID_PARAMETER,
         "tasks_per_gpu"},
        {"{\"tasks\":17,\"tasks_per_gpu\":2}", BERTH_NOT_ENOUGH, "gpus"},
        {"{\"tasks\":4,\"pattern\":\"ring\",\"bytes\":9223372036854775807}",
         BERTH_INVALID_PARAMETER, "bytes"},
        {"{\"tasks\":2,\"ranks\":[0,5],\"pattern\":\"ring\",\"bytes\":1}", BERTH_INVALID_PARAMETER,
         "world"},
        {"{\"tasks\":1,\"bytes\":-1}", BERTH_INVALID_PARAMETER, "bytes"},
        {"{\"tasks\":1,\"host_bytes\":-1}", BERTH_INVALID_PARAMETER, "host_bytes"},
        {"{\"tasks\":1,\"pattern\":\"star\"}", BERTH_INVALID_PARAMETER, "pattern"},
        {"{\"tasks\":1,\"order\":\"down\"}", BERTH_INVALID_PARAMETER, "order"},
        {"{\"tasks\":1,\"key\":\"\"}", BERTH_INVALID_PARAMETER, "key"},
        {"{\"tasks\":2,\"flows\":[{\"from\":0,\"to\":2,\"bytes\":1}]}", BERTH_INVALID_PARAMETER,
         "flows[0]"},
        {"{\"tasks\":2,\"flows\":[{\"from\":-1,\"to\":1,\"bytes\":1}]}", BERTH_INVALID_PARAMETER,
         "flows[0]"},
        {"{\"tasks\":2,\"flows\":[{\"from\":0,\"to\":1,\"bytes\":-1}]}", BERTH_INVALID_PARAMETER,
         "flows[0]"},
        {"{\"tasks\":2,\"flows\":[1]}", BERTH_INVALID_PARAMETER, "flows[0]"},
        {"{\"tasks\":2,\"ranks\":[0]}", BERTH_INVALID_PARAMETER, "ranks"},
        {"{\"tasks\":2,\"ranks\":[1,1]}", BERTH_INVALID_PARAMETER, "ranks"},
        {"{\"tasks\":2,\"ranks\":[0,4],\"world\":4}", BERTH_INVALID_PARAMETER, "ranks"},
        {"{\"tasks\":2,\"world\":1}", BERTH_INVALID_PARAMETER, "world"},
        {"{\"tasks\":9}", BERTH_NOT_ENOUGH, "gpus"},
        {"{\"tasks\":1000000,\"gpus_per_task\":0}", BERTH_NOT_ENOUGH, "cores"},
        {"{\"tasks\":1,\"gpus_per_task\":1,\"allowed\":{\"gpus\":[]}}", BERTH_NOTHING_ALLOWED,
         "allowed.gpus"},
        {"{\"tasks\":1,\"allowed\":{\"gpus\":[\"gpu8\"]}}", BERTH_NO_SUCH_PLACE, "gpu8"},
        {"{\"tasks\":1,\"allowed\":{\"cpus\":\"\"}}", BERTH_NOTHING_ALLOWED, "allowed.cpus"},
    };
    struct fixture f = begin(nodes_mi250x(), NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(&f, bound, &cases[i]);
    snapshot_unref(f.snap);
}

static void check_of_the_whole_and_of_places(void **state)
{
    (void)state;
    struct graph *graph = nodes_mi250x();
    graph_add_link(graph, nodes_place(graph, PLACE_GPU, 0), nodes_place(graph, PLACE_GPU, 1),
                   LINK_XGMI)
        ->state = LINK_DOWN;
    struct fixture f = begin(graph, NULL);
    json_t *reply = check(&f, "{}");
    assert_string_equal(text_at(reply, "verdict"), "unhealthy");
    assert_true(json_is_true(json_object_get(reply, "drain")));
    assert_true(json_is_null(json_object_get(reply, "last_probe_at_s")));
    assert_string_equal(text_at(reply, "snapshot"), f.snap->id);
    json_decref(reply);
    reply = check(&f, "{\"places\":[\"gpu4\",\"numa1\"]}");
    assert_string_equal(text_at(reply, "verdict"), "unknown");
    json_decref(reply);
    assert_null(check(&f, "{\"places\":[\"gpu4\",\"gpu44\"]}"));
    assert_int_equal(f.err.code, BERTH_NO_SUCH_PLACE);
    assert_string_equal(f.err.arg[0].text, "gpu44");
    snapshot_unref(f.snap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocate_answers_with_evidence),
        cmocka_unit_test(kinds_that_cannot_be_priced_are_named),
        cmocka_unit_test(allocate_refuses),
        cmocka_unit_test(bind_as_sites_write_by_hand),
        cmocka_unit_test(bind_says_what_it_did_not_weigh),
        cmocka_unit_test(bind_refuses),
        cmocka_unit_test(check_of_the_whole_and_of_places),
    };
    return cmocka_run_group_tests(tests, begin_claims, end_claims);
}
