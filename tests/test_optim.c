/* test_optim.c: steps by hand. */
#include "suites.h"
#include "support.h"
#include "tt/optim.h"

START_TEST(sgd_subtracts_lr_times_gradient) {
    double w[] = {1, -2, 0.5}, g[] = {4, 1, 0};
    tt_sgd_step(tt_tensor_view(w, 1, 1, 3), tt_tensor_view(g, 1, 1, 3), 0.25);
    ck_assert(w[0] == 0 && w[1] == -2.25 && w[2] == 0.5);
    ck_assert(g[0] == 4);
}
END_TEST

Suite *optim_suite(void) {
    const TTest *tests[] = {sgd_subtracts_lr_times_gradient};
    return suite_of("optim", tests, LENGTH(tests), 60);
}
