/* test_stall.c: verdicts, states and what a sweep's results are said to mean, on made-up runs: each
 * sentence with the numbers that make the program print it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stall/findings.h"
#include "suites.h"
#include "support.h"
#include "training/kappa.h"

START_TEST(verdicts_at_their_edges) {
    ck_assert_int_eq(verdict_of(0, 9, false), TRAINED);
    ck_assert_int_eq(verdict_of(0.1, 0.1, true), TRAINED);
    ck_assert_int_eq(verdict_of(0.11, 9, false), SLOW);
    ck_assert_int_eq(verdict_of(0.11, 9, true), EARLY);
    ck_assert_int_eq(verdict_of(0.999, 0.999, false), SLOW);
    ck_assert_int_eq(verdict_of(1, 1, false), STALLED);
    ck_assert_int_eq(verdict_of(1, 1, true), EARLY);
    ck_assert_int_eq(verdict_of(9.1, 10, false), STALLED);
    /* more than 10 % better than in the middle */
    ck_assert_int_eq(verdict_of(8.9, 10, false), SLOW);
    ck_assert_int_eq(verdict_of(12, 10, false), STALLED);
    ck_assert_int_eq(verdict_of(INFINITY, 1, true), DIVERGED);
    ck_assert_int_eq(verdict_of(NAN, 1, true), DIVERGED);
}
END_TEST

/* ---- How far a run travelled ----------------------------------------------------------------- */

START_TEST(a_schedule_and_a_warm_up_multiply) {
    recipe r = RECIPE_PLAIN;
    ck_assert(recipe_factor(&r, 0) == 1 && recipe_factor_sum(&r, 500) == 500);
    r.warm_up = 4;
    r.schedule_count = 2;
    r.schedule[0] = (schedule_point){2, 0.5};
    r.schedule[1] = (schedule_point){6, 3}; /* of lr, not of the factor before */
    const double expected[] = {0.25, 0.5, 0.375, 0.5, 0.5, 0.5, 3, 3};
    double sum = 0;
    for (int t = 0; t < 8; t++) {
        ck_assert(recipe_factor(&r, t) == expected[t]);
        ck_assert(recipe_factor_sum(&r, t) == sum);
        ck_assert(recipe_steps_to(&r, sum) == t);
        sum += expected[t];
    }
    ck_assert(recipe_steps_to(&r, sum + 3.5) == 10);
    ck_assert(recipe_steps_to(&r, 3e12) > 9e11);
}
END_TEST

START_TEST(a_run_travels_kappa_a_step_and_with_momentum_so_many_times_more) {
    sweep_config c = {.recipe = RECIPE_PLAIN};
    run r = {.optimizer = optimizer_find("sgd"), .kappa = 2, .steps = 100};
    ck_assert(verdict_travelled(&c, &r) == 200 && verdict_steps_needed(&c, &r) == 150);
    r.optimizer = optimizer_find("momentum");
    ck_assert_double_eq_tol(verdict_travelled(&c, &r), 2000, 1e-9); /* 1 / (1 - 0.9) is not 10 */
    ck_assert(verdict_steps_needed(&c, &r) == 15);
    c.recipe.warm_up = 100;
    ck_assert_double_eq_tol(verdict_travelled(&c, &r), 1010, 1e-9); /* half, and a half step */
    r.optimizer = optimizer_find("adam");
    r.kappa = 0.5;
    c.recipe.warm_up = 0;
    ck_assert(verdict_travelled(&c, &r) == 50 && verdict_steps_needed(&c, &r) == 16);
}
END_TEST

START_TEST(a_run_is_early_below_what_is_enough_not_at_it) {
    const sweep_config c = {.recipe = RECIPE_PLAIN};
    run r = {.optimizer = optimizer_find("sgd"), .kappa = 3, .steps = 100, .ratio = 2, .middle = 2};
    ck_assert_int_eq(verdict_of_run(&c, &r), STALLED); /* 300 */
    r.steps = 99;
    ck_assert_int_eq(verdict_of_run(&c, &r), EARLY);
}
END_TEST

