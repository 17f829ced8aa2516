/* test_attention.c: attention stands three times, fused, composed of elementary operations and as
 * finite differences, and the three agree; and it gives the worked example's numbers. */
#include <math.h>

#include "suites.h"
#include "support.h"
#include "tt/attention.h"
#include "tt/ops.h"

static double scale_in_use;

static tt_var build_fused(tt_tape *tape, const tt_var *in) {
    return tt_attention(tape, in[0], in[1], in[2], (tt_attention_options){.scale = scale_in_use});
}

static tt_var build_composed(tt_tape *tape, const tt_var *in) {
    tt_var scores = tt_matmul_nt(tape, in[0], in[1]);
    return tt_matmul(tape, tt_softmax(tape, tt_scale(tape, scores, scale_in_use)), in[2]);
}

/* Q, K, V of B, Tq, Tk, d_k, d_v. */
static void draw_inputs(tt_rng *rng, tt_tensor in[3], tt_size b, tt_size tq, tt_size tk, tt_size dk,
                        tt_size dv) {
    in[0] = random_tensor(rng, b, tq, dk);
    in[1] = random_tensor(rng, b, tk, dk);
    in[2] = random_tensor(rng, b, tk, dv);
}

static void free_inputs(tt_tensor in[3]) {
    for (int i = 0; i < 3; i++) tt_tensor_free(&in[i]);
}

static void check_numeric(double scale, tt_size b, tt_size tq, tt_size tk, tt_size dk, tt_size dv) {
    tt_rng rng;
    tt_tensor in[3];
    tt_rng_seed(&rng, 21);
    scale_in_use = scale;
    draw_inputs(&rng, in, b, tq, tk, dk, dv);
    assert_gradients(build_fused, in, 3, &rng);
    free_inputs(in);
}

START_TEST(gradients_scaled) {
    check_numeric(1 / sqrt(8), 2, 5, 5, 8, 8);
}
END_TEST

START_TEST(gradients_unscaled) {
    check_numeric(1, 2, 5, 5, 8, 8);
}
END_TEST

START_TEST(gradients_with_more_keys_than_queries_and_other_value_width) {
    check_numeric(0.4, 3, 2, 7, 4, 3);
}
END_TEST

START_TEST(gradients_with_more_queries_than_keys) {
    check_numeric(-0.7, 1, 6, 2, 3, 5);
}
END_TEST

static void run_with_gradients(build_fn *build, const tt_tensor in[3], tt_tensor w, tt_tape *tape,
                               tt_var var[4]) {
    for (int i = 0; i < 3; i++) var[i] = tt_param(tape, in[i], (tt_tensor){0, 0, 0, NULL});
    var[3] = build(tape, var);
    tt_backward_from(tape, var[3], w);
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
}

START_TEST(fused_equals_composed) {
    tt_rng rng;
    tt_tensor in[3];
    tt_var fused[4], composed[4];
    tt_rng_seed(&rng, 22);
    scale_in_use = 1 / sqrt(24);
    draw_inputs(&rng, in, 3, 10, 17, 24, 5);
    tt_tensor w = random_tensor(&rng, 3, 10, 5);
    tt_tape *one = tt_tape_new(), *other = tt_tape_new();
    run_with_gradients(build_fused, in, w, one, fused);
    run_with_gradients(build_composed, in, w, other, composed);
    assert_same_bits(tt_value(one, fused[3]), tt_value(other, composed[3]));
    for (int i = 0; i < 3; i++) {
        tt_tensor a = tt_grad(one, fused[i]), b = tt_grad(other, composed[i]);
        /* the same sums of up to 17 terms of order 1; only s dZ rounds in another place */
        for (tt_size j = 0; j < tt_tensor_count(a); j++)
            ck_assert_double_eq_tol(a.data[j], b.data[j], 1e-14);
    }
    free_inputs(in);
    tt_tensor_free(&w);
    tt_tape_free(one);
    tt_tape_free(other);
}
END_TEST

START_TEST(worked_example) {
    /* q = (1,0), keys (1,0) and (0,1), values (10,0) and (0,20), d_k = 2 */
    double q[] = {1, 0}, k[] = {1, 0, 0, 1}, v[] = {10, 0, 0, 20};
    tt_tape *tape = tt_tape_new();
    tt_var out = tt_attention(tape, tt_const(tape, tt_tensor_view(q, 1, 1, 2)),
                              tt_const(tape, tt_tensor_view(k, 1, 2, 2)),
                              tt_const(tape, tt_tensor_view(v, 1, 2, 2)),
                              (tt_attention_options){.scale = 1 / sqrt(2)});
    const double *w = tt_attention_weights(tape, out).data, *o = tt_value(tape, out).data;
    double exact = 1 / (1 + exp(-1 / sqrt(2)));
    ck_assert_double_eq_tol(w[0], 0.66976, 5e-6); /* as the lesson prints it */
    ck_assert_double_eq_tol(w[1], 0.33024, 5e-6);
    ck_assert_double_eq_tol(o[0], 6.6976, 5e-5);
    ck_assert_double_eq_tol(o[1], 6.6048, 5e-5);
    ck_assert_double_eq_tol(w[0], exact, 2e-16); /* further digits: an ulp of the closed form */
    ck_assert_double_eq_tol(o[0], 10 * exact, 2e-15);
    ck_assert_double_eq_tol(o[1], 20 * (1 - exact), 4e-15);
    ck_assert_double_eq_tol(tt_attention_logits(tape, out).data[0], 1 / sqrt(2), 2e-16);
    tt_tape_free(tape);
}
END_TEST

START_TEST(accessors_know_their_own_operation_only) {
    double x = 1;
    tt_tape *tape = tt_tape_new();
    tt_var v = tt_const(tape, tt_tensor_view(&x, 1, 1, 1));
    ck_assert(tt_attention_weights(tape, v).data == NULL);
    ck_assert(tt_attention_logits(tape, tt_softmax(tape, v)).data == NULL);
    ck_assert(tt_attention_logits_grad(tape, (tt_var){-1, 0}).data == NULL);
    tt_tape_free(tape);
}
END_TEST

START_TEST(no_keys_give_an_output_of_zero) {
    double q[] = {1, 2}, none = 0;
    tt_tape *tape = tt_tape_new();
    tt_var out = tt_attention(tape, tt_const(tape, tt_tensor_view(q, 1, 1, 2)),
                              tt_const(tape, tt_tensor_view(&none, 1, 0, 2)),
                              tt_const(tape, tt_tensor_view(&none, 1, 0, 3)),
                              (tt_attention_options){.scale = 1});
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
    for (int i = 0; i < 3; i++) ck_assert(tt_value(tape, out).data[i] == 0);
    tt_tape_free(tape);
}
END_TEST

Suite *attention_suite(void) {
    const TTest *tests[] = {gradients_scaled,
                            gradients_unscaled,
                            gradients_with_more_keys_than_queries_and_other_value_width,
                            gradients_with_more_queries_than_keys,
                            fused_equals_composed,
                            worked_example,
                            accessors_know_their_own_operation_only,
                            no_keys_give_an_output_of_zero};
    return suite_of("attention", tests, sizeof tests / sizeof *tests, 60);
}
