/* test_scale.c: each scaling rule three times: its logits against a plain formula, its gradients
 * against finite differences with and without a mask, and what is defined for zero vectors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scaling.h"
#include "suites.h"
#include "support.h"
#include "tt/attention.h"
#include "tt/norm.h"

enum { TQ = 3, TK = 5, DK = 4, DV = 2 };

/* Query i sees key j; the last key is seen by nobody, and query 2 sees one key only. */
static const unsigned char ALLOWED[TQ * TK] = {1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0};

static const scaling *rule_in_use;
static bool masked;
static tt_size rows_in_use; /* 0 but where a test says so */

static tt_attention_options options_in_use(void) {
    tt_attention_options o = {.rule = &rule_in_use->rule, .rows = rows_in_use};
    if (masked) o.mask.allowed = ALLOWED;
    return o;
}

static tt_var build(tt_tape *tape, const tt_var *in) {
    return tt_attention(tape, in[0], in[1], in[2], options_in_use());
}

/* ---- Plain formulas, written without the table ----------------------------------------------- */

static double dot(const double *a, const double *b) {
    double sum = 0;
    for (int d = 0; d < DK; d++) sum += a[d] * b[d];
    return sum;
}

static bool sees(int i, int j) {
    return !masked || ALLOWED[i * TK + j];
}

static double plain_logit(const char *name, const double *q, const double *keys, int i, int j) {
    const char *times = strchr(name, '*');
    if (times) {
        char rule[16] = "";
        memcpy(rule, name, (size_t)(times - name));
        return strtod(times + 1, NULL) * plain_logit(rule, q, keys, i, j);
    }
    const double *k = keys + (ptrdiff_t)j * DK;
    double s = dot(q, k), visible = 0, key_sum = 0;
    for (int l = 0; l < TK; l++) {
        if (!sees(i, l)) continue;
        visible++;
        key_sum += sqrt(dot(keys + (ptrdiff_t)l * DK, keys + (ptrdiff_t)l * DK));
    }
    double cosine = s / sqrt(dot(q, q) * dot(k, k));
    if (strcmp(name, "sqrt") == 0) return s / sqrt(DK);
    if (strcmp(name, "linear") == 0) return s / (double)DK;
    if (strcmp(name, "log") == 0) return 0.43 * log(visible) * s / sqrt(DK);
    if (strcmp(name, "keys") == 0) return s / key_sum;
    if (strcmp(name, "cosine") == 0) return log2(TK * TK - TK) * cosine;
    if (strcmp(name, "rms") == 0) return (double)DK * cosine / sqrt(DK);
    if (strcmp(name, "0.125") == 0) return 0.125 * s;
    if (strcmp(name, "none") == 0 || strcmp(name, "t5") == 0) return s;
    ck_abort_msg("no plain formula of rule %s", name);
    return NAN;
}

static void check_logits(void) {
    tt_tensor in[3];
    tt_rng rng;
    draw_inputs(&rng, 5, in, 1, TQ, TK, DK, DV);
    tt_tape *tape = tt_tape_new();
    tt_var v[3];
    for (int i = 0; i < 3; i++) v[i] = tt_const(tape, in[i]);
    const double *z = tt_attention_logits(tape, build(tape, v)).data;
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
    for (int i = 0; i < TQ; i++)
        for (int j = 0; j < TK; j++) {
            if (!sees(i, j)) continue; /* a masked logit means nothing */
            const double *q = in[0].data + (ptrdiff_t)i * DK;
            double expected = plain_logit(rule_in_use->name, q, in[1].data, i, j);
            /* a product of four terms and three factors, each rounded to 1.1e-16 of a size <= 10 */
            ck_assert_double_eq_tol(z[i * TK + j], expected, 1e-14);
        }
    tt_tape_free(tape);
    free_inputs(in);
}

static void check_rule(const scaling *rule) {
    rule_in_use = rule;
    for (int m = 0; m < 2; m++) {
        tt_tensor in[3];
        tt_rng rng;
        masked = m == 1;
        check_logits();
        draw_inputs(&rng, 5, in, 1, TQ, TK, DK, DV);
        assert_gradients(build, in, 3, &rng);
        assert_gradients_twice(build, in, 3, &rng);
        free_inputs(in);
    }
}

START_TEST(each_rule_has_its_plain_logits_and_numeric_gradients) {
    check_rule(scaling_at(_i));
}
END_TEST

