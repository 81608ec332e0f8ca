#include "plan/route/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost/policy.h"
#include "plan/route/measured.h"

/* Compares direct options. */
static bool is_better_known(const struct route_option *a, const struct route_option *b)
{
    if (a->knows_size != b->knows_size)
        return a->knows_size;
    if (a->source != b->source)
        return a->source < b->source;
    return a->part[0].hop[0].by < b->part[0].hop[0].by;
}

const struct route_option *order_reference(const struct route_answer *answer)
{
    const struct route_option *found = NULL;
    for (size_t i = 0; i < answer->count; i++)
        if (route_is_direct(&answer->option[i]) &&
            (found == NULL || is_better_known(&answer->option[i], found)))
            found = &answer->option[i];
    return found;
}

/* True when links alone give the rate, and such engines may not fill these. */
static bool is_doubtful_engine(const struct route_option *option)
{
    return option->part[0].hop[0].engine != NULL && option->part[0].hop[0].basis != BASIS_OWN;
}

/* True for a kernel with a doubtful time: engines leave the gpus free. */
static bool is_doubtful_kernel(const struct route_option *option)
{
    const struct transfer *hop = &option->part[0].hop[0];
    return hop->by == MECHANISM_KERNEL &&
           (hop->sizes == SOURCE_SIMILAR_PAIR || hop->slowdown_source != SOURCE_MEASURED ||
            option->is_shared_stated || !option->knows_both);
}

/* True when nothing says what an engine gets of both directions of a hop at once: the time is a
 * lower bound. */
static bool has_unknown_slowdown(const struct route_option *option)
{
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            if (option->part[p].hop[i].by == MECHANISM_COPY_ENGINE &&
                option->part[p].hop[i].slowdown_source >= SOURCE_NOMINAL)
                return true;
    return false;
}

bool order_has_evidence(const struct route_work *work, const struct route_option *reference,
                        const struct route_option *option)
{
    if (work->request.allow_unmeasured)
        return true;
    if (!route_is_direct(option))
        return option->source == SOURCE_MEASURED && option->is_together &&
               !has_unknown_slowdown(option);
    return reference == NULL || option->source <= reference->source ||
           option->source == SOURCE_REVERSE_DIRECTION;
}

bool order_gains(const struct route_option *option, const struct route_option *reference,
                 double time_ns, double reference_ns)
{
    bool must = reference != NULL && option != reference &&
                (!route_is_direct(option) ||
                 (is_doubtful_kernel(option) && !is_doubtful_engine(reference) &&
                  reference->part[0].hop[0].by == MECHANISM_COPY_ENGINE));
    return !must || time_ns < reference_ns * (1 - POLICY_SIMILAR);
}

void order_judge(const struct route_work *work, const struct route_option *reference,
                 struct route_option *option)
{
    option->may_lead_at_all = order_has_evidence(work, reference, option) &&
                              (reference == NULL || route_is_direct(option) ||
                               option->many_ns < reference->many_ns * (1 - POLICY_SEVERAL));
    option->may_lead =
        option->may_lead_at_all &&
        (reference == NULL ||
         order_gains(option, reference, option->predicted.time_ns, reference->predicted.time_ns));
}

/* ---- order ---- */

static size_t hops_of(const struct route_option *option)
{
    size_t hops = 0;
    for (size_t p = 0; p < option->part_count; p++)
        hops += option->part[p].hop_count;
    return hops;
}

/* Compares two options that take as long; true: a is simpler, or leaves the gpus free. */
static bool is_simpler(const struct route_option *a, const struct route_option *b)
{
    if (hops_of(a) != hops_of(b))
        return hops_of(a) < hops_of(b);
    enum mechanism a_by = a->part[0].hop[0].by, b_by = b->part[0].hop[0].by;
    if (a_by == b_by)
        return a->predicted.time_ns < b->predicted.time_ns;
    const struct route_option *engine = a_by == MECHANISM_COPY_ENGINE ? a : b;
    return (engine == a) != is_doubtful_engine(engine);
}

static int compare(const void *a, const void *b)
{
    const struct route_option *x = a, *y = b;
    if (x->knows_size != y->knows_size)
        return x->knows_size ? -1 : 1;
    double x_ns = x->predicted.time_ns, y_ns = y->predicted.time_ns;
    return x_ns < y_ns ? -1 : x_ns > y_ns;
}

/* Finds the option that leads, of options sorted by whether such a size is known and time. */
static size_t find_first(const struct route_answer *answer)
{
    const struct route_option *option = answer->option;
    size_t fastest = 0, first;
    while (fastest < answer->count && !option[fastest].may_lead)
        fastest++;
    first = fastest < answer->count ? fastest : 0;
    for (size_t i = first + 1; i < answer->count; i++)
        if (option[i].may_lead && option[i].knows_size == option[first].knows_size &&
            option[i].predicted.time_ns <= option[fastest].predicted.time_ns * (1 + POLICY_SAME) &&
            is_simpler(&option[i], &option[first]))
            first = i;
    return first;
}

static void add_name(enum metric metric, char text[ROUTE_COMMAND_SIZE])
{
    const char *name = metric_info(metric)->name;
    size_t used = strlen(text);
    if (strstr(text, name) == NULL)
        snprintf(text + used, ROUTE_COMMAND_SIZE - used, " %s", name);
}

static void write_command(const struct route_work *work, struct route_option *option,
                          char text[ROUTE_COMMAND_SIZE])
{
    struct measured_group missing[TRANSFER_KINDS];
    size_t groups = measured_missing(work, option, missing, TRANSFER_KINDS);
    const char *begin = groups > 0 ? "berth probe --full" : "berth probe";
    snprintf(text, ROUTE_COMMAND_SIZE, "%s", begin);
    for (size_t p = 0; p < option->part_count; p++)
        for (size_t i = 0; i < option->part[p].hop_count; i++)
            if (option->part[p].hop[i].source >= SOURCE_PUBLISHED)
                add_name(transfer_metric(&option->part[p].hop[i]), text);
    for (size_t g = 0; g < groups; g++)
        add_name(missing[g].metric, text);
    if (strcmp(text, begin) == 0)
        text[0] = '\0';
}

void order_options(const struct route_work *work)
{
    struct route_answer *answer = work->answer;
    qsort(answer->option, answer->count, sizeof *answer->option, compare);
    size_t at = find_first(answer);
    struct route_option first = answer->option[at];
    memmove(answer->option + 1, answer->option, at * sizeof first);
    answer->option[0] = first;
    for (size_t i = 1; i < answer->count; i++) {
        struct route_option *option = &answer->option[i];
        bool is_evident = option->source == SOURCE_MEASURED && option->is_together;
        if (option->predicted.time_ns < first.predicted.time_ns)
            write_command(work, is_evident ? &answer->option[0] : option, option->worth_measuring);
    }
}
