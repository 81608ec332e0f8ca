/* The claims of a node with a scheduler, on a loop and a clock of the test's. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/sched.h"
#include "serve/claim_keep.h"

struct times {
    int64_t now_s;
    uint64_t mono_ns;
};

static inline int64_t times_s(void *state) { return ((struct times *)state)->now_s; }
static inline uint64_t times_ns(void *state) { return ((struct times *)state)->mono_ns; }

struct rig {
    uv_loop_t loop;
    struct times times;
    struct clock clock;
    struct files io;
    struct config config;
    struct notifier notifier;
    struct sched *sched;
    struct claim_keep *keep;
};

static inline void claim_rig_begin(struct rig *rig)
{
    struct berth_err err = {0};
    *rig = (struct rig){.times = {1790000000, UINT64_C(5000000000)}, .io = {.root = ""}};
    rig->clock = (struct clock){times_s, times_ns, &rig->times};
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    assert_int_equal(config_init(&rig->config, &err), BERTH_OK);
    assert_int_equal(config_set(&rig->config, "node", "tests/wire/node", &err), BERTH_OK);
    struct sched_env env = {.loop = &rig->loop,
                            .clock = &rig->clock,
                            .io = &rig->io,
                            .config = &rig->config,
                            .notifier = &rig->notifier};
    if (sched_new(&env, &rig->sched, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    struct claim_keep_env keep = {&rig->loop,     &rig->clock, &rig->io, &rig->config,
                                  &rig->notifier, rig->sched,  NULL};
    assert_int_equal(claim_keep_new(&keep, &rig->keep, &err), BERTH_OK);
}

static inline void nothing(void *arg) { (void)arg; }

static inline void claim_rig_end(struct rig *rig)
{
    claim_keep_stop(rig->keep);
    sched_stop(rig->sched, nothing, NULL);
    uv_run(&rig->loop, UV_RUN_DEFAULT);
    claim_keep_free(rig->keep);
    sched_free(rig->sched);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    config_done(&rig->config);
}
