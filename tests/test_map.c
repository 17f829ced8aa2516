/* test_map.c: the map's cells are those of plain training in PyTorch, its axes are what the rules
 * make of them, and its files do not depend on how they came about.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "map/cells.h"
#include "map/chaos.h"
#include "map/report.h"
#include "suites.h"
#include "support.h"
#include "training/student.h"

static const training_config DEFAULTS = {.batch = 32, .tokens = 16, .d_model = 32, .d_v = 32};

/* One of each; the pointers of a config into it. */
typedef struct lists {
    const optimizer *optimizer[4];
    const scaling *scale[4];
    int64_t d_k, seed;
    double sigma0[8], kappa[8], lr[2];
} lists;

static map_config plane_of(const lists *l, int sigma0, int kappa, tt_size steps) {
    return (map_config){.optimizer = l->optimizer,
                        .optimizer_count = 1,
                        .scale = l->scale,
                        .scale_count = 1,
                        .d_k = &l->d_k,
                        .d_k_count = 1,
                        .sigma0 = l->sigma0,
                        .sigma0_count = sigma0,
                        .kappa = l->kappa,
                        .kappa_count = kappa,
                        .lr = l->lr,
                        .seed = &l->seed,
                        .seed_count = 1,
                        .training = DEFAULTS,
                        .recipe = RECIPE_PLAIN,
                        .steps = steps,
                        .threads = 2};
}

static bool go_on(void *context, tt_size i) {
    (void)context;
    (void)i;
    return true;
}

static void advance(void *context, tt_size steps, double work) {
    (void)context;
    (void)steps;
    (void)work;
}

static void train(map *m) {
    static const atomic_int never = 0;
    const map_observer observer = {NULL, go_on, advance};
    char error[256];
    ck_assert_int_eq(map_train(m, &observer, &never, error, sizeof error), MAP_DONE);
}

/* ---- Against PyTorch ------------------------------------------------------------------------- */

/* The reference's rows of this d_k, trained side by side. */
static int compare_cells(const table *t, const char *d_k, double steps) {
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("sqrt")},
               .d_k = strtol(d_k, NULL, 10),
               .seed = d_k[0] == '6' ? 0 : 1,
               .sigma0 = {0.25, 1, 4, 8, 16},
               .kappa = {1, 4, 8, 16, 64}};
    const map_config config = plane_of(&l, 5, 5, (tt_size)steps);
    cell *of_row[64];
    int rows = 0;
    map m;
    ck_assert(map_new(&m, &config) && t->rows <= LENGTH(of_row));
    for (tt_size i = 0; i < m.count; i++) m.cells[i].finished = true;
    for (int row = 0; row < t->rows; row++) {
        of_row[row] = NULL;
        if (strcmp(table_text(t, row, "d_k"), d_k) != 0) continue;
        ck_assert(table_number(t, row, "steps") == steps);
        ck_assert(table_number(t, row, "seed") == (double)l.seed);
        for (tt_size i = 0; i < m.count; i++)
            if (m.cells[i].sigma0 == table_number(t, row, "sigma0") &&
                m.cells[i].found[KAPPA] == table_number(t, row, "kappa"))
                of_row[row] = &m.cells[i];
        ck_assert(of_row[row] != NULL);
        of_row[row]->finished = false;
    }
    train(&m);
    for (int row = 0; row < t->rows; row++) {
        const cell *c = of_row[row];
        if (!c) continue;
        const double ratio = table_number(t, row, "ratio"), found = c->found[RATIO];
        const char *steps_to = table_text(t, row, "steps_to_0.1");
        const bool chaotic =
            (c->sigma0 == 1 && c->found[KAPPA] == 64) || (c->sigma0 == 16 && c->found[KAPPA] == 16);
        rows++;
        ck_assert_msg(isnan(c->found[STEPS_TO]) == !steps_to[0], "sigma0 %g, kappa %g: steps",
                      c->sigma0, c->found[KAPPA]);
        /* a median at the edge of 0.1 may pass it a step apart */
        if (steps_to[0])
            ck_assert(fabs(c->found[STEPS_TO] - table_number(t, row, "steps_to_0.1")) <= 1);
        /* a ratio is the square of an error: below 1e-12 of rounding; the two cells amplify it */
        if (ratio < 1e-12)
            ck_assert(found < 1e-12 && c->found[STEPS_TAKEN] < steps);
        else if (chaotic)
            ck_assert_int_eq(verdict_of(ratio, c->found[MIDDLE], false), cell_verdict(&config, c));
        else
            ck_assert_double_eq_tol(found, ratio, 1e-6 * ratio);
        ck_assert(ratio < 1e-12 || c->found[STEPS_TAKEN] == steps);
    }
    map_free(&m);
    return rows;
}

