/* Call berth_bind: request, reply and its release. */
#include "lib/lib.h"
#include "lib/read.h"
#include "lib/write.h"

#define METHOD       "io.berth.Placement.Bind"
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const char *const pattern_names[] = {"",       "none",   "pairs",    "ring",
                                            "grid2d", "grid3d", "alltoall", "allreduce"};
static const char *const order_names[] = {"", "free", "rank"};
static const char *const visible_names[] = {"", "own", "all"};
static const char *const policy_names[] = {"", "preferred", "bind", "interleave", NULL};

void berth_bind_request_init(struct berth_bind_request *request)
{
    *request = (struct berth_bind_request){.gpus_per_task = -1,
                                           .cores_per_task = -1,
                                           .threads_per_core = -1,
                                           .tasks_per_gpu = -1,
                                           .world = -1,
                                           .bytes = -1,
                                           .host_bytes = -1};
}

static void write_ranks(struct lib_write *write, const struct berth_bind_request *request)
{
    if (request->ranks == NULL)
        return;
    json_t *array = lib_write_array(write, write->parameters, "ranks");
    for (int i = 0; i < request->tasks; i++)
        lib_write_element(write, array, json_integer(request->ranks[i]));
}

static void write_flows(struct lib_write *write, const struct berth_bind_request *request)
{
    if (request->flows == NULL)
        return;
    json_t *array = lib_write_array(write, write->parameters, "flows");
    for (size_t i = 0; i < request->flow_count; i++) {
        const struct berth_flow *flow = &request->flows[i];
        lib_write_element(write, array,
                          json_pack("{s:i,s:i,s:I}", "from", flow->from, "to", flow->to, "bytes",
                                    (json_int_t)flow->bytes));
    }
}

struct lib_write lib_bind_write(const struct berth_bind_request *request)
{
    struct lib_write write = lib_write_begin();
    json_t *object = write.parameters;
    lib_write_integer(&write, object, "tasks", request->tasks);
    lib_write_integer(&write, object, "gpus_per_task", request->gpus_per_task);
    lib_write_integer(&write, object, "cores_per_task", request->cores_per_task);
    lib_write_integer(&write, object, "threads_per_core", request->threads_per_core);
    lib_write_integer(&write, object, "tasks_per_gpu", request->tasks_per_gpu);
    write_ranks(&write, request);
    lib_write_integer(&write, object, "world", request->world);
    lib_write_enum(&write, object, "pattern", (int)request->pattern, pattern_names,
                   COUNT(pattern_names));
    write_flows(&write, request);
    lib_write_integer(&write, object, "bytes", request->bytes);
    lib_write_integer(&write, object, "host_bytes", request->host_bytes);
    lib_write_enum(&write, object, "mechanism", (int)request->mechanism, lib_mechanism_names,
                   BERTH_MECHANISM_KERNEL + 1);
    lib_write_enum(&write, object, "order", (int)request->order, order_names, COUNT(order_names));
    lib_write_enum(&write, object, "visible", (int)request->visible, visible_names,
                   COUNT(visible_names));
    char key[LIB_KEY_SIZE];
    lib_write_text(&write, object, "key",
                   request->key != NULL || request->whole_node ? request->key
                                                               : lib_key_default(key));
    return write;
}

static void fill_task(struct lib_read *read, const json_t *object, void *ret)
{
    *(struct berth_task *)ret = (struct berth_task){
        .task = lib_read_int(read, object, "task"),
        .gpus = lib_read_texts(read, object, "gpus"),
        .memory = lib_read_texts(read, object, "memory"),
        .nics = lib_read_texts(read, object, "nics"),
        .cpus = lib_read_text(read, object, "cpus"),
        .cpu_mask = lib_read_text(read, object, "cpu_mask"),
        .memory_policy =
            (enum berth_memory_policy)lib_read_enum(read, object, "memory_policy", policy_names),
        .environment = lib_read_pairs(read, object, "environment"),
        .unset = lib_read_texts(read, object, "unset"),
    };
}

static void fill_binding(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_binding *binding = ret;
    binding->tasks = lib_read_array(read, reply, "tasks", sizeof *binding->tasks, fill_task,
                                    &binding->task_count);
    binding->predicted = lib_read_prediction(read, reply, "predicted");
    binding->baseline = lib_read_prediction(read, reply, "baseline");
    binding->proven_optimal = lib_read_bool(read, reply, "proven_optimal");
    binding->gap = lib_read_maybe_number(read, reply, "gap");
    binding->launcher = lib_read_pairs(read, reply, "launcher");
    binding->evidence = lib_read_evidence(read, reply, "evidence", &binding->evidence_count);
    binding->reasons = lib_read_reasons(read, reply, "reasons");
    binding->warnings = lib_read_reasons(read, reply, "warnings");
    binding->basis = lib_read_basis(read, reply);
}

int lib_bind_read(struct berth *berth, json_t *take_reply, struct berth_binding **ret_binding)
{
    return lib_read_reply(berth, METHOD, take_reply, sizeof **ret_binding, fill_binding,
                          ret_binding);
}

int berth_bind(struct berth *berth, const struct berth_bind_request *request,
               struct berth_binding **ret_binding)
{
    if (request->tasks < 1)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a binding is for at least one task, not %d", request->tasks);
    struct lib_write write = lib_bind_write(request);
    json_t *parameters;
    int status =
        lib_write_end_allowed(berth, &write, request->whole_node, request->allowed, &parameters);
    if (status == BERTH_DONE)
        status =
            lib_ask(berth, METHOD, parameters, sizeof **ret_binding, fill_binding, ret_binding);
    return lib_fail_allowed(berth, status, request->whole_node, request->allowed);
}

void berth_binding_free(struct berth_binding *binding) { lib_result_free(binding); }
