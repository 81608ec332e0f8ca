#include "plan/alloc/say.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "cost/doubt.h"
#include "cost/ends.h"
#include "cost/limits.h"
#include "node/reasons.h"
#include "plan/alloc/order.h"

#define LIST_SIZE 112 /* of a warning, the names */
#define NAME_SIZE 48
/* with more memories nothing is found to be shared */
#define DOUBT_MOST (3 * LIMITS_PLACES_MAX)
#define LIKE       0.005 /* times that are printed alike */

static const char *name_of(const struct alloc_work *work, place_id id)
{
    return graph_place(work->snap->graph, id)->name;
}

/* ---- what is not known ---- */

/* Whether a warning is about an option. kind: of the allocation, for those that are about one; what
 * is not known (enum memrate_floor), for those that are about that. */
typedef bool (*concerns)(const struct alloc_option *option, unsigned kind);

static bool is_unpredicted(const struct alloc_option *option, unsigned kind)
{
    return option->place.kind == kind && isnan(option->predicted.time_ns) &&
           isnan(option->at_most_ns) && isnan(option->bytes_ns);
}

static bool is_bounded(const struct alloc_option *option, unsigned kind)
{
    return option->place.kind == kind && !isnan(option->at_most_ns);
}

static bool is_by_links(const struct alloc_option *option, unsigned kind)
{
    (void)kind;
    return option->by_links;
}

static bool is_by_start(const struct alloc_option *option, unsigned kind)
{
    (void)kind;
    return option->by_start;
}

static bool is_by_least(const struct alloc_option *option, unsigned kind)
{
    (void)kind;
    return option->by_least;
}

static bool is_floor(const struct alloc_option *option, unsigned kind)
{
    return (option->floor & kind) != 0;
}

/* The memories of such options between commas, each once; how many there are. */
static size_t list(const struct alloc_work *work, concerns is, unsigned kind, char text[LIST_SIZE])
{
    const struct alloc_answer *answer = &work->answer;
    size_t count = 0, used = 0, left_out = 0;
    text[0] = '\0';
    for (size_t i = 0; i < answer->count; i++) {
        const struct alloc_option *option = &answer->option[i];
        bool is_new = is(option, kind);
        for (size_t k = 0; k < i && is_new; k++)
            is_new = answer->option[k].place.memory != option->place.memory ||
                     !is(&answer->option[k], kind);
        if (!is_new)
            continue;
        const char *name = name_of(work, option->place.memory);
        size_t length = strlen(name);
        count++;
        if (used + length + QUANTITY_SIZE >= LIST_SIZE) {
            left_out++;
            continue;
        }
        if (used > 0) {
            memcpy(text + used, ", ", 2);
            used += 2;
        }
        memcpy(text + used, name, length + 1);
        used += length;
    }
    if (left_out > 0)
        snprintf(text + used, LIST_SIZE - used, " and %zu more", left_out);
    return count;
}

static void warn_of_floors(struct alloc_work *work)
{
    struct reasons *warnings = &work->answer.warnings;
    char text[LIST_SIZE];
    if (list(work, is_floor, MEMRATE_FLOOR_CORES, text) > 0)
        reasons_note(warnings,
                     "what these cores get of %s was not measured: no more than what those next to "
                     "it do (evidence; berth probe measures it)",
                     text);
    if (list(work, is_floor, MEMRATE_FLOOR_RANDOM, text) > 0)
        reasons_note(warnings,
                     "how long a random access to %s takes was not measured: it counts as a "
                     "stream, which is faster (berth probe measures it)",
                     text);
    if (list(work, is_floor, MEMRATE_FLOOR_MOVES, text) > 0)
        reasons_note(warnings,
                     "what it costs when managed memory moves to and from %s was not measured: it "
                     "is not counted (berth probe --full measures it)",
                     text);
    if (list(work, is_floor, MEMRATE_FLOOR_START, text) > 0)
        reasons_note(warnings,
                     "what starting a kernel that uses %s costs was not measured: the time of so "
                     "few bytes is at least this",
                     text);
    if (list(work, is_floor, MEMRATE_FLOOR_SEVERAL, text) > 0)
        reasons_note(warnings,
                     "what several gpus do to managed memory on %s is not known: each counts as "
                     "having it as its own",
                     text);
}

