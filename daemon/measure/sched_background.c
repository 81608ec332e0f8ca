/* Invariants:
 * 1. The timer runs only while nothing is measured in the background and a unit will be due; the
 * guard runs only while one is measured.
 * 2. before is referenced exactly while is_running. */
#include "measure/sched_background.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/print.h"
#include "measure/beside.h"
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
                                 const struct snapshot *snapshot, const struct gpu_use *used,
                                 unsigned most, struct berth_err *err)
{
    return freshness_next(&background->freshness, snapshot, background->env.config->freshness_s,
                          clock_now_s(background->env.clock), most, used, &background->unit,
                          &background->view.oldest_at_s, err);
}

/* True for the GPU that tunes launch shapes, while these no longer hold. It is measured one metric
 * at a time then, because the budget of a run has not the time to tune for several. */
static bool is_tuning(const struct sched_background *background, const struct snapshot *snapshot)
{
    return background->unit.place != PLACE_NONE && !background->unit.is_beside &&
           background->unit.place == graph_next(snapshot->graph, PLACE_GPU, 0) &&
           tuning_is_due(snapshot->shapes, snapshot->graph, clock_now_s(background->env.clock));
}

/* Finds the next unit, beside the users of these GPUs (NULL: nobody uses the node); false when
 * there is none or memory runs out. */
static bool find_next(struct sched_background *background, const struct snapshot *snapshot,
                      const struct gpu_use *used)
{
    struct berth_err err = {0};
    background->unit.place = PLACE_NONE;
    background->found_in = snapshot->generation;
    background->found_with_s = background->env.config->freshness_s;
    if (used != NULL)
        background->found_beside = *used;
    enum berth_code code = next_unit(background, snapshot, used, background->most, &err);
    if (code == BERTH_OK && count_metrics(&background->unit) > 1 && is_tuning(background, snapshot))
        code = next_unit(background, snapshot, used, 1, &err);
    if (code != BERTH_OK)
        log_line(LOG_LEVEL_WARNING, "nothing is measured in the background: %s", err.detail);
    describe(&background->unit, snapshot->graph, background->view.next,
             sizeof background->view.next);
    return background->unit.place != PLACE_NONE;
}

/* Finds the next unit where the one that was found does not hold: users may change claims often. */
static bool follow_next(struct sched_background *background, const struct snapshot *snapshot,
                        const struct gpu_use *used)
{
    const struct gpu_use *found = &background->found_beside;
    bool holds = background->found_in == snapshot->generation &&
                 background->found_with_s == background->env.config->freshness_s &&
                 background->unit.is_beside == (used != NULL) &&
                 (used == NULL || (gpu_use_has_each(found, used) && gpu_use_has_each(used, found)));
    return holds ? background->unit.place != PLACE_NONE : find_next(background, snapshot, used);
}

/* Returns the GPUs of the claims. */
static struct gpu_use claimed(const struct sched_background *background, const struct graph *graph)
{
    struct gpu_use use = {.vendor = NULL};
    beside_add_claimed(&use, graph, background->claims);
    return use;
}

/* True when the unit may be measured beside the claims. */
static bool follow_beside(struct sched_background *background, const struct snapshot *snapshot)
{
    if (background->hold[0] == '\0' || background->claims == NULL ||
        !background->env.config->measure_beside_jobs)
        return false;
    struct gpu_use use = claimed(background, snapshot->graph);
    return !gpu_use_has_all(&use, snapshot->graph) && follow_next(background, snapshot, &use);
}

/* True when the claims hold the running unit: all, or those of a GPU that it does not leave out.
 * The GPUs to leave out are chosen when the drivers have reported. */