START_TEST(a_number_is_a_rule_too) {
    scaling rule = scaling_number("0.125", "0.125 q.k", 0.125);
    check_rule(&rule);
    ck_assert(scaling_logit_step(&rule, 4, 9) == 0.0625);
    ck_assert(scaling_factor(&(scaling){.rule.number = -2}, 4, 9) == 2);
}
END_TEST

START_TEST(a_rule_times_a_number_has_that_many_times_its_logits) {
    char name[16];
    (void)snprintf(name, sizeof name, "%s*-0.5", scaling_name(_i));
    scaling product = scaling_times(name, "", scaling_at(_i), -0.5);
    check_rule(&product);
    ck_assert(scaling_query_gain(&product, 4) == scaling_query_gain(scaling_at(_i), 4));
    if (!scaling_is_constant(&product)) return;
    /* the factor is a power of two, so exact; 1/sqrt(4) and 1/4 are too, the logarithm's is not */
    ck_assert_double_eq_tol(scaling_logit_step(&product, 4, 9),
                            scaling_logit_step(scaling_at(_i), 4, 9) / 4, 1e-16);
}
END_TEST

/* A key sum's gradient through the norms does not depend on the number that multiplies it. */
START_TEST(a_rule_with_norms_may_have_a_number_of_its_own) {
    static const tt_norms NORMS[] = {TT_NORMS_COSINE, TT_NORMS_KEY_SUM};
    for (int i = 0; i < 2; i++) {
        const scaling three = {.name = "three", .rule = {.norms = NORMS[i], .number = 3}};
        tt_tensor in[3];
        tt_rng rng;
        rule_in_use = &three;
        masked = true;
        draw_inputs(&rng, 5, in, 1, TQ, TK, DK, DV);
        assert_gradients(build, in, 3, &rng);
        free_inputs(in);
    }
}
END_TEST

/* ---- A learned factor, and the tangent ------------------------------------------------------- */

static tt_var build_learned(tt_tape *tape, const tt_var *in) {
    tt_attention_options o = options_in_use();
    o.logit_scale = &in[3];
    return tt_attention(tape, in[0], in[1], in[2], o);
}

START_TEST(a_learned_factor_multiplies_every_logit_and_has_its_gradient) {
    rule_in_use = scaling_at(_i);
    for (int m = 0; m < 2; m++) {
        tt_tensor in[4];
        tt_rng rng;
        double tau = 0.7;
        masked = m == 1;
        draw_inputs(&rng, 5, in, 1, TQ, TK, DK, DV);
        in[3] = tt_tensor_view(&tau, 1, 1, 1);
        assert_gradients(build_learned, in, 4, &rng);
        tt_tape *tape = tt_tape_new();
        tt_var v[4];
        for (int i = 0; i < 4; i++) v[i] = tt_const(tape, in[i]);
        const double *z = tt_attention_logits(tape, build(tape, v)).data;
        const double *learned = tt_attention_logits(tape, build_learned(tape, v)).data;
        for (int i = 0; i < TQ; i++)
            for (int j = 0; j < TK; j++)
                if (sees(i, j)) /* two more roundings of a size <= 20 */
                    ck_assert_double_eq_tol(learned[i * TK + j], exp(0.7) * z[i * TK + j], 1e-14);
        tt_tape_free(tape);
        free_inputs(in);
    }
}
END_TEST

START_TEST(a_learned_factor_must_be_one_number_and_may_overflow) {
    double x[] = {1, 800};
    tt_tape *tape = tt_tape_new();
    tt_var a = tt_const(tape, tt_tensor_view(x, 1, 1, 1)), large;
    const tt_var two = tt_const(tape, tt_tensor_view(x, 1, 1, 2));
    (void)tt_attention(tape, a, a, a, (tt_attention_options){.scale = 1, .logit_scale = &two});
    assert_says(tt_tape_error(tape), "not one number");
    tt_tape_reset(tape);
    a = tt_const(tape, tt_tensor_view(x, 1, 1, 1));
    large = tt_const(tape, tt_tensor_view(x + 1, 1, 1, 1));
    tt_var o =
        tt_attention(tape, a, a, a, (tt_attention_options){.scale = 1, .logit_scale = &large});
    ck_assert(!tt_tape_error(tape) && isinf(tt_attention_logits(tape, o).data[0]));
    tt_tape_free(tape);
}
END_TEST

static double product(tt_tensor a, tt_tensor b) {
    double sum = 0;
    for (tt_size i = 0; i < tt_tensor_count(a); i++) sum += a.data[i] * b.data[i];
    return sum;
}

