#include "slurm_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <time.h>

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct berth *slurm_call_left(struct slurm_call *call)
{
    int64_t left = call->end_ms - now_ms();
    berth_set_timeout(call->berth, left > 0 ? (int)left : 0);
    return call->berth;
}

int slurm_call_init(struct slurm_call *call, const char *socket, int budget_ms)
{
    *call = (struct slurm_call){.berth = berth_new(), .end_ms = now_ms() + budget_ms};
    if (call->berth == NULL)
        return BERTH_ERROR_OUT_OF_MEMORY;
    return berth_connect(slurm_call_left(call), socket);
}

void slurm_call_done(struct slurm_call *call)
{
    berth_free(call->berth);
    call->berth = NULL;
}

int slurm_call(struct slurm_call *call, const char *method, json_t *take_parameters, json_t **ret_reply)
{
    char *parameters = take_parameters != NULL ? json_dumps(take_parameters, JSON_COMPACT) : NULL, *text = NULL;
    json_decref(take_parameters);
    if (parameters == NULL)
        return BERTH_ERROR_OUT_OF_MEMORY;
    int status = berth_call(slurm_call_left(call), method, parameters, &text);
    free(parameters);
    json_t *reply = status == BERTH_DONE && ret_reply != NULL ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (status == BERTH_DONE && ret_reply != NULL && reply == NULL)
        return BERTH_ERROR_OUT_OF_MEMORY; /* the library has found it to be JSON */
    if (reply != NULL)
        *ret_reply = reply;
    return status;
}

const char *slurm_call_why(const struct slurm_call *call)
{
    const char *why = call->berth != NULL ? berth_error_detail(call->berth) : "";
    return *why != '\0' ? why : "out of memory";
}

static __attribute__((format(printf, 3, 0))) void tell(bool is_quiet, int priority, const char *format, va_list args)
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

void slurm_call_tell(const struct slurm_call *call, int priority, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(call->is_quiet, priority, format, args);
    va_end(args);
}
