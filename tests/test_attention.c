/* test_attention.c: attention stands three times, fused, composed of elementary operations and as
 * finite differences, and the three agree; and it gives the worked example's numbers. */
#include <math.h>
#include <string.h>

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
    return tt_matmul(tape, tt_softmax(tape, tt_mul_scalar(tape, scores, scale_in_use)), in[2]);
}

static tt_var build_self(tt_tape *tape, const tt_var *in) {
    return tt_attention(tape, in[0], in[0], in[0], (tt_attention_options){.scale = scale_in_use});
}

static void check_numeric(double scale, tt_size b, tt_size tq, tt_size tk, tt_size dk, tt_size dv) {
    tt_rng rng;
    tt_tensor in[3];
    scale_in_use = scale;
    draw_inputs(&rng, 21, in, b, tq, tk, dk, dv);
    assert_gradients(build_fused, in, 3, &rng);
    assert_gradients_twice(build_fused, in, 3, &rng);
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
    for (int i = 0; i < 3; i++) var[i] = tt_param(tape, in[i], NO_GRAD);
    var[3] = build(tape, var);
    tt_backward_from(tape, var[3], w);
    ck_assert_msg(!tt_tape_error(tape), "%s", tt_tape_error(tape));
}

START_TEST(fused_equals_composed) {
    tt_rng rng;
    tt_tensor in[3];
    tt_var fused[4], composed[4];
    scale_in_use = 1 / sqrt(24);
    draw_inputs(&rng, 22, in, 3, 10, 17, 24, 5);
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

/* ---- Masks ----------------------------------------------------------------------------------- */

START_TEST(mask_rules_by_hand) {
    static const tt_size LENGTHS[] = {1, 0};
    static const unsigned char ALLOWED[] = {1, 0, 0, 1, 1, 1, 0, 0};
    tt_mask top = {.causal = TT_CAUSAL_TOP_LEFT}, bottom = {.causal = TT_CAUSAL_BOTTOM_RIGHT};
    tt_mask lengths = {.key_lengths = LENGTHS}, allowed = {.allowed = ALLOWED}, none = {0};
    ck_assert(tt_mask_is_empty(&none) && !tt_mask_is_empty(&top) && !tt_mask_is_empty(&lengths));
    ck_assert(tt_mask_allows(&top, 0, 1, 1, 2, 5) && !tt_mask_allows(&top, 0, 1, 2, 2, 5));
    ck_assert(tt_mask_allows(&bottom, 0, 0, 3, 2, 5) && !tt_mask_allows(&bottom, 0, 0, 4, 2, 5));
    ck_assert(!tt_mask_allows(&bottom, 0, 0, 0, 5, 2)); /* Tq > Tk: the first rows see nothing */
    ck_assert(tt_mask_allows(&lengths, 0, 3, 0, 4, 4) && !tt_mask_allows(&lengths, 0, 3, 1, 4, 4));
    ck_assert(!tt_mask_allows(&lengths, 1, 0, 0, 4, 4));
    ck_assert(tt_mask_allows(&allowed, 1, 0, 0, 2, 2) && !tt_mask_allows(&allowed, 1, 1, 0, 2, 2));
    tt_mask both = {.causal = TT_CAUSAL_TOP_LEFT, .allowed = ALLOWED};
    ck_assert(!tt_mask_allows(&both, 1, 0, 1, 2, 2)); /* allowed, but later than the query */
}
END_TEST

START_TEST(a_row_of_a_mask_is_what_it_allows_key_by_key) {
    enum { B = 2, TQ = 4, TK = 5 };
    static const tt_size LENGTHS[B] = {3, 0};
    unsigned char allowed[B * TQ * TK], row[TK];
    for (int i = 0; i < B * TQ * TK; i++)
        allowed[i] = (unsigned char)(i * 7 % 3); /* 2 is yes too */
    const tt_mask masks[] = {{0},
                             {.causal = TT_CAUSAL_TOP_LEFT},
                             {.causal = TT_CAUSAL_BOTTOM_RIGHT},
                             {.key_lengths = LENGTHS},
                             {.allowed = allowed},
                             {TT_CAUSAL_BOTTOM_RIGHT, LENGTHS, allowed}};
    for (size_t m = 0; m < LENGTH(masks); m++)
        for (tt_size tk = 1; tk <= TK; tk += 2) /* fewer keys than queries, and more */
            for (tt_size b = 0; b < B; b++)
                for (tt_size i = 0; i < TQ; i++) {
                    tt_size count = 0;
                    memset(row, 7, sizeof row);
                    const tt_size said = tt_mask_row(&masks[m], b, i, TQ, tk, row);
                    for (tt_size j = 0; j < tk; j++) {
                        ck_assert(row[j] == tt_mask_allows(&masks[m], b, i, j, TQ, tk));
                        count += row[j];
                    }
                    ck_assert(said == count && (tk == TK || row[tk] == 7));
                }
}
END_TEST

/* Gradients of attention under each mask against attention composed by hand is done by the cases
 * and by gradcheck; here: what must influence nothing. */
START_TEST(a_key_masked_for_all_may_hold_anything) {
    static const double ANYTHING[] = {1e300, NAN, INFINITY, -INFINITY};
    static const tt_size LENGTHS[] = {3, 2};
    for (int a = 0; a < 4; a++) {
        tt_rng rng;
        tt_tensor clean[3], dirty[3];
        tt_var x[4], y[4];
        tt_tape *one = tt_tape_new(), *other = tt_tape_new();
        tt_attention_options options = {.scale = 0.5, .mask.key_lengths = LENGTHS};
        draw_inputs(&rng, 31, clean, 2, 4, 5, 3, 2);
        draw_inputs(&rng, 31, dirty, 2, 4, 5, 3, 2);
        for (int b = 0; b < 2; b++)
            for (tt_size j = LENGTHS[b]; j < 5; j++) {
                for (int d = 0; d < 3; d++) dirty[1].data[(b * 5 + j) * 3 + d] = ANYTHING[a];
                for (int d = 0; d < 2; d++) dirty[2].data[(b * 5 + j) * 2 + d] = ANYTHING[a];
            }
        for (int i = 0; i < 3; i++) {
            x[i] = tt_param(one, clean[i], NO_GRAD);
            y[i] = tt_param(other, dirty[i], NO_GRAD);
        }
        x[3] = tt_attention(one, x[0], x[1], x[2], options);
        y[3] = tt_attention(other, y[0], y[1], y[2], options);
        tt_backward_from(one, x[3], tt_value(one, x[3]));
        tt_backward_from(other, y[3], tt_value(other, y[3]));
        ck_assert(!tt_tape_error(one) && !tt_tape_error(other));
        assert_same_bits(tt_value(one, x[3]), tt_value(other, y[3]));
        for (int i = 0; i < 3; i++) assert_same_bits(tt_grad(one, x[i]), tt_grad(other, y[i]));
        ck_assert(tt_grad(other, y[1]).data[3 * 3] == 0 && tt_grad(other, y[2]).data[4 * 2] == 0);
        free_inputs(clean);
        free_inputs(dirty);
        tt_tape_free(one);
        tt_tape_free(other);
    }
}
END_TEST

/* With all rows kept and with so many at a time: the same output and gradients, all finite. */
static void compare_rows(const tt_tensor in[3], tt_attention_options options, tt_size rows) {
    tt_var x[4], y[4];
    tt_tape *one = tt_tape_new(), *other = tt_tape_new();
    for (int i = 0; i < 3; i++) {
        x[i] = tt_param(one, in[i], NO_GRAD);
        y[i] = tt_param(other, in[i], NO_GRAD);
    }
    x[3] = tt_attention(one, x[0], x[1], x[2], options);
    options.rows = rows;
    y[3] = tt_attention(other, y[0], y[1], y[2], options);
    tt_backward_from(one, x[3], tt_value(one, x[3]));
    tt_backward_from(other, y[3], tt_value(other, y[3]));
    assert_same_bits(tt_value(one, x[3]), tt_value(other, y[3]));
    for (int i = 0; i < 3; i++) {
        const tt_tensor grad = tt_grad(other, y[i]);
        assert_same_bits(tt_grad(one, x[i]), grad);
        for (tt_size j = 0; j < tt_tensor_count(grad); j++) ck_assert(isfinite(grad.data[j]));
    }
    tt_tape_free(one);
    tt_tape_free(other);
}

/* Bottom-right and lengths: entry by entry, row by row other keys, one of which nobody sees. */
START_TEST(few_rows_at_a_time_of_each_entry_see_their_own_mask) {
    static const tt_size LENGTHS[] = {3, 6};
    const tt_mask mask = {TT_CAUSAL_BOTTOM_RIGHT, LENGTHS, NULL};
    tt_rng rng;
    tt_tensor in[3];
    draw_inputs(&rng, 34, in, 2, 5, 6, 3, 2);
    in[1].data[5 * 3] = NAN;
    compare_rows(in, (tt_attention_options){.scale = 0.5, .mask = mask}, 2);
    free_inputs(in);
}
END_TEST

/* 600^2 logits are more than a block has, so rows that are kept come in two. */
START_TEST(a_sequence_of_two_blocks_has_the_bits_of_many) {
    tt_rng rng;
    tt_tensor in[3];
    draw_inputs(&rng, 36, in, 1, 600, 600, 2, 1);
    compare_rows(in, (tt_attention_options){.scale = 1, .mask.causal = TT_CAUSAL_TOP_LEFT}, 50);
    free_inputs(in);
}
END_TEST

/* 2052^2 logits are more than TT_ATTENTION_KEPT; kept, one matrix of them would take 34 MB. */
START_TEST(a_long_sequence_does_not_keep_its_logits) {
    enum { T = 2052 };
    tt_rng rng;
    tt_tensor in[3];
    tt_var x[3];
    tt_tape *tape = tt_tape_new();
    draw_inputs(&rng, 35, in, 1, T, T, 1, 1);
    for (int i = 0; i < 3; i++) x[i] = tt_param(tape, in[i], NO_GRAD);
    tt_var out = tt_attention(tape, x[0], x[1], x[2], (tt_attention_options){.scale = 1});
    tt_backward_from(tape, out, tt_value(tape, out));
    ck_assert(!tt_tape_error(tape) && tt_attention_logits(tape, out).data == NULL);
    ck_assert(tt_tape_bytes(tape) < (size_t)T * T * sizeof(double));
    (void)tt_attention(tape, x[0], x[1], x[2], (tt_attention_options){.scale = 1, .rows = -1});
    assert_says(tt_tape_error(tape), "-1 rows at a time");
    free_inputs(in);
    tt_tape_free(tape);
}
END_TEST

START_TEST(a_huge_finite_key_masked_for_some_queries_is_harmless) {
    double q[] = {1, 1}, k[] = {1, 1e300}, v[] = {2, 1e300};
    tt_tape *tape = tt_tape_new();
    tt_var vq = tt_param(tape, tt_tensor_view(q, 1, 2, 1), NO_GRAD);
    tt_var out =
        tt_attention(tape, vq, tt_const(tape, tt_tensor_view(k, 1, 2, 1)),
                     tt_const(tape, tt_tensor_view(v, 1, 2, 1)),
                     (tt_attention_options){.scale = 1, .mask.causal = TT_CAUSAL_TOP_LEFT});
    double dout[] = {1e10, 0}; /* dP of the masked pair overflows to infinity, and 0 inf is NaN */
    tt_backward_from(tape, out, tt_tensor_view(dout, 1, 2, 1));
    ck_assert(tt_value(tape, out).data[0] == 2);
    ck_assert(tt_grad(tape, vq).data[0] == 0);
    tt_tape_free(tape);
}
END_TEST

START_TEST(a_query_without_keys_has_zeros_everywhere) {
    tt_rng rng;
    tt_tensor in[3];
    tt_var x[3];
    tt_tape *tape = tt_tape_new();
    draw_inputs(&rng, 32, in, 1, 5, 3, 4, 2); /* bottom-right: queries 0 and 1 see no key */
    for (int i = 0; i < 3; i++) x[i] = tt_param(tape, in[i], NO_GRAD);
    tt_attention_options options = {.scale = 1, .mask.causal = TT_CAUSAL_BOTTOM_RIGHT};
    tt_var out = tt_attention(tape, x[0], x[1], x[2], options);
    tt_tensor dout = random_tensor(&rng, 1, 5, 2);
    tt_backward_from(tape, out, dout);
    for (int i = 0; i < 2 * 2; i++) ck_assert(tt_value(tape, out).data[i] == 0);
    for (int i = 0; i < 2 * 4; i++) ck_assert(tt_grad(tape, x[0]).data[i] == 0);
    for (int i = 0; i < 2 * 3; i++) ck_assert(tt_attention_weights(tape, out).data[i] == 0);
    ck_assert(tt_attention_weights(tape, out).data[2 * 3] == 1);
    free_inputs(in);
    tt_tensor_free(&dout);
    tt_tape_free(tape);
}
END_TEST

START_TEST(nan_in_a_visible_key_comes_through) {
    double q[] = {1}, k[] = {1, NAN}, v[] = {2, 3};
    tt_tape *tape = tt_tape_new();
    tt_var out = tt_attention(tape, tt_const(tape, tt_tensor_view(q, 1, 1, 1)),
                              tt_const(tape, tt_tensor_view(k, 1, 2, 1)),
                              tt_const(tape, tt_tensor_view(v, 1, 2, 1)),
                              (tt_attention_options){.scale = 1});
    ck_assert(!tt_tape_error(tape) && isnan(tt_value(tape, out).data[0]));
    tt_tape_free(tape);
}
END_TEST

START_TEST(one_variable_as_query_key_and_value_gets_all_three_gradients) {
    tt_rng rng;
    tt_rng_seed(&rng, 33);
    scale_in_use = 0.6;
    tt_tensor x = random_tensor(&rng, 2, 4, 3);
    assert_gradients(build_self, &x, 1, &rng);
    tt_tensor_free(&x);
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
                            no_keys_give_an_output_of_zero,
                            mask_rules_by_hand,
                            a_row_of_a_mask_is_what_it_allows_key_by_key,
                            a_key_masked_for_all_may_hold_anything,
                            few_rows_at_a_time_of_each_entry_see_their_own_mask,
                            a_sequence_of_two_blocks_has_the_bits_of_many,
                            a_long_sequence_does_not_keep_its_logits,
                            a_huge_finite_key_masked_for_some_queries_is_harmless,
                            a_query_without_keys_has_zeros_everywhere,
                            nan_in_a_visible_key_comes_through,
                            one_variable_as_query_key_and_value_gets_all_three_gradients};
    return suite_of("attention", tests, LENGTH(tests), 60);
}
