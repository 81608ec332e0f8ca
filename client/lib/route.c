/* Call berth_route: request, reply with options and crossovers, and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Placement.Route"

static void write_concurrent(struct lib_write *write, const struct berth_route_request *request)
{
    if (request->concurrent == NULL)
        return;
    json_t *array = lib_write_array(write, write->parameters, "concurrent");
    for (size_t i = 0; i < request->concurrent_count; i++) {
        const struct berth_transfer *transfer = &request->concurrent[i];
        json_t *item = lib_write_element(write, array, json_object());
        lib_write_text(write, item, "from", transfer->from == NULL ? "" : transfer->from);
        lib_write_text(write, item, "to", transfer->to == NULL ? "" : transfer->to);
        lib_write_integer(write, item, "bytes", transfer->bytes);
    }
}

static struct lib_write write_request(const struct berth_route_request *request)
{
    struct lib_write write = lib_write_begin();
    json_t *object = write.parameters;
    lib_write_text(&write, object, "from", request->from);
    lib_write_text(&write, object, "to", request->to);
    lib_write_integer(&write, object, "bytes", request->bytes);
    lib_write_flag(&write, object, "overlap", request->overlap);
    lib_write_flag(&write, object, "both_directions", request->both_directions);
    lib_write_flag(&write, object, "allow_unmeasured", request->allow_unmeasured);
    write_concurrent(&write, request);
    return write;
}

static void fill_segment(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_segment *)ret = (struct berth_segment){
        .mechanism =
            (enum berth_mechanism)lib_read_enum(read, item, "mechanism", lib_mechanism_names),
        .via = lib_read_texts(read, item, "via"),
        .chunk_bytes = lib_read_maybe_integer(read, item, "chunk_bytes"),
        .streams = lib_read_maybe_integer(read, item, "streams"),
        .fraction = lib_read_number(read, item, "fraction"),
    };
}

static void fill_option(struct lib_read *read, const json_t *item, void *ret)
{
    struct berth_route_option *option = ret;
    *option = (struct berth_route_option){
        .call = lib_read_text(read, item, "call"),
        .environment = lib_read_pairs(read, item, "environment"),
        .needs_restart = lib_read_bool(read, item, "needs_restart"),
        .may_lead = lib_read_maybe_bool(read, item, "may_lead"),
        .worth_measuring = lib_read_maybe_text(read, item, "worth_measuring"),
    };
    lib_read_object(read, item, "predicted", lib_fill_prediction, &option->predicted);
    option->segments = lib_read_array(read, item, "segments", sizeof *option->segments,
                                      fill_segment, &option->segment_count);
    option->evidence = lib_read_evidence(read, item, "evidence", &option->evidence_count);
}

static void fill_crossover(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_crossover *)ret = (struct berth_crossover){
        .bytes = lib_read_integer(read, item, "bytes"),
        .below = lib_read_size(read, item, "below"),
        .above = lib_read_size(read, item, "above"),
    };
}

static void fill_routes(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_routes *routes = ret;
    routes->options = lib_read_array(read, reply, "options", sizeof *routes->options, fill_option,
                                     &routes->option_count);
    routes->crossovers = lib_read_array(read, reply, "crossovers", sizeof *routes->crossovers,
                                        fill_crossover, &routes->crossover_count);
    for (size_t i = 0; i < routes->crossover_count; i++)
        if (routes->crossovers[i].below >= routes->option_count ||
            routes->crossovers[i].above >= routes->option_count)
            lib_read_wrong(read, "crossovers", "about an option that is not there");
    routes->b80_bytes = lib_read_maybe_number(read, reply, "b80_bytes");
    routes->reasons = lib_read_reasons(read, reply, "reasons");
    routes->warnings = lib_read_reasons(read, reply, "warnings");
    routes->basis = lib_read_basis(read, reply);
}

int berth_route(struct berth *berth, const struct berth_route_request *request,
                struct berth_routes **ret_routes)
{
    if (request->from == NULL || request->to == NULL || request->bytes < 1)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a route is from one place to another, for at least one byte");
    struct lib_write write = write_request(request);
    json_t *parameters;
    int status =
        lib_write_end_allowed(berth, &write, request->whole_node, request->allowed, &parameters);
    if (status == BERTH_DONE)
        status = lib_ask(berth, METHOD, parameters, sizeof **ret_routes, fill_routes, ret_routes);
    return lib_fail_allowed(berth, status, request->whole_node, request->allowed);
}

void berth_routes_free(struct berth_routes *routes) { lib_result_free(routes); }
