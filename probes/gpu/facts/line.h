/* Writers of facts into a record: unknown values (-1, "") are left out. */
#pragma once
#include "common/emit.h"

static inline void gpu_facts_number(struct probe_line *line, const char *key, int64_t value)
{
    if (value >= 0)
        probe_line_integer(line, key, value);
}

static inline void gpu_facts_text(struct probe_line *line, const char *key, const char *value)
{
    if (value[0] != '\0')
        probe_line_text(line, key, value);
}

static inline void gpu_facts_switch(struct probe_line *line, const char *key, int64_t value)
{
    if (value >= 0)
        probe_line_text(line, key, value > 0 ? "on" : "off");
}
