/* test_optim.c: steps by hand; whole curves stand in test_training.c against PyTorch. */
#include "tt/optim.h"

#include <math.h>

#include "suites.h"
#include "support.h"

static tt_tensor view(double *x) {
    return tt_tensor_view(x, 1, 1, 3);
}

START_TEST(sgd_subtracts_lr_times_gradient) {
    double w[] = {1, -2, 0.5}, g[] = {4, 1, 0};
    tt_optim_state state = {.steps = 0};
    tt_optim_step(&(tt_optim){.kind = TT_SGD}, view(w), view(g), &state, 0.25);
    ck_assert(w[0] == 0 && w[1] == -2.25 && w[2] == 0.5);
    ck_assert(g[0] == 4 && state.steps == 1);
}
END_TEST

START_TEST(weight_decay_of_sgd_is_a_term_of_the_gradient) {
    double w[] = {1, -2, 0}, g[] = {0, 0, 4};
    tt_optim_state state = {.steps = 0};
    tt_optim_step(&(tt_optim){.kind = TT_SGD, .weight_decay = 0.5}, view(w), view(g), &state, 0.25);
    ck_assert(w[0] == 0.875 && w[1] == -1.75 && w[2] == -1);
}
END_TEST

START_TEST(momentum_starts_at_the_gradient_and_keeps_beta_of_it) {
    double w[] = {1, 0, 0}, g[] = {4, 0, 8}, b[] = {7, 7, 7}; /* what stood there does not count */
    const tt_optim o = {.kind = TT_MOMENTUM, .momentum = 0.5};
    tt_optim_state state = {.moment = {view(b)}};
    tt_optim_step(&o, view(w), view(g), &state, 0.25);
    ck_assert(w[0] == 0 && w[2] == -2 && b[0] == 4);
    g[0] = 1; /* b = 0.5 4 + 1 */
    tt_optim_step(&o, view(w), view(g), &state, 0.25);
    ck_assert(b[0] == 3 && w[0] == -0.75);
}
END_TEST

/* With both corrections the first step is lr g / (|g| + eps), whatever the betas. */
START_TEST(adams_first_step_is_lr_times_the_sign_of_the_gradient) {
    double w[] = {1, -2, 0}, g[] = {4, -0.001, 0}, m[3] = {0}, v[3] = {0};
    const tt_optim o = {.kind = TT_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    tt_optim_state state = {.moment = {view(m), view(v)}};
    tt_optim_step(&o, view(w), view(g), &state, 0.25);
    /* 0.1 and 0.001 cancel up to a few roundings */
    ck_assert_double_eq_tol(w[0], 1 - 0.25 * (4 / (4 + 1e-8)), 1e-14);
    ck_assert_double_eq_tol(w[1], -2 + 0.25 * (0.001 / (0.001 + 1e-8)), 1e-14);
    ck_assert(w[2] == 0);
    ck_assert_double_eq_tol(m[0], 0.4, 1e-15); /* a rounding or two of each */
    ck_assert_double_eq_tol(v[0], 0.016, 1e-15);
}
END_TEST

/* Two steps written out: t is 2 in the second one's corrections. */
START_TEST(adams_second_step_is_the_papers) {
    double w[] = {1, 0, 0}, g[] = {4, 0, 0}, m[3] = {0}, v[3] = {0};
    const tt_optim o = {.kind = TT_ADAM, .beta1 = 0.5, .beta2 = 0.75, .eps = 1};
    tt_optim_state state = {.moment = {view(m), view(v)}};
    tt_optim_step(&o, view(w), view(g), &state, 1);
    g[0] = -2;
    tt_optim_step(&o, view(w), view(g), &state, 1);
    const double first = 4.0 / (4 + 1); /* m/0.5 = 4, v/0.25 = 16 */
    const double m2 = (0.5 * 2 - 1) / (1 - 0.25), v2 = (0.75 * 4 + 0.25 * 4) / (1 - 0.5625);
    ck_assert_double_eq_tol(w[0], 1 - first - m2 / (sqrt(v2) + 1), 1e-15);
}
END_TEST

START_TEST(decay_is_in_the_gradient_under_adam_and_beside_it_under_adamw) {
    double w[] = {8, 0, 0}, u[] = {8, 0, 0}, g[] = {0, 0, 0}, m[3] = {0}, v[3] = {0};
    tt_optim o = {.kind = TT_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.5};
    tt_optim_state state = {.moment = {view(m), view(v)}};
    tt_optim_step(&o, view(w), view(g), &state, 0.25);
    ck_assert_double_eq_tol(w[0], 7.75, 1e-8); /* a step by the sign of 0.5 w */
    double n[3] = {0}, x[3] = {0};
    tt_optim_state other = {.moment = {view(n), view(x)}};
    o.kind = TT_ADAMW;
    tt_optim_step(&o, view(u), view(g), &other, 0.25);
    ck_assert(u[0] == 8 * (1 - 0.125) && n[0] == 0);
}
END_TEST

START_TEST(clipping_is_by_the_norm_of_all_gradients_together) {
    double a[] = {3, 0, 0}, b[] = {0, 0, 4};
    const tt_tensor both[] = {view(a), view(b)};
    ck_assert(tt_clip_global_norm(both, 2, 5.5) == 5 && a[0] == 3);
    ck_assert(tt_clip_global_norm(both, 2, 1) == 5);
    /* the factor's roundings and one more */
    ck_assert_double_eq_tol(a[0], 3 / (5 + 1e-6), 1e-15);
    ck_assert_double_eq_tol(b[2], 4 / (5 + 1e-6), 1e-15);
}
END_TEST

Suite *optim_suite(void) {
    const TTest *tests[] = {sgd_subtracts_lr_times_gradient,
                            weight_decay_of_sgd_is_a_term_of_the_gradient,
                            momentum_starts_at_the_gradient_and_keeps_beta_of_it,
                            adams_first_step_is_lr_times_the_sign_of_the_gradient,
                            adams_second_step_is_the_papers,
                            decay_is_in_the_gradient_under_adam_and_beside_it_under_adamw,
                            clipping_is_by_the_norm_of_all_gradients_together};
    return suite_of("optim", tests, LENGTH(tests), 60);
}
