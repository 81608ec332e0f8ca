/**
 * Carries out a copy in parts: streams, events and memory between, made once and used again.
 */
#pragma once
#include "lib/copy_advice.h"

struct lib_copy_lanes;

/* A copy that follows the work in a stream of device. */
struct lib_copy_job {
    char *to;
    const char *from;
    size_t bytes;
    void *stream;
    int device;
};

/* NULL only when out of memory. The driver is borrowed. */
struct lib_copy_lanes *lib_copy_lanes_new(struct lib_driver *driver);
/* Waits for copies that are not done. NULL is fine. */
void lib_copy_lanes_free(struct lib_copy_lanes *lanes);

/* Makes all that the advice needs; starts nothing. Returns the driver's code, -1 when there are too
 * many paths. ret_what: the call that failed. */
int lib_copy_prepare(struct lib_copy_lanes *lanes, const struct lib_copy_advice *advice, int device,
                     const char **ret_what);

/* Starts a prepared copy. What follows in the job's stream waits for all that was started, also
 * after a failure. Returns the driver's code. */
int lib_copy_start(struct lib_copy_lanes *lanes, const struct lib_copy_advice *advice,
                   const struct lib_copy_job *job);