/* <dZ of the tangent, dZ of backward> = <dQ, its gradient> + <dK, its> + dtau its. */
START_TEST(the_tangent_is_the_adjoint_of_backward_under_every_rule) {
    rule_in_use = scaling_at(_i);
    for (int m = 0; m < 2; m++) {
        tt_tensor in[4];
        tt_rng rng;
        double tau = 0.3;
        masked = m == 1;
        draw_inputs(&rng, 6, in, 1, TQ, TK, DK, DV);
        in[3] = tt_tensor_view(&tau, 1, 1, 1);
        tt_tensor dq = random_tensor(&rng, 1, TQ, DK), dk = random_tensor(&rng, 1, TK, DK);
        tt_tensor dout = random_tensor(&rng, 1, TQ, DV), dz = random_tensor(&rng, 1, TQ, TK);
        tt_tape *tape = tt_tape_new();
        tt_var v[4];
        for (int i = 0; i < 4; i++) v[i] = tt_param(tape, in[i], NO_GRAD);
        tt_var out = build_learned(tape, v);
        tt_backward_from(tape, out, dout);
        ck_assert(tt_attention_tangent(tape, out, dq, dk, 0.5, dz));
        const double forward = product(dz, tt_attention_logits_grad(tape, out));
        const double backward = product(dq, tt_grad(tape, v[0])) +
                                product(dk, tt_grad(tape, v[1])) +
                                0.5 * tt_grad(tape, v[3]).data[0];
        /* sums of 60 products of order 1 */
        ck_assert_double_eq_tol(forward, backward, 1e-13);
        for (int at = 0; masked && at < TQ * TK; at++) ck_assert(ALLOWED[at] || dz.data[at] == 0);
        ck_assert(!tt_attention_tangent(tape, v[0], dq, dk, 0.5, dz));
        tt_tensor_free(&dq);
        tt_tensor_free(&dk);
        tt_tensor_free(&dz);
        tt_tensor_free(&dout);
        tt_tape_free(tape);
        free_inputs(in);
    }
}
END_TEST

/* With all its gradients and a tangent: in order, O, dQ, dK, dV, dtau, dZ of the tangent. */
enum { RESULTS = 6 };

static void learn(tt_tape *tape, const tt_tensor in[4], tt_size rows, tt_tensor results[RESULTS]) {
    tt_var v[4];
    rows_in_use = rows;
    for (int i = 0; i < 4; i++) v[i] = tt_param(tape, in[i], NO_GRAD);
    tt_var out = build_learned(tape, v);
    tt_backward_from(tape, out, tt_value(tape, out));
    results[0] = tt_value(tape, out);
    for (int i = 0; i < 4; i++) results[1 + i] = tt_grad(tape, v[i]);
    results[5] = tt_tape_tensor(tape, 1, TQ, TK);
    ck_assert(tt_attention_tangent(tape, out, in[0], in[1], 0.5, results[5]));
    ck_assert((tt_attention_weights(tape, out).data == NULL) == (rows < TQ));
    rows_in_use = 0;
}

START_TEST(few_rows_at_a_time_change_no_bit_and_with_norms_none_but_of_keys) {
    rule_in_use = scaling_at(_i);
    const bool norms = rule_in_use->rule.norms != TT_NORMS_NONE;
    for (int m = 0; m < 2; m++) {
        tt_tensor in[4], whole[RESULTS], part[RESULTS];
        tt_rng rng;
        double tau = 0.3;
        masked = m == 1;
        draw_inputs(&rng, 7, in, 1, TQ, TK, DK, DV);
        in[3] = tt_tensor_view(&tau, 1, 1, 1);
        tt_tape *one = tt_tape_new(), *other = tt_tape_new();
        learn(one, in, TT_ATTENTION_ALL, whole);
        for (tt_size rows = 1; rows < TQ; rows++) {
            tt_tape_reset(other);
            learn(other, in, rows, part);
            for (int r = 0; r < RESULTS; r++)
                if (r != 2 || !norms) assert_same_bits(whole[r], part[r]);
            for (int i = 0; i < TK * DK; i++) /* sums of a few terms of order 1, in other order */
                ck_assert_double_eq_tol(whole[2].data[i], part[2].data[i], 1e-14);
        }
        tt_tape_free(one);
        tt_tape_free(other);
        free_inputs(in);
    }
}
END_TEST

START_TEST(every_rule_of_the_table_is_found_by_its_name) {
    for (int i = 0; scaling_at(i); i++) ck_assert(scaling_find(scaling_name(i)) == scaling_at(i));
}
END_TEST

/* ---- Corners --------------------------------------------------------------------------------- */

/* Forward and backward with Q or K of zeros; all logits must be 0, so the weights uniform, and
 * everything finite. Returns the norm of dQ. */
