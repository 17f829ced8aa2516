/* test_tape.c: recording, walking back, memory and errors. */
#include <stdint.h>
#include <string.h>

#include "suites.h"
#include "support.h"
#include "tt/attention.h"
#include "tt/ops.h"

START_TEST(a_variable_used_twice_gets_both_gradients) {
    double x = 3, gx = 0;
    tt_tape *tape = tt_tape_new();
    tt_var v = tt_param(tape, tt_tensor_view(&x, 1, 1, 1), tt_tensor_view(&gx, 1, 1, 1));
    tt_backward(tape, tt_matmul(tape, v, v)); /* x^2 */
    ck_assert(!tt_tape_error(tape));
    ck_assert(gx == 6);
    tt_tape_free(tape);
}
END_TEST

START_TEST(a_second_backward_doubles_parameters_exactly_and_restarts_nodes) {
    tt_rng rng;
    tt_rng_seed(&rng, 3);
    tt_tensor x = random_tensor(&rng, 2, 5, 7), w = random_tensor(&rng, 1, 7, 4);
    tt_tensor y = random_tensor(&rng, 2, 5, 4);
    tt_tensor grad = tt_tensor_new(1, 7, 4), once = tt_tensor_new(1, 7, 4);
    tt_tape *tape = tt_tape_new();
    tt_var weights = tt_param(tape, w, grad);
    tt_var product = tt_matmul(tape, tt_const(tape, x), weights);
    tt_var loss = tt_mse(tape, tt_softmax(tape, product), tt_const(tape, y));
    tt_backward(tape, loss);
    memcpy(once.data, grad.data, 28 * sizeof(double));
    double node = tt_grad(tape, product).data[3];
    tt_backward(tape, loss);
    for (int i = 0; i < 28; i++) ck_assert(grad.data[i] == 2 * once.data[i]);
    assert_same_bits(tt_grad(tape, weights), once);
    ck_assert(node != 0 && tt_grad(tape, product).data[3] == node);
    tt_tape_free(tape);
    tt_tensor_free(&x);
    tt_tensor_free(&w);
    tt_tensor_free(&y);
    tt_tensor_free(&grad);
    tt_tensor_free(&once);
}
END_TEST

START_TEST(backward_from_a_cotangent_scales_the_gradient) {
    double x = 5, gx = 0, cotangent = 0.5;
    tt_tape *tape = tt_tape_new();
    tt_var v = tt_param(tape, tt_tensor_view(&x, 1, 1, 1), tt_tensor_view(&gx, 1, 1, 1));
    tt_backward_from(tape, tt_mul_scalar(tape, v, 4), tt_tensor_view(&cotangent, 1, 1, 1));
    ck_assert(gx == 2);
    tt_tape_free(tape);
}
END_TEST

START_TEST(a_backward_from_a_constant_leaves_no_earlier_gradient) {
    double x = 5, w = 2;
    tt_tape *tape = tt_tape_new();
    tt_var c = tt_const(tape, tt_tensor_view(&x, 1, 1, 1));
    tt_var p = tt_param(tape, tt_tensor_view(&w, 1, 1, 1), NO_GRAD);
    tt_backward(tape, tt_matmul(tape, c, p));
    tt_backward(tape, c);
    ck_assert(!tt_tape_error(tape) && tt_grad(tape, p).data[0] == 0);
    tt_tape_free(tape);
}
END_TEST

START_TEST(constants_beside_a_parameter_get_no_gradient) {
    double x = 5, w = 2;
    tt_tape *tape = tt_tape_new();
    tt_var c = tt_const(tape, tt_tensor_view(&x, 1, 1, 1));
    tt_var p = tt_param(tape, tt_tensor_view(&w, 1, 1, 1), NO_GRAD);
    tt_backward(tape, tt_matmul(tape, c, p));
    ck_assert(tt_grad(tape, c).data == NULL && tt_grad(tape, p).data[0] == 5);
    tt_tape_free(tape);
}
END_TEST

START_TEST(a_gradient_of_the_tape_can_be_the_cotangent) {
    double x = 5;
    tt_tape *tape = tt_tape_new();
    tt_var v = tt_param(tape, tt_tensor_view(&x, 1, 1, 1), NO_GRAD);
    tt_var twice = tt_mul_scalar(tape, v, 2);
    tt_backward(tape, tt_mul_scalar(tape, twice, 3));
    tt_backward_from(tape, twice, tt_grad(tape, twice)); /* 3 */
    ck_assert(tt_grad(tape, twice).data[0] == 3 && tt_grad(tape, v).data[0] == 6);
    tt_tape_free(tape);
}
END_TEST

