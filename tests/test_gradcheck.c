/* test_gradcheck.c: the check itself is checked: what is wrong never passes, what is right never
 * fails, and the error bars hold the truth. */
#include "tt/gradcheck.h"

#include <math.h>
#include <string.h>

#include "common/scaling.h"
#include "gradcheck/faulty.h"
#include "probe.h"
#include "suites.h"
#include "support.h"
#include "tt/attention.h"
#include "tt/ops.h"

static const tt_gradcheck_options DEFAULTS = {0};

/* ---- Functions of one number with known derivatives ------------------------------------------ */

typedef struct function {
    double (*value)(double);
    double (*slope)(double);
    double wrong; /* backward multiplies the slope by 1 + wrong */
} function;

static double cube(double x) {
    return x * x * x;
}

static double cube_slope(double x) {
    return 3 * x * x;
}

static double minus_sin(double x) {
    return -sin(x);
}

static double bell(double x) {
    return exp(-20 * x * x);
}

static double bell_slope(double x) {
    return -40 * x * bell(x);
}

static double linear(double x) {
    return 3 * x;
}

static double three(double x) {
    (void)x;
    return 3;
}

static void apply(const tt_call *c) {
    const function *f = c->context;
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        c->out.data[i] = f->value(c->in[0].data[i]);
}

static void apply_backward(const tt_call *c) {
    const function *f = c->context;
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        c->din[0].data[i] += (1 + f->wrong) * f->slope(c->in[0].data[i]) * c->dout.data[i];
}

static tt_var build_function(tt_tape *tape, const tt_var *input, void *context) {
    tt_tensor x = tt_value(tape, input[0]);
    return tt_custom(tape, "function", 1, input, x.batch, x.rows, x.cols, apply, apply_backward,
                     context);
}

static tt_gradcheck_result check_at(function f, double *x, tt_size count,
                                    const tt_gradcheck_options *options) {
    tt_gradcheck_result r;
    tt_tensor input = tt_tensor_view(x, 1, 1, count);
    const char *error = tt_gradcheck(build_function, &f, &input, 1, options, &r);
    ck_assert_msg(!error, "%s", error);
    return r;
}

static tt_gradcheck_result check_function(function f, tt_size count,
                                          const tt_gradcheck_options *options) {
    tt_rng rng;
    tt_rng_seed(&rng, 8);
    tt_tensor x = random_tensor(&rng, 1, 1, count);
    tt_gradcheck_result r = check_at(f, x.data, count, options);
    tt_tensor_free(&x);
    return r;
}

START_TEST(right_derivatives_of_curved_functions_all_pass) {
    static const function RIGHT[] = {
        {exp, exp, 0}, {cos, minus_sin, 0}, {cube, cube_slope, 0}, {bell, bell_slope, 0}};
    for (int i = 0; i < LENGTH(RIGHT); i++) {
        tt_gradcheck_result r = check_function(RIGHT[i], 200, &DEFAULTS);
        ck_assert_int_eq(r.checked, 200);
        ck_assert_int_eq(r.failed, 0);
        /* beyond |x| = 1, where a third of the points lie, the bell's slope is below resolution */
        ck_assert_int_ge(r.passed, RIGHT[i].value == bell ? 120 : 200);
        /* what the next order adds, at the larger of the steps */
        ck_assert_double_eq_tol(r.taylor_slope, 2, 0.1);
    }
}
END_TEST

START_TEST(an_error_of_a_hundred_thousandth_fails) {
    tt_gradcheck_result r = check_function((function){exp, exp, 1e-5}, 50, &DEFAULTS);
    ck_assert_int_eq(r.failed, 50);
}
END_TEST

START_TEST(a_flipped_sign_fails_everywhere) {
    tt_gradcheck_result r = check_function((function){exp, exp, -2}, 50, &DEFAULTS);
    ck_assert_int_eq(r.failed, 50);
    ck_assert(r.worst.analytic * r.worst.numeric < 0);
    ck_assert_double_eq_tol(r.taylor_slope, 1, 0.1); /* as for 2 above */
}
END_TEST

START_TEST(a_linear_function_is_said_to_be_linear) {
    tt_gradcheck_result r = check_function((function){linear, three, 0}, 20, &DEFAULTS);
    ck_assert_int_eq(r.passed, 20);
    ck_assert(isnan(r.taylor_slope));
}
END_TEST

START_TEST(a_large_input_is_sampled_and_checked_along_directions) {
    tt_gradcheck_options options = {.most_coordinates = 10, .directions = 3};
    tt_gradcheck_result r = check_function((function){exp, exp, 0}, 1000, &options);
    ck_assert_int_eq(r.checked, 13);
    ck_assert_int_eq(r.passed, 13);
    r = check_function((function){exp, exp, 0.01}, 1000, &options);
    ck_assert_int_eq(r.failed, 13);
}
END_TEST

