/* test_saturation.c: what is drawn and measured falls on the exact means and on a published table,
 * and does not depend on threads, locale or company; and the program writes and refuses what it
 * should. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/scale_option.h"
#include "common/stats.h"
#include "saturation/draw.h"
#include "saturation/exact.h"
#include "saturation/report.h"
#include "suites.h"
#include "support.h"
#include "tt/rng.h"

static const option_spec LISTS[] = {
    {"d-k", "", "", ""}, {"sigma", "", "", ""}, {"keys", "", "", ""}};
static const command_spec COMMAND = {.name = "test", .options = LISTS, .count = 3};

/* A finished sweep over lists written as on the command line. Without rules the first holds sigmas.
 * The next sweep takes its lists' memory, but not its cells'. */
static saturation finished(const char *d_k, const char *keys, const char *rules,
                           saturation_config config) {
    static int64_t d_k_list[LIST_MOST], keys_list[LIST_MOST];
    static double sigma_list[LIST_MOST];
    static scale_list scale;
    const options o = {.command = &COMMAND, .text = {d_k, d_k, keys}};
    saturation s;
    progress p;
    config.keys = keys_list;
    ck_assert(options_int_list(&o, "keys", 2, 4096, keys_list, &config.keys_count));
    if (rules) {
        config.d_k = d_k_list;
        ck_assert(options_int_list(&o, "d-k", 1, 65536, d_k_list, &config.d_k_count));
        ck_assert(scale_list_read(rules, &scale));
        config.scale = scale.rule;
        config.scale_count = scale.count;
    } else {
        config.sigma = sigma_list;
        ck_assert(options_positive_list(&o, "sigma", sigma_list, &config.sigma_count));
    }
    if (config.threads == 0) config.threads = 2;
    ck_assert(saturation_new(&s, &config));
    progress_start(&p, s.count, saturation_work(&s), true);
    const char *error = saturation_run(&s, &p, NULL);
    ck_assert_msg(!error, "%s", error);
    saturation_exact(&s);
    return s;
}

/* Means that are known exactly and compared: logit_std, entropy, max_weight, participation, and the
 * squares of the Jacobian's norm and of the row's gradient. */
enum { EXACT = 6 };

/* Every comparison of the sweep within 4.5 standard errors: of 300 independent ones a larger one
 * comes up once in 500 sweeps, and the seed is fixed. */
static void assert_on_theory(const saturation *s, int comparisons_expected) {
    comparisons found = saturation_compare(s);
    ck_assert_int_eq(found.count, comparisons_expected);
    ck_assert_msg(found.largest <= 4.5, "%s: z = %g", saturation_metric_name(found.metric),
                  found.largest);
}

/* ---- Against theory -------------------------------------------------------------------------- */

START_TEST(random_rows_fall_on_the_exact_means_under_every_constant_factor) {
    saturation s =
        finished("1,6,30", "2,5,16", "none,sqrt,linear,log,t5", (saturation_config){.rows = 2000});
    assert_on_theory(&s, 3 * 3 * 5 * EXACT);
    saturation_free(&s);
}
END_TEST

/* Var(q.k) = d_k, whatever a row shares; and rules that divide by norms leave a cosine of mean
 * square 1/d_k. 4.5: see above. */
START_TEST(pooled_deviations_are_those_of_the_dot_product) {
    static const double FACTOR[] = {1, 0.5, 3};
    saturation s = finished("1,7", "2,9", "none,0.5,rms*3", (saturation_config){.rows = 20000});
    for (tt_size i = 0; i < s.count; i++) {
        const saturation_cell *c = &s.cells[i];
        const double exact = FACTOR[i % 3] * (i % 3 == 2 ? 1 : sqrt((double)c->d_k));
        /* at d_k 1 every such logit is 3 or -3 */
        const double error = fmax(c->pooled_error, 1e-3);
        ck_assert_msg(fabs(c->pooled - exact) <= 4.5 * error, "d_k %d, %s: %g +- %g, exact %g",
                      (int)c->d_k, c->scale.name, c->pooled, c->pooled_error, exact);
    }
    saturation_free(&s);
}
END_TEST

/* Of N i.i.d. normals a deviation s scatters by s / sqrt(2 N); 10%: the scatter of 2,500 matrices
 * is itself known to 1.4%. */
