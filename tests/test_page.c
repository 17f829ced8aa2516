/* test_page.c: what the page calls computes what the program does, to the last bit, and refuses
 * what it does not; tests/page/ looks at the page itself.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scaling.h"
#include "map/cells.h"
#include "page/page.h"
#include "saturation/theory.h"
#include "suites.h"
#include "support.h"
#include "trace/inputs.h"
#include "trace/matrices.h"
#include "training/verdict.h"

enum { D_K = 3, TOKENS = 5, SEQUENCES = 4, SEED = 7 };

static const training_config SHAPE = {
    .batch = SEQUENCES, .tokens = TOKENS, .d_model = 32, .d_k = D_K, .d_v = 32, .target_gain = 1};
static const atomic_int never = 0;

static int find(int list, const char *name) {
    for (int i = 0; page_word(list, i, PAGE_NAME); i++)
        if (strcmp(page_word(list, i, PAGE_NAME), name) == 0) return i;
    ck_abort_msg("no %s", name);
    return -1;
}

static void assert_bits(double a, double b) {
    ck_assert_msg(memcmp(&a, &b, sizeof a) == 0, "%.17g is not %.17g", a, b);
}

static bool go_on(void *context, const run *c) {
    (void)context;
    (void)c;
    return true;
}

static void advance(void *context, tt_size steps, double work) {
    (void)context;
    (void)steps;
    (void)work;
}

/* A sweep of one d_k, seed and rate, trained; its lists are the caller's. */
static void train(sweep *s, const sweep_config *config) {
    const sweep_observer observer = {NULL, go_on, advance};
    char error[256];
    ck_assert(sweep_new(s, config) && sweep_measure(s, &never));
    ck_assert_int_eq(sweep_train(s, &observer, &never, error, sizeof error), SWEEP_DONE);
}

/* Trains students of these rules on the page, as far as they go. */
static void train_here(const scaling *const *rule, int count, const optimizer_rate *rate, int steps,
                       int measured) {
    ck_assert_int_eq(page_teacher(D_K, TOKENS, SEQUENCES, SEED), 1);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(page_student(i, find(PAGE_RULES, rule[i]->name),
                                      find(PAGE_OPTIMIZERS, rate->optimizer->name), rate->lr, 1),
                         1);
    for (int step = 0; step < steps; step++) {
        ck_assert_int_eq(page_next(), 1);
        for (int i = 0; i < count; i++) (void)page_step(i, measured);
    }
}

static void compare_with_stall(const char *method, double lr, int steps) {
    const int64_t d_k = D_K, seed = SEED;
    const scaling *rule[] = {scaling_find("none"), scaling_find("cosine"), scaling_find("t5")};
    const optimizer_rate rate = {optimizer_find(method), lr};
    const sweep_config config = {.d_k = &d_k,
                                 .d_k_count = 1,
                                 .scale = rule,
                                 .scale_count = LENGTH(rule),
                                 .rate = &rate,
                                 .rate_count = 1,
                                 .seed = &seed,
                                 .seed_count = 1,
                                 .training = SHAPE,
                                 .recipe = RECIPE_PLAIN,
                                 .steps = steps,
                                 .every = 1,
                                 .gain = 1,
                                 .threads = 1};
    sweep s;
    train(&s, &config);
    train_here(rule, LENGTH(rule), &rate, steps, PAGE_ALL);
    for (int i = 0; i < LENGTH(rule); i++) {
        const run *r = sweep_run_at(&s, 0, i, 0, 0);
        ck_assert_int_eq(page_steps(i), r->steps);
        assert_bits(page_ratio(i), r->ratio);
        assert_bits(page_kappa(i), r->kappa);
        ck_assert_int_eq(page_verdict(i), verdict_of_run(&s.config, r));
        for (int k = 0; r->ratio < INFINITY && k < columns_count(); k++)
            assert_bits(page_columns(i)[k], r->rows[r->row_count - 1].value[k]);
    }
    sweep_free(&s);
}

START_TEST(a_student_takes_the_steps_of_a_run_of_stall) {
    compare_with_stall("sgd", 1, 45);
    compare_with_stall("adam", 0.01, 20);
}
END_TEST

