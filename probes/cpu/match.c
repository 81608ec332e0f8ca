#include "cpu/match.h"

#include <stdlib.h>

static void play(void *arg, unsigned index)
{
    const struct cpu_match *match = (const struct cpu_match *)arg + index / 2;
    match->play(match->table, index % 2);
}

bool cpu_match_run(struct cpu_workers *workers, const struct cpu_match *matches, unsigned count,
                   int64_t limit_ns, bool *ret_overrun, struct probe_why *why)
{
    int *pus = malloc(2 * count * sizeof *pus);
    *ret_overrun = false;
    if (pus == NULL)
        return probe_why_set(why, "out of memory");
    for (unsigned i = 0; i < 2 * count; i++)
        pus[i] = matches[i / 2].pus[i % 2];
    bool ok = cpu_workers_run(workers, pus, 2 * count, play, (void *)(uintptr_t)matches, limit_ns,
                              ret_overrun, why);
    free(pus);
    return ok;
}
