/**
 * Default distribution of a step's gpus over its tasks. Pure; any thread.
 */
#pragma once
#include "lib/berth.h"

/* Sets gpus_per_task, tasks_per_gpu and visible so that no gpu of the step is lost. Each task gets
 * an equal number. Gpus left over are visible to all tasks. With too few gpus, several tasks share
 * one. request must have its number of tasks. A request that sets gpus_per_task stays as it is. */
void slurm_share_gpus(int gpus, struct berth_bind_request *request);
