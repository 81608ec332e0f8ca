#include "plan/bind/other.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "node/reasons.h"
#include "plan/bind/start.h"

/* in all that are priced: some tens of microseconds at most, which is little beside the search */
#define FLOWS_MAX 256
#define NAMED_MAX 8 /* gpus of another choice */

struct others {
    struct bind_price *price;
    const uint16_t *ours;
    const struct bind_priced *priced; /* ours */
    bool keeps_order;
    const struct bind_room *room;
    /* transfers without a price in ours: a choice with more of them is no longer or shorter */
    size_t lacking;
    size_t berths, most; /* choices looked at, at most */
    uint16_t *slot, *best;
    /* less: where gpus are given out in order, because so little more is not known to be more */
    size_t count, longer, less;
    bool has_bounds; /* the time of one that was looked at is a lower bound */
    double best_ns;
};

/* A task's gpus ascend; with keeps_order, from task to task as well. */
static bool is_choice(const struct others *others)
{
    size_t each = others->price->request.each;
    for (size_t b = 1; b < others->berths; b++)
        if ((b % each != 0 && others->slot[b] <= others->slot[b - 1]) ||
            (others->keeps_order && others->slot[b] < others->slot[b - 1]))
            return false;
    return true;
}

/* What is in slot. */
static void look(struct others *others)
{
    struct bind_price *price = others->price;
    if (others->count == others->most || !is_choice(others) ||
        memcmp(others->slot, others->ours, others->berths * sizeof *others->slot) == 0 ||
        !plan_bind_room_fits(others->room, others->slot, price->request.tasks,
                             price->request.each) ||
        plan_bind_price_load(price, others->slot, NULL) > 0 || price->lacking > others->lacking)
        return;
    double time_ns = plan_bind_start_time(price).step_ns, ours_ns = others->priced->ordered_ns;
    others->count++;
    others->has_bounds = others->has_bounds || price->unpriced > 0 || plan_bind_start_lacks(price);
    others->less += time_ns < ours_ns * (1 - PRICE_WORTH);
    if (!(time_ns > ours_ns * (1 + PRICE_WORTH)))
        return;
    others->longer++;
    if (others->longer > 1 && !(time_ns < others->best_ns))
        return;
    others->best_ns = time_ns;
    memcpy(others->best, others->slot, others->berths * sizeof *others->slot);
}

static void take_ours(struct others *others)
{
    memcpy(others->slot, others->ours, others->berths * sizeof *others->slot);
}

/* In order from the first gpu on, and as far from each other as it goes. */
static void look_at_plain(struct others *others)
{
    size_t n = others->price->request.gpu_count;
    if (others->berths > n)
        return;
    for (size_t b = 0; b < others->berths; b++)
        others->slot[b] = (uint16_t)b;
    look(others);
    for (size_t b = 0; b < others->berths; b++)
        others->slot[b] = (uint16_t)(b * n / others->berths);
    look(others);
}

static int compare_slots(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* A gpu that nobody has in place of one that a task has. */
static void look_at_free(struct others *others)
{
    const struct bind_price_request *request = &others->price->request;
    for (size_t b = 0; b < others->berths && others->count < others->most; b++)
        for (size_t g = 0; g < request->gpu_count; g++) {
            bool is_taken = false;
            for (size_t i = 0; i < others->berths && !is_taken; i++)
                is_taken = others->ours[i] == g;
            if (is_taken)
                continue;
            take_ours(others);
            others->slot[b] = (uint16_t)g;
            if (others->keeps_order)
                qsort(others->slot, others->berths, sizeof *others->slot, compare_slots);
            else
                qsort(others->slot + b - b % request->each, request->each, sizeof *others->slot,
                      compare_slots);
            look(others);
        }
}

/* Two tasks change places: first those that are next to each other. */
static void look_at_swaps(struct others *others)
{
    size_t each = others->price->request.each, tasks = others->price->request.tasks;
    for (size_t apart = 1; apart < tasks && others->count < others->most; apart++)
        for (size_t t = 0; t + apart < tasks && others->count < others->most; t++) {
            take_ours(others);
            memcpy(others->slot + t * each, others->ours + (t + apart) * each,
                   each * sizeof *others->slot);
            memcpy(others->slot + (t + apart) * each, others->ours + t * each,
                   each * sizeof *others->slot);
            look(others);
        }
}

/* "gpu0, gpu2, gpu4, gpu6": by task. */
static void name_gpus(const struct others *others, const struct graph *graph, char *text,
                      size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t b = 0; b < others->berths && b < NAMED_MAX && used < size; b++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%.12s", b > 0 ? ", " : "",
                             graph_place(graph, others->price->request.gpu[others->best[b]])->name);
    if (others->berths > NAMED_MAX && used < size)
        snprintf(text + used, size - used, " and %zu more", others->berths - NAMED_MAX);
}

#define LONGER_SIZE (2 * QUANTITY_SIZE + 64)

/* "37.9 ms (not all measured), 2 times as long", behind "at least " what is only known to take so
 * long; how many times as long a lower bound is says nothing, nor how many times as long as one. */
