#include "health/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/findings.h"

#define SAMPLES_MIN 20   /* fewer intervals are not judged */
#define SPREADS     4    /* a difference counts beyond so many standard deviations ... */
#define LEAST       0.05 /* ... and beyond this fraction: equal devices differ by less */
#define CRITICAL    0.2  /* as for three runs below a baseline */

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

/* Median of a member of the samples from first on; unknown ones do not count. */
static double median_at(const struct load_place *at, size_t first, size_t count, size_t offset)
{
    double numbers[LOAD_SAMPLES_MAX];
    size_t known = 0;
    for (size_t i = first; i < first + count; i++) {
        double number;
        memcpy(&number, (const char *)&at->sample[i] + offset, sizeof number);
        if (!isnan(number))
            numbers[known++] = number;
    }
    return median_of(numbers, known);
}

#define MEDIAN(at, first, count, member)                                                           \
    median_at((at), (first), (count), offsetof(struct load_sample, member))

/* Standard deviation from one interval to the next. A drift hardly adds to it. */
static double spread_of(const struct load_place *at)
{
    double steps[LOAD_SAMPLES_MAX];
    for (size_t i = 0; i + 1 < at->count; i++)
        steps[i] = fabs(at->sample[i + 1].bytes_per_s - at->sample[i].bytes_per_s);
    return at->count < 2 ? NAN : 1.4826 * median_of(steps, at->count - 1) / M_SQRT2;
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

static double others_of(const struct load *load, const struct graph *graph, size_t index)
{
    double medians[LOAD_SAMPLES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < load->count && count < LOAD_SAMPLES_MAX; i++) {
        const struct load_place *other = &load->item[i];
        if (i != index && other->count >= SAMPLES_MIN &&
            are_alike(graph, load->item[index].place, other->place))
            medians[count++] = MEDIAN(other, 0, other->count, bytes_per_s);
    }
    return median_of(medians, count);
}

void load_figures(const struct load *load, const struct graph *graph, size_t index,
                  struct load_figures *ret)
{
    const struct load_place *at = &load->item[index];
    *ret = (struct load_figures){
        .median = MEDIAN(at, 0, at->count, bytes_per_s),
        .spread = spread_of(at),
        .others = others_of(load, graph, index),
        .power_w = MEDIAN(at, 0, at->count, power_w),
        .temperature_c = NAN,
    };
    for (size_t part = 0; part < LOAD_PARTS; part++) {
        size_t first = part * at->count / LOAD_PARTS,
               count = (part + 1) * at->count / LOAD_PARTS - first;
        ret->rate[part] = MEDIAN(at, first, count, bytes_per_s);
        ret->clock_mhz[part] = MEDIAN(at, first, count, clock_mhz);
    }
    for (size_t i = 0; i < at->count; i++)
        ret->temperature_c = fmax(ret->temperature_c, at->sample[i].temperature_c);
}

/* ---- judgement ---- */

/* Adds a finding where value is below expected by more than chance and the least fraction. */
static bool compare(struct findings *findings, const struct place *place, const char *code,
                    double value, double expected, double spread, const char *text)
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
    finding->unit = "bytes_per_s";
    finding->goodness = value / expected;
    snprintf(finding->text, sizeof finding->text, "%.0f %% %s", 100 * lost, text);
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

static bool check_place(struct findings *findings, const struct load *load,
                        const struct graph *graph, size_t index)
{
    const struct load_place *at = &load->item[index];
    const struct place *place = graph_place(graph, at->place);
    struct load_figures figures;
    if (at->count < SAMPLES_MIN)
        return true;
    load_figures(load, graph, index, &figures);
    findings->measured++;
    /* of the difference of two medians of a tenth of the intervals each; at least that of one */
    double of_parts = figures.spread * fmax(1, sqrt(M_PI * LOAD_PARTS / (double)at->count));
    return compare(findings, place, "slow-under-load", figures.median, figures.others,
                   figures.spread, "slower under load than the median of its kind") &&
           compare(findings, place, "slows-under-load", figures.rate[LOAD_PARTS - 1],
                   figures.rate[0], of_parts, "slower at the end of the load than at its begin") &&
           check_reasons(findings, at, place);
}

enum berth_code load_assess(const struct load *load, const struct graph *graph,
                            const struct note *notes, size_t note_count, struct assessment *ret,
                            struct berth_err *err)
{
    struct findings findings = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < load->count; i++)
        ok = check_place(&findings, load, graph, i);
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