START_TEST(a_fixed_step_is_judged_by_its_own_error) {
    tt_gradcheck_options options = {.step = 0.1}; /* truncation h^2/6 of the derivative: 0.2 % */
    tt_gradcheck_result r = check_function((function){exp, exp, 0}, 50, &options);
    ck_assert_int_eq(r.failed, 0);
    ck_assert_int_eq(r.inconclusive, 50);
    r = check_function((function){exp, exp, 0.1}, 50, &options);
    ck_assert_int_eq(r.failed, 50);
}
END_TEST

/* ---- Functions on other scales --------------------------------------------------------------- */

static double steep(double x) {
    return tanh(1e6 * x);
}

static double steep_slope(double x) {
    return 1e6 / cosh(1e6 * x) / cosh(1e6 * x);
}

START_TEST(a_step_is_found_where_x_says_nothing_of_the_scale) {
    double x[] = {0};
    ck_assert_int_eq(check_at((function){steep, steep_slope, 0}, x, 1, &DEFAULTS).passed, 1);
    ck_assert_int_eq(check_at((function){steep, steep_slope, 0.01}, x, 1, &DEFAULTS).failed, 1);
    ck_assert_int_eq(check_at((function){steep, steep_slope, -1}, x, 1, &DEFAULTS).failed, 1);
}
END_TEST

static double lifted_steep(double x) {
    return 1 + steep(x);
}

START_TEST(where_x_is_0_the_loss_and_its_gradient_say_the_scale) {
    double x[] = {0};
    ck_assert_int_eq(check_at((function){lifted_steep, steep_slope, 0}, x, 1, &DEFAULTS).passed, 1);
    ck_assert_int_eq(check_at((function){lifted_steep, steep_slope, 0.01}, x, 1, &DEFAULTS).failed,
                     1);
}
END_TEST

START_TEST(a_zero_is_not_confirmed_where_nothing_says_the_scale) {
    double x[] = {0}; /* far out the cosine's differences are 0 too, whatever they are near 0 */
    ck_assert_int_eq(check_at((function){cos, minus_sin, 0}, x, 1, &DEFAULTS).inconclusive, 1);
}
END_TEST

/* Where a function with a scale of its own stands. */
static double unit = 1;

static double wide(double x) {
    return sin(x / unit) + x / unit / 2;
}

static double wide_slope(double x) {
    return (cos(x / unit) + 0.5) / unit;
}

START_TEST(huge_and_tiny_inputs_are_checked_like_others) {
    static const double UNITS[] = {1e140, 1e-140, 1e3, 1e-3};
    for (int i = 0; i < LENGTH(UNITS); i++) {
        unit = UNITS[i];
        double x[] = {0.3 * unit, -2 * unit, 0.01 * unit, 0};
        ck_assert_int_eq(check_at((function){wide, wide_slope, 0}, x, 4, &DEFAULTS).passed, 4);
        ck_assert_int_eq(check_at((function){wide, wide_slope, -2}, x, 4, &DEFAULTS).failed, 4);
        /* a wrong 0 everywhere: nothing but the loss and x says what is small */
        ck_assert_int_eq(check_at((function){wide, wide_slope, -1}, x, 4, &DEFAULTS).failed, 4);
    }
}
END_TEST

static double rough(double x) {
    return 0.1 * (x / unit) + sin(1e15 * (x / unit));
}

static double rough_slope(double x) {
    (void)x;
    return 0.1 / unit;
}

START_TEST(a_wrong_zero_within_the_noise_of_a_huge_input_does_not_pass) {
    unit = 1e140; /* every slope is below 1e-139, and no zero for that */
    double x[] = {0.3 * unit, -2 * unit};
    ck_assert_int_eq(check_at((function){rough, rough_slope, 0}, x, 2, &DEFAULTS).failed, 0);
    ck_assert_int_eq(check_at((function){rough, rough_slope, -1}, x, 2, &DEFAULTS).passed, 0);
}
END_TEST

static double tiny(double x) {
    return 1e-310 * x;
}

static double tiny_slope(double x) {
    (void)x;
    return 1e-310;
}

START_TEST(half_an_ulp_that_underflows_is_no_zero) {
    double x[] = {0.7};
    ck_assert_int_eq(check_at((function){tiny, tiny_slope, 0}, x, 1, &DEFAULTS).passed, 1);
    ck_assert_int_eq(check_at((function){tiny, tiny_slope, -1}, x, 1, &DEFAULTS).passed, 0);
    ck_assert_int_eq(check_at((function){tiny, tiny_slope, -2}, x, 1, &DEFAULTS).passed, 0);
}
END_TEST

static double lifted(double x) {
    return 1e6 + x;
}

static double one(double x) {
    (void)x;
    return 1;
}

