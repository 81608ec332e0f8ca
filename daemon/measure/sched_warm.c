#include "measure/sched.h"

#include <stdlib.h>

#include "cost/pairs.h"

struct warm {
    struct sched_job job;      /* first */
    struct snapshot *snapshot; /* referenced */
};

static void derive(struct sched_job *job, struct store *store)
{
    (void)store;
    plan_pairs_of(((struct warm *)job)->snapshot);
}

static void done(struct sched_job *job)
{
    snapshot_unref(((struct warm *)job)->snapshot);
    free(job);
}

void sched_warm(struct sched *sched)
{
    struct warm *warm = calloc(1, sizeof *warm);
    if (warm == NULL)
        return;
    warm->job = (struct sched_job){.work = derive, .done = done};
    warm->snapshot = snapshot_ref(sched_snapshot(sched));
    sched_add_job(sched, &warm->job);
}
