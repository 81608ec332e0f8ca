/* Judgement of places under load, over rates made up here. */
#include "health/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit/node/built_nodes.h"

#define PLACES    4
#define INTERVALS 180

static const struct shape four_numas = {2, 2, 1, 4, 1, INT64_C(64) << 30};

struct rig {
    struct graph *graph;
    struct load load;
    struct assessment assessment;
    uint64_t random;
};

/* A standard normal number (Box and Muller). */
static double normal(struct rig *rig)
{
    double uniform[2];
    for (int i = 0; i < 2; i++) {
        rig->random ^= rig->random << 13;
        rig->random ^= rig->random >> 7;
        rig->random ^= rig->random << 17;
        uniform[i] = ((double)(rig->random >> 11) + 0.5) / 9007199254740992.0;
    }
    return sqrt(-2 * log(uniform[0])) * cos(2 * M_PI * uniform[1]);
}

static place_id numa(const struct rig *rig, int number)
{
    return nodes_place(rig->graph, PLACE_NUMA, number);
}

static enum berth_code add(struct rig *rig, int number, double rate, const char *throttle)
{
    struct berth_err err = {0};
    return load_add(&rig->load, numa(rig, number), &(struct load_sample){rate, NAN, NAN, NAN, NAN},
                    throttle, &err);
}

/* Equal places but the last, whose rate is that share at first and loses that share until the end.
 */
static void fill(struct rig *rig, int intervals, double noise, double share, double lost)
{
    load_done(&rig->load);
    for (int i = 0; i < intervals; i++)
        for (int place = 0; place < PLACES; place++) {
            double rate = place < PLACES - 1 ? 1 : share * (1 - lost * i / intervals);
            assert_int_equal(add(rig, place, 1e11 * rate * (1 + noise * normal(rig)), ""),
                             BERTH_OK);
        }
}

static void judge(struct rig *rig)
{
    struct berth_err err = {0};
    assessment_done(&rig->assessment);
    assert_int_equal(load_assess(&rig->load, rig->graph, NULL, 0, &rig->assessment, &err),
                     BERTH_OK);
}

static const struct finding *found(const struct rig *rig, const char *code)
{
    for (size_t i = 0; i < rig->assessment.count; i++)
        if (strcmp(rig->assessment.finding[i].code, code) == 0)
            return &rig->assessment.finding[i];
    return NULL;
}

static struct rig begin(void)
{
    return (struct rig){.graph = nodes_cpu(&four_numas), .random = 88172645463325252u};
}

static void end(struct rig *rig)
{
    assessment_done(&rig->assessment);
    load_done(&rig->load);
    graph_unref(rig->graph);
}

static int false_alarms(struct rig *rig, int intervals, double noise)
{
    int alarms = 0;
    for (int run = 0; run < 2000; run++) {
        fill(rig, intervals, noise, 1, 0);
        judge(rig);
        alarms += rig->assessment.count > 0;
    }
    print_message("%d intervals, noise %.0f %%: %d false alarms in 2000 loads of %d places\n",
                  intervals, 100 * noise, alarms, PLACES);
    return alarms;
}

static void noise_raises_no_alarm(void **state)
{
    (void)state;
    struct rig rig = begin();
    for (int intervals = 20; intervals < 200; intervals += intervals < 50 ? 30 : 130) {
        assert_int_equal(false_alarms(&rig, intervals, 0.01), 0);
        assert_in_range(false_alarms(&rig, intervals, 0.03), 0, 4);
        assert_in_range(false_alarms(&rig, intervals, 0.1), 0, 20);
    }
    end(&rig);
}

static void a_slow_place_is_named(void **state)
{
    (void)state;
    struct rig rig = begin();
    for (int run = 0; run < 200; run++) {
        fill(&rig, INTERVALS, 0.01, 0.93, 0);
        judge(&rig);
        const struct finding *slow = found(&rig, "slow-under-load");
        assert_non_null(slow);
        assert_true(rig.assessment.count == 1 && slow->severity == SEVERITY_WARNING &&
                    strcmp(slow->place, "numa3") == 0 &&
                    rig.assessment.verdict == VERDICT_DEGRADED);
        assert_true(fabs(slow->value / slow->expected - 0.93) < 0.01);
        fill(&rig, INTERVALS, 0.01, 0.75, 0);
        judge(&rig);
        assert_int_equal(rig.assessment.verdict, VERDICT_UNHEALTHY);
        fill(&rig, INTERVALS, 0.01, 0.96, 0); /* equal devices differ by as much */
        judge(&rig);
        assert_int_equal(rig.assessment.verdict, VERDICT_HEALTHY);
        fill(&rig, INTERVALS, 0.06, 0.93, 0); /* within its own noise */
        judge(&rig);
        assert_int_equal(rig.assessment.verdict, VERDICT_HEALTHY);
    }
    end(&rig);
}

static void a_place_that_slows_down_is_named(void **state)
{
    (void)state;
    struct rig rig = begin();
    for (int run = 0; run < 200; run++) {
        fill(&rig, INTERVALS, 0.01, 1, 0.09);
        judge(&rig);
        const struct finding *slows = found(&rig, "slows-under-load");
        assert_non_null(slows);
        assert_string_equal(slows->place, "numa3");
    }
    end(&rig);
}

