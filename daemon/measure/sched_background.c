/* Invariants:
 * 1. The timer runs only while nothing is measured in the background and a unit will be due; the
 * guard runs only while one is measured.
 * 2. before is referenced exactly while is_running. */
#include "measure/sched_background.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "node/tuning.h"

#define SECOND_NS UINT64_C(1000000000)
#define FIRST_S   60  /* after the daemon's start; also the first wait for others */
#define LONGEST_S 600 /* wait for others */
#define GUARD_MS  10
#define LEAST_MS  20
#define DAY_MS    UINT64_C(86400000) /* a longer wait is looked at again, for a set clock */
/* time whose share a unit may take, and the time that it may take with any share */
#define SHARED_S 1200
#define LEAST_NS 300e6
#define TUNING   2 /* times the budget, for launch shapes besides a metric */
/* least cost that is expected of a unit before its first run */
#define UNKNOWN_NS UINT64_C(500000000)

static void timer_passed(uv_timer_t *timer)
{
    struct sched_background *background = timer->data;
    background->env.due(background->env.arg);
}

void sched_background_init(struct sched_background *background,
                           const struct sched_background_env *env,
                           const struct sched_probe_env *probe_env)
{
    *background = (struct sched_background){.env = *env, .io = *env->io};
    background->unit.place = PLACE_NONE;
    background->most = METRIC_COUNT;
    sched_probe_init(&background->probe, probe_env);
    uv_timer_init(env->loop, &background->timer);
    uv_timer_init(env->loop, &background->guard);
    background->timer.data = background->guard.data = background;
    if (env->config->node != NULL && strlen(env->config->node) < sizeof background->root) {
        if (realpath(env->config->node, background->root) == NULL)
            background->root[0] = '\0';
        background->io.root = background->root;
    }
}

void sched_background_begin(struct sched_background *background)
{
    background->is_begun = true;
    background->duty.paced_ns = clock_mono_ns(background->env.clock) + FIRST_S * SECOND_NS;
}

void sched_background_done(struct sched_background *background)
{
    snapshot_unref(background->before);
    freshness_done(&background->freshness);
    sched_probe_done(&background->probe);
}

static bool is_on(const struct sched_background *background)
{
    const struct config *config = background->env.config;
    return background->is_begun && !background->is_stopped && config->probe_at_start &&
           config->duty_percent > 0;
}

static bool is_gpu(const struct graph *graph, place_id place)
{
    return graph_place(graph, place)->kind == PLACE_GPU;
}

/* Joins the unit's metrics with commas; the caller frees it. NULL when out of memory. */
static char *metrics_of(const struct freshness_unit *unit)
{
    char *text = calloc(METRIC_COUNT, 48), *end = text;
    for (int m = 0; m < METRIC_COUNT && text != NULL; m++)
        if (unit->metric[m])
            end +=
                sprintf(end, "%s%.46s", end > text ? "," : "", metric_info((enum metric)m)->name);
    return text;
}

static unsigned count_metrics(const struct freshness_unit *unit)
{
    unsigned count = 0;
    for (int m = 0; m < METRIC_COUNT; m++)
        count += unit->metric[m];
    return count;
}

/* Writes the unit for a user: "gpu_stream and 2 others at gpu1"; "" none. */
static void describe(const struct freshness_unit *unit, const struct graph *graph, char *text,
                     size_t size)
{
    char others[32] = "";
    unsigned count = count_metrics(unit);
    text[0] = '\0';
    if (unit->place == PLACE_NONE)
        return;
    if (count > 1)
        snprintf(others, sizeof others, " and %u other%s", count - 1, count == 2 ? "" : "s");
    snprintf(text, size, "%s%s at %.60s", metric_info(unit->first)->name, others,
             graph_place(graph, unit->place)->name);
}

static enum berth_code next_unit(struct sched_background *background,
                                 const struct snapshot *snapshot, unsigned most,
                                 struct berth_err *err)
{
    return freshness_next(&background->freshness, snapshot, background->env.config->freshness_s,
                          clock_now_s(background->env.clock), most, &background->unit,
                          &background->view.oldest_at_s, err);
}

/* True for the GPU that tunes launch shapes, while these no longer hold. It is measured one metric
 * at a time then, because the budget of a run has not the time to tune for several. */