START_TEST(cells_agree_with_pytorch) {
    table t = table_read(GOLDEN "map_cells.csv");
    ck_assert_int_eq(compare_cells(&t, "64", 500) + compare_cells(&t, "512", 300), t.rows);
    table_free(&t);
}
END_TEST

/* ---- The axes -------------------------------------------------------------------------------- */

/* What is found of the one cell of a map. */
static cell only_cell(const map_config *config) {
    map m;
    ck_assert(map_new(&m, config) && m.count == 1);
    train(&m);
    const cell c = m.cells[0];
    map_free(&m);
    return c;
}

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* d_k 16, where every factor is a power of two: not a bit may differ. By the weights, since the
 * products are not scaled alike. */
START_TEST(no_scale_at_a_rate_is_a_point_of_the_plane_bit_for_bit) {
    for (int i = 0; optimizer_at(i); i++) {
        const optimizer *o = optimizer_at(i);
        const double lr = o->lr / 2;
        lists l = {.optimizer = {o}, .scale = {scaling_find("none")}, .d_k = 16, .lr = {lr}};
        map_config config = plane_of(&l, 0, 0, 30);
        config.lr_count = 1;
        const cell rate = only_cell(&config);
        ck_assert(rate.sigma0 == 4 && rate.found[KAPPA] == 16 * lr && rate.gain == 1);
        l.scale[0] = scaling_find("sqrt");
        l.sigma0[0] = rate.sigma0;
        l.kappa[0] = rate.found[KAPPA];
        config = plane_of(&l, 1, 1, 30);
        const cell point = only_cell(&config);
        ck_assert(point.gain == 2);
        for (int k = 0; k < FOUND; k++)
            ck_assert_msg(same(rate.found[k], point.found[k]), "%s, %d: %.17g, %.17g", o->name, k,
                          rate.found[k], point.found[k]);
    }
}
END_TEST

START_TEST(by_products_and_by_weights_a_cell_is_the_same) {
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("t5")},
               .d_k = 48,
               .lr = {0.5}};
    map_config config = plane_of(&l, 0, 0, 25);
    config.lr_count = 1;
    const cell exact = only_cell(&config);
    ck_assert(cell_is_exact(&config, &exact));
    recipe r = RECIPE_PLAIN;
    const student_config with = {l.scale[0], 1, NULL, 0.5, &r};
    training_config training = DEFAULTS;
    training.d_k = 48;
    teacher t;
    student s;
    meter m;
    double value[64];
    ck_assert(teacher_new(&t, &training, 0) && student_new(&s, &t, &with));
    ck_assert(meter_new(&m, &training) && columns_count() <= LENGTH(value));
    for (int step = 0; step < 25; step++) {
        ck_assert(step == 0 || student_update(&s));
        ck_assert(teacher_next(&t) && student_learn(&s, &t) == NULL);
    }
    ck_assert(meter_read(&m, &s, &t, value) == NULL);
    const struct {
        finding found;
        const char *column;
        double tolerance; /* rounding, not amplified by a soft start; the scalar is searched */
    } SAME[] = {{ENTROPY, "entropy_mean", 1e-9},
                {ENTROPY_TEACHER, "entropy_teacher", 1e-12},
                {LOGIT_STD, "logit_std", 1e-9},
                {COS_M, "cos_m", 1e-9},
                {RATIO_RESCALED, "ratio_rescaled", 1e-6}};
    for (int i = 0; i < LENGTH(SAME); i++) {
        const double expected = value[column_find(SAME[i].column)];
        ck_assert_msg(
            fabs(exact.found[SAME[i].found] - expected) <= SAME[i].tolerance * fabs(expected),
            "%s: %.17g, student %.17g", SAME[i].column, exact.found[SAME[i].found], expected);
    }
    double squares = 0;
    for (int i = WQ; i <= WK; i++)
        for (tt_size j = 0; j < tt_tensor_count(s.parameter[i].value); j++)
            squares += s.parameter[i].value.data[j] * s.parameter[i].value.data[j];
    /* as of logit_std */
    ck_assert_double_eq_tol(exact.found[KAPPA_END], 0.5 * squares / 2, 1e-9 * squares);
    meter_free(&m);
    student_free(&s);
    teacher_free(&t);
}
END_TEST