START_TEST(a_student_that_diverges_says_so_and_stays) {
    compare_with_stall("sgd", 1e300, 9);
    const scaling *rule = scaling_find("none");
    const optimizer_rate rate = {optimizer_find("sgd"), 1e300};
    train_here(&rule, 1, &rate, 9, PAGE_BRIEF);
    ck_assert_int_eq(page_verdict(0), DIVERGED);
    ck_assert_int_eq(page_step(0, PAGE_NOTHING), 0);
}
END_TEST

static bool cell_done(void *context, tt_size i) {
    (void)context;
    (void)i;
    return true;
}

START_TEST(a_point_is_trained_as_the_cell_of_the_map_is) {
    const char *const METHODS[] = {"sgd", "adamw"};
    const optimizer *method = optimizer_find(METHODS[_i]);
    const scaling *rule = scaling_find("sqrt");
    const int64_t d_k = D_K, seed = SEED;
    const double sigma0 = 4, kappa = 2;
    const map_config config = {.optimizer = &method,
                               .optimizer_count = 1,
                               .scale = &rule,
                               .scale_count = 1,
                               .d_k = &d_k,
                               .d_k_count = 1,
                               .sigma0 = &sigma0,
                               .sigma0_count = 1,
                               .kappa = &kappa,
                               .kappa_count = 1,
                               .seed = &seed,
                               .seed_count = 1,
                               .training = SHAPE,
                               .recipe = RECIPE_PLAIN,
                               .steps = 30,
                               .threads = 1};
    const map_observer observer = {NULL, cell_done, advance};
    char error[256];
    map m;
    ck_assert(map_new(&m, &config));
    ck_assert_int_eq(map_train(&m, &observer, &never, error, sizeof error), MAP_DONE);
    ck_assert_int_eq(page_teacher(D_K, TOKENS, SEQUENCES, SEED), 1);
    ck_assert_int_eq(page_point(2, find(PAGE_OPTIMIZERS, METHODS[_i]), sigma0, kappa), 1);
    for (int step = 0; step < 30; step++) {
        ck_assert_int_eq(page_next(), 1);
        ck_assert_int_eq(page_step(2, PAGE_NOTHING), 1);
        /* the last one's logits, and its kappa before its update, which is the map's */
        if (step == 28) assert_bits(page_kappa_now(2), m.cells[0].found[KAPPA_END]);
    }
    assert_bits(page_kappa(2), kappa);
    assert_bits(page_ratio(2), m.cells[0].found[RATIO]);
    assert_bits(page_sigma_now(2), m.cells[0].found[LOGIT_STD]);
    ck_assert_int_eq(page_verdict(2), cell_verdict(&config, &m.cells[0]));
    map_free(&m);
}
END_TEST

START_TEST(pictures_are_those_of_the_first_sequence) {
    const scaling *rule = scaling_find("sqrt");
    const optimizer_rate rate = {optimizer_find("sgd"), 1};
    train_here(&rule, 1, &rate, 1, PAGE_BRIEF);
    for (int r = 0; r < TOKENS; r++) {
        double mine = 0, its = 0;
        for (int k = 0; k < TOKENS; k++) {
            mine += page_weights(0)[r * TOKENS + k];
            its += page_teacher_weights()[r * TOKENS + k];
        }
        /* weights of a row, each rounded once: at most T ulp of 1 */
        ck_assert_double_eq_tol(mine, 1, (double)TOKENS * 0x1p-52);
        ck_assert_double_eq_tol(its, 1, (double)TOKENS * 0x1p-52);
        ck_assert(page_row_gradients(0)[r] > 0);
    }
    ck_assert(isnan(page_columns(0)[find(PAGE_COLUMNS, "cos_m")]));
}
END_TEST

/* With one sequence in the batch its rows are all rows. */
START_TEST(the_bars_are_the_gradients_of_the_columns) {
    ck_assert_int_eq(page_teacher(D_K, 3, 1, SEED), 1);
    ck_assert_int_eq(page_student(0, 0, 0, 1, 1), 1);
    ck_assert_int_eq(page_next(), 1);
    ck_assert_int_eq(page_step(0, PAGE_BRIEF), 1);
    const double *g = page_row_gradients(0);
    const double low = fmin(g[0], fmin(g[1], g[2])), high = fmax(g[0], fmax(g[1], g[2]));
    const double median = page_columns(0)[find(PAGE_COLUMNS, "row_grad_median")];
    ck_assert(low <= median && median <= high);
    ck_assert(g[0] == median || g[1] == median || g[2] == median);
}
END_TEST