START_TEST(half_an_ulp_is_at_least_the_smallest_number) {
    ck_assert(tt_probe_half_ulp(2, 1) == 2 * 0x1p-53);
    ck_assert(tt_probe_half_ulp(-0.5, -4) == 2 * 0x1p-53);
    ck_assert(tt_probe_half_ulp(1, 1e-310) == 0x1p-1074);
    ck_assert(tt_probe_half_ulp(1, 0) == 0x1p-1074);
    ck_assert(tt_probe_half_ulp(0, 1) == 0);
}
END_TEST

static double in_float(double x) {
    return sinf((float)x);
}

START_TEST(stairs_of_a_coarser_format_fail_nothing_that_is_right) {
    /* a tread of float32 at 0.7 is 6e-8 wide: within it nothing moves */
    double x[] = {0.7, -2, 0.7 + 1e-9, 1.3};
    tt_gradcheck_result r = check_at((function){in_float, cos, 0}, x, 4, &DEFAULTS);
    ck_assert_int_eq(r.failed, 0);
    /* the height of a tread over a step of 0.01 is 1e-5, and known to be noise */
    const tt_gradcheck_options coarse = {.rtol = 1e-3};
    ck_assert_int_eq(check_at((function){in_float, cos, 0}, x, 4, &coarse).passed, 4);
    ck_assert_int_eq(check_at((function){in_float, cos, -1}, x, 4, &coarse).passed, 0);
}
END_TEST

static double noisy(double x) {
    return exp(x) + 1e-10 * sin(1e15 * x);
}

START_TEST(noise_far_above_an_ulp_is_measured) {
    double x[] = {0.7, -0.2, 0.3, 1.3}; /* a step of 0.01 leaves 1e-8 of it, far below rtol */
    ck_assert_int_eq(check_at((function){noisy, exp, 0}, x, 4, &DEFAULTS).passed, 4);
    ck_assert_int_eq(check_at((function){noisy, exp, 0.01}, x, 4, &DEFAULTS).failed, 4);
}
END_TEST

START_TEST(a_large_constant_is_noise_and_is_held_by_the_bar) {
    double x[] = {0.5, 0.001};
    tt_gradcheck_result r = check_at((function){lifted, one, 0}, x, 2, &DEFAULTS);
    ck_assert_int_eq(r.passed, 2);
    /* half an ulp of 1e6 over a step of at most some 1e6: 1e-16, but not below */
    ck_assert(r.worst.error_bar >= 5e-17 * fabs(r.worst.analytic));
}
END_TEST

START_TEST(a_derivative_costs_at_most_twice_42_evaluations) {
    double x[] = {0.5, -1, 2};
    tt_gradcheck_result r = check_at((function){exp, exp, 0}, x, 3, &DEFAULTS);
    ck_assert_int_le(r.evaluations, 3 * 84);
}
END_TEST

/* ---- Kinks ----------------------------------------------------------------------------------- */

static double relu(double x) {
    return fmax(x, 0);
}

static double heaviside(double x) {
    return x > 0;
}

static double shifted_relu(double x) {
    return fmax(x - 1, 0) + x;
}

/* What is given as the slope; wrong multiplies it by 1. */
static double given = 1;

static double give(double x) {
    (void)x;
    return given;
}

static tt_gradcheck_result check_given(double (*value)(double), double x, double slope) {
    given = slope;
    return check_at((function){value, give, 0}, &x, 1, &DEFAULTS);
}

static void assert_kink(double (*value)(double), double x, double low, double high) {
    const double inside[] = {low, (low + high) / 2, high}, outside[] = {low - 0.1, high + 0.1};
    for (int i = 0; i < LENGTH(inside); i++) {
        tt_gradcheck_result r = check_given(value, x, inside[i]);
        ck_assert_int_eq(r.inconclusive, 1);
        ck_assert_int_eq(r.kinks, 1);
        /* the bar of a slope at a kink: rounding of x, some 1e-4 of the smallest steps */
        ck_assert_double_eq_tol(r.worst.low, low, 1e-3);
        ck_assert_double_eq_tol(r.worst.high, high, 1e-3);
    }
    for (int i = 0; i < LENGTH(outside); i++) {
        tt_gradcheck_result r = check_given(value, x, outside[i]);
        ck_assert_int_eq(r.failed, 1);
        ck_assert_int_eq(r.kinks, 1);
    }
}

START_TEST(at_a_kink_what_lies_between_its_slopes_is_inconclusive_and_the_rest_fails) {
    assert_kink(relu, 0, 0, 1);
    assert_kink(fabs, 0, -1, 1); /* both ways alike: no central difference is anything but 0 */
    assert_kink(shifted_relu, 1, 1, 2);
    assert_kink(shifted_relu, 1 + 1e-15, 1, 2); /* closer than any step of use */
}
END_TEST