/* ---- Made-up runs ---------------------------------------------------------------------------- */

static const int64_t D_K[] = {8, 512}, SEEDS[] = {0, 1, 2};
static optimizer_rate rates_in_use[2];
static const scaling *rules_in_use[2];

/* A finished sweep of two widths, two scales and three seeds, at one rate or two: all trained,
 * every number 1, entropies as they are in the program. */
static sweep made_up_sweep(int rates) {
    sweep s;
    rules_in_use[0] = scaling_find("none");
    rules_in_use[1] = scaling_find("sqrt");
    rates_in_use[0] = (optimizer_rate){optimizer_at(0), 1};
    rates_in_use[1] = (optimizer_rate){optimizer_at(0), 0.01};
    const sweep_config config = {
        .d_k = D_K,
        .d_k_count = 2,
        .scale = rules_in_use,
        .scale_count = 2,
        .rate = rates_in_use,
        .rate_count = rates,
        .seed = SEEDS,
        .seed_count = 3,
        .training = {.batch = 2, .tokens = 16, .d_model = 4, .d_v = 2, .target_gain = 1},
        .recipe = RECIPE_PLAIN,
        .steps = 500,
        .every = 499,
        .gain = 1,
        .threads = 1};
    ck_assert(sweep_new(&s, &config));
    for (tt_size i = 0; i < s.count; i++) {
        run *c = &s.runs[i];
        ck_assert(sweep_make_rows(&s, c));
        c->row_count = 2;
        c->rows[1].step = 499;
        c->steps = 500;
        c->ratio = c->middle = 0.01;
        c->finished = true;
        for (int r = 0; r < 2; r++)
            for (int m = 0; m < columns_count(); m++) c->rows[r].value[m] = 1;
    }
    return s;
}

static void set_last(run *c, const char *column, double value) {
    c->rows[1].value[column_find(column)] = value;
}

static void set_first(run *c, const char *column, double value) {
    c->rows[0].value[column_find(column)] = value;
}

/* The runs of d_k 512 without the scale stall, sharper than their teacher. */
static void stall_wide(sweep *s, int rate) {
    for (int e = 0; e < 3; e++) {
        run *c = sweep_run_at(s, 1, 0, rate, e);
        c->ratio = c->middle = 7 + e;
        set_last(c, "loss", 8);
        set_last(c, "ratio_rescaled", 0.25);
        set_last(c, "entropy_mean", 0.5);
        set_last(c, "entropy_teacher", 2.5);
        set_first(c, "logit_std", 22);
    }
}

static char *findings_of(const sweep *s) {
    report r;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    ck_assert(to != NULL && report_new(&r, s, ""));
    findings_say(to, &r);
    (void)fclose(to);
    report_free(&r);
    for (char *at = text; *at; at++)
        if (*at == '\n') *at = ' '; /* lines are broken where they are full */
    return text;
}

/* Whether the findings have this sentence; frees nothing of the sweep. */
static void assert_finds(const sweep *s, const char *sentence) {
    char *text = findings_of(s);
    assert_says(text, sentence);
    free(text);
}

static char *printed_table(const sweep *s, const char *options) {
    report r;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    ck_assert(to != NULL && report_new(&r, s, options));
    findings_table(to, &r);
    (void)fclose(to);
    report_free(&r);
    return text;
}

/* ---- Verdicts in words ----------------------------------------------------------------------- */

START_TEST(all_trained_is_said_to_be_no_stall) {
    sweep s = made_up_sweep(1);
    char *text = findings_of(&s);
    assert_says(text, "No stall within 500 steps at lr 1: scale none: d_k 8, 512 trained. scale "
                      "sqrt: d_k 8, 512 trained (3 seeds; the verdict is that of the seed whose "
                      "ratio is in the middle).");
    ck_assert(!strstr(text, "sharper") && !strstr(text, "differ") && !strstr(text, "early"));
    free(text);
    sweep_free(&s);
}
END_TEST

