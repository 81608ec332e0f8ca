/**
 * Words of --berth= of srun, sbatch and salloc. The plugin's line in plugstack.conf has the same
 * words for jobs without the option.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "lib/berth.h"

struct spank_options {
    bool is_off; /* true: berth leaves the job alone */
    int gpus_per_task, cores_per_task;
    enum berth_pattern pattern;
    int64_t bytes, host_bytes; /* -1 not given */
    enum berth_mechanism mechanism;
    enum berth_order order;
    enum berth_visible visible;
};

/* Resets to the defaults: berths without known traffic. */
void spank_options_init(struct spank_options *options);

/* Parses "pattern=ring,bytes=64M,host=1G,visible=all", "on" or "off". False with one line in why;
 * options are then untouched. */
bool spank_options_parse(const char *text, struct spank_options *options, char *why, size_t size);