START_TEST(at_a_rate_start_and_step_are_the_rules) {
    const struct {
        const char *rule;
        double sigma0, kappa, under_adam; /* d_k 64, lr 2; nan: unknown, and kappa is measured */
    } CASES[] = {
        {"none", 8, 128, 128},           {"sqrt", 1, 2, 16}, {"linear", 0.125, 2.0 / 64, 2},
        {"t5", 1, 65, 64 * (1 + 0.125)}, {"rms", NAN, 0, 0}, {"cosine", NAN, 0, 0}};
    for (int i = 0; i < 2 * LENGTH(CASES); i++) {
        const bool adam = i >= LENGTH(CASES);
        const int k = i % LENGTH(CASES);
        const double kappa = adam ? CASES[k].under_adam : CASES[k].kappa;
        lists l = {.optimizer = {optimizer_find(adam ? "adam" : "sgd")},
                   .scale = {scaling_find(CASES[k].rule)},
                   .d_k = 64,
                   .lr = {2}};
        map_config config = plane_of(&l, 0, 0, 1);
        config.lr_count = 1;
        const cell c = only_cell(&config);
        if (isnan(CASES[k].sigma0)) {
            ck_assert(isnan(c.sigma0) && c.found[KAPPA] > 0 && isnan(c.found[KAPPA_END]));
            continue;
        }
        /* 1e-12: some roundings of factors up to 128 */
        ck_assert_double_eq_tol(c.sigma0, CASES[k].sigma0, 1e-12);
        ck_assert_double_eq_tol(c.found[KAPPA], kappa, 1e-12 * kappa);
        /* 4096 squares: a fiftieth of their expectation, and not all of them drawn alike */
        ck_assert_double_eq_tol(c.found[KAPPA_END], kappa, 0.1 * kappa);
    }
}
END_TEST

/* Its ratios are below 0.1 long before there are 20 of them. */
START_TEST(no_cell_has_reached_anything_before_its_step_19) {
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("sqrt")},
               .d_k = 64,
               .sigma0 = {1},
               .kappa = {32}};
    map_config config = plane_of(&l, 1, 1, 19);
    const cell before = only_cell(&config);
    ck_assert(isnan(before.found[STEPS_TO]) && before.found[RATIO] < 0.1);
    config.steps = 40;
    const cell after = only_cell(&config);
    ck_assert(after.found[STEPS_TO] == 19);
}
END_TEST

START_TEST(a_cell_that_diverges_says_so_and_nothing_else) {
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("sqrt")},
               .d_k = 32,
               .sigma0 = {1},
               .kappa = {1e200}};
    const map_config config = plane_of(&l, 1, 1, 30);
    const cell c = only_cell(&config);
    ck_assert_int_eq(cell_verdict(&config, &c), DIVERGED);
    ck_assert_int_eq(cell_state(&config, &c), NO_STATE);
    ck_assert(isinf(c.found[RATIO]) && c.found[STEPS_TAKEN] < 30);
    for (int k = LAST_RATIO; k < GROWTH; k++) ck_assert(isnan(c.found[k]));
}
END_TEST

/* ---- Chaos ----------------------------------------------------------------------------------- */

static double gap(const product *a, const product *b) {
    double sum = 0;
    for (tt_size i = 0; i < tt_tensor_count(a->m); i++) {
        const double of[] = {a->m.data[i] - b->m.data[i], a->a.data[i] - b->a.data[i],
                             a->b.data[i] - b->b.data[i]};
        for (int k = 0; k < 3; k++) sum += of[k] * of[k];
    }
    return sqrt(sum);
}

/* Two that are left to drift are e^sum as far apart, as long as that is little. */
START_TEST(a_twin_that_is_brought_back_grows_as_one_that_drifts) {
    training_config training = DEFAULTS;
    training.d_k = 64;
    const product_config config = {.rule = scaling_find("none"), .gain = 1, .lr = 0.5};
    tt_tape *tape = tt_tape_new();
    teacher t;
    product p, drifting;
    twin pair;
    ck_assert(teacher_new(&t, &training, 5) && tape);
    ck_assert(product_new(&p, t.first_wq, t.first_wk, &config, tape));
    ck_assert(twin_weights(t.first_wq, t.first_wk, 5));
    ck_assert(product_new(&drifting, t.first_wq, t.first_wk, &config, tape));
    ck_assert(twin_new(&pair, &p, t.first_wq, t.first_wk));
    const double start = gap(&p, &drifting);
    for (int step = 0; step < 25; step++) {
        ck_assert(teacher_next(&t) && !product_learn(&p, &t) && !product_update(&p));
        ck_assert(!twin_step(&pair, &p, &t));
        ck_assert(!product_learn(&drifting, &t) && !product_update(&drifting));
        ck_assert(isnan(twin_growth(&pair)) == (step < 20));
    }
    /* some 1e-8 e^sum of it is of second order */
    ck_assert_double_eq_tol(pair.sum, log(gap(&p, &drifting) / start), 1e-3);
    ck_assert(pair.sum > 1 && twin_digits_lost(&pair) >= pair.sum / log(10));
    twin_free(&pair);
    product_free(&drifting);
    product_free(&p);
    teacher_free(&t);
    tt_tape_free(tape);
}
END_TEST