static void warn_of_times(struct alloc_work *work)
{
    struct reasons *warnings = &work->answer.warnings;
    char text[LIST_SIZE];
    size_t unpredicted = 0;
    if (list(work, is_by_links, MEMKIND_SYSTEM, text) > 0)
        reasons_note(warnings,
                     "how fast gpus use %s was not measured: the rate that their links are said to "
                     "have stands for it",
                     text);
    if (list(work, is_by_least, MEMKIND_SYSTEM, text) > 0)
        reasons_note(warnings,
                     "how fast gpus use %s was not measured: taken as no faster than what is known "
                     "of such, whatever their links are said to carry (evidence)",
                     text);
    if (list(work, is_by_start, MEMKIND_SYSTEM, text) > 0)
        reasons_note(warnings,
                     "what starting kernels that use %s costs was not measured of just these: what "
                     "it is of others of the same gpu stands for it",
                     text);
    for (enum memkind kind = 0; kind < MEMKIND_COUNT; kind++)
        if (list(work, is_bounded, kind, text) > 0)
            reasons_note(warnings,
                         "how fast a gpu uses its own memory is not known of %s: %s memory there "
                         "goes before what is no faster (berth probe measures it)",
                         text, memkind_names[kind]);
    warn_of_floors(work);
    for (size_t i = 0; i < work->answer.count; i++)
        unpredicted += is_unpredicted(&work->answer.option[i], work->answer.option[i].place.kind);
    if (unpredicted == work->answer.count) {
        reasons_note(warnings, "nothing known predicts these times: the order is by distance alone "
                               "(berth probe measures what there is to know)");
        return;
    }
    for (enum memkind kind = 0; kind < MEMKIND_COUNT; kind++)
        if (list(work, is_unpredicted, kind, text) > 0)
            reasons_note(
                warnings,
                "nothing known predicts the time of %s memory on %s: it stands by distance",
                memkind_names[kind], text);
}

/* Of a processor's memory: of a gpu's, nothing has to be touched. */
static void warn_of_setup(struct alloc_work *work)
{
    struct reasons *warnings = &work->answer.warnings;
    bool are_several = false;
    for (size_t i = 0; i < work->use_count; i++)
        are_several |= work->use[i].gpu == PLACE_NONE && work->use[i].who.cores > 1;
    if (work->with_setup > 0 && are_several)
        reasons_note(warnings,
                     "what first touch costs was measured with one thread (evidence): several "
                     "that touch the memory first take less time");
    if (work->with_setup > 0 && work->without_setup > 0)
        reasons_note(warnings, "what first touch costs was not measured of every memory: it is "
                               "counted where it was (evidence)");
    else if (work->without_setup > 0 && work->allocator != PLACE_NONE)
        reasons_note(warnings, "what first touch and pinning of host memory cost was not measured "
                               "(berth probe --full does): no time here has it");
    else if (work->without_setup > 0)
        reasons_note(
            warnings,
            "what touching memory for the first time costs was not measured: no time here has it");
}

/* What a gpu that uses the buffer has to the gpu in whose memory it may be. */
static void warn_of_down(struct alloc_work *work)
{
    const struct graph *graph = work->snap->graph;
    bool any = false;
    for (size_t i = 0; i < graph->link_count && !any; i++)
        any = graph->links[i].state == LINK_DOWN;
    for (size_t u = 0; u < work->use_count && any; u++)
        for (size_t i = 0; i < work->answer.count; i++) {
            place_id by = work->use[u].gpu,
                     of = memkind_owner(&work->answer.node, work->answer.option[i].place.memory);
            char down[2][PLAN_ENDS_DOWN_SIZE];
            size_t count = by != PLACE_NONE && of != PLACE_NONE && of != by
                               ? plan_ends_down_between(graph, by, of, down)
                               : 0;
            for (size_t k = 0; k < count; k++)
                reasons_note(&work->answer.warnings, "%s: what is known of it may be from before",
                             down[k]);
        }
}