START_TEST(training_ends_at_its_limit) {
    ck_assert_int_eq(page_teacher(1, 2, 1, 0), 1);
    ck_assert_int_eq(page_student(0, 0, 0, 0.1, 1), 1);
    for (int step = 0; step < PAGE_STEPS; step++) {
        ck_assert_int_eq(page_next(), 1);
        ck_assert_int_eq(page_step(0, PAGE_NOTHING), 1);
    }
    ck_assert_int_eq(page_step(0, PAGE_NOTHING), 0);
    ck_assert_int_eq(page_steps(0), page_limit(0));
}
END_TEST

START_TEST(what_is_beyond_the_limits_is_refused) {
    ck_assert_int_eq(page_teacher(PAGE_D_K_MOST + 1, 2, 1, 0), 0);
    ck_assert_int_eq(page_teacher(0, 2, 1, 0), 0);
    ck_assert_int_eq(page_teacher(1, PAGE_TOKENS_MOST + 1, 1, 0), 0);
    ck_assert_int_eq(page_teacher(1, 1, 1, 0), 0);
    ck_assert_int_eq(page_teacher(1, 2, PAGE_BATCH_MOST + 1, 0), 0);
    ck_assert_int_eq(page_teacher(1, 2, 1, -1), 0);
    ck_assert_int_eq(page_teacher(1, 2, 1, 4294967296.0), 0);
    ck_assert_int_eq(page_student(0, 0, 0, 1, 1), 0); /* of no teacher */
    ck_assert_int_eq(page_next(), 0);
    ck_assert_int_eq(page_teacher(1, 2, 1, 4294967295.0), 1);
    ck_assert_int_eq(page_student(PAGE_STUDENTS, 0, 0, 1, 1), 0);
    ck_assert_int_eq(page_student(0, 99, 0, 1, 1), 0);
    ck_assert_int_eq(page_student(0, 0, 99, 1, 1), 0);
    ck_assert_int_eq(page_student(0, 0, 0, -1, 1), 0);
    ck_assert_int_eq(page_student(0, 0, 0, 1, NAN), 0);
    ck_assert_int_eq(page_point(0, 0, 0, 1), 0);
    ck_assert_int_eq(page_step(0, PAGE_ALL), 0);
    ck_assert_ptr_null(page_ratios(0));
    ck_assert(isnan(page_ratio(0)));
}
END_TEST

START_TEST(every_word_has_its_meaning) {
    for (int list = 0; list < PAGE_LISTS; list++) {
        ck_assert_ptr_null(page_word(list, -1, PAGE_NAME));
        for (int i = 0; page_word(list, i, PAGE_NAME); i++)
            ck_assert(strlen(page_word(list, i, PAGE_MEANING)) > 0);
        ck_assert_ptr_nonnull(page_word(list, 0, PAGE_NAME));
    }
    ck_assert_str_eq(page_word(PAGE_RULES, find(PAGE_RULES, "sqrt"), PAGE_MEANING),
                     scaling_find("sqrt")->formula);
    ck_assert_ptr_null(page_word(PAGE_LISTS, 0, PAGE_NAME));
}
END_TEST

START_TEST(the_curves_are_the_exact_means) {
    theory_moments expected;
    theory_qk(16, 64, 0.125, &expected);
    const double *here = page_theory(16, 64, find(PAGE_RULES, "sqrt"));
    ck_assert_ptr_nonnull(here);
    ck_assert(memcmp(here, &expected, sizeof expected) == 0);
    /* t5 starts its projection as much smaller as sqrt makes its scores */
    here = page_theory(16, 64, find(PAGE_RULES, "t5"));
    ck_assert(memcmp(here, &expected, sizeof expected) == 0);
    ck_assert_ptr_null(page_theory(16, 64, find(PAGE_RULES, "rms")));
    ck_assert_ptr_null(page_theory(16, 8192, find(PAGE_RULES, "none"))); /* sigma 90 */
    ck_assert_ptr_null(page_theory(0, 64, 0));
}
END_TEST

enum { PAGE_P = PAGE_SIDES + P, PAGE_D_S = PAGE_SIDES + DS };

