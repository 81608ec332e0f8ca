#include "lib_read.h"
#include "lib_write.h"

#define METHOD "io.berth.Placement.Allocate"

void berth_allocate_request_init(struct berth_allocate_request *request) { *request = (struct berth_allocate_request){0}; }

static bool write_accesses(json_t *object, const struct berth_allocate_request *request)
{
    if (request->accesses == NULL)
        return true;
    json_t *array = json_array();
    bool fine = json_object_set_new(object, "accesses", array) == 0;
    for (size_t i = 0; fine && i < request->access_count; i++) {
        const struct berth_access *access = &request->accesses[i];
        json_t *item = json_object();
        fine = json_array_append_new(array, item) == 0 && access->by != NULL && lib_write_text(item, "by", access->by) &&
               lib_write_integer(item, "reads_bytes", access->reads_bytes) &&
               lib_write_integer(item, "writes_bytes", access->writes_bytes) &&
               lib_write_text(item, "how", access->random ? "random" : NULL) &&
               lib_write_integer(item, "cores", access->cores > 0 ? access->cores : -1);
    }
    return fine;
}

static bool write_kinds(json_t *object, unsigned kinds)
{
    if (kinds == 0)
        return true;
    json_t *array = json_array();
    bool fine = json_object_set_new(object, "kinds", array) == 0;
    for (int kind = 1; fine && lib_kind_names[kind] != NULL; kind++)
        if (kinds & 1u << kind)
            fine = json_array_append_new(array, json_string(lib_kind_names[kind])) == 0;
    return fine;
}

static int read_allocation(struct berth *berth, json_t *take_reply, struct berth_allocation **ret_allocation)
{
    struct lib_read read;
    struct berth_allocation *allocation = lib_result_new(sizeof *allocation, take_reply, &read);
    if (allocation == NULL)
        return lib_fail_memory(berth);
    const json_t *array;
    struct berth_memory_option *options = lib_read_array(&read, take_reply, "options", sizeof *options, &array, &allocation->option_count);
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
        options[i].why = lib_read_evidence(&read, item, "why", &options[i].why_count);
    }
    allocation->options = options;
    allocation->warnings = lib_read_texts(&read, take_reply, "warnings");
    allocation->basis = lib_read_basis(&read, take_reply);
    int status = lib_result_end(berth, &read, METHOD, allocation);
    if (status == BERTH_DONE)
        *ret_allocation = allocation;
    return status;
}

int berth_allocate(struct berth *berth, const struct berth_allocate_request *request, struct berth_allocation **ret_allocation)
{
    if (request->bytes < 1)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "an allocation has at least one byte, not %lld", (long long)request->bytes);
    json_t *parameters = json_object();
    bool fine = parameters != NULL && lib_write_integer(parameters, "bytes", request->bytes) && write_accesses(parameters, request) &&
                write_kinds(parameters, request->kinds);
    int status = fine ? lib_write_allowed(berth, parameters, request->whole_node, request->allowed) : lib_fail_request(berth);
    if (status < 0) {
        json_decref(parameters);
        return status;
    }
    json_t *reply;
    status = lib_call(berth, METHOD, parameters, &reply);
    return status < 0 ? status : read_allocation(berth, reply, ret_allocation);
}

void berth_allocation_free(struct berth_allocation *allocation) { lib_result_free(allocation); }
