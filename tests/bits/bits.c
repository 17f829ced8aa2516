/* bits.c: one line for each part of what the program computes: its name and a hash of its numbers'
 * bits. The lines must be those of tests/golden/bits.txt whatever compiler, options, kernel, C
 * library or machine made and ran this program; scripts/same_bits compares. It stands alone, so
 * that it can be built for a machine that is only emulated.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "gradcheck/cases.h"
#include "heads/precision.h"
#include "map/cells.h"
#include "saturation/exact.h"
#include "training/columns.h"
#include "tt/arithmetic.h"
#include "tt/elementary.h"

static void need(bool good, const char *what) {
    if (good) return;
    (void)fprintf(stderr, "bits: %s\n", what);
    exit(EXIT_FAILURE);
}

/* The lowest byte first on every machine; every NaN as one. */
static void add(uint64_t *hash, const double *x, tt_size n) {
    for (tt_size i = 0; i < n; i++) {
        uint64_t bits = UINT64_C(0x7ff8000000000000);
        if (!isnan(x[i])) memcpy(&bits, &x[i], sizeof bits);
        for (int shift = 0; shift < 64; shift += 8) {
            const char byte = (char)(bits >> shift & 255);
            *hash = hash_text(*hash, &byte, 1);
        }
    }
}

static void add_tensor(uint64_t *hash, tt_tensor t) {
    add(hash, t.data, tt_tensor_count(t));
}

static void say(const char *part, const char *name, uint64_t hash) {
    printf("%s%s%s %016" PRIx64 "\n", part, name[0] ? "." : "", name, hash);
}

/* ---- Draws and functions --------------------------------------------------------------------- */

static void functions(void) {
    static double x[4096], y[4096];
    uint64_t hash = HASH_START;
    tt_rng rng;
    tt_rng_seed(&rng, 1);
    tt_rng_uniform(&rng, x, 4096);
    for (int i = 0; i < 4096; i++) {
        y[i] = tt_exp(1500 * (x[i] - 0.5)) + tt_expm1(x[i] - 0.5);
        y[i] += tt_log(x[i]) + tt_log1p(-x[i]) + tt_sin(6 * x[i]) + tt_cos(6 * x[i]);
    }
    add(&hash, y, 4096);
    say("functions", "", hash);
}

static void normals(void) {
    static double x[4096];
    uint64_t hash = HASH_START;
    tt_rng rng;
    tt_rng_seed(&rng, 2);
    tt_rng_normal(&rng, x, 4096);
    add(&hash, x, 4096);
    for (tt_size n = 1; n < 40; n++) {
        tt_rng_normal(&rng, x, n);
        add(&hash, x, n);
    }
    say("normals", "", hash);
}

/* ---- Training -------------------------------------------------------------------------------- */

enum { STEPS = 30, COLUMNS_MOST = 64 };

static void train(const student_config *with, tt_size d_k, uint64_t *weights, uint64_t *column) {
    const training_config config = {.batch = 2, .tokens = 16, .d_model = 12, .d_k = d_k, .d_v = 9};
    teacher t;
    student s;
    meter m;
    need(teacher_new(&t, &config, 3) && student_new(&s, &t, with) && meter_new(&m, &config),
         "out of memory");
    for (int step = 0; step < STEPS; step++) {
        double value[COLUMNS_MOST];
        need(teacher_next(&t) && !student_learn(&s, &t) && !meter_read(&m, &s, &t, value),
             "training failed");
        need(student_update(&s) && !meter_read_update(&m, &s, &t, value), "training diverged");
        for (int i = 0; i < columns_count(); i++) add(&column[i], &value[i], 1);
    }
    add_tensor(weights, s.parameter[WQ].value);
    add_tensor(weights, s.parameter[WK].value);
    meter_free(&m);
    student_free(&s);
    teacher_free(&t);
}

/* Without the scale training is chaotic: one other bit anywhere in these steps is another hash. */
static void training(void) {
    static const tt_size D_K[] = {8, 70};
    uint64_t weights = HASH_START, column[COLUMNS_MOST];
    need(columns_count() <= COLUMNS_MOST, "too many columns");
    for (int i = 0; i < COLUMNS_MOST; i++) column[i] = HASH_START;
    for (int d = 0; d < 2; d++)
        for (int k = 0; scaling_at(k); k++) {
            const student_config with = {.rule = scaling_at(k), .gain = 1, .lr = 1};
            train(&with, D_K[d], &weights, column);
        }
    say("weights", "", weights);
    for (int i = 0; i < columns_count(); i++) say("stall", column_name(i), column[i]);
}

