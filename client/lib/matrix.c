/* Call berth_get_matrix: request, reply and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Fabric.GetMatrix"

static void fill_cell(struct lib_read *read, const json_t *item, void *ret)
{
    *(struct berth_cell *)ret = (struct berth_cell){
        .from = lib_read_text(read, item, "from"),
        .to = lib_read_text(read, item, "to"),
        .axes = lib_read_pairs(read, item, "axes"),
        .value = lib_read_maybe_number(read, item, "value"),
        .low = lib_read_maybe_number(read, item, "low"),
        .high = lib_read_maybe_number(read, item, "high"),
        .repetitions = lib_read_maybe_integer(read, item, "repetitions"),
        .source = (enum berth_source)lib_read_enum(read, item, "source", lib_source_names),
        .measured_at_s = lib_read_maybe_integer(read, item, "measured_at_s"),
        .why_not = lib_read_maybe_text(read, item, "why_not"),
    };
}

static void fill_matrix(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_matrix *matrix = ret;
    matrix->metric = lib_read_text(read, reply, "metric");
    matrix->unit = lib_read_text(read, reply, "unit");
    matrix->cells =
        lib_read_array(read, reply, "cells", sizeof *matrix->cells, fill_cell, &matrix->cell_count);
    matrix->basis = lib_read_basis(read, reply);
}

int berth_get_matrix(struct berth *berth, const struct berth_matrix_request *request,
                     struct berth_matrix **ret_matrix)
{
    if (request->metric == NULL)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT,
                        "a matrix is asked for by its metric's name");
    struct lib_write write = lib_write_begin();
    lib_write_text(&write, write.parameters, "metric", request->metric);
    lib_write_texts(&write, write.parameters, "from", &request->from);
    lib_write_texts(&write, write.parameters, "to", &request->to);
    lib_write_pairs(&write, write.parameters, "where", &request->where);
    lib_write_integer(&write, write.parameters, "at_s", request->at_s == 0 ? -1 : request->at_s);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    return status != BERTH_DONE
               ? status
               : lib_ask(berth, METHOD, parameters, sizeof **ret_matrix, fill_matrix, ret_matrix);
}

void berth_matrix_free(struct berth_matrix *matrix) { lib_result_free(matrix); }
