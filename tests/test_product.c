/* test_product.c: training the products of the weights is training the weights. */
#include "training/product.h"

#include <math.h>

#include "suites.h"
#include "support.h"
#include "training/student.h"
#include "tt/elementary.h"
#include "tt/norm.h"

static const training_config DEFAULTS = {
    .batch = 32, .tokens = 16, .d_model = 32, .d_k = 64, .d_v = 32};

/* One of each, of one teacher. */
typedef struct pair {
    teacher teacher;
    student student;
    product product;
    tt_tape *tape;
} pair;

static void pair_open(pair *x, tt_size d_k, const product_config *config) {
    training_config of_teacher = DEFAULTS;
    const student_config of_student = {
        .rule = config->rule, .gain = config->gain, .lr = config->lr, .recipe = config->recipe};
    of_teacher.d_k = d_k;
    x->tape = tt_tape_new();
    ck_assert(x->tape && teacher_new(&x->teacher, &of_teacher, 3));
    ck_assert(student_new(&x->student, &x->teacher, &of_student));
    ck_assert(product_new(&x->product, x->teacher.first_wq, x->teacher.first_wk, config, x->tape));
}

static void pair_close(pair *x) {
    product_free(&x->product);
    student_free(&x->student);
    teacher_free(&x->teacher);
    tt_tape_free(x->tape);
}

static void pair_learn(pair *x) {
    ck_assert(teacher_next(&x->teacher));
    ck_assert(student_learn(&x->student, &x->teacher) == NULL);
    ck_assert(product_learn(&x->product, &x->teacher) == NULL);
}

static void pair_update(pair *x) {
    ck_assert(student_update(&x->student) && product_update(&x->product) == NULL);
    ck_assert(product_finite(&x->product));
}

static double norm_squared(tt_tensor t) {
    const double norm = tt_norm(t.data, tt_tensor_count(t));
    return norm * norm;
}

/* tr(G B G^T), which is |G Wk|^2. */
static double gradient_squared(const product *p) {
    const tt_size n = p->m.rows;
    const double *g = p->gradient.data, *b = p->b.data;
    double sum = 0;
    for (tt_size i = 0; i < n; i++)
        for (tt_size j = 0; j < n; j++)
            for (tt_size k = 0; k < n; k++) sum += g[i * n + j] * b[j * n + k] * g[i * n + k];
    return sum;
}

static void assert_near(double a, double b, double relative, const char *what, int step) {
    ck_assert_msg(fabs(a - b) <= relative * fabs(b), "step %d, %s: %.17g, student %.17g", step,
                  what, a, b);
}

/* 1e-9 is what an independent program has to agree in: rounding of 1e-15 may grow millionfold. */
static void assert_same_training(tt_size d_k, const product_config *config, int steps) {
    pair x;
    pair_open(&x, d_k, config);
    const parameter *wq = &x.student.parameter[WQ], *wk = &x.student.parameter[WK];
    for (int step = 0; step < steps; step++) {
        pair_learn(&x);
        assert_near(product_loss(&x.product), student_loss(&x.student), 1e-9, "loss", step);
        assert_near(gradient_squared(&x.product), norm_squared(wq->grad), 1e-9, "dWq", step);
        assert_near(tt_exp(x.product.tau), student_temperature(&x.student), 1e-9, "exp(tau)", step);
        assert_near(product_weights_squared(&x.product),
                    norm_squared(wq->value) + norm_squared(wk->value), 1e-12, "weights", step);
        pair_update(&x);
    }
    pair_close(&x);
}

START_TEST(products_train_as_weights_do) {
    static const char *const RULES[] = {"sqrt", "t5", "linear", "log"};
    for (int i = 0; i < LENGTH(RULES); i++) {
        const scaling *rule = scaling_find(RULES[i]);
        /* kappa 4 at gain 1 */
        const double lr = 4 / scaling_logit_step(rule, 64, 16);
        const product_config config = {.rule = rule, .gain = 0.8, .lr = lr};
        assert_same_training(64, &config, 40);
    }
    const product_config wide = {.rule = scaling_find("sqrt"), .gain = 1, .lr = 8};
    assert_same_training(256, &wide, 40);
}
END_TEST

START_TEST(so_they_do_without_the_scale_until_rounding_shows) {
    const product_config config = {.rule = scaling_find("none"), .gain = 1, .lr = 1};
    assert_same_training(64, &config, 12);
}
END_TEST

