/* test_stall.c: what a stall run concludes from given numbers: verdicts, summary, bands, words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stall/report.h"
#include "suites.h"
#include "support.h"
#include "training/sweep.h"

START_TEST(verdicts_at_their_edges) {
    ck_assert_int_eq(verdict_of(0), TRAINED);
    ck_assert_int_eq(verdict_of(0.1), TRAINED);
    ck_assert_int_eq(verdict_of(0.1000001), SLOW);
    ck_assert_int_eq(verdict_of(0.999999), SLOW);
    ck_assert_int_eq(verdict_of(1), STALLED);
    ck_assert_int_eq(verdict_of(8), STALLED);
    ck_assert_int_eq(verdict_of(INFINITY), DIVERGED);
}
END_TEST

static const int64_t D_K[] = {8, 512}, SEEDS[] = {0, 1, 2};
static const double LR[] = {1};
static const scaling *rules_in_use[2];

/* A sweep that nobody trained: 2 widths, 2 scales, 3 seeds. */
static sweep made_up_sweep(void) {
    sweep s;
    rules_in_use[0] = scaling_find("none");
    rules_in_use[1] = scaling_find("sqrt");
    sweep_config config = {.d_k = D_K,
                           .d_k_count = 2,
                           .scale = rules_in_use,
                           .scale_count = 2,
                           .lr = LR,
                           .lr_count = 1,
                           .seed = SEEDS,
                           .seed_count = 3,
                           .training = {.batch = 2, .tokens = 3, .d_model = 4, .d_v = 2},
                           .steps = 10,
                           .every = 10,
                           .gain = 1,
                           .threads = 1};
    ck_assert(sweep_new(&s, &config));
    for (tt_size i = 0; i < s.count; i++) {
        run *c = &s.runs[i];
        ck_assert(sweep_make_rows(&s, c));
        c->row_count = 2;
        c->rows[1].step = 9;
        c->steps = 10;
        c->ratio = 0.01;
        c->finished = true;
        for (int r = 0; r < 2; r++) {
            for (int m = 0; m < columns_count(); m++) c->rows[r].value[m] = 1;
            c->rows[r].value[column_find("entropy_teacher")] = 2;
        }
    }
    return s;
}

static char *findings_of(const sweep *s) {
    report r;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    ck_assert(to != NULL && report_new(&r, s));
    report_findings(to, &r);
    (void)fclose(to);
    report_free(&r);
    return text;
}

START_TEST(all_trained_is_said_to_be_no_stall) {
    sweep s = made_up_sweep();
    char *text = findings_of(&s);
    assert_says(text, "No stall within 10 steps at lr 1: scale none: d_k 8, 512 trained.");
    ck_assert(strstr(text, "too sharp") == NULL);
    free(text);
    sweep_free(&s);
}
END_TEST

START_TEST(a_stall_is_named_with_its_width_its_gradients_and_its_reason) {
    sweep s = made_up_sweep();
    for (int e = 0; e < 3; e++) {
        run *c = sweep_run_at(&s, 1, 0, 0, e);
        c->ratio = 7 + e;
        c->rows[0].value[column_find("row_grad_median")] = 0.001;
        c->rows[0].value[column_find("grad_wq")] = 3;
        c->rows[1].value[column_find("ratio_rescaled")] = 0.25;
    }
    char *text = findings_of(&s);
    assert_says(text, "Stall within 10 steps at lr 1: scale none: d_k 8 trained; d_k 512 stalled.");
    assert_says(text, "through the softmax fell 1000-fold (1 to 0.001)");
    assert_says(text, "|dL/dWq| grew 3-fold (1 to 3)");
    assert_says(text, "the stalled student is too sharp");
    assert_says(text, "from 8 to 0.25");
    free(text);
    sweep_free(&s);
}
END_TEST

START_TEST(a_group_has_the_verdict_of_its_median_and_counts_each) {
    sweep s = made_up_sweep();
    report r;
    sweep_run_at(&s, 0, 1, 0, 0)->ratio = 0.5;
    sweep_run_at(&s, 0, 1, 0, 1)->ratio = INFINITY;
    ck_assert(report_new(&r, &s));
    const seed_group *g = &r.groups[1];
    ck_assert_str_eq(g->scale->name, "sqrt");
    ck_assert(g->ratio_median == 0.5 && g->verdict == SLOW);
    const seed_group *plain = &r.groups[0];
    ck_assert(plain->ratio_q1 == 0.01 && plain->ratio_q3 == 0.01);
    ck_assert(isinf(g->ratio_q3)); /* halfway from 0.5 to infinity */
    ck_assert_double_eq_tol(g->ratio_q1, 0.255, 1e-15);
    ck_assert_int_eq(g->counts[TRAINED], 1);
    ck_assert_int_eq(g->counts[SLOW], 1);
    ck_assert_int_eq(g->counts[STALLED], 0);
    ck_assert_int_eq(g->counts[DIVERGED], 1);
    report_free(&r);
    sweep_free(&s);
}
END_TEST

START_TEST(a_run_that_left_no_row_is_survived_by_every_report) {
    sweep s = made_up_sweep();
    report r;
    char *text = NULL;
    size_t size = 0;
    for (int e = 0; e < 3; e++) {
        sweep_run_at(&s, 1, 0, 0, e)->ratio = INFINITY;
        sweep_run_at(&s, 1, 0, 0, e)->row_count = 0;
    }
    FILE *to = open_memstream(&text, &size);
    ck_assert(to != NULL && report_new(&r, &s));
    report_summary_csv(to, &r);
    report_runs_csv(to, &r);
    ck_assert(report_bands_csv(to, &r));
    report_table(to, &r);
    report_findings(to, &r);
    (void)fclose(to);
    assert_says(text, "d_k 512 diverged");
    free(text);
    report_free(&r);
    sweep_free(&s);
}
END_TEST

START_TEST(kappa_is_the_step_in_logits) {
    sweep s = made_up_sweep();
    ck_assert(sweep_run_at(&s, 1, 0, 0, 0)->kappa == 512); /* none: lr d_k */
    ck_assert(sweep_run_at(&s, 1, 1, 0, 0)->kappa == 1);   /* sqrt: lr */
    sweep_config config = s.config;
    sweep_free(&s);
    config.lr_in_logits = true;
    config.gain_kind = GAIN_DK_UP;
    ck_assert(sweep_new(&s, &config));
    const run *c = sweep_run_at(&s, 1, 0, 0, 0);
    ck_assert(c->kappa == 1);
    ck_assert_double_eq_tol(c->gain, pow(512, 0.25), 1e-15);
    ck_assert_double_eq_tol(c->lr, 1 / (512 * sqrt(512)), 1e-18);
    sweep_free(&s);
}
END_TEST

Suite *stall_suite(void) {
    const TTest *tests[] = {verdicts_at_their_edges,
                            all_trained_is_said_to_be_no_stall,
                            a_stall_is_named_with_its_width_its_gradients_and_its_reason,
                            a_group_has_the_verdict_of_its_median_and_counts_each,
                            a_run_that_left_no_row_is_survived_by_every_report,
                            kappa_is_the_step_in_logits};
    return suite_of("stall", tests, LENGTH(tests), 60);
}
