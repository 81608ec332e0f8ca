/**
 * Facts from the GPU drivers. Runs `berth-probe-gpu --facts` in the background, so that nothing
 * waits for a driver, and keeps the latest complete text. Loop thread only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "base/config.h"
#include "measure/runner.h"
#include "measure/snapshot_builder.h"
#include "node/graph.h"

/* Output of `berth-probe-gpu --facts`, collected line by line. */
#define SCHED_FACTS_TEXT_MAX (4u << 20) /* 64 devices with all their links take 100 kB */

struct sched_facts_text {
    char *text; /* NULL nothing yet */
    size_t length;
    bool is_lost; /* incomplete: out of memory, or too long */
};

/* without the newline */
void sched_facts_text_add(struct sched_facts_text *facts, const char *line, size_t length);

/* Returns the complete text, which the caller frees, and begins anew. NULL when it is empty or
 * incomplete. */
char *sched_facts_text_detach(struct sched_facts_text *facts);

struct sched_facts_env {
    uv_loop_t *loop;
    const struct config *config; /* may change between calls */
    void (*answered)(void *arg); /* called when a query has ended */
    void *arg;
};

/* Private, all of it. */
struct sched_facts {
    struct sched_facts_env env;
    struct runner *runner;
    struct runner_spec spec;
    char program[4096];
    const char *args[3];
    bool was_queried, is_new;
    int stuck;                      /* a process that cannot be killed; 0 none */
    struct sched_facts_text output; /* of the running query */
    char *latest;                   /* NULL none */
    struct note note;               /* reason why latest is missing or old; code "" none */
};

void sched_facts_init(struct sched_facts *facts, const struct sched_facts_env *env);
void sched_facts_done(struct sched_facts *facts); /* nothing may run */

/* Starts a query if graph has GPUs and none is running. It takes at most 10 s, or the configured
 * silence of a probe. Returns false when no answer will come. There is nothing to ask, an earlier
 * process cannot be killed, or the probe does not exist, which sched_facts_copy notes. */
bool sched_facts_query(struct sched_facts *facts, const struct graph *graph);
static inline bool sched_facts_is_querying(const struct sched_facts *facts)
{
    return facts->runner != NULL;
}
static inline bool sched_facts_was_queried(const struct sched_facts *facts)
{
    return facts->was_queried;
}
void sched_facts_stop(struct sched_facts *facts); /* answered is still called */

/* Stores a text that another query got for its own purpose. NULL: it got none. */
void sched_facts_store(struct sched_facts *facts, char *take_text);

/* True when there is news that sched_facts_copy has not returned yet. */
static inline bool sched_facts_is_new(const struct sched_facts *facts) { return facts->is_new; }

/* Returns the facts for snapshot_builder_discover; the caller frees the text. NULL when out of
 * memory. */
struct snapshot_builder_facts sched_facts_copy(struct sched_facts *facts);