START_TEST(rounding_grows_without_the_scale_and_not_with_it) {
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("none"), scaling_find("sqrt")},
               .d_k = 128,
               .lr = {1}};
    map_config config = plane_of(&l, 0, 0, 60);
    map m;
    config.lr_count = 1;
    config.scale_count = 2;
    config.chaos = true;
    ck_assert(map_new(&m, &config));
    train(&m);
    /* three seeds have 0.77 to 0.88 up to step 199 */
    ck_assert(m.cells[0].found[GROWTH] > 0.5 && m.cells[0].found[GROWTH] < 1.5);
    ck_assert(m.cells[0].found[DIGITS_LOST] > 15.9);
    ck_assert(m.cells[1].found[GROWTH] < 0.003 && m.cells[1].found[DIGITS_LOST] < 0.5);
    map_free(&m);
}
END_TEST

/* ---- Files and words ------------------------------------------------------------------------- */

/* Cells by products and by weights, that train, stall and are early: a fraction of a second. */
#define SMALL_BUT_CHAOS                                                                            \
    "map --d-k 4,12 --sigma0 0.5,8 --kappa 1..64 --optimizer sgd,adam --seed 0,1 --steps 40 "      \
    "--batch 4 --tokens 5 --d-model 6 --d-v 3 "
#define SMALL SMALL_BUT_CHAOS "--chaos "
#define CURVES SMALL_BUT_CHAOS "--schedule 10:0.5 --warm-up 6 --learn-temperature 0.1@5 --curves 7 "
#define RATES                                                                                      \
    "map --axes lr --d-k 4,12 --scale none,rms,0.5 --lr 0.5,2 --optimizer momentum,sgd "           \
    "--steps 40 --batch 4 --tokens 5 --d-model 6 --d-v 3 "

static void assert_same_map(const char *a, const char *b) {
    static const char *const ENDINGS[] = {".csv", ".meta"};
    assert_same_results(a, b, ENDINGS, LENGTH(ENDINGS));
}

static void assert_same_curves(const char *a, const char *b) {
    static const char *const ENDINGS[] = {".csv", "_curves.csv", ".meta"};
    assert_same_results(a, b, ENDINGS, LENGTH(ENDINGS));
}

START_TEST(same_bytes_for_any_number_of_threads) {
    run_quietly("", SMALL "--threads 1", "map1");
    run_quietly("", SMALL "--threads 2", "map2");
    run_quietly(COMMA_LOCALE, SMALL "--threads 7", "map7");
    assert_same_map("map1", "map2");
    assert_same_map("map1", "map7");
    run_quietly("", RATES "--threads 1", "rates1");
    run_quietly("", RATES "--threads 5", "rates5");
    assert_same_map("rates1", "rates5");
    run_quietly("", CURVES "--threads 1", "curves1");
    run_quietly(COMMA_LOCALE, CURVES "--threads 5", "curves5");
    assert_same_curves("curves1", "curves5");
}
END_TEST

/* Ends it when three cells are complete. What a shell starts beside it ignores SIGINT. */
START_TEST(an_interrupted_map_is_resumed_and_ends_with_the_same_bytes) {
    const char *const longer = CURVES "--steps 800 --threads 1 --output " SCRATCH "mapcut.csv ";
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "rm -f " SCRATCH "mapcut*; " TEST_PROGRAM " %s 2>" SCRATCH
                   "mapcut.err & pid=$!; "
                   "while [ $(cat " SCRATCH
                   "mapcut.csv.partial 2>/dev/null | grep -c '^# complete') -lt 3 ] && "
                   "kill -0 $pid; do :; "
                   "done; kill -TERM $pid; wait $pid",
                   longer);
    ck_assert_int_eq(shell(command), 143);
    char *said = read_whole(SCRATCH "mapcut.err");
    assert_one_line(said, " cells are in " SCRATCH "mapcut.csv.partial for --resume");
    free(said);
    assert_refused(1, "is from a run with other settings",
                   CURVES "--resume --output " SCRATCH "mapcut.csv");
    /* the same cells twice */
    ck_assert_int_eq(shell("cd " SCRATCH " && cp mapcut.csv.partial mapcut.kept && "
                           "sed '1,/^optimizer,/d' mapcut.kept >>mapcut.csv.partial"),
                     0);
    assert_refused(1, "is damaged", "%s --resume", longer);
    ck_assert_int_eq(shell("cd " SCRATCH " && mv mapcut.kept mapcut.csv.partial"), 0);
    run_quietly("", CURVES "--steps 800 --threads 2 --resume", "mapcut");
    run_quietly("", CURVES "--steps 800 --threads 2", "mapwhole");
    assert_same_curves("mapcut", "mapwhole");
}
END_TEST