START_TEST(a_cotangent_of_another_shape_is_refused) {
    double x[4] = {1, 2, 3, 4};
    tt_tape *tape = tt_tape_new();
    tt_var v = tt_param(tape, tt_tensor_view(x, 2, 1, 2), NO_GRAD);
    tt_backward_from(tape, v, tt_tensor_view(x, 1, 1, 2));
    ck_assert_str_eq(tt_tape_error(tape), "backward: value [2,1,2] and cotangent [1,1,2] differ");
    tt_tape_free(tape);
}
END_TEST

START_TEST(memory_of_the_tape_is_aligned_to_64_bytes) {
    tt_tape *tape = tt_tape_new();
    for (size_t bytes = 1; bytes < 300; bytes += 37)
        ck_assert_uint_eq((uintptr_t)tt_tape_alloc(tape, bytes) % 64, 0);
    tt_tape_free(tape);
}
END_TEST

START_TEST(constants_and_what_stands_on_them_get_no_gradient) {
    double x = 5;
    tt_tape *tape = tt_tape_new();
    tt_var c = tt_const(tape, tt_tensor_view(&x, 1, 1, 1));
    tt_var twice = tt_mul_scalar(tape, c, 2);
    tt_backward(tape, twice);
    ck_assert(!tt_tape_error(tape));
    ck_assert(tt_grad(tape, c).data == NULL && tt_grad(tape, twice).data == NULL);
    tt_tape_free(tape);
}
END_TEST

/* One training step's worth of nodes of different sizes. */
static void step(tt_tape *tape, tt_tensor x, tt_tensor w) {
    tt_tape_reset(tape);
    tt_var h = tt_matmul(tape, tt_const(tape, x), tt_param(tape, w, NO_GRAD));
    tt_attention_options options = {.scale = 0.5};
    tt_backward(tape, tt_mse(tape, tt_attention(tape, h, h, h, options), tt_const(tape, x)));
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
}

START_TEST(a_repeated_step_allocates_nothing) {
    tt_rng rng;
    tt_rng_seed(&rng, 4);
    tt_tensor x = random_tensor(&rng, 3, 40, 60), w = random_tensor(&rng, 1, 60, 60);
    tt_tape *tape = tt_tape_new();
    step(tape, x, w);
    size_t bytes = tt_tape_bytes(tape);
    for (int i = 0; i < 5; i++) step(tape, x, w);
    ck_assert_uint_eq(tt_tape_bytes(tape), bytes);
    tt_tape_free(tape);
    tt_tensor_free(&x);
    tt_tensor_free(&w);
}
END_TEST

START_TEST(pointers_into_the_tape_stay_good_while_it_grows) {
    double x = 1;
    tt_tape *tape = tt_tape_new();
    tt_var first = tt_mul_scalar(tape, tt_const(tape, tt_tensor_view(&x, 1, 1, 1)), 7);
    const double *before = tt_value(tape, first).data;
    for (int i = 0; i < 100; i++) (void)tt_tape_tensor(tape, 1, 100, 100);
    ck_assert(tt_value(tape, first).data == before && *before == 7);
    tt_tape_free(tape);
}
END_TEST

START_TEST(the_first_error_stays_and_names_operation_and_shapes) {
    double a[12] = {0}, b[10] = {0};
    tt_tape *tape = tt_tape_new();
    tt_var x = tt_const(tape, tt_tensor_view(a, 1, 4, 3));
    tt_var y = tt_const(tape, tt_tensor_view(b, 1, 2, 5));
    tt_var bad = tt_matmul(tape, x, y);
    tt_var later = tt_add(tape, x, y);
    tt_backward(tape, later);
    ck_assert_str_eq(tt_tape_error(tape), "matmul: [1,4,3] x [1,2,5]: inner sizes 3 and 2 differ");
    ck_assert_int_eq(bad.id, -1);
    ck_assert_int_eq(later.id, -1);
    tt_tape_reset(tape);
    ck_assert(!tt_tape_error(tape));
    tt_tape_free(tape);
}
END_TEST