START_TEST(a_stall_is_named_with_its_width) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    assert_finds(&s, "Stall within 500 steps at lr 1: scale none: d_k 8 trained; d_k 512 stalled. "
                     "scale sqrt: d_k 8, 512 trained");
    sweep_free(&s);
}
END_TEST

START_TEST(a_run_that_hardly_moved_is_early_and_the_steps_that_would_do_are_said) {
    sweep s = made_up_sweep(2);
    for (int d = 0; d < 2; d++)
        for (int k = 0; k < 2; k++)
            for (int e = 0; e < 3; e++) sweep_run_at(&s, d, k, 1, e)->ratio = 2;
    assert_finds(&s, "No stall within 500 steps at lr 1");
    assert_finds(&s, "Stall within 500 steps at lr 0.01: scale none: d_k 8 early; d_k 512 stalled. "
                     "scale sqrt: d_k 8, 512 early");
    assert_finds(
        &s, "Of early runs nothing is said: how far they were to move their logits, kappa times "
            "the steps, is below 300 (sgd); most soft starts that were tried had trained "
            "by then.");
    char *text = printed_table(&s, "");
    assert_says(text, "early 3 (30000)\n"); /* sqrt: kappa 0.01 */
    assert_says(text, "early 3 (3750)\n");  /* none at d_k 8: kappa 0.08 */
    free(text);
    sweep_free(&s);
}
END_TEST

START_TEST(the_table_says_what_was_given_and_defines_the_words_that_stand_in_it) {
    sweep s = made_up_sweep(1);
    char *text = printed_table(&s, "--warm-up 100");
    assert_says(text, "With --warm-up 100.\n");
    assert_says(text, "trained: ratio <= 0.1.\n");
    assert_says(text, " quartiles ");
    assert_says(text, "both\nat step 0, median over seeds.");
    ck_assert(!strstr(text, "stalled:") && !strstr(text, "sharper:") && !strstr(text, "early:"));
    free(text);
    stall_wide(&s, 0);
    s.config.recipe.warm_up = 100;
    text = printed_table(&s, "");
    ck_assert(strncmp(text, "Ratio:", 6) == 0);
    assert_says(text, "stalled: ratio >= 1");
    assert_says(text, "sharper: entropy below");
    assert_says(text, "at step 0, which has 0.01 of the rate, median over seeds.");
    free(text);
    assert_finds(&s, "at lr 1, of which step 0 has 0.01 (medians over seeds).");
    sweep_free(&s);
}
END_TEST

START_TEST(quartiles_have_a_digit_more_where_two_are_alike_and_none_of_one_seed) {
    sweep s = made_up_sweep(1);
    sweep_run_at(&s, 1, 0, 0, 0)->ratio = 10.6;
    sweep_run_at(&s, 1, 0, 0, 1)->ratio = 10.65;
    sweep_run_at(&s, 1, 0, 0, 2)->ratio = 10.7;
    char *text = printed_table(&s, "");
    assert_says(text, " 10.6..10.7 "); /* of 10.625 and 10.675 */
    free(text);
    s.config.seed_count = 1;
    s.count = 4;
    text = printed_table(&s, "");
    ck_assert(!strstr(text, "quartiles") && !strstr(text, ".."));
    free(text);
    s.config.seed_count = 3;
    s.count = 12;
    sweep_free(&s);
}
END_TEST

START_TEST(the_median_of_an_even_number_of_seeds_is_the_lower_one_and_said_so) {
    sweep s = made_up_sweep(2);
    s.config.seed_count = 2;
    s.count = 16;
    char *text = findings_of(&s);
    assert_says(text, "(2 seeds; the verdict is that of the seed whose ratio is in the middle, the "
                      "lower of two).");
    assert_says(text, "At step 0 only the step depends on the rate; at the others it is in the "
                      "table.");
    free(text);
    s.config.seed_count = 3;
    s.count = 24;
    sweep_free(&s);
}
END_TEST