START_TEST(beside_a_kink_that_steps_can_avoid_the_slope_is_known) {
    ck_assert_int_eq(check_given(relu, 1e-7, 1).passed, 1);
    ck_assert_int_eq(check_given(relu, 1e-7, 0.5).failed, 1);
    ck_assert_int_eq(check_given(relu, 1e-7, 0).failed, 1);
    ck_assert_int_eq(check_given(relu, -1e-7, 1).failed, 1);
    /* the others say that a slope of 1 is not small, and a step that suits them misses 1e-12 */
    double x[] = {-1e-7, 0.5, 1e-7, 1e-12};
    ck_assert_int_eq(check_at((function){relu, heaviside, 0}, x, 4, &DEFAULTS).passed, 4);
}
END_TEST

START_TEST(a_kink_close_by_fails_nothing_that_is_right) {
    static const double AT[] = {0.5, -1, 1e-7, -1e-7, 1e-12, 0};
    double x[LENGTH(AT)];
    memcpy(x, AT, sizeof AT);
    given = 1;
    tt_gradcheck_result r = check_at((function){relu, give, 0}, x, LENGTH(AT), &DEFAULTS);
    ck_assert_int_eq(r.failed, 2); /* at -1 and -1e-7, where it is wrong */
}
END_TEST

/* ---- What is no number ----------------------------------------------------------------------- */

static double root_slope(double x) {
    return 0.5 / sqrt(x);
}

START_TEST(an_output_that_is_no_number_is_an_error_that_names_it) {
    double x[] = {-1, -2};
    function f = {sqrt, root_slope, 0};
    tt_gradcheck_result r;
    tt_tensor input = tt_tensor_view(x, 1, 1, 2);
    const char *error = tt_gradcheck(build_function, &f, &input, 1, &DEFAULTS, &r);
    ck_assert_str_eq(error, "gradcheck: output 0 is NaN, and none is finite");
}
END_TEST

START_TEST(one_nan_is_counted_and_named_and_its_neighbours_are_checked) {
    double x[] = {1, 4, -1, 0.25};
    tt_gradcheck_result r = check_at((function){sqrt, root_slope, 0}, x, 4, &DEFAULTS);
    ck_assert_int_eq(r.not_finite, 1);
    ck_assert_int_eq(r.first_not_finite, 2);
    ck_assert_int_eq(r.passed, 3);
    ck_assert_int_eq(r.inconclusive, 1);
    r = check_at((function){sqrt, root_slope, 0.01}, x, 4, &DEFAULTS);
    ck_assert_int_eq(r.failed, 3);
}
END_TEST

START_TEST(steps_that_leave_the_functions_domain_are_dropped) {
    double x[] = {1e-6, 3}; /* steps that suit 3 make the root of the first one NaN */
    tt_gradcheck_result r = check_at((function){sqrt, root_slope, 0}, x, 2, &DEFAULTS);
    ck_assert_int_eq(r.passed, 2);
}
END_TEST

START_TEST(a_gradient_that_is_no_number_fails) {
    ck_assert_int_eq(check_given(exp, 1, NAN).failed, 1);
    ck_assert_int_eq(check_given(exp, 1, INFINITY).failed, 1);
}
END_TEST

/* ---- Each derivative ------------------------------------------------------------------------- */

typedef struct listing {
    int count;
    tt_gradcheck_point last;
} listing;

static void list_point(void *context, int input, const tt_gradcheck_point *point) {
    listing *l = context;
    ck_assert_int_eq(input, 0);
    ck_assert_int_eq(point->index, l->count++);
    l->last = *point;
}

START_TEST(each_derivative_is_told_with_the_steps_it_was_made_from) {
    double x[] = {0.5, -1, 2};
    listing l = {0};
    const tt_gradcheck_options options = {.each = list_point, .each_context = &l};
    (void)check_at((function){exp, exp, 0}, x, 3, &options);
    ck_assert_int_eq(l.count, 3);
    ck_assert_int_eq(l.last.verdict, TT_GRADCHECK_PASS);
    ck_assert(l.last.step > 1e-4 && l.last.step < 1); /* exp changes over steps of 1 */
    ck_assert(l.last.widest > l.last.step);
}
END_TEST

/* ---- Small gradients beside large ones ------------------------------------------------------- */

/* y = x_0 + share x_1; `reported` is the gradient that backward gives x_1. */
typedef struct lopsided {
    double share, reported;
} lopsided;

static void lopsided_forward(const tt_call *c) {
    const lopsided *l = c->context;
    c->out.data[0] = c->in[0].data[0] + l->share * c->in[0].data[1];
}

static void lopsided_backward(const tt_call *c) {
    const lopsided *l = c->context;
    c->din[0].data[0] += c->dout.data[0];
    c->din[0].data[1] += l->reported * c->dout.data[0];
}

static tt_var build_lopsided(tt_tape *tape, const tt_var *input, void *context) {
    return tt_custom(tape, "lopsided", 1, input, 1, 1, 1, lopsided_forward, lopsided_backward,
                     context);
}

