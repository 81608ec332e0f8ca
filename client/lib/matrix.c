/* Call berth_get_matrix: request, reply and its release. */
#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Fabric.GetMatrix"

static int read_matrix(struct berth *berth, json_t *take_reply, struct berth_matrix **ret_matrix)
{
    struct lib_read read;
    struct berth_matrix *matrix = lib_result_new(sizeof *matrix, take_reply, &read);
    if (matrix == NULL)
        return lib_fail_memory(berth);
    matrix->metric = lib_read_text(&read, take_reply, "metric");
    matrix->unit = lib_read_text(&read, take_reply, "unit");
    const json_t *array;
    struct berth_cell *cells =
        lib_read_array(&read, take_reply, "cells", sizeof *cells, &array, &matrix->cell_count);
    for (size_t i = 0; i < matrix->cell_count; i++) {
        const json_t *item = json_array_get(array, i);
        cells[i] = (struct berth_cell){
            .from = lib_read_text(&read, item, "from"),
            .to = lib_read_text(&read, item, "to"),
            .axes = lib_read_pairs(&read, item, "axes"),
            .value = lib_read_maybe_number(&read, item, "value"),
            .low = lib_read_maybe_number(&read, item, "low"),
            .high = lib_read_maybe_number(&read, item, "high"),
            .repetitions = lib_read_maybe_integer(&read, item, "repetitions"),
            .source = (enum berth_source)lib_read_enum(&read, item, "source", lib_source_names),
            .measured_at_s = lib_read_maybe_integer(&read, item, "measured_at_s"),
            .why_not = lib_read_maybe_text(&read, item, "why_not"),
        };
    }
    matrix->cells = cells;
    matrix->basis = lib_read_basis(&read, take_reply);
    int status = lib_result_end(berth, &read, METHOD, matrix);
    if (status == BERTH_DONE)
        *ret_matrix = matrix;
    return status;
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
    json_t *parameters, *reply = NULL;
    int status = lib_write_end(berth, &write, &parameters);
    if (status == BERTH_DONE)
        status = lib_call(berth, METHOD, parameters, &reply);
    return status != BERTH_DONE ? status : read_matrix(berth, reply, ret_matrix);
}

void berth_matrix_free(struct berth_matrix *matrix) { lib_result_free(matrix); }