static void slow_products_are_named(void **state)
{
    (void)state;
    struct rig rig = begin();
    struct berth_err err = {0};
    for (int i = 0; i < INTERVALS; i++)
        for (int place = 0; place < PLACES; place++) {
            const struct load_sample sample = {1e11, place < 2 ? 5e13 : 4.4e13 * (1 - 0.001 * i),
                                               NAN, NAN, NAN};
            const struct load_sample missing = {1e11, NAN, NAN, NAN, NAN};
            assert_int_equal(
                load_add(&rig.load, numa(&rig, place), place < 3 ? &sample : &missing, "", &err),
                BERTH_OK);
        }
    judge(&rig);
    assert_int_equal(rig.assessment.count, 2);
    const struct finding *slow = found(&rig, "slow-under-load");
    assert_string_equal(slow->unit, "flop_per_s");
    assert_non_null(strstr(slow->text, "slower products under load"));
    assert_string_equal(slow->place, "numa2");
    assert_string_equal(found(&rig, "slows-under-load")->place, "numa2");
    end(&rig);
}

static void places_of_another_kind_are_no_measure(void **state)
{
    (void)state;
    struct rig rig = begin();
    for (int i = 0; i < INTERVALS; i++)
        assert_int_equal(add(&rig, 0, 1e11, ""), BERTH_OK);
    struct berth_err err = {0};
    const struct load_sample far = {4e12, 4e13, NAN, NAN, NAN};
    for (int i = 0; i < INTERVALS; i++)
        assert_int_equal(
            load_add(&rig.load, nodes_place(rig.graph, PLACE_MACHINE, 0), &far, "none", &err),
            BERTH_OK);
    struct load_figures *figures = load_figures(&rig.load, rig.graph);
    assert_non_null(figures);
    const struct load_series *copy = &figures[0].work[LOAD_COPY];
    assert_true(isnan(copy->others) && copy->median == 1e11 && copy->spread == 0 &&
                isnan(figures[0].work[LOAD_PRODUCT].median) && isnan(figures[0].clock_mhz[0]) &&
                isnan(figures[0].temperature_c));
    assert_true(figures[1].work[LOAD_PRODUCT].median == 4e13);
    free(figures);
    judge(&rig);
    assert_string_equal(rig.assessment.reason, "healthy: 2 places under load, none out of line");
    end(&rig);
}

static void few_intervals_are_not_judged(void **state)
{
    (void)state;
    struct rig rig = begin();
    fill(&rig, 19, 0.001, 0.5, 0);
    judge(&rig);
    assert_int_equal(rig.assessment.verdict, VERDICT_UNKNOWN);
    fill(&rig, 20, 0.001, 0.5, 0);
    judge(&rig);
    assert_int_equal(rig.assessment.verdict, VERDICT_UNHEALTHY);
    end(&rig);
}

static void reasons_are_counted_and_limited(void **state)
{
    (void)state;
    struct rig rig = begin();
    for (int i = 0; i < 20; i++)
        assert_int_equal(
            add(&rig, 0, 1e11, i < 5 ? "power-cap,software-thermal" : "power-cap,,none"), BERTH_OK);
    assert_int_equal(rig.load.item[0].reason_count, 2);
    assert_int_equal(rig.load.item[0].reason[0].intervals, 20);
    assert_int_equal(rig.load.item[0].reason[1].intervals, 5);
    judge(&rig);
    assert_string_equal(rig.assessment.reason,
                        "degraded: numa0: its clocks are held down by software-thermal in 25 % of "
                        "the intervals");
    assert_int_equal(add(&rig, 0, 1e11, "a,b,c,d,e,f,g,h,i,j"), BERTH_OK);
    assert_int_equal(rig.load.item[0].reason_count, LOAD_REASONS_MAX);
    end(&rig);
}

static void intervals_are_limited(void **state)
{
    (void)state;
    struct rig rig = begin();
    for (int i = 0; i < LOAD_SAMPLES_MAX; i++)
        assert_int_equal(add(&rig, 0, 1e11, ""), BERTH_OK);
    assert_int_equal(add(&rig, 0, 1e11, ""), BERTH_BAD_DATA);
    judge(&rig);
    end(&rig);
}

/* Returns the processor time of the judgement of so many places, the least of five. */
static double time_of(int places)
{
    struct rig rig = {.graph = nodes_cpu(&(struct shape){1, places, 1, 1, 1, 1}),
                      .random = 88172645463325252u};
    for (int i = 0; i < INTERVALS; i++)
        for (int place = 0; place < places; place++)
            assert_int_equal(add(&rig, place, 1e11 * (1 + 0.01 * normal(&rig)), ""), BERTH_OK);
    double took_s = INFINITY;
    for (int i = 0; i < 5; i++) {
        clock_t begin = clock();
        judge(&rig);
        took_s = fmin(took_s, (double)(clock() - begin) / CLOCKS_PER_SEC);
    }
    assert_int_equal(rig.assessment.verdict, VERDICT_HEALTHY);
    end(&rig);
    print_message("%d places: %.2f ms a judgement\n", places, 1e3 * took_s);
    return took_s;
}

static void many_places_take_no_more_time_each(void **state)
{
    (void)state;
    double few_s = time_of(8), many_s = time_of(64);
    assert_true(many_s < 5 * 8 * few_s); /* 64 where each place looks at all others */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_raises_no_alarm),
        cmocka_unit_test(a_slow_place_is_named),
        cmocka_unit_test(a_place_that_slows_down_is_named),
        cmocka_unit_test(slow_products_are_named),
        cmocka_unit_test(places_of_another_kind_are_no_measure),
        cmocka_unit_test(few_intervals_are_not_judged),
        cmocka_unit_test(reasons_are_counted_and_limited),
        cmocka_unit_test(intervals_are_limited),
        cmocka_unit_test(many_places_take_no_more_time_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
