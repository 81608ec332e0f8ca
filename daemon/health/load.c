#include "health/load.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/findings.h"

#define SAMPLES_MIN 20   /* fewer intervals are not judged */
#define SPREADS     4    /* a difference counts beyond so many standard deviations ... */
#define LEAST       0.05 /* ... and beyond this fraction: equal devices differ by less */
#define SLOW        "slow-under-load"
#define SLOWS       "slows-under-load"
#define CRITICAL    0.2 /* as for three runs below a baseline */

static const struct {
    const char *name, *unit, *slow, *slows;
    size_t offset; /* in struct load_sample */
} works[] = {
    [LOAD_COPY] = {"copy", "bytes_per_s", "slower copies under load than the median of its kind",
                   "slower copies at the end of the load than at its begin",
                   offsetof(struct load_sample, bytes_per_s)},
    [LOAD_PRODUCT] = {"product", "flop_per_s",
                      "slower products under load than the median of its kind",
                      "slower products at the end of the load than at its begin",
                      offsetof(struct load_sample, flop_per_s)},
};

const char *load_work_name(enum load_work work) { return works[work].name; }
const char *load_work_unit(enum load_work work) { return works[work].unit; }

void load_done(struct load *load)
{
    for (size_t i = 0; i < load->count; i++)
        free(load->item[i].sample);
    free(load->item);
    *load = (struct load){0};
}

/* Returns room for one element more; NULL when out of memory. */
static void *grown(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    size_t more = *room == 0 ? 16 : 2 * *room;
    void *larger = realloc(array, more * size);
    if (larger != NULL)
        *room = more;
    return larger;
}

static struct load_place *place_of(struct load *load, place_id place)
{
    for (size_t i = 0; i < load->count; i++)
        if (load->item[i].place == place)
            return &load->item[i];
    struct load_place *item = grown(load->item, load->count, &load->room, sizeof *item);
    if (item == NULL)
        return NULL;
    load->item = item;
    load->item[load->count] = (struct load_place){.place = place};
    return &load->item[load->count++];
}

static void add_reasons(struct load_place *at, const char *throttle)
{
    for (const char *c = throttle; *c != '\0';) {
        size_t length = strcspn(c, ","), i = 0;
        char name[sizeof at->reason[0].name];
        snprintf(name, sizeof name, "%.*s", (int)length, c);
        c += length + (c[length] == ',');
        if (name[0] == '\0' || strcmp(name, "none") == 0)
            continue;
        while (i < at->reason_count && strcmp(at->reason[i].name, name) != 0)
            i++;
        if (i == LOAD_REASONS_MAX)
            continue;
        if (i == at->reason_count)
            snprintf(at->reason[at->reason_count++].name, sizeof name, "%s", name);
        at->reason[i].intervals++;
    }
}

enum berth_code load_add(struct load *load, place_id place, const struct load_sample *sample,
                         const char *throttle, struct berth_err *err)
{
    struct load_place *at = place_of(load, place);
    struct load_sample *samples =
        at == NULL ? NULL : grown(at->sample, at->count, &at->room, sizeof *samples);
    if (samples == NULL)
        return err_set(err, BERTH_NO_MEMORY, "out of memory");
    at->sample = samples;
    if (at->count == LOAD_SAMPLES_MAX)
        return err_set(err, BERTH_BAD_DATA, "more than %d intervals", LOAD_SAMPLES_MAX);
    at->sample[at->count++] = *sample;
    add_reasons(at, throttle);
    return BERTH_OK;
}

