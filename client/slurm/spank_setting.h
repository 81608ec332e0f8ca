/**
 * What the plugin's own line in plugstack.conf says.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "slurm/spank_options.h"

struct spank_setting {
    const char *socket, *gres_conf; /* NULL: not said */
    long timeout_ms;                /* of a task in all; 1000 */
    struct spank_options options;   /* default=, else nothing said */
    bool is_default_wrong;          /* what jobs that say nothing are to have is not known */
};

/* Takes "socket=PATH", "gres_conf=FILE", "timeout_ms=N" and "default=WORDS"; ret's texts are those
 * of words. Of what is wrong one is a line in why, default= if that is, for then tasks are left as
 * they are; else the first, and the rest holds. Empty when nothing is. */
void spank_setting_read(int count, char **words, struct spank_setting *ret, char *why, size_t size);