/* Of gpus that use the buffer and the memories it may be in: what kernels get there is what these
 * times rest on. */
static void warn_of_doubt(struct alloc_work *work)
{
    place_id gpu[DOUBT_MOST], memory[DOUBT_MOST];
    struct doubt_ends ends = {.one = gpu, .other = memory};
    for (size_t u = 0; u < work->use_count && ends.ones < DOUBT_MOST; u++)
        if (work->use[u].gpu != PLACE_NONE)
            gpu[ends.ones++] = work->use[u].gpu;
    for (size_t i = 0; i < work->answer.count && ends.others < DOUBT_MOST; i++)
        memory[ends.others++] = work->answer.option[i].place.memory;
    plan_doubt_warn_between(work->snap, &ends, TRANSFER_HOST_KERNEL | TRANSFER_PEER_KERNEL,
                            &work->answer.warnings);
}

/* ---- what decided ---- */

static const char *print_time(char text[QUANTITY_SIZE], double ns)
{
    return ns > 0 ? quantity_time(ns, text) : "no time";
}

static double time_of(const struct alloc_option *option) { return option->predicted.time_ns; }

/* The best option of another memory that takes longer, else of another memory, else of another
 * kind; NULL when none is predicted. */
static const struct alloc_option *runner_up(const struct alloc_answer *answer)
{
    const struct alloc_option *first = &answer->option[0], *elsewhere = NULL, *of_kind = NULL;
    for (size_t i = 1; i < answer->count; i++) {
        const struct alloc_option *option = &answer->option[i];
        if (!(time_of(option) > 0))
            continue;
        bool is_other = option->place.memory != first->place.memory;
        if (is_other && (isnan(time_of(first)) || time_of(option) > (1 + LIKE) * time_of(first)))
            return option;
        elsewhere = is_other && elsewhere == NULL ? option : elsewhere;
        of_kind = of_kind == NULL ? option : of_kind;
    }
    return elsewhere != NULL ? elsewhere : of_kind;
}

static const char *name_option(const struct alloc_work *work, const struct alloc_option *option,
                               char text[NAME_SIZE])
{
    snprintf(text, NAME_SIZE, "%s memory on %s", memkind_names[option->place.kind],
             name_of(work, option->place.memory));
    return text;
}

/* "at least " of a time that is a lower bound. */
static const char *bound(const struct alloc_option *option)
{
    return option->at_least || option->is_ceiling ? "at least " : "";
}

static const char *name_part(const struct alloc_work *work, size_t part, char text[NAME_SIZE])
{
    if (part == work->use_count + ALLOC_SETUP)
        return "getting the memory";
    if (part == work->use_count + ALLOC_RETURN)
        return "bringing it back to the cores";
    place_id by = work->request->access_count > 0 ? work->request->access[part].by : PLACE_NONE;
    if (by == PLACE_NONE)
        return "the allowed part of the node";
    snprintf(text, NAME_SIZE, "%s", name_of(work, by));
    return text;
}

static double bytes_of(const struct memuse *use) { return use->read_bytes + use->write_bytes; }

/* A rate that nobody measured. Another part of the same option may be measured or published. */
static const char *by_links(const struct alloc_option *option, size_t part)
{
    return part < ALLOC_ACCESS_BITS && (option->linked >> part & 1) != 0 ? " by links" : "";
}

/* " published" where all rates that the option rests on are, and so " stated" of what firmware
 * states. */
static const char *source_of(const struct alloc_work *work, const struct alloc_option *option)
{
    size_t rates = 0, count[VALUE_PUBLISHED + 1] = {0};
    for (size_t i = option->why; i < option->why + option->why_count; i++) {
        const struct value *value = work->answer.evidence.item[i];
        if (value == NULL || !metric_info(value->metric)->higher_is_better)
            continue;
        rates++;
        count[value->source]++;
    }
    if (rates == 0 || option->linked != 0)
        return "";
    return count[VALUE_PUBLISHED] == rates ? " published"
           : count[VALUE_NOMINAL] == rates ? " stated"
                                           : "";
}

