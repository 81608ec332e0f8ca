#include "lib_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With a dot and more behind the job's number it names the job's claim without being the claim's own key, under which no other plan than the first may be asked for. */
const char *lib_key_default(char buffer[LIB_KEY_SIZE])
{
    const char *key = getenv("BERTH_KEY"), *job = getenv("SLURM_JOB_ID");
    if (key != NULL)
        return *key != '\0' ? key : NULL;
    if (job == NULL || *job == '\0' || strlen(job) > 20 || strspn(job, "0123456789") != strlen(job))
        return NULL;
    snprintf(buffer, LIB_KEY_SIZE, "slurm/%s.bind", job);
    return buffer;
}
