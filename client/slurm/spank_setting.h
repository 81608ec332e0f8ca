/**
 * The plugin's own line in plugstack.conf.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "slurm/spank_options.h"

struct spank_setting {
    const char *socket, *gres_conf; /* NULL: not given */
    long timeout_ms;                /* time of one task in all; default 1000 */
    struct spank_options options;   /* from default=, else without values */
    bool is_default_wrong;          /* true: the default of jobs without --berth= is unknown */
};

/* Parses "socket=PATH", "gres_conf=FILE", "timeout_ms=N" and "default=WORDS"; ret borrows its texts
 * from words. why receives a line about one invalid word, "" when there is none. An invalid
 * default= takes precedence, because tasks then stay as they are. Otherwise the first one counts,
 * and the other words hold. */
void spank_setting_read(int count, char **words, struct spank_setting *ret, char *why, size_t size);