static tt_gradcheck_result check_lopsided(double share, double reported) {
    double x[] = {0.3, -0.7};
    tt_tensor input = tt_tensor_view(x, 1, 1, 2);
    lopsided l = {share, reported};
    tt_gradcheck_result r;
    ck_assert(!tt_gradcheck(build_lopsided, &l, &input, 1, &DEFAULTS, &r));
    return r;
}

START_TEST(a_wrong_zero_of_a_billionth_of_the_scale_never_passes) {
    for (double share = 1e-9; share < 1; share *= 10) {
        ck_assert_int_eq(check_lopsided(share, 0).passed, 1); /* x_0 alone */
        ck_assert_int_eq(check_lopsided(-share, 0).passed, 1);
    }
}
END_TEST

START_TEST(a_true_zero_passes) {
    ck_assert_int_eq(check_lopsided(0, 0).passed, 2);
}
END_TEST

START_TEST(a_gradient_below_resolution_is_inconclusive) {
    tt_gradcheck_result r = check_lopsided(1e-30, 1e-30);
    ck_assert_int_eq(r.passed, 1);
    ck_assert_int_eq(r.inconclusive, 1);
}
END_TEST

/* ---- The rule -------------------------------------------------------------------------------- */

static tt_gradcheck_verdict judge(double analytic, double numeric, double bar, double unseen) {
    const tt_gradcheck_point p = {
        .analytic = analytic, .numeric = numeric, .error_bar = bar, .unseen = unseen};
    return tt_gradcheck_judge(&p, 1e-9, 4, 1e-6);
}

START_TEST(the_rule_at_each_of_its_branches) {
    const double un = 1e-16;
    ck_assert_int_eq(judge(1, 1, 1e-12, un), TT_GRADCHECK_PASS);
    ck_assert_int_eq(judge(1, 1 + 2e-6, 1e-12, un), TT_GRADCHECK_FAIL);
    ck_assert_int_eq(judge(1, -1, 1e-12, un), TT_GRADCHECK_FAIL);
    /* a bar too wide to tell, a difference far beyond even that bar, and no bar */
    ck_assert_int_eq(judge(1, 1.01, 0.01, un), TT_GRADCHECK_INCONCLUSIVE);
    ck_assert_int_eq(judge(1, 2, 0.01, un), TT_GRADCHECK_FAIL);
    ck_assert_int_eq(judge(1, 0, INFINITY, un), TT_GRADCHECK_INCONCLUSIVE);
    /* beyond the bar, but not beyond what no difference can see */
    ck_assert_int_eq(judge(3e-16, 1e-20, 1e-22, un), TT_GRADCHECK_INCONCLUSIVE);
    /* nothing moved: zero, zero with too coarse a look, not zero, and not zero by far */
    ck_assert_int_eq(judge(0, 0, 0, un), TT_GRADCHECK_PASS);
    ck_assert_int_eq(judge(0, 0, 0, 1e-8), TT_GRADCHECK_INCONCLUSIVE);
    ck_assert_int_eq(judge(0, 0, 0, INFINITY), TT_GRADCHECK_INCONCLUSIVE);
    ck_assert_int_eq(judge(1e-20, 0, 0, un), TT_GRADCHECK_INCONCLUSIVE);
    ck_assert_int_eq(judge(1e-9, 0, 0, un), TT_GRADCHECK_FAIL);
    /* zero within a bar that is below what counts as zero, and within one that is not */
    ck_assert_int_eq(judge(0, 1e-11, 2e-10, un), TT_GRADCHECK_PASS);
    ck_assert_int_eq(judge(0, 1e-11, 3e-10, un), TT_GRADCHECK_INCONCLUSIVE);
    /* a wrong zero */
    ck_assert_int_eq(judge(0, 1e-9, 1e-14, un), TT_GRADCHECK_FAIL);
    ck_assert_int_eq(judge(NAN, 0, 1e-14, un), TT_GRADCHECK_FAIL);
    ck_assert_int_eq(judge(INFINITY, 0, INFINITY, un), TT_GRADCHECK_FAIL);
    ck_assert_int_eq(judge(0, NAN, 1e-14, un), TT_GRADCHECK_FAIL);
}
END_TEST

START_TEST(the_rule_at_a_kink_and_at_an_edge) {
    tt_gradcheck_point p = {.numeric = 0.5, .error_bar = 0.01, .kink = true, .low = 0, .high = 1};
    static const struct {
        double analytic;
        tt_gradcheck_verdict verdict;
    } CASES[] = {{0.5, TT_GRADCHECK_INCONCLUSIVE}, {-0.039, TT_GRADCHECK_INCONCLUSIVE},
                 {-0.041, TT_GRADCHECK_FAIL},      {1.039, TT_GRADCHECK_INCONCLUSIVE},
                 {1.041, TT_GRADCHECK_FAIL},       {NAN, TT_GRADCHECK_FAIL}};
    for (int i = 0; i < LENGTH(CASES); i++) {
        p.analytic = CASES[i].analytic;
        ck_assert_int_eq(tt_gradcheck_judge(&p, 1e-9, 4, 1e-6), CASES[i].verdict);
    }
    p = (tt_gradcheck_point){.analytic = 1, .numeric = 2, .error_bar = 1e-9, .edge = true};
    ck_assert_int_eq(tt_gradcheck_judge(&p, 1e-9, 4, 1e-6), TT_GRADCHECK_INCONCLUSIVE);
    p.analytic = 2;
    ck_assert_int_eq(tt_gradcheck_judge(&p, 1e-9, 4, 1e-6), TT_GRADCHECK_PASS);
}
END_TEST

