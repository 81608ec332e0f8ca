/* Default key of a plan, from BERTH_KEY or the Slurm job. */
#include "lib/lib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lib_key_is_job(const char *text)
{
    return text != NULL && *text != '\0' && strlen(text) <= 20 &&
           strspn(text, "0123456789") == strlen(text);
}

/* A dot and a suffix behind the job's number place the key within the job's claim. The claim's own
 * key cannot serve: under it only its first plan is available. */
const char *lib_key_default(char buffer[LIB_KEY_SIZE])
{
    const char *key = getenv("BERTH_KEY"), *job = getenv("SLURM_JOB_ID");
    if (key != NULL)
        return *key != '\0' ? key : NULL;
    if (!lib_key_is_job(job))
        return NULL;
    snprintf(buffer, LIB_KEY_SIZE, "slurm/%s.bind", job);
    return buffer;
}