START_TEST(the_error_of_a_pooled_deviation_is_that_of_iid_logits) {
    saturation s = finished("2", "4", NULL, (saturation_config){.rows = 10000});
    ck_assert_double_eq_tol(s.cells->pooled_error, 2 / sqrt(2 * 40000.0), 0.1 * 2 / sqrt(80000.0));
    saturation_free(&s);
}
END_TEST

static uint64_t mixed(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* About the mean of all of them, which of so few is far from 0; of two matrices half of what their
 * means differ by is the error of the mean. Drawn again as draw.h says. */
START_TEST(two_matrices_have_the_deviation_of_all_their_logits) {
    const double sigma = 2;
    double z[18], first[2], second[2] = {0, 0};
    uint64_t bits;
    tt_rng rng;
    memcpy(&bits, &sigma, sizeof bits);
    tt_rng_seed(&rng, mixed(mixed(mixed(5) ^ bits) ^ 3));
    for (int m = 0; m < 2; m++) {
        double passed_over[9];
        tt_rng_normal(&rng, z + (ptrdiff_t)9 * m, 9);
        tt_rng_normal(&rng, passed_over, 9);
    }
    for (int i = 0; i < 18; i++) {
        z[i] *= sigma;
        second[i / 9] += z[i] * z[i] / 9;
    }
    for (int m = 0; m < 2; m++) first[m] = stats_mean(z + (ptrdiff_t)9 * m, 9);
    const double deviation = stats_deviation(z, 18), mean = (first[0] + first[1]) / 2;
    const double apart = second[0] - second[1] - 2 * mean * (first[0] - first[1]);
    saturation s = finished("2", "3", NULL, (saturation_config){.rows = 6, .seed = 5});
    ck_assert_double_eq_tol(s.cells->pooled, deviation, 1e-14); /* sums of 18 terms of size 4 */
    ck_assert_double_eq_tol(s.cells->pooled_error, fabs(apart) / 2 / (2 * deviation), 1e-14);
    saturation_free(&s);
    s = finished("2", "3", NULL, (saturation_config){.rows = 3, .seed = 5});
    ck_assert_double_eq_tol(s.cells->pooled, stats_deviation(z, 9), 1e-14);
    ck_assert(isnan(s.cells->pooled_error));
    saturation_free(&s);
}
END_TEST

START_TEST(iid_logits_fall_on_the_exact_means) {
    saturation s =
        finished("0.3,1,3,20", "2,9,64", NULL, (saturation_config){.rows = 8000, .seed = 1});
    assert_on_theory(&s, 4 * 3 * EXACT);
    saturation_free(&s);
}
END_TEST

START_TEST(rules_that_divide_by_norms_have_no_exact_value) {
    saturation s = finished("4", "5", "keys,cosine,rms", (saturation_config){.rows = 50});
    assert_on_theory(&s, 0);
    saturation_free(&s);
}
END_TEST

START_TEST(a_scale_of_nearly_0_is_not_compared_with_rounding) {
    saturation_cell c = {.keys = 4};
    c.of[SAT_ENTROPY] = (saturation_summary){.mean = log(4) - 1e-15, .standard_error = 1e-16};
    c.exact[SAT_ENTROPY] = log(4);
    ck_assert(isnan(saturation_z(&c, SAT_ENTROPY)));
    c.of[SAT_ENTROPY].standard_error = NAN; /* a single matrix */
    ck_assert(isnan(saturation_z(&c, SAT_ENTROPY)));
}
END_TEST

START_TEST(the_largest_of_many_z_is_where_tables_have_it) {
    /* two-sided 5 % and 50 % points of the normal distribution; three digits are printed */
    ck_assert_double_eq_tol(saturation_largest_of(1, 0.05), 1.959963984540054, 1e-9);
    ck_assert_double_eq_tol(saturation_largest_of(1, 0.5), 0.674489750196082, 1e-9);
    /* P(all of 100 below 3.4) = (1 - 6.7385e-4)^100 = 0.93482 */
    ck_assert_double_eq_tol(saturation_largest_of(100, 1 - 0.934817), 3.4, 1e-4);
}
END_TEST

/* ---- The published table --------------------------------------------------------------------- */

static const saturation_cell *cell_named(const saturation *s, double d_k, const char *scale) {
    for (tt_size i = 0; i < s->count; i++)
        if ((double)s->cells[i].d_k == d_k && strcmp(s->cells[i].scale.name, scale) == 0)
            return &s->cells[i];
    ck_abort_msg("no cell of d_k %g, scale %s", d_k, scale);
    return NULL;
}

/* 1,000 matrices here; scripts/compare_published takes 40,000. 4 standard deviations: 48 values, so
 * by chance one run in 330 would fail, and the seed is fixed. */
START_TEST(rows_of_ten_keys_agree_with_the_published_table) {
    saturation s =
        finished("8,16,32,64,128,256", "10", "none,sqrt", (saturation_config){.rows = 10000});
    table t = table_read(GOLDEN "saturation_t10.csv");
    ck_assert_int_eq(t.rows, 24);
    for (int row = 0; row < t.rows; row++) {
        const double d_k = table_number(&t, row, "d_k");
        const char *scale = table_text(&t, row, "scale"), *metric = table_text(&t, row, "metric");
        const int m = strcmp(metric, "entropy") == 0 ? SAT_ENTROPY : SAT_MAX_WEIGHT;
        const saturation_summary *of = &cell_named(&s, d_k, scale)->of[m];
        double off = (of->mean - table_number(&t, row, "published")) /
                     hypot(of->standard_error, table_number(&t, row, "published_deviation"));
        double off_long = (of->mean - table_number(&t, row, "long_run")) /
                          hypot(of->standard_error, table_number(&t, row, "long_run_error"));
        ck_assert_msg(fabs(off) <= 4 && fabs(off_long) <= 4,
                      "d_k %g, scale %s, %s: %g from the published, %g from the long run", d_k,
                      scale, metric, off, off_long);
    }
    table_free(&t);
    saturation_free(&s);
}
END_TEST

/* ---- How rows are drawn and summarised ------------------------------------------------------- */

START_TEST(a_cell_does_not_depend_on_threads_nor_on_the_other_cells) {
    saturation_config config = {.rows = 1500, .seed = 7, .threads = 1};
    saturation all = finished("3,5", "4,700", "cosine,none", config);
    config.threads = 5;
    saturation alone = finished("5", "4", "none", config);
    const saturation_summary *a = saturation_at(&all, 1, 0, 1)->of, *b = alone.cells[0].of;
    ck_assert(memcmp(a, b, SAT_METRICS * sizeof *a) == 0);
    saturation_free(&all);
    saturation_free(&alone);
}
END_TEST

START_TEST(rows_are_rounded_up_to_whole_matrices) {
    saturation_config config = {.rows = 100};
    ck_assert_int_eq((int)saturation_matrices(&config, 10), 10);
    ck_assert_int_eq((int)saturation_matrices(&config, 16), 7);
    ck_assert_int_eq((int)saturation_matrices(&config, 4096), 1);
}
END_TEST

/* With two matrices of means a and b the error of (a + b) / 2 is |a - b| / 2, so it is how far a,
 * known from a run of the first matrix alone, lies from the mean. A single matrix has no error. */
START_TEST(a_matrix_is_one_cluster_of_the_standard_error) {
    saturation one = finished("4", "5", "none", (saturation_config){.rows = 5});
    saturation two = finished("4", "5", "none", (saturation_config){.rows = 10});
    for (int m = 0; m < SAT_METRICS; m++) {
        const saturation_summary *a = &one.cells[0].of[m], *both = &two.cells[0].of[m];
        ck_assert(isnan(a->standard_error));
        /* sums of ten numbers up to 10, each rounded to 1e-16 of them */
        ck_assert_double_eq_tol(both->standard_error, fabs(a->mean - both->mean), 1e-14);
    }
    saturation_free(&one);
    saturation_free(&two);
}
END_TEST

START_TEST(t5_has_the_logits_of_sqrt_and_sqrt_d_k_times_its_query_gradient) {
    /* gain 1/8: no rounding */
    saturation s = finished("64", "6", "sqrt,t5", (saturation_config){.rows = 60});
    const saturation_summary *a = s.cells[0].of, *b = s.cells[1].of;
    ck_assert(a[SAT_ENTROPY].mean == b[SAT_ENTROPY].mean);
    ck_assert(a[SAT_ROW_GRAD].median == b[SAT_ROW_GRAD].median);
    ck_assert(8 * a[SAT_DQ].mean == b[SAT_DQ].mean);
    saturation_free(&s);
}
END_TEST

/* ---- The program ----------------------------------------------------------------------------- */

#define SMALL "saturation --d-k 2,3 --keys 3,4 --scale none,keys,0.125 --rows 300 "

static void assert_same_run(const char *a, const char *b) {
    static const char *const ENDINGS[] = {".csv", "_theory.csv", ".meta"};
    assert_same_results(a, b, ENDINGS, LENGTH(ENDINGS));
}

START_TEST(same_bytes_for_any_threads_and_locale) {
    run_quietly("LC_ALL=C", SMALL "--threads 1", "sat1");
    run_quietly("LC_ALL=C", SMALL "--threads 3", "sat3");
    run_quietly(COMMA_LOCALE, SMALL, "sat_comma");
    assert_same_run("sat1", "sat3");
    assert_same_run("sat1", "sat_comma");
}
END_TEST

/* What the figures and other people's scripts read: columns, order, and which fields are empty. */
START_TEST(the_file_is_long_and_nested_as_documented) {
    run_quietly("", SMALL, "sat_long");
    char *text = read_whole(SCRATCH "sat_long.csv");
    static const char HEADER[] = "d_k,keys,scale,metric,statistic,value,standard_error,theory,z\n";
    assert_starts(text, HEADER);
    const char *at = text + strlen(HEADER);
    static const char *const D_K[] = {"2", "3"}, *const KEYS[] = {"3", "4"},
                             *const SCALE[] = {"none", "keys", "0.125"},
                             *const STATISTIC[] = {"mean", "p10", "median", "p90"};
    const int lines = 4 * SAT_METRICS + 1; /* the fifth line of the first metric is pooled */
    for (int i = 0; i < 2 * 2 * 3 * lines; i++) {
        const int cell = i / lines, line = i % lines - (i % lines > 4);
        const bool pooled = i % lines == 4, quantile = !pooled && line % 4 != 0;
        char key[96];
        (void)snprintf(key, sizeof key, "%s,%s,%s,%s,%s,", D_K[cell / 6], KEYS[cell / 3 % 2],
                       SCALE[cell % 3], saturation_metric_name(pooled ? 0 : line / 4),
                       pooled ? "pooled" : STATISTIC[line % 4]);
        assert_starts(at, key);
        const char *end = strchr(at, '\n');
        ck_assert_msg((strncmp(end - 3, ",,,", 3) == 0) == quantile, "%.90s", at);
        at = end + 1;
    }
    ck_assert_str_eq(at, "");
    free(text);
}
END_TEST

START_TEST(sigma_takes_the_place_of_d_k_and_scale) {
    const captured *c = run_well("saturation --sigma 0.5,8 --keys 4 --rows 80 --output -");
    assert_starts(c->out, "sigma,keys,metric,statistic,value,standard_error,theory,z\n"
                          "0.5,4,logit_std,mean,");
    assert_says(c->out, "\n8,4,row_grad_squared,p90,");
    ck_assert(strstr(c->out, "dq_norm") == NULL);
    assert_says(c->err, "the freezing line of large n is sigma* = sqrt(2 ln n) = 1.67");
}
END_TEST

START_TEST(with_sigma_the_settings_name_no_d_k_and_no_scale) {
    run_quietly("", "saturation --sigma 2 --keys 3 --rows 9", "sat_sigma");
    char *meta = read_whole(SCRATCH "sat_sigma.meta");
    assert_says(meta, "d-k = \nsigma = 2\nkeys = 3\nscale = \nrows = 9\nseed = 0\n");
    free(meta);
}
END_TEST

START_TEST(the_words_name_the_freezing_line_and_how_mean_and_median_part) {
    const captured *c =
        run_well("saturation --d-k 4,8,512 --rows 3200 --output " SCRATCH "words.csv");
    assert_says(c->out, "Measured against exact: 36 comparisons, the largest |z| is");
    assert_says(c->out, "The file's other 12 z, of entropy / ln n");
    assert_says(c->out, "the freezing line of large n is d_k* = 2 ln n = 5.55. At d_k 4");
    assert_says(c->out, "16 keys, d_k 8 to 512, scale none: the Jacobian's norm, mean over "
                        "rows, fell");
    assert_says(c->out, "scale sqrt: the Jacobian's norm, mean over rows, hardly changed");
    c = run_well("saturation --d-k 8,16 --rows 3200 --output " SCRATCH "words.csv --force");
    assert_says(c->out, "all d_k of this run, under scale none, lie beyond that.");
    ck_assert(!strstr(c->out, "+- 0.000") && strstr(c->out, " +-0.0"));
}
END_TEST

START_TEST(the_theory_file_has_the_median_gap_of_two_scores_under_each_factor) {
    run_quietly("", "saturation --d-k 2 --keys 3 --rows 3 --scale none,sqrt,t5,cosine", "sat_gap");
    run_quietly("", "saturation --sigma 4 --keys 3 --rows 3", "sat_gap_sigma");
    table t = table_read(SCRATCH "sat_gap_theory.csv");
    const double factor[] = {1, sqrt(0.5), sqrt(0.5)}; /* cosine has no exact values */
    ck_assert_int_eq(t.rows, 3);
    for (int row = 0; row < 3; row++) /* 1e-11 of the module */
        ck_assert_double_eq_tol(table_number(&t, row, "two_key_gap"),
                                factor[row] * sqrt(2) * log(2), 1e-10);
    table_free(&t);
    t = table_read(SCRATCH "sat_gap_sigma_theory.csv");
    ck_assert_double_eq_tol(table_number(&t, 0, "two_key_gap"), 4 * sqrt(2) * 0.67448975019608174,
                            1e-10); /* as above */
    table_free(&t);
}
END_TEST

START_TEST(every_z_of_the_file_is_counted_or_named_a_repeat) {
    saturation s = finished("2,3", "3,5", "none,cosine", (saturation_config){.rows = 60});
    const comparisons found = saturation_compare(&s);
    int in_file = 0;
    for (tt_size i = 0; i < s.count; i++)
        for (int m = 0; m < SAT_METRICS; m++)
            if (!isnan(saturation_z(&s.cells[i], m))) in_file++;
    ck_assert_int_eq(found.count, 2 * 2 * EXACT);
    ck_assert_int_eq(found.count + found.repeats, in_file);
    saturation_free(&s);
}
END_TEST

/* ---- The figures ----------------------------------------------------------------------------- */

/* The figure of a run in SCRATCH. The caller frees. */
static char *figure(const char *run, const char *script) {
    char csv[128];
    (void)snprintf(csv, sizeof csv, "%s.csv", run);
    return drawn(script, csv);
}

static void assert_figure_says(const char *run, const char *script, const char *part) {
    char *svg = figure(run, script);
    assert_says(svg, part);
    free(svg);
}

static double number_of(const table *t, double d_k, double keys, const char *scale,
                        const char *metric, const char *statistic) {
    for (int row = 0; row < t->rows; row++)
        if (table_number(t, row, "d_k") == d_k && table_number(t, row, "keys") == keys &&
            strcmp(table_text(t, row, "scale"), scale) == 0 &&
            strcmp(table_text(t, row, "metric"), metric) == 0 &&
            strcmp(table_text(t, row, "statistic"), statistic) == 0)
            return table_number(t, row, "value");
    ck_abort_msg("no such row");
    return NAN;
}

START_TEST(titles_of_the_figures_say_the_numbers_of_the_file) {
    if (!have_gnuplot()) return;
    char says[160];
    run_quietly("", "saturation --d-k 8,512 --keys 4,16,64 --rows 160", "sat_figure");
    table t = table_read(SCRATCH "sat_figure.csv");
    const char *none = "without the scale", *what = "logit_std";
    (void)snprintf(says, sizeof says, "at d_k 512 spread by %.3g %s, by %.3g with it",
                   number_of(&t, 512, 64, "none", what, "mean"), none,
                   number_of(&t, 512, 64, "sqrt", what, "mean"));
    assert_figure_says("sat_figure", "saturation_spread", says);
    what = "max_weight";
    (void)snprintf(says, sizeof says, "At d_k 512 the largest of 64 weights is %.2g %s, %.2g with",
                   number_of(&t, 512, 64, "none", what, "mean"), none,
                   number_of(&t, 512, 64, "sqrt", what, "mean"));
    assert_figure_says("sat_figure", "saturation_metrics", says);
    assert_figure_says("sat_figure", "saturation_rules",
                       "1 of 2 rules keep the mean largest weight");
    what = "dq_norm";
    (void)snprintf(says, sizeof says, "gradient at d_k 512 is %.2g %s, %.2g with it",
                   number_of(&t, 512, 16, "none", what, "median"), none,
                   number_of(&t, 512, 16, "sqrt", what, "median"));
    assert_figure_says("sat_figure", "saturation_query", says);
    what = "jacobian_norm";
    (void)snprintf(says, sizeof says, "mean |J| falls %.2g-fold from d_k 8 to 512",
                   number_of(&t, 8, 16, "none", what, "mean") /
                       number_of(&t, 512, 16, "none", what, "mean"));
    assert_figure_says("sat_figure", "saturation_signal", says);
    table_free(&t);
}
END_TEST

START_TEST(the_figure_of_two_keys_has_their_exact_gaps) {
    if (!have_gnuplot()) return;
    run_quietly("", "saturation --d-k 8,64,512 --keys 4 --rows 8", "sat_two");
    char *svg = figure("sat_two", "saturation_two_keys");
    /* w(1 - w) at the medians 2.487, 7.555, 21.56 and, with the scale, 0.9527 */
    assert_says(svg, "Two keys at d_k 512: the typical gradient is 4.3e-10 without the scale, 0.2");
    assert_says(svg, "d_k 8, without the scale: 0.071");
    assert_says(svg, "d_k 64, without the scale: 0.00052");
    free(svg);
}
END_TEST

START_TEST(rules_and_keys_that_a_figure_leaves_out_are_named) {
    if (!have_gnuplot()) return;
    run_quietly("", "saturation --d-k 8 --keys 4,9 --scale none,0.1 --rows 8", "sat_out");
    assert_figure_says("sat_out", "saturation_spread", "not drawn: the rule 0.1; n = 4<");
    assert_figure_says("sat_out", "saturation_metrics", "not drawn: the rule 0.1<");
    assert_figure_says("sat_out", "saturation_rules", "not drawn: n = 4<");
    assert_figure_says("sat_out", "saturation_two_keys", "not drawn: the rule 0.1<");
}
END_TEST

START_TEST(one_width_one_rule_and_few_rows_are_drawn_without_a_word) {
    if (!have_gnuplot()) return;
    static const char *const SCRIPTS[] = {"saturation_spread", "saturation_metrics",
                                          "saturation_signal", "saturation_rules",
                                          "saturation_query",  "saturation_two_keys"};
    run_quietly("", "saturation --d-k 64 --keys 8 --scale none --rows 8", "sat_one");
    run_quietly("", "saturation --d-k 3,1 --keys 2,5 --scale cosine --rows 5", "sat_cosine");
    for (int i = 0; i < LENGTH(SCRIPTS); i++) {
        free(figure("sat_one", SCRIPTS[i]));
        free(figure("sat_cosine", SCRIPTS[i]));
    }
}
END_TEST

START_TEST(a_run_by_sigma_is_not_drawn_and_one_line_says_so) {
    if (!have_gnuplot()) return;
    run_quietly("", "saturation --sigma 2 --keys 3 --rows 3", "sat_undrawn");
    ck_assert_int_eq(shell("scripts/plots " SCRATCH "sat_undrawn 2>" SCRATCH "plots.txt"), 1);
    char *said = read_whole(SCRATCH "plots.txt");
    assert_says(said, "is of saturation --sigma: its figures are over d_k");
    ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
    free(said);
}
END_TEST

START_TEST(wrong_usage_is_one_line_and_exit_2) {
    static const refusal CASES[] = {
        {"--d-k 0", "--d-k '0': expected whole numbers from 1 to 65536"},
        {"--keys 1", "--keys '1': expected whole numbers from 2 to 4096"},
        {"--keys 4097", "--keys '4097': expected whole numbers from 2 to 4096"},
        {"--keys 4,4", "--keys '4,4': 4 stands there twice"},
        {"--rows 0", "--rows '0': expected a whole number from 1"},
        {"--rows 1e5", "--rows '1e5': expected a whole number from 1"},
        {"--seed 0..4", "--seed '0..4': expected a whole number from 0"},
        {"--scale no-such-rule", "--scale 'no-such-rule': expected all, none, sqrt"},
        {"--sigma 0", "--sigma '0': expected finite numbers above 0"},
        {"--sigma ''", "--sigma '': expected finite numbers above 0"},
        {"--sigma 1,1e300", "--sigma '1,1e300': expected numbers from 1e-70 to 1e70"},
        {"--sigma 1e-300", "--sigma '1e-300': expected numbers from 1e-70 to 1e70"},
        {"--sigma 1 --d-k 8", "--sigma 1 with --d-k"},
        {"--sigma 1 --scale sqrt", "--sigma 1 with --scale"},
        {"--threads 0", "--threads '0': expected a whole number from 1"},
        {"--output ''", "--output '': expected a file name"},
        {"--rwos 5", "did you mean --rows?"},
        {"--rows 1000000000", "the rows of the largest combination need"},
    };
    assert_refusals(2, "saturation", CASES, LENGTH(CASES));
}
END_TEST

START_TEST(logits_beyond_the_doubles_are_exit_1) {
    assert_refused(1, "logits that are not finite",
                   "saturation --d-k 64 --scale 1e308 --rows 16 --output -");
    assert_refused(1, "logits so large that their squares overflow",
                   "saturation --d-k 4 --keys 2 --scale 'sqrt*1e200' --rows 20 --output -");
}
END_TEST

START_TEST(no_table_holds_inf_at_the_ends_of_what_is_allowed) {
    run_quietly("", "saturation --sigma 1e-70,1e70 --keys 2,9 --rows 40", "ends");
    char *text = read_whole(SCRATCH "ends.csv");
    ck_assert_ptr_null(strstr(text, "inf"));
    ck_assert_ptr_null(strstr(text, "logit_std,mean,0,"));
    free(text);
}
END_TEST

Suite *saturation_suite(void) {
    const TTest *tests[] = {no_table_holds_inf_at_the_ends_of_what_is_allowed,
                            random_rows_fall_on_the_exact_means_under_every_constant_factor,
                            iid_logits_fall_on_the_exact_means,
                            pooled_deviations_are_those_of_the_dot_product,
                            the_error_of_a_pooled_deviation_is_that_of_iid_logits,
                            two_matrices_have_the_deviation_of_all_their_logits,
                            rules_that_divide_by_norms_have_no_exact_value,
                            a_scale_of_nearly_0_is_not_compared_with_rounding,
                            the_largest_of_many_z_is_where_tables_have_it,
                            rows_of_ten_keys_agree_with_the_published_table,
                            a_cell_does_not_depend_on_threads_nor_on_the_other_cells,
                            rows_are_rounded_up_to_whole_matrices,
                            a_matrix_is_one_cluster_of_the_standard_error,
                            t5_has_the_logits_of_sqrt_and_sqrt_d_k_times_its_query_gradient,
                            same_bytes_for_any_threads_and_locale,
                            the_file_is_long_and_nested_as_documented,
                            sigma_takes_the_place_of_d_k_and_scale,
                            with_sigma_the_settings_name_no_d_k_and_no_scale,
                            the_words_name_the_freezing_line_and_how_mean_and_median_part,
                            the_theory_file_has_the_median_gap_of_two_scores_under_each_factor,
                            every_z_of_the_file_is_counted_or_named_a_repeat,
                            titles_of_the_figures_say_the_numbers_of_the_file,
                            the_figure_of_two_keys_has_their_exact_gaps,
                            rules_and_keys_that_a_figure_leaves_out_are_named,
                            one_width_one_rule_and_few_rows_are_drawn_without_a_word,
                            a_run_by_sigma_is_not_drawn_and_one_line_says_so,
                            wrong_usage_is_one_line_and_exit_2,
                            logits_beyond_the_doubles_are_exit_1};
    return suite_of("saturation", tests, LENGTH(tests), 120);
}
