#include "past.h"

#include <stdio.h>
#include <stdlib.h>

#include "judge.h"
#include "store_baseline.h"
#include "store_finding.h"

static enum berth_code recall_baselines(struct store *store, struct snapshot *snapshot, struct berth_err *err)
{
    struct baseline *baseline = calloc(snapshot->values->count + 1, sizeof *baseline);
    if (baseline == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for baselines");
    enum berth_code code = store_baseline_load(store, snapshot->graph, snapshot->values, baseline, err);
    if (code != BERTH_OK) {
        free(baseline);
        return code;
    }
    free(snapshot->baseline);
    snapshot->baseline = baseline;
    return BERTH_OK;
}

/* What is found says which findings stand; those tell every later judgement of the snapshot since when. */
static enum berth_code keep_findings(struct store *store, struct snapshot *snapshot, const struct past_env *env, struct berth_err *err)
{
    struct judgement judgement = {0};
    enum berth_code code = judge(snapshot, NULL, &env->limits, &judgement, err);
    if (code != BERTH_OK)
        return code;
    struct opened *opened = NULL;
    size_t count = 0;
    code = store_finding_keep(store, &judgement, env->now_s, &opened, &count, err);
    judge_done(&judgement);
    if (code != BERTH_OK)
        return code;
    free(snapshot->opened);
    snapshot->opened = opened;
    snapshot->opened_count = count;
    return BERTH_OK;
}

/* Without memory for a note there is none. */
static void note_failure(struct snapshot *snapshot, const struct past_env *env, const struct berth_err *why)
{
    struct note *notes = realloc(snapshot->notes, (snapshot->note_count + 1) * sizeof *notes);
    if (notes == NULL)
        return;
    snapshot->notes = notes;
    struct note *note = &notes[snapshot->note_count++];
    *note = (struct note){.code = "past-unknown", .severity = 1, .place = "machine0", .since_s = env->now_s};
    snprintf(note->text, sizeof note->text, "what was measured earlier could not be compared with: %.190s", why->detail);
}

static enum berth_code recall(struct store *store, struct snapshot *snapshot, const struct past_env *env, struct berth_err *err)
{
    enum berth_code code = recall_baselines(store, snapshot, err);
    return code == BERTH_OK ? keep_findings(store, snapshot, env, err) : code;
}

void past_recall(struct store *store, struct snapshot *snapshot, const struct past_env *env)
{
    struct berth_err why = {0};
    if (recall(store, snapshot, env, &why) != BERTH_OK)
        note_failure(snapshot, env, &why);
}

void past_advance(struct store *store, struct snapshot *snapshot, const struct values *measured, const struct past_env *env)
{
    struct berth_err why = {0};
    enum berth_code code = measured != NULL ? store_baseline_take(store, snapshot->graph, measured, &env->limits, &why) : BERTH_OK;
    if (recall(store, snapshot, env, &why) != BERTH_OK || code != BERTH_OK)
        note_failure(snapshot, env, &why);
}
