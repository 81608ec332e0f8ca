/* Call berth_allocate: request, reply and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Placement.Allocate"

void berth_allocate_request_init(struct berth_allocate_request *request)
{
    *request = (struct berth_allocate_request){0};
}

static void write_accesses(struct lib_write *write, const struct berth_allocate_request *request)
{
    if (request->accesses == NULL)
        return;
    json_t *array = lib_write_array(write, write->parameters, "accesses");
    for (size_t i = 0; i < request->access_count; i++) {
        const struct berth_access *access = &request->accesses[i];
        json_t *item = lib_write_element(write, array, json_object());
        lib_write_text(write, item, "by", access->by == NULL ? "" : access->by);
        lib_write_integer(write, item, "reads_bytes", access->reads_bytes);
        lib_write_integer(write, item, "writes_bytes", access->writes_bytes);
        lib_write_text(write, item, "pattern", access->random ? "random" : NULL);
        lib_write_integer(write, item, "cores", access->cores > 0 ? access->cores : -1);
    }
}

static int write_request(struct berth *berth, const struct berth_allocate_request *request,
                         json_t **ret_parameters)
{
    struct lib_write write = lib_write_begin();
    lib_write_integer(&write, write.parameters, "bytes", request->bytes);
    write_accesses(&write, request);
    if (request->kinds != 0) {
        json_t *array = lib_write_array(&write, write.parameters, "kinds");
        for (int kind = 1; lib_kind_names[kind] != NULL; kind++)
            if (request->kinds & 1u << kind)
                lib_write_element(&write, array, json_string(lib_kind_names[kind]));
    }
    return lib_write_end(berth, &write, ret_parameters);
}

static int read_allocation(struct berth *berth, json_t *take_reply,
                           struct berth_allocation **ret_allocation)
{
    struct lib_read read;
    struct berth_allocation *allocation = lib_result_new(sizeof *allocation, take_reply, &read);
    if (allocation == NULL)
        return lib_fail_memory(berth);
    const json_t *array;
    struct berth_memory_option *options = lib_read_array(
        &read, take_reply, "options", sizeof *options, &array, &allocation->option_count);
    for (size_t i = 0; i < allocation->option_count; i++) {
        const json_t *item = json_array_get(array, i);
        options[i] = (struct berth_memory_option){
            .memory = lib_read_text(&read, item, "memory"),
            .kind = (enum berth_memory_kind)lib_read_enum(&read, item, "kind", lib_kind_names),
            .call = lib_read_text(&read, item, "call"),
            .predicted = lib_read_prediction(&read, item, "predicted"),
            .free_bytes = lib_read_maybe_integer(&read, item, "free_bytes"),
            .free_at_s = lib_read_maybe_integer(&read, item, "free_at_s"),
        };
        options[i].evidence =
            lib_read_evidence(&read, item, "evidence", &options[i].evidence_count);
    }
    allocation->options = options;
    allocation->warnings = lib_read_reasons(&read, take_reply, "warnings");
    allocation->basis = lib_read_basis(&read, take_reply);
    allocation->reasons = lib_read_reasons(&read, take_reply, "reasons");
    int status = lib_result_end(berth, &read, METHOD, allocation);
    if (status == BERTH_DONE)
        *ret_allocation = allocation;
    return status;
}

int berth_allocate(struct berth *berth, const struct berth_allocate_request *request,
                   struct berth_allocation **ret_allocation)
{
    if (request->bytes < 1)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "an allocation has at least one byte, not %lld", (long long)request->bytes);
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
    return status != BERTH_DONE ? status : read_allocation(berth, reply, ret_allocation);
}

void berth_allocation_free(struct berth_allocation *allocation) { lib_result_free(allocation); }
