/* Max-min fair rates by linear programs (GLPK): the most that all can have, then the most that
 * those can have that are not held back by then, and so on. Left out where GLPK is not installed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/sim/world.h"

#if __has_include(<glpk.h>)
#include <glpk.h>

#define NEAR 1e-6

/* Columns: the rates, from 1 on, then the level. Rows: the limits, then rate - level. */
static glp_prob *make_program(const struct world *w)
{
    glp_prob *lp = glp_create_prob();
    int flows = (int)w->count;
    glp_set_obj_dir(lp, GLP_MAX);
    glp_add_rows(lp, LIMITS + flows);
    glp_add_cols(lp, flows + 1);
    glp_set_col_bnds(lp, flows + 1, GLP_LO, 0, 0);
    for (size_t l = 0; l < LIMITS; l++) {
        int column[FLOWS + 1], count = 0;
        double one[FLOWS + 1];
        for (int i = 0; i < flows; i++)
            if (world_uses(w, (size_t)i, l)) {
                column[++count] = i + 1;
                one[count] = 1;
            }
        double capacity = world_capacity(w, l, (unsigned)count);
        glp_set_mat_row(lp, (int)l + 1, count, column, one);
        glp_set_row_bnds(lp, (int)l + 1, isinf(capacity) ? GLP_FR : GLP_UP, 0,
                         isinf(capacity) ? 0 : capacity);
    }
    for (int i = 0; i < flows; i++) {
        const struct sim_flow *flow = &w->flow[i];
        glp_set_col_bnds(lp, i + 1, GLP_DB, 0, flow->bytes_per_s);
        glp_set_mat_row(lp, LIMITS + i + 1, 2, (const int[]){0, i + 1, flows + 1},
                        (const double[]){0, 1, -1});
        glp_set_row_bnds(lp, LIMITS + i + 1, GLP_LO, 0, 0);
    }
    return lp;
}

static double maximize(glp_prob *lp, int column)
{
    glp_smcp quiet;
    glp_init_smcp(&quiet);
    quiet.msg_lev = GLP_MSG_OFF;
    for (int c = 1; c <= glp_get_num_cols(lp); c++)
        glp_set_obj_coef(lp, c, c == column);
    assert_int_equal(glp_simplex(lp, &quiet), 0);
    assert_int_equal(glp_get_status(lp), GLP_OPT);
    return glp_get_obj_val(lp);
}

static void max_min(const struct world *w, double *ret_rate)
{
    glp_prob *lp = make_program(w);
    int flows = (int)w->count, growing = flows;
    bool is_fixed[FLOWS] = {false};
    while (growing > 0) {
        double level = maximize(lp, flows + 1);
        glp_set_col_bnds(lp, flows + 1, GLP_LO, level * (1 - 1e-9), 0);
        for (int i = 0; i < flows; i++) {
            double rate = level;
            if (is_fixed[i] || maximize(lp, i + 1) > rate * (1 + NEAR))
                continue;
            ret_rate[i] = rate;
            is_fixed[i] = true;
            growing--;
        }
        for (int i = 0; i < flows; i++)
            if (is_fixed[i]) {
                glp_set_row_bnds(lp, LIMITS + i + 1, GLP_FR, 0, 0);
                glp_set_col_bnds(lp, i + 1, GLP_FX, ret_rate[i] * (1 - 1e-9), 0);
            }
        glp_set_col_bnds(lp, flows + 1, GLP_LO, 0, 0);
    }
    glp_delete_prob(lp);
}

static void rates_are_those_of_linear_programs(void **state)
{
    (void)state;
    uint64_t seed = 6;
    struct sim *sim = sim_new(FLOWS, LIMITS, FLOWS);
    assert_non_null(sim);
    for (int trial = 0; trial < 500; trial++) {
        struct world w;
        double rate[FLOWS], expected[FLOWS];
        world_make(&w, &(struct world_shape){.has_tables = trial % 2}, &seed);
        max_min(&w, expected);
        sim_rates(sim, w.limit, w.flow, w.count, rate);
        for (size_t i = 0; i < w.count; i++)
            if (fabs(rate[i] - expected[i]) > NEAR * 10 * expected[i])
                fail_msg("trial %d, flow %zu: %.9g is not %.9g", trial, i, rate[i], expected[i]);
    }
    sim_free(sim);
    glp_free_env();
}
#else
static void rates_are_those_of_linear_programs(void **state)
{
    (void)state;
    print_message("left out: GLPK is not installed (libglpk-dev)\n");
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rates_are_those_of_linear_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
