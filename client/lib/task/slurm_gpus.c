#include "lib/task/slurm_gpus.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cpus.h"

#define DIGITS_MOST 9

long lib_slurm_gpus_count(const char *gpus_on_node)
{
    size_t digits = gpus_on_node != NULL ? strspn(gpus_on_node, "0123456789") : 0;
    return digits > 0 && digits <= DIGITS_MOST && gpus_on_node[digits] == '\0'
               ? strtol(gpus_on_node, NULL, 10)
               : 0;
}

enum lib_slurm_binding lib_slurm_gpus_binding(const char *gpus_on_node, const char *step_gpus)
{
    const long count = lib_slurm_gpus_count(gpus_on_node);
    struct lib_cpus numbers;
    long mine = 0;
    if (count == 0)
        return LIB_SLURM_UNKNOWN;
    if (step_gpus == NULL || !lib_cpus_parse(step_gpus, &numbers))
        return LIB_SLURM_UNBOUND;
    for (unsigned n = 0; n < LIB_CPUS_MAX; n++)
        mine += lib_cpus_has(&numbers, n);
    return mine < count ? LIB_SLURM_BOUND : LIB_SLURM_UNBOUND;
}

void lib_slurm_gpus_distribute(int gpus, struct berth_bind_request *request)
{
    const int tasks = request->tasks;
    if (request->gpus_per_task >= 0)
        return;
    request->gpus_per_task = gpus >= tasks ? gpus / tasks : gpus > 0 ? 1 : 0;
    if (gpus > 0 && gpus < tasks)
        request->tasks_per_gpu = (tasks + gpus - 1) / gpus;
    if (gpus > tasks && gpus % tasks != 0 && request->visible == BERTH_VISIBLE_DEFAULT)
        request->visible = BERTH_VISIBLE_ALL;
}