static const char *name_longer(const struct others *others, const struct bind_priced *other,
                               char text[LONGER_SIZE])
{
    const struct bind_priced *ours = others->priced;
    char time[QUANTITY_SIZE], times[64] = "";
    const char *least = other->is_least ? "at least " : "";
    if (!ours->is_least && other->step.time_ns > ours->step.time_ns)
        snprintf(times, sizeof times, ", %s%.3g times as long", least,
                 other->step.time_ns / ours->step.time_ns);
    snprintf(text, LONGER_SIZE, "%s%s%s%s", least, quantity_time(other->step.time_ns, time),
             other->is_measured ? "" : " (not all measured)", times);
    return text;
}

static void say(const struct others *others, struct bind_answer *answer)
{
    char longer[LONGER_SIZE], gpus[NAMED_MAX * 14 + 24];
    const char *plural = others->count == 1 ? "" : "s";
    if (others->longer > 0) {
        name_gpus(others, others->price->snap->graph, gpus, sizeof gpus);
        struct bind_priced best = plan_bind_price_of(others->price, others->best, NULL);
        reasons_note(&answer->reasons,
                     "of %zu other choice%s of gpus looked at the best that %s longer takes %s: %s",
                     others->count, plural,
                     best.unstarted != others->priced->unstarted ? "counts as taking" : "takes",
                     name_longer(others, &best, longer), gpus);
    } else if (others->count > 0) {
        reasons_note(&answer->reasons,
                     "%zu other choice%s of gpus looked at (others of them, tasks that change "
                     "places) take%s %s%s",
                     others->count, plural, others->count == 1 ? "s" : "",
                     others->less > 0 ? "no longer" : "as long",
                     others->priced->is_least || others->has_bounds ? ", as far as lower bounds say"
                                                                    : "");
    } else if (others->berths == others->price->request.gpu_count &&
               (others->price->request.tasks == 1 || others->keeps_order)) {
        reasons_note(&answer->reasons, "there is no other choice of gpus");
    }
}

/* The next of the gpus' memories that is another one; PLACE_NONE: there is none. */
static place_id other_memory(const struct bind_price_request *request, size_t gpu, place_id own)
{
    for (size_t i = 1; i < request->gpu_count; i++) {
        place_id memory = request->memory[(gpu + i) % request->gpu_count];
        if (memory != PLACE_NONE && memory != own)
            return memory;
    }
    return PLACE_NONE;
}

/* The same gpus, where each task has its memory elsewhere. */
static enum berth_code say_elsewhere(struct others *others, const place_id *memory,
                                     struct bind_answer *answer, struct berth_err *err)
{
    struct bind_price *price = others->price;
    const struct graph *graph = price->snap->graph;
    size_t tasks = price->request.tasks;
    bool are_several = plan_bind_price_has_host(price);
    char longer[LONGER_SIZE], which[96];
    place_id *elsewhere = calloc(tasks, sizeof *elsewhere);
    if (elsewhere == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for other memory");
    for (size_t t = 0; t < tasks && are_several; t++) {
        elsewhere[t] =
            memory[t] != PLACE_NONE
                ? other_memory(&price->request, others->ours[t * price->request.each], memory[t])
                : PLACE_NONE;
        are_several = elsewhere[t] != PLACE_NONE;
    }
    if (are_several && plan_bind_price_load(price, others->ours, elsewhere) == 0 &&
        price->lacking == 0) {
        struct bind_priced far = plan_bind_price_of(price, others->ours, elsewhere);
        double ours_ns = others->priced->step.time_ns;
        /* else what the one lacks is in the other's time */
        bool is_alike = far.unstarted == others->priced->unstarted;
        const char *own = graph_place(graph, memory[0])->name,
                   *other = graph_place(graph, elsewhere[0])->name;
        if (tasks == 1)
            snprintf(which, sizeof which, "of %.20s instead of %.20s", other, own);
        else
            snprintf(which, sizeof which,
                     "of another NUMA node each (task 0: %.20s instead of %.20s)", other, own);
        if (!is_alike || far.step.time_ns > ours_ns * (1 + PRICE_WORTH))
            reasons_note(&answer->reasons, "with memory %s the same gpus take %s", which,
                         name_longer(others, &far, longer));
        else if (far.step.time_ns > ours_ns * (1 - PRICE_WORTH))
            reasons_note(&answer->reasons, "with memory %s the same gpus take as long%s%s", which,
                         far.is_measured ? "" : " (not all measured)",
                         far.is_least ? ", as far as lower bounds say" : "");
    }
    free(elsewhere);
    return BERTH_OK;
}

enum berth_code plan_bind_other_say(struct bind_price *price, const uint16_t *slot,
                                    const place_id *memory, const struct bind_priced *priced,
                                    bool keeps_order, const struct bind_room *room,
                                    struct bind_answer *answer, struct berth_err *err)
{
    size_t berths = price->request.tasks * price->request.each,
           fitting = FLOWS_MAX / (price->flow_count > 0 ? price->flow_count : 1);
    struct others others = {.price = price,
                            .ours = slot,
                            .priced = priced,
                            .keeps_order = keeps_order,
                            .room = room,
                            .berths = berths,
                            .most = fitting > 4 ? fitting : 4};
    others.slot = calloc(2 * berths, sizeof *others.slot);
    if (others.slot == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for other gpus");
    others.best = others.slot + berths;
    plan_bind_price_load(price, slot, NULL);
    others.lacking = price->lacking;
    look_at_plain(&others);
    look_at_free(&others);
    look_at_swaps(&others);
    say(&others, answer);
    enum berth_code code = say_elsewhere(&others, memory, answer, err);
    free(others.slot);
    return code;
}