/* All that they can do, all columns of a student in one hash. */
static void optimizers(void) {
    recipe all = RECIPE_PLAIN;
    all.clip = 0.1;
    all.warm_up = 5;
    all.temperature_lr = 0.01;
    all.weight_decay = 0.01;
    for (int i = 0; optimizer_at(i); i++) {
        const optimizer *o = optimizer_at(i);
        const student_config with = {scaling_find("sqrt"), 1, o, o->lr, &all};
        uint64_t hash = HASH_START, column[COLUMNS_MOST];
        for (int k = 0; k < COLUMNS_MOST; k++) column[k] = HASH_START;
        train(&with, 8, &hash, column);
        for (int k = 0; k < columns_count(); k++) {
            const double half[] = {(double)(column[k] >> 32), (double)(column[k] & 0xffffffff)};
            add(&hash, half, 2);
        }
        say("optimizer", o->name, hash);
    }
}

/* ---- The map --------------------------------------------------------------------------------- */

static bool on_finished(void *context, tt_size i) {
    (void)context;
    (void)i;
    return true;
}

static void on_advanced(void *context, tt_size steps, double work) {
    (void)context;
    (void)steps;
    (void)work;
}

static void map_of(const map_config *config, const char *name) {
    static const atomic_int never = 0;
    const map_observer observer = {NULL, on_finished, on_advanced};
    uint64_t hash = HASH_START;
    char error[256];
    map m;
    need(map_new(&m, config), "out of memory");
    need(map_train(&m, &observer, &never, error, sizeof error) == MAP_DONE, "the map failed");
    for (tt_size i = 0; i < m.count; i++) {
        add(&hash, &m.cells[i].lr, 1);
        add(&hash, m.cells[i].found, FOUND);
    }
    say("map", name, hash);
    map_free(&m);
}

/* Products of weights with their twins, and students, at starts and steps that end in every way. */
static void maps(void) {
    static const int64_t D_K[] = {8, 24}, SEED[] = {3};
    static const double START[] = {0.5, 8}, STEP[] = {1, 32}, LR[] = {0.5};
    const optimizer *const methods[] = {optimizer_find("sgd"), optimizer_find("adamw")};
    const scaling *const scale[] = {scaling_find("sqrt"), scaling_find("t5"), scaling_find("rms")};
    map_config config = {.optimizer = methods,
                         .recipe = RECIPE_PLAIN,
                         .optimizer_count = 2,
                         .scale = scale,
                         .scale_count = 1,
                         .d_k = D_K,
                         .d_k_count = 2,
                         .sigma0 = START,
                         .sigma0_count = 2,
                         .kappa = STEP,
                         .kappa_count = 2,
                         .seed = SEED,
                         .seed_count = 1,
                         .training = {.batch = 2, .tokens = 16, .d_model = 12, .d_v = 9},
                         .steps = STEPS,
                         .chaos = true,
                         .threads = 2};
    map_of(&config, "plane");
    config.scale_count = 3;
    config.lr = LR;
    config.lr_count = 1;
    map_of(&config, "rates");
}

/* ---- Gradcheck ------------------------------------------------------------------------------- */

static void check(uint64_t *hash, check_case *c) {
    const tt_gradcheck_options options = {.seed = 4};
    tt_gradcheck_result result[CASE_INPUTS];
    const char *error = tt_gradcheck(c->build, c, c->input, c->checked, &options, result);
    need(!error, "gradcheck failed");
    for (int i = 0; i < c->checked; i++) {
        const tt_gradcheck_result *r = &result[i];
        const double number[] = {
            (double)r->passed, (double)r->failed, (double)r->inconclusive, r->largest,
            r->worst.analytic, r->worst.numeric,  r->worst.error_bar,      r->worst.unseen,
            r->worst_pass,     r->taylor_slope,
        };
        add(hash, number, sizeof number / sizeof *number);
    }
    case_free(c);
}

