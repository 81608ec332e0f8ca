/* Prices of the options of Allocate: the time of an iteration's accesses for each memory. */
#include "cost/evidence.h"
#include "node/locality.h"
#include "plan/alloc/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "cost/move.h"
#include "node/reasons.h"
#include "plan/alloc/order.h"

static const char *name_of(const struct alloc_work *work, place_id id)
{
    return graph_place(work->snap->graph, id)->name;
}

/* All cores' part, once for each memory: its evidence is copied for the other kinds. */
static enum berth_code price_cores(struct alloc_work *work, place_id numa, double *part,
                                   struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    struct memrate_basis basis = {.evidence = &answer->evidence,
                                  .start = answer->evidence.count,
                                  .warnings = &answer->warnings};
    struct alloc_cores_price price = {.numa = numa, .part = part, .why = basis.start};
    for (size_t i = 0; i < work->use_count && !isnan(price.sum.time_ns); i++) {
        struct memtime time;
        if (work->use[i].gpu != PLACE_NONE)
            continue;
        enum berth_code code = memuse_cores(&work->use[i], &answer->node, work->snap, numa,
                                            (double)work->request->bytes, &basis, &time, err);
        if (code != BERTH_OK)
            return code;
        part[i] = time.time_ns;
        price.sum = memtime_sum(price.sum, time);
    }
    price.at_least = basis.at_least;
    price.lacks_access = basis.lacks_access;
    price.floor = basis.floor;
    price.why_count = answer->evidence.count - price.why;
    work->cores = price;
    return BERTH_OK;
}

static enum berth_code add_cores(struct alloc_work *work, const struct alloc_option *option,
                                 struct memrate_basis *basis, struct memtime *total,
                                 struct berth_err *err)
{
    place_id numa = memkind_numa(&work->answer.node, option->place.memory);
    if (!work->has_cores)
        return BERTH_OK;
    if (numa == PLACE_NONE) /* managed memory that a gpu has comes to the host's */
        numa = locality_numa(work->snap->graph, option->place.gpu);
    if (numa == PLACE_NONE) {
        *total = memtime_unknown();
        return BERTH_OK;
    }
    if (work->cores.numa != numa) {
        enum berth_code code = price_cores(work, numa, option->part, err);
        if (code != BERTH_OK)
            return code;
    } else {
        for (size_t i = 0; i < work->use_count; i++)
            option->part[i] =
                work->use[i].gpu == PLACE_NONE ? work->cores.part[i] : option->part[i];
        for (size_t i = 0; i < work->cores.why_count; i++)
            if (!evidence_add(basis->evidence, basis->start,
                              basis->evidence->item[work->cores.why + i]))
                return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    }
    basis->at_least = work->cores.at_least;
    basis->lacks_access = work->cores.lacks_access;
    basis->floor = work->cores.floor;
    *total = memtime_sum(*total, work->cores.sum);
    return BERTH_OK;
}

/* Managed memory that goes to a gpu comes back when cores touch it, as much as they touch, once.
 * What that costs takes time, known or not. */
static enum berth_code add_return(const struct alloc_work *work, const struct gpurate *at,
                                  struct memrate_basis *basis, double *part, struct memtime *total,
                                  struct berth_err *err)
{
    double touched = 0;
    struct memtime back;
    for (size_t i = 0; i < work->use_count; i++)
        touched +=
            work->use[i].gpu == PLACE_NONE ? work->use[i].read_bytes + work->use[i].write_bytes : 0;
    if (at->place->kind != MEMKIND_MANAGED ||
        memkind_numa(&work->answer.node, at->place->memory) != PLACE_NONE || touched == 0)
        return BERTH_OK;
    enum berth_code code = gpurate_return(at, fmin(touched, at->span), basis, &back, err);
    if (code != BERTH_OK)
        return code;
    if (isnan(back.time_ns)) {
        basis->floor |= MEMRATE_FLOOR_MOVES;
        return BERTH_OK;
    }
    *part = back.time_ns;
    *total = memtime_sum(*total, back);
    return BERTH_OK;
}