START_TEST(where_all_or_some_are_early_no_stall_is_not_said_of_them) {
    sweep s = made_up_sweep(1);
    for (tt_size i = 0; i < s.count; i++) {
        s.runs[i].ratio = s.runs[i].scale == rules_in_use[0] ? 0.01 : 2;
        s.runs[i].kappa = 0.1;
    }
    assert_finds(&s, "No stall, but too early to tell for some, within 500 steps at lr 1: scale "
                     "none: d_k 8, 512 trained. scale sqrt: d_k 8, 512 early");
    for (tt_size i = 0; i < s.count; i++) s.runs[i].ratio = 2;
    assert_finds(&s, "Too early to tell within 500 steps at lr 1: scale none: d_k 8, 512 early");
    sweep_free(&s);
}
END_TEST

START_TEST(what_depends_on_the_optimizer_is_said_with_it) {
    sweep s = made_up_sweep(1);
    rates_in_use[0] = (optimizer_rate){optimizer_find("adam"), 0.001};
    for (tt_size i = 0; i < s.count; i++) {
        s.runs[i].optimizer = optimizer_find("adam");
        s.runs[i].kappa = 1e-5;
        s.runs[i].ratio = 2;
    }
    assert_finds(&s, "Too early to tell within 500 steps at adam, lr 0.001:");
    assert_finds(&s, "is below 8 (adam); most soft starts");
    s.config.lr_in_logits = true;
    assert_finds(&s, "at adam, kappa (nominal step in logits) 0.001:");
    sweep_free(&s);
}
END_TEST

/* ---- Gradients in words ---------------------------------------------------------------------- */

START_TEST(which_way_a_gradient_goes_is_said_in_each_norm) {
    sweep s = made_up_sweep(1);
    for (int e = 0; e < 3; e++) {
        run *c = sweep_run_at(&s, 1, 0, 0, e);
        set_first(c, "row_grad_median", 0.001);
        set_first(c, "grad_wq", 3);
        set_first(c, "grad_wq_rms", 0.4);
        set_first(c, "logit_step", 13);
    }
    assert_finds(&s, "From d_k 8 to 512, scale none, at step 0: the typical row's gradient through "
                     "the softmax fell 1000-fold (1 to 0.001), |dL/dWq| (Frobenius) grew 3-fold (1 "
                     "to 3), per entry dL/dWq fell 2.5-fold (1 to 0.4), the step in logits grew "
                     "13-fold (1 to 13) at lr 1 (medians over seeds).");
    assert_finds(&s, "scale sqrt, at step 0: the typical row's gradient through the softmax hardly "
                     "changed (1 to 1)");
    s.config.d_k_count = 1;
    s.count /= 2;
    assert_finds(&s, "At d_k 8, scale none, at step 0: the typical row's gradient through the "
                     "softmax is 1, |dL/dWq| (Frobenius) is 1, per entry dL/dWq is 1, the step in "
                     "logits is 1 at lr 1");
    s.count *= 2;
    sweep_free(&s);
}
END_TEST

/* ---- States ---------------------------------------------------------------------------------- */

START_TEST(a_state_takes_both_another_entropy_and_a_scalar_that_mends) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    run *c = sweep_run_at(&s, 1, 0, 0, 0);
    ck_assert_int_eq(state_of_run(&s.config, c), SHARPER);
    set_last(c, "ratio_rescaled", 4); /* just half of the ratio */
    ck_assert_int_eq(state_of_run(&s.config, c), SHARPER);
    set_last(c, "ratio_rescaled", 4.01);
    ck_assert_int_eq(state_of_run(&s.config, c), ALIKE);
    set_last(c, "ratio_rescaled", 1);
    set_last(c, "entropy_mean", 2.5 - 0.27); /* ln 16 / 10 = 0.277 */
    ck_assert_int_eq(state_of_run(&s.config, c), ALIKE);
    set_last(c, "entropy_mean", 2.5 + 0.28);
    ck_assert_int_eq(state_of_run(&s.config, c), FLATTER);
    c->ratio = 0.05;
    ck_assert_int_eq(state_of_run(&s.config, c), NO_STATE); /* trained */
    c->ratio = INFINITY;
    ck_assert_int_eq(state_of_run(&s.config, c), NO_STATE); /* diverged */
    c->ratio = 2;
    c->row_count = 0;
    ck_assert_int_eq(state_of_run(&s.config, c), NO_STATE);
    sweep_free(&s);
}
END_TEST

