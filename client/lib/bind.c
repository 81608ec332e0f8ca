/* Call berth_bind: request, reply and its release. */
#include "lib/lib.h"
#include "lib/read.h"
#include "lib/write.h"

#define METHOD       "io.berth.Placement.Bind"
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const char *const pattern_names[] = {"",       "none",   "pairs",    "ring",
                                            "grid2d", "grid3d", "alltoall", "allreduce"};
static const char *const mechanism_names[] = {"", "best", "copy_engine", "kernel"};
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

static int write_request(struct berth *berth, const struct berth_bind_request *request,
                         json_t **ret_parameters)
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
    lib_write_enum(&write, object, "mechanism", (int)request->mechanism, mechanism_names,
                   COUNT(mechanism_names));
    lib_write_enum(&write, object, "order", (int)request->order, order_names, COUNT(order_names));
    lib_write_enum(&write, object, "visible", (int)request->visible, visible_names,
                   COUNT(visible_names));
    char key[LIB_KEY_SIZE];
    lib_write_text(&write, object, "key",
                   request->key != NULL || request->whole_node ? request->key
                                                               : lib_key_default(key));
    return lib_write_end(berth, &write, ret_parameters);
}

static struct berth_task read_task(struct lib_read *read, const json_t *object)
{
    return (struct berth_task){
        .task = (int)lib_read_integer(read, object, "task"),
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

int lib_bind_read(struct berth *berth, json_t *take_reply, struct berth_binding **ret_binding)
{
    struct lib_read read;
    struct berth_binding *binding = lib_result_new(sizeof *binding, take_reply, &read);
    if (binding == NULL)
        return lib_fail_memory(berth);
    const json_t *array;
    struct berth_task *tasks =
        lib_read_array(&read, take_reply, "tasks", sizeof *tasks, &array, &binding->task_count);
    for (size_t i = 0; i < binding->task_count; i++)
        tasks[i] = read_task(&read, json_array_get(array, i));
    binding->tasks = tasks;
    binding->predicted = lib_read_prediction(&read, take_reply, "predicted");
    binding->baseline = lib_read_prediction(&read, take_reply, "baseline");
    binding->proven_optimal = lib_read_bool(&read, take_reply, "proven_optimal");
    binding->gap = lib_read_maybe_number(&read, take_reply, "gap");
    binding->launcher = lib_read_pairs(&read, take_reply, "launcher");
    binding->evidence = lib_read_evidence(&read, take_reply, "evidence", &binding->evidence_count);
    binding->reasons = lib_read_reasons(&read, take_reply, "reasons");
    binding->warnings = lib_read_reasons(&read, take_reply, "warnings");
    binding->basis = lib_read_basis(&read, take_reply);
    int status = lib_result_end(berth, &read, METHOD, binding);
    if (status == BERTH_DONE)
        *ret_binding = binding;
    return status;
}

int berth_bind(struct berth *berth, const struct berth_bind_request *request,
               struct berth_binding **ret_binding)
{
    if (request->tasks < 1)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a binding is for at least one task, not %d", request->tasks);
    json_t *parameters = NULL;
    int status = write_request(berth, request, &parameters);
    if (status == BERTH_DONE)
        status = lib_write_allowed(berth, parameters, request->whole_node, 1, request->allowed);
    if (status < 0) {
        json_decref(parameters);
        return status;
    }
    json_t *reply;
    status = lib_call(berth, METHOD, parameters, &reply);
    return status != BERTH_DONE ? status : lib_bind_read(berth, reply, ret_binding);
}

void berth_binding_free(struct berth_binding *binding) { lib_result_free(binding); }
