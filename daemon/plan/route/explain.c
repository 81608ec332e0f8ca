#include "plan/route/explain.h"

#include <math.h>

#include "cost/doubt.h"
#include "cost/endpoints.h"
#include "cost/limits.h"
#include "cost/policy.h"
#include "node/link_path.h"
#include "node/transfer.h"
#include "plan/route/measured.h"
#include "plan/route/price.h"

static const char *name_of(const struct route_work *work, place_id id)
{
    return graph_place(work->graph, id)->name;
}

/* ---- evidence ---- */

/* Finds the smallest run that shows the limit of the option. NULL none. */
static const struct set *find_run(const struct route_work *work, const struct route_option *option)
{
    const struct sets *sets = work->snap->sets;
    for (size_t s = 0; option->shared != NULL && sets != NULL && s < sets->count; s++)
        if (sets->item[s].source == VALUE_MEASURED &&
            measured_users(work, option->shared, &sets->item[s]) > 1)
            return &sets->item[s];
    return NULL;
}

static void cite(struct route_work *work, struct route_option *option)
{
    struct evidence *evidence = &work->answer->evidence;
    const struct set *set = option->run != NULL ? option->run : find_run(work, option);
    option->why = evidence->count;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            transfer_cite(&option->part[p].hop[i], evidence, option->why);
    if (set != NULL)
        evidence_add_set(evidence, option->why, set);
    option->why_count = evidence->count - option->why;
}

enum berth_code explain_cite(struct route_work *work, struct berth_err *err)
{
    for (size_t i = work->answer->count; i-- > 0;)
        cite(work, &work->answer->option[i]);
    return evidence_code(&work->answer->evidence, err);
}

/* ---- warnings ---- */

static const char *by_name(enum mechanism by)
{
    return by == MECHANISM_KERNEL ? "kernel" : "copy engine";
}

static void warn_of_hop(const struct route_work *work, const struct route_option *option,
                        const struct route_part *part, size_t i, bool is_first)
{
    const struct transfer *hop = &part->hop[i];
    struct reasons *warnings = &work->answer->warnings;
    const char *from = name_of(work, hop->from), *to = name_of(work, hop->to);
    double bytes = part->share * work->bytes, piece = price_piece(part, work->bytes);
    if (hop->basis != BASIS_OWN)
        reasons_add(warnings, REASON_RATE_NOT_MEASURED,
                    SUBJECTS(from, to, by_name(hop->by), hop->why), NO_NUMBERS);
    unsigned lacks = transfer_lacks(hop, bytes, piece);
    bool is_own = hop->basis == BASIS_OWN, is_call = is_first && i == 0;
    bool lacks_size = (lacks & (is_own ? LACKS_SIZE : LACKS_START)) != 0;
    if (lacks_size ? !is_own || route_is_direct(option)
                   : is_own && is_call && isnan(hop->t0_call_ns))
        reasons_add(warnings, REASON_START_NOT_MEASURED, SUBJECTS(from, to), NO_NUMBERS);
    else if (lacks_size)
        reasons_add(warnings, REASON_SIZE_NOT_MEASURED, SUBJECTS(from, to), NO_NUMBERS);
    if (is_own && !lacks_size && (lacks & LACKS_OWN_SIZES) != 0)
        reasons_add(warnings, REASON_SIMILAR_PAIR, SUBJECTS(from, to), NO_NUMBERS);
    if (work->request.both && hop->both == NULL && hop->both_set == NULL)
        reasons_add(warnings, REASON_BOTH_NOT_MEASURED,
                    SUBJECTS(hop->from < hop->to ? from : to, hop->from < hop->to ? to : from,
                             by_name(hop->by)),
                    NUMBERS(hop->slowdown));
    endpoints_warn_down(work->graph, hop->from, hop->to, warnings);
}

/* Several parts in the host's memory: the probe used one place of it. On two H100 two ports got 105
 * GB/s together in 119 buffers and 69 in one. */
static void warn_of_buffers(const struct route_work *work, const struct route_option *option)
{
    size_t with_host = 0;
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            with_host += !transfer_is_peer(&option->part[p].hop[i]);
    if (option->part_count > 1 && with_host > 1)
        reasons_add(&work->answer->warnings, REASON_SPLIT_BUFFERS, NO_SUBJECTS, NO_NUMBERS);
}

static void warn(const struct route_work *work)
{
    struct route_answer *answer = work->answer;
    for (size_t o = 0; o < answer->count; o++) {
        const struct route_option *option = &answer->option[o];
        for (size_t p = 0; p < option->part_count; p++)
            for (size_t i = 0; i < option->part[p].hop_count; i++)
                warn_of_hop(work, option, &option->part[p], i, o == 0 && p == 0);
        warn_of_buffers(work, option);
        if (option->is_shared_stated)
            reasons_add(&answer->warnings, REASON_SHARING_NOT_MEASURED,
                        SUBJECTS(option->shared != NULL ? option->shared->name : "links and ports"),
                        NO_NUMBERS);
    }
    if (!work->request.allowed->given)
        reasons_add(&answer->warnings, REASON_ALLOWED_UNSTATED, NO_SUBJECTS, NO_NUMBERS);
    doubt_warn(work->snap, work->request.from, work->request.to,
               TRANSFER_HOST_ENGINE | TRANSFER_HOST_KERNEL | TRANSFER_PEER_ENGINE |
                   TRANSFER_PEER_KERNEL,
               &answer->warnings);
}

