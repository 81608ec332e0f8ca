#include "slurm/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include "lib/lib.h"

struct berth *slurm_call_left(struct slurm_call *call)
{
    int64_t left = call->end_ms - lib_now_ms();
    berth_set_timeout(call->berth, left > 0 ? (int)left : 0);
    return call->berth;
}

int slurm_call_init(struct slurm_call *call, const char *socket, int budget_ms)
{
    *call = (struct slurm_call){
        .berth = berth_new(), .end_ms = lib_now_ms() + budget_ms, .budget_ms = budget_ms};
    if (call->berth == NULL)
        return BERTH_ERROR_OUT_OF_MEMORY;
    return berth_connect(slurm_call_left(call), socket);
}

void slurm_call_done(struct slurm_call *call)
{
    berth_free(call->berth);
    call->berth = NULL;
}

int slurm_call(struct slurm_call *call, const char *method, json_t *take_parameters,
               json_t **ret_reply)
{
    json_t *reply = NULL;
    int status = lib_call(slurm_call_left(call), method, take_parameters, &reply);
    if (status == BERTH_DONE && ret_reply != NULL)
        *ret_reply = reply;
    else
        json_decref(reply);
    return status;
}

const char *slurm_call_why(struct slurm_call *call)
{
    if (call->berth != NULL)
        lib_fail_late_of_all(call->berth, call->budget_ms);
    const char *why = call->berth != NULL ? berth_error_detail(call->berth) : "";
    return *why != '\0' ? why : "out of memory";
}

static __attribute__((format(printf, 3, 0))) void tell(bool is_quiet, int priority,
                                                       const char *format, va_list args)
{
    char line[512];
    vsnprintf(line, sizeof line, format, args);
    syslog(LOG_DAEMON | priority, "berth-slurm: %s", line);
    if (!is_quiet)
        fprintf(stderr, "berth-slurm: %s\n", line);
}

void slurm_call_log(int priority, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(false, priority, format, args);
    va_end(args);
}

void slurm_call_report(const struct slurm_call *call, int priority, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(call->is_quiet, priority, format, args);
    va_end(args);
}