static void assert_error(tt_tape *tape, const char *expected) {
    ck_assert_ptr_nonnull(tt_tape_error(tape));
    ck_assert_str_eq(tt_tape_error(tape), expected);
    tt_tape_reset(tape);
}

START_TEST(every_wrong_call_is_named) {
    double a[24] = {0};
    tt_tape *tape = tt_tape_new();
#define CONST(b, r, c) tt_const(tape, tt_tensor_view(a, b, r, c))
    (void)tt_matmul(tape, CONST(3, 2, 2), CONST(2, 2, 3));
    assert_error(tape, "matmul: [3,2,2] x [2,2,3]: batches 3 and 2 differ");
    (void)tt_matmul_nt(tape, CONST(1, 2, 3), CONST(1, 2, 4));
    assert_error(tape, "matmul_nt: [1,2,3] x [1,2,4]: inner sizes 3 and 4 differ");
    (void)tt_add(tape, CONST(1, 2, 3), CONST(1, 3, 2));
    assert_error(tape, "add: [1,2,3] and [1,3,2]: shapes differ");
    (void)tt_mse(tape, CONST(1, 2, 3), CONST(2, 2, 3));
    assert_error(tape, "mse: [1,2,3] and [2,2,3]: shapes differ");
    (void)tt_dot(tape, CONST(1, 2, 3), tt_tensor_view(a, 1, 1, 6));
    assert_error(tape, "dot: [1,2,3] and [1,1,6]: shapes differ");
    (void)tt_mul_scalar(tape, CONST(1, 1, 1), 1.0 / 0.0);
    assert_error(tape, "mul_scalar: the factor inf is not finite");
    (void)tt_attention(tape, CONST(1, 2, 3), CONST(1, 2, 4), CONST(1, 2, 2),
                       (tt_attention_options){.scale = 1});
    assert_error(tape, "attention: Q [1,2,3], K [1,2,4], V [1,2,2]: Q and K differ in d_k");
    (void)tt_attention(tape, CONST(1, 2, 3), CONST(1, 4, 3), CONST(1, 3, 2),
                       (tt_attention_options){.scale = 1});
    assert_error(
        tape, "attention: Q [1,2,3], K [1,4,3], V [1,3,2]: K and V differ in the number of keys");
    (void)tt_attention(tape, CONST(2, 2, 3), CONST(1, 4, 3), CONST(1, 4, 2),
                       (tt_attention_options){.scale = 1});
    assert_error(tape, "attention: Q [2,2,3], K [1,4,3], V [1,4,2]: batches differ");
    (void)tt_attention(tape, CONST(1, 2, 3), CONST(1, 4, 3), CONST(1, 4, 2),
                       (tt_attention_options){.scale = 0.0 / 0.0});
    ck_assert_ptr_nonnull(strstr(tt_tape_error(tape), "is not finite"));
    tt_tape_reset(tape);
    (void)tt_attention(tape, CONST(1, 2, 3), CONST(1, 4, 3), CONST(1, 4, 2),
                       (tt_attention_options){0});
    assert_error(tape, "attention: no scale given (a factor of 0 takes a rule)");
    tt_backward(tape, CONST(1, 2, 3));
    assert_error(tape, "backward: value [1,2,3] and cotangent [1,1,1] differ");
    (void)tt_const(tape, tt_tensor_view(NULL, 1, 1, 1));
    assert_error(tape, "const: no data, or the shape [1,1,1], which no tensor has");
    (void)tt_const(tape, tt_tensor_view(a, PTRDIFF_MAX / 8, 0, 2));
    ck_assert_ptr_nonnull(strstr(tt_tape_error(tape), "which no tensor has"));
    tt_tape_reset(tape);
    (void)tt_tape_fail(tape, "%s", "");
    assert_error(tape, "an error without a name");
    (void)tt_param(tape, tt_tensor_view(a, 1, 2, 3), tt_tensor_view(a, 1, 3, 2));
    assert_error(tape, "param: value [1,2,3] and gradient [1,3,2] differ");
    (void)tt_tape_tensor(tape, PTRDIFF_MAX, 2, 2);
    ck_assert_ptr_nonnull(strstr(tt_tape_error(tape), "no tensor can have the shape"));
    tt_tape_reset(tape);
    (void)tt_tape_tensor(tape, 1, PTRDIFF_MAX / 16, 1);
    ck_assert_ptr_nonnull(strstr(tt_tape_error(tape), "out of memory"));
#undef CONST
    tt_tape_free(tape);
}
END_TEST

