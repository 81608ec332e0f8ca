#include "measure/snapshot_builder.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cost/derive.h"
#include "discover/discover.h"
#include "measure/counter_update.h"
#include "measure/sched_left_out.h"
#include "node/tuning.h"
#include "store/store.h"

static bool append_notes(struct note **notes, size_t *count, const struct note *more,
                         size_t more_count)
{
    if (more_count == 0)
        return true;
    struct note *grown = realloc(*notes, (*count + more_count) * sizeof *grown);
    if (grown == NULL)
        return false;
    memcpy(grown + *count, more, more_count * sizeof *more);
    *notes = grown;
    *count += more_count;
    return true;
}

/* Adds base's notes that remain valid after this run, including those of other probes' runs. */
static bool append_lasting(struct note **notes, size_t *count, const struct snapshot *base,
                           const struct run *run)
{
    bool ok = true;
    for (size_t i = 0; ok && i < base->note_count; i++) {
        const struct note *note = &base->notes[i];
        if (strncmp(note->code, "baseline-", 9) == 0 || strcmp(note->code, "gpu-facts") == 0 ||
            strcmp(note->code, "folder-garbage") == 0 ||
            (note->probe[0] != '\0' && strcmp(note->probe, run->probe) != 0))
            ok = append_notes(notes, count, note, 1);
    }
    return ok;
}

static bool has_note(const struct run *run, const struct note *note)
{
    for (size_t i = 0; i < run->note_count; i++)
        if (strcmp(run->notes[i].code, note->code) == 0 &&
            strcmp(run->notes[i].place, note->place) == 0)
            return true;
    return false;
}

/* True when the run measured the note's cell, or else its place. */
static bool has_checked(const struct run *run, const struct graph *graph, const struct note *note)
{
    place_id place = graph_find(graph, note->place), to = graph_find(graph, note->to);
    bool found = false;
    for (size_t i = 0; run->values != NULL && i < run->values->count && !found; i++) {
        const struct value *v = &run->values->item[i];
        bool is_cell = v->from == place && v->to == to &&
                       strcmp(metric_info(v->metric)->name, note->metric) == 0;
        bool is_place = note->metric[0] == '\0' && (v->from == place || v->to == place);
        found = !isnan(v->value) && (is_cell || is_place);
    }
    return found;
}

/* True when the base's note holds after a partial run. GPUs left out are measured whole by
 * sched_again, which the daemon's units do not replace. */
static bool outlasts(const struct run *run, const struct graph *graph, const struct note *note)
{
    if (note->severity >= NOTE_CRITICAL)
        return true;
    if (note->severity == NOTE_INFO)
        return run->is_background && (strcmp(note->code, SCHED_LEFT_OUT_IN_USE) == 0 ||
                                      strcmp(note->code, SCHED_LEFT_OUT_PROFILED) == 0);
    return (run->is_background || note->metric[0] != '\0') && !has_checked(run, graph, note);
}

/* Copies notes that a partial run could not check into that run, so that they are stored with
 * it. */
static bool inherit_notes(struct run *run, const struct snapshot *base)
{
    bool ok = true;
    for (size_t i = 0; ok && run->is_partial && i < base->note_count; i++)
        if (strcmp(base->notes[i].probe, run->probe) == 0 && !has_note(run, &base->notes[i]) &&
            outlasts(run, base->graph, &base->notes[i]))
            ok = append_notes(&run->notes, &run->note_count, &base->notes[i], 1);
    return ok;
}

/* Adds what is stored. A failure other than NO_MEMORY has moved the store to a database that works,
 * so the second try reads that. */
static enum berth_code read_stored(struct store *store, const struct graph *graph,
                                   const char *boot_id, struct values *values, struct sets *sets,
                                   struct note **ret_notes, size_t *ret_count, int64_t *ret_at_s,
                                   struct berth_err *err)
{
    enum berth_code code = BERTH_IO;
    for (int tries = 0; tries < 2 && code != BERTH_OK && code != BERTH_NO_MEMORY; tries++) {
        free(*ret_notes);
        *ret_notes = NULL;
        *ret_count = 0;
        *err = (struct berth_err){0};
        code = store_begin(store, graph, boot_id, err);
        if (code == BERTH_OK)
            code = store_load_latest(store, graph, values, ret_notes, ret_count, ret_at_s, err);
        if (code == BERTH_OK)
            code = store_set_load(store, graph, sets, err);
    }
    return code;
}

