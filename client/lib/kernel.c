/* Call berth_predict_kernel: request, reply and its release. */
#include <math.h>

#include "lib/read.h"
#include "lib/write.h"

#define METHOD "io.berth.Fabric.PredictKernel"

static const char *const test_names[] = {"", "bs1", "bs2", "bs3", "bs4", "bs5", "bs6", "bs7", NULL};

static const struct berth_kernel_time unknown = {NAN, NAN, NAN, NAN, NAN};

static void fill_time(struct lib_read *read, const json_t *time, void *ret)
{
    *(struct berth_kernel_time *)ret = (struct berth_kernel_time){
        .time_ns = lib_read_number(read, time, "time_ns"),
        .low_ns = lib_read_maybe_number(read, time, "low_ns"),
        .high_ns = lib_read_maybe_number(read, time, "high_ns"),
        .t0_ns = lib_read_maybe_number(read, time, "t0_ns"),
        .b80_bytes = lib_read_maybe_number(read, time, "b80_bytes"),
    };
}

static void fill_kernel(struct lib_read *read, const json_t *reply, void *ret)
{
    struct berth_kernel *kernel = ret;
    kernel->place = lib_read_text(read, reply, "place");
    kernel->test = (enum berth_test)lib_read_enum(read, reply, "test", test_names);
    kernel->bytes = lib_read_integer(read, reply, "bytes");
    kernel->wmax_bytes_per_s = lib_read_number(read, reply, "wmax_bytes_per_s");
    kernel->queued = kernel->called = unknown;
    lib_read_object(read, reply, "queued", fill_time, &kernel->queued);
    lib_read_maybe_object(read, reply, "called", fill_time, &kernel->called);
    kernel->flops_per_s = lib_read_maybe_number(read, reply, "flops_per_s");
    kernel->source = (enum berth_source)lib_read_enum(read, reply, "source", lib_source_names);
    kernel->measured_at_s = lib_read_maybe_integer(read, reply, "measured_at_s");
    kernel->basis = lib_read_basis(read, reply);
}

int berth_predict_kernel(struct berth *berth, const struct berth_kernel_request *request,
                         struct berth_kernel **ret_kernel)
{
    if (request->place == NULL)
        return lib_fail(berth, BERTH_ERROR_BAD_ARGUMENT, "a kernel runs on a gpu: name it");
    struct lib_write write = lib_write_begin();
    const struct {
        const char *key;
        int64_t number;
    } numbers[] = {{"degree", request->degree},
                   {"dofs", request->dofs},
                   {"reads_bytes", request->reads_bytes},
                   {"writes_bytes", request->writes_bytes},
                   {"flops", request->flops}};
    lib_write_text(&write, write.parameters, "place", request->place);
    lib_write_enum(&write, write.parameters, "test", (int)request->test, test_names,
                   BERTH_TEST_BS7 + 1);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].number != 0)
            lib_write_integer(&write, write.parameters, numbers[i].key, numbers[i].number);
    json_t *parameters;
    int status = lib_write_end(berth, &write, &parameters);
    return status != BERTH_DONE
               ? status
               : lib_ask(berth, METHOD, parameters, sizeof **ret_kernel, fill_kernel, ret_kernel);
}

void berth_kernel_free(struct berth_kernel *kernel) { lib_result_free(kernel); }