START_TEST(variables_of_another_tape_or_before_a_reset_are_refused) {
    double x = 1;
    tt_tape *one = tt_tape_new(), *other = tt_tape_new();
    tt_var a = tt_const(one, tt_tensor_view(&x, 1, 1, 1));
    (void)tt_const(other, tt_tensor_view(&x, 1, 1, 1));
    (void)tt_mul_scalar(other, a, 2);
    assert_error(other, "mul_scalar: input 0 is not on this tape");
    tt_tape_reset(one);
    (void)tt_const(one, tt_tensor_view(&x, 1, 1, 1));
    (void)tt_softmax(one, a);
    assert_error(one, "softmax: input 0 is not on this tape");
    ck_assert(tt_value(one, a).data == NULL && tt_grad(one, a).data == NULL);
    tt_backward(one, a);
    assert_error(one, "backward: the variable is not on this tape");
    tt_var beyond = tt_const(one, tt_tensor_view(&x, 1, 1, 1));
    beyond.id = 1000;
    ck_assert(tt_value(one, beyond).data == NULL);
    beyond.id = -5;
    ck_assert(tt_value(one, beyond).data == NULL);
    tt_tape_free(one);
    tt_tape_free(other);
}
END_TEST

/* A user's own operation: elementwise square times a context. */
static void square_forward(const tt_call *c) {
    double factor = *(const double *)c->context;
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        c->out.data[i] = factor * c->in[0].data[i] * c->in[0].data[i];
}

static void square_backward(const tt_call *c) {
    double factor = *(const double *)c->context;
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        c->din[0].data[i] += 2 * factor * c->in[0].data[i] * c->dout.data[i];
}

static tt_var build_square(tt_tape *tape, const tt_var *input) {
    static double factor = 1.5;
    tt_tensor x = tt_value(tape, input[0]);
    return tt_custom(tape, "square", 1, input, x.batch, x.rows, x.cols, square_forward,
                     square_backward, &factor);
}

START_TEST(a_custom_operation_has_gradients) {
    tt_rng rng;
    tt_rng_seed(&rng, 5);
    tt_tensor x = random_tensor(&rng, 2, 3, 2);
    assert_gradients(build_square, &x, 1, &rng);
    tt_tensor_free(&x);
}
END_TEST

enum { RECORD, WALK, TAKE_MEMORY };

/* Its backward does what its context says, to the tape that calls it. */
typedef struct meddling {
    tt_tape *tape;
    tt_var scalar;
    int what;
} meddling;

static void meddle_forward(const tt_call *c) {
    c->out.data[0] = c->in[0].data[0];
}

static void meddle_backward(const tt_call *c) {
    const meddling *m = c->context;
    tt_var v = m->scalar;
    for (int i = 0; m->what == RECORD && i < 100; i++) /* the list of nodes would move */
        v = tt_mul_scalar(m->tape, v, 2);
    if (m->what == WALK) tt_backward(m->tape, m->scalar);
    if (m->what == TAKE_MEMORY) ck_assert_ptr_nonnull(tt_tape_alloc(m->tape, 1 << 20));
    c->din[0].data[0] += c->dout.data[0];
}

START_TEST(a_backward_that_records_or_walks_back_on_its_own_tape_is_refused) {
    static const char *const ERRORS[] = {"mul_scalar: recorded during a backward of its own tape",
                                         "backward: called during a backward of its own tape",
                                         NULL};
    for (int i = 0; i < LENGTH(ERRORS); i++) {
        double x = 5, gx = 0;
        tt_tape *tape = tt_tape_new();
        meddling m = {.tape = tape, .what = i};
        m.scalar = tt_param(tape, tt_tensor_view(&x, 1, 1, 1), tt_tensor_view(&gx, 1, 1, 1));
        tt_backward(tape, tt_custom(tape, "meddle", 1, &m.scalar, 1, 1, 1, meddle_forward,
                                    meddle_backward, &m));
        if (ERRORS[i]) {
            assert_error(tape, ERRORS[i]); /* and resets */
            m.what = TAKE_MEMORY;
            m.scalar = tt_param(tape, tt_tensor_view(&x, 1, 1, 1), tt_tensor_view(&gx, 1, 1, 1));
            gx = 0;
            tt_backward(tape, tt_custom(tape, "meddle", 1, &m.scalar, 1, 1, 1, meddle_forward,
                                        meddle_backward, &m));
        }
        ck_assert(!tt_tape_error(tape) && gx == 1);
        tt_tape_free(tape);
    }
}
END_TEST