static bool is_tuning(const struct sched_background *background, const struct snapshot *snapshot)
{
    return background->unit.place != PLACE_NONE &&
           background->unit.place == graph_next(snapshot->graph, PLACE_GPU, 0) &&
           tuning_is_due(snapshot->shapes, snapshot->graph, clock_now_s(background->env.clock));
}

/* Finds the next unit; false when there is none or memory runs out. */
static bool find_next(struct sched_background *background, const struct snapshot *snapshot)
{
    struct berth_err err = {0};
    background->unit.place = PLACE_NONE;
    background->found_in = snapshot->generation;
    background->found_with_s = background->env.config->freshness_s;
    enum berth_code code = next_unit(background, snapshot, background->most, &err);
    if (code == BERTH_OK && count_metrics(&background->unit) > 1 && is_tuning(background, snapshot))
        code = next_unit(background, snapshot, 1, &err);
    if (code != BERTH_OK)
        log_line(LOG_LEVEL_WARNING, "nothing is measured in the background: %s", err.detail);
    describe(&background->unit, snapshot->graph, background->view.next,
             sizeof background->view.next);
    return background->unit.place != PLACE_NONE;
}

/* Finds the next unit where the one that was found does not hold: users may change claims often. */
static bool follow_next(struct sched_background *background, const struct snapshot *snapshot)
{
    bool holds = background->found_in == snapshot->generation &&
                 background->found_with_s == background->env.config->freshness_s;
    return holds ? background->unit.place != PLACE_NONE : find_next(background, snapshot);
}

/* Returns the cost that the unit had, or else as much as any other had. */
static uint64_t expected_ns(const struct sched_background *background, const struct graph *graph)
{
    bool of_gpu = is_gpu(graph, background->unit.place);
    uint64_t known_ns = background->cost_ns[of_gpu][background->unit.first], most_ns = UNKNOWN_NS;
    for (int m = 0; m < METRIC_COUNT; m++)
        for (int gpu = 0; gpu < 2; gpu++)
            if (background->cost_ns[gpu][m] > most_ns)
                most_ns = background->cost_ns[gpu][m];
    return known_ns > 0 ? known_ns : most_ns;
}

/* Returns the time from which the budget has room for the unit. */
static uint64_t affordable_ns(const struct sched_background *background, const struct graph *graph)
{
    return duty_begin_ns(&background->duty, clock_mono_ns(background->env.clock),
                         expected_ns(background, graph), background->env.config->duty_percent);
}

void sched_background_follow(struct sched_background *background, const struct snapshot *snapshot,
                             const char *hold)
{
    struct background_view *view = &background->view;
    if (background->is_running) {
        if (!is_on(background))
            sched_background_cancel(background);
        return;
    }
    view->is_on = is_on(background);
    view->next_at_s = 0;
    uv_timer_stop(&background->timer);
    if (!view->is_on || !follow_next(background, snapshot))
        return;
    if (hold != NULL) {
        snprintf(view->waits, sizeof view->waits, "%s", hold);
        background->is_held = true;
        background->waits = 0;
        background->again_ns = 0;
        return;
    }
    if (background->again_ns == 0)
        view->waits[0] = '\0';
    uint64_t now_ns = clock_mono_ns(background->env.clock), at_ns = now_ns;
    if (background->is_held)
        background->again_ns =
            now_ns + (uint64_t)background->env.config->claim_resume_s * SECOND_NS;
    background->is_held = false;
    int64_t now_s = clock_now_s(background->env.clock);
    if (background->unit.due_s > now_s)
        at_ns += (uint64_t)(background->unit.due_s - now_s) * SECOND_NS;
    uint64_t free_ns = affordable_ns(background, snapshot->graph);
    at_ns = at_ns > free_ns ? at_ns : free_ns;
    at_ns = at_ns > background->again_ns ? at_ns : background->again_ns;
    uint64_t wait_ms = (at_ns - now_ns + 999999) / 1000000;
    view->next_at_s = now_s + (int64_t)(wait_ms / 1000);
    wait_ms = wait_ms < LEAST_MS ? LEAST_MS : wait_ms;
    uv_timer_start(&background->timer, timer_passed, wait_ms < DAY_MS ? wait_ms : DAY_MS, 0);
}