/* ---- Attention ------------------------------------------------------------------------------- */

static tt_var build_faulty(tt_tape *tape, const tt_var *in, void *context) {
    return faulty_attention(tape, in[0], in[1], in[2], 0.4, *(const fault *)context);
}

START_TEST(each_fault_fails_and_the_same_code_without_one_passes) {
    for (int f = 0; f < FAULTS; f++) {
        tt_rng rng;
        tt_gradcheck_result r[3];
        fault the_fault = (fault)f;
        tt_tensor in[3];
        draw_inputs(&rng, 12, in, 2, 4, 4, 5, 3);
        ck_assert(!tt_gradcheck(build_faulty, &the_fault, in, 3, &DEFAULTS, r));
        tt_size failed = r[0].failed + r[1].failed + r[2].failed;
        ck_assert_msg((f == FAULT_NONE) == (failed == 0), "%s: %td failed", fault_name(f), failed);
        free_inputs(in);
    }
}
END_TEST

static tt_var build_saturated(tt_tape *tape, const tt_var *in, void *context) {
    (void)context;
    return tt_attention(tape, in[0], in[1], in[2], (tt_attention_options){.scale = 30});
}

START_TEST(saturated_rows_do_not_fail_and_inputs_are_restored) {
    tt_rng rng;
    tt_gradcheck_result r[3];
    tt_tensor in[3], before[3];
    draw_inputs(&rng, 13, in, 2, 4, 6, 8, 3);
    draw_inputs(&rng, 13, before, 2, 4, 6, 8, 3);
    ck_assert(!tt_gradcheck(build_saturated, NULL, in, 3, &DEFAULTS, r));
    for (int i = 0; i < 3; i++) ck_assert_int_eq(r[i].failed, 0);
    ck_assert_int_gt(r[2].passed, 0);
    for (int i = 0; i < 3; i++) assert_same_bits(in[i], before[i]);
    free_inputs(in);
    free_inputs(before);
}
END_TEST

/* Attention by a rule of the program's, whose backward may be wrong by a factor. */
typedef struct ruled {
    tt_attention_options attention;
    double times;
} ruled;

static void pass_on(const tt_call *c) {
    memcpy(c->out.data, c->in[0].data, (size_t)tt_tensor_count(c->out) * sizeof(double));
}

static void pass_on_backward(const tt_call *c) {
    const ruled *r = c->context;
    for (tt_size i = 0; i < tt_tensor_count(c->out); i++)
        c->din[0].data[i] += r->times * c->dout.data[i];
}

static tt_var build_ruled(tt_tape *tape, const tt_var *in, void *context) {
    const ruled *r = context;
    tt_var out = tt_attention(tape, in[0], in[1], in[2], r->attention);
    tt_tensor o = tt_value(tape, out);
    return tt_custom(tape, "pass on", 1, &out, o.batch, o.rows, o.cols, pass_on, pass_on_backward,
                     context);
}

/* Checks dQ and dK, with Q and K of the given sizes. */
static void check_ruled(const char *rule, double q, double k, double times,
                        tt_gradcheck_result r[3]) {
    tt_rng rng;
    tt_tensor in[3];
    ruled context = {.attention.rule = &scaling_find(rule)->rule, .times = times};
    draw_inputs(&rng, 14, in, 1, 3, 4, 5, 2);
    for (tt_size i = 0; i < tt_tensor_count(in[0]); i++) in[0].data[i] *= q;
    for (tt_size i = 0; i < tt_tensor_count(in[1]); i++) in[1].data[i] *= k;
    ck_assert(!tt_gradcheck(build_ruled, &context, in, 3, &DEFAULTS, r));
    free_inputs(in);
}