START_TEST(the_state_is_said_with_its_numbers_and_is_no_cause) {
    static const struct {
        double entropy, rescaled;
        const char *words;
    } CASES[] = {
        {0.5, 0.25,
         "the stalled student is sharper than its teacher: its rows' entropy ends at "
         "0.5 nats, the teacher's at 2.5; at the last step, 499, one scalar on its "
         "logits would bring the ratio from 8 to 0.25 (its score matrix has cosine 1 with the "
         "teacher's; seed "
         "1)."},
        {2.79, 0.25, "the stalled student is flatter than its teacher: its rows' entropy"},
        {2.4, 7,
         "the stalled student is neither sharper nor flatter than its teacher in a way "
         "that one scalar mends: its rows' entropy ends at 2.4 nats"},
    };
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        run *median = sweep_run_at(&s, 1, 0, 0, 1);
        set_last(median, "entropy_mean", CASES[i].entropy);
        set_last(median, "ratio_rescaled", CASES[i].rescaled);
        assert_finds(&s, CASES[i].words);
    }
    assert_finds(&s, "At d_k 512, scale none, lr 1 the stalled student");
    sweep_free(&s);
}
END_TEST

/* ---- Causes ---------------------------------------------------------------------------------- */

START_TEST(start_and_step_at_once_are_no_cause) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    assert_finds(&s, "At d_k 512, scale none (sgd, lr 1) stalled at a ratio of 8, scale sqrt (sgd, "
                     "lr 1) trained to 0.01; they differ in the start (deviation of the logits 22 "
                     "against 1) and the step (kappa 512 against 1), and these runs do not tell "
                     "which of them it was.");
    sweep_free(&s);
}
END_TEST

START_TEST(what_was_slow_or_diverged_is_compared_too) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    for (int e = 0; e < 3; e++) sweep_run_at(&s, 1, 0, 0, e)->ratio = 0.5;
    assert_finds(&s, "No stall within 500 steps at lr 1: scale none: d_k 8 trained; d_k 512 slow.");
    assert_finds(&s, "scale none (sgd, lr 1) was slow at a ratio of 0.5, scale sqrt (sgd, lr 1) "
                     "trained to 0.01; they differ in");
    for (int e = 0; e < 3; e++) sweep_run_at(&s, 1, 0, 0, e)->ratio = INFINITY;
    assert_finds(&s, "d_k 8 trained; d_k 512 diverged.");
    assert_finds(&s, "scale none (sgd, lr 1) diverged, scale sqrt (sgd, lr 1) trained to 0.01; ");
    sweep_free(&s);
}
END_TEST

START_TEST(at_the_same_step_the_start_made_the_difference) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    for (tt_size i = 0; i < s.count; i++) s.runs[i].kappa = 1;
    assert_finds(&s, "they differ in the start (deviation of the logits 22 against 1) alone, which "
                     "made the difference.");
    sweep_free(&s);
}
END_TEST

START_TEST(at_the_same_start_the_step_made_the_difference) {
    sweep s = made_up_sweep(2);
    stall_wide(&s, 0);
    for (int i = 0; i < 2; i++)
        for (int e = 0; e < 3; e++) set_first(sweep_run_at(&s, 1, 0, i, e), "logit_std", 22);
    assert_finds(&s, "scale none (sgd, lr 1) stalled at a ratio of 8, scale none (sgd, lr 0.01) "
                     "trained to 0.01; they differ in the step (kappa 512 against 5.12) alone, "
                     "which made the difference.");
    sweep_free(&s);
}
END_TEST