/* Memory that goes where it is touched has no known price when several gpus touch it: each has it
 * at best as its own. */
static bool is_fought_over(const struct alloc_work *work, const struct memkind_place *place)
{
    for (size_t i = 0;
         place->kind == MEMKIND_MANAGED && place->memory == place->gpu && i < work->use_count; i++)
        if (work->use[i].gpu != PLACE_NONE && work->use[i].gpu != place->gpu)
            return true;
    return false;
}

/* Of a gpu's own memory of which nothing is known the rest is added up all the same: it bounds what
 * that memory can be behind, if all of the rest is known. All are asked, so that it does not matter
 * in which order they stand. */
static enum berth_code add_gpus(struct alloc_work *work, struct alloc_option *option,
                                struct memrate_basis *basis, struct memtime *total,
                                struct berth_err *err)
{
    struct gpurate at = {work->snap,    &work->answer.node,           &option->place, PLACE_NONE,
                         option->xnack, (double)work->request->bytes, &work->memo};
    bool are_several = is_fought_over(work, &option->place), by_links = basis->by_links;
    unsigned floor = basis->floor | (are_several ? MEMRATE_FLOOR_SEVERAL : 0);
    struct memkind_place own = {.kind = MEMKIND_DEVICE};
    if (option->is_unsure)
        *total = memtime_unknown();
    for (size_t i = 0; i < work->use_count && !option->is_unsure; i++) {
        struct memtime time;
        if (work->use[i].gpu == PLACE_NONE)
            continue;
        at.gpu = own.gpu = own.memory = work->use[i].gpu;
        at.place = are_several ? &own : &option->place;
        basis->floor = 0;
        basis->by_links = false;
        enum berth_code code = memuse_gpu(&work->use[i], &at, basis, &time, err);
        bool is_floor = basis->floor != 0;
        floor = basis->floor |= floor;
        option->linked |= basis->by_links && i < ALLOC_ACCESS_BITS ? UINT64_C(1) << i : 0;
        by_links = basis->by_links |= by_links;
        if (code != BERTH_OK)
            return code;
        option->part[i] = time.time_ns;
        if (isnan(time.time_ns) && i < ALLOC_ACCESS_BITS && !are_several && gpurate_is_own(&at)) {
            option->unmeasured |= UINT64_C(1) << i;
            continue;
        }
        *total = memtime_sum(*total, time);
        if (!is_floor && !are_several)
            work->least[i] = fmin(work->least[i], time.time_ns);
    }
    if (isnan(total->time_ns))
        option->unmeasured = 0;
    at.place = &option->place;
    at.gpu = option->place.gpu;
    return isnan(total->time_ns)
               ? BERTH_OK
               : add_return(work, &at, basis, &option->part[work->use_count + ALLOC_RETURN], total,
                            err);
}

/* What it takes until the memory is there; NULL not known. ret_stands: ordinary memory's first
 * touch, which pinning does as well, stands for it. Where cores alone use the buffer pinning counts
 * for no less than that, which was measured with one thread and which those that use it share. */
static const struct value *find_setup(const struct alloc_work *work,
                                      const struct memkind_place *place, bool *ret_stands)
{
    const struct value *v, *touched = NULL, *pinned = NULL;
    size_t n = values_range(work->snap->values, METRIC_ALLOCATION, PLACE_NONE, &v);
    for (; n > 0; v++, n--) {
        const char *axes = values_axes(work->snap->values, v);
        if (v->to != place->memory || !(v->value > 0))
            continue;
        if (axes[0] == '\0' && touched == NULL)
            touched = v;
        else if (place->kind == MEMKIND_PINNED && pinned == NULL &&
                 strcmp(axes, "kind=pinned") == 0)
            pinned = v;
    }
    bool is_slower =
        pinned != NULL && touched != NULL && touched->value < pinned->value && !work->has_gpus;
    *ret_stands = place->kind == MEMKIND_PINNED && pinned == NULL && touched != NULL;
    return pinned != NULL && !is_slower ? pinned : touched;
}

