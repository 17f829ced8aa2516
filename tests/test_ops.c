/* test_ops.c: every operation's value on numbers small enough to do by hand, and its gradients
 * against finite differences. */
#include "suites.h"
#include "support.h"
#include "tt/attention.h"
#include "tt/ops.h"
#include "tt/softmax_error.h"

static tt_var build_matmul(tt_tape *tape, const tt_var *in) {
    return tt_matmul(tape, in[0], in[1]);
}

static tt_var build_matmul_nt(tt_tape *tape, const tt_var *in) {
    return tt_matmul_nt(tape, in[0], in[1]);
}

static tt_var build_add(tt_tape *tape, const tt_var *in) {
    return tt_add(tape, in[0], in[1]);
}

static tt_var build_scale(tt_tape *tape, const tt_var *in) {
    return tt_mul_scalar(tape, in[0], -1.75);
}

static tt_var build_softmax(tt_tape *tape, const tt_var *in) {
    return tt_softmax(tape, in[0]);
}

static tt_var build_mse(tt_tape *tape, const tt_var *in) {
    return tt_mse(tape, in[0], in[1]);
}

static tt_var build_dot(tt_tape *tape, const tt_var *in) {
    static double w[] = {1, -2, 3, 0.5, 4, -1};
    return tt_dot(tape, in[0], tt_tensor_view(w, 1, 2, 3));
}

static void check(build_fn *build, int count, tt_size b0, tt_size r0, tt_size c0, tt_size b1,
                  tt_size r1, tt_size c1) {
    tt_rng rng;
    tt_rng_seed(&rng, 11);
    tt_tensor inputs[] = {random_tensor(&rng, b0, r0, c0), random_tensor(&rng, b1, r1, c1)};
    assert_gradients(build, inputs, count, &rng);
    assert_gradients_twice(build, inputs, count, &rng);
    tt_tensor_free(&inputs[0]);
    tt_tensor_free(&inputs[1]);
}

START_TEST(matmul_gradients) {
    check(build_matmul, 2, 3, 4, 5, 3, 5, 2);
}
END_TEST

START_TEST(matmul_by_one_matrix_for_the_batch_gradients) {
    check(build_matmul, 2, 3, 4, 5, 1, 5, 2);
}
END_TEST

START_TEST(matmul_nt_gradients) {
    check(build_matmul_nt, 2, 3, 4, 5, 3, 2, 5);
}
END_TEST

START_TEST(matmul_nt_by_one_matrix_for_the_batch_gradients) {
    check(build_matmul_nt, 2, 3, 4, 5, 1, 2, 5);
}
END_TEST

START_TEST(add_gradients) {
    check(build_add, 2, 2, 3, 4, 2, 3, 4);
}
END_TEST

START_TEST(scale_gradients) {
    check(build_scale, 1, 2, 3, 4, 1, 1, 1);
}
END_TEST

START_TEST(softmax_gradients) {
    check(build_softmax, 1, 2, 3, 5, 1, 1, 1);
}
END_TEST

START_TEST(mse_gradients) {
    check(build_mse, 2, 2, 3, 2, 2, 3, 2);
}
END_TEST

START_TEST(dot_gradients) {
    check(build_dot, 1, 1, 2, 3, 1, 1, 1);
}
END_TEST

/* Compares a node's value with numbers that are exact in double. */
static void assert_values(tt_tape *tape, tt_var v, const double *expected) {
    tt_tensor t = tt_value(tape, v);
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
    for (tt_size i = 0; i < tt_tensor_count(t); i++)
        ck_assert_msg(t.data[i] == expected[i], "[%td]: %g, expected %g", i, t.data[i],
                      expected[i]);
}

START_TEST(values_by_hand) {
    double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    tt_tape *tape = tt_tape_new();
    tt_var x = tt_const(tape, tt_tensor_view(a, 1, 2, 2));
    tt_var y = tt_const(tape, tt_tensor_view(b, 1, 2, 2));
    assert_values(tape, tt_matmul(tape, x, y), (double[]){19, 22, 43, 50});
    assert_values(tape, tt_matmul_nt(tape, x, y), (double[]){17, 23, 39, 53});
    assert_values(tape, tt_add(tape, x, y), (double[]){6, 8, 10, 12});
    assert_values(tape, tt_mul_scalar(tape, x, 0.5), (double[]){0.5, 1, 1.5, 2});
    assert_values(tape, tt_mse(tape, x, y), (double[]){16});
    assert_values(tape, tt_dot(tape, x, tt_tensor_view(b, 1, 2, 2)), (double[]){70});
    double equal[] = {3, 3, -1, -1};
    assert_values(tape, tt_softmax(tape, tt_const(tape, tt_tensor_view(equal, 1, 2, 2))),
                  (double[]){0.5, 0.5, 0.5, 0.5});
    tt_tape_free(tape);
}
END_TEST