/* ---- figures ---- */

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Sorts the numbers; NAN for none. */
static double median_of(double *numbers, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

static double number_at(const struct load_sample *sample, size_t offset)
{
    double number;
    memcpy(&number, (const char *)sample + offset, sizeof number);
    return number;
}

/* Median of a member of the samples from first on; unknown ones do not count. */
static double median_at(const struct load_place *at, size_t first, size_t count, size_t offset)
{
    double numbers[LOAD_SAMPLES_MAX];
    size_t known = 0;
    for (size_t i = first; i < first + count; i++) {
        double number = number_at(&at->sample[i], offset);
        if (!isnan(number))
            numbers[known++] = number;
    }
    return median_of(numbers, known);
}

#define MEDIAN(at, first, count, member)                                                           \
    median_at((at), (first), (count), offsetof(struct load_sample, member))

/* Standard deviation from one interval to the next. A drift hardly adds to it. */
static double spread_of(const struct load_place *at, size_t offset)
{
    double steps[LOAD_SAMPLES_MAX];
    size_t count = 0;
    for (size_t i = 0; i + 1 < at->count; i++) {
        double step =
            fabs(number_at(&at->sample[i + 1], offset) - number_at(&at->sample[i], offset));
        if (!isnan(step))
            steps[count++] = step;
    }
    return 1.4826 * median_of(steps, count) / M_SQRT2;
}

static int cores_of(const struct graph *graph, place_id numa)
{
    int cores = 0;
    for (place_id core = graph_next(graph, PLACE_CORE, 0); core != PLACE_NONE;
         core = graph_next(graph, PLACE_CORE, core + 1))
        cores += graph_place(graph, core)->numa == numa;
    return cores;
}

/* True for places that should be equally fast: GPUs of one model and size, NUMA nodes with as many
 * cores. */
static bool are_alike(const struct graph *graph, place_id one, place_id other)
{
    const struct place *a = graph_place(graph, one), *b = graph_place(graph, other);
    if (a->kind != b->kind)
        return false;
    if (a->kind == PLACE_NUMA)
        return cores_of(graph, one) == cores_of(graph, other);
    bool is_model_same = a->model != NULL && b->model != NULL ? strcmp(a->model, b->model) == 0
                                                              : a->model == b->model;
    return is_model_same && a->capacity_bytes == b->capacity_bytes;
}

/* Sets what rests on the place's own samples. */
static void set_own(const struct load_place *at, struct load_figures *ret)
{
    *ret = (struct load_figures){
        .power_w = MEDIAN(at, 0, at->count, power_w),
        .temperature_c = NAN,
    };
    for (size_t part = 0; part < LOAD_PARTS; part++) {
        size_t first = part * at->count / LOAD_PARTS,
               count = (part + 1) * at->count / LOAD_PARTS - first;
        for (int work = 0; work < LOAD_WORKS; work++)
            ret->work[work].rate[part] = median_at(at, first, count, works[work].offset);
        ret->clock_mhz[part] = MEDIAN(at, first, count, clock_mhz);
    }
    for (int work = 0; work < LOAD_WORKS; work++) {
        ret->work[work].median = median_at(at, 0, at->count, works[work].offset);
        ret->work[work].spread = spread_of(at, works[work].offset);
    }
    for (size_t i = 0; i < at->count; i++)
        ret->temperature_c = fmax(ret->temperature_c, at->sample[i].temperature_c);
}

/* Returns the median of the medians of places like the one at the index. */
static double others_of(const struct load *load, const struct graph *graph,
                        const struct load_figures *figures, size_t index, int work)
{
    double medians[LOAD_SAMPLES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < load->count && count < LOAD_SAMPLES_MAX; i++)
        if (i != index && load->item[i].count >= SAMPLES_MIN &&
            !isnan(figures[i].work[work].median) &&
            are_alike(graph, load->item[index].place, load->item[i].place))
            medians[count++] = figures[i].work[work].median;
    return median_of(medians, count);
}

struct load_figures *load_figures(const struct load *load, const struct graph *graph)
{
    struct load_figures *figures = calloc(load->count + 1, sizeof *figures);
    for (size_t i = 0; figures != NULL && i < load->count; i++)
        set_own(&load->item[i], &figures[i]);
    for (size_t i = 0; figures != NULL && i < load->count; i++)
        for (int work = 0; work < LOAD_WORKS; work++)
            figures[i].work[work].others = others_of(load, graph, figures, i, work);
    return figures;
}

/* ---- judgement ---- */

/* Adds a finding where value is below expected by more than chance and the least fraction. */
static bool compare(struct findings *findings, const struct place *place, const char *code,
                    enum load_work work, double value, double expected, double spread)
{
    double lost = 1 - value / expected;
    if (isnan(lost) || lost <= LEAST || expected - value <= SPREADS * spread)
        return true;
    struct finding *finding = findings_add(
        findings, lost > CRITICAL ? SEVERITY_CRITICAL : SEVERITY_WARNING, code, place->name);
    if (finding == NULL)
        return false;
    finding->value = value;
    finding->expected = expected;
    finding->unit = works[work].unit;
    finding->goodness = value / expected;
    bool is_slow = strcmp(code, SLOW) == 0;
    snprintf(finding->subject, sizeof finding->subject, "%s", works[work].name);
    snprintf(finding->text, sizeof finding->text, "%.0f %% %s", 100 * lost,
             is_slow ? works[work].slow : works[work].slows);
    return true;
}

static bool check_reasons(struct findings *findings, const struct load_place *at,
                          const struct place *place)
{
    for (size_t i = 0; i < at->reason_count; i++) {
        const struct load_reason *reason = &at->reason[i];
        if (!driver_findings_is_throttling(reason->name))
            continue;
        struct finding *finding =
            findings_add(findings, SEVERITY_WARNING, "throttled", place->name);
        if (finding == NULL)
            return false;
        finding->goodness = 1;
        snprintf(finding->text, sizeof finding->text,
                 "its clocks are held down by %s in %.0f %% of the intervals", reason->name,
                 100 * (double)reason->intervals / (double)at->count);
    }
    return true;
}

static bool check_place(struct findings *findings, const struct load_place *at,
                        const struct place *place, const struct load_figures *figures)
{
    if (at->count < SAMPLES_MIN)
        return true;
    findings->measured++;
    /* of the difference of two medians of a tenth of the intervals each; at least that of one */
    double of_parts = fmax(1, sqrt(M_PI * LOAD_PARTS / (double)at->count));
    bool ok = true;
    for (int work = 0; ok && work < LOAD_WORKS; work++) {
        const struct load_series *series = &figures->work[work];
        ok = compare(findings, place, SLOW, (enum load_work)work, series->median, series->others,
                     series->spread) &&
             compare(findings, place, SLOWS, (enum load_work)work, series->rate[LOAD_PARTS - 1],
                     series->rate[0], series->spread * of_parts);
    }
    return ok && check_reasons(findings, at, place);
}

enum berth_code load_assess(const struct load *load, const struct graph *graph,
                            const struct note *notes, size_t note_count, struct assessment *ret,
                            struct berth_err *err)
{
    struct findings findings = {0};
    struct load_figures *figures = load_figures(load, graph);
    bool ok = figures != NULL;
    for (size_t i = 0; ok && i < load->count; i++)
        ok = check_place(&findings, &load->item[i], graph_place(graph, load->item[i].place),
                         &figures[i]);
    free(figures);
    for (size_t i = 0; ok && i < note_count; i++)
        ok = assessment_add_note(&findings, &notes[i]);
    if (!ok) {
        free(findings.finding);
        return err_set(err, BERTH_NO_MEMORY, "no memory for findings");
    }
    assessment_conclude(&findings, ret);
    if (ret->verdict == VERDICT_HEALTHY)
        snprintf(ret->reason, sizeof ret->reason,
                 "healthy: %zu place%s under load, none out of line", findings.measured,
                 findings.measured == 1 ? "" : "s");
    else if (ret->verdict == VERDICT_UNKNOWN)
        snprintf(ret->reason, sizeof ret->reason, "unknown: no place was under load long enough");
    return BERTH_OK;
}