/* Host memory is touched, or pinned, once. A gpu's own is there at once. */
static enum berth_code add_setup(struct alloc_work *work, struct alloc_option *option,
                                 struct memrate_basis *basis, struct memtime *total,
                                 struct berth_err *err)
{
    bool stands = false;
    if (option->place.kind == MEMKIND_DEVICE || option->place.memory == option->place.gpu)
        return BERTH_OK;
    const struct value *v = find_setup(work, &option->place, &stands);
    work->with_setup += v != NULL;
    work->without_setup += v == NULL;
    if (v == NULL)
        return BERTH_OK;
    double ns = (double)work->request->bytes * 1e9;
    struct memtime setup = memtime_of(ns / v->value, ns / v->high, ns / v->low, v->n, 0, 1);
    option->setup = memtime_median(&setup);
    option->part[work->use_count + ALLOC_SETUP] = setup.time_ns;
    *total = memtime_sum(*total, setup);
    if (stands)
        reasons_note(
            basis->warnings,
            "what it takes to allocate %s memory was not measured: first touch stands for it",
            memkind_names[option->place.kind]);
    return memrate_cite(basis, v, err);
}

static bool is_own(const struct memkind_node *node, place_id gpu, place_id memory)
{
    return gpu == memory || (node->numa_of[gpu] != PLACE_NONE && node->numa_of[gpu] == memory);
}

static bool is_used_by_alone(const struct alloc_work *work, place_id gpu)
{
    for (size_t i = 0; i < work->use_count; i++)
        if (work->use[i].gpu != gpu)
            return false;
    return true;
}

static double distance_of(const struct alloc_work *work, place_id at, place_id memory)
{
    if (at == PLACE_NONE)
        return NAN;
    if (graph_place(work->snap->graph, at)->kind == PLACE_GPU &&
        is_own(&work->answer.node, at, memory))
        return -1;
    place_id owner = memkind_owner(&work->answer.node, memory);
    double distance = locality_distance(work->snap, at, memory);
    return owner == PLACE_NONE || owner == memory
               ? distance
               : fmin(distance, locality_distance(work->snap, at, owner));
}

/* What a half prediction rested on supports nothing; the order rests on the distance. */
static enum berth_code take_back(struct alloc_work *work, struct alloc_option *option,
                                 size_t warnings, place_id at, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    answer->evidence.count = option->why;
    answer->warnings.count = warnings;
    gpurate_forget(&work->memo, warnings);
    work->cores.numa = PLACE_NONE;
    option->by_links = option->by_least = option->by_other = option->by_start = false;
    option->linked = 0;
    place_id numa = at != PLACE_NONE ? locality_numa(work->snap->graph, at) : PLACE_NONE;
    const struct value *stated =
        numa != PLACE_NONE ? locality_numa_distance(work->snap, numa, option->place.memory) : NULL;
    if (stated != NULL && !evidence_add(&answer->evidence, option->why, stated))
        return err_set(err, BERTH_NO_MEMORY, "no memory for evidence");
    return BERTH_OK;
}

/* Whether the bytes alone take less than one access may, and nobody knows how long that takes. */
static bool lacks_time(const struct memrate_basis *basis, const struct memtime *total)
{
    return total->time_ns > 0 && total->time_ns < MEMUSE_SHORT_NS &&
           (basis->lacks_access || (basis->floor & MEMRATE_FLOOR_START) != 0);
}