/* Makes the first snapshot: the folder's values, moved out of found, replaced by the store's where
 * it has some. */
static enum berth_code first_snapshot(const struct snapshot_builder *builder,
                                      struct discovery *found, const struct note *note_or_null,
                                      const char *boot_id, struct snapshot **ret_snapshot,
                                      struct berth_err *err)
{
    struct store *store = builder->store;
    struct note *notes = NULL, *stored = NULL;
    size_t count = 0, stored_count = 0;
    int64_t last_probe_at_s = found->measured_at_s;
    enum berth_code code = BERTH_NO_MEMORY;
    struct values *values = found->values; /* up to millions: not copied */
    struct sets *sets = sets_new();
    found->values = NULL;
    if (values == NULL || sets == NULL || !sets_add_all(sets, found->sets))
        goto out;
    int64_t stored_at_s = 0;
    struct berth_err why = {0};
    /* Note a failing store and serve the node without it. */
    if (read_stored(store, found->graph, boot_id, values, sets, &stored, &stored_count,
                    &stored_at_s, &why) != BERTH_OK) {
        struct note note = {.severity = 1, .code = "store-unreadable", .place = "machine0"};
        snprintf(note.text, sizeof note.text, "what is stored could not be read: %.200s",
                 why.detail);
        text_clean(note.text);
        if (!append_notes(&notes, &count, &note, 1))
            goto out;
    }
    values_finish(values);
    if (stored_at_s > last_probe_at_s)
        last_probe_at_s = stored_at_s;
    struct note store_note_now,
        garbage = {.severity = 1, .code = "folder-garbage", .place = "machine0"};
    memcpy(garbage.text, found->left_out, sizeof garbage.text);
    if (garbage.text[0] != '\0' && !append_notes(&notes, &count, &garbage, 1))
        goto out;
    if (note_or_null != NULL && !append_notes(&notes, &count, note_or_null, 1))
        goto out;
    if ((store_note(store, &store_note_now) && !append_notes(&notes, &count, &store_note_now, 1)) ||
        !append_notes(&notes, &count, stored, stored_count))
        goto out;
    struct snapshot *snapshot =
        snapshot_new(found->graph, values, notes, count, last_probe_at_s, builder->generation);
    values = NULL;
    if (snapshot != NULL) {
        snapshot->sets = sets;
        sets = NULL;
        store_load_shapes(store, &snapshot->shapes, NULL); /* without them the probe tunes again */
        if (snapshot->shapes == NULL) {
            snapshot->shapes = found->shapes;
            found->shapes = NULL;
        }
    }
    if (snapshot != NULL && derive_costs(snapshot)) {
        *ret_snapshot = snapshot;
        code = BERTH_OK;
    } else {
        snapshot_unref(snapshot);
    }
out:
    values_free(values);
    sets_free(sets);
    free(notes);
    free(stored);
    return code == BERTH_OK ? code : err_set(err, code, "out of memory");
}

/* Discovers this machine. NVIDIA's procfs files have less than its library but exist as soon as the
 * driver is loaded. They count until the library has reported. */
static enum berth_code discover_here(const struct files *io, const char *facts_text,
                                     struct discovery *ret, struct berth_err *err)
{
    char *files = NULL, *both = NULL;
    if (facts_text != NULL && strstr(facts_text, "\"vendor\":\"nvidia\"") != NULL)
        return discover_live(io, facts_text, ret, err);
    enum berth_code code = nvproc_facts(io, &files, err);
    if (code == BERTH_OK && facts_text != NULL && files != NULL &&
        asprintf(&both, "%s%s", facts_text, files) < 0) {
        both = NULL;
        code = err_set(err, BERTH_NO_MEMORY, "no memory for discovery");
    }
    if (code == BERTH_OK)
        code = discover_live(io,
                             both != NULL         ? both
                             : facts_text != NULL ? facts_text
                                                  : files,
                             ret, err);
    free(files);
    free(both);
    return code;
}

/* Reads the boot's id. Claims end with their boot, so a failed read yields no id. */
static enum berth_code read_boot_id(const struct files *io, char *buffer, size_t size,
                                    struct berth_err *err)
{
    char *text = NULL;
    struct berth_err why = {0};
    enum berth_code code = files_read(io, "/proc/sys/kernel/random/boot_id", 256, &text, &why);
    if (code == BERTH_OK)
        snprintf(buffer, size, "%.36s", text);
    else
        err_set(err, code == BERTH_NO_MEMORY ? code : BERTH_IO, "the boot's id is unknown: %s",
                why.detail);
    free(text);
    return code == BERTH_OK ? code : err->code;
}