static void gradcheck(void) {
    const check_shape shape = {.batch = 2, .tokens = 3, .keys = 4, .d_k = 5, .d_v = 2};
    uint64_t ops = HASH_START, attention = HASH_START;
    check_case c;
    for (int i = 0; case_op_name(i); i++) {
        need(case_op(&c, i, &shape, 5), "out of memory");
        check(&ops, &c);
    }
    for (int i = 0; scaling_at(i); i++)
        for (int mask = MASK_NONE; mask < MASK_ALL; mask++) {
            need(
                case_attention(&c, "attention", &shape, scaling_at(i), (mask_kind)mask, 1, true, 6),
                "out of memory");
            check(&attention, &c);
        }
    say("gradcheck", "ops", ops);
    say("gradcheck", "attention", attention);
}

/* ---- Saturation ------------------------------------------------------------------------------ */

static void saturation_of(const saturation_config *config, uint64_t *metric, uint64_t *exact) {
    saturation s;
    progress p;
    need(saturation_new(&s, config), "out of memory");
    progress_start(&p, s.count, saturation_work(&s), true);
    need(!saturation_run(&s, &p, NULL), "saturation failed");
    saturation_exact(&s);
    for (tt_size i = 0; i < s.count; i++)
        for (int k = 0; k < saturation_metrics(&s); k++) {
            const saturation_summary *of = &s.cells[i].of[k];
            const double number[] = {of->mean, of->standard_error, of->p10, of->median, of->p90};
            add(&metric[k], number, sizeof number / sizeof *number);
            add(exact, &s.cells[i].exact[k], 1);
        }
    saturation_free(&s);
}

static void saturated_rows(void) {
    static const int64_t D_K[] = {1, 7, 300}, KEYS[] = {2, 5, 33};
    static const double SIGMA[] = {0.5, 8};
    const scaling *rules[32];
    int count = 0;
    uint64_t metric[SAT_METRICS], exact = HASH_START;
    for (int k = 0; k < SAT_METRICS; k++) metric[k] = HASH_START;
    for (; scaling_at(count); count++) rules[count] = scaling_at(count);
    const saturation_config by_d_k = {.d_k = D_K,
                                      .d_k_count = 3,
                                      .keys = KEYS,
                                      .keys_count = 3,
                                      .scale = rules,
                                      .scale_count = count,
                                      .rows = 66,
                                      .seed = 7,
                                      .threads = 2};
    const saturation_config by_sigma = {.sigma = SIGMA,
                                        .sigma_count = 2,
                                        .keys = KEYS,
                                        .keys_count = 3,
                                        .rows = 66,
                                        .seed = 8,
                                        .threads = 1};
    saturation_of(&by_d_k, metric, &exact);
    saturation_of(&by_sigma, metric, &exact);
    for (int k = 0; k < SAT_METRICS; k++) say("saturation", saturation_metric_name(k), metric[k]);
    say("saturation", "exact", exact);
}

/* ---- Low precision --------------------------------------------------------------------------- */

static void low_precision(void) {
    enum { KEYS = 19, WIDTH = 5, ROWS = 40 };
    static double z[KEYS], v[KEYS * WIDTH], d_out[WIDTH], dz[KEYS];
    uint64_t hash = HASH_START;
    precision_row row;
    tt_rng rng;
    tt_rng_seed(&rng, 9);
    need(precision_row_new(&row, KEYS), "out of memory");
    for (int r = 0; r < ROWS; r++) {
        tt_rng_normal(&rng, z, KEYS);
        tt_rng_normal(&rng, v, KEYS * WIDTH);
        tt_rng_normal(&rng, d_out, WIDTH);
        for (int j = 0; j < KEYS; j++) z[j] *= r;
        for (int f = 0; format_at(f); f++) {
            precision_row_forward(&row, format_at(f), z, KEYS, v, d_out, WIDTH);
            for (int p = 0; p < PRECISION_PIPELINES; p++) {
                precision_row_backward(&row, format_at(f), p, dz);
                add(&hash, dz, KEYS);
            }
        }
    }
    precision_row_free(&row);
    say("precision", "", hash);
}

int main(void) {
    const char *wrong = tt_arithmetic_error();
    need(!wrong, wrong);
    functions();
    normals();
    training();
    optimizers();
    maps();
    gradcheck();
    saturated_rows();
    low_precision();
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