/* Warns of the price of overlap. Its evidence is added to the first option, which was cited last.
 */
static enum berth_code warn_of_overlap(struct route_work *work, struct berth_err *err)
{
    place_id from = work->request.from, to = work->request.to;
    struct route_option *first = &work->answer->option[0];
    struct evidence *evidence = &work->answer->evidence;
    const struct matrix_item *engine = matrix_find(work->matrix, from, to, MECHANISM_COPY_ENGINE),
                             *kernel = matrix_find(work->matrix, from, to, MECHANISM_KERNEL);
    if (!work->request.overlap || engine == NULL || engine->alone.basis != BASIS_OWN ||
        kernel == NULL ||
        !(kernel->alone.bytes_per_s > (1 + POLICY_SIMILAR) * engine->alone.bytes_per_s))
        return BERTH_OK;
    reasons_add(&work->answer->warnings, REASON_ENGINES_STOP,
                SUBJECTS(name_of(work, from), name_of(work, to), kernel->alone.why),
                NUMBERS(engine->alone.bytes_per_s, kernel->alone.bytes_per_s));
    evidence_add(evidence, first->why, kernel->alone.value);
    first->why_count = evidence->count - first->why;
    return evidence_code(evidence, err);
}

/* ---- reasons ---- */

/* The slowest hop of each part of the first option. */
static void tell_first(const struct route_work *work)
{
    const struct route_option *first = &work->answer->option[0];
    for (size_t p = 0; p < first->part_count; p++) {
        const struct transfer *hop = &first->part[p].hop[0];
        for (size_t i = 1; i < first->part[p].hop_count; i++)
            hop =
                first->part[p].hop[i].bytes_per_s < hop->bytes_per_s ? &first->part[p].hop[i] : hop;
        reasons_add(
            &work->answer->reasons, REASON_HOP_RATE,
            SUBJECTS(name_of(work, hop->from), name_of(work, hop->to), by_name(hop->by), hop->why),
            NUMBERS(hop->bytes_per_s));
    }
}

/* Between gpus that no link joins: over which others the driver moves the bytes, where it is known.
 */
static void tell_driver_path(const struct route_work *work)
{
    const struct limits_pair *pair =
        limits_pair(work->snap->derived.limits, work->request.from, work->request.to);
    struct link_paths *paths = link_paths_new(work->graph);
    struct link_path path;
    const char *name[LINK_PATH_STEPS];
    size_t count = 0;
    bool is_known = paths != NULL && !pair->several && !pair->over_host &&
                    link_path_find(paths, work->request.from, work->request.to, &path);
    for (size_t i = 0; is_known && i + 1 < path.step_count; i++) {
        const struct link *link = &work->graph->links[path.step[i].link];
        place_id at = path.step[i].back ? link->from : link->to;
        if (graph_is(work->graph, at, PLACE_GPU))
            name[count++] = name_of(work, at);
    }
    link_paths_free(paths);
    if (count > 0)
        reasons_add(&work->answer->reasons, REASON_DRIVER_PATH,
                    (struct reason_subjects){count, name}, NO_NUMBERS);
}

/* The fastest of the options that are faster and do not lead, for each reason. */
static void tell_faster(const struct route_work *work)
{
    const struct route_answer *answer = work->answer;
    double least_ns[2] = {answer->option[0].predicted.time_ns, answer->option[0].predicted.time_ns};
    const enum reason_code code[2] = {REASON_GAINS_LITTLE, REASON_NOT_MEASURED_TOGETHER};
    for (size_t i = 1; i < answer->count; i++) {
        const struct route_option *option = &answer->option[i];
        bool is_evident =
            option->source == SOURCE_MEASURED && option->is_together && option->knows_size;
        least_ns[!is_evident] = fmin(least_ns[!is_evident], option->predicted.time_ns);
    }
    for (int k = 0; k < 2; k++) {
        double time_ns = least_ns[k];
        if (time_ns < answer->option[0].predicted.time_ns)
            reasons_add(&work->answer->reasons, code[k], NO_SUBJECTS, NUMBERS(time_ns));
    }
}

enum berth_code explain_answer(struct route_work *work, struct berth_err *err)
{
    warn(work);
    tell_first(work);
    tell_driver_path(work);
    tell_faster(work);
    bool is_only = true;
    for (size_t i = 0; i < work->answer->count; i++)
        is_only = is_only && route_is_direct(&work->answer->option[i]);
    if (is_only)
        reasons_add(&work->answer->reasons, REASON_NO_OTHER_PATH, NO_SUBJECTS, NO_NUMBERS);
    return warn_of_overlap(work, err);
}
