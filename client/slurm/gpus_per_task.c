#include "slurm/gpus_per_task.h"

void slurm_share_gpus(int gpus, struct berth_bind_request *request)
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