START_TEST(a_row_has_what_is_known_of_its_cell) {
    run_quietly("", SMALL, "maprows");
    table t = table_read(SCRATCH "maprows.csv");
    ck_assert_int_eq(t.rows, 2 * 2 * 2 * 7 * 2);
    ck_assert_str_eq(t.cell[0], "optimizer");
    ck_assert_str_eq(t.cell[t.columns - 1], "options");
    for (int row = 0; row < t.rows; row++) {
        const bool adam = strcmp(table_text(&t, row, "optimizer"), "adam") == 0;
        const double sigma0 = table_number(&t, row, "sigma0"), d_k = table_number(&t, row, "d_k");
        const double kappa = table_number(&t, row, "kappa"), lr = table_number(&t, row, "lr");
        /* 1e-12: some roundings */
        ck_assert_double_eq_tol(table_number(&t, row, "gain"), sqrt(sigma0), 1e-12);
        ck_assert_double_eq_tol(lr, adam ? kappa / sqrt(d_k * sigma0) : kappa / sigma0, 1e-12 * lr);
        /* no twin but of products */
        ck_assert((table_text(&t, row, "growth")[0] == '\0') == (adam || d_k == 4));
        ck_assert(strcmp(table_text(&t, row, "verdict"), "early") != 0 || kappa * 40 < 300);
    }
    table_free(&t);
}
END_TEST

/* By products and by weights, under both kinds of steps. */
START_TEST(a_curve_has_the_rates_and_temperature_of_its_steps_and_ends_as_its_cell) {
    run_quietly("", CURVES, "mapcurves");
    table cells = table_read(SCRATCH "mapcurves.csv"),
          t = table_read(SCRATCH "mapcurves_curves.csv");
    ck_assert_int_eq(cells.rows, 2 * 2 * 2 * 7 * 2);
    ck_assert_str_eq(table_text(&cells, 0, "options"),
                     "--schedule 10:0.5 --warm-up 6 --learn-temperature 0.1@5");
    int row = 0;
    for (int i = 0; i < cells.rows; i++) {
        const double steps = table_number(&cells, i, "steps_taken");
        ck_assert(steps == 40);
        for (int k = 0; k <= 6; k++, row++) {
            const double step = k == 6 ? 39 : 7 * k, tau = table_number(&t, row, "temperature");
            ck_assert(table_number(&t, row, "step") == step);
            ck_assert(table_number(&t, row, "seed") == table_number(&cells, i, "seed"));
            /* it is 1 later too: a softmax of 0 and 1 has no gradient to learn from */
            ck_assert(tau == 1 || step > 5);
        }
        ck_assert_str_eq(table_text(&t, row - 1, "logit_std"), table_text(&cells, i, "logit_std"));
        ck_assert_str_eq(table_text(&t, row - 1, "kappa_now"), table_text(&cells, i, "kappa_end"));
        ck_assert_str_eq(table_text(&t, row - 1, "options"), table_text(&cells, i, "options"));
    }
    ck_assert_int_eq(row, t.rows);
    table_free(&cells);
    table_free(&t);
}
END_TEST

/* d_k 64: kappa is the sum of 4096 squares times what is known, and the weights hardly move. */
START_TEST(kappa_now_follows_the_rate_and_the_square_of_the_temperature) {
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("sqrt")},
               .d_k = 64,
               .sigma0 = {1},
               .kappa = {1e-9}};
    map_config config = plane_of(&l, 1, 1, 30);
    map m;
    config.every = 1;
    config.recipe.warm_up = 10;
    config.recipe.schedule[config.recipe.schedule_count++] = (schedule_point){20, 0.5};
    config.recipe.temperature_lr = 0.1;
    config.recipe.temperature_from = 15;
    for (int by_weights = 0; by_weights < 2; by_weights++) {
        config.recipe.clip = by_weights ? 1e300 : INFINITY; /* which clips nothing */
        ck_assert(map_new(&m, &config));
        train(&m);
        const cell *c = &m.cells[0];
        ck_assert(cell_is_exact(&config, c) == !by_weights && c->points == 30);
        for (int i = 0; i < 30; i++) {
            const curve_point *p = &c->curve[i];
            const double rate = i < 10 ? (i + 1) / 10.0 : i < 20 ? 1 : 0.5;
            const double expected = 10 * c->curve[0].kappa * rate * p->temperature * p->temperature;
            ck_assert(p->step == i && (p->temperature != 1) == (i > 15));
            /* the weights move by 1e-9 of themselves */
            ck_assert_double_eq_tol(p->kappa, expected, 1e-7 * expected);
        }
        map_free(&m);
    }
}
END_TEST

