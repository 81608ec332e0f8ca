/* Typed calls: their requests, their results from replies, and their errors from broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/berth.h"
#include "lib/lib.h"

struct matrix_item {
    struct berth *berth;
    int peer;
};

static struct matrix_item open_pair(void)
{
    static const struct timeval patience = {.tv_sec = 5};
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct matrix_item pair = {.berth = berth_new(), .peer = fds[1]};
    assert_int_equal(berth_connect_fd(pair.berth, fds[0]), BERTH_DONE);
    return pair;
}

static void close_pair(struct matrix_item *pair)
{
    berth_free(pair->berth);
    close(pair->peer);
}

static void say(struct matrix_item *pair, const char *parameters)
{
    dprintf(pair->peer, "{\"parameters\":%s}", parameters);
    assert_int_equal(write(pair->peer, "", 1), 1);
}

static void expect_parameters(struct matrix_item *pair, const char *method, const char *expected)
{
    char got[2048] = {0};
    for (size_t used = 0;
         used < sizeof got - 1 && read(pair->peer, got + used, 1) == 1 && got[used] != '\0';)
        used++;
    json_t *message = json_loads(got, 0, NULL), *want = json_loads(expected, 0, NULL);
    assert_non_null(want);
    assert_string_equal(json_string_value(json_object_get(message, "method")), method);
    if (!json_equal(json_object_get(message, "parameters"), want))
        fail_msg("sent %s\nnot the parameters %s", got, expected);
    json_decref(message);
    json_decref(want);
}

static const char binding_reply[] =
    "{\"tasks\":[{\"task\":0,\"gpus\":[\"gpu4\"],\"cpus\":\"0-7\",\"cpu_mask\":\"0xff\",\"memory\":"
    "[\"numa0\"],\"memory_policy\":\"preferred\","
    "\"nics\":[],\"environment\":{\"ROCR_VISIBLE_DEVICES\":\"GPU-1\"},\"unset\":[\"HIP_VISIBLE_"
    "DEVICES\"],\"from_the_future\":[1]}],"
    "\"predicted\":{\"time_ns\":1000,\"low_ns\":900.5,\"high_ns\":1100,\"bottleneck\":null,"
    "\"source\":\"similar_pair\"},"
    "\"baseline\":null,\"proven_optimal\":true,\"gap\":null,"
    "\"launcher\":{\"slurm\":\"--cpu-bind=mask_cpu:0xff\"},\"evidence\":[{\"metric\":\"memory_"
    "latency\","
    "\"from\":\"llc0\",\"to\":\"numa0\",\"axes\":{},"
    "\"flows\":null,\"value\":91.5,\"low\":90,\"high\":93,\"unit\":\"ns\",\"source\":\"guessed\","
    "\"measured_at_s\":1790000000}],"
    "\"warnings\":[{\"code\":\"c\",\"subjects\":[\"gpu4\"],\"numbers\":{\"n\":1.5},\"text\":\"t\"}]"
    ","
    "\"basis\":{\"snapshot\":\"s-1\",\"claims\":\"0\",\"origin\":\"recorded\"}}";

static void bind_sends_what_is_set_and_reads_everything(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    struct berth_bind_request request;
    struct berth_binding *binding;
    static const int ranks[] = {4, 5};
    static const struct berth_flow flows[] = {{0, 1, 100}};
    static const char *const gpus[] = {"gpu0", "gpu1"};
    struct berth_allowed allowed = {.cpus = "0-7", .gpus = {gpus, 2}, .memory = {gpus, 0}};
    berth_bind_request_init(&request);
    request.tasks = 2;
    request.whole_node = 1;
    say(&pair, binding_reply);
    assert_int_equal(berth_bind(pair.berth, &request, &binding), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Placement.Bind", "{\"tasks\":2}");
    assert_int_equal(binding->task_count, 1);
    assert_string_equal(binding->tasks[0].gpus.item[0], "gpu4");
    assert_int_equal(binding->tasks[0].nics.count, 0);
    assert_string_equal(binding->tasks[0].environment.item[0].value, "GPU-1");
    assert_int_equal(binding->tasks[0].memory_policy, BERTH_POLICY_PREFERRED);
    assert_true(binding->predicted.low_ns == 900.5 && isnan(binding->baseline.time_ns) &&
                isnan(binding->gap));
    assert_null(binding->predicted.bottleneck);
    assert_int_equal(binding->predicted.source, BERTH_SOURCE_SIMILAR_PAIR);
    assert_int_equal(binding->baseline.source, BERTH_SOURCE_UNKNOWN);
    assert_int_equal(binding->evidence[0].source, BERTH_SOURCE_UNKNOWN); /* a newer daemon's */
    assert_int_equal(binding->warnings.count, 1);
    const struct berth_reason *warning = binding->warnings.item;
    assert_string_equal(warning->code, "c");
    assert_string_equal(warning->text, "t");
    assert_string_equal(warning->subjects.item[0], "gpu4");
    assert_string_equal(warning->numbers[0].name, "n");
    assert_true(warning->number_count == 1 && warning->numbers[0].value == 1.5);
    assert_int_equal(binding->basis.origin, BERTH_ORIGIN_RECORDED);
    assert_string_equal(binding->launcher.item[0].name, "slurm");
    berth_binding_free(binding);

    request.ranks = ranks;
    request.world = 8;
    request.gpus_per_task = 0;
    request.tasks_per_gpu = 2;
    request.pattern = BERTH_PATTERN_ALLREDUCE;
    request.flows = flows;
    request.flow_count = 1;
    request.order = BERTH_ORDER_RANK;
    request.mechanism = BERTH_MECHANISM_COPY_ENGINE;
    request.visible = BERTH_VISIBLE_ALL;
    request.host_bytes = INT64_MAX;
    request.allowed = &allowed;
    say(&pair, binding_reply);
    assert_int_equal(berth_bind(pair.berth, &request, &binding), BERTH_DONE);
    expect_parameters(
        &pair, "io.berth.Placement.Bind",
        "{\"tasks\":2,\"gpus_per_task\":0,\"tasks_per_gpu\":2,\"ranks\":[4,5],\"world\":8,"
        "\"pattern\":\"allreduce\",\"flows\":[{\"from\":0,\"to\":1,\"bytes\":100}],"
        "\"host_bytes\":9223372036854775807,\"mechanism\":\"copy_engine\",\"order\":\"rank\","
        "\"visible\":\"all\","
        "\"allowed\":{\"cpus\":\"0-7\",\"memory\":[],\"gpus\":[\"gpu0\",\"gpu1\"]}}");
    berth_binding_free(binding);

    request.tasks = 0;
    assert_int_equal(berth_bind(pair.berth, &request, &binding), BERTH_ERROR_BAD_ARGUMENT);
    request.tasks = 1;
    request.key = "\xff";
    assert_int_equal(berth_bind(pair.berth, &request, &binding), BERTH_ERROR_BAD_ARGUMENT);
    close_pair(&pair);
}