static double zero_vectors(const char *rule, bool zero_query) {
    tt_tensor in[3];
    tt_rng rng;
    rule_in_use = scaling_find(rule);
    masked = false;
    draw_inputs(&rng, 5, in, 1, TQ, TK, DK, DV);
    tt_tensor zero = in[zero_query ? 0 : 1];
    memset(zero.data, 0, (size_t)tt_tensor_count(zero) * sizeof(double));
    tt_tape *tape = tt_tape_new();
    tt_var v[3];
    for (int i = 0; i < 3; i++) v[i] = tt_param(tape, in[i], NO_GRAD);
    tt_var out = build(tape, v);
    tt_tensor dout = random_tensor(&rng, 1, TQ, DV);
    tt_backward_from(tape, out, dout);
    for (int i = 0; i < TQ * TK; i++) {
        ck_assert(tt_attention_logits(tape, out).data[i] == 0);
        /* 1 over a sum of ones: two roundings of 0.2 */
        ck_assert_double_eq_tol(tt_attention_weights(tape, out).data[i], 1.0 / (double)TK, 1e-16);
    }
    double dq = tt_norm(tt_grad(tape, v[0]).data, TQ * DK);
    ck_assert(isfinite(dq) && isfinite(tt_norm(tt_grad(tape, v[1]).data, TK * DK)));
    tt_tensor_free(&dout);
    tt_tape_free(tape);
    free_inputs(in);
    return dq;
}

START_TEST(zero_vectors_have_logits_0_and_finite_gradients) {
    ck_assert(zero_vectors("cosine", true) == 0);
    ck_assert(zero_vectors("cosine", false) == 0);
    ck_assert(zero_vectors("rms", true) == 0);
    ck_assert(zero_vectors("rms", false) == 0);
    ck_assert(zero_vectors("keys", false) == 0);
    ck_assert(zero_vectors("keys", true) > 0); /* no norm of a query stands in this rule */
}
END_TEST

START_TEST(t5_starts_the_queries_smaller_and_no_other_rule_does) {
    for (int i = 0; scaling_at(i); i++) {
        bool t5 = strcmp(scaling_name(i), "t5") == 0;
        ck_assert(scaling_query_gain(scaling_at(i), 64) == (t5 ? 0.125 : 1));
    }
}
END_TEST

START_TEST(the_step_in_logits_is_the_square_of_a_constant_factor_times_d_k) {
    const tt_scale_row row = {48, 5, 5};
    for (int i = 0; scaling_at(i); i++) {
        const scaling *s = scaling_at(i);
        double step = scaling_logit_step(s, 48, 5), f = tt_scale_factor(&s->rule, row);
        if (!isnan(step))
            ck_assert_double_eq_tol(step / (f * f * 48), 1, 1e-15); /* three roundings either way */
        else
            ck_assert(!scaling_is_constant(s));
    }
    ck_assert(scaling_logit_step(scaling_find("sqrt"), 48, 5) == 1);
    ck_assert(isnan(scaling_logit_step(scaling_find("cosine"), 48, 5)));
}
END_TEST

START_TEST(an_unknown_name_is_no_rule) {
    ck_assert(scaling_find("no-such-rule") == NULL);
    ck_assert(scaling_find("") == NULL);
}
END_TEST

Suite *scale_suite(void) {
    const TTest *tests[] = {a_number_is_a_rule_too,
                            a_rule_with_norms_may_have_a_number_of_its_own,
                            a_learned_factor_must_be_one_number_and_may_overflow,
                            every_rule_of_the_table_is_found_by_its_name,
                            zero_vectors_have_logits_0_and_finite_gradients,
                            t5_starts_the_queries_smaller_and_no_other_rule_does,
                            the_step_in_logits_is_the_square_of_a_constant_factor_times_d_k,
                            an_unknown_name_is_no_rule};
    int count = 0;
    while (scaling_at(count)) count++;
    Suite *suite = suite_of("scale", tests, LENGTH(tests), 60);
    add_loop(suite, each_rule_has_its_plain_logits_and_numeric_gradients, count, 60);
    add_loop(suite, a_rule_times_a_number_has_that_many_times_its_logits, count, 60);
    add_loop(suite, a_learned_factor_multiplies_every_logit_and_has_its_gradient, count, 60);
    add_loop(suite, the_tangent_is_the_adjoint_of_backward_under_every_rule, count, 60);
    add_loop(suite, few_rows_at_a_time_change_no_bit_and_with_norms_none_but_of_keys, count, 60);
    return suite;
}