/* 100 at rate 1 are what an early run lacks, and what the schedule takes from one that is not. */
START_TEST(a_verdict_counts_what_the_schedule_let_it_travel) {
    cell c = {.optimizer = optimizer_find("sgd")};
    map_config config = {.recipe = RECIPE_PLAIN};
    c.found[RATIO] = c.found[MIDDLE] = 2;
    c.found[KAPPA] = 2;
    c.found[STEPS_TAKEN] = 200;
    ck_assert_int_eq(cell_verdict(&config, &c), STALLED);
    c.found[STEPS_TAKEN] = 150; /* 300 are enough */
    ck_assert_int_eq(cell_verdict(&config, &c), STALLED);
    config.recipe.schedule[config.recipe.schedule_count++] = (schedule_point){0, 0.5};
    ck_assert_int_eq(cell_verdict(&config, &c), EARLY);
}
END_TEST

START_TEST(a_state_is_that_of_the_last_step_not_of_the_last_twenty) {
    cell c = {.optimizer = optimizer_find("sgd")};
    const map_config config = {.recipe = RECIPE_PLAIN, .training = {.tokens = 16}};
    c.found[RATIO] = c.found[MIDDLE] = 1.1;
    c.found[LAST_RATIO] = 1.3;
    c.found[RATIO_RESCALED] = 0.6; /* less than half of the last, more than half of the median */
    c.found[KAPPA] = 2;
    c.found[STEPS_TAKEN] = 200;
    c.found[ENTROPY_TEACHER] = 2;
    ck_assert_int_eq(cell_state(&config, &c), SHARPER);
}
END_TEST

static char *tables_of(const map *m) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    ck_assert(to != NULL);
    map_tables(to, m);
    (void)fclose(to);
    return text;
}

/* The text of a cell's last line: its place and all that was found. */
static const char *end_of_cell(int place, const char *behind) {
    static char text[512];
    int used = snprintf(text, sizeof text, "%d", place);
    for (int k = 0; k < FOUND; k++)
        used += snprintf(text + used, sizeof text - (size_t)used, ",%d", k);
    (void)snprintf(text + used, sizeof text - (size_t)used, "%s", behind);
    return text;
}

START_TEST(a_cell_is_read_back_once_and_no_more_of_it_than_there_can_be) {
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("sqrt")},
               .d_k = 64,
               .sigma0 = {1},
               .kappa = {2, 4}};
    map_config config = plane_of(&l, 1, 2, 10);
    map m;
    config.every = 5;
    ck_assert(map_new(&m, &config));
    const partial_runs runs = map_runs(&m, "map");
    ck_assert(runs.read_row(runs.context, "sgd,sqrt,a row for people\n"));
    ck_assert(runs.read_row(runs.context, "# at,0,0,1,2,3,4\n"));
    ck_assert(m.cells[0].points == 1 && m.cells[0].curve[0].kappa == 4);
    ck_assert(!runs.read_end(runs.context, end_of_cell(2, "")));
    ck_assert(!runs.read_end(runs.context, end_of_cell(1, ",7")));
    ck_assert(!m.cells[1].finished);
    ck_assert(runs.read_end(runs.context, end_of_cell(0, "")));
    ck_assert(m.cells[0].finished && m.cells[0].found[FOUND - 1] == FOUND - 1);
    ck_assert(!runs.read_row(runs.context, "# at,0,5,1,2,3,4\n"));
    ck_assert(!runs.read_end(runs.context, end_of_cell(0, "")));
    ck_assert(!runs.read_row(runs.context, "# at,2,0,1,2,3,4\n"));
    ck_assert(!runs.read_row(runs.context, "# at,-1,0,1,2,3,4\n"));
    ck_assert(runs.read_row(runs.context, "# at,1,0,1,2,3,4\n"));
    ck_assert(!runs.read_row(runs.context, "# at,1,10,1,2,3,4\n")); /* of ten steps */
    ck_assert(!runs.read_row(runs.context, "# at,1,nan,1,2,3,4\n"));
    for (tt_size k = 1; k < map_curve_points(&config); k++)
        ck_assert(runs.read_row(runs.context, "# at,1,5,1,2,3,4\n"));
    ck_assert(!runs.read_row(runs.context, "# at,1,9,1,2,3,4\n"));
    map_free(&m);
}
END_TEST