static void set_variable(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void a_job_plans_under_its_own_key(void **state)
{
    (void)state;
    static const struct {
        const char *key, *job, *given, *sent;
        int whole_node;
    } cases[] = {
        {NULL, "12", NULL, "\"slurm/12.bind\"", 0},
        {NULL, "12", "mine", "\"mine\"", 0},
        {"site/7", "12", NULL, "\"site/7\"", 0},
        {"", "12", NULL, NULL, 0},
        {NULL, "12; x", NULL, NULL, 0},
        {NULL, "", NULL, NULL, 0},
        {NULL, "123456789012345678901", NULL, NULL, 0},
        {NULL, NULL, NULL, NULL, 0},
        {NULL, "12", NULL, NULL, 1},
    };
    const struct berth_allowed allowed = {.cpus = "0"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct matrix_item pair = open_pair();
        struct berth_bind_request request;
        struct berth_binding *binding;
        char expected[200];
        berth_bind_request_init(&request);
        request.tasks = 1;
        request.key = cases[i].given;
        request.whole_node = cases[i].whole_node;
        request.allowed = request.whole_node ? NULL : &allowed;
        set_variable("BERTH_KEY", cases[i].key);
        set_variable("SLURM_JOB_ID", cases[i].job);
        say(&pair, binding_reply);
        assert_int_equal(berth_bind(pair.berth, &request, &binding), BERTH_DONE);
        snprintf(expected, sizeof expected, "{\"tasks\":1%s%s%s}",
                 cases[i].sent != NULL ? ",\"key\":" : "",
                 cases[i].sent != NULL ? cases[i].sent : "",
                 request.whole_node ? "" : ",\"allowed\":{\"cpus\":\"0\"}");
        expect_parameters(&pair, "io.berth.Placement.Bind", expected);
        berth_binding_free(binding);
        close_pair(&pair);
    }
    set_variable("BERTH_KEY", NULL);
    set_variable("SLURM_JOB_ID", NULL);
}

/* Every member of the reply made wrong or taken away in turn: an error or a result, never a crash,
 * and a missing task list is an error. */
static void a_reply_with_any_member_broken_is_survived(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    struct berth_bind_request request;
    berth_bind_request_init(&request);
    request.tasks = 1;
    request.whole_node = 1;
    json_t *good = json_loads(binding_reply, 0, NULL);
    const char *key;
    json_t *value;
    int refused = 0;
    json_object_foreach(good, key, value)
    {
        for (int kind = 0; kind < 4; kind++) {
            json_t *bad = json_deep_copy(good);
            if (kind == 0)
                json_object_del(bad, key);
            else
                json_object_set_new(bad, key,
                                    kind == 1   ? json_integer(7)
                                    : kind == 2 ? json_pack("[i]", 1)
                                                : json_pack("{s:i}", "a", 1));
            char *text = json_dumps(bad, 0);
            struct berth_binding *binding = NULL;
            say(&pair, text);
            int status = berth_bind(pair.berth, &request, &binding);
            assert_true(status == BERTH_DONE || status == BERTH_ERROR_PROTOCOL);
            refused += status == BERTH_ERROR_PROTOCOL;
            assert_int_equal(status == BERTH_DONE, binding != NULL);
            if (strcmp(key, "tasks") == 0)
                assert_int_equal(status, BERTH_ERROR_PROTOCOL);
            berth_binding_free(binding);
            free(text);
            json_decref(bad);
        }
    }
    assert_in_range(refused, 20, 40);
    json_decref(good);
    close_pair(&pair);
}

static void allocate(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    struct berth_allocate_request request;
    struct berth_allocation *allocation;
    static const struct berth_access accesses[] = {
        {.by = "gpu0", .reads_bytes = 10, .writes_bytes = 0, .random = 1, .cores = 2},
        {.by = "llc1"}};
    berth_allocate_request_init(&request);
    request.bytes = 4096;
    request.whole_node = 1;
    request.accesses = accesses;
    request.access_count = 2;
    request.kinds = 1u << BERTH_KIND_PINNED | 1u << BERTH_KIND_DEVICE;
    say(&pair, "{\"options\":[{\"memory\":\"numa1\",\"kind\":\"system\",\"call\":\"numa_alloc_"
               "onnode(n, 1)\",\"predicted\":{\"time_ns\":5,\"low_ns\":4,"
               "\"high_ns\":6,\"bottleneck\":\"mem1\",\"source\":\"lower_bound\"},\"free_bytes\":"
               "123,\"free_at_s\":null,"
               "\"evidence\":[]}],\"warnings\":[],"
               "\"basis\":{\"snapshot\":\"s\",\"claims\":\"\",\"origin\":\"live\"}}");
    assert_int_equal(berth_allocate(pair.berth, &request, &allocation), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Placement.Allocate",
                      "{\"bytes\":4096,\"accesses\":[{\"by\":\"gpu0\",\"reads_bytes\":10,\"writes_"
                      "bytes\":0,\"pattern\":\"random\",\"cores\":2},"
                      "{\"by\":\"llc1\",\"reads_bytes\":0,\"writes_bytes\":0}],\"kinds\":["
                      "\"pinned\",\"device\"]}");
    assert_int_equal(allocation->option_count, 1);
    assert_string_equal(allocation->options[0].predicted.bottleneck, "mem1");
    assert_int_equal(allocation->options[0].free_bytes, 123);
    assert_int_equal(allocation->options[0].free_at_s, -1);
    berth_allocation_free(allocation);
    close_pair(&pair);
}

static void check_and_matrix(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    struct berth_health *health;
    static const char *const places[] = {"gpu0"};
    say(&pair, "{\"verdict\":\"degraded\",\"drain\":false,\"reason\":\"slow\",\"findings\":[{"
               "\"severity\":\"warning\",\"place\":\"gpu0\",\"code\":\"c\","
               "\"text\":\"t\",\"value\":1.5,\"expected\":null,\"unit\":null,\"since_s\":null,"
               "\"explains\":3,"
               "\"slow\":[{\"series\":\"s\",\"value\":2,\"expected\":4,\"unit\":\"ns\"}]}],\"last_"
               "probe_at_s\":null,\"snapshot\":\"s\",\"origin\":\"live\"}");
    assert_int_equal(berth_check(pair.berth, places, 1, &health), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Health.Check", "{\"places\":[\"gpu0\"]}");
    assert_int_equal(health->verdict, BERTH_VERDICT_DEGRADED);
    assert_true(health->findings[0].value == 1.5 && isnan(health->findings[0].expected));
    assert_int_equal(health->findings[0].explains, 3);
    assert_int_equal(health->findings[0].slow_count, 1);
    assert_string_equal(health->findings[0].slow[0].series, "s");
    assert_true(health->findings[0].slow[0].value == 2 &&
                health->findings[0].slow[0].expected == 4);
    berth_health_free(health);

    static const struct berth_pair where[] = {{"operation", "read"}};
    struct berth_matrix_request request = {
        .metric = "memory_bandwidth", .from = {places, 1}, .where = {where, 1}};
    struct berth_matrix *matrix;
    say(&pair, "{\"metric\":\"memory_bandwidth\",\"unit\":\"bytes_per_s\",\"cells\":[{\"from\":"
               "\"llc0\",\"to\":\"numa0\",\"axes\":{\"operation\":\"read\"},"
               "\"value\":null,\"low\":null,\"high\":null,\"source\":\"measured\",\"measured_at_"
               "s\":null,\"why_not\":\"no cpus\"}],"
               "\"basis\":{\"snapshot\":\"s\",\"claims\":\"\",\"origin\":\"live\"}}");
    assert_int_equal(berth_get_matrix(pair.berth, &request, &matrix), BERTH_DONE);
    expect_parameters(
        &pair, "io.berth.Fabric.GetMatrix",
        "{\"metric\":\"memory_bandwidth\",\"from\":[\"gpu0\"],\"where\":{\"operation\":\"read\"}}");
    assert_true(isnan(matrix->cells[0].value));
    assert_string_equal(matrix->cells[0].why_not, "no cpus");
    berth_matrix_free(matrix);
    close_pair(&pair);
}

static void texts_are_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {
        "", "a", "\u00e9", "\u2502", "\U0001F600", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"};
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe2\x94",         "\xe0\x9f\xbf",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(lib_utf8_is_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(lib_utf8_is_valid(bad[i]));
}

static void allowed_follows_this_thread(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    say(&pair, "{\"places\":[]}"); /* asked for only where there are gpu device nodes */
    struct berth_allowed *allowed;
    assert_int_equal(berth_allowed_here(pair.berth, 1, &allowed), BERTH_DONE);
    sched_setaffinity(0, sizeof before, &before);
    char text[16];
    snprintf(text, sizeof text, "%d", cpu);
    assert_string_equal(allowed->cpus, text);
    assert_non_null(allowed->gpus.item);
    assert_int_equal(allowed->gpus.count, 0);
    if (allowed->memory.item != NULL)
        assert_memory_equal(allowed->memory.item[0], "numa", 4);
    berth_allowed_free(allowed);
    /* Without gpus nothing is asked: there is no reply waiting, and all of them are meant. */
    assert_int_equal(berth_allowed_here(pair.berth, 0, &allowed), BERTH_DONE);
    assert_null(allowed->gpus.item);
    berth_allowed_free(allowed);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind_sends_what_is_set_and_reads_everything),
        cmocka_unit_test(a_job_plans_under_its_own_key),
        cmocka_unit_test(a_reply_with_any_member_broken_is_survived),
        cmocka_unit_test(allocate),
        cmocka_unit_test(check_and_matrix),
        cmocka_unit_test(texts_are_utf8),
        cmocka_unit_test(allowed_follows_this_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