START_TEST(empty_tensors_are_ordinary) {
    double nothing = 0;
    tt_tape *tape = tt_tape_new();
    tt_var none = tt_const(tape, tt_tensor_view(&nothing, 2, 0, 3));
    tt_var flat = tt_const(tape, tt_tensor_view(&nothing, 2, 3, 0));
    ck_assert_int_eq(tt_tensor_count(tt_value(tape, tt_softmax(tape, none))), 0);
    assert_values(tape, tt_mse(tape, none, none), (double[]){0});
    assert_values(tape, tt_matmul(tape, flat, none),
                  (double[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    tt_tape_free(tape);
}
END_TEST

/* No loop goes over what has no elements: these would take years. */
START_TEST(empty_tensors_with_other_sizes_that_are_huge_take_no_time) {
    enum { LONG_WAY = sizeof(tt_size) > 4 ? 1 << 30 : 1 << 14 };
    double nothing = 0;
    tt_tape *tape = tt_tape_new();
    tt_var flat = tt_param(tape, tt_tensor_view(&nothing, LONG_WAY, LONG_WAY / 2, 0), NO_GRAD);
    tt_var none = tt_param(tape, tt_tensor_view(&nothing, LONG_WAY, 0, LONG_WAY / 2), NO_GRAD);
    tt_var one = tt_param(tape, tt_tensor_view(&nothing, 1, 0, 0), NO_GRAD);
    tt_var loss[] = {
        tt_mse(tape, flat, tt_softmax(tape, flat)), tt_mse(tape, flat, tt_matmul(tape, flat, one)),
        tt_mse(tape, none, tt_softmax(tape, none)),
        tt_mse(tape, flat, tt_matmul_nt(tape, flat, one)),
        tt_mse(tape, none,
               tt_attention(tape, none, none, none, (tt_attention_options){.scale = 1}))};
    for (int i = 0; i < LENGTH(loss); i++) {
        tt_backward(tape, loss[i]);
        ck_assert_ptr_null(tt_tape_error(tape));
        assert_values(tape, loss[i], (double[]){0});
    }
    const tt_tensor flat_y = tt_tensor_view(&nothing, LONG_WAY, LONG_WAY / 2, 0);
    ck_assert(tt_softmax_error(flat_y, 1, flat_y, flat_y, &nothing) == 0);
    tt_tape_free(tape);
}
END_TEST

/* More entries than a block of the sum. */
START_TEST(softmax_error_has_the_bits_of_the_operations) {
    enum { B = 3, TQ = 5, TK = 9, D = 17 };
    tt_rng rng;
    tt_rng_seed(&rng, 12);
    tt_tensor z = random_tensor(&rng, B, TQ, TK), v = random_tensor(&rng, B, TK, D);
    tt_tensor y = random_tensor(&rng, B, TQ, D);
    double scratch[TQ * (TK + D)];
    tt_tape *tape = tt_tape_new();
    tt_var w = tt_softmax(tape, tt_mul_scalar(tape, tt_const(tape, z), 1.7));
    tt_var error = tt_mse(tape, tt_matmul(tape, w, tt_const(tape, v)), tt_const(tape, y));
    ck_assert_int_eq(tt_softmax_error_scratch(z, v), LENGTH(scratch));
    ck_assert(tt_softmax_error(z, 1.7, v, y, scratch) == tt_value(tape, error).data[0]);
    ck_assert(
        tt_softmax_error((tt_tensor){.data = NULL}, 1, v, (tt_tensor){.data = NULL}, scratch) == 0);
    tt_tape_free(tape);
    tt_tensor_free(&z);
    tt_tensor_free(&v);
    tt_tensor_free(&y);
}
END_TEST

Suite *ops_suite(void) {
    const TTest *tests[] = {matmul_gradients,
                            matmul_by_one_matrix_for_the_batch_gradients,
                            matmul_nt_gradients,
                            matmul_nt_by_one_matrix_for_the_batch_gradients,
                            add_gradients,
                            scale_gradients,
                            softmax_gradients,
                            mse_gradients,
                            dot_gradients,
                            values_by_hand,
                            empty_tensors_are_ordinary,
                            empty_tensors_with_other_sizes_that_are_huge_take_no_time,
                            softmax_error_has_the_bits_of_the_operations};
    return suite_of("ops", tests, LENGTH(tests), 60);
}