static enum berth_code price(struct alloc_work *work, struct alloc_option *option, place_id at,
                             struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    struct memrate_basis basis = {.evidence = &answer->evidence,
                                  .start = answer->evidence.count,
                                  .warnings = &answer->warnings};
    struct memtime total = {0};
    size_t warnings = answer->warnings.count;
    option->why = basis.start;
    option->distance = distance_of(work, at, option->place.memory);
    option->is_own = option->distance < 0 && is_used_by_alone(work, at);
    enum berth_code code = add_cores(work, option, &basis, &total, err);
    if (code == BERTH_OK && !isnan(total.time_ns))
        code = add_gpus(work, option, &basis, &total, err);
    if (code == BERTH_OK && !isnan(total.time_ns))
        code = add_setup(work, option, &basis, &total, err);
    bool is_untimed = lacks_time(&basis, &total);
    option->bytes_ns = is_untimed ? total.time_ns : NAN;
    if (is_untimed)
        total = memtime_unknown();
    option->by_links = basis.by_links;
    option->by_other = basis.by_other;
    option->by_start = basis.other_start_ns > MOVE_MATTERS * total.time_ns;
    option->by_least = basis.by_least;
    option->at_most_ns = option->unmeasured != 0 && basis.floor == 0 ? total.time_ns : NAN;
    if (option->unmeasured != 0)
        total = memtime_unknown();
    option->predicted = memtime_once(&total);
    option->median = memtime_median(&total);
    option->floor = isnan(option->predicted.time_ns) ? 0 : basis.floor;
    option->at_least = option->floor != 0 || (basis.at_least && !isnan(option->predicted.time_ns));
    option->is_ceiling = basis.is_ceiling && !isnan(option->predicted.time_ns);
    if (option->at_least || option->is_ceiling)
        option->predicted =
            (struct prediction){option->predicted.time_ns, option->predicted.time_ns, NAN};
    if (code == BERTH_OK && isnan(option->predicted.time_ns))
        code = take_back(work, option, warnings, at, err);
    if (is_untimed)
        reasons_note(&answer->warnings,
                     "what one access takes is not known of every memory here (berth probe "
                     "memory_latency): so few bytes have no time there");
    char free_now[QUANTITY_SIZE];
    if (plan_alloc_is_short(option, work->request->bytes))
        reasons_note(&answer->warnings, "%s has %s free now: less than asked for",
                     name_of(work, option->place.memory),
                     quantity_size((double)option->free_bytes, free_now));
    else if (plan_alloc_had_less(option, work->request->bytes))
        reasons_note(&answer->warnings,
                     "%s had at most %s free when its driver was asked last (free_at_s): less than "
                     "asked for",
                     name_of(work, option->place.memory),
                     quantity_size((double)option->free_bytes, free_now));
    option->why_count = answer->evidence.count - option->why;
    return code;
}

/* No gpu uses any memory faster than its own. */
static void bound(const struct alloc_work *work, struct alloc_option *option)
{
    for (size_t i = 0; i < work->use_count && i < ALLOC_ACCESS_BITS; i++)
        if ((option->unmeasured & UINT64_C(1) << i) != 0)
            option->at_most_ns += isinf(work->least[i]) ? NAN : work->least[i];
}

enum berth_code plan_alloc_price(struct alloc_work *work, place_id at, struct berth_err *err)
{
    struct alloc_answer *answer = &work->answer;
    size_t parts = work->use_count + ALLOC_MORE_PARTS;
    answer->part = calloc(answer->count * parts + work->use_count, sizeof *answer->part);
    if (answer->part == NULL)
        return err_set(err, BERTH_NO_MEMORY, "no memory for prices");
    work->least = answer->part + answer->count * parts;
    for (size_t i = 0; i < work->use_count; i++)
        work->least[i] = INFINITY;
    enum berth_code code = BERTH_OK;
    for (size_t i = 0; i < answer->count && code == BERTH_OK; i++) {
        answer->option[i].part = answer->part + i * parts;
        code = price(work, &answer->option[i], at, err);
    }
    for (size_t i = 0; i < answer->count; i++)
        bound(work, &answer->option[i]);
    return code;
}