enum berth_code snapshot_builder_discover(const struct snapshot_builder *builder,
                                          const struct files *io, const char *folder,
                                          const struct snapshot_builder_facts *facts,
                                          const struct snapshot **ret_snapshot,
                                          struct berth_err *err)
{
    struct discovery found = {0};
    struct snapshot *snapshot = NULL;
    const char *facts_text = facts != NULL ? facts->text : NULL;
    enum berth_code code = folder != NULL ? discover_folder(folder, &found, err)
                                          : discover_here(io, facts_text, &found, err);
    if (code != BERTH_OK)
        return code;
    char boot_id[40] = "";
    if (folder == NULL) /* a folder's store is memory only */
        code = read_boot_id(io, boot_id, sizeof boot_id, err);
    if (code == BERTH_OK)
        code = first_snapshot(builder, &found,
                              facts != NULL && facts->note.code[0] != '\0' ? &facts->note : NULL,
                              boot_id, &snapshot, err);
    if (code == BERTH_OK && folder == NULL)
        code = counter_update(io, found.graph, builder->past->state_dir, builder->past->events_file,
                              builder->past->now_s, builder->counters, &snapshot->counters, err);
    if (snapshot != NULL && folder != NULL) {
        snapshot->counters = found.counters;
        found.counters = (struct counters){0};
    }
    discovery_done(&found);
    if (code != BERTH_OK)
        snapshot_unref(snapshot);
    if (code == BERTH_OK && folder == NULL)
        history_begin(builder->store, snapshot, builder->past);
    if (code == BERTH_OK)
        *ret_snapshot = snapshot;
    return code;
}

/* Returns the launch shapes of kernels from the run, and base's that it lacks. NULL when out of
 * memory: the probe tunes again. */
static char *shapes_after(const struct snapshot *base, const struct run *run)
{
    json_t *conditions =
        run != NULL && run->conditions != NULL ? json_loads(run->conditions, 0, NULL) : NULL;
    char *shapes =
        tuning_merge(base->shapes, json_string_value(json_object_get(conditions, "shapes")));
    json_decref(conditions);
    return shapes;
}

/* True for a stand-in, whose values are no measurement of this machine. */
static bool is_standin(const struct run *run) { return strcmp(run->backend, "standin") == 0; }

/* Changes from base to the next snapshot. */
struct changes {
    const struct run *run; /* NULL none */
    bool is_stored;        /* the store has the run */
    const struct note *notes;
    size_t note_count;
    const struct counters *counters; /* NULL: base's */
};

