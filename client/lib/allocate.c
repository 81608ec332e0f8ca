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

static struct lib_write write_request(const struct berth_allocate_request *request)
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
    return write;
}

static void fill_option(struct lib_read *read, const json_t *item, void *ret)
{
    struct berth_memory_option *option = ret;
    *option = (struct berth_memory_option){
        .memory = lib_read_text(read, item, "memory"),
        .kind = (enum berth_memory_kind)lib_read_enum(read, item, "kind", lib_kind_names),
        .call = lib_read_text(read, item, "call"),
        .predicted = lib_read_prediction(read, item, "predicted"),
        .setup_ns = lib_read_maybe_number(read, item, "setup_ns"),
        .free_bytes = lib_read_maybe_integer(read, item, "free_bytes"),
        .free_at_s = lib_read_maybe_integer(read, item, "free_at_s"),
    };
    option->evidence = lib_read_evidence(read, item, "evidence", &option->evidence_count);
}

static void fill_allocation(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_allocation *allocation = ret;
    allocation->options = lib_read_array(read, reply, "options", sizeof *allocation->options,
                                         fill_option, &allocation->option_count);
    allocation->warnings = lib_read_reasons(read, reply, "warnings");
    allocation->basis = lib_read_basis(read, reply);
    allocation->reasons = lib_read_reasons(read, reply, "reasons");
}

int berth_allocate(struct berth *berth, const struct berth_allocate_request *request,
                   struct berth_allocation **ret_allocation)
{
    if (request->bytes < 1)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "an allocation has at least one byte, not %lld", (long long)request->bytes);
    struct lib_write write = write_request(request);
    json_t *parameters;
    int status =
        lib_write_end_allowed(berth, &write, request->whole_node, request->allowed, &parameters);
    if (status == BERTH_DONE)
        status = lib_ask(berth, METHOD, parameters, sizeof **ret_allocation, fill_allocation,
                         ret_allocation);
    return lib_fail_allowed(berth, status, request->whole_node, request->allowed);
}

void berth_allocation_free(struct berth_allocation *allocation) { lib_result_free(allocation); }
