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

#include "lib/allowed.h"
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

static const char route_reply[] =
    "{\"options\":[{\"segments\":[{\"mechanism\":\"copy_engine\",\"via\":[],\"chunk_bytes\":null,"
    "\"streams\":1,\"fraction\":0.75},{\"mechanism\":\"host\",\"via\":[\"numa0\"],"
    "\"chunk_bytes\":1024,\"streams\":2,\"fraction\":0.25}],"
    "\"environment\":{\"HSA_ENABLE_SDMA\":\"1\"},\"needs_restart\":true,\"may_lead\":true,"
    "\"worth_measuring\":null,\"call\":\"hipMemcpyAsync\",\"predicted\":{\"time_ns\":10,\"low_ns\":"
    "9,"
    "\"high_ns\":11,\"bottleneck\":null,\"source\":\"measured\",\"correction\":{\"factor\":1.25,"
    "\"reports\":8,\"by\":\"own\"},\"id\":\"i\"},\"evidence\":[]},"
    "{\"segments\":[],\"environment\":{},\"needs_restart\":false,\"worth_measuring\":\"berth "
    "probe\","
    "\"call\":\"c\",\"predicted\":{\"time_ns\":12,\"source\":\"nominal\"},\"evidence\":[]}],"
    "\"crossovers\":[{\"bytes\":4096,\"below\":1,\"above\":0}],\"b80_bytes\":null,\"reasons\":null,"
    "\"warnings\":[],\"basis\":{\"snapshot\":\"s\",\"claims\":\"\",\"origin\":\"live\"}}";

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
               "\"high_ns\":6,\"bottleneck\":\"mem1\",\"source\":\"lower_bound\"},\"setup_ns\":2,"
               "\"free_bytes\":123,\"free_at_s\":null,"
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
    assert_true(allocation->options[0].setup_ns == 2);
    assert_int_equal(allocation->options[0].free_bytes, 123);
    assert_int_equal(allocation->options[0].free_at_s, -1);
    berth_allocation_free(allocation);
    close_pair(&pair);
}