void sched_background_later(struct sched_background *background, const char *why)
{
    uint64_t wait_s = FIRST_S;
    for (unsigned i = 0; i < background->waits && wait_s < LONGEST_S; i++)
        wait_s *= 2;
    wait_s = wait_s < LONGEST_S ? wait_s : LONGEST_S;
    background->waits++;
    background->again_ns = clock_mono_ns(background->env.clock) + wait_s * SECOND_NS;
    snprintf(background->view.waits, sizeof background->view.waits, "%s", why);
    background->view.next_at_s = clock_now_s(background->env.clock) + (int64_t)wait_s;
    if (!background->is_running && is_on(background))
        uv_timer_start(&background->timer, timer_passed, wait_s * 1000, 0);
}

/* ---- a run ---- */

static uint64_t children_cpu_ns(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * SECOND_NS +
           ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

/* Returns the time that the probe may take, a GPU's from the start of its driver on. */
static uint64_t budget_ns(const struct sched_background *background, bool of_gpu)
{
    const struct config *config = background->env.config;
    double most_ns = 1e6 * (double)(of_gpu ? config->gpu_quick_budget_ms : config->quick_budget_ms),
           share_ns = config->duty_percent / 100 * SHARED_S * 1e9;
    share_ns = share_ns > LEAST_NS ? share_ns : LEAST_NS;
    return (uint64_t)(share_ns < most_ns ? share_ns : most_ns);
}

/* Adapts the number of metrics of a unit to the budget. */
static void adapt_most(struct sched_background *background)
{
    unsigned count = count_metrics(&background->unit);
    if (background->is_cut)
        background->most = count > 1 ? count / 2 : 1;
    else if (count == background->most && count < METRIC_COUNT)
        background->most = count + 1;
}

void sched_background_add(struct sched_background *background, const struct run *run)
{
    background->is_cut |= strcmp(run->status, "budget") == 0;
}

/* Looks at the GPUs' files. A GPU probe opens GPUs itself until it reports its first cell. NVIDIA's
 * memory driver was open four times from its start to its end (one H200, 2026-11-27). */
static void look_at_gpus(uv_timer_t *timer)
{
    struct sched_background *background = timer->data;
    const struct run_progress *progress = &background->probe.parser.progress;
    struct node_use_gpus open = node_use_gpus(&background->io);
    if (!background->has_open) {
        background->has_open = progress->total > 0 || progress->has_value;
        background->open = open;
    } else if (open.processes > background->open.processes ||
               open.openings > background->open.openings) {
        sched_background_later(background, "a process opened a gpu");
        sched_background_cancel(background);
    }
}

/* True when others use the node; the unit is put off then. */
static bool is_node_used(struct sched_background *background, const struct graph *graph)
{
    char why[SCHED_BACKGROUND_TEXT] = "";
    struct node_use_gpus open = node_use_gpus(&background->io);
    bool of_gpu = is_gpu(graph, background->unit.place);
    if (!node_use_look(&background->io, graph_count(graph, PLACE_PU), why, sizeof why)) {
        if (open.processes > 0)
            snprintf(why, sizeof why, "gpus in use by %ld process%s", open.processes,
                     open.processes == 1 ? "" : "es");
        else if (!of_gpu && open.openings > background->idle_openings)
            snprintf(why, sizeof why, "gpus in use");
    }
    background->open = open;
    background->openings = open.openings;
    background->has_open = !of_gpu;
    if (why[0] != '\0')
        sched_background_later(background, why);
    return why[0] != '\0';
}

static bool begin_probe(struct sched_background *background, const struct snapshot *snapshot,
                        const struct claim_set *claims)
{
    struct berth_err err = {0};
    struct probe_request request = {
        .is_background = true,
        .at = background->unit.place,
        .budget_ns = budget_ns(background, is_gpu(snapshot->graph, background->unit.place)) *
                     (is_tuning(background, snapshot) ? TUNING : 1),
        .metrics = metrics_of(&background->unit),
        .places = strdup(graph_place(snapshot->graph, background->unit.place)->name)};
    background->probe.claims.set = claims;
    enum berth_code code =
        request.metrics != NULL && request.places != NULL
            ? sched_probe_begin(&background->probe, &request, snapshot->graph, &err)
            : err_set(&err, BERTH_NO_MEMORY, "out of memory");
    sched_probe_request_done(&request);
    if (code == BERTH_OK && sched_probe_step(&background->probe, snapshot->graph, snapshot->shapes))
        return true;
    if (code == BERTH_NO_MEMORY || code == BERTH_BUSY) {
        sched_background_later(background, err.detail);
        return false;
    }
    /* no probe measures it here: other units have their turn */
    freshness_try(&background->freshness, &background->unit, background->begun_s);
    background->found_in = 0;
    sched_background_follow(background, snapshot, NULL);
    return false;
}

bool sched_background_try(struct sched_background *background, const struct snapshot *snapshot,
                          const struct claim_set *claims)
{
    if (!is_on(background) || background->is_running || !find_next(background, snapshot))
        return false;
    if (background->unit.due_s > clock_now_s(background->env.clock) ||
        affordable_ns(background, snapshot->graph) > clock_mono_ns(background->env.clock)) {
        sched_background_follow(background, snapshot, NULL);
        return false;
    }
    background->begun_ns = clock_mono_ns(background->env.clock);
    background->begun_s = clock_now_s(background->env.clock);
    background->cpu_ns = children_cpu_ns();
    if (is_node_used(background, snapshot->graph) || !begin_probe(background, snapshot, claims))
        return false;
    background->is_running = true;
    background->is_cut = false;
    background->before = snapshot_ref(snapshot);
    background->again_ns = 0;
    background->view.waits[0] = '\0';
    background->view.next_at_s = 0;
    uv_timer_stop(&background->timer);
    uv_timer_start(&background->guard, look_at_gpus, GUARD_MS, GUARD_MS);
    return true;
}

void sched_background_cancel(struct sched_background *background)
{
    if (sched_probe_is_active(&background->probe) && !background->probe.cancelled)
        sched_probe_cancel(&background->probe);
}

void sched_background_ended(struct sched_background *background, const struct snapshot *snapshot)
{
    uint64_t now_ns = clock_mono_ns(background->env.clock), cpu_ns = children_cpu_ns();
    uint64_t took_ns = now_ns - background->begun_ns, used_ns = cpu_ns - background->cpu_ns;
    struct background_view *view = &background->view;
    const struct sched_probe_busy *busy = &background->probe.busy;
    char why[SCHED_BACKGROUND_TEXT];
    uv_timer_stop(&background->guard);
    background->is_running = false;
    background->found_in = 0;
    view->last_cost_ns = took_ns > used_ns ? took_ns : used_ns;
    double percent = background->env.config->duty_percent;
    duty_charge(&background->duty, now_ns, view->last_cost_ns, percent > 0 ? percent : 100);
    background->cost_ns[is_gpu(background->before->graph, background->unit.place)]
                       [background->unit.first] = view->last_cost_ns;
    if (busy->is_busy) {
        snprintf(why, sizeof why, "%s in use by %lld process%s",
                 graph_place(background->before->graph, busy->gpu)->name,
                 (long long)busy->processes, busy->processes == 1 ? "" : "es");
        sched_background_later(background, why);
    } else if (!background->probe.cancelled) {
        background->waits = 0;
        adapt_most(background);
        if (is_gpu(background->before->graph, background->unit.place))
            background->idle_openings = background->openings;
        freshness_try(&background->freshness, &background->unit, background->begun_s);
        freshness_compare(&background->freshness, &background->unit, background->before, snapshot,
                          clock_now_s(background->env.clock));
        view->last_at_s = clock_now_s(background->env.clock);
        describe(&background->unit, background->before->graph, view->last, sizeof view->last);
    }
    snapshot_unref(background->before);
    background->before = NULL;
}

void sched_background_read_view(const struct sched_background *background,
                                struct background_view *ret_view)
{
    uint64_t now_ns = clock_mono_ns(background->env.clock);
    *ret_view = background->view;
    ret_view->is_on = is_on(background);
    ret_view->budget = background->env.config->duty_percent / 100;
    ret_view->last_hour = (double)duty_hour_ns(&background->duty, now_ns) / (3600.0 * SECOND_NS);
    ret_view->last_day = (double)duty_day_ns(&background->duty, now_ns) / (86400.0 * SECOND_NS);
}

void sched_background_stop(struct sched_background *background)
{
    background->is_stopped = true;
    sched_background_cancel(background);
    uv_close((uv_handle_t *)&background->timer, NULL);
    uv_close((uv_handle_t *)&background->guard, NULL);
}
