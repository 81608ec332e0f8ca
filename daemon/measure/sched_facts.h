/**
 * What the GPU drivers say: asks `berth-probe-gpu --facts` in the background, so that nobody waits
 * for a driver, and keeps the last text that was whole. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "base/config.h"
#include "measure/facts_text.h"
#include "measure/runner.h"
#include "measure/snapshot_builder.h"
#include "node/graph.h"

struct sched_facts_env {
    uv_loop_t *loop;
    const struct config *config; /* may change between calls */
    void (*said)(void *arg);     /* an asking has ended */
    void *arg;
};

/* Private, all of it. */
struct sched_facts {
    struct sched_facts_env env;
    struct runner *runner;
    struct runner_spec spec;
    char program[4096];
    const char *args[3];
    bool was_asked, is_new;
    int stuck;              /* a process that cannot be killed; 0 none */
    struct facts_text said; /* at the moment */
    char *latest;           /* NULL none */
    struct note note;       /* why the latest is none, or old; code "" it is not */
};

void sched_facts_init(struct sched_facts *facts, const struct sched_facts_env *env);
void sched_facts_done(struct sched_facts *facts); /* nothing may run */

/* Asks, where graph has gpus, and nothing is being asked. It takes 10 s at most, or what the
 * configuration says that a probe may be silent. False: nothing will be said, because there is
 * nothing to ask, a process that asked before cannot be killed, or the probe is not there, which
 * sched_facts_copy then says. */
bool sched_facts_ask(struct sched_facts *facts, const struct graph *graph);
static inline bool sched_facts_is_asking(const struct sched_facts *facts)
{
    return facts->runner != NULL;
}
static inline bool sched_facts_was_asked(const struct sched_facts *facts)
{
    return facts->was_asked;
}
void sched_facts_stop(struct sched_facts *facts); /* said comes all the same */

/* The text as somebody got it who asked for a reason of his own. NULL: he got none. */
void sched_facts_take(struct sched_facts *facts, char *take_text);

/* Whether there is something that sched_facts_copy has not given yet. */
static inline bool sched_facts_is_new(const struct sched_facts *facts) { return facts->is_new; }

/* For snapshot_builder_discover; the text is the caller's to free. Without memory there is none. */
struct snapshot_builder_facts sched_facts_copy(struct sched_facts *facts);