static bool is_held_now(const struct sched_background *background)
{
    const struct sched_probe *probe = &background->probe;
    if (background->hold[0] == '\0')
        return false;
    if (!background->unit.is_beside || background->claims == NULL)
        return true;
    struct gpu_use use = claimed(background, background->before->graph);
    return !probe->is_querying && !gpu_use_has_each(&probe->out, &use);
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

/* Sets the time of the next unit. */
static void follow(struct sched_background *background, const struct snapshot *snapshot)
{
    struct background_view *view = &background->view;
    view->is_on = is_on(background);
    view->next_at_s = 0;
    uv_timer_stop(&background->timer);
    if (!view->is_on)
        return;
    bool is_beside = follow_beside(background, snapshot);
    if (!is_beside && !follow_next(background, snapshot, NULL))
        return;
    if (background->hold[0] != '\0' && !is_beside) {
        memcpy(view->waits, background->hold, sizeof view->waits);
        view->beside[0] = '\0';
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

void sched_background_follow(struct sched_background *background, const struct snapshot *snapshot,
                             const struct claim_set *claims, const char *hold)
{
    background->claims = claims;
    snprintf(background->hold, sizeof background->hold, "%s", hold != NULL ? hold : "");
    if (!background->is_running)
        follow(background, snapshot);
    else if (!is_on(background) || is_held_now(background))
        sched_background_cancel(background);
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
    background->view.beside[0] = '\0';
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

/* Adds the condition; keeps the old ones when out of memory. */
static void add_beside(struct run *run, const char *beside)
{
    json_t *conditions =
        run->conditions != NULL ? json_loads(run->conditions, 0, NULL) : json_object();
    char *text = json_object_set_new(conditions, "beside", json_string(beside)) == 0
                     ? print_tree(conditions, JSON_COMPACT)
                     : NULL;
    json_decref(conditions);
    if (text != NULL) {
        free(run->conditions);
        run->conditions = text;
    }
}

void sched_background_add(struct sched_background *background, struct run *run)
{
    background->is_cut |= strcmp(run->status, "budget") == 0;
    if (!background->unit.is_beside)
        return;
    struct values *renewed = freshness_renewed(&background->freshness, background->before,
                                               run->values, clock_now_s(background->env.clock));
    values_free(run->values);
    run->values = renewed;
    run->is_beside = true;
    add_beside(run, background->view.beside);
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
    } else if (background->unit.is_beside) {
        background->open = open; /* a process beside it has gone */
    }
}

/* Writes the reason when others use the node; "" when nobody does. */
static void look_at_node(struct sched_background *background, const struct graph *graph, char *why,
                         size_t size)
{
    struct node_use_gpus open = node_use_gpus(&background->io);
    bool of_gpu = is_gpu(graph, background->unit.place), is_opened;
    is_opened = open.openings > background->idle_openings;
    memcpy(why, background->hold, size);
    if (why[0] == '\0' && !node_use_has_job(&background->io, why, size) &&
        !node_use_is_loaded(&background->io, graph_count(graph, PLACE_PU), NODE_USE_LOAD, why,
                            size)) {
        if (open.processes > 0)
            snprintf(why, size, "gpus in use by %ld process%s", open.processes,
                     open.processes == 1 ? "" : "es");
        else if (!of_gpu && is_opened)
            snprintf(why, size, "gpus in use");
    }
    background->open = open;
    background->openings = open.openings;
    background->are_open = open.processes > 0 || is_opened;
}

/* True when the unit is due, or another one beside the node's users. Else it is put off. */
static bool find_room(struct sched_background *background, const struct snapshot *snapshot)
{
    char why[SCHED_BACKGROUND_TEXT];
    const struct graph *graph = snapshot->graph;
    look_at_node(background, graph, why, sizeof why);
    if (why[0] != '\0') {
        struct gpu_use use = claimed(background, graph);
        size_t cpus = graph_count(graph, PLACE_PU);
        if (!background->env.config->measure_beside_jobs ||
            !find_next(background, snapshot, &use) ||
            background->unit.due_s > clock_now_s(background->env.clock) ||
            node_use_is_loaded(&background->io, cpus, NODE_USE_LOAD_BESIDE, why, sizeof why)) {
            sched_background_later(background, why);
            return false;
        }
    }
    background->has_open = !is_gpu(graph, background->unit.place);
    memcpy(background->view.beside, why, sizeof why);
    return true;
}

static enum berth_code ask_for(struct sched_background *background, const struct graph *graph,
                               struct probe_request *request, struct berth_err *err)
{
    char *metrics = metrics_of(&background->unit),
         *places = strdup(graph_place(graph, background->unit.place)->name);
    if (metrics == NULL || places == NULL) {
        free(metrics);
        free(places);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    free(request->metrics);
    free(request->places);
    request->metrics = metrics;
    request->places = places;
    request->at = background->unit.place;
    request->is_beside = background->unit.is_beside;
    return BERTH_OK;
}

bool sched_background_choose(struct sched_background *background, struct gpu_use *use,
                             struct probe_request *request)
{
    struct berth_err err = {0};
    const struct snapshot *snapshot = background->before;
    struct freshness_unit asked = background->unit;
    char *why = background->put_off;
    size_t size = sizeof background->put_off, at = 0;
    while (at < use->count && use->item[at].processes <= 0)
        at++;
    bool is_reported = at < use->count;
    if (is_reported)
        snprintf(why, size, "%s in use by %lld process%s",
                 graph_place(snapshot->graph, use->item[at].gpu)->name,
                 (long long)use->item[at].processes, use->item[at].processes == 1 ? "" : "es");
    else
        memcpy(why, background->view.beside, size);
    if (why[0] == '\0')
        return true;
    /* GPUs are open, and no driver reports which */
    if (!background->env.config->measure_beside_jobs || (!is_reported && background->are_open))
        return false;
    beside_add_claimed(use, snapshot->graph, background->claims);
    if (!find_next(background, snapshot, use) ||
        background->unit.due_s > clock_now_s(background->env.clock) ||
        ask_for(background, snapshot->graph, request, &err) != BERTH_OK) {
        background->unit = asked;
        return false;
    }
    memcpy(background->view.beside, why, size);
    why[0] = '\0';
    return true;
}

static bool begin_probe(struct sched_background *background, const struct snapshot *snapshot)
{
    struct berth_err err = {0};
    struct probe_request request = {
        .is_background = true,
        .budget_ns = budget_ns(background, is_gpu(snapshot->graph, background->unit.place)) *
                     (is_tuning(background, snapshot) ? TUNING : 1)};
    background->probe.claims.set = background->claims;
    enum berth_code code = ask_for(background, snapshot->graph, &request, &err);
    if (code == BERTH_OK)
        code = sched_probe_begin(&background->probe, &request, snapshot->graph, &err);
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
    follow(background, snapshot);
    return false;
}

bool sched_background_try(struct sched_background *background, const struct snapshot *snapshot)
{
    background->found_in = 0;
    if (!is_on(background) || background->is_running ||
        (!follow_beside(background, snapshot) && !find_next(background, snapshot, NULL)))
        return false;
    if (background->unit.due_s > clock_now_s(background->env.clock) ||
        affordable_ns(background, snapshot->graph) > clock_mono_ns(background->env.clock)) {
        follow(background, snapshot);
        return false;
    }
    background->begun_ns = clock_mono_ns(background->env.clock);
    background->begun_s = clock_now_s(background->env.clock);
    background->cpu_ns = children_cpu_ns();
    if (!find_room(background, snapshot) || !begin_probe(background, snapshot))
        return false;
    background->is_running = true;
    background->is_cut = false;
    background->put_off[0] = '\0';
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
    uv_timer_stop(&background->guard);
    background->is_running = false;
    background->found_in = 0;
    view->last_cost_ns = took_ns > used_ns ? took_ns : used_ns;
    double percent = background->env.config->duty_percent;
    duty_charge(&background->duty, now_ns, view->last_cost_ns, percent > 0 ? percent : 100);
    background->cost_ns[is_gpu(background->before->graph, background->unit.place)]
                       [background->unit.first] = view->last_cost_ns;
    if (background->put_off[0] != '\0') {
        sched_background_later(background, background->put_off);
    } else if (!background->probe.cancelled) {
        background->waits = 0;
        adapt_most(background);
        if (is_gpu(background->before->graph, background->unit.place) &&
            !background->unit.is_beside)
            background->idle_openings = background->openings;
        freshness_try(&background->freshness, &background->unit, background->begun_s);
        if (!background->unit.is_beside)
            freshness_compare(&background->freshness, &background->unit, background->before,
                              snapshot, clock_now_s(background->env.clock));
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