START_TEST(under_adam_two_rates_of_one_rule_differ_in_the_step_alone) {
    sweep s = made_up_sweep(2);
    stall_wide(&s, 0);
    for (tt_size i = 0; i < s.count; i++) s.runs[i].optimizer = optimizer_find("adam");
    for (int i = 0; i < 2; i++)
        for (int e = 0; e < 3; e++) set_first(sweep_run_at(&s, 1, 0, i, e), "logit_std", 22);
    assert_finds(&s,
                 "scale none (adam, lr 0.01) trained to 0.01; they differ in the step (kappa 512 "
                 "against 5.12) alone, which made the difference.");
    assert_finds(&s, "scale sqrt (adam, lr 1) trained to 0.01; they differ in the rule, the start");
    sweep_free(&s);
}
END_TEST

START_TEST(another_rule_optimizer_or_a_clip_is_a_difference_of_its_own) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    rules_in_use[1] = scaling_find("rms");
    for (tt_size i = 0; i < s.count; i++) {
        s.runs[i].kappa = 1;
        if (s.runs[i].scale != rules_in_use[0]) s.runs[i].scale = rules_in_use[1];
    }
    assert_finds(&s, "they differ in the rule and the start (deviation of the logits 22 against "
                     "1), and these runs do not tell which of them it was.");
    for (int e = 0; e < 3; e++) set_first(sweep_run_at(&s, 1, 0, 0, e), "logit_std", 1);
    assert_finds(&s, "they differ in the rule alone, which made the difference.");
    sweep_free(&s);
    s = made_up_sweep(2);
    stall_wide(&s, 0);
    s.config.recipe.clip = 1;
    assert_finds(&s, "they differ in the rule, the start (deviation of the logits 22 against 1) "
                     "and the step (kappa 512 against 1), and");
    rates_in_use[1].optimizer = optimizer_find("adam");
    for (tt_size i = 0; i < s.count; i++)
        if (s.runs[i].lr == 0.01) s.runs[i].optimizer = optimizer_find("adam");
    assert_finds(&s,
                 "scale none (adam, lr 0.01) trained to 0.01; they differ in the optimizer, the "
                 "start");
    sweep_free(&s);
}
END_TEST

START_TEST(unequal_first_weights_are_a_difference_of_their_own) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    rules_in_use[0] = scaling_find("t5");
    for (tt_size i = 0; i < s.count; i++) {
        s.runs[i].kappa = 1;
        if (s.runs[i].scale != rules_in_use[1]) s.runs[i].scale = rules_in_use[0];
    }
    for (int e = 0; e < 3; e++) set_first(sweep_run_at(&s, 1, 0, 0, e), "logit_std", 1);
    assert_finds(&s, "they differ in the balance of the start (|Wq| over |Wk| 0.0442 against 1) "
                     "alone, which made the difference.");
    for (int e = 0; e < 3; e++) sweep_run_at(&s, 1, 0, 0, e)->kappa = 256;
    assert_finds(&s, "they differ in the balance of the start (|Wq| over |Wk| 0.0442 against 1) "
                     "and the step (kappa 256 against 1), and these runs do not tell which");
    sweep_free(&s);
}
END_TEST

START_TEST(where_values_are_trained_their_rate_is_a_difference_of_its_own) {
    sweep s = made_up_sweep(2);
    stall_wide(&s, 0);
    for (int i = 0; i < 2; i++)
        for (int e = 0; e < 3; e++) set_first(sweep_run_at(&s, 1, 0, i, e), "logit_std", 22);
    s.config.training.train_values = true;
    assert_finds(&s, "they differ in the step (kappa 512 against 5.12) and the step of Wv (lr 1 "
                     "against 0.01), and these runs do not tell which");
    sweep_free(&s);
}
END_TEST