START_TEST(a_lesson_is_followed_with_its_numbers_or_others) {
    const int sqrt_rule = find(PAGE_RULES, "sqrt");
    ck_assert_int_eq(page_lesson(find(PAGE_LESSONS, "soft-lookup")), 1);
    ck_assert_int_eq(page_attend(sqrt_rule, 0, 0), 1);
    ck_assert_double_eq_tol(page_matrix(PAGE_P, 0)[0], 0.6698, 5e-5); /* METHOD's four digits */
    ck_assert_double_eq_tol(page_matrix(PAGE_P, 1)[0], 0.7311, 5e-5);
    ck_assert_ptr_null(page_matrix(PAGE_D_S, 0)); /* no way back was asked for */
    ck_assert_int_eq(page_rows(PAGE_D_S, 0), 0);
    page_input(PAGE_Q)[0] = 0;
    ck_assert_int_eq(page_attend(sqrt_rule, 0, 1), 1);
    assert_bits(page_matrix(PAGE_P, 0)[0], 0.5);
    ck_assert_ptr_nonnull(page_matrix(PAGE_D_S, 1));
    ck_assert_int_eq(page_attend(sqrt_rule, 1, 0), 1);
    assert_bits(page_matrix(PAGE_P, 0)[1], 0); /* the one query sees the first key only */
    ck_assert_int_eq(page_attend(99, 0, 0), 0);
    ck_assert_int_eq(page_lesson(99), 0);
}
END_TEST

START_TEST(every_lesson_has_its_sizes) {
    for (int i = 0; i < LESSON_COUNT; i++) {
        ck_assert_int_eq(page_lesson(i), 1);
        ck_assert_int_eq(page_attend(find(PAGE_RULES, "rms"), 0, 1), 1);
        ck_assert_int_eq(page_cols(PAGE_S, 0), page_rows(PAGE_K, 0));
        ck_assert_int_eq(page_rows(PAGE_SIDES + O, 1), page_rows(PAGE_Q, 0));
        ck_assert_ptr_null(page_matrix(PAGE_D_S, 0)); /* the rule divides by norms */
        ck_assert_ptr_nonnull(page_matrix(PAGE_D_S, 1));
    }
}
END_TEST

START_TEST(the_multiply_add_rounds_once) {
    ck_assert_int_eq(page_fma_faults(), 0);
    assert_bits(page_fma(1 + 0x1p-30, 1 - 0x1p-30, -1), -0x1p-60);
}
END_TEST

/* ---- sqrtdk report --------------------------------------------------------------------------- */

#define REPORTED SCRATCH "reported.csv"
#define TEMPLATE SCRATCH "template.html"
#define TRAINED_SO                                                                                 \
    "stall --d-k 2,5 --scale none,cosine --optimizer sgd,adam --seed 0,1 --steps 60 --every 20 "   \
    "--batch 2 --tokens 3 --d-model 4 --d-v 3 --train-values --force --output " REPORTED

static void write_template(void) {
    write_text(TEMPLATE,
               "before\n<script type=\"application/json\" id=\"run\">null</script>\nafter\n");
}

/* As a JSON string holds it, up to what the program says of its files. The caller frees. */
static char *as_json(const char *text) {
    const char *end = strstr(text, "Written");
    char *out = malloc(6 * strlen(text) + 1), *to = out;
    ck_assert(out && end);
    for (const char *c = text; c < end; c++)
        if (*c < ' ' || *c == '<' || *c == '"')
            to += sprintf(to, "\\u%04x", (unsigned)*c);
        else
            *to++ = *c;
    *to = '\0';
    return out;
}

START_TEST(a_report_says_what_the_run_said) {
    write_template();
    char *words = as_json(run_well(TRAINED_SO)->out);
    /* the empty line before "Written" is not the command's own */
    words[strlen(words) - strlen("\\u000a")] = '\0';
    ck_assert_int_eq(
        shell("mkdir -p " SCRATCH "figures && cd " SCRATCH "figures && echo '<svg>of another run' "
              ">reported_loss.svg && touch -t 200001010000 reported_loss.svg && echo '<svg>its' "
              ">reported_signal.svg"),
        0);
    assert_says(run_well("report --page " TEMPLATE " " REPORTED)->out, "reported.html");
    char *page = read_whole(SCRATCH "reported.html");
    ck_assert_msg(strstr(page, words), "%s\nis not in\n%s", words, page);
    assert_starts(page, "before\n<script type=\"application/json\" id=\"run\">{");
    ck_assert_str_eq(strstr(page, "</script>"), "</script>\nafter\n");
    ck_assert_ptr_nonnull(
        strstr(page, "seed,d_k,scale,optimizer,lr,step,loss,loss_uniform\\u000a"));
    ck_assert_ptr_nonnull(strstr(page, "\"figures\":[\"\\u003csvg>its\\u000a\"]"));
    ck_assert_ptr_nonnull(strstr(page, "\"only_there\":\"d-model\""));
    free(page);
    free(words);
}
END_TEST