START_TEST(attention_with_tiny_queries_is_judged_as_with_others) {
    static const struct {
        const char *rule;
        double q, k;
    } CASES[] = {{"cosine", 1e-5, 1}, {"rms", 1e-5, 1}, {"sqrt", 1e-5, 1e5}, {"none", 1e8, 1e-8}};
    for (int i = 0; i < LENGTH(CASES); i++) {
        tt_gradcheck_result r[3];
        check_ruled(CASES[i].rule, CASES[i].q, CASES[i].k, 1, r);
        for (int t = 0; t < 3; t++) ck_assert_int_eq(r[t].passed, r[t].checked);
        check_ruled(CASES[i].rule, CASES[i].q, CASES[i].k, -1, r);
        for (int t = 0; t < 3; t++) ck_assert_int_eq(r[t].failed, r[t].checked);
        check_ruled(CASES[i].rule, CASES[i].q, CASES[i].k, 0, r);
        for (int t = 0; t < 3; t++) ck_assert_int_eq(r[t].failed, r[t].checked);
    }
}
END_TEST

static tt_var build_wrong_shape(tt_tape *tape, const tt_var *in, void *context) {
    (void)context;
    return tt_matmul(tape, in[0], in[0]);
}

START_TEST(an_error_of_the_tape_is_passed_on) {
    double x[] = {1, 2};
    tt_tensor input = tt_tensor_view(x, 1, 1, 2);
    tt_gradcheck_result r;
    ck_assert_str_eq(tt_gradcheck(build_wrong_shape, NULL, &input, 1, &DEFAULTS, &r),
                     "matmul: [1,1,2] x [1,1,2]: inner sizes 2 and 1 differ");
}
END_TEST

/* ---- The program ----------------------------------------------------------------------------- */

/* How far a PASS may be from the truth for any seed, in units of its tensor's largest |a|. Let b be
 * the largest |a| checked and s = max(|a|, |n|). As the floor is below b, the rule (tt/gradcheck.h)
 * gives |a - n| <= k bar + rtol s <= 2 rtol max(s, b). Only |n| exceeds b, and by |a - n| at most:
 * then s <= b + 2 rtol s, so |a - n| <= 2 rtol b / (1 - 2 rtol) in any case. For coordinates b is
 * the unit; for directions d, |d| = 1, it is below |g|, which is below sqrt(coordinates) units. */
static void assert_passes(const char *options, int seed, double b) {
    const double rtol = 1e-6, bound = 2 * rtol / (1 - 2 * rtol) * b;
    double worst;
    const captured *c =
        run_well("gradcheck --quiet --seed %d --output " SCRATCH "g.csv %s", seed, options);
    assert_starts(c->out, "PASS: ");
    assert_says(c->out, " 0 FAIL");
    assert_says(c->out, "differs by ");
    ck_assert_int_eq(sscanf(strstr(c->out, "differs by "), "differs by %lf", &worst), 1);
    ck_assert_msg(worst <= bound, "seed %d: %g, at most %g is possible", seed, worst, bound);
}

/* Of the first dozen seeds 0 has the worst PASS, 8e-8. */
START_TEST(the_default_run_passes_as_closely_as_the_rule_demands) {
    assert_passes("", 0, sqrt(2 * 5 * 512)); /* coordinates of the widest K */
    assert_passes("--d-k 1,2,8", 5, 1);      /* too narrow for directions */
}
END_TEST

START_TEST(the_program_fails_each_fault) {
    for (int f = 0; f < FAULTS; f++) {
        const captured *c = run_program("", "gradcheck --fault %s --output -", fault_name(f));
        ck_assert_int_eq(c->code, f == FAULT_NONE ? 0 : 1);
        if (f != FAULT_NONE) assert_says(c->err, "\nFAIL faulty d_k=8 fault=");
        assert_starts(c->out, "op,input,case,coordinates,pass,fail,inconclusive,worst_index,");
    }
}
END_TEST

START_TEST(saturated_cases_keep_their_columns_and_what_was_written_is_said) {
    static const char ONE[] =
        "gradcheck --op attention --d-k 1 --mask causal-bottom-right --output " SCRATCH
        "written.csv";
    const captured *c = run_well("%s", ONE);
    assert_says(c->out,
                "\nattention  d_k=8 scale=none mask=causal-bottom-right *     35    0  139");
    assert_says(c->out, "*: saturated rows: keys 20 times as large, so logits as of d_k 3200");
    assert_says(c->out, "\n\nWritten: " SCRATCH "written.csv, and beside it");
    ck_assert(!strstr(run_well("%s --quiet", ONE)->out, "Written"));
}
END_TEST

START_TEST(strict_counts_inconclusive_as_failure) {
    static const char ONE[] =
        "gradcheck --op attention --d-k 512 --scale none --mask none --quiet --output -";
    (void)run_well("%s", ONE);
    ck_assert_int_eq(run_program("", "%s --strict", ONE)->code, 1);
}
END_TEST

START_TEST(where_nothing_passes_the_whole_is_inconclusive) {
    static const char COARSE[] = "gradcheck --op softmax --step 0.1 --quiet --output -";
    const captured *c = run_well("%s", COARSE); /* truncation of 0.1^2 is far above rtol */
    assert_starts(c->err, "INCONCLUSIVE: ");
    assert_says(c->err, " 0 PASS, 0 FAIL");
    c = run_program("", "%s --strict", COARSE);
    ck_assert_int_eq(c->code, 1);
    assert_starts(c->err, "INCONCLUSIVE: ");
}
END_TEST