/* ": gpu0 at 4.72 TB/s against 376 GB/s"; where there are several parts, ", of which gpu0
 * takes 3.64 ms against 45.8 ms (4.72 TB/s against 376 GB/s)". */
static void say_part(const struct alloc_work *work, const struct alloc_option *first,
                     const struct alloc_option *second, char *text, size_t size)
{
    size_t parts = work->use_count + ALLOC_MORE_PARTS, most = 0, costly = 0;
    double furthest = -INFINITY, sign = time_of(second) >= time_of(first) ? 1 : -1;
    char a[QUANTITY_SIZE], b[QUANTITY_SIZE], name[NAME_SIZE], rates[2 * QUANTITY_SIZE + 80] = "";
    for (size_t i = 0; i < parts; i++) {
        double apart = sign * (second->part[i] - first->part[i]);
        costly += first->part[i] > 0 || second->part[i] > 0;
        if (apart > furthest) {
            furthest = apart;
            most = i;
        }
    }
    double ours = first->part[most], theirs = second->part[most];
    bool is_used = most < work->use_count, is_bound = first->at_least || second->at_least,
         lacks_start = ((first->floor | second->floor) & MEMRATE_FLOOR_START) != 0;
    const char *at_most =
        is_used && is_bound && (work->use[most].gpu == PLACE_NONE || lacks_start) ? "at most " : "";
    text[0] = '\0';
    if (!(furthest > 0))
        return;
    if (most < work->use_count && !work->use[most].random && ours > 0 && theirs > 0)
        snprintf(rates, sizeof rates, "%s%s%s%s against %s%s%s", at_most,
                 quantity_rate(bytes_of(&work->use[most]) * 1e9 / ours, a), by_links(first, most),
                 source_of(work, first),
                 quantity_rate(bytes_of(&work->use[most]) * 1e9 / theirs, b),
                 by_links(second, most), source_of(work, second));
    if (costly == 1 && rates[0] != '\0')
        snprintf(text, size, ": %s %s%s", name_part(work, most, name),
                 at_most[0] != '\0' ? "" : "at ", rates);
    else if (costly > 1)
        snprintf(text, size, ", of which %s takes %s against %s%s%s%s", name_part(work, most, name),
                 print_time(a, ours), print_time(b, theirs), rates[0] != '\0' ? " (" : "", rates,
                 rates[0] != '\0' ? ")" : "");
}

/* "device memory on gpu0 takes 3.64 ms, device memory on gpu1 45.7 ms, 12.6 times as long: gpu0
 * at 4.72 TB/s against 376 GB/s". How many times a lower bound is of another is no matter of fact.
 */
static void say_predicted(struct alloc_work *work, const struct alloc_option *first,
                          const struct alloc_option *second)
{
    char a[QUANTITY_SIZE], b[QUANTITY_SIZE], ours[NAME_SIZE], theirs[NAME_SIZE],
        part[REASON_TEXT_SIZE] = "", times[QUANTITY_SIZE + 32] = "";
    double ratio = time_of(second) / time_of(first);
    bool is_alike = fabs(ratio - 1) <= LIKE,
         looks_alike = strcmp(print_time(a, time_of(first)), print_time(b, time_of(second))) == 0;
    if (is_alike && *bound(first) == *bound(second))
        snprintf(times, sizeof times, ", just as long");
    else if (!is_alike && *bound(first) == '\0' && !looks_alike)
        snprintf(times, sizeof times,
                 ratio < 1000 ? ", %s%.3g times as long" : ", %s%.0f times as long", bound(second),
                 ratio);
    if (!is_alike)
        say_part(work, first, second, part, sizeof part);
    reasons_note(&work->answer.reasons, "%s takes %s%s, %s %s%s%s%s",
                 name_option(work, first, ours), bound(first), print_time(a, time_of(first)),
                 name_option(work, second, theirs), bound(second), print_time(b, time_of(second)),
                 times, part);
}

/* What would take less if its time is right, but goes behind what is nearer, because both intervals
 * overlap. */
