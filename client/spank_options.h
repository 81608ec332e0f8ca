/**
 * What --berth= of srun, sbatch and salloc says, and what the plugin's line in plugstack.conf says for jobs that say nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "berth.h"

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

/* What each flow of the pattern carries: bytes=; or, where only the shape was said, as much as host=, else SPANK_OPTIONS_BYTES: which gpus suit a shape depends on its size by
 * little, beside the host's traffic by what is the more of both. -1 without a pattern. */
#define SPANK_OPTIONS_BYTES ((int64_t)64 << 20)
int64_t spank_options_bytes(const struct spank_options *options);

/* Takes "pattern=ring,bytes=64M,host=1G,visible=all", "on" or "off". False with one line in why; options are then untouched. */
bool spank_options_parse(const char *text, struct spank_options *options, char *why, size_t size);
