/**
 * How the gpus of a step are dealt out to its tasks where nobody says it. Pure; any thread.
 */
#pragma once
#include "lib/berth.h"

/* Fills in gpus_per_task, tasks_per_gpu and visible for a step of gpus: none is lost to a job that
 * may use all of them. They are shared out evenly; those left over stay visible to all tasks; of
 * too few, several tasks share one. request has its number of tasks; what it says about gpus
 * already stays. */
void slurm_share_gpus(int gpus, struct berth_bind_request *request);