START_TEST(a_context_is_given_to_its_own_operation_only) {
    double x = 1, factor = 2;
    tt_tape *tape = tt_tape_new();
    tt_var v = tt_const(tape, tt_tensor_view(&x, 1, 1, 1));
    tt_var s = tt_custom(tape, "square", 1, &v, 1, 1, 1, square_forward, square_backward, &factor);
    ck_assert(tt_tape_context(tape, s, square_backward) == &factor);
    ck_assert(tt_tape_context(tape, s, square_forward) == NULL);
    ck_assert(tt_tape_context(tape, v, square_backward) == NULL);
    tt_tape_free(tape);
}
END_TEST

START_TEST(a_custom_operation_with_too_many_inputs_is_refused) {
    tt_var none[TT_MAX_INPUTS + 1] = {{0, 0}};
    tt_tape *tape = tt_tape_new();
    (void)tt_custom(tape, "wide", TT_MAX_INPUTS + 1, none, 1, 1, 1, square_forward, square_backward,
                    NULL);
    assert_error(tape, "wide: 9 inputs, at most 8 are possible");
    tt_tape_free(tape);
}
END_TEST

START_TEST(tensor_sizes_are_checked_for_overflow) {
    ck_assert_int_eq(tt_tensor_count((tt_tensor){2, 3, 4, NULL}), 24);
    ck_assert_int_eq(tt_tensor_count((tt_tensor){2, -3, 4, NULL}), -1);
    ck_assert_int_eq(tt_tensor_count((tt_tensor){PTRDIFF_MAX, PTRDIFF_MAX, 2, NULL}), -1);
    ck_assert_int_eq(tt_tensor_count((tt_tensor){1, PTRDIFF_MAX / 8, 2, NULL}), -1);
    /* without elements, too: others multiply two of the sizes */
    ck_assert_int_eq(tt_tensor_count((tt_tensor){PTRDIFF_MAX / 8, 2, 0, NULL}), -1);
    ck_assert_int_eq(tt_tensor_count((tt_tensor){PTRDIFF_MAX / 8, 0, 2, NULL}), -1);
    ck_assert_int_eq(tt_tensor_count((tt_tensor){0, PTRDIFF_MAX / 8, 2, NULL}), -1);
    ck_assert_int_eq(tt_tensor_count((tt_tensor){PTRDIFF_MAX / 8, 1, 0, NULL}), 0);
    tt_tensor empty = tt_tensor_new(1, 0, 5);
    ck_assert_ptr_nonnull(empty.data);
    tt_tensor_free(&empty);
    ck_assert(empty.data == NULL && tt_tensor_new(1, -1, 5).data == NULL);
}
END_TEST

Suite *tape_suite(void) {
    const TTest *tests[] = {a_variable_used_twice_gets_both_gradients,
                            a_second_backward_doubles_parameters_exactly_and_restarts_nodes,
                            backward_from_a_cotangent_scales_the_gradient,
                            constants_and_what_stands_on_them_get_no_gradient,
                            constants_beside_a_parameter_get_no_gradient,
                            a_backward_from_a_constant_leaves_no_earlier_gradient,
                            a_gradient_of_the_tape_can_be_the_cotangent,
                            a_cotangent_of_another_shape_is_refused,
                            memory_of_the_tape_is_aligned_to_64_bytes,
                            a_backward_that_records_or_walks_back_on_its_own_tape_is_refused,
                            a_context_is_given_to_its_own_operation_only,
                            a_repeated_step_allocates_nothing,
                            pointers_into_the_tape_stay_good_while_it_grows,
                            the_first_error_stays_and_names_operation_and_shapes,
                            every_wrong_call_is_named,
                            variables_of_another_tape_or_before_a_reset_are_refused,
                            a_custom_operation_has_gradients,
                            a_custom_operation_with_too_many_inputs_is_refused,
                            tensor_sizes_are_checked_for_overflow};
    return suite_of("tape", tests, LENGTH(tests), 60);
}