/* Too little for this process, which asked for its own part; not where the caller named a part. */
static void a_refused_part_names_whole_node(void **state)
{
    (void)state;
    static const struct berth_allowed none = {.cpus = "0"};
    for (int is_given = 0; is_given < 2; is_given++) {
        struct matrix_item pair = open_pair();
        struct berth_route_request request = {0};
        struct berth_routes *routes = NULL;
        request.from = request.to = "gpu0";
        request.bytes = 1;
        request.allowed = is_given ? &none : NULL;
        /* with device files, the first reply is GetNode's */
        if (!is_given && lib_allowed_has_devices())
            say(&pair, "{\"places\":[]}");
        dprintf(pair.peer, "{\"error\":\"io.berth.Placement.NothingAllowed\",\"parameters\":{"
                           "\"parameter\":\"allowed.gpus\",\"detail\":\"no gpu\"}}");
        assert_int_equal(write(pair.peer, "", 1), 1);
        assert_int_equal(berth_route(pair.berth, &request, &routes), BERTH_ERROR_NOTHING_ALLOWED);
        const char *detail = berth_error_detail(pair.berth);
        assert_memory_equal(detail, "no gpu", 6);
        assert_int_equal(strstr(detail, "whole_node = 1") != NULL, !is_given);
        close_pair(&pair);
    }
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
               "\"slow\":[{\"series\":\"s\",\"value\":2,\"expected\":4,\"unit\":\"ns\"}],"
               "\"action\":\"a\",\"commands\":[\"lspci\"],\"cell\":{"
               "\"metric\":\"m\",\"from\":\"gpu0\",\"to\":\"numa0\",\"where\":{\"bytes\":\"8\"},"
               "\"low\":1,\"high\":null,\"measured_at_s\":9}}],\"last_"
               "probe_at_s\":null,\"unconfirmed\":[{\"severity\":\"info\",\"place\":\"gpu1\","
               "\"code\":\"c\",\"text\":\"t\",\"explains\":0,\"slow\":[]}],\"snapshot\":\"s\","
               "\"origin\":\"live\"}");
    assert_int_equal(berth_check(pair.berth, places, 1, &health), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Health.Check", "{\"places\":[\"gpu0\"]}");
    assert_int_equal(health->verdict, BERTH_VERDICT_DEGRADED);
    assert_true(health->findings[0].value == 1.5 && isnan(health->findings[0].expected));
    assert_int_equal(health->findings[0].explains, 3);
    assert_int_equal(health->findings[0].slow_count, 1);
    assert_string_equal(health->findings[0].slow[0].series, "s");
    assert_true(health->findings[0].slow[0].value == 2 &&
                health->findings[0].slow[0].expected == 4);
    assert_string_equal(health->findings[0].action, "a");
    assert_int_equal(health->findings[0].commands.count, 1);
    assert_string_equal(health->findings[0].commands.item[0], "lspci");
    assert_null(health->unconfirmed[0].action);
    const struct berth_finding_cell *cell = &health->findings[0].cell;
    assert_string_equal(cell->metric, "m");
    assert_string_equal(cell->to, "numa0");
    assert_string_equal(cell->where.item[0].name, "bytes");
    assert_true(cell->low == 1 && isnan(cell->high) && cell->measured_at_s == 9);
    assert_int_equal(health->unconfirmed_count, 1);
    assert_string_equal(health->unconfirmed[0].place, "gpu1");
    assert_null(health->unconfirmed[0].cell.metric);
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

static void route(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    static const struct berth_transfer concurrent[] = {{"gpu2", "numa0", 5}};
    struct berth_route_request request = {.from = "gpu0",
                                          .to = "gpu1",
                                          .bytes = 64,
                                          .overlap = 1,
                                          .both_directions = 1,
                                          .allow_unmeasured = 1,
                                          .concurrent = concurrent,
                                          .concurrent_count = 1,
                                          .whole_node = 1};
    struct berth_routes *routes;
    say(&pair, route_reply);
    assert_int_equal(berth_route(pair.berth, &request, &routes), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Placement.Route",
                      "{\"from\":\"gpu0\",\"to\":\"gpu1\",\"bytes\":64,\"overlap\":true,\"both_"
                      "directions\":true,\"allow_unmeasured\":true,\"concurrent\":[{\"from\":"
                      "\"gpu2\",\"to\":\"numa0\",\"bytes\":5}]}");
    assert_int_equal(routes->option_count, 2);
    const struct berth_route_option *option = routes->options;
    assert_int_equal(option->segment_count, 2);
    assert_int_equal(option->segments[0].mechanism, BERTH_MECHANISM_COPY_ENGINE);
    assert_int_equal(option->segments[1].mechanism, BERTH_MECHANISM_HOST);
    assert_string_equal(option->segments[1].via.item[0], "numa0");
    assert_true(option->segments[0].chunk_bytes == -1 && option->segments[1].chunk_bytes == 1024 &&
                option->segments[1].streams == 2 && option->segments[1].fraction == 0.25);
    assert_string_equal(option->environment.item[0].name, "HSA_ENABLE_SDMA");
    assert_true(option->needs_restart == 1 && option->may_lead == 1 && option[1].may_lead == -1);
    assert_string_equal(option->call, "hipMemcpyAsync");
    assert_true(option->predicted.time_ns == 10 && option->predicted.factor == 1.25);
    assert_null(option->worth_measuring);
    assert_string_equal(option[1].worth_measuring, "berth probe");
    assert_true(isnan(option[1].predicted.factor) && isnan(option[1].predicted.high_ns));
    assert_true(routes->crossover_count == 1 && routes->crossovers[0].bytes == 4096 &&
                routes->crossovers[0].below == 1 && routes->crossovers[0].above == 0);
    assert_true(isnan(routes->b80_bytes));
    berth_routes_free(routes);

    request.bytes = 0;
    assert_int_equal(berth_route(pair.berth, &request, &routes), BERTH_ERROR_BAD_ARGUMENT);
    close_pair(&pair);
}

static void an_index_of_a_route_is_of_an_option(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    const struct berth_route_request request = {
        .from = "gpu0", .to = "gpu1", .bytes = 1, .whole_node = 1};
    static const char *const keys[] = {"below", "above"};
    for (int bad = 0; bad < 4; bad++) {
        struct berth_routes *routes = NULL;
        json_t *reply = json_loads(route_reply, 0, NULL);
        json_object_set_new(json_array_get(json_object_get(reply, "crossovers"), 0), keys[bad % 2],
                            json_integer(bad < 2 ? 2 : -1));
        char *text = json_dumps(reply, 0);
        say(&pair, text);
        assert_int_equal(berth_route(pair.berth, &request, &routes), BERTH_ERROR_PROTOCOL);
        assert_null(routes);
        free(text);
        json_decref(reply);
    }
    close_pair(&pair);
}

static void node(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    struct berth_node *node;
    say(&pair,
        "{\"name\":\"n\",\"places\":[{\"name\":\"gpu0\",\"kind\":\"gpu\",\"parent\":\"module0\","
        "\"numa\":null,\"cpus\":\"0-3\",\"capacity_bytes\":9,\"model\":\"m\",\"pci\":\"p\","
        "\"uuid\":\"u\",\"minor\":2,\"render_node\":\"r\",\"details\":{\"vendor\":\"v\"}},"
        "{\"name\":\"tape0\",\"kind\":\"tape\",\"details\":{}}],"
        "\"links\":[{\"from\":\"gpu0\",\"to\":\"gpu1\",\"kind\":\"network\",\"width\":2,"
        "\"nominal_bytes_per_s\":1e9,\"measured_bytes_per_s\":null,\"state\":\"down\"}],"
        "\"resources\":[{\"name\":\"numa0:memory\",\"capacity_bytes_per_s\":5,\"low\":4,\"high\":6,"
        "\"inferred\":true,\"users\":[\"gpu0>numa0\"]}],\"software\":{\"kernel\":\"6\"},"
        "\"disagreements\":[\"d\"],"
        "\"basis\":{\"snapshot\":\"s\",\"claims\":\"\",\"origin\":\"standin\"}}");
    assert_int_equal(berth_get_node(pair.berth, &node), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Fabric.GetNode", "{}");
    const struct berth_place *gpu = node->places;
    assert_int_equal(node->place_count, 2);
    assert_int_equal(gpu->kind, BERTH_PLACE_GPU);
    assert_int_equal(gpu[1].kind, BERTH_PLACE_UNKNOWN);
    assert_string_equal(gpu->parent, "module0");
    assert_null(gpu->numa);
    assert_true(gpu->capacity_bytes == 9 && gpu->minor == 2 && gpu[1].minor == -1);
    assert_string_equal(gpu->cpus, "0-3");
    assert_string_equal(gpu->model, "m");
    assert_string_equal(gpu->pci, "p");
    assert_string_equal(gpu->uuid, "u");
    assert_string_equal(gpu->render_node, "r");
    assert_string_equal(gpu->details.item[0].value, "v");
    const struct berth_link *link = node->links;
    assert_int_equal(link->kind, BERTH_LINK_NETWORK);
    assert_int_equal(link->state, BERTH_STATE_DOWN);
    assert_true(link->width == 2 && link->nominal_bytes_per_s == 1e9 &&
                isnan(link->measured_bytes_per_s));
    const struct berth_resource *limit = node->resources;
    assert_true(limit->capacity_bytes_per_s == 5 && limit->low == 4 && limit->high == 6 &&
                limit->inferred == 1);
    assert_string_equal(limit->users.item[0], "gpu0>numa0");
    assert_string_equal(node->software.item[0].name, "kernel");
    assert_string_equal(node->disagreements.item[0], "d");
    assert_int_equal(node->basis.origin, BERTH_ORIGIN_STANDIN);
    berth_node_free(node);
    close_pair(&pair);
}

static void curves_and_history(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    static const char *const places[] = {"gpu0"};
    static const struct berth_pair where[] = {{"by", "kernel"}};
    const struct berth_curves_request request = {
        .metric = "m", .from = {places, 1}, .to = {places, 0}, .where = {where, 1}};
    struct berth_curves *curves;
    say(&pair, "{\"metric\":\"m\",\"curves\":[{\"from\":\"gpu0\",\"to\":\"gpu1\",\"axes\":{\"by\":"
               "\"kernel\"},\"t0_call_ns\":1.5,\"t0_queue_ns\":null,\"wmax_bytes_per_s\":2,\"b80_"
               "bytes\":12,\"residual\":0.01,\"sizes\":3,\"least_bytes\":4,\"most_bytes\":5,"
               "\"repetitions\":6,\"measured_at_s\":7,\"pieces\":[{\"from_bytes\":0,\"t0_ns\":8,"
               "\"bytes_per_s\":9},{\"from_bytes\":10,\"t0_ns\":11,\"bytes_per_s\":null}]}],"
               "\"basis\":{\"snapshot\":\"s\",\"claims\":\"\",\"origin\":\"live\"}}");
    assert_int_equal(berth_get_curves(pair.berth, &request, &curves), BERTH_DONE);
    expect_parameters(
        &pair, "io.berth.Fabric.GetCurves",
        "{\"metric\":\"m\",\"from\":[\"gpu0\"],\"to\":[],\"where\":{\"by\":\"kernel\"}}");
    const struct berth_curve *curve = curves->curves;
    assert_true(curve->t0_call_ns == 1.5 && isnan(curve->t0_queue_ns) &&
                curve->wmax_bytes_per_s == 2 && curve->b80_bytes == 12 && curve->residual == 0.01);
    assert_true(curve->sizes == 3 && curve->least_bytes == 4 && curve->most_bytes == 5 &&
                curve->repetitions == 6 && curve->measured_at_s == 7 && curve->piece_count == 2);
    assert_true(curve->pieces[0].t0_ns == 8 && curve->pieces[1].from_bytes == 10 &&
                isnan(curve->pieces[1].bytes_per_s));
    berth_curves_free(curves);

    struct berth_history_request cell = {
        .metric = "m", .from = "gpu0", .to = "gpu1", .where = {where, 1}, .since_s = 5};
    struct berth_history *history;
    say(&pair, "{\"points\":[{\"measured_at_s\":1,\"value\":2,\"low\":null,\"high\":3,\"run\":4,"
               "\"values\":null,\"conditions\":{\"c\":\"d\"}}]}");
    assert_int_equal(berth_get_history(pair.berth, &cell, &history), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Fabric.History",
                      "{\"metric\":\"m\",\"from\":\"gpu0\",\"to\":\"gpu1\",\"where\":{\"by\":"
                      "\"kernel\"},\"since_s\":5}");
    const struct berth_point *point = history->points;
    assert_true(history->point_count == 1 && point->measured_at_s == 1 && point->value == 2 &&
                isnan(point->low) && point->high == 3 && point->run == 4 && point->values == -1);
    assert_string_equal(point->conditions.item[0].value, "d");
    berth_history_free(history);
    cell.to = NULL;
    assert_int_equal(berth_get_history(pair.berth, &cell, &history), BERTH_ERROR_BAD_ARGUMENT);
    close_pair(&pair);
}

static void metrics_and_contention(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    struct berth_metrics *metrics;
    say(&pair,
        "{\"metrics\":[{\"name\":\"m\",\"unit\":\"ns\",\"better\":\"lower\",\"axes\":[\"by\"],"
        "\"defaults\":{\"by\":\"kernel\"},\"about\":\"a\",\"cells\":4,\"measured\":3}],"
        "\"basis\":{\"snapshot\":\"s\",\"claims\":\"\",\"origin\":\"live\"}}");
    assert_int_equal(berth_list_metrics(pair.berth, &metrics), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Fabric.ListMetrics", "{}");
    const struct berth_metric *metric = metrics->metrics;
    assert_int_equal(metric->better, BERTH_BETTER_LOWER);
    assert_string_equal(metric->name, "m");
    assert_string_equal(metric->unit, "ns");
    assert_string_equal(metric->about, "a");
    assert_string_equal(metric->axes.item[0], "by");
    assert_string_equal(metric->defaults.item[0].value, "kernel");
    assert_true(metric->cells == 4 && metric->measured == 3);
    berth_metrics_free(metrics);

    struct berth_contention *contention;
    say(&pair, "{\"runs\":[{\"metric\":\"m\",\"flows\":[{\"from\":\"gpu0\",\"to\":\"numa0\","
               "\"axes\":{\"by\":"
               "\"kernel\"},\"bytes_per_s\":5,\"low\":4,\"high\":6,\"predicted_bytes_per_s\":7}],"
               "\"source\":\"published\",\"measured_at_s\":8,\"reproduced\":false},"
               "{\"metric\":\"m\",\"flows\":[],\"source\":\"measured\"}],"
               "\"shared\":[{\"name\":\"gpu0:port\",\"metric\":\"m\",\"users\":[\"gpu0>numa0\"],"
               "\"capacities\":[{\"transfers\":2,\"bytes_per_s\":9,\"low\":null,\"high\":10}],"
               "\"alternatives\":[\"numa0:memory\"]}],"
               "\"basis\":{\"snapshot\":\"s\",\"claims\":\"\",\"origin\":\"live\"}}");
    assert_int_equal(berth_get_contention(pair.berth, "m", &contention), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Fabric.GetContention", "{\"metric\":\"m\"}");
    const struct berth_concurrent_run *run = contention->runs;
    const struct berth_concurrent_transfer *flow = run->flows;
    assert_true(contention->run_count == 2 && run->flow_count == 1);
    assert_true(flow->bytes_per_s == 5 && flow->low == 4 && flow->high == 6 &&
                flow->predicted_bytes_per_s == 7);
    assert_string_equal(flow->from, "gpu0");
    assert_string_equal(flow->to, "numa0");
    assert_string_equal(flow->axes.item[0].value, "kernel");
    assert_int_equal(run->source, BERTH_SOURCE_PUBLISHED);
    assert_true(run->measured_at_s == 8 && run->reproduced == 0 && run[1].reproduced == -1);
    const struct berth_shared_limit *limit = contention->shared;
    assert_string_equal(limit->name, "gpu0:port");
    assert_string_equal(limit->users.item[0], "gpu0>numa0");
    assert_string_equal(limit->alternatives.item[0], "numa0:memory");
    assert_true(limit->capacity_count == 1 && limit->capacities[0].transfers == 2 &&
                limit->capacities[0].bytes_per_s == 9 && isnan(limit->capacities[0].low) &&
                limit->capacities[0].high == 10);
    berth_contention_free(contention);
    close_pair(&pair);
}

#define TUNED(value)                                                                               \
    "{\"value\":" #value ",\"why_not\":null,\"by\":\"kernel\",\"from\":\"gpu0\",\"to\":\"gpu1\","  \
    "\"bytes_per_s\":9,\"low\":8,\"high\":10,\"next_bytes_per_s\":7,\"measured_at_s\":6}"

static void tuning(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    const struct berth_tuning_request request = {
        .place = "gpu0", .to = "gpu1", .operation = BERTH_OPERATION_PULL};
    struct berth_tunings *tunings;
    say(&pair, "{\"tunings\":[{\"place\":\"gpu0\",\"to\":\"gpu1\",\"operation\":\"pull\","
               "\"grid\":" TUNED(0) ",\"block\":" TUNED(256) ",\"unroll\":" TUNED(
                   4) ",\"chunk_bytes\":" TUNED(5) ",\"streams\":" TUNED(3) ",\"threshold_bytes\":{"
                                                                            "\"value\":null,\"why_"
                                                                            "not\":\"w\"},"
                                                                            "\"certain_below_"
                                                                            "bytes\":null,"
                                                                            "\"below\":\"copy_"
                                                                            "engine\",\"above\":"
                                                                            "null,"
                                                                            "\"conditions\":{"
                                                                            "\"driver\":\"1\"},"
                                                                            "\"stale\":\"old\"}],"
                                                                            "\"basis\":{"
                                                                            "\"snapshot\":\"s\","
                                                                            "\"claims\":\"\","
                                                                            "\"origin\":\"live\"}"
                                                                            "}");
    assert_int_equal(berth_get_tuning(pair.berth, &request, &tunings), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Fabric.GetTuning",
                      "{\"place\":\"gpu0\",\"to\":\"gpu1\",\"operation\":\"pull\"}");
    const struct berth_tuning *tuning = tunings->tunings;
    assert_int_equal(tuning->operation, BERTH_OPERATION_PULL);
    assert_true(tuning->grid.value == 0 && tuning->block.value == 256 &&
                tuning->unroll.value == 4 && tuning->chunk_bytes.value == 5 &&
                tuning->streams.value == 3 && tuning->threshold_bytes.value == -1);
    assert_string_equal(tuning->threshold_bytes.why_not, "w");
    assert_int_equal(tuning->grid.by, BERTH_MECHANISM_KERNEL);
    assert_true(tuning->grid.bytes_per_s == 9 && tuning->grid.low == 8 && tuning->grid.high == 10 &&
                tuning->grid.next_bytes_per_s == 7 && tuning->grid.measured_at_s == 6);
    assert_int_equal(tuning->below, BERTH_MECHANISM_COPY_ENGINE);
    assert_int_equal(tuning->above, BERTH_MECHANISM_DEFAULT);
    assert_int_equal(tuning->certain_below_bytes, -1);
    assert_string_equal(tuning->conditions.item[0].name, "driver");
    assert_string_equal(tuning->stale, "old");
    berth_tunings_free(tunings);
    close_pair(&pair);
}

#define CLAIM                                                                                      \
    "{\"claim\":\"c1\",\"places\":[\"gpu0\"],\"purpose\":\"profiling\",\"configuration\":\"x\","   \
    "\"key\":\"k\",\"uid\":7,\"expires_at_s\":8,\"owner_pid\":9,\"owner_cgroup\":null}"

static void claims(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    static const char *const places[] = {"gpu0"};
    struct berth_claim_request request;
    struct berth_grant *grant;
    berth_claim_request_init(&request);
    assert_int_equal(berth_claim(pair.berth, &request, &grant), BERTH_ERROR_BAD_ARGUMENT);
    request.places = (struct berth_texts){places, 1};
    request.purpose = BERTH_PURPOSE_COMPUTE;
    request.ttl_s = 60;
    say(&pair, "{\"claim\":" CLAIM ",\"stored\":null}");
    assert_int_equal(berth_claim(pair.berth, &request, &grant), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Placement.Claim",
                      "{\"places\":[\"gpu0\"],\"purpose\":\"compute\",\"ttl_s\":60}");
    assert_int_equal(grant->stored, -1);
    assert_string_equal(grant->claim.claim, "c1");
    assert_int_equal(grant->claim.purpose, BERTH_PURPOSE_PROFILING);
    assert_true(grant->claim.uid == 7 && grant->claim.expires_at_s == 8 &&
                grant->claim.owner_pid == 9);
    assert_string_equal(grant->claim.key, "k");
    assert_null(grant->claim.owner_cgroup);
    berth_grant_free(grant);

    request.configuration = "x";
    request.key = "k";
    request.owner_pid = 9;
    request.owner_cgroup = "/g";
    request.wait_s = 0;
    say(&pair, "{\"claim\":null,\"stored\":null,\"waits_for\":null}");
    assert_int_equal(berth_claim(pair.berth, &request, &grant), BERTH_ERROR_PROTOCOL);
    expect_parameters(
        &pair, "io.berth.Placement.Claim",
        "{\"places\":[\"gpu0\"],\"purpose\":\"compute\",\"configuration\":\"x\",\"key\":"
        "\"k\",\"owner_pid\":9,\"owner_cgroup\":\"/g\",\"ttl_s\":60,\"wait_s\":0}");

    int released = 0;
    say(&pair, "{\"released\":1,\"stored\":true}");
    assert_int_equal(berth_release(pair.berth, "c1", NULL, &released), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Placement.Release", "{\"claim\":\"c1\"}");
    assert_int_equal(released, 1);
    say(&pair, "{\"released\":0}");
    assert_int_equal(berth_release(pair.berth, NULL, "k", NULL), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Placement.Release", "{\"key\":\"k\"}");
    say(&pair, "{\"released\":4294967297}");
    assert_int_equal(berth_release(pair.berth, NULL, "k", &released), BERTH_ERROR_PROTOCOL);
    expect_parameters(&pair, "io.berth.Placement.Release", "{\"key\":\"k\"}");
    assert_int_equal(released, 1);
    assert_int_equal(berth_release(pair.berth, NULL, NULL, NULL), BERTH_ERROR_BAD_ARGUMENT);

    struct berth_claims *all;
    say(&pair, "{\"claims\":[" CLAIM "],\"waiting\":[]}");
    assert_int_equal(berth_list_claims(pair.berth, &all), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Placement.ListClaims", "{}");
    assert_true(all->claim_count == 1 && all->waiting_count == 0);
    assert_string_equal(all->claims[0].configuration, "x");
    berth_claims_free(all);
    close_pair(&pair);
}

/* The daemon answers a claim that waits after the handle's timeout. */
static void a_claim_may_wait_longer_than_the_timeout(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    static const char *const places[] = {"gpu0"};
    struct berth_claim_request request;
    struct berth_grant *grant;
    berth_claim_request_init(&request);
    request.places = (struct berth_texts){places, 1};
    request.purpose = BERTH_PURPOSE_PROFILING;
    request.ttl_s = 60;
    berth_set_timeout(pair.berth, 0);
    assert_int_equal(berth_claim(pair.berth, &request, &grant), BERTH_ERROR_TIMED_OUT);
    request.wait_s = 1;
    assert_int_equal(berth_claim(pair.berth, &request, &grant), BERTH_ERROR_TIMED_OUT);
    assert_non_null(strstr(berth_error_detail(pair.berth), "1"));
    request.wait_s = INT64_MAX;
    say(&pair, "{}"); /* the late replies to the calls before */
    say(&pair, "{}");
    say(&pair, "{\"claim\":" CLAIM ",\"stored\":true}");
    assert_int_equal(berth_claim(pair.berth, &request, &grant), BERTH_DONE);
    assert_int_equal(grant->stored, 1);
    berth_grant_free(grant);
    close_pair(&pair);
}

static void reports(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    struct berth_reports *reports;
    say(&pair,
        "{\"kinds\":[{\"method\":\"route\",\"form\":\"f\",\"users\":1,\"bytes\":2,\"source\":"
        "\"nominal\",\"by\":\"root\",\"reports\":8,\"error_before\":0.5,\"error_after\":0.25,"
        "\"correction\":{\"factor\":2,\"reports\":8,\"by\":\"root\"}}]}");
    assert_int_equal(berth_list_reports(pair.berth, &reports), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Placement.ListReports", "{}");
    const struct berth_report_kind *kind = reports->kinds;
    assert_int_equal(kind->method, BERTH_METHOD_ROUTE);
    assert_int_equal(kind->by, BERTH_REPORTER_ROOT);
    assert_int_equal(kind->source, BERTH_SOURCE_NOMINAL);
    assert_string_equal(kind->form, "f");
    assert_true(kind->users == 1 && kind->bytes == 2 && kind->reports == 8 &&
                kind->error_before == 0.5 && kind->error_after == 0.25 && kind->factor == 2);
    berth_reports_free(reports);
    close_pair(&pair);
}

/* Elements of large arrays are checked before there is room made for them. */
static void a_large_array_of_no_objects_is_an_error(void **state)
{
    (void)state;
    enum { COUNT = 40000 };
    struct matrix_item pair = open_pair();
    struct berth_claims *all = NULL;
    json_t *array = json_array();
    for (int i = 0; i < COUNT; i++)
        json_array_append_new(array, i == COUNT - 1 ? json_integer(1) : json_object());
    json_t *reply = json_pack("{s:O,s:[]}", "claims", array, "waiting");
    char *text = json_dumps(reply, 0);
    say(&pair, text);
    assert_int_equal(berth_list_claims(pair.berth, &all), BERTH_ERROR_PROTOCOL);
    assert_non_null(strstr(berth_error_detail(pair.berth), "claims is not an array of objects"));
    assert_null(all);
    free(text);
    json_decref(reply);
    json_decref(array);
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

static void kernel(void **state)
{
    (void)state;
    struct matrix_item pair = open_pair();
    struct berth_kernel_request request = {.place = "gpu0", .test = BERTH_TEST_BS3, .dofs = 1000};
    struct berth_kernel *kernel;
    say(&pair, "{\"place\":\"gpu0\",\"test\":\"bs3\",\"bytes\":8000,\"wmax_bytes_per_s\":1e12,"
               "\"queued\":{\"time_ns\":5,\"low_ns\":4,\"high_ns\":6,\"t0_ns\":3,\"b80_bytes\":7},"
               "\"called\":null,\"flops_per_s\":null,\"source\":\"published\","
               "\"measured_at_s\":null,\"basis\":{\"snapshot\":\"s\",\"claims\":\"\",\"origin\":"
               "\"live\"}}");
    assert_int_equal(berth_predict_kernel(pair.berth, &request, &kernel), BERTH_DONE);
    expect_parameters(&pair, "io.berth.Fabric.PredictKernel",
                      "{\"place\":\"gpu0\",\"test\":\"bs3\",\"dofs\":1000}");
    assert_string_equal(kernel->place, "gpu0");
    assert_true(kernel->test == BERTH_TEST_BS3 && kernel->bytes == 8000 &&
                kernel->wmax_bytes_per_s == 1e12 && kernel->queued.time_ns == 5 &&
                kernel->queued.low_ns == 4 && kernel->queued.high_ns == 6 &&
                kernel->queued.t0_ns == 3 && kernel->queued.b80_bytes == 7);
    assert_true(isnan(kernel->called.time_ns) && isnan(kernel->called.t0_ns) &&
                isnan(kernel->flops_per_s) && kernel->source == BERTH_SOURCE_PUBLISHED &&
                kernel->measured_at_s == -1);
    berth_kernel_free(kernel);
    request = (struct berth_kernel_request){
        .place = "gpu0", .degree = 3, .reads_bytes = 5, .writes_bytes = 6, .flops = 7};
    say(&pair, "{\"place\":\"gpu0\"}");
    assert_int_equal(berth_predict_kernel(pair.berth, &request, &kernel), BERTH_ERROR_PROTOCOL);
    expect_parameters(&pair, "io.berth.Fabric.PredictKernel",
                      "{\"place\":\"gpu0\",\"degree\":3,\"reads_bytes\":5,\"writes_bytes\":6,"
                      "\"flops\":7}");
    request.place = NULL;
    assert_int_equal(berth_predict_kernel(pair.berth, &request, &kernel), BERTH_ERROR_BAD_ARGUMENT);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind_sends_what_is_set_and_reads_everything),
        cmocka_unit_test(a_job_plans_under_its_own_key),
        cmocka_unit_test(a_reply_with_any_member_broken_is_survived),
        cmocka_unit_test(allocate),
        cmocka_unit_test(a_refused_part_names_whole_node),
        cmocka_unit_test(check_and_matrix),
        cmocka_unit_test(route),
        cmocka_unit_test(an_index_of_a_route_is_of_an_option),
        cmocka_unit_test(node),
        cmocka_unit_test(curves_and_history),
        cmocka_unit_test(metrics_and_contention),
        cmocka_unit_test(tuning),
        cmocka_unit_test(kernel),
        cmocka_unit_test(claims),
        cmocka_unit_test(a_claim_may_wait_longer_than_the_timeout),
        cmocka_unit_test(reports),
        cmocka_unit_test(a_large_array_of_no_objects_is_an_error),
        cmocka_unit_test(texts_are_utf8),
        cmocka_unit_test(allowed_follows_this_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
