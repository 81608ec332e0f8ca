#include "lib/slurm_gpus.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cpus.h"

#define DIGITS_MOST 9

long lib_dealt_count(const char *gpus_on_node)
{
    size_t digits = gpus_on_node != NULL ? strspn(gpus_on_node, "0123456789") : 0;
    return digits > 0 && digits <= DIGITS_MOST && gpus_on_node[digits] == '\0'
               ? strtol(gpus_on_node, NULL, 10)
               : 0;
}

enum lib_dealt lib_dealt_of(const char *gpus_on_node, const char *step_gpus)
{
    const long count = lib_dealt_count(gpus_on_node);
    struct lib_cpus numbers;
    long mine = 0;
    if (count == 0)
        return LIB_DEALT_UNKNOWN;
    if (step_gpus == NULL || !lib_cpus_parse(step_gpus, &numbers))
        return LIB_DEALT_TO_ALL;
    for (unsigned n = 0; n < LIB_CPUS_MAX; n++)
        mine += lib_cpus_has(&numbers, n);
    return mine < count ? LIB_DEALT_TO_EACH : LIB_DEALT_TO_ALL;
}
