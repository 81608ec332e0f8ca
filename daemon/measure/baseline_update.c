#include "measure/baseline_update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/derive.h"
#include "health/baseline.h"
#include "health/findings.h"
#include "measure/baseline_file.h"
#include "measure/counter_update.h"
#include "store/baseline.h"
#include "store/expected_place.h"

/* Copies base without the notes that accepting resolves. */
static struct snapshot *copy(const struct snapshot *base, uint64_t generation)
{
    struct values *values = values_new();
    struct sets *sets = sets_new();
    if (values == NULL || sets == NULL || !values_add_all(values, base->values) ||
        !sets_add_all(sets, base->sets)) {
        values_free(values);
        sets_free(sets);
        return NULL;
    }
    values_finish(values);
    struct note *kept = calloc(base->note_count + 1, sizeof *kept);
    size_t count = 0;
    for (size_t i = 0; kept != NULL && i < base->note_count; i++)
        if (strncmp(base->notes[i].code, "baseline-", 9) != 0)
            kept[count++] = base->notes[i];
    struct snapshot *snapshot = NULL;
    if (kept != NULL)
        snapshot =
            snapshot_new(base->graph, values, kept, count, base->last_probe_at_s, generation);
    else
        values_free(values);
    free(kept);
    if (snapshot == NULL) {
        sets_free(sets);
        return NULL;
    }
    snapshot->sets = sets;
    snapshot->has_standin = base->has_standin;
    snapshot->shapes = base->shapes != NULL ? strdup(base->shapes) : NULL;
    if ((base->shapes == NULL || snapshot->shapes != NULL) &&
        counters_copy(&base->counters, &snapshot->counters) && derive_costs(snapshot))
        return snapshot;
    snapshot_unref(snapshot);
    return NULL;
}

/* Selects the values to accept. base and its copy have the same values in the same order. */
static bool *choose(const struct snapshot *base, const bool *selected,
                    const struct health_limits *limits, struct accepted *accepted)
{
    struct findings asked = {.snap = base, .selected = selected};
    bool *chosen = calloc(base->values->count + 1, sizeof *chosen);
    for (size_t i = 0; chosen != NULL && i < base->values->count; i++) {
        const struct value *v = &base->values->item[i];
        bool is_asked =
            v->source == VALUE_MEASURED && v->value > 0 &&
            (findings_is_selected(&asked, v->from) || findings_is_selected(&asked, v->to));
        bool is_vague = is_asked && baseline_is_vague(v),
             is_overloaded =
                 is_asked && !is_vague && base->baseline != NULL && base->baseline[i].is_overloaded;
        chosen[i] = is_asked && !is_vague && !is_overloaded;
        accepted->vague += is_vague;
        accepted->overloaded += is_overloaded;
        accepted->count += chosen[i];
        accepted->in_line += chosen[i] && base->baseline != NULL &&
                             baseline_is_confirmed_by(&base->baseline[i], v, limits);
    }
    return chosen;
}

static void export(struct store *store, const struct snapshot *snapshot,
                   const struct history_env *env, struct accepted *accepted)
{
    struct baseline_set set;
    struct berth_err why = {0};
    enum berth_code code = baseline_set_init(&set)
                               ? store_baseline_list(store, snapshot->graph, &set, &why)
                               : BERTH_NO_MEMORY;
    if (code == BERTH_OK)
        code = store_expected_list(store, snapshot->graph, &set, &why);
    if (code == BERTH_OK)
        code = baseline_file_keep(env->folder, snapshot->graph, env->now_s, &why);
    if (code == BERTH_OK)
        code = baseline_file_write(env->folder, snapshot->graph, &set, env->now_s, accepted->file,
                                   sizeof accepted->file, &why);
    if (code != BERTH_OK)
        snprintf(accepted->why_not, sizeof accepted->why_not, "%s",
                 why.detail[0] != '\0' ? why.detail : "out of memory");
    baseline_set_done(&set);
}

enum berth_code baseline_update(struct store *store, const struct snapshot *base,
                                const bool *selected, const struct history_env *env,
                                uint64_t generation, struct accepted *ret_accepted,
                                const struct snapshot **ret_snapshot, struct berth_err *err)
{
    struct accepted accepted = {0};
    struct snapshot *snapshot = copy(base, generation);
    bool *chosen = snapshot != NULL ? choose(base, selected, &env->limits, &accepted) : NULL;
    struct baseline_set gone = {0};
    if (chosen == NULL) {
        snapshot_unref(snapshot);
        return err_set(err, BERTH_NO_MEMORY, "no memory to accept a baseline");
    }
    enum berth_code code = store_baseline_accept(store, snapshot->graph, snapshot->values, chosen,
                                                 &env->limits, env->now_s, err);
    if (code == BERTH_OK && selected == NULL)
        code = store_expected_compare(store, snapshot->graph, env->now_s, true, &gone, err);
    baseline_set_done(&gone);
    free(chosen);
    if (code != BERTH_OK) {
        snapshot_unref(snapshot);
        return code;
    }
    counter_update_accept(snapshot->graph, selected, env->state_dir, &snapshot->counters);
    struct history_env accepting = *env;
    accepting.is_acceptance = true;
    history_load(store, snapshot, &accepting);
    if (env->folder[0] != '\0')
        export(store, snapshot, env, &accepted);
    *ret_accepted = accepted;
    *ret_snapshot = snapshot;
    return BERTH_OK;
}