/* Where a member of the page's JSON starts, or the test fails. */
static const char *member(const char *page, const char *text) {
    const char *at = strstr(page, text);
    ck_assert_msg(at, "%s is not in the page of %zu bytes", text, strlen(page));
    return at;
}

/* One result of each command that writes .meta. */
static const char *const RESULTS[] = {
    "map --d-k 2,3 --kappa 1..32 --steps 1 --batch 2 --tokens 3 --curves 1",
    "saturation --d-k 2,3 --keys 4 --rows 9",
    "precision --d-k 8",
    "gradcheck --op softmax",
    "inspect --q " GOLDEN "real/layer0_q.npy --k " GOLDEN "real/layer0_k.npy",
    "stall --d-k 2 --steps 2 --batch 2 --tokens 3"};

START_TEST(a_report_of_any_results_has_their_tables_and_settings) {
    char head[64];
    write_template();
    (void)run_well("%s --force --output " REPORTED, RESULTS[_i]);
    const captured *c = run_well("report --page " TEMPLATE " " REPORTED);
    assert_says(c->out, "scripts/plots " SCRATCH "reported " SCRATCH "figures");
    char *page = read_whole(SCRATCH "reported.html"), *csv = read_whole(REPORTED);
    (void)snprintf(head, sizeof head, "\"command\":\"%.*s\"", (int)strcspn(RESULTS[_i], " "),
                   RESULTS[_i]);
    (void)member(page, head);
    (void)snprintf(head, sizeof head, "\"rows\":\"%.*s", (int)strcspn(csv, ","), csv);
    (void)member(page, head);
    (void)member(page, "\"meta\":\"program = sqrtdk ");
    (void)member(page, "\"figures\":[]");
    free(page);
    free(csv);
}
END_TEST

START_TEST(a_report_has_the_first_rows_and_counts_the_others) {
    write_template();
    (void)run_well("%s --force --output " REPORTED, RESULTS[0]);
    (void)run_well("report --page " TEMPLATE " " REPORTED);
    char *page = read_whole(SCRATCH "reported.html");
    /* 2 widths, 8 starts, 6 steps: 96 cells, each with one point of its curve; 20 are shown */
    const char *cells = member(page, "\"ending\":\".csv\""), *more = member(cells, "\"more\":76");
    (void)member(more, "\"ending\":\"_curves.csv\"");
    int rows = 0;
    for (const char *at = cells; (at = strstr(at, "\\u000a")) && at < more; at++) rows++;
    ck_assert_int_eq(rows, 21);
    (void)member(page, "\"said\":\"\"");
    free(page);
}
END_TEST

START_TEST(a_report_has_the_figures_of_its_stem_alone_by_name) {
    write_template();
    (void)run_well("%s --force --output " REPORTED, RESULTS[0]);
    ck_assert_int_eq(shell("mkdir -p " SCRATCH "figures && cd " SCRATCH "figures && rm -f *.svg && "
                           "for n in reported_b reported_a reported reported_other_a reportedly "
                           "re; do echo \"$n\" >$n.svg; done && touch ../reported_other.meta"),
                     0);
    const captured *c = run_well("report --page " TEMPLATE " " REPORTED);
    ck_assert_ptr_null(strstr(c->out, "scripts/plots"));
    char *page = read_whole(SCRATCH "reported.html");
    (void)member(page, "\"figures\":[\"reported\\u000a\",\n\"reported_a\\u000a\",\n"
                       "\"reported_b\\u000a\"]");
    ck_assert_int_eq(shell("cd " SCRATCH " && rm -r figures reported_other.meta"), 0);
    free(page);
}
END_TEST

START_TEST(a_report_has_figures_beside_its_csv_if_there_are_no_others) {
    write_template();
    (void)run_well("%s --force --output " REPORTED, RESULTS[0]);
    ck_assert_int_eq(shell("cd " SCRATCH " && rm -rf figures && echo beside >reported_a.svg"), 0);
    (void)run_well("report --page " TEMPLATE " " REPORTED);
    char *page = read_whole(SCRATCH "reported.html");
    (void)member(page, "\"figures\":[\"beside\\u000a\"]");
    ck_assert_int_eq(shell("rm " SCRATCH "reported_a.svg"), 0);
    free(page);
}
END_TEST