START_TEST(tables_count_steps_and_name_what_did_not_train) {
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("sqrt")},
               .d_k = 64,
               .sigma0 = {1, 4},
               .kappa = {0.5, 2, 4}};
    map_config config = plane_of(&l, 2, 3, 500);
    const double steps_to[] = {NAN, 99, 18, NAN, 30, NAN};
    const double ratio[] = {3, 0.05, 1e-13, 0.5, 0.2, 8};
    map m;
    ck_assert(map_new(&m, &config));
    for (int i = 0; i < 6; i++) {
        m.cells[i].found[STEPS_TAKEN] = 500;
        m.cells[i].found[RATIO] = m.cells[i].found[MIDDLE] = ratio[i];
        m.cells[i].found[STEPS_TO] = steps_to[i];
    }
    char *text = tables_of(&m);
    assert_says(text, "\nsigma0: nominal standard deviation of the first logits; kappa:");
    assert_says(text, "d_k 64, sgd, kappa across:");
    assert_says(text, " sigma0  0.5    2    4\n");
    assert_says(text, "      1    e  100   19\n");
    assert_says(text, "      4    e  31*    S\n");
    assert_says(text, "Not within 500 steps");
    free(text);
    map_free(&m);
}
END_TEST

/* Of two seeds the sooner; one that was at 0.1 before one that never was; then the lower ratio. */
START_TEST(a_table_shows_the_seed_in_the_middle_and_of_two_the_first) {
    static const int64_t TWO[] = {0, 1};
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("sqrt")},
               .d_k = 64,
               .sigma0 = {1},
               .kappa = {2, 4, 8}};
    map_config config = plane_of(&l, 1, 3, 500);
    config.seed = TWO;
    config.seed_count = 2;
    const double steps_to[] = {99, 49, NAN, 59, NAN, NAN}, ratio[] = {0.05, 0.01, 3, 0.1, 5, 0.5};
    map m;
    ck_assert(map_new(&m, &config) && m.count == LENGTH(ratio));
    for (int i = 0; i < LENGTH(ratio); i++) {
        m.cells[i].found[STEPS_TAKEN] = 500;
        m.cells[i].found[RATIO] = m.cells[i].found[MIDDLE] = ratio[i];
        m.cells[i].found[STEPS_TO] = steps_to[i];
    }
    char *text = tables_of(&m);
    assert_says(text, "was 0.1 or less, of the seed in the middle");
    assert_says(text, "      1   50   60    s\n");
    free(text);
    map_free(&m);
}
END_TEST

/* Two widths of which the first is trained soonest at lr 2, then rules with one best lr, of equals
 * the first, then one with none. */
START_TEST(below_a_table_over_rates_stands_the_fastest) {
    static const int64_t WIDTHS[] = {64, 128};
    lists l = {.optimizer = {optimizer_find("sgd")},
               .scale = {scaling_find("none"), scaling_find("sqrt"), scaling_find("linear"),
                         scaling_find("rms")},
               .lr = {1, 2}};
    map_config config = plane_of(&l, 0, 0, 500);
    config.lr_count = config.d_k_count = 2;
    config.scale_count = 4;
    config.d_k = WIDTHS;
    /* nested as rule, d_k, lr; the third was at 0.1 and left it again, so it does not count */
    const double steps_to[] = {60, 30, 25, NAN, 60, 30, 31, 30, 40, 40, 50, 50, NAN, NAN, NAN, NAN};
    const double ratio[] = {0.05, 0.1, 0.2, 8,   0.01, 0.02, 0.05, 0.05,
                            0.1,  0.1, 0.1, 0.1, 1,    1,    1,    1};
    map m;
    ck_assert(map_new(&m, &config) && m.count == LENGTH(ratio));
    for (int i = 0; i < LENGTH(ratio); i++) {
        m.cells[i].found[STEPS_TAKEN] = 500;
        m.cells[i].found[RATIO] = m.cells[i].found[MIDDLE] = ratio[i];
        m.cells[i].found[STEPS_TO] = steps_to[i];
    }
    char *text = tables_of(&m);
    assert_says(text, "\nFastest at lr 2 (d_k 64), none (128)\n\nscale sqrt");
    assert_says(text, "\nFastest at lr 2 at every d_k\n");
    assert_says(text, "\nFastest at lr 1 at every d_k\n");
    assert_says(text, "\nNo lr of these trained within 500 steps\n");
    free(text);
    for (int i = 12; i < 16; i++) m.cells[i].found[KAPPA] = 0.1; /* times 500 is early */
    text = tables_of(&m);
    assert_says(text, "\nToo early to tell: none trained within 500 steps, and all are early\n");
    free(text);
    m.cells[15].found[KAPPA] = 1;
    text = tables_of(&m);
    assert_says(text, "within 500 steps; of the early cells nothing is said\n");
    free(text);
    map_free(&m);
}
END_TEST