static enum berth_code make_next(const struct snapshot_builder *builder,
                                 const struct snapshot *base, const struct changes *changes,
                                 const struct snapshot **ret_snapshot, struct berth_err *err)
{
    const struct run *run = changes->run;
    struct snapshot *snapshot = NULL;
    struct values *values = values_new();
    struct sets *sets = sets_new();
    bool has_values = run != NULL && values_numbers(run->values) > 0;
    bool has_sets = sets != NULL && sets_add_all(sets, base->sets) &&
                    (run == NULL || sets_add_all(sets, run->sets));
    if (has_sets && values != NULL && values_add_all(values, base->values) &&
        (run == NULL || values_add_all(values, run->values))) {
        values_finish(values);
        snapshot = snapshot_new(base->graph, values, changes->notes, changes->note_count,
                                has_values ? run->started_at_s : base->last_probe_at_s,
                                builder->generation);
    } else {
        values_free(values);
    }
    if (snapshot == NULL) {
        sets_free(sets);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    snapshot->sets = sets;
    snapshot->shapes = shapes_after(base, run);
    snapshot->has_standin = base->has_standin || (run != NULL && is_standin(run));
    if (!derive_costs(snapshot) ||
        !counters_copy(changes->counters != NULL ? changes->counters : &base->counters,
                       &snapshot->counters)) {
        snapshot_unref(snapshot);
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    }
    if (run != NULL)
        counter_update_with_run(base->graph, run, builder->past->state_dir, &snapshot->counters);
    /* the history is this machine's; stand-ins have none */
    if (!snapshot->has_standin || base->graph->origin != ORIGIN_LIVE)
        history_advance(builder->store, snapshot, changes->is_stored ? run : NULL, builder->past);
    *ret_snapshot = snapshot;
    return BERTH_OK;
}

/* Copies base with the store's current notes. */
static enum berth_code renew_notes(const struct snapshot_builder *builder,
                                   const struct snapshot *base,
                                   const struct snapshot **ret_snapshot, struct berth_err *err)
{
    struct note *notes = NULL, store_note_now;
    size_t count = 0;
    bool has_notes = !store_note(builder->store, &store_note_now) ||
                     append_notes(&notes, &count, &store_note_now, 1);
    for (size_t i = 0; has_notes && i < base->note_count; i++)
        if (strncmp(base->notes[i].code, "store-", 6) != 0)
            has_notes = append_notes(&notes, &count, &base->notes[i], 1);
    const struct changes changes = {.notes = notes, .note_count = count};
    enum berth_code code = has_notes ? make_next(builder, base, &changes, ret_snapshot, err)
                                     : err_set(err, BERTH_NO_MEMORY, "out of memory");
    free(notes);
    return code;
}

enum berth_code snapshot_builder_with_counters(const struct snapshot_builder *builder,
                                               const struct files *io, const struct snapshot *base,
                                               const struct snapshot **ret_snapshot,
                                               struct berth_err *err)
{
    struct counters counters = {0};
    enum berth_code code =
        counter_update(io, base->graph, builder->past->state_dir, builder->past->events_file,
                       builder->past->now_s, &base->counters, &counters, err);
    const struct changes changes = {
        .notes = base->notes, .note_count = base->note_count, .counters = &counters};
    if (code == BERTH_OK && counter_update_changes(&base->counters, &counters))
        code = make_next(builder, base, &changes, ret_snapshot, err);
    counters_done(&counters);
    return code;
}

enum berth_code snapshot_builder_with_run(const struct snapshot_builder *builder,
                                          const struct snapshot *base, struct run *run,
                                          const struct snapshot **ret_snapshot,
                                          struct berth_err *err)
{
    struct store *store = builder->store;
    struct note *notes = NULL, store_note_now;
    size_t count = 0;
    struct berth_err why = {0};
    int64_t run_id = 0;
    bool has_notes = true;
    if (run == NULL)
        return renew_notes(builder, base, ret_snapshot, err);
    bool is_complete = inherit_notes(run, base);
    /* store the values in any case */
    is_complete =
        (run->values == NULL || curve_fill_large(run->values, base->graph)) && is_complete;
    bool is_kept = !is_standin(run) || base->graph->origin != ORIGIN_LIVE;
    enum berth_code code =
        is_kept ? store_write_run(store, base->graph, run, &run_id, &why) : BERTH_OK;
    if (code == BERTH_BAD_DATA) { /* the broken file has been set aside and a new one begun */
        why = (struct berth_err){0};
        code = store_write_run(store, base->graph, run, &run_id, &why);
    }
    if (code != BERTH_OK) {
        struct note note = {.severity = 1,
                            .code = "store-write-failed",
                            .place = "machine0",
                            .since_s = run->started_at_s};
        snprintf(note.text, sizeof note.text,
                 "the last measurements are served but not stored: %.190s", why.detail);
        text_clean(note.text);
        has_notes = append_notes(&notes, &count, &note, 1);
    } else {
        for (size_t i = 0; run->values != NULL && i < run->values->count; i++)
            run->values->item[i].run = run_id;
    }
    if (code == BERTH_OK && store_note(store, &store_note_now)) {
        has_notes = append_notes(&notes, &count, &store_note_now, 1);
    }
    if (!is_kept) {
        struct note note = {
            .code = "standin",
            .place = "machine0",
            .text =
                "what was measured last comes from a stand-in for a GPU's driver; it is not stored",
            .since_s = run->started_at_s};
        snprintf(note.probe, sizeof note.probe, "%s", run->probe);
        has_notes = has_notes && append_notes(&notes, &count, &note, 1);
    }
    has_notes = is_complete && has_notes &&
                append_notes(&notes, &count, run->notes, run->note_count) &&
                append_lasting(&notes, &count, base, run);
    const struct changes changes = {
        .run = run, .is_stored = run_id != 0, .notes = notes, .note_count = count};
    code = has_notes ? make_next(builder, base, &changes, ret_snapshot, err)
                     : err_set(err, BERTH_NO_MEMORY, "out of memory");
    free(notes);
    return code;
}
