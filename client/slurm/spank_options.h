/**
 * What --berth= of srun, sbatch and salloc says, and what the plugin's line in plugstack.conf says
 * for jobs that say nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "lib/berth.h"

struct spank_options {
    bool is_off; /* berth leaves the job alone */
    int gpus_per_task, cores_per_task;
    enum berth_pattern pattern;
    int64_t bytes, host_bytes; /* -1 not said */
    enum berth_mechanism mechanism;
    enum berth_order order;
    enum berth_visible visible;
};

/* Nothing said: berths without known traffic. */
void spank_options_init(struct spank_options *options);

/* Takes "pattern=ring,bytes=64M,host=1G,visible=all", "on" or "off". False with one line in why;
 * options are then untouched. */
bool spank_options_parse(const char *text, struct spank_options *options, char *why, size_t size);