START_TEST(rates_that_change_and_a_learned_temperature_go_along) {
    recipe r = RECIPE_PLAIN;
    r.warm_up = 10;
    r.schedule[r.schedule_count++] = (schedule_point){20, 0.25};
    r.temperature_lr = 0.5;
    r.temperature_from = 5;
    const product_config config = {
        .rule = scaling_find("none"), .gain = 0.5, .lr = 0.1, .recipe = &r};
    assert_same_training(64, &config, 40);
}
END_TEST

START_TEST(only_what_closes_on_the_products_may_be_trained_so) {
    recipe decay = RECIPE_PLAIN, clip = RECIPE_PLAIN, warm = RECIPE_PLAIN;
    training_config narrow = DEFAULTS, values = DEFAULTS;
    const scaling *rule = scaling_find("sqrt");
    const optimizer *sgd = optimizer_find("sgd");
    decay.weight_decay = 0.1;
    clip.clip = 1;
    warm.warm_up = 10;
    warm.temperature_lr = 1;
    narrow.d_k = 3 * narrow.d_model / 2;
    ck_assert(product_applies(rule, sgd, &RECIPE_PLAIN, &narrow));
    narrow.d_k--;
    values.train_values = true;
    ck_assert(product_applies(rule, sgd, &RECIPE_PLAIN, &DEFAULTS));
    ck_assert(product_applies(rule, sgd, &warm, &DEFAULTS));
    ck_assert(!product_applies(scaling_find("rms"), sgd, &RECIPE_PLAIN, &DEFAULTS));
    ck_assert(!product_applies(rule, optimizer_find("momentum"), &RECIPE_PLAIN, &DEFAULTS));
    ck_assert(!product_applies(rule, optimizer_find("adam"), &RECIPE_PLAIN, &DEFAULTS));
    ck_assert(!product_applies(rule, sgd, &decay, &DEFAULTS));
    ck_assert(!product_applies(rule, sgd, &clip, &DEFAULTS));
    ck_assert(!product_applies(rule, sgd, &RECIPE_PLAIN, &narrow));
    ck_assert(!product_applies(rule, sgd, &RECIPE_PLAIN, &values));
}
END_TEST

/* ---- A backward of one's own ----------------------------------------------------------------- */

static void textbook(void *context, const double *p, const double *dp, tt_size n, double *dz) {
    double sum = 0;
    *(int *)context += 1;
    for (tt_size j = 0; j < n; j++) sum += p[j] * dp[j];
    for (tt_size j = 0; j < n; j++) dz[j] = p[j] * (dp[j] - sum);
}

START_TEST(another_backward_of_the_softmax_takes_the_place_of_its_own) {
    int rows = 0;
    const product_config config = {
        .rule = scaling_find("sqrt"), .gain = 1, .lr = 4, .backward = textbook, .context = &rows};
    assert_same_training(64, &config, 20); /* soft rows: no form of it cancels */
    ck_assert_int_eq(rows, 20 * 32 * 16);
}
END_TEST

static void nothing(void *context, const double *p, const double *dp, tt_size n, double *dz) {
    (void)context;
    (void)p;
    (void)dp;
    for (tt_size j = 0; j < n; j++) dz[j] = 0;
}

START_TEST(without_a_gradient_nothing_moves) {
    const product_config config = {
        .rule = scaling_find("sqrt"), .gain = 1, .lr = 4, .backward = nothing};
    pair x;
    pair_open(&x, 32, &config);
    const double before = product_weights_squared(&x.product);
    pair_learn(&x);
    pair_update(&x);
    ck_assert(product_weights_squared(&x.product) == before && gradient_squared(&x.product) == 0);
    pair_close(&x);
}
END_TEST

START_TEST(a_step_far_too_large_ceases_to_be_finite) {
    const product_config config = {.rule = scaling_find("none"), .gain = 1, .lr = 1e200};
    pair x;
    pair_open(&x, 32, &config);
    for (int step = 0; step < 3; step++) {
        pair_learn(&x);
        ck_assert(product_update(&x.product) == NULL);
    }
    ck_assert(!product_finite(&x.product));
    pair_close(&x);
}
END_TEST

Suite *product_suite(void) {
    const TTest *tests[] = {products_train_as_weights_do,
                            so_they_do_without_the_scale_until_rounding_shows,
                            rates_that_change_and_a_learned_temperature_go_along,
                            only_what_closes_on_the_products_may_be_trained_so,
                            another_backward_of_the_softmax_takes_the_place_of_its_own,
                            without_a_gradient_nothing_moves,
                            a_step_far_too_large_ceases_to_be_finite};
    return suite_of("product", tests, LENGTH(tests), 60);
}
