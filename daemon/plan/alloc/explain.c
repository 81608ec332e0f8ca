/* Warnings and reasons of an answer of Allocate, from its options in order. */
#include "plan/alloc/work.h"

#include <math.h>

#include "cost/doubt.h"
#include "cost/endpoints.h"
#include "cost/limits.h"
#include "cost/policy.h"
#include "node/transfer.h"

/* with more memories nothing is found to be shared */

/* Warns by the code of each part. An option without a prediction stands by distance. */
static void warn_of_option(struct alloc_work *work, const struct alloc_option *option)
{
    struct reasons *warnings = &work->answer.warnings;
    const char *memory = plan_alloc_name(work, option->place.memory);
    bool is_known = !isnan(option->predicted.time_ns), said[REASON_CODES] = {[0] = true};
    if (option->free_bytes >= 0 && option->free_bytes < work->request->bytes)
        reasons_add_about(warnings, REASON_NO_ROOM, memory, NO_NUMBERS);
    if (!is_known)
        reasons_add_about(warnings, REASON_BY_DISTANCE, memory, NO_NUMBERS);
    for (size_t i = 0; i < work->user_count + ALLOC_MORE_PARTS; i++) {
        enum reason_code why = option->part[i].why;
        if (!said[why] && (is_known || why == REASON_START_NOT_COUNTED))
            reasons_add_about(warnings, why, memory, NO_NUMBERS);
        said[why] = true;
    }
}

/* Warns of links that are down between gpus that use the buffer and those whose memory it is. */
static void warn_of_links(struct alloc_work *work)
{
    const struct graph *graph = work->snap->graph;
    for (size_t u = 0; u < work->user_count; u++)
        for (size_t i = 0; i < work->answer.count; i++) {
            place_id by = work->user[u].who.gpu, of = work->answer.option[i].place.owner;
            if (by != PLACE_NONE && of != PLACE_NONE && of != by)
                endpoints_warn_down(graph, by, of, &work->answer.warnings);
        }
}

/* Warns of concurrent runs that contradict the rates of these gpus in these memories. */
static void warn_of_contradictions(struct alloc_work *work)
{
    for (size_t u = 0; u < work->user_count; u++)
        for (size_t i = 0; i < work->answer.count && work->user[u].who.gpu != PLACE_NONE; i++)
            doubt_warn(work->snap, work->user[u].who.gpu, work->answer.option[i].place.memory,
                       TRANSFER_HOST_KERNEL | TRANSFER_PEER_KERNEL, &work->answer.warnings);
}

/* ---- reasons ---- */

static double time_of(const struct alloc_option *option) { return option->predicted.time_ns; }

/* Returns the best option of another memory that takes longer, else of another memory, else of
 * another kind; NULL when none is predicted. */
static const struct alloc_option *runner_up(const struct alloc_answer *answer)
{
    const struct alloc_option *first = &answer->option[0], *elsewhere = NULL, *of_kind = NULL;
    for (size_t i = 1; i < answer->count; i++) {
        const struct alloc_option *option = &answer->option[i];
        if (!(time_of(option) > 0))
            continue;
        bool is_other = option->place.memory != first->place.memory;
        if (is_other && !(time_of(option) <= (1 + POLICY_SAME) * time_of(first)))
            return option;
        elsewhere = is_other && elsewhere == NULL ? option : elsewhere;
        of_kind = of_kind == NULL ? option : of_kind;
    }
    return elsewhere != NULL ? elsewhere : of_kind;
}

static const char *part_name(const struct alloc_work *work, size_t part)
{
    if (part == work->user_count + ALLOC_SETUP)
        return "getting the memory";
    if (part == work->user_count + ALLOC_RETURN)
        return "bringing it back to the cores";
    place_id by = work->request->access_count > 0 ? work->request->access[part].by : PLACE_NONE;
    return by != PLACE_NONE ? plan_alloc_name(work, by) : "the allowed cores";
}

/* Names the part that makes most of the difference, where there are several. */
static void explain_part(struct alloc_work *work)
{
    const struct alloc_option *first = &work->answer.option[0], *second = runner_up(&work->answer);
    size_t most = 0, parts = 0;
    double furthest = 0, sign = second != NULL && time_of(second) >= time_of(first) ? 1 : -1;
    for (size_t i = 0; second != NULL && i < work->user_count + ALLOC_MORE_PARTS; i++) {
        double ours = first->part[i].time_ns, theirs = second->part[i].time_ns;
        parts += ours > 0 || theirs > 0;
        if (sign * (theirs - ours) > furthest) {
            furthest = sign * (theirs - ours);
            most = i;
        }
    }
    if (parts > 1 && furthest > 0)
        reasons_add(&work->answer.reasons, REASON_OPTION_PART,
                    SUBJECTS(part_name(work, most), plan_alloc_name(work, second->place.memory),
                             memkind_names[second->place.kind]),
                    NUMBERS(first->part[most].time_ns, second->part[most].time_ns));
}

/* Names the option that takes less than the first by its number. */
static void explain_behind(struct alloc_work *work)
{
    const struct alloc_option *first = &work->answer.option[0], *least = first;
    for (size_t i = 1; i < work->answer.count; i++) {
        const struct alloc_option *option = &work->answer.option[i];
        if (time_of(option) < time_of(least) && !option->is_short)
            least = option;
    }
    if (least != first)
        reasons_add(
            &work->answer.reasons, REASON_OPTION_BEHIND,
            SUBJECTS(plan_alloc_name(work, least->place.memory), memkind_names[least->place.kind]),
            NUMBERS(time_of(least)));
}

void plan_alloc_explain(struct alloc_work *work)
{
    warn_of_links(work);
    warn_of_contradictions(work);
    for (size_t i = 0; i < work->answer.count; i++)
        warn_of_option(work, &work->answer.option[i]);
    const struct alloc_option *first = &work->answer.option[0];
    if (first->is_short)
        return;
    if (isnan(time_of(first)) && work->heaviest != PLACE_NONE)
        reasons_add(&work->answer.reasons, REASON_OPTION_NEAREST,
                    SUBJECTS(plan_alloc_name(work, first->place.memory),
                             memkind_names[first->place.kind],
                             plan_alloc_name(work, work->heaviest)),
                    NO_NUMBERS);
    if (!isnan(time_of(first)))
        explain_part(work);
    explain_behind(work);
}