START_TEST(wrong_usage_is_refused_in_one_line) {
    static const refusal CASES[] = {
        {"--axes volt", "--axes 'volt': expected plane or lr"},
        {"--axes lr", "--axes lr: expected learning rates"},
        {"--axes lr --lr 1 --kappa 2", "--kappa 2: it belongs to --axes plane"},
        {"--lr 1", "--lr 1: it belongs to --axes lr"},
        {"--scale none", "--scale none: it belongs to --axes lr"},
        {"--axes lr --lr 1 --scale blue", "--scale 'blue': expected"},
        {"--sigma0 0", "--sigma0 '0': expected finite numbers above 0"},
        {"--sigma0 4..1", "--sigma0 '4..1': expected finite numbers above 0"},
        {"--kappa 1,0.5..2", "--kappa '1,0.5..2': 1 stands there twice"},
        {"--kappa 1e-300..1e300", "--kappa '1e-300..1e300': more than 1024 values"},
        {"--kappa 1e308 --sigma0 1e-10", "expected a finite one above 0"},
        {"--optimizer sgd,sgd", "--optimizer 'sgd,sgd': expected, separated by commas, each once"},
        {"--optimizer adam:0.1", "--optimizer 'adam:0.1': expected"},
        {"--optimizer ''", "names of sgd, momentum, adam, adamw"},
        {"--d-k 0", "--d-k '0': expected whole numbers from 1 to 1048576"},
        {"--tokens 1", "--tokens '1': expected a whole number from 2"},
        {"--target firm", "--target 'firm': expected soft or hard"},
        {"--target-gain 0", "--target-gain '0': expected a finite number above 0"},
        {"--steps 0", "--steps '0': expected a whole number from 1"},
        {"--schedule 5", "--schedule '5': expected STEP:FACTOR"},
        {"--warm-up 0", "--warm-up '0': expected a whole number from 1"},
        {"--learn-temperature x", "--learn-temperature 'x': expected a rate above 0"},
        {"--chaos --learn-temperature 1", "--chaos with --learn-temperature 1: expected one"},
        {"--curves 0", "--curves '0': expected a whole number from 1"},
        {"--curves 5 --output -", "curves are written beside a regular file"},
        {"--curves 1 --steps 1000000000", "the cells that are trained together need"},
        {"--resume --output -", "expected a regular file"},
        {"--batch 65536 --tokens 65536", "the cells that are trained together need"},
    };
    assert_refusals(2, "map", CASES, LENGTH(CASES));
}
END_TEST

Suite *map_suite(void) {
    const TTest *tests[] = {cells_agree_with_pytorch,
                            no_scale_at_a_rate_is_a_point_of_the_plane_bit_for_bit,
                            by_products_and_by_weights_a_cell_is_the_same,
                            at_a_rate_start_and_step_are_the_rules,
                            no_cell_has_reached_anything_before_its_step_19,
                            a_cell_that_diverges_says_so_and_nothing_else,
                            a_twin_that_is_brought_back_grows_as_one_that_drifts,
                            rounding_grows_without_the_scale_and_not_with_it,
                            same_bytes_for_any_number_of_threads,
                            an_interrupted_map_is_resumed_and_ends_with_the_same_bytes,
                            a_row_has_what_is_known_of_its_cell,
                            a_curve_has_the_rates_and_temperature_of_its_steps_and_ends_as_its_cell,
                            kappa_now_follows_the_rate_and_the_square_of_the_temperature,
                            a_verdict_counts_what_the_schedule_let_it_travel,
                            a_state_is_that_of_the_last_step_not_of_the_last_twenty,
                            tables_count_steps_and_name_what_did_not_train,
                            a_cell_is_read_back_once_and_no_more_of_it_than_there_can_be,
                            a_table_shows_the_seed_in_the_middle_and_of_two_the_first,
                            below_a_table_over_rates_stands_the_fastest,
                            wrong_usage_is_refused_in_one_line};
    return suite_of("map", tests, LENGTH(tests), 120);
}