START_TEST(a_report_of_what_is_not_there_is_refused) {
    write_template();
    (void)run_well(TRAINED_SO);
    assert_refused(2, "report: expected FILE behind the options", "report --page " TEMPLATE);
    assert_refused(1, "template.htm'", "report --page " SCRATCH "template.htm " REPORTED);
    assert_refused(1, "expected the page", "report --page " REPORTED " " REPORTED);
    assert_refused(1, "nowhere.meta'", "report --page " TEMPLATE " " SCRATCH "nowhere.csv");
    write_text(SCRATCH "reported.meta", "program = sqrtdk mapped\nd-k = 2\n");
    assert_refused(1, "expected results of a command", "report --page " TEMPLATE " " REPORTED);
    write_text(SCRATCH "reported.meta", "program = sqrtdk stall\nd-k = 3\n");
    assert_refused(1, "line 2: expected a line of this sweep",
                   "report --page " TEMPLATE " " REPORTED);
}
END_TEST

/* Of a text, all before the place, then `then`. */
static void write_cut(const char *path, const char *text, const char *place, const char *then) {
    char *cut = malloc(strlen(text) + strlen(then) + 1);
    ck_assert(cut && place);
    (void)sprintf(cut, "%.*s%s", (int)(place - text), text, then);
    write_text(path, cut);
    free(cut);
}

START_TEST(a_report_of_files_that_are_not_whole_is_refused) {
    static const char REPORT[] = "report --page " TEMPLATE " " REPORTED;
    write_template();
    (void)run_well(TRAINED_SO);
    char *runs = read_whole(SCRATCH "reported_runs.csv");
    const char *second = strchr(strchr(runs, '\n') + 1, '\n') + 1;
    write_cut(SCRATCH "reported_runs.csv", runs, second, "");
    assert_refused(1, "reported_runs.csv: a run of its settings is missing", REPORT);
    write_cut(SCRATCH "reported_runs.csv", runs, second, "1,2,none,sgd,1\n");
    assert_refused(1, "reported_runs.csv, line 3: expected a line of this sweep", REPORT);
    write_cut(SCRATCH "reported_runs.csv", runs, runs, "seed,d_k\n");
    assert_refused(1, "reported_runs.csv, line 1: expected a line of this sweep", REPORT);
    write_text(SCRATCH "reported_runs.csv", "");
    assert_refused(1, "reported_runs.csv: expected a CSV", REPORT);
    free(runs);
}
END_TEST

START_TEST(a_page_that_does_not_arrive_is_an_error) {
    if (access("/dev/full", W_OK) != 0) return; /* Linux has it */
    write_template();
    (void)run_well(TRAINED_SO);
    assert_refused(1, strerror(ENOSPC), "report --page " TEMPLATE " --output /dev/full " REPORTED);
}
END_TEST

Suite *page_suite(void) {
    const TTest *const tests[] = {a_student_takes_the_steps_of_a_run_of_stall,
                                  a_student_that_diverges_says_so_and_stays,
                                  pictures_are_those_of_the_first_sequence,
                                  training_ends_at_its_limit,
                                  what_is_beyond_the_limits_is_refused,
                                  every_word_has_its_meaning,
                                  the_curves_are_the_exact_means,
                                  the_bars_are_the_gradients_of_the_columns,
                                  a_lesson_is_followed_with_its_numbers_or_others,
                                  every_lesson_has_its_sizes,
                                  the_multiply_add_rounds_once,
                                  a_report_says_what_the_run_said,
                                  a_report_has_the_first_rows_and_counts_the_others,
                                  a_report_has_the_figures_of_its_stem_alone_by_name,
                                  a_report_has_figures_beside_its_csv_if_there_are_no_others,
                                  a_report_of_what_is_not_there_is_refused,
                                  a_report_of_files_that_are_not_whole_is_refused,
                                  a_page_that_does_not_arrive_is_an_error};
    Suite *suite = suite_of("page", tests, LENGTH(tests), 60);
    add_loop(suite, a_point_is_trained_as_the_cell_of_the_map_is, 2, 60);
    add_loop(suite, a_report_of_any_results_has_their_tables_and_settings, LENGTH(RESULTS), 60);
    return suite;
}