START_TEST(the_number_of_threads_changes_no_byte) {
    ck_assert_int_eq(shell(TEST_PROGRAM " gradcheck --d-k 2,8 --force --threads 1 --output " SCRATCH
                                        "threads.csv >" SCRATCH "threads1.txt && mv " SCRATCH
                                        "threads.csv " SCRATCH "threads1.csv"),
                     0);
    ck_assert_int_eq(shell(TEST_PROGRAM " gradcheck --d-k 2,8 --force --threads 3 --output " SCRATCH
                                        "threads.csv >" SCRATCH "threads3.txt"),
                     0);
    assert_same_file(SCRATCH "threads1.csv", SCRATCH "threads.csv");
    assert_same_file(SCRATCH "threads1.txt", SCRATCH "threads3.txt");
}
END_TEST

/* Some ten thousand derivatives of the calibration's kinds: none is judged falsely, and enough are
 * decided. `make calibrate` takes a million. */
START_TEST(no_verdict_of_a_short_calibration_is_false) {
    ck_assert_int_eq(shell(TEST_BUILD "/calibrate-differences 400 7 >" SCRATCH "calibrated.txt"),
                     0);
}
END_TEST

START_TEST(wrong_options_are_named) {
    static const refusal CASES[] = {
        {"--op sotfmax", "--op 'sotfmax': expected all, attention, rules, matmul"},
        {"--mask diagonal", "--mask 'diagonal': expected none, causal-top-left"},
        {"--fault typo", "--fault 'typo': expected none, flipped-sign"},
        {"--step 0", "--step '0': expected a finite number above 0"},
        {"--rtol x", "--rtol 'x': expected a finite number above 0"},
    };
    assert_refusals(2, "gradcheck", CASES, LENGTH(CASES));
}
END_TEST

START_TEST(the_example_of_an_own_operation_runs) {
    ck_assert_int_eq(shell(TEST_EXAMPLE " | grep -q '7 PASS, 0 FAIL'"), 0);
}
END_TEST

Suite *gradcheck_suite(void) {
    const TTest *tests[] = {
        right_derivatives_of_curved_functions_all_pass,
        an_error_of_a_hundred_thousandth_fails,
        a_flipped_sign_fails_everywhere,
        a_linear_function_is_said_to_be_linear,
        a_large_input_is_sampled_and_checked_along_directions,
        a_fixed_step_is_judged_by_its_own_error,
        a_step_is_found_where_x_says_nothing_of_the_scale,
        where_x_is_0_the_loss_and_its_gradient_say_the_scale,
        a_zero_is_not_confirmed_where_nothing_says_the_scale,
        huge_and_tiny_inputs_are_checked_like_others,
        a_wrong_zero_within_the_noise_of_a_huge_input_does_not_pass,
        half_an_ulp_that_underflows_is_no_zero,
        half_an_ulp_is_at_least_the_smallest_number,
        noise_far_above_an_ulp_is_measured,
        stairs_of_a_coarser_format_fail_nothing_that_is_right,
        a_large_constant_is_noise_and_is_held_by_the_bar,
        a_derivative_costs_at_most_twice_42_evaluations,
        at_a_kink_what_lies_between_its_slopes_is_inconclusive_and_the_rest_fails,
        beside_a_kink_that_steps_can_avoid_the_slope_is_known,
        a_kink_close_by_fails_nothing_that_is_right,
        an_output_that_is_no_number_is_an_error_that_names_it,
        one_nan_is_counted_and_named_and_its_neighbours_are_checked,
        steps_that_leave_the_functions_domain_are_dropped,
        a_gradient_that_is_no_number_fails,
        each_derivative_is_told_with_the_steps_it_was_made_from,
        a_wrong_zero_of_a_billionth_of_the_scale_never_passes,
        a_true_zero_passes,
        a_gradient_below_resolution_is_inconclusive,
        the_rule_at_each_of_its_branches,
        the_rule_at_a_kink_and_at_an_edge,
        attention_with_tiny_queries_is_judged_as_with_others,
        where_nothing_passes_the_whole_is_inconclusive,
        the_number_of_threads_changes_no_byte,
        no_verdict_of_a_short_calibration_is_false,
        each_fault_fails_and_the_same_code_without_one_passes,
        saturated_rows_do_not_fail_and_inputs_are_restored,
        an_error_of_the_tape_is_passed_on,
        the_default_run_passes_as_closely_as_the_rule_demands,
        the_program_fails_each_fault,
        saturated_cases_keep_their_columns_and_what_was_written_is_said,
        strict_counts_inconclusive_as_failure,
        wrong_options_are_named,
        the_example_of_an_own_operation_runs};
    return suite_of("gradcheck", tests, LENGTH(tests), 300);
}