START_TEST(groups_that_differ_in_nothing_told_are_not_compared) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    for (tt_size i = 0; i < s.count; i++) s.runs[i].kappa = 1;
    for (int e = 0; e < 3; e++) set_first(sweep_run_at(&s, 1, 0, 0, e), "logit_std", 1);
    char *text = findings_of(&s);
    ck_assert(!strstr(text, "they differ"));
    free(text);
    sweep_free(&s);
}
END_TEST

START_TEST(no_cause_is_said_where_nothing_trained_or_what_failed_was_early) {
    sweep s = made_up_sweep(1);
    stall_wide(&s, 0);
    for (int e = 0; e < 3; e++) sweep_run_at(&s, 1, 1, 0, e)->ratio = 0.5;
    char *text = findings_of(&s);
    ck_assert(!strstr(text, "they differ"));
    free(text);
    sweep_free(&s);
}
END_TEST

/* ---- Groups ---------------------------------------------------------------------------------- */

START_TEST(a_group_has_the_verdict_of_its_run_of_lower_median_ratio_and_counts_each) {
    sweep s = made_up_sweep(1);
    report r;
    sweep_run_at(&s, 0, 1, 0, 0)->ratio = 0.5;
    sweep_run_at(&s, 0, 1, 0, 1)->ratio = INFINITY;
    ck_assert(report_new(&r, &s, ""));
    const seed_group *g = &r.groups[1];
    ck_assert_str_eq(g->run->scale->name, "sqrt");
    ck_assert(g->ratio_median == 0.5 && g->verdict == SLOW && g->run->seed == 0);
    const seed_group *plain = &r.groups[0];
    ck_assert(plain->ratio_q1 == 0.01 && plain->ratio_q3 == 0.01);
    ck_assert(isinf(g->ratio_q3)); /* halfway from 0.5 to infinity */
    ck_assert_double_eq_tol(g->ratio_q1, 0.255, 1e-15);
    ck_assert_int_eq(g->counts[TRAINED], 1);
    ck_assert_int_eq(g->counts[SLOW], 1);
    ck_assert_int_eq(g->counts[STALLED], 0);
    ck_assert_int_eq(g->counts[DIVERGED], 1);
    report_free(&r);
    s.config.seed_count = 2; /* of two, the lower: 12 runs are then 6 groups */
    s.runs[0].ratio = 3;
    s.runs[1].ratio = 0.02;
    ck_assert(report_new(&r, &s, ""));
    ck_assert(r.groups[0].run == &s.runs[1] && r.groups[0].verdict == TRAINED);
    report_free(&r);
    sweep_free(&s);
}
END_TEST

START_TEST(a_run_that_left_no_row_is_survived_by_every_report) {
    sweep s = made_up_sweep(1);
    report r;
    char *text = NULL;
    size_t size = 0;
    for (int e = 0; e < 3; e++) {
        sweep_run_at(&s, 1, 0, 0, e)->ratio = INFINITY;
        sweep_run_at(&s, 1, 0, 0, e)->row_count = 0;
    }
    FILE *to = open_memstream(&text, &size);
    ck_assert(to != NULL && report_new(&r, &s, ""));
    report_summary_csv(to, &r);
    report_runs_csv(to, &r);
    ck_assert(report_bands_csv(to, &r));
    findings_table(to, &r);
    findings_say(to, &r);
    (void)fclose(to);
    assert_says(text, "d_k 512 diverged");
    free(text);
    report_free(&r);
    sweep_free(&s);
}
END_TEST

START_TEST(kappa_is_the_step_in_logits) {
    sweep s = made_up_sweep(1);
    ck_assert(sweep_run_at(&s, 1, 0, 0, 0)->kappa == 512); /* none: lr d_k */
    ck_assert(sweep_run_at(&s, 1, 1, 0, 0)->kappa == 1);   /* sqrt: lr */
    sweep_config config = s.config;
    sweep_free(&s);
    config.lr_in_logits = true;
    config.gain_kind = GAIN_DK_UP;
    ck_assert(sweep_new(&s, &config));
    const run *c = sweep_run_at(&s, 1, 0, 0, 0);
    ck_assert(c->kappa == 1);
    /* an ulp of 4.8, and a few of 1e-4 */
    ck_assert_double_eq_tol(c->gain, pow(512, 0.25), 1e-15);
    ck_assert_double_eq_tol(c->lr, 1 / (512 * sqrt(512)), 1e-18);
    sweep_free(&s);
}
END_TEST