static const struct alloc_option *passed_over(const struct alloc_work *work)
{
    const struct alloc_answer *answer = &work->answer;
    const struct alloc_option *first = &answer->option[0], *least = NULL;
    for (size_t i = 1; i < answer->count; i++) {
        const struct alloc_option *option = &answer->option[i];
        bool is_weighed = !plan_alloc_is_short(option, work->request->bytes) &&
                          plan_alloc_knowledge(option) == plan_alloc_knowledge(first);
        if (is_weighed && time_of(option) < (1 - LIKE) * time_of(first) &&
            (least == NULL || time_of(option) < time_of(least)))
            least = option;
    }
    return least;
}

/* "device memory on gpu3 is nearest to gpu3, which uses the buffer most (8 GiB of 10 GiB); nothing
 * known predicts its time". */
static void say_near(struct alloc_work *work, const struct alloc_option *first)
{
    char ours[NAME_SIZE], most[QUANTITY_SIZE], all[QUANTITY_SIZE], who[2 * QUANTITY_SIZE + 96];
    double bytes = 0;
    for (size_t i = 0; i < work->use_count; i++)
        bytes += bytes_of(&work->use[i]);
    bool is_own = first->distance < 0;
    if (bytes <= work->most.bytes) { /* nobody else uses it */
        reasons_note(&work->answer.reasons, "%s is %s; nothing known predicts its time",
                     name_option(work, first, ours),
                     is_own ? "the gpu's own" : "nearest to who uses the buffer most");
        return;
    }
    quantity_sizes(work->most.bytes, bytes, most, all);
    snprintf(who, sizeof who, "%s, which uses the buffer most%s (%s of %s)",
             name_of(work, work->most.at), work->most.is_shared ? ", first of equals" : "", most,
             all);
    reasons_note(&work->answer.reasons, "%s is %s %s; nothing known predicts its time",
                 name_option(work, first, ours), is_own ? "the own memory of" : "nearest to", who);
}

static void say_why(struct alloc_work *work)
{
    const struct alloc_option *first = &work->answer.option[0], *second = runner_up(&work->answer);
    struct reasons *reasons = &work->answer.reasons;
    char ours[NAME_SIZE], theirs[NAME_SIZE], number[QUANTITY_SIZE];
    const struct alloc_option *faster = passed_over(work);
    if (faster != NULL && faster != second)
        say_predicted(work, first, faster);
    if (time_of(first) > 0 && second != NULL)
        say_predicted(work, first, second);
    else if (first->unmeasured != 0 && second != NULL)
        reasons_note(reasons,
                     "%s is the gpu's own, of which no figure is known, and which nothing farther "
                     "is faster than: %s takes %s",
                     name_option(work, first, ours), name_option(work, second, theirs),
                     print_time(number, time_of(second)));
    else if (isnan(time_of(first)) && !isnan(first->distance))
        say_near(work, first);
}

/* Why what may take less does not go first: how much more than its bound it takes nobody knows. */
static void say_behind(struct alloc_work *work)
{
    const struct alloc_option *first = &work->answer.option[0], *least = NULL;
    size_t more = 0;
    for (size_t i = 1; i < work->answer.count; i++) {
        const struct alloc_option *option = &work->answer.option[i];
        bool is_short = plan_alloc_is_short(option, work->request->bytes);
        if (!option->at_least || is_short ||
            plan_alloc_knowledge(option) <= plan_alloc_knowledge(first) ||
            !(time_of(option) < (1 - LIKE) * time_of(first)))
            continue;
        more += least != NULL;
        least = least == NULL ? option : least;
    }
    char name[NAME_SIZE], number[QUANTITY_SIZE], others[40] = "";
    if (more > 0)
        snprintf(others, sizeof others, " (and %zu more)", more);
    if (least != NULL)
        reasons_note(&work->answer.reasons,
                     "%s%s takes at least %s: it stands behind, because what comes on top of that "
                     "is not known",
                     name_option(work, least, name), others, print_time(number, time_of(least)));
}

void plan_alloc_say(struct alloc_work *work)
{
    warn_of_down(work);
    warn_of_doubt(work);
    warn_of_setup(work);
    warn_of_times(work);
    if (plan_alloc_is_short(&work->answer.option[0], work->request->bytes))
        return;
    say_why(work);
    say_behind(work);
}
