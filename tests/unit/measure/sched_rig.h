/* A scheduler on this machine, with probes that are scripts, files below a root, and a clock that
 * the tests set. Include after cmocka.h. */
#pragma once
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "measure/guardian.h"
#include "measure/sched.h"
#include "unit/base/tree.h"

struct rig {
    char folder[TREE_SIZE]; /* the root; its probes are in the folder probes */
    uv_loop_t loop;
    struct files io;
    struct clock clock;
    _Atomic int64_t ahead_s; /* of the machine's clocks */
    struct config config;
    struct notifier notifier;
    struct sched *sched;
    struct claim_set claims;
    bool is_stopped, is_accepted;
    enum berth_code accepted; /* set with is_accepted by a test's own callback */
    unsigned looks;
};

/* Begins main: the scheduler starts this program as the guardian of its probes, too. */
static inline void rig_main(char **argv)
{
    if (guardian_is_requested(argv))
        guardian_main(argv);
}

static inline int64_t rig_now_s(void *state) { return 1790000000 + ((struct rig *)state)->ahead_s; }

static inline uint64_t rig_now_ns(void *state)
{
    return uv_hrtime() + (uint64_t)((struct rig *)state)->ahead_s * UINT64_C(1000000000);
}

static inline void rig_put(const struct rig *rig, const char *name, const char *text, mode_t mode)
{
    char path[PATH_MAX];
    tree_put(rig->folder, name, text);
    snprintf(path, sizeof path, "%s%s", rig->folder, name);
    assert_int_equal(chmod(path, mode), 0);
}

/* Number of the file's lines; 0 without the file. */
static inline size_t rig_lines(const struct rig *rig, const char *name)
{
    char path[PATH_MAX];
    size_t lines = 0;
    snprintf(path, sizeof path, "%s%s", rig->folder, name);
    FILE *file = fopen(path, "r");
    for (int c; file != NULL && (c = getc(file)) != EOF;)
        lines += c == '\n';
    if (file != NULL)
        fclose(file);
    return lines;
}

/* All but the scheduler, which rig_begin begins; nothing is stored. */
static inline void rig_prepare(struct rig *rig)
{
    struct berth_err err = {0};
    char path[PATH_MAX];
    *rig = (struct rig){0};
    rig->clock = (struct clock){rig_now_s, rig_now_ns, rig};
    tree_make(rig->folder);
    rig->io.root = rig->folder;
    tree_put(rig->folder, "/proc/meminfo", "MemTotal: 999000000000 kB\nMemFree:  1 kB\n");
    tree_put(rig->folder, "/proc/sys/kernel/random/boot_id",
             "00000000-0000-4000-8000-000000000000\n");
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    assert_int_equal(config_init(&rig->config, &err), BERTH_OK);
    snprintf(path, sizeof path, "%s/probes", rig->folder);
    assert_int_equal(config_set(&rig->config, "probe_dir", path, &err), BERTH_OK);
    assert_int_equal(config_set(&rig->config, "state_dir", "", &err), BERTH_OK);
}

static inline void rig_begin(struct rig *rig)
{
    struct berth_err err = {0};
    struct sched_env env = {.loop = &rig->loop,
                            .clock = &rig->clock,
                            .io = &rig->io,
                            .config = &rig->config,
                            .notifier = &rig->notifier};
    if (sched_new(&env, &rig->sched, &err) != BERTH_OK)
        fail_msg("%s", err.detail);
    sched_follow_claims(rig->sched, &rig->claims, true);
    sched_begin(rig->sched);
}

static inline void rig_stopped(void *arg) { ((struct rig *)arg)->is_stopped = true; }

static inline void rig_end(struct rig *rig)
{
    sched_stop(rig->sched, rig_stopped, rig);
    uv_run(&rig->loop, UV_RUN_DEFAULT);
    assert_true(rig->is_stopped);
    sched_free(rig->sched);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    claim_set_done(&rig->claims);
    config_done(&rig->config);
    tree_remove(rig->folder);
}

static inline void rig_look_again(uv_timer_t *timer) { ((struct rig *)timer->data)->looks++; }

/* Until the condition holds, 20 s at most; then it is returned. It is looked at every 10 ms, too,
 * where it is no event of the loop. */
static inline bool rig_runs_until(struct rig *rig, bool (*holds)(const struct rig *rig))
{
    uv_timer_t timer;
    uv_timer_init(&rig->loop, &timer);
    timer.data = rig;
    rig->looks = 0;
    uv_timer_start(&timer, rig_look_again, 10, 10);
    while (rig->looks < 2000 && !holds(rig))
        uv_run(&rig->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&rig->loop, UV_RUN_NOWAIT);
    return holds(rig);
}