/* A rule that divides by norms gets its rate, and its kappa, from the first batch of each seed. */
START_TEST(a_rule_without_a_factor_has_its_kappa_measured) {
    static const atomic_int GO_ON = 0;
    sweep s = made_up_sweep(1);
    sweep_config config = s.config;
    training_config training = config.training;
    sweep_free(&s);
    rules_in_use[1] = scaling_find("cosine");
    for (int logit = 0; logit < 2; logit++) {
        double per_lr;
        config.lr_in_logits = logit == 1;
        ck_assert(sweep_new(&s, &config) &&
                  isnan(sweep_run_at(&s, 0, 1, 0, 2)->lr * sweep_run_at(&s, 0, 1, 0, 2)->kappa));
        ck_assert(sweep_measure(&s, &GO_ON));
        const run *c = sweep_run_at(&s, 0, 1, 0, 2), *other = sweep_run_at(&s, 0, 1, 0, 1);
        training.d_k = 8;
        ck_assert(
            kappa_measure(&c->scale, 1, c->optimizer, &config.recipe, &training, 1, 2, &per_lr));
        ck_assert(c->lr == (logit ? 1 / per_lr : 1) && c->kappa == (logit ? 1 : per_lr));
        ck_assert(logit ? c->lr != other->lr : c->kappa != other->kappa);
        ck_assert(sweep_run_at(&s, 0, 0, 0, 2)->kappa == (logit ? 1 : 8)); /* none: as it was */
        sweep_free(&s);
    }
}
END_TEST

Suite *stall_suite(void) {
    const TTest *tests[] = {
        verdicts_at_their_edges,
        a_schedule_and_a_warm_up_multiply,
        a_run_travels_kappa_a_step_and_with_momentum_so_many_times_more,
        a_run_is_early_below_what_is_enough_not_at_it,
        all_trained_is_said_to_be_no_stall,
        a_stall_is_named_with_its_width,
        the_table_says_what_was_given_and_defines_the_words_that_stand_in_it,
        quartiles_have_a_digit_more_where_two_are_alike_and_none_of_one_seed,
        the_median_of_an_even_number_of_seeds_is_the_lower_one_and_said_so,
        a_run_that_hardly_moved_is_early_and_the_steps_that_would_do_are_said,
        where_all_or_some_are_early_no_stall_is_not_said_of_them,
        what_depends_on_the_optimizer_is_said_with_it,
        which_way_a_gradient_goes_is_said_in_each_norm,
        a_state_takes_both_another_entropy_and_a_scalar_that_mends,
        the_state_is_said_with_its_numbers_and_is_no_cause,
        start_and_step_at_once_are_no_cause,
        what_was_slow_or_diverged_is_compared_too,
        at_the_same_step_the_start_made_the_difference,
        at_the_same_start_the_step_made_the_difference,
        under_adam_two_rates_of_one_rule_differ_in_the_step_alone,
        another_rule_optimizer_or_a_clip_is_a_difference_of_its_own,
        unequal_first_weights_are_a_difference_of_their_own,
        where_values_are_trained_their_rate_is_a_difference_of_its_own,
        groups_that_differ_in_nothing_told_are_not_compared,
        no_cause_is_said_where_nothing_trained_or_what_failed_was_early,
        a_group_has_the_verdict_of_its_run_of_lower_median_ratio_and_counts_each,
        a_run_that_left_no_row_is_survived_by_every_report,
        kappa_is_the_step_in_logits,
        a_rule_without_a_factor_has_its_kappa_measured};
    return suite_of("stall", tests, LENGTH(tests), 60);
}
